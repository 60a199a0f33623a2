"""Innermost loops whose adjoints of loads meet: they are collected first and added to shadow memory afterwards.

A loop that loads an element and its neighbours adds, in reverse, to places that other iterations add to as well; LLVM
does not vectorise that. Such a loop goes back in strips of iterations, and puts the adjoints of these loads into
columns, one a load, in stack memory: that is vectorised. Behind each strip a short loop for each column adds it to
shadow memory: those whose addresses are regular are vectorised, too.

The sums are the same but for the order of their terms, if nothing in the loop takes an adjoint from where one of these
loads has read: if no store in it may write there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llgrad.analysis.flow import Flow, Loop
from llgrad.analysis.memory import Access
from llgrad.analysis.solver import reach
from llgrad.ir.types import is_float
from llgrad.ir.values import Argument, Function, GetElementPtr, Instruction, Load, Store
from llgrad.synthesis.facts import Facts
from llgrad.synthesis.needs import Effect, Linear, Memory, Nothing, Partials
from llgrad.synthesis.strides import Strides

FEWEST = 3  # loads of what may be one object, so that the collecting pays
STRIP = 256  # iterations; a power of two
MOST = 16  # columns


def scattered(
    facts: Facts, function: Function, flow: Flow, effects: Mapping[Instruction, Effect], loops: Sequence[Loop]
) -> dict[Loop, tuple[Load, ...]]:
    """For each of the innermost `loops` where that pays: the loads whose adjoints are collected."""
    recursive = function in reach(_callers(facts, function), lambda f: _callers(facts, f))
    if facts.runtime_activity or recursive:  # (columns of every call under way would lie on the stack)
        return {}
    found = {loop: _collected(facts, flow, effects, loop) for loop in loops}
    return {loop: loads for loop, loads in found.items() if loads}


def _callers(facts: Facts, function: Function) -> list[Function]:
    return [c.block.function for c in facts.memory.callers(function) if c.block.function is not None]


def _collected(facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect], loop: Loop) -> tuple[Load, ...]:
    inside = [i for b in loop.order for i in b.instructions]
    shapes = [effects.get(i, Nothing()) for i in inside]
    simple = all(
        isinstance(e, (Nothing, Linear, Partials)) and getattr(e, "entry", None) is None
        or isinstance(e, Partials) and e.entry is not None and "pointer" not in e.rule.operands
        or isinstance(i, (Load, Store)) and isinstance(e, Memory)
        for i, e in zip(inside, shapes, strict=True)
    )  # fmt: skip
    if loop.children or not simple or len(loop.order) != 1:
        return ()
    active = [i for i, e in zip(inside, shapes, strict=True) if isinstance(e, Memory)]
    loads = [i for i in active if isinstance(i, Load) and is_float(i.type)]
    strides, memory = Strides(flow, loop, facts.layout), facts.memory
    reads = {i: memory.reads(i)[0] for i in loads}
    writes = [w for i in active if isinstance(i, Store) for w in memory.writes(i)]
    if any(memory.may_alias(w, r) and not _through_restrict(w, r) for w in writes for r in reads.values()):
        return ()

    found = tuple(a for a in loads if pays(facts, strides, reads[a], list(reads.values())))
    return found if len(found) <= MOST else ()


def pays(facts: Facts, strides: Strides, read: Access, reads: Sequence[Access]) -> bool:
    """Are there enough loads of what may be the same object, and does one of them meet this in another iteration?

    Where no address is regular, nothing is vectorised when the columns are added either.
    """
    near = [other for other in reads if facts.memory.may_alias(read, other)]
    if len(near) < FEWEST or all(strides.same_iteration(read, other) for other in near):
        return False
    return any(strides.address(other) is not None for other in near)


def _through_restrict(written: Access, read: Access) -> bool:
    """Do two arguments lead to them, one of which says that what is written while the function runs is its alone?"""
    a, b = _argument(written), _argument(read)
    return a is not None and b is not None and a is not b and any(x.attribute("noalias") is not None for x in (a, b))


def _argument(access: Access) -> Argument | None:
    pointer = access.pointer
    while isinstance(pointer, GetElementPtr):
        pointer = pointer.pointer
    return pointer if isinstance(pointer, Argument) else None
