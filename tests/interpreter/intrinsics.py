"""LLVM's intrinsics (LangRef: Intrinsic Functions).

`resolve` gives the Python function of an intrinsic for the types of a call, or None where the interpreter has none.
Those with a derivative go through the rules table; `llvm.fmuladd` is unfused. `llvm.assume` of a false condition is
an error; `objectsize` answers "unknown"; hints and annotations do nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from interpreter import calls, scalar
from interpreter.floats import format_of, is_finite, is_nan, primal, sign_bit
from interpreter.mathematics import compute
from interpreter.undefined import POISON, Bits
from llgrad.errors import ForeignError
from llgrad.ir.types import FunctionType, IntType, Type, VectorType
from llgrad.ir.types import scalar as element_of

if TYPE_CHECKING:
    from interpreter.machine import Machine

Op = Callable[..., Any]
Factory = Callable[["Machine", FunctionType], Op]

IGNORED = (
    "llvm.dbg.", "llvm.donothing", "llvm.sideeffect", "llvm.pseudoprobe", "llvm.var.annotation", "llvm.prefetch",
    "llvm.experimental.noalias.scope.decl", "llvm.invariant.end", "llvm.codeview.annotation", "llvm.fake.use",
    "llvm.va_end",
)  # fmt: skip


def ignored(name: str) -> bool:
    """Does a call of this intrinsic do nothing?"""
    return name.startswith(IGNORED)


def resolve(machine: Machine, name: str, signature: FunctionType) -> Op | None:
    """The function of intrinsic `name` for the types of a call."""
    parts = name.removeprefix("llvm.").split(".")
    for length in range(len(parts), 0, -1):
        factory = _TABLE.get(".".join(parts[:length]))
        if factory is not None:
            return factory(machine, signature)
    return calls.mathematical(machine, name, signature)


# --- integers --------------------------------------------------------------------------------------------------------


def _bits(t: Type) -> int:
    kind = element_of(t)
    return kind.bits if isinstance(kind, IntType) else 64


def _strict(op: Op) -> Op:
    """Refuse bits of active floats; poison in, poison out."""

    def checked(*operands: Any) -> Any:
        for x in operands:
            if x is POISON:
                return POISON
            if x.__class__ is Bits:
                return x.mangle()
        return op(*operands)

    return checked


def _lanes(operand_count: int, make: Callable[[int], Op]) -> Factory:
    """An operation of iN, lane by lane in its first operands; the others are shared by all lanes."""

    def factory(_: Machine, signature: FunctionType) -> Op:
        op = _strict(make(_bits(signature.params[0])))
        if not isinstance(signature.params[0], VectorType):
            return op
        return lambda *xs: tuple(op(*lane, *xs[operand_count:]) for lane in zip(*xs[:operand_count], strict=True))

    return factory


def _leading_zeros(bits: int) -> Op:
    return lambda a, zero_is_poison: POISON if zero_is_poison and not a else bits - int(a).bit_length()


def _trailing_zeros(bits: int) -> Op:
    return lambda a, zero_is_poison: (
        (POISON if zero_is_poison else bits) if not a else (a & -a).bit_length() - 1
    )


def _absolute(bits: int) -> Op:
    signed, minimum = scalar.to_signed(bits), 1 << (bits - 1)
    return lambda a, minimum_is_poison: POISON if minimum_is_poison and a == minimum else abs(signed(a))


def _reversed_bits(bits: int) -> Op:
    return lambda a: int(f"{a:0{bits}b}"[::-1], 2)


def _funnel(left: bool) -> Callable[[int], Op]:
    def make(bits: int) -> Op:
        mask = (1 << bits) - 1

        def shift(a: Any, b: Any, count: Any) -> Any:
            wide = a << bits | b
            return (wide >> (bits - count % bits)) & mask if left else (wide >> count % bits) & mask

        return shift

    return make


def _clamp(op: Op, signed: bool) -> Callable[[int], Op]:
    """A saturating operation."""

    def make(bits: int) -> Op:
        mask = (1 << bits) - 1
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, mask)
        read: Op = scalar.to_signed(bits) if signed else int
        shifting = op is operator.lshift

        def clamped(a: Any, b: Any) -> Any:
            if shifting and b >= bits:
                return POISON
            return max(low, min(high, op(read(a), b if shifting else read(b)))) & mask

        return clamped

    return make


def _extreme(choose: Op, signed: bool) -> Callable[[int], Op]:
    def make(bits: int) -> Op:
        half = 1 << (bits - 1) if signed else 0
        return lambda a, b: choose(a ^ half, b ^ half) ^ half

    return make


def _three_way(signed: bool) -> Factory:
    def factory(_: Machine, signature: FunctionType) -> Op:
        half = 1 << (_bits(signature.params[0]) - 1) if signed else 0
        mask = (1 << _bits(signature.result)) - 1
        op = _strict(lambda a, b: (((a ^ half) > (b ^ half)) - ((a ^ half) < (b ^ half))) & mask)
        return scalar.lanewise(op, signature.result)

    return factory


def _overflow(op: Op, signed: bool) -> Factory:
    def factory(_: Machine, signature: FunctionType) -> Op:
        bits = _bits(signature.params[0])
        mask = (1 << bits) - 1
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, mask)
        read: Op = scalar.to_signed(bits) if signed else int

        def one(a: Any, b: Any) -> Any:
            if a is POISON or b is POISON:
                return POISON, POISON
            if a.__class__ is Bits or b.__class__ is Bits:
                return (a + b,) * 2  # refused, or poison
            exact = op(read(a), read(b))
            return exact & mask, int(not low <= exact <= high)

        if not isinstance(signature.params[0], VectorType):
            return one
        return lambda a, b: tuple(zip(*map(one, a, b), strict=True))

    return factory


def _byte_swap(machine: Machine, signature: FunctionType) -> Op:
    size = _bits(signature.result) // 8

    def swap(a: Any) -> Any:
        if a is POISON:
            return POISON
        plain = a.plain() if a.__class__ is Bits else a
        value = int.from_bytes(plain.to_bytes(size, "little"), "big")
        return Bits(value, ([*a.shadow, *[None] * size])[:size][::-1]) if a.__class__ is Bits else value

    return scalar.lanewise(swap, signature.result)


_INTEGERS: dict[str, Factory] = {
    "ctpop": _lanes(1, lambda bits: lambda a: int(a).bit_count()), "ctlz": _lanes(1, _leading_zeros),
    "cttz": _lanes(1, _trailing_zeros), "abs": _lanes(1, _absolute), "bitreverse": _lanes(1, _reversed_bits),
    "uadd.sat": _lanes(2, _clamp(operator.add, False)), "sadd.sat": _lanes(2, _clamp(operator.add, True)),
    "usub.sat": _lanes(2, _clamp(operator.sub, False)), "ssub.sat": _lanes(2, _clamp(operator.sub, True)),
    "ushl.sat": _lanes(2, _clamp(operator.lshift, False)), "sshl.sat": _lanes(2, _clamp(operator.lshift, True)),
    "umax": _lanes(2, _extreme(max, False)), "umin": _lanes(2, _extreme(min, False)),
    "smax": _lanes(2, _extreme(max, True)), "smin": _lanes(2, _extreme(min, True)),
    "ucmp": _three_way(False), "scmp": _three_way(True), "bswap": _byte_swap,
    **{f"{'s' if s else 'u'}{n}.with.overflow": _overflow(op, s)
       for n, op in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul)) for s in (False, True)},
}  # fmt: skip


def _funnel_factory(left: bool) -> Factory:
    """Funnel shifts move bytes, and with them the bits of floats: not strict."""

    def factory(_: Machine, signature: FunctionType) -> Op:
        return scalar.lanewise(_funnel(left)(_bits(signature.result)), signature.result)

    return factory


# --- vectors ---------------------------------------------------------------------------------------------------------


def _reduction(make: Callable[[Type], Op], start: bool = False) -> Factory:
    """A reduction in the order of the lanes; `start`: the first operand is where it starts."""

    def factory(_: Machine, signature: FunctionType) -> Op:
        op = make(signature.result)
        if start:
            return lambda first, v: reduce(op, v, first)
        return lambda v: reduce(op, v)

    return factory


def _integer_op(opcode: str) -> Callable[[Type], Op]:
    return lambda t: scalar.integer_binary(opcode, _bits(t))


def _float_op(opcode: str) -> Callable[[Type], Op]:
    return lambda t: scalar.float_binary(opcode, format_of(getattr(t, "name", "")))


def _rule_op(name: str) -> Callable[[Type], Op]:
    return lambda t: calls.rule_function(name, format_of(getattr(t, "name", "")))


_VECTORS: dict[str, Factory] = {
    **{f"vector.reduce.{n}": _reduction(_integer_op(n)) for n in ("add", "mul", "and", "or", "xor")},
    **{f"vector.reduce.{n}": _reduction(_float_op(n), start=True) for n in ("fadd", "fmul")},
    **{f"vector.reduce.{n}": _reduction(lambda t, m=m, s=s: _strict(_extreme(m, s)(_bits(t))))  # type: ignore[misc]
       for n, m, s in (("smax", max, True), ("smin", min, True), ("umax", max, False), ("umin", min, False))},
    "vector.reduce.fmax": _reduction(_rule_op("fmax")), "vector.reduce.fmin": _reduction(_rule_op("fmin")),
    "vector.reduce.fmaximum": _reduction(_rule_op("fmaximum")),
    "vector.reduce.fminimum": _reduction(_rule_op("fminimum")),
    "vector.reverse": lambda m, t: lambda v: v[::-1],
    "vector.insert": lambda m, t: lambda v, w, k: v[:k] + w + v[k + len(w):],
    "vector.extract": lambda m, t: lambda v, k: v[k:k + getattr(t.result, "count", 0)],
    "vector.splice.left": lambda m, t: lambda a, b, k: (a + b)[k:][: len(a)],
    "vector.splice.right": lambda m, t: lambda a, b, k: (a + b)[len(a) - k:][: len(a)],
    "vector.interleave2": lambda m, t: lambda a, b: tuple(x for pair in zip(a, b, strict=True) for x in pair),
    "vector.deinterleave2": lambda m, t: lambda v: (v[::2], v[1::2]),
    "stepvector": lambda m, t: lambda: tuple(range(getattr(t.result, "count", 0))),
    "get.active.lane.mask": lambda m, t: lambda a, n: tuple(
        int(a + i < n) for i in range(getattr(t.result, "count", 0))),
}  # fmt: skip


# --- floats ----------------------------------------------------------------------------------------------------------


def _saturating(signed: bool) -> Factory:
    return lambda _, t: scalar.lanewise(scalar.truncation(_bits(t.result), signed, saturating=True), t.result)


def _class_bits(x: Any) -> int:
    """The bit of `llvm.is.fpclass` that says what x is (no signalling NaNs here)."""
    if is_nan(x):
        return 1 << 1
    negative = sign_bit(x)
    if not is_finite(x):
        return 1 << (2 if negative else 9)
    return 1 << (5 if negative else 6) if x == 0 else 1 << (3 if negative else 8)


def _is_class(_: Machine, signature: FunctionType) -> Op:
    kind = element_of(signature.params[0])
    format = format_of(getattr(kind, "name", ""))

    def one(x: Any, mask: int) -> Any:
        if x is POISON:
            return POISON
        x = primal(x)
        bit = _class_bits(x)
        if bit in (1 << 3, 1 << 8) and compute("ilogb", format, [x])[0] < format.lowest + format.precision - 1:
            bit = 1 << (4 if sign_bit(x) else 7)
        return int(bool(mask & bit))

    if isinstance(signature.params[0], VectorType):
        return lambda v, mask: tuple(one(x, mask) for x in v)
    return one


# --- memory and control ----------------------------------------------------------------------------------------------


def _assume(_: Machine, __: FunctionType) -> Op:
    def assume(condition: Any, *bundles: Any) -> None:
        if not condition:
            raise ForeignError("llvm.assume of a condition that is false")

    return assume


def _trap(_: Machine, __: FunctionType) -> Op:
    def trap(*_: Any) -> None:
        raise ForeignError("the program trapped")

    return trap


def _masked(_machine: Machine, signature: FunctionType, gather: bool) -> Op:
    """masked.load and masked.gather: (pointer or pointers, [alignment,] mask, pass-through)."""
    assert isinstance(signature.result, VectorType)
    codec = _machine.codecs(signature.result.element)

    def load(pointer: Any, *rest: Any) -> Any:
        mask, other = rest[-2:]
        places = pointer if gather else [pointer + i * codec.size for i in range(len(mask))]
        return tuple([codec.load(p) if m else o for p, m, o in zip(places, mask, other, strict=True)])

    return load


def _masked_store(_machine: Machine, signature: FunctionType, scatter: bool) -> Op:
    """masked.store and masked.scatter: (vector, pointer or pointers, [alignment,] mask)."""
    vector = signature.params[0]
    assert isinstance(vector, VectorType)
    codec = _machine.codecs(vector.element)

    def store(values: Any, pointer: Any, *rest: Any) -> None:
        mask = rest[-1]
        places = pointer if scatter else [pointer + i * codec.size for i in range(len(mask))]
        for p, m, v in zip(places, mask, values, strict=True):
            if m:
                codec.store(p, v)

    return store


def _expand_load(machine: Machine, signature: FunctionType) -> Op:
    assert isinstance(signature.result, VectorType)
    codec = machine.codecs(signature.result.element)

    def load(pointer: Any, mask: Any, other: Any) -> Any:
        lanes = []
        for m, o in zip(mask, other, strict=True):
            lanes.append(codec.load(pointer) if m else o)
            pointer += codec.size if m else 0
        return tuple(lanes)

    return load


def _compress_store(machine: Machine, signature: FunctionType) -> Op:
    vector = signature.params[0]
    assert isinstance(vector, VectorType)
    codec = machine.codecs(vector.element)

    def store(values: Any, pointer: Any, mask: Any) -> None:
        for m, v in zip(mask, values, strict=True):
            if m:
                codec.store(pointer, v)
                pointer += codec.size

    return store


def _stack_restore(machine: Machine, _: FunctionType) -> Op:
    def restore(mark: Any) -> None:
        machine.frames[-1].release(machine.memory, int(mark) & 0xFFFFFFFF)

    return restore


def _identity(_: Machine, __: FunctionType) -> Op:
    return lambda x, *rest: x


def _constant(value: int) -> Factory:
    return lambda m, t: lambda *rest: value


def _object_size(_: Machine, t: FunctionType) -> Op:
    unknown = (1 << _bits(t.result)) - 1
    return lambda pointer, minimum, *rest: 0 if minimum else unknown


def _lifetime(machine: Machine, t: FunctionType) -> Op:
    return lambda *operands: machine.memory.forget(operands[-1])


_MEMORY: dict[str, Factory] = {
    "memcpy": lambda m, t: lambda a, b, n, *v: m.memory.copy(a, b, int(n)),
    "memmove": lambda m, t: lambda a, b, n, *v: m.memory.copy(a, b, int(n)),
    "memset": lambda m, t: lambda a, x, n, *v: m.memory.fill(a, x, int(n)),
    "lifetime.start": _lifetime, "lifetime.end": _lifetime,
    "masked.load": lambda m, t: _masked(m, t, False), "masked.gather": lambda m, t: _masked(m, t, True),
    "masked.store": lambda m, t: _masked_store(m, t, False), "masked.scatter": lambda m, t: _masked_store(m, t, True),
    "masked.expandload": _expand_load, "masked.compressstore": _compress_store,
    "stacksave": lambda m, t: lambda: len(m.frames[-1].allocas), "stackrestore": _stack_restore,
    "assume": _assume, "trap": _trap, "debugtrap": _trap, "ubsantrap": _trap,
    "objectsize": _object_size, "is.constant": _constant(0), "allow.runtime.check": _constant(1),
    "allow.ubsan.check": _constant(1), "returnaddress": _constant(0), "frameaddress": _constant(0),
    "readcyclecounter": _constant(0), "readsteadycounter": _constant(0), "get.rounding": _constant(1),
    "invariant.start": lambda m, t: lambda n, p: p,
    "eh.typeid.for": lambda m, t: lambda p: (p >> 32) & 0x7FFFFFFF,
    "ptrmask": lambda m, t: scalar.lanewise(operator.and_, t.result),
    "load.relative": lambda m, t: lambda p, o: (p + scalar.to_signed(32)(
        m.codecs(IntType(32)).load(p + scalar.to_signed(_bits(t.params[1]))(o)))) & 0xFFFFFFFFFFFFFFFF,
    "va_start": lambda m, t: m.varargs.start, "va_copy": lambda m, t: lambda a, b: m.memory.copy(a, b, 24),
    **dict.fromkeys(("expect", "expect.with.probability", "launder.invariant.group", "strip.invariant.group",
                     "annotation", "ptr.annotation", "ssa.copy", "threadlocal.address", "preserve.array.access.index",
                     "preserve.struct.access.index", "preserve.union.access.index", "freeze"), _identity),
}  # fmt: skip


# --- constrained floating point --------------------------------------------------------------------------------------


def _constrained(machine: Machine, name: str, t: FunctionType) -> Op:
    """`llvm.experimental.constrained.*` in the default environment: rounding mode and exceptions are ignored."""
    kind, source = t.result, t.params[0]
    if name in ("fadd", "fsub", "fmul", "fdiv", "frem"):
        op = scalar.binary(name, kind, frozenset())
        return lambda a, b, *rest: op(a, b)
    convert = scalar.lanewise(scalar.cast(name, source, kind, frozenset()), kind)
    return lambda a, *rest: convert(a)


def _constrained_compare(machine: Machine, t: FunctionType) -> Op:
    def compare(a: Any, b: Any, predicate: str, *rest: Any) -> Any:
        return scalar.compare("fcmp", predicate.strip('!"'), t.params[0], frozenset())(a, b)

    return compare


_CONSTRAINED: dict[str, Factory] = {
    **{f"experimental.constrained.{n}": (lambda m, t, n=n: _constrained(m, n, t))  # type: ignore[misc]
       for n in ("fadd", "fsub", "fmul", "fdiv", "frem", "fptosi", "fptoui", "sitofp", "uitofp", "fptrunc", "fpext")},
    "experimental.constrained.fcmp": _constrained_compare, "experimental.constrained.fcmps": _constrained_compare,
}  # fmt: skip

_TABLE: dict[str, Factory] = {
    **_INTEGERS, **_VECTORS, **_MEMORY, **_CONSTRAINED,
    "fshl": _funnel_factory(True), "fshr": _funnel_factory(False),
    "fptosi.sat": _saturating(True), "fptoui.sat": _saturating(False), "is.fpclass": _is_class,
}  # fmt: skip
