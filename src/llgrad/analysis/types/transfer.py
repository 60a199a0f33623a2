"""What each instruction says of kinds: one function per shape, called by `build.Builder` once per instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llgrad.analysis.bits.byte_moves import Moves, compared_bytes, integer_moves, moves, read_bytes
from llgrad.analysis.bits.integer_values import INT_INTRINSICS, all_float, is_arithmetic
from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.objects import leads_nowhere
from llgrad.analysis.types.regions import find
from llgrad.ir import values as iv
from llgrad.ir.types import FloatType, IntType, PointerType, StructType, Type, VectorType, scalar
from llgrad.models.effects import RELEASES

if TYPE_CHECKING:
    from llgrad.analysis.types.build import Builder

COPIES = frozenset({"memcpy", "memmove", "__memcpy_chk", "__memmove_chk"})
SAME_POINTER = ("llvm.launder.", "llvm.strip.", "llvm.ptrmask", "llvm.threadlocal", "llvm.ssa.copy", "llvm.preserve.",
                "llvm.ptr.annotation")  # fmt: skip
_REALLOCATORS = {"realloc", "reallocarray", "reallocf"}


def visit(b: Builder, i: iv.Instruction) -> None:
    """Evidence and relations of one instruction."""
    match i:
        case iv.Load():
            _load(b, i)
        case iv.Store(value, pointer):
            b.put(value, b.cell(pointer), b.declared(i, b.layout.size(value.type)), b.types.tag(i))
            _note_untyped(b, i, value.type, pointer)
            b.tagged(i, b.cell(pointer), b.layout.size(value.type))
        case iv.Phi() | iv.Select():
            for value in i.operands[1:] if isinstance(i, iv.Select) else i.operands:
                if value is not i:
                    b.same(value, i)
        case iv.GetElementPtr() | iv.Switch():
            for index in i.operands if not leads_nowhere(i.operands[0]) else ():
                integer_use(b, index)
        case iv.Alloca(allocated, count):
            if isinstance(count, iv.ConstInt) and count.value == 1:
                b.declare_llvm(b.cell(i), allocated)
            integer_use(b, count)
        case iv.Return(value) if value is not None and i.block.function is not None:
            b.returned(value, i.block.function)
        case iv.Call() | iv.Other():
            _call(b, i) if isinstance(i, iv.Call) else _other(b, i)
        case _:
            _scalar(b, i)


_MOVES = (iv.Store, iv.Phi, iv.Select, iv.Return, iv.Call, iv.InsertValue, iv.Unary)


def _load(b: Builder, i: iv.Load) -> None:
    if only_freed(i):
        b.graph.evidence(*b.cell(i.pointer), bl.POINTER_BIT)
        return
    b.get(i, b.cell(i.pointer), b.declared(i, b.layout.size(i.type)))
    _note_untyped(b, i, i.type, i.pointer)
    if not all(isinstance(u, _MOVES) for u in i.users):
        find(b.cell(i.pointer)[0]).looked_at = True
    b.tagged(i, b.cell(i.pointer), b.layout.size(i.type))


def _note_untyped(b: Builder, i: iv.Instruction, t: Type, pointer: iv.AnyValue) -> None:
    """A float is accessed without a float's type: C's types say nothing of who else may access it, then."""
    if isinstance(scalar(t), FloatType) and b.declared(i, b.layout.size(t)) & bl.FLOAT_MASK in (0, bl.FLOAT_MASK):
        find(b.cell(pointer)[0]).untyped = True


def only_freed(i: iv.Instruction) -> bool:
    """Is a pointer loaded for its block to be freed, and nothing else? Blocks of all kinds may be, in one place."""
    called = [u.called_function for u in i.users if isinstance(u, iv.Call)]
    freeing = [f for f in called if f is not None and f.name in RELEASES]
    return isinstance(i.type, PointerType) and len(freeing) == len(i.users) > 0


def _scalar(b: Builder, i: iv.Instruction) -> None:
    match i:
        case iv.Binary():
            _binary(b, i)
        case iv.Cast():
            _cast(b, i)
        case iv.Compare("icmp", predicate, lhs, rhs):
            copied = predicate in ("eq", "ne") and not isinstance(rhs, iv.Constant) and not isinstance(lhs, iv.Constant)
            if not copied:
                integer_use(b, lhs, *compared_bytes(i))
                integer_use(b, rhs)
        case iv.Unary("freeze"):
            b.content(i)
        case iv.InsertValue(aggregate, value, indices):
            _insert(b, i, aggregate, value, b.layout.offset(i.type, indices))
        case iv.ExtractValue(aggregate, indices):
            b.copy_bits(aggregate, b.layout.offset(aggregate.type, indices), i, 0, b.layout.size(i.type))
        case iv.InsertElement() | iv.ExtractElement() | iv.ShuffleVector():
            if not all_float(i.type):
                _vector(b, i)


def integer_use(b: Builder, v: iv.AnyValue, start: int = 0, end: int | None = None) -> None:
    """`v` is used as a number: it is one. Of a scalar, only bytes [start, end) may be meant."""
    element = v.type.element if isinstance(v.type, VectorType) else v.type
    if not isinstance(element, IntType) or is_arithmetic(v) or (bits := b.content(v)) is None:
        return
    size, count = b.layout.size(element), v.type.count if isinstance(v.type, VectorType) else 1
    if start or (end is not None and end != size):
        b.integer(bits, (end or size) - start, start)
        return
    for n in range(count):
        b.integer(bits, size, n * size)
    if isinstance(v, iv.Cast) and v.opcode == "zext":
        integer_use(b, v.value)


def _moved(b: Builder, i: iv.Value, found: Moves) -> None:
    """Bits that are moved about; what else is in their bytes was made from numbers. Constants may be a float's bits."""
    for w in found.windows:
        if isinstance(w.source, iv.ConstInt) and (bits := b.content(i)) is not None:
            b.integer(bits, w.size, w.to, likely=True)
        b.copy_bits(w.source, w.at, i, w.to, w.size)
    if found.changed and (bits := b.content(i)) is not None:
        for start, end in found.changed:
            b.integer(bits, end - start, start)
    for value, start, end in found.used:
        if not is_arithmetic(value) and (bits := b.content(value)) is not None:
            b.integer(bits, end - start, start)


def _binary(b: Builder, i: iv.Binary) -> None:
    if not isinstance(scalar(i.type), IntType):
        return
    if (found := integer_moves(i)) is not None:
        _moved(b, i, found)
    elif is_arithmetic(i):
        integer_use(b, i.lhs, *read_bytes(i))
        integer_use(b, i.rhs)


def _cast(b: Builder, i: iv.Cast) -> None:
    match i.opcode:
        case "trunc" if isinstance(i.type, IntType) and i.type.bits < 8:
            small = bool({"nuw", "nsw"} & i.flags)  # all of it is that number, then
            integer_use(b, i.value, 0, 4 if b.layout.size(i.value.type) > 4 and not small else None)
        case "trunc" | "zext":
            found = integer_moves(i)
            _moved(b, i, found) if found is not None else b.copy_bits(i.value, 0, i, 0, None)
        case "sext" | "sitofp" | "uitofp":
            integer_use(b, i.value)
        case "bitcast":
            if (bits := b.content(i.value)) is not None:
                b.seed(bits, i.type)
            b.content(i)
        case "ptrtoint":
            if not isinstance(i.type, VectorType) and (bits := b.content(i)) is not None:
                b.put(i.value, (bits, 0))
        case "inttoptr" if (bits := b.content(i.value)) is not None and isinstance(i.type, PointerType):
            b.graph.evidence(bits, 0, bl.POINTER_BIT)
            b.cell(i)


def _insert(b: Builder, i: iv.Value, whole: iv.AnyValue, part: iv.AnyValue, at: int) -> None:
    """All of `whole` except the bytes of `part`, which are put at `at`."""
    bits, size = b.content(i), b.layout.size(part.type)
    if bits is None:
        return
    if isinstance(whole, iv.ConstAggregate):
        b.put(whole, (bits, 0))
    elif not isinstance(whole, iv.Constant):
        b.copy_bits(whole, 0, i, 0, at)
        b.copy_bits(whole, at + size, i, at + size, b.layout.size(i.type) - at - size)
    b.put(part, (bits, at))


def _vector(b: Builder, i: iv.Instruction) -> None:
    match i:
        case iv.InsertElement(vector, value, iv.ConstInt() as n):
            _insert(b, i, vector, value, n.value * b.layout.size(value.type))
        case iv.InsertElement(vector, value, _) if isinstance(i.type, VectorType) and (bits := b.content(i)):
            b.copy_bits(vector, 0, i, 0, None)
            for lane in range(i.type.count):
                b.put(value, (bits, lane * b.layout.size(value.type)))
        case iv.ExtractElement(vector, iv.ConstInt() as n):
            b.copy_bits(vector, n.value * b.layout.size(i.type), i, 0, b.layout.size(i.type))
        case iv.ExtractElement(vector, _) if isinstance(vector.type, VectorType):
            for lane in range(vector.type.count):
                b.copy_bits(vector, lane * b.layout.size(i.type), i, 0, b.layout.size(i.type))
        case iv.ShuffleVector(lhs, rhs, mask) if isinstance(i.type, VectorType) and isinstance(lhs.type, VectorType):
            size, count = b.layout.size(i.type.element), lhs.type.count
            for lane, m in enumerate(mask):
                source, at = (lhs, m) if m < count else (rhs, m - count)
                if m >= 0 and not isinstance(source, iv.Constant):
                    b.copy_bits(source, at * size, i, lane * size, size)


def _other(b: Builder, i: iv.Other) -> None:
    if i.opcode == "landingpad" and isinstance(i.type, StructType) and (bits := b.content(i)) is not None:
        b.integer(bits, 4, b.layout.offset(i.type, (1,)))
    elif i.opcode == "atomicrmw":
        pointer, value = i.operands[:2]
        b.put(value, b.cell(pointer))
        b.get(i, b.cell(pointer))
        if i.detail.get("operation") != "xchg":
            integer_use(b, value)
            integer_use(b, i)
    elif i.opcode == "cmpxchg":
        pointer, expected, new = i.operands[:3]
        for value in (expected, new):
            b.put(value, b.cell(pointer))
        if (bits := b.content(i)) is not None:
            b.graph.edge(*b.cell(pointer), bits, size=b.layout.size(new.type))
            flag = b.layout.offset(i.type, (1,))
            b.integer(bits, b.layout.size(i.type) - flag, flag)


# --- calls -----------------------------------------------------------------------------------------------------------


def _call(b: Builder, i: iv.Call) -> None:
    f, arguments = i.called_function, i.arguments
    if f is None:
        if not isinstance(i.callee, iv.InlineAsm):
            b.indirect_call(i)
    elif f.name.startswith(("llvm.memcpy", "llvm.memmove")) or (f.name in COPIES and f.is_declaration):
        _copy(b, i)
    elif (found := moves(i, b.layout)) is not None:
        _moved(b, i, found)
    elif f.name.startswith(INT_INTRINSICS):
        for value in arguments:
            integer_use(b, value)
    elif f.name.startswith("llvm."):
        _intrinsic(b, i, f.name)
    elif f.name.startswith("llgrad.kind."):
        b.stated(b.cell(arguments[0]), f.name.rsplit(".", 1)[1], arguments[1])
    elif f.is_declaration:
        if f.name in _REALLOCATORS:
            b.copy_memory(b.cell(i), b.cell(arguments[0]), None)
        b.external(i, f)
        _callback(b, i, f)
    else:
        b.relate_call(i, f, arguments)


def _through_alias(callee: iv.AnyValue) -> iv.Function | None:
    while isinstance(callee, iv.Alias):
        callee = callee.aliasee
    return callee if isinstance(callee, iv.Function) else None


def _copy(b: Builder, i: iv.Call) -> None:
    target, source, size = i.arguments[:3]
    if not b.copy_elements(i):
        b.copy_memory(b.cell(target), b.cell(source), size)
    integer_use(b, size)
    if not {"tbaa", "tbaa.struct"} & i.metadata.keys():
        find(b.cell(target)[0]).untyped = find(b.cell(source)[0]).untyped = True
    if (ref := i.metadata.get("tbaa")) is not None:  # a loop of such accesses, which LLVM made one copy of
        b.array_of(b.tbaa.tag(ref)[1], (target, source))
    if (ref := i.metadata.get("tbaa.struct")) is not None:
        for at, length, t in b.tbaa.fields(ref):
            for region, offset in (b.cell(target), b.cell(source)):
                b.scalar_type((region, offset + at), t, length)
    if isinstance(size, iv.ConstInt):
        for cell in (b.cell(target), b.cell(source)):
            b.tagged(i, cell, size.value)


def _intrinsic(b: Builder, i: iv.Call, name: str) -> None:
    arguments = i.arguments
    if name.startswith(SAME_POINTER) and isinstance(i.type, PointerType):
        b.cell(i)
    elif name.startswith(("llvm.ssa.copy", "llvm.expect", "llvm.masked.load", "llvm.masked.store")):
        _masked(b, i, name)
    elif name.startswith(("llvm.memset", "llvm.lifetime")):
        for value in arguments:
            integer_use(b, value)
    elif name.startswith(("llvm.powi.", "llvm.ldexp.")):
        integer_use(b, arguments[1])
    elif isinstance(i.type, StructType):
        b.content(i)


def _masked(b: Builder, i: iv.Call, name: str) -> None:
    match name.split(".")[1:3]:
        case ["masked", "load"]:
            b.get(i, b.cell(i.arguments[0]))
        case ["masked", "store"]:
            b.put(i.arguments[0], b.cell(i.arguments[1]))
        case _:
            b.same(i.arguments[0], i)


def _callback(b: Builder, i: iv.Call, f: iv.Function) -> None:
    """`!callback` says which argument is called, and with which of the others (pthread_create, OpenMP's fork)."""
    if (ref := f.metadata.get("callback")) is None:
        return
    for encoding in b.module.node(ref).operands:
        node = b.module.node(encoding)
        numbers = [n.signed for n in node.operands if isinstance(n, iv.ConstInt)]
        if not numbers or numbers[0] >= len(i.arguments):
            continue
        variadic = numbers.pop() & 1
        target = _through_alias(i.arguments[numbers[0]])
        if target is not None and not target.is_declaration:
            passed: list[iv.AnyValue | None] = [i.arguments[n] if n >= 0 else None for n in numbers[1:]]
            rest: Sequence[iv.AnyValue] = i.arguments[len(f.arguments) :] if variadic else ()
            b.relate_call(None, target, [*passed, *rest])


__all__ = ["COPIES", "SAME_POINTER", "integer_use", "visit"]
