"""Calls of functions that another compiler has given another type, where the values lie in the same registers.

C's rules say in which registers a small struct is passed and returned; each compiler writes that in types of its own.
Of `struct { float a, b; }` clang and zig make `<2 x float>`, rustc and ldc `double`; of `struct { double d; int n; }`
clang makes `double` and `i32`, zig `double` and `i64`, rustc and ldc one `{ double, i64 }`. To LLVM a call by other
types than the definition's is a call of another function, which nobody looks through. So a module's calls of such a
function go to one of the module's types that hands on what is in each register (`f.as.3`), and is inlined.

A register has floats (up to 64 bits, vectors too), or an integer or a pointer: what is shorter lies at its start, and
what is beyond is not defined. Anything else must have one type on both sides; where the registers differ, the call
stays as it is.

    %r = call double @f(<2 x float> %s)     ->     %r = call double @f.as.1(<2 x float> %s)
                                                   define internal double @f.as.1(<2 x float> %a0) alwaysinline {
                                                     %v0 = bitcast <2 x float> %a0 to i64 …    ; @f takes a double
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.rewrite import bodies, direct_calls, word
from llgrad.ir.types import VOID, ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import Alias, Attribute, Function
from llgrad.ir.write_values import attributes
from llgrad.llvm.assembly import spelt

_AS = ".as."
_PASSED = ("byval", "sret", "byref", "inalloca", "inreg", "nest", "swiftself", "swifterror", "swiftasync", "align")
_EXTENDED = ("signext", "zeroext")
_INSIDE = ("internal", "private", "available_externally")


class Register(Struct, frozen=True):
    """A value in one register; `floats` says of which sort that is, `bits` how much of it the value takes."""

    type: Type
    floats: bool
    bits: int


def with_own_names(modules: Sequence[Module]) -> list[bool]:
    """Have modules of one program call functions by names of their own if they declare them with other types; which
    have changed?"""
    if len(modules) < 2:
        return [False] * len(modules)
    shared = [dict(_shared(module)) for module in modules]
    defined = {name: f for functions in shared for name, f in functions.items() if not f.is_declaration}
    changed = []
    for n, (module, functions) in enumerate(zip(modules, shared, strict=True)):
        wanted = [f for name, f in functions.items() if f.is_declaration and name in defined]
        changed.append(_call_others(module, {f for f in wanted if _is_other(f, defined[f.name])}, n))
    return changed


def has_own_names(text: str) -> bool:
    """May a text call functions by names that `with_own_names` gave?"""
    return _AS in text


def with_names_joined(module: Module) -> bool:
    """Give what `with_own_names` has modules call bodies."""
    changed = False
    functions = dict(_shared(module))
    for name, f in functions.items():
        callee, found, number = name.rpartition(_AS)
        target = functions.get(callee) if found and number.isdecimal() and f.is_declaration else None
        if target is not None:
            parse_function_text(module, _handing_on(f, spelt(callee), target))
            changed = True
    return changed


def _shared(module: Module) -> Iterator[tuple[str, Function]]:
    """The functions that modules share, by name: aliases of functions, too."""
    for name, g in module.globals.items():
        target = module.function(name) if isinstance(g, Alias) and _is_function(g) else g
        inside = g.linkage in _INSIDE or name.startswith("llvm.")
        if isinstance(target, Function) and not inside and not target.calling_convention:
            yield name, target


def _is_function(alias: Alias) -> bool:
    target = alias.aliasee
    while isinstance(target, Alias):
        target = target.aliasee
    return isinstance(target, Function)


def _call_others(module: Module, functions: Collection[Function], number: int) -> bool:
    """Have calls of these functions call others of the same types, by names that are the module's own."""
    where = bodies(module, *(word(f.name) for f in functions)) if functions else []
    for call, f in direct_calls(where):
        if f in functions and call.callee is f:
            call.set_operand(call.arity, _other(module, f, f"{f.name}{_AS}{number}"))
    return bool(functions)


def _other(module: Module, f: Function, name: str) -> Function:
    """The declaration of a function like `f`."""
    if name not in module.globals:
        new = Function(name, f.function_type)
        new.attributes, new.result_attributes = f.attributes, f.result_attributes
        for a, given in zip(new.arguments, f.arguments, strict=True):
            a.attributes = given.attributes
        module.add(new)
    return module.function(name)


# --- types ------------------------------------------------------------------------------------------------------------


def _is_other(declared: Function, defined: Function) -> bool:
    """Are the types different, and the registers the same?"""
    if str(declared.function_type) == str(defined.function_type):
        return False
    ours, theirs = _given(declared), _given(defined)
    if ours is None or theirs is None or not _are_alike(ours, theirs):
        return False
    results = registers(declared.function_type.result), registers(defined.function_type.result)
    return declared.function_type.result == VOID or _are_alike(*results)


def _are_alike(ours: Sequence[Register], theirs: Sequence[Register]) -> bool:
    return len(ours) == len(theirs) and all(
        a.type == b.type or (a.floats == b.floats and 0 < a.bits <= 64 and 0 < b.bits <= 64)
        for a, b in zip(ours, theirs, strict=True)
    )


def _given(f: Function) -> list[Register] | None:
    """What a function is given; pointers that say how memory is passed are registers of a type of their own."""
    if f.function_type.vararg:
        return None
    found: list[Register] = []
    for a in f.arguments:
        special = [x.name for x in a.attributes if x.name in _PASSED and x.name != "align"]
        found += [Register(StructType((), name=special[0]), False, 0)] if special else registers(a.type)
    return found


def registers(t: Type) -> list[Register]:
    """The registers that a value of a type takes, in order."""
    match t:
        case StructType(fields=fields):
            return [r for field in fields or () for r in registers(field)]
        case ArrayType(element, size):
            return registers(element) * size
        case IntType(bits):
            return [Register(t, False, bits)]
        case PointerType(addrspace=0):
            return [Register(t, False, 64)]
        case FloatType(name):
            return [Register(t, True, t.bits if name in ("half", "bfloat", "float", "double") else 0)]
        case VectorType(count=count, scalable=False) if isinstance(t.element, FloatType | IntType):
            return [Register(t, True, count * t.element.bits)]
    return [] if t == VOID else [Register(t, False, 0)]


# --- the functions between --------------------------------------------------------------------------------------------


class Writer:
    """The body of a function that hands on registers."""

    def __init__(self, prefix: str = "%v") -> None:
        self._prefix = prefix
        self.lines: list[str] = []

    def new(self, instruction: str) -> str:
        """The value of a further instruction."""
        name = f"{self._prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {instruction}")
        return name

    def apart(self, t: Type, value: str) -> list[str]:
        """The registers of a value."""
        if not isinstance(t, StructType | ArrayType):
            return [value] if t != VOID else []
        return [
            leaf
            for n, member in enumerate(_members(t))
            for leaf in self.apart(member, self.new(f"extractvalue {t} {value}, {n}"))
        ]

    def together(self, t: Type, leaves: Iterator[str]) -> str:
        """A value of the type from registers."""
        if not isinstance(t, StructType | ArrayType):
            return next(leaves)
        value = "poison"
        for n, member in enumerate(_members(t)):
            value = self.new(f"insertvalue {t} {value}, {member} {self.together(member, leaves)}, {n}")
        return value

    def converted(self, values: Sequence[str], old: Sequence[Register], new: Sequence[Register]) -> list[str]:
        """The same registers, of other types."""
        return [self._converted(v, a, b) for v, a, b in zip(values, old, new, strict=True)]

    def as_type(self, value: str, old: Type, new: Type) -> str:
        """A value whose registers are those of another."""
        found = self.converted(self.apart(old, value), registers(old), registers(new))
        return self.together(new, iter(found))

    def _converted(self, value: str, old: Register, new: Register) -> str:
        if old.type == new.type:
            return value
        if old.floats and old.bits == new.bits:
            return self.new(f"bitcast {old.type} {value} to {new.type}")
        value = self._as_integer(value, old)
        if old.bits != new.bits:
            value = self.new(f"{'trunc' if new.bits < old.bits else 'zext'} i{old.bits} {value} to i{new.bits}")
        if isinstance(new.type, IntType):
            return value
        operation = "inttoptr" if isinstance(new.type, PointerType) else "bitcast"
        return self.new(f"{operation} i{new.bits} {value} to {new.type}")

    def _as_integer(self, value: str, register: Register) -> str:
        if isinstance(register.type, IntType):
            return value
        operation = "ptrtoint" if isinstance(register.type, PointerType) else "bitcast"
        return self.new(f"{operation} {register.type} {value} to i{register.bits}")


def _members(t: StructType | ArrayType) -> Sequence[Type]:
    return (t.fields or ()) if isinstance(t, StructType) else (t.element,) * t.count


def _handing_on(f: Function, callee: str, target: Function) -> str:
    """The function as its callers know it, which calls `target`."""
    w = Writer()
    mine, theirs = f.function_type, target.function_type
    values = [v for a in f.arguments for v in w.apart(a.type, f"%a{a.index}")]
    ours, wanted = ([r for t in g.function_type.params for r in registers(t)] for g in (f, target))
    leaves = iter(w.converted(values, ours, wanted))
    given = [f"{a.type} {_how(a.attributes)}{w.together(a.type, leaves)}" for a in target.arguments]
    call = f"call {_how(target.result_attributes)}{theirs.result} {callee}({', '.join(given)})"
    if mine.result == VOID:
        w.lines += [call, "ret void"]
    else:
        w.lines.append(f"ret {mine.result} {w.as_type(w.new(call), theirs.result, mine.result)}")
    parameters = ", ".join(f"{a.type} {_how(a.attributes)}%a{a.index}" for a in f.arguments)
    body = "".join(f"  {line}\n" for line in w.lines)
    head = f"{_how(f.result_attributes)}{mine.result} {spelt(f.name)}({parameters})"
    return f"\ndefine internal {head} alwaysinline {{\n{body}}}\n"


def _how(found: Sequence[Attribute]) -> str:
    """How a value is passed, as its parameter says."""
    return attributes(tuple(a for a in found if a.name in (*_PASSED, *_EXTENDED)))
