"""Bytes of values in registers through which no derivative passes: only constants are put there, or nobody looks.

What such a constant is, a number or the bits of a float, need not be known; nobody may ever look at it. So it is with
what fills up a register beside a short member of a struct. Answers go through phis, selects, what moves bits, and
the results and parameters of functions that are called by name.
"""

from __future__ import annotations

from collections.abc import Collection

from llgrad.analysis.bits.byte_moves import moves
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


def is_dropped(v: iv.AnyValue, at: int, size: int, layout: DataLayout, taken: Collection[iv.Function]) -> bool:
    """Does nobody look at bytes [at, at + size) of `v`, wherever they are handed on?

    `taken`: functions that may be called through pointers.
    """
    todo, seen = [(v, at, at + size)], set[Part]()
    while todo:
        if (part := todo.pop()) in seen:
            continue
        seen.add(part)
        for user in part[0].users if isinstance(part[0], iv.Instruction | iv.Argument) else ():
            targets = _targets(user, *part, layout, taken) if len(seen) <= _MOST else None
            if targets is None:
                return False
            todo += targets
    return True


def _targets(
    user: iv.Value, v: iv.AnyValue, start: int, end: int, layout: DataLayout, taken: Collection[iv.Function]
) -> list[Part] | None:
    """What bytes of a value become parts of in one user; None where it does something else with them."""
    match user:
        case iv.Phi():
            return [(user, start, end)]
        case iv.Select(operands=[condition, *_]):
            return None if condition is v else [(user, start, end)]
        case iv.Call(called_function=iv.Function() as f) if _is_own(f) and _is_plain(user, f, v):
            given = zip(user.arguments, f.arguments, strict=True)
            return [(formal, start, end) for a, formal in given if a is v]
        case iv.Return(block=iv.Block(function=iv.Function() as f)):
            calls = [u for u in f.users if isinstance(u, iv.Call) and u.called_function is f]
            return [(c, start, end) for c in calls] if _is_own(f) and f not in taken else None
    found = moves(user, layout)
    if found is None or any(s is v and first < end and start < last for s, first, last in found.used):
        return None
    cut = ((w, max(start, w.at) - w.at, min(end, w.at + w.size) - w.at) for w in found.windows if w.source is v)
    return [(user, w.to + first, w.to + last) for w, first, last in cut if first < last]


def _is_plain(call: iv.Call, f: iv.Function, v: iv.AnyValue) -> bool:
    """Does a call hand a value on as an argument, and in no other way?"""
    return call.function_type == f.function_type and not call.bundles and call.callee is not v


def _is_own(f: iv.Function) -> bool:
    """Is all that a function does with its arguments what its body says, and is it called by the program alone?"""
    return bool(f.blocks) and f.linkage in ("internal", "private") and not f.function_type.vararg


def _sources(v: iv.AnyValue, start: int, end: int, layout: DataLayout) -> list[Part] | None:
    """What bytes of a value are copies of; None where they are made here, or come from memory or from a caller."""
    match v:
        case iv.Constant():
            return []
        case iv.Phi() | iv.Select():
            return [(s, start, end) for s in (v.operands[1:] if isinstance(v, iv.Select) else v.operands)]
        case iv.Call(called_function=iv.Function() as f) if not f.is_declaration:
            return [(r, start, end) for r in f.returned()]
    found = moves(v, layout)
    if found is None or any(first < end and start < last for first, last in found.changed):
        return None
    cut = ((w, max(start, w.to) - w.to, min(end, w.to + w.size) - w.to) for w in found.windows)
    return [(w.source, w.at + first, w.at + last) for w, first, last in cut if first < last]


__all__ = ["is_dropped", "is_fixed"]
