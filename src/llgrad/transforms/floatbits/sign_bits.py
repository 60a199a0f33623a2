"""Signs that are set, cleared and read as bits become operations on floats, and blends under masks become choices.

    and x, 0x7fff…              fabs            and (sext c), x             select c, x, 0
    xor x, 0x8000…              fneg            and (not (sext c)), x       select c, 0, x
    or x, 0x8000…               -fabs           or (select c, x, 0), (select c, 0, y)    select c, x, y
    or (fabs x), (sign of y)    copysign        xor x, (sign of y)          select y < 0 (as bits), -x, x

`x` and `y` are bits of a float: what is cast from one, or cast to one wherever it is used but in stores. Vectors
count lane by lane, and through casts to lanes of other widths, as the intrinsics of `immintrin.h` make them. All are
exact, bit by bit.
LLVM's combiner knows most of them, but not all, and it makes integers of loads before it sees what they are for; at
level 0 it does not run.

    %i = bitcast double %x to i64
    %m = and i64 %i, 9223372036854775807         →      %m = call double @llvm.fabs.f64(double %x)
    %y = bitcast i64 %m to double
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.ir.build import Builder, declare, zero
from llgrad.ir.module import Module
from llgrad.ir.rewrite import drop_unused, local_names
from llgrad.ir.types import FloatType, IntType, Type, VectorType, scalar
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Call,
    Cast,
    ConstAggregate,
    ConstFloat,
    ConstInt,
    ConstZero,
    Function,
    InsertElement,
    Instruction,
    Select,
    ShuffleVector,
    Store,
    Undef,
    put_instead,
)

_FORMATS = ("half", "float", "double")
_BITWISE = (" = and ", " = or ", " = xor ")
_SIGNS = (" -9223372036854775808", " 9223372036854775807", " -2147483648", " 2147483647")


def with_signs(module: Module) -> bool:
    """Rewrite what is done to the bits of floats."""
    return any([_Rewriting(module, f).run() for f in module.concerned(may_have_signs)])


def changes_bits(text: str) -> bool:
    return any(word in text for word in _BITWISE)


def may_have_signs(text: str) -> bool:
    """May a function's text do that? This is quick to say."""
    if not changes_bits(text) or not any(name in text for name in _FORMATS):
        return False
    return " = bitcast " in text or any(sign in text for sign in _SIGNS)


class _Rewriting:
    def __init__(self, module: Module, f: Function) -> None:
        self.module, self.f = module, f
        self.names = local_names(f)

    def run(self) -> int:
        """How many instructions were rewritten."""
        bitwise = [i for i in self.f.instructions() if isinstance(i, Binary) and i.opcode in ("and", "or", "xor")]
        return sum([self._rewritten(i) for i in bitwise])

    def _rewritten(self, i: Binary) -> bool:
        if (t := _float_type(i)) is None:
            return False
        b = Builder(i.block, self.names)
        b.at = first = i.block.instructions.index(i)
        x, bits = (i.lhs, _bits(i.rhs)) if _bits(i.lhs) is None else (i.rhs, _bits(i.lhs))
        made = self._by_value(b, i, t) if bits is None else self._by_constant(b, i.opcode, x, bits, t)
        if made is None:
            return False
        new, old = Cast("bitcast", i.type, [made], i.name), list(i.operands)
        put_instead(i, new)
        for other in (new, *i.block.instructions[first : b.at]):
            other.metadata = {k: v for k, v in i.metadata.items() if k == "dbg"}
        for v in (new, *old):
            drop_unused(v)
        return True

    # --- constants

    def _by_constant(self, b: Builder, op: str, v: AnyValue, bits: int, t: Type) -> AnyValue | None:
        """The float of type `t` whose bits are made of those of `v` and of constant ones."""
        element = scalar(t)
        assert isinstance(element, FloatType)
        width = element.bits
        ones, sign = (1 << width) - 1, 1 << width - 1
        lanes = [bits >> n * width & ones for n in range(_count(t))]
        changing, alone = (sign - 1, ones) if op == "and" else (sign, 0)
        if changing not in lanes or not {changing, alone, 0}.issuperset(lanes):
            return None
        x = _as(b, v, t)
        made = b.unary("fneg", x) if op == "xor" else self._fabs(b, x)
        made = b.unary("fneg", made) if op == "or" else made
        made = _lanes(b, made, x, [lane == alone for lane in lanes])
        cleared = [lane == 0 and op == "and" for lane in lanes]
        return _lanes(b, made, zero(t), cleared)

    def _fabs(self, b: Builder, x: AnyValue) -> AnyValue:
        return b.call(declare(self.module, f"llvm.fabs.{_mangled(x.type)}", x.type, [x.type]), [x])

    # --- values

    def _by_value(self, b: Builder, i: Binary, t: Type) -> AnyValue | None:
        """The same where both operands are values."""
        pairs = [(i.lhs, i.rhs), (i.rhs, i.lhs)]
        for p, q in pairs:
            made = None
            match i.opcode:
                case "and" if (mask := _mask(p, t)) is not None:
                    x, none = _as(b, q, t), zero(t)
                    made = b.select(mask[0], none, x) if mask[1] else b.select(mask[0], x, none)
                case "or":
                    made = _either(b, p, q, t) or self._signed(b, p, q, t)
                case "xor" if (s := _sign_of(p, t)) is not None and _root(q) is not _root(p):
                    negative, x = b.icmp("slt", _as_integer(b, s, t), zero(_integers(t))), _as(b, q, t)
                    made = b.select(negative, b.unary("fneg", x), x)
            if made is not None:
                return made
        return None

    def _signed(self, b: Builder, p: AnyValue, q: AnyValue, t: Type) -> AnyValue | None:
        """`q` with the sign of `p`, if `q` has none."""
        x, s = _root(q), _sign_of(p, t)
        if s is None or not isinstance(x, Call) or x.called_function is None or x.type != t:
            return None
        if not x.called_function.name.startswith("llvm.fabs."):
            return None
        y = _root(s)
        if y.type == t:
            name = f"llvm.copysign.{_mangled(t)}"
            return b.call(declare(self.module, name, t, [t, t]), [x, y])
        negative = b.icmp("slt", _as_integer(b, s, t), zero(_integers(t)))
        return b.select(negative, b.unary("fneg", x), x)


def _either(b: Builder, p: AnyValue, q: AnyValue, t: Type) -> AnyValue | None:
    """What is chosen by one condition, zero otherwise, beside what is chosen where it does not hold."""
    p, q = _root(p), _root(q)
    if not (isinstance(p, Select) and isinstance(q, Select) and p.condition is q.condition and p.type == q.type == t):
        return None
    return b.select(p.condition, p.if_true, q.if_false) if _bits(p.if_false) == 0 == _bits(q.if_true) else None


# --- what values are --------------------------------------------------------------------------------------------------


def _root(v: AnyValue) -> AnyValue:
    """What `v` has the bits of."""
    while isinstance(v, Cast) and v.opcode == "bitcast":
        v = v.value
    return v


def _float_type(i: Binary) -> Type | None:
    """The type of the floats whose bits `i` changes, or makes."""
    found: set[Type | None] = {x.type for x in map(_root, i.operands) if _is_float(x.type) and _bits(x) is None}
    found = found or set(_wanted(i))
    return found.pop() if len(found) == 1 and None not in found else None


def _wanted(i: Instruction) -> Iterator[Type | None]:
    """The types of floats that `i` is cast to; None where it is used otherwise. A store of it says nothing."""
    for user in i.users:
        if isinstance(user, Store) and user.value is i and user.pointer is not i:
            continue
        if not isinstance(user, Cast) or user.opcode != "bitcast":
            yield None
        elif _is_float(user.type):
            yield user.type
        else:
            yield from _wanted(user)


def _is_float(t: Type) -> bool:
    element = scalar(t)
    return isinstance(element, FloatType) and element.name in _FORMATS and not getattr(t, "scalable", False)


def _mask(v: AnyValue, t: Type) -> tuple[AnyValue, bool] | None:
    """The condition that `v` is all ones under, lane by lane of `t`; and whether it is zero there instead."""
    v = _root(v)
    inverted = False
    while isinstance(v, Binary) and v.opcode == "xor" and _bits(v.rhs) == (1 << _size(v.type)) - 1:
        v, inverted = _root(v.lhs), not inverted
    if not isinstance(v, Cast) or v.opcode != "sext" or v.type != _integers(t):
        return None
    return (v.value, inverted) if str(scalar(v.value.type)) == "i1" else None


def _sign_of(v: AnyValue, t: Type) -> AnyValue | None:
    """A value with the sign bits of `v`, if `v` has no other bits."""
    v = _root(v)
    if isinstance(v, Binary) and v.opcode == "and":
        return next((x for x, mask in (v.operands, v.operands[::-1]) if _bits(mask) == _signs(t)), None)
    if isinstance(v, Binary) and v.opcode == "shl" and v.type == _integers(t):
        width = _size(scalar(t))
        return v if _bits(v.rhs) == sum(width - 1 << n * width for n in range(_count(t))) else None
    return None


def _signs(t: Type) -> int:
    width = _size(scalar(t))
    return sum(1 << (n + 1) * width - 1 for n in range(_count(t)))


def _bits(v: AnyValue, depth: int = 70) -> int | None:
    """A constant, or what is put together of constants, as one integer."""
    match v:
        case ConstInt(value=n) | ConstFloat(bits=n):
            return n
        case ConstZero() | Undef():  # what is undefined may be zero
            return 0
        case ConstAggregate(elements=elements) if isinstance(v.type, VectorType):
            return _put_together(_size(v.type.element), [_bits(e) for e in elements])
        case Cast("bitcast", inner) if depth:
            return _bits(inner, depth - 1)
        case InsertElement(vector, element, ConstInt(value=n)) if depth and (one := _bits(element)) is not None:
            at, around = n * _size(element.type), _bits(vector, depth - 1)
            return None if around is None else around & ~(((1 << _size(element.type)) - 1) << at) | one << at
        case Binary("xor", lhs, rhs) if depth and (right := _bits(rhs)) is not None:
            left = _bits(lhs, depth - 1)
            return None if left is None else left ^ right
    return None


def _put_together(width: int, lanes: list[int | None]) -> int | None:
    known = [lane for lane in lanes if lane is not None]
    return sum(lane << n * width for n, lane in enumerate(known)) if len(known) == len(lanes) else None


def _count(t: Type) -> int:
    return t.count if isinstance(t, VectorType) else 1


def _size(t: Type) -> int:
    """Bits of a scalar or vector."""
    match t:
        case VectorType():
            return t.count * _size(t.element)
        case IntType():
            return t.bits
        case FloatType():
            return t.bits
    return 0


def _integers(t: Type) -> Type:
    """The integers as wide as the floats of `t`."""
    own = IntType(_size(scalar(t)))
    return VectorType(own, t.count) if isinstance(t, VectorType) else own


def _mangled(t: Type) -> str:
    one = f"f{_size(scalar(t))}"
    return f"v{t.count}{one}" if isinstance(t, VectorType) else one


# --- writing ----------------------------------------------------------------------------------------------------------


def _as(b: Builder, v: AnyValue, t: Type) -> AnyValue:
    root = _root(v)
    return root if root.type == t else b.cast("bitcast", v, t)


def _as_integer(b: Builder, v: AnyValue, t: Type) -> AnyValue:
    return b.cast("bitcast", v, _integers(t))


def _lanes(b: Builder, made: AnyValue, other: AnyValue, where: list[bool]) -> AnyValue:
    """`made`, but for the lanes of `other` that are said."""
    if not any(where):
        return made
    n = len(where)
    mask = tuple(k + n * other_one for k, other_one in enumerate(where))
    picks = VectorType(IntType(32), n)
    constant = ConstAggregate(picks, tuple(ConstInt(IntType(32), k) for k in mask))
    return b.insert(ShuffleVector(made.type, made, other, mask, constant))
