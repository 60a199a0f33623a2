"""What integers are: results of arithmetic, bytes that are zero, affine indices. (What moves bits: `byte_moves`.)"""

from __future__ import annotations

from math import gcd

from llgrad.analysis.bits.byte_moves import integer_moves
from llgrad.analysis.layout import byte_layouts as bl
from llgrad.ir import values as iv
from llgrad.ir.types import I1, I8, ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType, scalar

INT_INTRINSICS = (
    "llvm.umax", "llvm.umin", "llvm.smax", "llvm.smin", "llvm.bswap", "llvm.bitreverse", "llvm.ctpop", "llvm.ctlz",
    "llvm.cttz", "llvm.fshl", "llvm.fshr", "llvm.abs", "llvm.scmp", "llvm.ucmp", "llvm.uadd", "llvm.sadd", "llvm.usub",
    "llvm.ssub", "llvm.umul", "llvm.smul", "llvm.vector.reduce.", "llvm.ushl", "llvm.sshl", "llvm.lround",
    "llvm.llround", "llvm.lrint", "llvm.llrint", "llvm.fptosi", "llvm.fptoui", "llvm.objectsize", "llvm.is.fpclass",
)  # fmt: skip


def scalar_bit(t: Type) -> int:
    """The evidence a typed access is: floats and pointers; integers may carry anything."""
    return bl.FLOAT_BIT[t.name] if isinstance(t, FloatType) else bl.POINTER_BIT if isinstance(t, PointerType) else 0


def all_float(t: Type) -> bool:
    """Does the type alone say that all is float?"""
    match t:
        case VectorType(element, _) | ArrayType(element, _):
            return all_float(element)
        case StructType(fields) if fields:
            return all(map(all_float, fields))
    return isinstance(t, FloatType)


def is_arithmetic(v: iv.AnyValue) -> bool:
    """Is a value of integer type the result of arithmetic, so that it is an integer whatever its operands are?"""
    match v:
        case _ if isinstance(v, iv.Binary | iv.Call) and integer_moves(v) is not None:
            return False
        case iv.Binary("sub", iv.Cast("ptrtoint"), iv.Cast("ptrtoint")):
            return True
        case iv.Binary("add" | "sub"):
            return not _from_pointer(v, 3)
        case iv.Binary():
            return isinstance(scalar(v.type), IntType)
        case iv.Compare() | iv.ConstInt():
            return True
        case iv.Cast(opcode):
            return opcode in ("sext", "fptosi", "fptoui")
        case iv.Call():
            return v.called_function is not None and v.called_function.name.startswith(INT_INTRINSICS)
    return False


def not_comparison(v: iv.Value) -> bool:
    """Is the result of integer arithmetic a number of its own, not a truth value?"""
    return isinstance(scalar(v.type), IntType) and not isinstance(v, iv.Compare) and scalar(v.type) != I1


def _from_pointer(v: iv.AnyValue, depth: int) -> bool:
    """May an integer be an address computed from a `ptrtoint`?"""
    if isinstance(v, iv.Cast) and v.opcode == "ptrtoint":
        return True
    if isinstance(v, iv.Binary) and v.opcode in ("add", "sub") and depth:
        return any(_from_pointer(o, depth - 1) for o in v.operands)
    return any(isinstance(u, iv.Cast) and u.opcode == "inttoptr" for u in v.users)


Step = tuple[int, int]


def linear(v: iv.AnyValue, depth: int = 6, around: tuple[iv.Phi, Step] | None = None) -> Step:
    """(c, g) such that v = c + g·k for some k; g is 0 for constants. `around` is a phi, and what it is taken for."""
    match v:
        case iv.ConstInt():
            return v.signed, 0
        case iv.Cast("sext" | "zext" | "trunc", value) if depth:
            c, g = linear(value, depth - 1, around)
            if v.opcode == "sext" or "nneg" in v.flags:
                return c, g
            bits = v.type if v.opcode == "trunc" else value.type
            return c, gcd(g, 1 << bits.bits) if isinstance(bits, IntType) else 1
        case iv.Binary(opcode, lhs, rhs) if depth and opcode in ("add", "sub", "mul", "shl", "or"):
            if opcode == "or" and "disjoint" not in v.flags:
                return 0, 1
            c, g = _combine(opcode, linear(lhs, depth - 1, around), linear(rhs, depth - 1, around))
            exact = v.flags & {"nsw", "nuw", "disjoint"} or not isinstance(v.type, IntType) or v.type.bits >= 64
            c, g = (c, g) if exact or not isinstance(v.type, IntType) else (c, gcd(g, 1 << v.type.bits))
            return (0, _divided(v)) if g == 1 and opcode == "sub" else (c, g)
        case iv.ExtractValue(iv.Call(arguments=[lhs, rhs]) as call, (0,)) if depth and _multiplies(call):
            return _combine("mul", linear(lhs, depth - 1, around), linear(rhs, depth - 1, around))
        case iv.Phi() if around is not None and v is around[0]:
            return around[1]
    return 0, 1


def bytes_apart(index: iv.AnyValue, size: int, depth: int = 6) -> Step:
    """`linear` of an index of elements of `size` bytes. One that counts bytes may go round a loop in steps of more."""
    return _merged(index, depth) if size == 1 and isinstance(index, iv.Phi) else linear(index, depth)


def _merged(phi: iv.Phi, depth: int) -> Step:
    """Of a phi, first taken for the constant that it begins with, until what comes around agrees."""
    values = list(phi.operands)
    first = next((v.signed for v in values if isinstance(v, iv.ConstInt)), None)
    if first is None or len(values) > 4:
        return 0, 1
    step = 0
    while step != 1:
        found = [linear(v, depth, (phi, (first, step))) for v in values]
        wider = gcd(step, *(n for c, g in found for n in (g, c - first)))
        if wider == step:
            return first, step
        step = wider
    return 0, 1


def ahead(v: iv.AnyValue, pointer: iv.AnyValue, depth: int = 8) -> tuple[int, bool] | None:
    """How far ahead of `pointer` an address at least is, as an integer, and whether it is rounded; None for others.

    It is made of that of `pointer` by constants added and bits cleared: `(p + 15) & -16`; or by an alignment that is a
    variable: `(p + (a - 1)) & -a`, as `std::align` does.
    """
    match v:
        case iv.Binary("and", lhs, rhs) if not isinstance(rhs, iv.ConstInt):
            up = any(
                a is not None and _terms(sum_, depth) == _terms(pointer, 0) | _terms(a, 0) | {None: -1}
                for sum_, a in ((lhs, _negated(rhs)), (rhs, _negated(lhs)))
            )
            return (0, True) if up else None
        case iv.Cast("ptrtoint", inner):
            base, offset = with_constant(inner)
            base, offset = (inner, 0) if inner is pointer else (base, offset)
            return (offset, False) if base is pointer else None
        case iv.Binary("add" | "sub" | "and" as op, lhs, iv.ConstInt(signed=n)) if depth:
            found = ahead(lhs, pointer, depth - 1)
            if found is None or op != "and":
                return found and (found[0] + (n if op == "add" else -n), found[1])
            return (found[0] + n + 1, True) if n < 0 and not -n & (-n - 1) else None
    return None


def _negated(v: iv.AnyValue) -> iv.AnyValue | None:
    """`a`, if this is `-a`."""
    match v:
        case iv.Binary("sub", iv.ConstInt(signed=0), a) | iv.Binary(
            "xor", iv.Binary("add", a, iv.ConstInt(signed=-1)), iv.ConstInt(signed=-1)
        ):
            return a
    return None


def _terms(v: iv.AnyValue, depth: int, sign: int = 1) -> dict[iv.AnyValue | None, int]:
    """A sum as how often each value is added; None stands for one. A pointer is the integer it can be made."""
    match v:
        case iv.ConstInt(signed=n):
            return {None: sign * n}
        case iv.Cast("ptrtoint", inner):
            return {inner: sign}
        case iv.Binary("add" | "sub" as op, lhs, rhs) if depth:
            found = _terms(lhs, depth - 1, sign)
            for term, n in _terms(rhs, depth - 1, sign if op == "add" else -sign).items():
                found[term] = found.get(term, 0) + n
            return {term: n for term, n in found.items() if n}
    return {v: sign}


def with_constant(p: iv.AnyValue) -> tuple[iv.AnyValue, int]:
    """What a pointer is a constant number of bytes ahead of, and that number."""
    offset = 0
    while isinstance(p, iv.GetElementPtr) and p.source_type == I8 and isinstance(n := p.indices[0], iv.ConstInt):
        offset, p = offset + n.signed, p.pointer
    return p, offset


def is_rounded_up(gep: iv.GetElementPtr) -> bool:
    """Is an address the next one of some alignment? (`llgrad.transforms.floatbits.align_up` writes `p + (((p + 15) &
    -16) - p)`.)"""
    match gep.indices:
        case [iv.Binary("sub", lhs, iv.Cast("ptrtoint", p))] if p is gep.pointer and gep.source_type == I8:
            found = ahead(lhs, p)
            return found is not None and found[1] and found[0] >= 0
    return False


def _multiplies(call: iv.Call) -> bool:
    f = call.called_function
    return f is not None and f.name in ("llvm.smul.with.overflow.i64", "llvm.umul.with.overflow.i64")


def _divided(v: iv.Binary) -> int:
    """What a difference is a multiple of: a division without remainder says so, where each way on from `v` passes it
    (`end - begin` of elements: LLVM keeps the bytes and the number of elements)."""
    for u in v.users:
        if isinstance(u, iv.Binary) and "exact" in u.flags and u.operands[0] is v and _always_after(u, v):
            n = u.operands[1].signed if isinstance(u.operands[1], iv.ConstInt) else 0
            return (1 << n if u.opcode in ("ashr", "lshr") else abs(n)) or 1
    return 1


def _always_after(u: iv.Instruction, v: iv.Instruction, most: int = 4) -> bool:
    """Does `u` run whenever `v` has, unless the program ends or throws between them?"""
    b: iv.Block | None = v.block
    for _ in range(most):
        if b is None or b is u.block:
            return b is not None
        on = [t for t in b.successors() if not _ends(t)]
        b = on[0] if len(on) == 1 else None
    return False


def _combine(opcode: str, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    (a, g), (b, h) = left, right
    match opcode:
        case "add" | "or":
            return a + b, gcd(g, h)
        case "sub":
            return a - b, gcd(g, h)
        case "mul":
            return a * b, gcd(gcd(a * h, b * g), g * h)
    return (a << b, g << b) if h == 0 and 0 <= b < 64 else (0, 1)


def _ends(b: iv.Block) -> bool:
    """Does nothing in this function follow a block but clean-up, if anything does?"""
    last = b.terminator
    goes_on = last.targets[0] if isinstance(last, iv.Call) else b
    return isinstance(goes_on.terminator, iv.Unreachable)
