"""Atomic operations as ordinary ones: in code that one thread runs alone, and on variables that no other thread sees.

    %old = atomicrmw fadd ptr %p, double %x seq_cst, align 8        %old = load double, ptr %p, align 8
                                                                ->  %now = fadd double %old, %x
                                                                    store double %now, ptr %p, align 8

Loops around an exchange (`x *= v` is one) run once, where it can be shown: no other thread writes, so that what is
compared is what was loaded (`certain`). Integers are counted as ever: what they count may be shared with other threads
all the same, as the owners of an object are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from llgrad.ir.build import FALSE, TRUE, Builder, Names, declare
from llgrad.ir.module import Module
from llgrad.ir.opcodes import words
from llgrad.ir.rewrite import before, bodies, erase, local_names, replaced
from llgrad.ir.types import I1, I64, PTR, VOID, FloatType, IntType, PointerType, StructType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Block,
    Call,
    Cast,
    Constant,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Other,
    Phi,
    Store,
    Undef,
)

WORDS = ("atomicrmw ", "cmpxchg ", " atomic ")
MEMCPY = "llvm.memcpy.p0.p0.i64"
_LARGE = "__atomic_"
_FORMATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "x86_fp80": "f80", "fp128": "f128"}
_CHOSEN = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}
_COMPUTES = tuple(
    f"llvm.{name}."
    for name in words(
        "lifetime fabs fma fmuladd sqrt sin cos tan exp exp2 log log2 log10 pow powi copysign minnum maxnum "
        "minimum maximum smin smax umin umax"
    )
)


def is_atomic(i: Instruction) -> bool:
    """Is it an atomic access of memory, or a fence?"""
    return i.opcode in ("atomicrmw", "cmpxchg", "fence") or (isinstance(i, Load | Store) and "atomic" in i.flags)


def make_plain(i: Instruction, names: Names, sure: Collection[Instruction]) -> None:
    """Make an atomic access one that is not. Counters are left: what they count may be shared with other threads.

    `sure`: the exchanges that always take place.
    """
    match i:
        case Load() | Store():
            i.flags, i.ordering, i.syncscope = i.flags - {"atomic"}, "", ""
        case Other(opcode="fence"):
            erase(i)
        case Other(opcode="cmpxchg"):
            _exchange(i, before(i, names), i in sure)
        case Other(opcode="atomicrmw"):
            _change(i, before(i, names))


def _exchange(i: Other, b: Builder, sure: bool) -> None:
    place, old, new = i.operands
    align = i.detail["align"]
    met: AnyValue = old
    same: AnyValue = TRUE
    if sure:
        b.store(new, place, align)
    else:
        met = b.load(old.type, place, "llgrad.met", align)
        same = b.icmp("eq", met, old, "llgrad.same")
        b.store(b.select(same, new, met, "llgrad.now"), place, align)
    pair: AnyValue = Undef(StructType((old.type, I1)), poison=True)
    pair = b.insert_value(pair, met, 0, name="llgrad.pair")
    replaced(i, b.insert_value(pair, same, 1, name="llgrad.exchanged"))


def _change(i: Other, b: Builder) -> None:
    """An `atomicrmw` that may be one of floats in steps; others stay."""
    place, value = i.operands
    operation, align, t = i.detail["operation"], i.detail["align"], value.type
    is_float = isinstance(t, FloatType) and t.name in _FORMATS
    exchanged = operation == "xchg" and (is_float or isinstance(t, IntType | PointerType))  # a float's bits, perhaps
    if not exchanged and not (is_float and operation in (*_CHOSEN, "fadd", "fsub")):
        return
    old = now = b.load(t, place, "llgrad.old", align)
    if operation == "xchg":
        now = value
    elif operation in _CHOSEN:
        assert i.block.function is not None
        name = f"llvm.{_CHOSEN[operation]}.{_FORMATS[str(t)]}"
        now = b.call(declare(i.block.function.module, name, t, [t, t]), [old, value], "llgrad.now")
    else:
        now = b.binary(operation, old, value, "llgrad.now")
    b.store(now, place, align)
    replaced(i, old)


def make_plain_call(i: Call, names: Names, sure: Collection[Instruction]) -> None:
    """The same for what no instruction does: the library is given sizes and addresses."""
    assert i.called_function is not None
    sort, (size, *places) = i.called_function.name.removeprefix(_LARGE), i.arguments
    if sort == "compare_exchange" and i not in sure:
        return
    copies = {
        "load": [(1, 0)], "store": [(0, 1)], "exchange": [(2, 0), (0, 1)], "compare_exchange": [(0, 2)]
    }  # fmt: skip
    b = before(i, names)
    for to, source in copies.get(sort, ()):
        copy_bytes(b, places[to], places[source], size)
    if sort in copies:
        replaced(i, TRUE) if i.type != VOID else erase(i)


def copy_bytes(b: Builder, to: AnyValue, source: AnyValue, size: AnyValue) -> None:
    """Write a copy of `size` bytes."""
    assert b.block.function is not None
    b.call(declare(b.block.function.module, MEMCPY, VOID, [PTR, PTR, I64, I1]), [to, source, size, FALSE])


def is_large(i: Instruction, *sorts: str) -> bool:
    """Is it a call of the library for an atomic access (of one of these sorts)?"""
    f = i.called_function if isinstance(i, Call) and i.opcode == "call" else None
    return f is not None and f.name.startswith(_LARGE) and (not sorts or f.name.removeprefix(_LARGE) in sorts)


def certain(f: Function) -> set[Instruction]:
    """The exchanges of a function that always take place where no other thread writes: what is compared is what was
    loaded from the same place before, be it before a loop around the exchange, and nothing is written between."""
    found: set[Instruction] = set()
    for block in f.blocks:
        for n, i in enumerate(block.instructions):
            if isinstance(i, Other) and i.opcode == "cmpxchg":
                sure = _is_sure(i, block.instructions[:n])
            else:
                sure = isinstance(i, Call) and is_large(i, "compare_exchange") and _large_is_sure(i, f, n)
            if sure:
                found.add(i)
    return found


def _is_sure(i: Other, earlier: list[Instruction]) -> bool:
    place, old, _ = i.operands
    met = old.value if isinstance(old, Cast) and old.opcode == "bitcast" else old
    if _loaded(earlier, met, place):
        return True
    if not isinstance(met, Phi) or met not in earlier or _writes(earlier, place):
        return False
    came = [(v, b) for v, b in met.incoming() if b is not i.block]
    return bool(came) and all(_loaded(b.instructions, v, place) for v, b in came)


def _large_is_sure(i: Call, f: Function, n: int) -> bool:
    place, kept = i.arguments[1:3]
    earlier = [b for b in f.blocks if b is not i.block and i.block in b.successors()]
    if not earlier or not _is_scalar(kept) or _writes(i.block.instructions[:n], place, kept):
        return False
    return all(_copied(b, place, kept) for b in earlier)


def private(module: Module) -> list[str]:
    """Make atomic operations on variables that only their function sees ordinary ones: which functions have changed."""
    return [f.name for f in bodies(module, *WORDS) if _private(f)]


def _private(f: Function) -> bool:
    found = [i for i in f.instructions() if is_atomic(i) and i.opcode != "fence" and _is_scalar(_base(_place(i)))]
    names, sure = local_names(f), certain(f) if found else set()
    for i in found:
        make_plain(i, names, sure)
    return any(i.block is None or i not in i.block.instructions or not is_atomic(i) for i in found)


def _place(i: Instruction) -> AnyValue:
    return i.operands[1 if isinstance(i, Store) else 0]


def _same(a: AnyValue, b: AnyValue) -> bool:
    return a is b or (isinstance(a, Constant) and a == b)


def _loaded(instructions: Sequence[Instruction], value: AnyValue, place: AnyValue) -> bool:
    """Is a value loaded from `place` among these, and nothing written after that?"""
    if not isinstance(value, Load) or "atomic" not in value.flags or not _same(value.pointer, place):
        return False
    at = next((n for n, i in enumerate(instructions) if i is value), None)
    return at is not None and not _writes(instructions[at + 1 :], place)


def _copied(block: Block, place: AnyValue, kept: AnyValue) -> bool:
    """Is `kept` a copy of what is at `place` at the end of a block?"""
    for n, i in enumerate(block.instructions):
        if isinstance(i, Call) and is_large(i, "load") and all(map(_same, i.arguments[1:3], (place, kept))):
            return not _writes(block.instructions[n + 1 :], place, kept)
    return False


def _writes(instructions: Sequence[Instruction], *places: AnyValue) -> bool:
    """Do these write anything but variables that only loads and stores know, other than `places`?"""
    kept = [_base(p) for p in places]
    for i in instructions:
        if isinstance(i, Call):
            if i.called_function is None or not i.called_function.name.startswith(_COMPUTES):
                return True
        elif isinstance(i, Store) and "atomic" not in i.flags:
            base = _base(i.pointer)
            if any(_same(base, k) for k in kept) or not _is_scalar(base):
                return True
        elif is_atomic(i) and not isinstance(i, Load) or i.opcode == "va_arg":
            return True
    return False


def _base(v: AnyValue) -> AnyValue:
    """The variable of which a pointer leads to a member."""
    while isinstance(v, GetElementPtr):
        v = v.pointer
    return v


def _is_scalar(v: AnyValue) -> bool:
    """Is it a variable on the stack whose address, and that of its members, goes nowhere?"""
    return isinstance(v, Alloca) and _is_accessed(v)


def _is_accessed(pointer: Instruction) -> bool:
    return all(_is_access(user, pointer) for user in pointer.users)


def _is_access(user: Instruction, pointer: Instruction) -> bool:
    """Does an instruction use a pointer to read or write what is there, or to step to a member?"""
    if [v is pointer for v in user.operands].count(True) != 1:
        return False
    match user:
        case Load():
            return True
        case Store() | Other(opcode="atomicrmw" | "cmpxchg"):
            return _place(user) is pointer and (isinstance(user, Store) or "volatile" not in user.flags)
        case GetElementPtr():
            return user.pointer is pointer and _is_accessed(user)
        case Call():
            name = user.called_function.name if user.called_function is not None else ""
            return name.startswith(("llvm.lifetime.", _LARGE))
    return False
