"""What the program allocates, on the tape: memory that the reverse sweep wants, and its shadow.

The release of a block that the reverse sweep may look at waits until it has come back to the allocation. That is the
order of a stack, so such a block and its shadow can be one block of the tape: nothing is asked of the heap, nothing is
put on a list of what is to be released later, and what an exception leaves behind goes with the tape. Where the forward
sweep releases the block itself (`early_frees`), only the shadow is on the tape.

That holds for blocks that nobody sees outside the root, and whose releases are all in the sweeps. A release that may
get blocks of either nature keeps them all on the heap.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from llgrad.analysis.activity.graph import has_rule
from llgrad.analysis.memory.call_effects import tape_call
from llgrad.analysis.memory.mod_ref import MemoryObject
from llgrad.analysis.solver import reach
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.recipes.early_frees import at_once
from llgrad.autodiff.recipes.shared_shadows import shared
from llgrad.ir.values import Call, Function
from llgrad.models.effects import ALLOCATES, RELEASES
from llgrad.models.libc import BLOCK_SIZE


class OnTape(Struct, frozen=True):
    """Allocations whose shadows are on the tape; those of them that are so themselves; releases that do nothing.

    `shared`: allocations that have the shadows of what one copy, named here, puts there (`shared_shadows`).
    """

    shadows: frozenset[Call] = frozenset()
    whole: frozenset[Call] = frozenset()
    releases: frozenset[Call] = frozenset()
    shared: dict[Call, Call] = {}
    copies: frozenset[Call] = frozenset()  # those of `shared`, which have nothing to do in reverse


def allocated(facts: Facts) -> OnTape:
    """What the sweeps of a root allocate there."""
    if facts.allocated is None:
        facts.allocated = _found(facts)
    found: OnTape = facts.allocated
    return found


def _found(facts: Facts) -> OnTape:
    if not facts.reverse or facts.apart or facts.runtime_activity or facts.checkpointed:
        return OnTape()
    calls = [i for f in facts.memory.functions for i in f.instructions() if isinstance(i, Call)]
    if any(map(facts.is_caught, calls)):
        return OnTape()  # what was thrown past is dropped from the tape, and may still be in use
    copied = _run_as_they_are(facts, calls)
    shadows = {i for i in calls if i.block.function not in copied and _may_be(facts, i)}
    for i in calls:
        if i.called_function is not None and i.called_function.name == BLOCK_SIZE:  # of the shadow, too
            shadows -= {o.site for o in facts.memory.points_to(i.operands[0])}
    common = shared(facts, shadows)
    shadows -= common.keys()
    sites = {o: o.site for i in shadows for o in facts.memory.points_to(i) if o.site is i}
    whole = set(shadows)
    releases = dict(_releases(facts, calls, copied))
    bound = {o for objects in _elsewhere(facts, calls, copied) for o in objects}
    whole -= {sites[o] for o in bound if o in sites}
    while True:
        mixed = {
            sites[o] for objects in releases.values() for o in objects
            if o in sites and any(sites.get(p) not in whole for p in objects)
        }  # fmt: skip
        if not mixed & whole:
            break
        whole -= mixed
    nothing = {i for i, objects in releases.items() if objects and all(sites.get(o) in whole for o in objects)}
    return OnTape(frozenset(shadows), frozenset(whole), frozenset(nothing), common, frozenset(common.values()))


def _may_be(facts: Facts, i: Call) -> bool:
    known, f = facts.effects(i), i.block.function
    a = known.allocator if known is not None else None
    if a is None or a.family not in RELEASES.values() or a.place != "return" or a.moves is not None:
        return False
    own = i.called_function is not None and i.called_function.name.startswith(ALLOCATES)  # of the user's: it is called
    usual = a.alignment is None and not own and facts.shadowed(i) and not facts.escapes(i)
    return usual and f is not None and f not in facts.teams.functions and facts.flow(f).reaches_return(i.block)


def _run_as_they_are(facts: Facts, calls: list[Call]) -> set[Function]:
    """Functions that some call runs as they are, without a derivative, and all that these call."""
    first = [f for i in calls if not _differentiated(facts, i) for f in _bodies(facts, i)]
    first += filter(facts.memory.called_back, _all(facts))
    called = {f: [g for i in f.instructions() if isinstance(i, Call) for g in _bodies(facts, i)] for f in _all(facts)}
    return set(reach(first, lambda f: called[f]))


def _differentiated(facts: Facts, i: Call) -> bool:
    """Does a derivative stand for the call, made of the bodies that it may run? On the way out none does."""
    called, unknown = facts.memory.functions_called(i)
    if unknown or any(f.is_declaration or has_rule(f) for f in called) or not facts.activity.active_call(i):
        return False
    return i.block.function is not None and facts.flow(i.block.function).reaches_return(i.block)


def _all(facts: Facts) -> list[Function]:
    return [f for f in facts.memory.functions if not f.is_declaration]


def _bodies(facts: Facts, i: Call) -> list[Function]:
    return [f for f in facts.memory.functions_called(i).functions if not f.is_declaration]


def _releases(facts: Facts, calls: list[Call], copied: set[Function]) -> Iterator[tuple[Call, frozenset[MemoryObject]]]:
    """Releases that the sweeps postpone, and of what."""
    for i in calls:
        known = facts.effects(i)
        postponed = known is not None and known.deallocator is not None and not at_once(facts, i)
        if postponed and i.block.function not in copied:
            assert known is not None and known.deallocator is not None
            yield i, facts.memory.points_to(i.operands[known.deallocator.pointer])


def _elsewhere(facts: Facts, calls: list[Call], copied: set[Function]) -> Iterator[frozenset[MemoryObject]]:
    """Memory that something else releases."""
    for i in calls:
        known = facts.effects(i)
        if known is not None and known.deallocator is not None and not at_once(facts, i):
            if i.block.function in copied:
                yield facts.memory.points_to(i.operands[known.deallocator.pointer])
        elif tape_call(i):  # a derivative that is differentiated puts it on a list of what is to be released
            yield from map(facts.memory.points_to, i.arguments[1:])
        elif known is not None or not _differentiated(facts, i):
            yield from (a.objects for a in facts.memory.frees(i))


__all__ = ["OnTape", "allocated"]
