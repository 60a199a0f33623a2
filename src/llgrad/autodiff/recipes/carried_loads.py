"""Loads that are carried to the next iteration: this one's `x[i]` is what the last one loaded as `x[i + 1]`.

LLVM makes such values of stencils, and people write them (`p = x[i]`). The phi that carries one need not be kept: what
it holds lies where the load of this iteration goes, some iterations back, as long as nothing overwrites it. In the
first iterations it holds what was loaded before the loop, from the places before.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.memory.access_strides import Strides
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.ir.types import is_float
from llgrad.ir.values import Function, Load, Phi

MOST_BACK = 8  # iterations


class Carried(Struct, frozen=True):
    """A phi holds in each iteration what lies `back` bytes before the place that `load` reads in that iteration."""

    load: Load
    back: int
    align: int


def carried(facts: Facts, function: Function, flow: Flow, phi: Phi, changes: Callable[[Load], bool]) -> Carried | None:
    """Where `phi` can be read again; None where it is no such value. `changes`: may what was read have changed?"""
    loop = flow.loop_of(phi.block)
    if loop is None or loop.header is not phi.block or loop.latch is None or loop.preheader is None:
        return None
    chain = _chain(loop, phi)
    if not chain or not is_float(phi.type):
        return None
    load = chain[0].incoming_from(loop.latch)
    assert isinstance(load, Load)
    ends = (loop.latch, *(b for b, _ in loop.exits))
    if load.type != phi.type or not all(flow.dominates(load.block, end) for end in ends) or _barred(load, changes):
        return None
    strides = Strides(flow, loop, facts.layout)
    at = strides.place(load.pointer)
    if at is None or at[2] == 0:
        return None
    base, parts, step, constant = at
    align = load.align
    for n, one in enumerate(chain, 1):
        before = one.incoming_from(loop.preheader)
        if not isinstance(before, Load) or before.type != load.type or _barred(before, changes):
            return None
        if strides.place(before.pointer) != (base, parts, 0, constant - n * step):
            return None
        align = min(align, before.align)
    return Carried(load, len(chain) * step, align)


def _chain(loop: Loop, phi: Phi) -> list[Phi]:
    """The phis through which a load of the loop goes until it is `phi`, that first which takes the load."""
    assert loop.latch is not None
    chain = [phi]
    while isinstance(v := chain[0].incoming_from(loop.latch), Phi):
        if v.block is not loop.header or v in chain or len(chain) == MOST_BACK:
            return []
        chain.insert(0, v)
    return chain if isinstance(v, Load) and v in loop else []


def _barred(load: Load, changes: Callable[[Load], bool]) -> bool:
    return bool(load.flags or load.ordering) or changes(load)
