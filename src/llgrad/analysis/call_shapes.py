"""Calls of functions that llgrad knows by their names, of a type that those do not have.

What is known of `sin` or `malloc` is known of functions of that name *and* type. A program may declare them in another
way: C without prototypes, the calling convention of another machine (`cabs([2 x double])`), a function of its own that
another object has. Such a call is of a function that nobody knows.

    fits(name, result, arguments)    is a call of that type one of the function that is known by this name?
    disown(module, spared)           calls that are not, call functions of other names; whole programs get those back
                                     in the end (`OTHER`)
    may_mean(call, function)         may a call through a pointer be one of that function, by their types?

A call without prototype whose arguments fit is one of the known function: on x86-64 it passes them in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import count

from llgrad.ir.module import Module
from llgrad.ir.types import (
    VOID,
    X86_FP80,
    ArrayType,
    DataLayout,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from llgrad.ir.values import Attribute, Call, Function
from llgrad.models.prototypes import PROTOTYPES
from llgrad.rules import library
from llgrad.rules.library import Entry

OTHER = "llgrad.other."
"""`llgrad.other.3.cabs` is the function `cabs` of a program in which that is not the one that llgrad knows."""

_NO_INTEGER = re.compile(r"ptr|[a-z]*float|double|half|x86_fp80|fp128")
_FLOATS = {"d": "double", "f": "float", "l": "x86_fp80"}
Expected = Type | type[Type]
"""A type, or a class of types: any integer, any pointer."""


def fits(name: str, result: Type, arguments: Sequence[Type]) -> bool:
    """Is a call of this type one of the function that is known by `name`? Names that are not known say nothing."""
    if name.startswith("llvm."):  # LLVM's verifier sees to these
        return True
    if (entry := library.lookup(name)) is not None and not name.startswith(library.LIKE):
        return _are(_operands(entry), arguments) and _is(_result(entry), result)
    letters = PROTOTYPES.get(name)
    if letters is None:
        return True
    wanted, more = letters[1:].removesuffix("."), letters.endswith(".")
    given = arguments[: len(wanted)] if more else arguments
    return _are([_letter(c) for c in wanted], given) and (result == VOID or _is(_letter(letters[0]), result))


def _letter(c: str) -> Expected:
    match c:
        case "i":
            return IntType
        case "p":
            return PointerType
        case "v":
            return VOID
    return FloatType(_FLOATS[c])


def _are(wanted: Sequence[Expected], given: Sequence[Type]) -> bool:
    return len(wanted) == len(given) and all(map(_is, wanted, given))


def _is(wanted: Expected, given: Type) -> bool:
    if isinstance(wanted, type):
        return isinstance(given, wanted)
    if isinstance(wanted, StructType) and isinstance(given, StructType):
        return wanted.fields == given.fields and not given.packed
    return wanted == given


def _operands(entry: Entry) -> list[Expected]:
    """The types of what a function that has a rule takes (`library.Entry.shape`)."""
    format, rule = FloatType(entry.format), entry.rule
    one: Type = VectorType(format, entry.lanes) if entry.lanes > 1 else format
    if entry.shape in ("vector", "byval"):
        pairs = len(rule.operands) // 2
        return [VectorType(format, 2) if entry.shape == "vector" else PointerType] * pairs
    if rule.name == "nexttoward":
        return [one, X86_FP80]
    kinds: dict[str, Expected] = {"float": one, "int": IntType, "pointer": PointerType}
    return [kinds[kind] for kind in rule.operands]


def _result(entry: Entry) -> Expected:
    format = FloatType(entry.format)
    returned = [out for out in entry.rule.results if out.place == "return"]
    if not returned:
        return VOID
    if returned[0].kind == "int":
        return IntType
    if returned[0].field is None:
        return VectorType(format, entry.lanes) if entry.lanes > 1 else format
    return VectorType(format, 2) if entry.shape.startswith("vector") else StructType((format, format))


def disown(module: Module, spared: Collection[str] = ()) -> None:
    """Calls of functions of the known names that do not fit go to functions of other names, of which nothing is known.

    `spared`: functions of which the program itself says what they do.
    """
    declared = [f for f in module.functions if f.is_declaration and f.name not in spared and _is_known(f.name)]
    calls = [
        (i, f) for caller in module.functions if declared and not caller.is_declaration for i in caller.instructions()
        if isinstance(i, Call) and (f := i.called_function) in declared
    ]  # fmt: skip
    for f in declared:
        t = f.function_type
        if t.vararg != _takes_more(f.name) or not fits(f.name, t.result, t.params):
            _rename(module, f)
    for call, f in calls:
        assert f is not None
        _settle(module, call, f)


def _is_known(name: str) -> bool:
    return not name.startswith("llvm.") and (name in PROTOTYPES or library.lookup(name) is not None)


def _takes_more(name: str) -> bool:
    return PROTOTYPES.get(name, "").endswith(".")


def _settle(module: Module, call: Call, f: Function) -> None:
    """Let a call go to what it means."""
    own = own_name(f.name)
    if not _is_known(own):
        return
    t = call.function_type
    given = [a.type for a in call.arguments]
    if fits(own, t.result, given):
        if own != f.name:
            fixed = tuple(given) if not _takes_more(own) else tuple(given[: len(PROTOTYPES[own].rstrip(".")) - 1])
            call.function_type = FunctionType(t.result, fixed, _takes_more(own))
            call.set_operand(call.arity, _declared(module, own, call.function_type))
    elif own == f.name:
        call.set_operand(call.arity, _declared(module, _free(module, own), t))


def own_name(name: str) -> str:
    """What the program calls a function: `cabs` for `llgrad.other.3.cabs`."""
    return name.removeprefix(OTHER).partition(".")[2] if name.startswith(OTHER) else name


def _free(module: Module, name: str) -> str:
    return next(new for n in count() if (new := f"{OTHER}{n}.{name}") not in module.globals)


def _declared(module: Module, name: str, t: FunctionType) -> Function:
    found = module.globals.get(name)
    if isinstance(found, Function):
        return found
    f = Function(name, t)
    module.add(f)
    return f


def _rename(module: Module, f: Function) -> None:
    for v in module.variables:  # what is not read yet names it
        _ = v.initializer
    new = _free(module, f.name)
    del module.globals[f.name]
    f.name = new
    module.add(f)


def may_mean(call: Call, function: Function) -> bool:
    """Is a function of the type of a call, and is it passed the same structs by value?

    C passes a large struct by its address, so that only attributes tell the types of such functions apart.
    """
    if call.function_type != function.function_type:
        return False
    pairs = zip(call.argument_attributes, function.arguments, strict=False)
    structs = [(_struct(given), _struct(a.attributes)) for given, a in pairs]
    layout = function.module.layout if function.module is not None else None
    return layout is None or all(a is None or b is None or _alike(a, b, layout) for a, b in structs)


def _struct(attributes: Iterable[Attribute]) -> Type | None:
    return next((a.value for a in attributes if a.name == "byval" and isinstance(a.value, Type)), None)


def _alike(one: Type, other: Type, layout: DataLayout) -> bool:
    """Are two structs laid out alike? Other languages pass any bytes as integers."""
    if one == other:
        return True
    shapes = _shape(one), _shape(other)
    same = shapes[0] == shapes[1] or not all(map(_NO_INTEGER.search, shapes))
    return same and layout.alloc_size(one) == layout.alloc_size(other)


def _shape(t: Type) -> str:
    """A type without the names of its structs."""
    match t:
        case StructType(fields) if fields is not None:
            return f"<{', '.join(map(_shape, fields))}>" if t.packed else f"({', '.join(map(_shape, fields))})"
        case ArrayType(element, length):
            return f"[{length} x {_shape(element)}]"
    return str(t)
