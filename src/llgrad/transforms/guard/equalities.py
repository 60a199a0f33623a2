"""Equality tests of floats, hidden from an optimiser.

Decision 4 of the design: `if (x == 3.0) return x * x;` loses its derivative when an optimiser puts the constant in. So
the operands of floating-point equality tests pass through opaque calls (`hide`) until optimisation is done (`reveal`).

So do those of equality tests of a float's bits (`hide_bits`): `if (bits == 0x4008000000000000) …` of what is read as a
float again. Integers are compared everywhere, and loops are counted by it, so it must be seen that they may be bits:
the constant is one that no number has, by far, and the other operand is not computed; or one of two operands that are
not computed becomes a float, or lies where floats are read. So do operands that are computed from bits that certainly
are a float, too: of `(bits ^ c) == 0` and of two tests of its halves LLVM makes one of all bits.

    %c = fcmp oeq double %x, 3.0        →      %a = call double @llgrad.hide.double(double %x)
                                               %b = call double @llgrad.hide.double(double 3.0)
                                               %c = fcmp oeq double %a, %b
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llgrad.ir.build import declare
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, calls, local_names, replaced
from llgrad.ir.types import DOUBLE, FLOAT, I1, FloatType, IntType, Type, VectorType, dotted, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Attribute,
    Binary,
    Call,
    Cast,
    Compare,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstZero,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Switch,
    Unary,
    Value,
)
from llgrad.llvm import LLVMModule
from llgrad.transforms.intrinsics.expansions import is_strict, unstrict
from llgrad.transforms.pass_manager import IR, Pass, Unit, on_ir, run_passes

HIDE = "llgrad.hide."
_HIDDEN = "llgrad.hidden."
_EQUAL = ("oeq", "one", "ueq", "une")
_AT_LEAST, _AT_MOST = ("oge", "ult"), ("ole", "ugt")
_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "x86_fp80": "f80", "fp128": "f128"}
_WORDS = ("nocallback", "nofree", "nosync", "nounwind", "speculatable", "willreturn")


def hide(module: Module) -> bool:
    """Pass both operands of every `==` and `!=` on floats through an opaque call, unless one is zero.

    Comparing with zero tells nothing about a float's bits, so no optimiser puts the zero in; but of `3.0 - x == 0` it
    makes `x == 3.0`. There the other operand passes through `llvm.canonicalize`, which is folded if it is a constant.
    What LLVM makes equality tests of is such a test: `x >= 3.0 && x <= 3.0`, and `fabs(x) <= 0`.
    """
    return any([_hidden(module, f) for f in module.concerned(may_test_equality)])


def may_test_equality(text: str) -> bool:
    """May a function's text, or a program's, compare floats so? This is quick to say."""
    return " = fcmp " in text and any(f" {p} " in text for p in (*_EQUAL, *_AT_LEAST, *_AT_MOST))


def _hidden(module: Module, f: Function) -> bool:
    tests = [i for i in f.instructions() if isinstance(i, Compare) and i.opcode == "fcmp"]
    least, most = (
        {v for i in tests if i.predicate in side for v in i.operands if not isinstance(v, Value)}
        for side in (_AT_LEAST, _AT_MOST)
    )
    hiding = _Hiding(module, f, _HIDDEN)
    for i in tests:
        if any(isinstance(v, Call) and v.name.startswith(_HIDDEN) for v in i.operands):
            continue
        between = i.predicate in (*_AT_LEAST, *_AT_MOST) and not (least & most).isdisjoint(i.operands)
        if any(map(_is_zero, i.operands)) and (i.predicate in _EQUAL or most and any(map(_is_absolute, i.operands))):
            hiding.operands(i, [n for n, v in enumerate(i.operands) if not _is_zero(v)], _canonical(i.lhs.type))
        elif i.predicate in _EQUAL or between:
            hiding.operands(i, [0, 1], _opaque(i.lhs.type))
    return hiding.count > 0


def _opaque(t: Type) -> str:
    return HIDE + dotted(t)


def _canonical(t: Type) -> str:
    """The name of LLVM's function that gives a number of this type as it is; "" where there is none."""
    suffix = _SUFFIX.get(str(scalar(t)), "")
    count = f"v{t.count}" if isinstance(t, VectorType) else ""
    return f"llvm.canonicalize.{count}{suffix}" if suffix and not getattr(t, "scalable", False) else ""


def _is_absolute(v: AnyValue) -> bool:
    f = v.called_function if isinstance(v, Call) else None
    return f is not None and f.name.startswith("llvm.fabs.")


def _is_zero(v: AnyValue) -> bool:
    if isinstance(v, ConstFloat) and isinstance(v.type, FloatType):
        return v.bits in (0, 1 << v.type.bits - 1)
    return isinstance(v, ConstZero)


class _Hiding:
    """Writes the calls in a function."""

    def __init__(self, module: Module, f: Function, name: str) -> None:
        self.module, self.names, self.name, self.count = module, local_names(f), name, 0

    def operands(self, i: Instruction, which: list[int], helper: str) -> None:
        """Pass these operands of an instruction through the function `helper`, if there is one."""
        for n in which if helper else ():
            t = i.operands[n].type
            f = declare(self.module, helper, t, [t])
            if helper.startswith(HIDE):
                f.attributes = (*map(Attribute, _WORDS), Attribute("memory", "none"))
            call = before(i, self.names).call(f, [i.operands[n]], f"{self.name}{self.count}")
            i.set_operand(n, call)
            self.count += 1


# --- bits -------------------------------------------------------------------------------------------------------------

MOST_PARTS = 200  # of what an operand is computed from; what is made of more is hidden
_COMPUTING = ("and", "or", "xor", "add", "sub", "shl", "lshr", "ashr", "trunc", "zext", "sext")


def hide_bits(module: Module) -> bool:
    """Pass both operands of equality tests of what may be the bits of floats through an opaque call."""
    return any([_Bits(module, f).hidden() for f in module.concerned(may_compare_bits)])


def may_compare_bits(text: str) -> bool:
    """May a function's text do that? It compares integers, and they may be floats. This is quick to say."""
    if " = icmp " not in text and "  switch i" not in text:
        return False
    lines = text.split("\n")
    floats = "double" in text or "float" in text
    moved = any(word in text for word in (" = bitcast ", "load i", "store i")) or any(map(_gives_integers, lines))
    return floats and moved or any(map(_compares_large, lines))


def _gives_integers(line: str) -> bool:
    """May a line call a function that returns floats, with integers?"""
    before, _, given = line.partition(" @")
    return before.endswith(("double", "float", ">")) and " call " in before and (" i" in given or "(i" in given)


def _compares_large(line: str) -> bool:
    """Does a line that compares hold a number of seven digits or more?"""
    words = [w.strip("-,") for w in line.split()] if " = icmp " in line or ", label %" in line else []
    return any(len(w) > 6 and w.isdigit() for w in words)


class _Bits:
    """One function: what in it is moved, and not computed, and what of that is a float elsewhere."""

    def __init__(self, module: Module, f: Function) -> None:
        self.instructions = list(f.instructions())
        self.hiding = _Hiding(module, f, f"{_HIDDEN}bits.")
        accesses = [i for i in self.instructions if isinstance(i, Load | Store) and not i.flags]
        self.places = {i.pointer for i in accesses if _is_some_float(i.value.type if isinstance(i, Store) else i.type)}
        self.floats = set(map(_base, self.places))
        called = [i for i in self.instructions if isinstance(i, Call) and i.opcode == "call" and i.called_function]
        self.given = {v for i in called if _is_some_float(i.type) for v in i.arguments if _is_local(v)}
        self.places |= {v for v in self.given if isinstance(v, Alloca) and str(v.allocated_type) in ("i32", "i64")}

    def hidden(self) -> bool:
        """Hide what must be; is there any?"""
        for i in self.instructions:
            if isinstance(i, Compare) and i.opcode == "icmp" and self._is_test(i):
                self.hiding.operands(i, [0, 1], _opaque(i.lhs.type))
            elif isinstance(i, Switch) and self._is_choice(i):
                self.hiding.operands(i, [0], _opaque(i.condition.type))
        return self.hiding.count > 0

    def _is_test(self, i: Compare) -> bool:
        if not all(_is_local(v) or isinstance(v, ConstInt) and v.type != I1 for v in i.operands):
            return False
        equal = i.predicate in ("eq", "ne") and self._are_bits(i.operands)
        return equal or self._are_ordered(i.operands) or any(map(self._is_part, i.operands))

    def _is_choice(self, i: Switch) -> bool:
        return _is_local(i.condition) and _is_moved(i.condition) and any(map(_is_float, i.values))

    def _are_bits(self, sides: list[AnyValue]) -> bool:
        """Are what is compared the bits of floats as they are?"""
        if not _is_word(sides[0].type) or not all(_is_moved(v) for v in sides if _is_local(v)):
            return False
        constants = [v for v in sides if isinstance(v, ConstInt)]
        return any(map(_is_float, constants)) if constants else any(map(self._is_a_float, sides))

    def _are_ordered(self, sides: list[AnyValue]) -> bool:
        """Are a float's bits compared with a constant, perhaps from both sides?"""
        constant = any(isinstance(v, ConstInt) and _is_float(v) for v in sides)
        return constant and any(map(self._is_surely_a_float, sides))

    def _is_part(self, v: AnyValue) -> bool:
        """Is it computed from the bits of what certainly is a float, too? (LLVM finds out what the bits are, then.)"""
        work, seen = list(_parts(v)), set[AnyValue]()
        while work:
            v = work.pop()
            if len(seen) > MOST_PARTS:
                return True
            if v not in seen:
                seen.add(v)
                work += _parts(v)
        return any(self._is_surely_a_float(v) for v in seen if not _is_computed(v))

    def _is_surely_a_float(self, v: AnyValue) -> bool:
        match v:
            case Cast("bitcast", inner) if _is_some_float(inner.type):
                return True
            case Load(pointer) if pointer in self.places:
                return True
        return _becomes_another(v) or not self.places.isdisjoint(_stored_at(v))

    def _is_a_float(self, v: AnyValue) -> bool:
        """Is it made of a float, or read where floats are, or does it become one?"""
        match v:
            case Cast("bitcast", _):
                return True
            case Load(pointer) if self._holds_floats(pointer):
                return True
        return _becomes_another(v) or v in self.given or any(map(self._holds_floats, _stored_at(v)))

    def _holds_floats(self, pointer: AnyValue) -> bool:
        return pointer in self.given or _base(pointer) in self.floats


def _is_local(v: AnyValue) -> bool:
    return isinstance(v, Instruction | Argument)


def _is_computed(v: AnyValue) -> bool:
    return isinstance(v, Binary | Cast) and v.opcode in _COMPUTING


def _parts(v: AnyValue) -> list[AnyValue]:
    return [o for o in v.operands if _is_local(o)] if isinstance(v, Binary | Cast) and _is_computed(v) else []


def _is_moved(v: AnyValue) -> bool:
    """Is it read, or given, or one of several such, and nowhere the result of arithmetic?"""
    work, seen = [v], set[AnyValue]()
    while work:
        v = work.pop()
        if v in seen or not isinstance(v, Instruction):
            continue
        seen.add(v)
        if not isinstance(v, Load | Phi | Select | Call | GetElementPtr) and v.opcode not in ("bitcast", "freeze"):
            return False
        work += _sources(v)
    return True


def _sources(v: Instruction) -> Iterator[AnyValue]:
    match v:
        case Phi() | Unary("freeze", _):
            yield from v.operands
        case Select(_, if_true, if_false):
            yield from (if_true, if_false)


def _becomes_another(v: AnyValue) -> bool:
    """Is an integer cast to what is no integer?"""
    return isinstance(v.type, IntType) and any(isinstance(u, Cast) and u.opcode == "bitcast" for u in v.users)


def _stored_at(v: AnyValue) -> list[AnyValue]:
    """Where an integer is stored."""
    if not isinstance(v.type, IntType) or not _is_local(v):
        return []
    return [u.pointer for u in v.users if isinstance(u, Store) and u.value is v and not u.flags]


def _base(pointer: AnyValue) -> AnyValue:
    """What an address is computed from."""
    while isinstance(pointer, GetElementPtr) or isinstance(pointer, ConstExpr) and pointer.opcode == "getelementptr":
        pointer = pointer.operands[0]
    return pointer


def _is_some_float(t: Type) -> bool:
    return scalar(t) in (DOUBLE, FLOAT)


def _is_word(t: Type) -> bool:
    return isinstance(t, IntType) and t.bits in (32, 64)


def _is_float(n: ConstInt) -> bool:
    """Has the float with these bits an exponent of its own? (Numbers that a program counts have none.)"""
    if not _is_word(n.type):
        return False
    narrow = n.type == IntType(32)
    exponent = n.value >> 23 & 0xFF if narrow else n.value >> 52 & 0x7FF
    return 0 < exponent < (0xFF if narrow else 0x7FF)


# --- back -------------------------------------------------------------------------------------------------------------


def reveal(module: Module) -> bool:
    """Undo `hide`: the opaque calls become their arguments."""
    found = calls(module, HIDE)
    found += [c for c in calls(module, "llvm.canonicalize.") if c.name.startswith(_HIDDEN)]
    for c in found:
        replaced(c, c.arguments[0])
    helpers = [f.name for f in module.functions if f.name.startswith(HIDE)]
    for name in helpers:
        del module.globals[name]
    return bool(found or helpers)


def has_hidden(text: str) -> bool:
    """Is anything in a text hidden?"""
    return f"@{HIDE}" in text or f"%{_HIDDEN}" in text


# --- passes -----------------------------------------------------------------------------------------------------------

HIDING: Pass[Any] = on_ir(
    "hide-equalities", hide, "Equality tests of floats become opaque to LLVM", asks=may_test_equality
)
REVEALING: Pass[Any] = on_ir("reveal", reveal, "Hidden equality tests are ordinary ones again", asks=has_hidden)


def hidden(text: str) -> LLVMModule:
    """The program, in which equality tests of floats are opaque."""
    return run_passes(Unit(text), [HIDING], None).llvm()


def ordinary_operations(unit: Unit, context: object) -> bool:
    """Constrained operations on floats become ordinary ones, whose equality tests are hidden then."""
    if not unit.concerns(is_strict) or not unstrict(unit.ir()):
        return False
    unit.changed(IR)
    HIDING.run(unit, context)
    return True
