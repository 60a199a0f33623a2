"""Copies of arguments that are only read: their shadows are the arguments' own.

A program that copies what it is given into memory of its own (`std::vector<double> v(x, x + n)`) and then reads the
copy alone would have a shadow made, cleared, filled, and added to the argument's. Adding to the argument's shadow at
once is the same: nothing else of the sweeps looks there, and nothing takes an adjoint out of either.

That holds where one `memcpy`, certain to run after the allocation, writes the whole block, all that reads the block
are loads of floats, and nothing in the program but this copy reads what it copies, or changes it.
"""

from __future__ import annotations

from collections.abc import Collection

from llgrad.analysis.activity.graph import has_rule
from llgrad.analysis.cfg.flow import Flow
from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.mod_ref import MemoryObject
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.ir.types import FloatType, scalar
from llgrad.ir.values import AnyValue, Argument, Call, ConstInt, Function, Instruction, Load


def shared(facts: Facts, blocks: Collection[Call]) -> dict[Call, Call]:
    """Those of these allocations whose shadows need not be made, with the copies that fill them."""
    found = {made: copy for made in blocks if (copy := _filled(facts, made)) is not None}
    if not found:
        return {}
    copies = set(found.values())
    own = {o: made for made in found for o in facts.memory.points_to(made)}
    given = {p: copy for copy in copies for p in facts.memory.points_to(copy.arguments[1])}
    spoilt: set[Call] = {found[made] for made in found if not _is_whole(facts, made, found[made], given)}
    for i in (i for f in facts.memory.functions for i in f.instructions()):
        if _is_looked_into(facts, i) or not _flow(facts, i).reaches_return(i.block):
            continue
        for a in facts.memory.reads(i):
            spoilt |= {copy for p, copy in given.items() if i is not copy and _may_be(facts, p, a.objects)}
            if not _is_plain(facts, i):
                spoilt |= {found[own[o]] for o in a.objects & own.keys()}
        for a in facts.memory.writes(i):
            spoilt |= {found[own[o]] for o in a.objects & own.keys() if i is not found[own[o]]}
    return {made: copy for made, copy in found.items() if copy not in spoilt}


def _filled(facts: Facts, made: Call) -> Call | None:
    """The one copy that fills the block, certain to run if its allocation does not fail."""
    known, flow = facts.effects(made), _flow(facts, made)
    assert known is not None and known.allocator is not None
    if known.allocator.zeroed or len(known.allocator.size) != 1 or facts.marked.may_hold(made):
        return None
    size = made.arguments[known.allocator.size[0]]
    copies = [i for i in made.users if isinstance(i, Call) and is_copy(i) and i.arguments[0] is made]
    if len(copies) != 1 or not _is_same(copies[0].arguments[2], size):
        return None
    block, loop = copies[0].block, flow.loop_of(made.block)
    again = loop is not None and (loop.latch is None or not flow.dominates(block, loop.latch))
    once = flow.loop_of(block) is loop and flow.postdominates(block, made.block) and not again
    return copies[0] if once else None


def _flow(facts: Facts, i: Instruction) -> Flow:
    assert i.block.function is not None
    return facts.flow(i.block.function)


def _is_same(length: AnyValue, size: AnyValue) -> bool:
    if isinstance(length, ConstInt) and isinstance(size, ConstInt):
        return length.value == size.value
    return length is size


def _is_whole(facts: Facts, made: Call, copy: Call, given: dict[MemoryObject, Call]) -> bool:
    """Is one block filled with floats alone of an argument's memory, which nobody else copies and nothing changes?"""
    source = copy.arguments[1]
    if not facts.shadowed(source):
        return False
    layout = facts.copied(copy)
    floats = bool(layout.floats) and not (layout.pointers or layout.words or layout.head)
    objects = facts.memory.points_to(source)
    one = {o.site for o in facts.memory.points_to(made)} == {made}
    before = isinstance(source, Argument) or (
        isinstance(source, Instruction) and _flow(facts, made).dominates_instruction(source, made)
    )
    fixed = all(o.kind == "argument" and given[o] is copy and facts.changes.never_written(o) for o in objects)
    return floats and one and before and bool(objects) and fixed


def _is_looked_into(facts: Facts, i: Instruction) -> bool:
    """Is it a call of functions all of whose instructions are seen themselves?"""
    if not isinstance(i, Call):
        return False
    called, unknown = facts.memory.functions_called(i)
    return not unknown and bool(called) and not any(map(_is_closed, called))


def _is_closed(f: Function) -> bool:
    """Is more read, or done with shadows, where `f` is called than its instructions say?"""
    return f.is_declaration or has_rule(f) or any(a.attribute("byval") is not None for a in f.arguments)


def _is_plain(facts: Facts, i: Instruction) -> bool:
    """A load of floats that lie where such floats may."""
    if not isinstance(i, Load) or not isinstance(t := scalar(i.type), FloatType):
        return False
    return i.align <= facts.layout.alloc_size(t) and not i.flags


def _may_be(facts: Facts, o: MemoryObject, objects: frozenset[MemoryObject]) -> bool:
    """May `o` be among these, and have a derivative there? (Tables of functions and constants have none.)"""
    others = frozenset(x for x in objects if not x.is_constant)
    return o in others or facts.memory.coincide(frozenset({o}), others)


__all__ = ["shared"]
