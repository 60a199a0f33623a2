"""Sets of inputs in the place of tangents: forward mode over the semiring of sets, with union for sum and product.

A set is an integer of as many bits as a tangent has, in the tangent's type: bit k says that the value may depend on
input k. Memory, phis, selects and calls carry it as they carry tangents. A rule makes the union of the sets of those
operands by which a result has a partial derivative, whatever the partial's value is:

    %y = fmul double %x, %w    ->    %1 = bitcast double %x.tan to i64
                                     %2 = bitcast double %w.tan to i64
                                     %3 = or i64 %1, %2
                                     %y.tan = bitcast i64 %3 to double

`CAPACITY` leaves the highest bits alone, so that no set is an infinity, a NaN or a negative zero, which `nnan` and its
kin would turn into poison. A cast to a narrower format counts the inputs modulo its capacity, and a cast to a wider one
takes each bit for all inputs that it may stand for: the sets grow, and lose nothing.

What takes the bits of a float apart is refused: a part of a set is not the set of a part.
"""

from __future__ import annotations

from llgrad.analysis.bits.byte_moves import moves
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.errors import UnsupportedError
from llgrad.ir.build import Builder, const_int
from llgrad.ir.types import FloatType, IntType, Type, VectorType, scalar
from llgrad.ir.values import AnyConstant, AnyValue, Binary, Cast, ConstAggregate, Instruction, Load, Phi, Select, Store

CAPACITY = {"half": 10, "bfloat": 10, "float": 30, "double": 60, "x86_fp80": 60, "fp128": 60}
"""Inputs in a set, by the format of the float whose place it takes; each divides the next."""


def union(b: Builder, x: AnyValue, y: AnyValue, name: str) -> AnyValue:
    """The set of all that is in either."""
    if x is y:
        return x
    bits = bits_of(x.type)
    both = b.binary("or", b.cast("bitcast", x, bits), b.cast("bitcast", y, bits))
    return b.cast("bitcast", both, x.type, name)


def converted(b: Builder, given: AnyValue, to: Type, name: str) -> AnyValue:
    """The set of a float that is cast to another format."""
    old, new = CAPACITY[_format(given.type)], CAPACITY[_format(to)]
    bits, wanted = bits_of(given.type), bits_of(to)
    held = b.cast("bitcast", given, bits)
    if new < old:
        held = _either(b, [_shift(b, "lshr", held, n) for n in range(0, old, new)])
        held = b.binary("and", held, splat(bits, (1 << new) - 1))
    wider = _size(wanted) > _size(bits)
    if _size(wanted) != _size(bits):
        held = b.cast("zext" if wider else "trunc", held, wanted)
    if new > old:
        held = _either(b, [_shift(b, "shl", held, n) for n in range(0, new, old)])
    return b.cast("bitcast", held, to, name)


def refuse_parts(facts: Facts, i: Instruction) -> None:
    """UnsupportedError where an active instruction moves a part of a float's bits, or turns them into an integer's."""
    torn = isinstance(i, Store) and facts.marked.part_overwritten(i) is not None
    if torn or facts.activity.tests_number(i):
        raise _refusal(facts, i, "memory holds floats at one time and integers at another")
    if not facts.active(i):
        return
    if isinstance(i, Load | Phi | Select) and isinstance(scalar(i.type), IntType) and not facts.float_parts(i):
        raise _refusal(facts, i, "an integer holds a part of a float")
    found = moves(i, facts.layout) if isinstance(i, Cast | Binary) else None
    for w in found.windows if found is not None else ():
        for at, t in facts.float_parts(w.source) if facts.active(w.source) else ():
            size = facts.layout.size(scalar(t))
            for start in range(at, at + facts.layout.size(t), size):
                if 0 < min(w.at + w.size, start + size) - max(w.at, start) < size:
                    raise _refusal(facts, i, "an instruction takes a part of a float's bits")


def splat(t: Type, value: int) -> AnyConstant:
    """An integer, or a vector of it."""
    if isinstance(t, VectorType):
        return ConstAggregate(t, (const_int(t.element, value),) * t.count)
    return const_int(t, value)


def bits_of(t: Type) -> Type:
    """The integers of as many bits as floats have."""
    element = scalar(t)
    assert isinstance(element, FloatType)
    bits = IntType(element.bits)
    return VectorType(bits, t.count, t.scalable) if isinstance(t, VectorType) else bits


def _either(b: Builder, sets: list[AnyValue]) -> AnyValue:
    found = sets[0]
    for one in sets[1:]:
        found = b.binary("or", found, one)
    return found


def _shift(b: Builder, opcode: str, v: AnyValue, by: int) -> AnyValue:
    return b.binary(opcode, v, splat(v.type, by)) if by else v


def _format(t: Type) -> str:
    element = scalar(t)
    assert isinstance(element, FloatType)
    return element.name


def _size(t: Type) -> int:
    element = scalar(t)
    assert isinstance(element, IntType)
    return element.bits


def _refusal(facts: Facts, i: Instruction, cause: str) -> UnsupportedError:
    return UnsupportedError(
        "no pattern of derivatives is found here", span=facts.span(i), cause=cause,
        fix="give the pattern: sparsity=…, or compile with -O2",
    )  # fmt: skip


__all__ = ["CAPACITY", "converted", "refuse_parts", "splat", "union"]
