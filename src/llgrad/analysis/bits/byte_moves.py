"""Instructions that move bits about: which bytes of their result are which bytes of what operand.

Structs in registers are taken apart and put together by shifts, masks, casts and lane operations. Each of them is a
list of `Window`s; bytes in none of them are `changed` by integer arithmetic, or zero. One description serves the
analysis of kinds, the adjoints, and activity's question whether an instruction changes the bits of a float.

A constant operand of `or`, `xor`, `and`, `add` moves the units of four bytes (two, in an `i32`) that it leaves alone:
a struct `{float, int}` in an `i64` has its integer counted up by `add i64 %s, 1 << 32`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from llgrad.ir import values as iv
from llgrad.ir.types import (
    I64,
    DataLayout,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    scalar,
)

Range = tuple[int, int]
_LOW = 0xFFFFFFFF


class Window(Struct, frozen=True):
    """Bytes [to, to + size) of a result are bytes [at, at + size) of `source`."""

    source: iv.AnyValue
    at: int
    to: int
    size: int


class Moves(Struct, frozen=True):
    """`changed`: bytes of the result that arithmetic made; `used`: bytes of operands that it read as integers."""

    windows: tuple[Window, ...]
    changed: tuple[Range, ...] = ()
    used: tuple[tuple[iv.AnyValue, int, int], ...] = ()

    def zeros(self, size: int) -> set[int]:
        """The bytes of a result of `size` bytes that are zero whatever the operands are."""
        made = [(w.to, w.to + w.size) for w in self.windows] + list(self.changed)
        return set(range(size)).difference(*(range(start, end) for start, end in made))


_EXTREMA = {"llvm.smax.": "sgt", "llvm.smin.": "slt", "llvm.umax.": "ugt", "llvm.umin.": "ult"}


def extremum(i: iv.AnyValue) -> str:
    """How the smaller or larger of two integers is chosen, a predicate of `icmp`; empty for other instructions."""
    name = i.called_function.name if isinstance(i, iv.Call) and i.called_function is not None else ""
    return _EXTREMA.get(name[: len("llvm.smax.")], "")


def moves(i: iv.AnyValue, layout: DataLayout) -> Moves | None:
    """How `i` moves bits; None where it does something else, or to a place that varies."""
    match i:
        case iv.ExtractValue(aggregate, indices):
            return Moves((Window(aggregate, layout.offset(aggregate.type, indices), 0, layout.size(i.type)),))
        case iv.InsertValue(aggregate, value, indices):
            return _inserted(aggregate, value, layout.offset(i.type, indices), layout)
        case iv.ExtractElement(vector, iv.ConstInt() as n):
            size = _bytes(i.type)
            return Moves((Window(vector, n.value * size, 0, size),)) if size else None
        case iv.InsertElement(vector, value, iv.ConstInt() as n):
            size = _bytes(value.type)
            return _inserted(vector, value, n.value * size, layout) if size else None
        case iv.ShuffleVector(lhs, rhs, mask):
            return _lanes(i.type, lhs, rhs, mask)
        case iv.Cast("bitcast", value) | iv.Unary("freeze", value):
            return Moves((Window(value, 0, 0, layout.size(i.type)),))
        case iv.Call() if i.called_function is not None and i.called_function.name.startswith("llvm.vector."):
            return _vector_call(i, i.called_function.name, layout)
    return integer_moves(i)


def integer_moves(i: iv.AnyValue) -> Moves | None:
    """The same for casts, shifts, masks and their like on integers and vectors of integers."""
    if not isinstance(scalar(i.type), IntType) or not (size := _bytes(scalar(i.type))):
        return None
    found: Moves | None = None
    if isinstance(i, iv.Binary) and i.opcode in ("add", "sub", "mul") and _only_low(i):
        return Moves((), ((0, 4),), ((i.lhs, 0, 4), (i.rhs, 0, 4)))
    match i:
        case iv.Cast("trunc" | "zext", value) if (width := _bytes(scalar(value.type))):
            kept = min(width, size)
            found = Moves((Window(value, 0, 0, kept),))
            return _each_lane(found, i.type, {value: width}, size)
        case iv.Binary("lshr" | "ashr" | "shl" as op, value, by):
            found = _shifted(op, value, _constant(by), size)
        case iv.Binary("and", lhs, rhs) if (c := _constant(rhs)) is not None:
            found = _masked(lhs, c, size)
        case iv.Binary("or" | "xor", lhs, rhs) if (c := _constant(rhs)) is not None:
            found = _left_alone(lhs, rhs, [c >> 8 * n & 0xFF == 0 for n in range(size)], size)
        case iv.Binary("add", lhs, rhs) if (c := _constant(rhs)) is not None:
            found = _left_alone(lhs, rhs, [c & (1 << 8 * n + 8) - 1 == 0 for n in range(size)], size)
        case iv.Binary("or", lhs, rhs) if not isinstance(lhs, iv.Constant) and not isinstance(rhs, iv.Constant):
            found = Moves((Window(lhs, 0, 0, size), Window(rhs, 0, 0, size)))
        case iv.Call(arguments=[high, low, by]) if _named(i, "llvm.fshl.") or _named(i, "llvm.fshr."):
            found = _rotated(high, low, _constant(by), size, _named(i, "llvm.fshr."))
    if found is None or not found.windows:
        return None
    return _each_lane(found, i.type, dict.fromkeys((w.source for w in found.windows), size), size)


# --- zeros ----------------------------------------------------------------------------------------------------------


def blank_bytes(v: iv.AnyValue, layout: DataLayout, depth: int = 8) -> set[int]:
    """The bytes of a value that are zero, or that nothing defines: they fit any kind."""
    size = layout.size(v.type)
    match v:
        case iv.Undef() | iv.ConstZero() | iv.ConstNull():
            return set(range(size))
        case iv.ConstInt(value=value):
            return {n for n in range(size) if not value >> 8 * n & 0xFF}
        case iv.ConstAggregate(elements=elements) if isinstance(v.type, VectorType) and _bytes(v.type.element):
            lane = _bytes(v.type.element)
            return {n * lane + o for n, e in enumerate(elements) for o in blank_bytes(e, layout, depth)}
        case iv.Phi() | iv.Select() if depth:
            sources = v.operands[1:] if isinstance(v, iv.Select) else v.operands
            each = [blank_bytes(s, layout, depth // 2) for s in sources if s is not v]
            return set.intersection(*each) if each else set()
    if not depth or isinstance(v, iv.Constant) or (found := moves(v, layout)) is None:
        return set()
    blank = found.zeros(size)
    for source in dict.fromkeys(w.source for w in found.windows):
        inside = blank_bytes(source, layout, depth - 1)
        own = [w for w in found.windows if w.source is source]
        moved = {o - w.at + w.to for w in own for o in inside if w.at <= o < w.at + w.size}
        others = [w for w in found.windows if w.source is not source]
        blank |= {o for o in moved if not any(w.to <= o < w.to + w.size for w in others)}
    return blank | _blank_in_both(found, layout, depth)


def _blank_in_both(found: Moves, layout: DataLayout, depth: int) -> set[int]:
    """Where two windows lie over each other (`or`): what is blank in both."""
    if len(found.windows) != 2 or found.windows[0].to != found.windows[1].to:
        return set()
    sides = [{o - w.at + w.to for o in blank_bytes(w.source, layout, depth - 1)} for w in found.windows]
    return sides[0] & sides[1]


# --- integers --------------------------------------------------------------------------------------------------------


def _shifted(op: str, value: iv.AnyValue, by: int | None, size: int) -> Moves | None:
    if by is None or by % 8 or by < 16 or by // 8 >= size:
        return None
    n = by // 8
    if op == "shl":
        return Moves((Window(value, 0, n, size - n),))
    sign = op == "ashr"
    return Moves((Window(value, n, 0, size - n),), ((size - n, size),) if sign else ())


def _masked(value: iv.AnyValue, mask: int, size: int) -> Moves | None:
    """Whole bytes are kept or cleared; beside a lower unit that is one of the two, what is masked is an integer."""
    data = [mask >> 8 * n & 0xFF for n in range(size)]
    if not all(b in (0, 0xFF) for b in data) and (size < 8 or mask & _LOW not in (0, _LOW)):
        return None
    runs = [r for r in _runs([b == 0xFF for b in data]) if r[1] - r[0] >= 2]
    kept = {n for start, end in runs for n in range(start, end)}
    rest = _runs([b != 0 and n not in kept for n, b in enumerate(data)])
    return Moves(_copied(value, runs), tuple(rest), tuple((value, *r) for r in rest))


def _left_alone(value: iv.AnyValue, c: iv.AnyValue, alone: list[bool], size: int) -> Moves | None:
    """Where what changes is zero before, it is the constant's, as where a struct is put together.

    Else it is arithmetic, which must leave the lowest unit alone: it may be a pointer with a tag.
    """
    unit = 4 if size % 4 == 0 and size > 4 else 2
    if size % unit:
        return None
    units = [all(alone[n : n + unit]) for n in range(0, size, unit)]
    kept, rest = ([(a * unit, b * unit) for a, b in _runs(us)] for us in (units, [not u for u in units]))
    shifted = isinstance(value, iv.Cast | iv.Binary) and value.opcode in ("zext", "shl", "lshr", "and")
    before = integer_moves(value) if shifted else None
    if before is not None and before.zeros(size).issuperset(n for r in rest for n in range(*r)):
        return Moves((*_copied(value, kept), *_copied(c, rest)))
    return Moves(_copied(value, kept), tuple(rest), tuple((value, *r) for r in rest)) if units[0] else None


def _rotated(high: iv.AnyValue, low: iv.AnyValue, by: int | None, size: int, right: bool) -> Moves | None:
    if by is None or by % 16:
        return None
    n = by // 8 % size
    n = (size - n) % size if right else n
    if not n:
        return None
    return Moves((Window(high, 0, n, size - n), Window(low, size - n, 0, n)))


def read_bytes(i: iv.Binary) -> Range:
    """The bytes of its left operand that integer arithmetic with a constant depends on, in units of four."""
    size, c = _bytes(scalar(i.type)), _constant(i.rhs)
    if c is None or isinstance(i.type, VectorType) or size < 8:
        return 0, size
    match i.opcode:
        case "lshr" | "ashr":
            return min(c // 32 * 4, size), size
        case "shl":
            return 0, size - min(c // 32 * 4, size - 4)
        case "and" if units := [n for n in range(0, size, 4) if c >> 8 * n & _LOW]:
            return units[0], units[-1] + 4
    return 0, size


def _only_low(i: iv.Binary) -> bool:
    """Is no more used of a sum or product of 64 bits than the lower half, which depends on the lower halves only?"""
    return i.type == I64 and bool(i.users) and all(map(_takes_low, i.users))


def _takes_low(user: iv.Value) -> bool:
    match user:
        case iv.Cast("trunc"):
            return isinstance(user.type, IntType) and user.type.bits <= 32
        case iv.Binary("and", lhs, rhs):
            return any((c := _constant(x)) is not None and c <= _LOW for x in (lhs, rhs))
        case iv.Binary("shl", _, by):
            return (_constant(by) or 0) >= 32
    return False


def compared_bytes(i: iv.Compare) -> Range:
    """The bytes of its left operand that a comparison of integers with a constant depends on."""
    size = _bytes(scalar(i.lhs.type)) or 0
    c = _constant(i.rhs)
    if i.opcode != "icmp" or c is None or size < 8 or isinstance(i.lhs.type, VectorType):
        return 0, size
    low = c & _LOW
    if (i.predicate[1:] in ("lt", "ge") and low == 0) or (i.predicate[1:] in ("gt", "le") and low == _LOW):
        return 4, size
    return 0, size


def _runs(flags: list[bool]) -> list[Range]:
    """The stretches where `flags` holds."""
    runs: list[Range] = []
    for n, flag in enumerate(flags):
        if flag:
            runs[-1:] = [(runs[-1][0], n + 1)] if runs and runs[-1][1] == n else [*runs[-1:], (n, n + 1)]
    return runs


def _copied(value: iv.AnyValue, runs: list[Range]) -> tuple[Window, ...]:
    return tuple(Window(value, start, start, end - start) for start, end in runs)


def _each_lane(m: Moves, t: Type, widths: dict[iv.AnyValue, int], size: int) -> Moves:
    """The moves of one lane, for all lanes of a vector."""
    if not isinstance(t, VectorType):
        return m
    lanes = range(t.count)
    return Moves(
        tuple(Window(w.source, w.at + n * widths[w.source], w.to + n * size, w.size) for n in lanes for w in m.windows),
        tuple((a + n * size, b + n * size) for n in lanes for a, b in m.changed),
        tuple((v, a + n * size, b + n * size) for n in lanes for v, a, b in m.used),
    )


# --- aggregates and vectors ------------------------------------------------------------------------------------------


def _inserted(whole: iv.AnyValue, part: iv.AnyValue, at: int, layout: DataLayout) -> Moves:
    size, total = layout.size(part.type), layout.size(whole.type)
    around = [(0, at), (at + size, total)]
    return Moves((*_copied(whole, [r for r in around if r[0] < r[1]]), Window(part, 0, at, size)))


def _lanes(t: Type, lhs: iv.AnyValue, rhs: iv.AnyValue, mask: tuple[int, ...]) -> Moves | None:
    """Lanes picked from two vectors; neighbours that stay neighbours are one window."""
    size = _bytes(scalar(t))
    if not size or not isinstance(lhs.type, VectorType) or lhs.type.scalable:
        return None
    windows: list[Window] = []
    for lane, m in enumerate(mask):
        source, at = (lhs, m) if m < lhs.type.count else (rhs, m - lhs.type.count)
        if m < 0:
            continue
        last = windows[-1] if windows else None
        if last and last.source is source and last.at + last.size == at * size and last.to + last.size == lane * size:
            windows[-1] = Window(source, last.at, last.to, last.size + size)
        else:
            windows.append(Window(source, at * size, lane * size, size))
    return Moves(tuple(windows))


def _vector_call(i: iv.Call, name: str, layout: DataLayout) -> Moves | None:
    """`llvm.vector.reverse`, `splice`, `insert`, `extract`, `interleave2` …, `deinterleave2` … as lanes picked."""
    first, operation = i.arguments[0], name.split(".")[2]
    count = first.type.count if isinstance(first.type, VectorType) else 0
    size = _bytes(scalar(first.type))
    if not count or not size or any(isinstance(a.type, VectorType) and a.type.scalable for a in i.arguments):
        return None
    numbers = [a.signed for a in i.arguments[1:] if isinstance(a, iv.ConstInt)]
    second = i.arguments[1] if len(i.arguments) > 1 else first
    match operation:
        case "reverse":
            return _lanes(i.type, first, first, tuple(reversed(range(count))))
        case "splice" if numbers:
            start = count - numbers[0] if name.split(".")[3] == "right" else numbers[0]  # `splice.left`, `splice.right`
            return _lanes(i.type, first, second, tuple(range(start, start + count)))
        case "extract" if numbers and isinstance(i.type, VectorType):
            return Moves((Window(first, numbers[0] * size, 0, i.type.count * size),))
        case "insert" if numbers:
            return _inserted(first, second, numbers[0] * size, layout)
        case _ if operation.startswith("interleave"):
            lanes = [(a, n) for n in range(count) for a in i.arguments]
            return Moves(tuple(Window(a, n * size, to * size, size) for to, (a, n) in enumerate(lanes)))
        case _ if operation.startswith("deinterleave"):
            assert isinstance(i.type, StructType)
            at, ways = layout.offsets(i.type), len(i.type.fields or ())
            return Moves(tuple(Window(first, n * size, at[n % ways] + n // ways * size, size) for n in range(count)))
    return None


def _bytes(t: Type) -> int:
    """Bytes of a lane; 0 where it is not made of whole ones."""
    match t:
        case IntType(bits):
            return bits // 8 if bits % 8 == 0 else 0
        case FloatType():
            return t.bits // 8
        case PointerType():
            return 8
    return 0


def _constant(v: iv.AnyValue) -> int | None:
    """The value of a constant integer, or of a vector that is the same in all lanes."""
    match v:
        case iv.ConstInt(value=value):
            return value
        case iv.ConstAggregate(elements=elements) if len(found := set(_scalars(elements))) == 1:
            return found.pop()
    return None


def _scalars(elements: tuple[iv.AnyConstant, ...]) -> Iterator[int | None]:
    return (e.value if isinstance(e, iv.ConstInt) else None for e in elements)


def _named(i: iv.Call, prefix: str) -> bool:
    return i.called_function is not None and i.called_function.name.startswith(prefix)


__all__ = [
    "Moves", "Window", "blank_bytes", "compared_bytes", "extremum", "integer_moves", "moves", "read_bytes",
]  # fmt: skip
