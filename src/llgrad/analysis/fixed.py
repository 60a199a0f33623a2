"""Bytes of structs and arrays in registers into which only constants are put: no derivative passes through them.

What such a constant is, a number or the bits of a float, need not be known; nobody may ever look at it. Answers go
through phis, selects, what moves bits, and the results of functions that are called by name.
"""

from __future__ import annotations

from llgrad.analysis.moves import moves
from llgrad.ir import values as iv
from llgrad.ir.types import DataLayout

_MOST = 256
Part = tuple[iv.AnyValue, int, int]


def is_fixed(v: iv.AnyValue, at: int, size: int, layout: DataLayout) -> bool:
    """Are bytes [at, at + size) of `v` constants, of which there may be several to choose from?"""
    todo, seen = [(v, at, at + size)], set[Part]()
    while todo:
        if (part := todo.pop()) in seen:
            continue
        seen.add(part)
        sources = _sources(*part, layout) if len(seen) <= _MOST else None
        if sources is None:
            return False
        todo += sources
    return True


def _sources(v: iv.AnyValue, start: int, end: int, layout: DataLayout) -> list[Part] | None:
    """What bytes of a value are copies of; None where they are made here, or come from memory or from a caller."""
    match v:
        case iv.Constant():
            return []
        case iv.Phi() | iv.Select():
            return [(s, start, end) for s in (v.operands[1:] if isinstance(v, iv.Select) else v.operands)]
        case iv.Call(called_function=iv.Function() as f) if not f.is_declaration:
            ends = [b.terminator for b in f.blocks]
            return [(r.value, start, end) for r in ends if isinstance(r, iv.Return) and r.value is not None]
    found = moves(v, layout)
    if found is None or any(first < end and start < last for first, last in found.changed):
        return None
    cut = ((w, max(start, w.to) - w.to, min(end, w.to + w.size) - w.to) for w in found.windows)
    return [(w.source, w.at + first, w.at + last) for w, first, last in cut if first < last]


__all__ = ["is_fixed"]
