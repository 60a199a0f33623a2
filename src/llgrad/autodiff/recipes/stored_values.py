"""Values that the program has stored itself: the reverse sweep reads them again, and keeps nothing.

`y[i] = tanh(x[i])` leaves the result in `y`. Where the root of a combined derivative stores a value in the memory of an
argument, in the block that computes it, and nothing writes there afterwards (the store itself in other iterations
writes elsewhere), memory holds the value of each iteration until the reverse sweep is done.
"""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Flow
from llgrad.analysis.memory.access_strides import Strides
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.ir.types import is_float
from llgrad.ir.values import Function, Instruction, Store


def stored(facts: Facts, function: Function, flow: Flow, v: Instruction) -> Store | None:
    """A store of `v` from which it can be read again."""
    if not is_float(v.type) or function is not facts.root or facts.apart or facts.runtime_activity:
        return None
    if facts.device.orders(function):  # others may write there
        return None
    stores = (u for u in v.users if isinstance(u, Store) and u.value is v and u.block is v.block)
    return next((s for s in stores if _stays(facts, flow, s)), None)


def _stays(facts: Facts, flow: Flow, store: Store) -> bool:
    written = facts.memory.writes(store)
    objects = {o for w in written for o in w.objects}
    if store.flags or store.ordering or any(o.kind != "argument" or o in facts.unwanted.unwritten for o in objects):
        return False
    loop = flow.loop_of(store.block)
    if loop is not None:
        strides = Strides(flow, loop, facts.layout)
        if loop.parent is not None or not all(strides.same_iteration(w, w) for w in written):
            return False
    return facts.changes.stays(store)
