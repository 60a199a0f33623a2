"""Where derivatives stop being finite: each tangent, and each part of an adjoint, is tested as soon as it is there.

While a derivative is written under `noting`, `note` marks such a value with the place of the primal instruction that it
is of. `with_tests` puts a test behind each marked value, before anything is optimised:

    %t = fdiv double …, !llgrad.place !34
      →  %t = fdiv double …
         %d = fsub double %t, %t                        ; NaN where it is infinite or NaN
         %bad = fcmp uno double %d, 0.0
         call void @llgrad.non_finite.note(i1 %bad, i32 7)

The first number that is noted stays, until `TAKE` returns and clears it. Values without a place in the source are not
tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from llgrad.errors import Span
from llgrad.ir.build import Builder, Names, const_int, declare, zero
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I32, VOID, FloatType, IntType, VectorType
from llgrad.ir.values import AnyValue, Function, Instruction, Phi

PLACE = "llgrad.place"  # metadata: the `!dbg` of the primal instruction
NOTE, TAKE = "llgrad.non_finite.note", "llgrad.non_finite.take"
RUNTIME = f"""
@llgrad.non_finite.first = internal global i32 0
define void @{NOTE}(i1 %bad, i32 %number) noinline {{
  %first = load i32, ptr @llgrad.non_finite.first
  %none = icmp eq i32 %first, 0
  %new = and i1 %bad, %none
  %kept = select i1 %new, i32 %number, i32 %first
  store i32 %kept, ptr @llgrad.non_finite.first
  ret void
}}
define i32 @{TAKE}() {{
  %first = load i32, ptr @llgrad.non_finite.first
  store i32 0, ptr @llgrad.non_finite.first
  ret i32 %first
}}
"""
_noting: ContextVar[bool] = ContextVar("noting", default=False)


@contextmanager
def noting() -> Iterator[None]:
    """What is derived meanwhile says what each value is of."""
    token = _noting.set(True)
    try:
        yield
    finally:
        _noting.reset(token)


def note(value: AnyValue | None, of: Instruction) -> None:
    """Say that a value is a tangent of an instruction, or a part of the adjoint of one of its operands."""
    if _noting.get() and isinstance(value, Instruction) and "dbg" in of.metadata and _is_float(value):
        value.metadata = {PLACE: of.metadata["dbg"], **value.metadata}


def with_tests(module: Module) -> list[Span | None]:
    """Test what is marked; the places that the numbers 1, 2, … stand for."""
    to, places = declare(module, NOTE, VOID, [I1, I32]), list[Span | None]()
    for f in [f for f in module.functions if not f.is_declaration]:
        marked = [i for i in f.instructions() if PLACE in i.metadata]
        names = Names([a.name for a in f.arguments] + [i.name for i in f.instructions()]) if marked else Names()
        for i in marked:
            i.metadata = {k: v for k, v in i.metadata.items() if k != PLACE} | {"dbg": i.metadata[PLACE]}
            places.append(module.place(i))
            del i.metadata["dbg"]
            _test(f, i, to, len(places), names)
    return places


def _test(f: Function, i: Instruction, to: Function, number: int, names: Names) -> None:
    b = Builder(i.block, names)
    at = i.block.instructions.index(i) + 1
    while isinstance(i.block.instructions[at], Phi):
        at += 1
    b.at = at
    difference = b.binary("fsub", i, i)
    bad = b.fcmp("uno", difference, zero(i.type))
    if isinstance(i.type, VectorType):
        bits = IntType(i.type.count)
        bad = b.icmp("ne", b.cast("bitcast", bad, bits), const_int(bits, 0))
    b.call(to, [bad, const_int(I32, number)])


def _is_float(v: Instruction) -> bool:
    t = v.type.element if isinstance(v.type, VectorType) else v.type
    return isinstance(t, FloatType) and v.opcode != "invoke"


__all__ = ["NOTE", "PLACE", "RUNTIME", "TAKE", "note", "noting", "with_tests"]
