"""Active floats over which a function of the library writes something of its own, or which it copies as text.

What `sprintf`, `time` or `frexp` write has no derivative, and where it lies nobody says but the function's name. Where
a float is kept in the same bytes (a union's), the derivative of that would stay as it was; and of one whose bytes
`strncpy` copies there would be none.
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.analysis.types import layouts
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.errors import UnsupportedError
from llgrad.ir.types import FloatType
from llgrad.ir.values import AnyValue, Call, Function, Instruction
from llgrad.rules import library

_MOST = 16  # bytes of a float


def refuse_overwritten(facts: Facts, i: Instruction) -> None:
    """Raise an UnsupportedError where a call may do so."""
    for f in facts.callees(i)[0] if isinstance(i, Call) else ():
        assert isinstance(i, Call)
        if not f.is_declaration or f.name.startswith("llvm."):
            continue
        if _writes_twice(facts, i, f):
            raise UnsupportedError(
                f"{f.name} writes two floats to one place",
                span=facts.span(i),
                cause="which of them is there afterwards is not said, and each has a derivative of its own",
                fix="let it write to two variables",
            )
        known, active = library.effects(f.name), facts.activity.active_objects
        for pointer, t in _written(i, f):
            if not active.isdisjoint(facts.memory.points_to(pointer)) and _holds_others(facts, pointer, t):
                raise UnsupportedError(
                    f"{f.name} may write over an active float",
                    span=facts.span(i),
                    cause="what it writes has no derivative, and that of the float in the same bytes would stay",
                    fix="let it write to a variable of its own, and copy from there",
                )
        for pointer in (i.arguments[n] for n in (known.copies if known is not None else ()) if n < i.arity):
            if any(map(facts.activity.varied, facts.memory.points_to(pointer))) and _holds_others(facts, pointer, None):
                raise UnsupportedError(
                    f"{f.name} may copy an active float",
                    span=facts.span(i),
                    cause="it copies text, which has no derivative",
                    fix="copy it with memcpy",
                )


def _written(call: Call, f: Function) -> Iterator[tuple[AnyValue, FloatType | None]]:
    """Behind which pointers a function writes what is no float (None), or a float of some format."""
    if (entry := library.lookup(f.name)) is not None:
        for out in entry.rule.results:
            if isinstance(out.place, int) and out.place < call.arity:
                yield call.arguments[out.place], FloatType(entry.format) if out.kind == "float" else None
    elif (known := library.effects(f.name)) is not None:
        yield from ((call.arguments[n], None) for n in known.fills if n < call.arity)


def _writes_twice(facts: Facts, call: Call, f: Function) -> bool:
    """Does a function write two floats to one place for sure?"""
    places = [facts.memory.places(pointer) for pointer, t in _written(call, f) if t is not None]
    sure = [p for p in places if len(p) == 1 and all(o.kind == "stack" and isinstance(at, int) for o, at in p)]
    return len(sure) > len(set(sure))


def _holds_others(facts: Facts, pointer: AnyValue, t: FloatType | None) -> bool:
    """May there be, where a pointer points, a float that is none of that format?"""
    size = facts.layout.size(t) if t is not None else 1
    found = [k for at, k, _ in facts.kinds.memory(pointer, _MOST).leaves if at < size]
    either = (layouts.CONFLICT, layouts.WORD)
    return any(k in either or (k.is_float and k.format != t) for k in found)


__all__ = ["refuse_overwritten"]
