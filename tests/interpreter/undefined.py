"""Poison, and integers some bytes of which are not plain data.

`POISON` stands for both poison and undef (LangRef: Poison Values, Undefined Values): whatever is computed from it is
poison, and a branch, address or division on it raises. Taking undef for poison is stricter than LLVM: `and undef, 0`
is poison here.

`Bits` is an integer loaded from memory that holds an active float or was never written: byte by byte it carries the
shadow of those bytes, so that copying through integers copies tangents. Moving whole bytes (shifts by multiples of
8, masks of whole bytes, disjoint `or`, truncation, extension, byte swaps) moves the shadow. Sign and exponent bits
are piecewise constant: extracting only them gives a plain integer. Flipping or masking the sign of a complete float
is its fneg or fabs. Comparisons see plain bits. Whatever else would compute with the bits of an active float raises
`UnsupportedError`.
"""

from __future__ import annotations

from typing import Any

from llgrad.errors import ForeignError, UnsupportedError


class PoisonError(ForeignError):
    """Control or memory depends on poison, undef or uninitialised memory."""


class _Poison:
    """The type of `POISON`: absorbs all arithmetic."""

    __slots__ = ()
    __array_ufunc__ = None

    def _absorb(self, *_: Any) -> Any:
        return self

    def _refuse(self, *_: Any) -> Any:
        raise PoisonError("a branch, an address or an output depends on a poison, undef or uninitialised value")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _absorb
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _absorb
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _absorb
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __neg__ = __pos__ = __abs__ = __invert__ = _absorb
    __lt__ = __le__ = __gt__ = __ge__ = _absorb
    __eq__ = __ne__ = _absorb
    __bool__ = __index__ = __int__ = __float__ = _refuse
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "poison"


POISON: Any = _Poison()


class _Mark:
    """A shadow of a byte that is neither plain data nor a fragment of a float."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNWRITTEN = _Mark("unwritten")
MANGLED = _Mark("mangled")
Shadow = Any  # None: plain data; a Fragment; UNWRITTEN; MANGLED


def bits_of(value: int, shadow: list[Shadow], size: int) -> Any:
    """The integer of `size` bytes with this shadow: plain where the shadow is, POISON where nothing was written."""
    if len(shadow) >= size and all(s is UNWRITTEN for s in shadow):
        return POISON
    while shadow and shadow[-1] is None:
        shadow.pop()
    return Bits(value, shadow) if shadow else value


class Bits(int):
    """See the module. `shadow` has an entry for each byte from the lowest; the missing ones are None."""

    shadow: list[Shadow]

    def __new__(cls, value: int, shadow: list[Shadow]) -> Bits:
        self = super().__new__(cls, value)
        self.shadow = shadow
        return self

    def mangle(self, *_: Any) -> Any:
        """What arithmetic on these bits gives: poison of unwritten bytes, an error of active ones."""
        if all(s is None or s is UNWRITTEN for s in self.shadow):
            return POISON
        raise UnsupportedError(
            "integer arithmetic on the bits of an active float",
            cause="a tangent cannot be followed through it",
            fix="use floating-point operations (fabs, copysign, frexp, ldexp) instead of bit tricks",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = mangle
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __rlshift__ = __rrshift__ = __neg__ = __abs__ = mangle
    __invert__ = __float__ = mangle

    def plain(self) -> int:
        """The number alone."""
        number: int = int.__int__(self)
        return number

    def frozen(self) -> Any:
        """The same with unwritten bytes made plain."""
        return bits_of(self.plain(), [None if s is UNWRITTEN else s for s in self.shadow], len(self.shadow) + 1)

    @property
    def unwritten(self) -> bool:
        return UNWRITTEN in self.shadow

    def __pos__(self) -> Any:
        return self

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __and__(self, other: Any) -> Any:
        return other if other is POISON else _bitwise("and", self, other)

    def __or__(self, other: Any) -> Any:
        return other if other is POISON else _bitwise("or", self, other)

    def __xor__(self, other: Any) -> Any:
        return other if other is POISON else _bitwise("xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, count: Any) -> Any:
        if count is POISON:
            return POISON
        whole, rest = divmod(int(count), 8)
        shadow = [None] * whole + (list(self.shadow) if rest == 0 else _shifted(self, rest))
        return bits_of(self.plain() << int(count), shadow, len(shadow) + 1)

    def __rshift__(self, count: Any) -> Any:
        if count is POISON:
            return POISON
        whole, rest = divmod(int(count), 8)
        shadow = self.shadow[whole:] if rest == 0 else _shifted(self, 8 - rest)[whole + 1 :]
        return bits_of(self.plain() >> int(count), list(shadow), len(shadow) + 1)

    def _compared(self, result: bool) -> Any:
        return POISON if self.unwritten else result

    def __eq__(self, other: object) -> Any:
        return _compare(int.__eq__, self, other)

    def __ne__(self, other: object) -> Any:
        return _compare(int.__ne__, self, other)

    def __lt__(self, other: Any) -> Any:
        return _compare(int.__lt__, self, other)

    def __le__(self, other: Any) -> Any:
        return _compare(int.__le__, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compare(int.__gt__, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compare(int.__ge__, self, other)

    def __hash__(self) -> int:
        return hash(self.plain())


def _compare(op: Any, a: Bits, b: Any) -> Any:
    if b is POISON or a.unwritten or (isinstance(b, Bits) and b.unwritten):
        return POISON
    return op(a, b)


def _byte(value: int, index: int) -> int:
    byte: int = int.__rshift__(value, 8 * index) & 255
    return byte


def _constant_mask(shadow: Shadow) -> int:
    """Which bits of this byte are piecewise constant: those of plain data, and the sign and exponent of a float."""
    if shadow is None:
        return 255
    if shadow is UNWRITTEN or shadow is MANGLED:
        return 0
    below: int = shadow.dual.format.fraction - 8 * shadow.index
    return 255 & ~((1 << max(below, 0)) - 1)


def _spoilt(*shadows: Shadow) -> Shadow:
    return UNWRITTEN if all(s is UNWRITTEN or s is None for s in shadows) else MANGLED


def _bitwise(op: str, a: Bits, b: int) -> Any:
    signed = _sign_operation(op, a, b)
    if signed is not None:
        return signed
    value = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}[op](a, b)
    other = b.shadow if isinstance(b, Bits) else []
    size = max(len(a.shadow), len(other))
    pad = [None] * size
    pairs = zip([*a.shadow, *pad][:size], [*other, *pad][:size], strict=True)
    shadow = [_merge(op, s, _byte(a, i), t, _byte(b, i)) for i, (s, t) in enumerate(pairs)]
    return bits_of(value, shadow, size + 1)


def _merge(op: str, s: Shadow, x: int, t: Shadow, y: int) -> Shadow:
    """The shadow of one byte of `op` on bytes x and y with shadows s and t."""
    if s is None and t is None:
        return None
    if s is not None and t is not None:
        same = s is t and s is not UNWRITTEN and s is not MANGLED
        return (None if op == "xor" else s) if same else _spoilt(s, t)
    active, constant = (s, y) if t is None else (t, x)
    if constant == {"and": 255, "or": 0, "xor": 0}[op]:
        return active
    kept = {"and": constant, "or": 255 & ~constant, "xor": 255}[op]
    return None if kept & ~_constant_mask(active) == 0 else _spoilt(active)


def _shifted(a: Bits, left: int) -> list[Shadow]:
    """The shadow of `a << left` for 0 < left < 8, a byte longer: each byte is made of two."""
    low_bits = 255 >> left  # the bits of a byte that stay in its place; the others enter the next byte
    pad = [None, *a.shadow, None]
    result = []
    for below, here in zip(pad, pad[1:], strict=False):
        constant = not (low_bits & ~_constant_mask(here)) and not (255 & ~low_bits & ~_constant_mask(below))
        result.append(None if constant else _spoilt(below, here))
    return result


def _sign_operation(op: str, a: Bits, b: int) -> Any:
    """fabs, fneg and -fabs written as masks of the sign bit of a complete float; None when it is not that."""
    first = a.shadow[0]
    dual = getattr(first, "dual", None)
    if dual is None or isinstance(b, Bits) or dual.fragments != a.shadow:
        return None
    sign = 1 << (dual.format.bits - 1)
    negative = bool(int.__and__(a, sign))
    flip = {("and", sign - 1): negative, ("or", sign): not negative, ("xor", sign): True}.get((op, b))
    if flip is None:
        return None
    return Bits(int.__xor__(a, sign), list((-dual).fragments)) if flip else a
