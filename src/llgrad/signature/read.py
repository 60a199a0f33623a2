"""Debug info → signature: which IR arguments carry each declared parameter; without debug info the IR types speak."""

from __future__ import annotations

import re

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.layout.debug_info import (
    UNNAMED,
    DebugTypes,
    Declared,
    argument_name,
    debug_record,
    number,
    text,
)
from llgrad.errors import Span
from llgrad.ir.module import Module
from llgrad.ir.types import ArrayType, FloatType, IntType, PointerType, SimpleType, Type, VectorType
from llgrad.ir.values import Argument, Function, MDNode, MDRef
from llgrad.signature import frontend_metadata
from llgrad.signature.languages import by_descriptor_alone, by_reference, language_of, terms
from llgrad.signature.names import demangled, find
from llgrad.signature.signature import Parameter, Signature
from llgrad.signature.types import Array, Complex, CType, Field, Opaque, Pointer, Scalar, Struct, Void


def signature(module: Module, function_name: str) -> Signature:
    """The signature of a function, found as by `find`."""
    f = find(module, function_name)
    types = DebugTypes(module)
    declared = types.result_and_parameters(f)
    if declared is None:
        return frontend_metadata.told(module, f) or _from_ir(f)
    return _Reader(module, f, types).signature(*declared)


def parameter_name(module: Module, f: Function, argument: Argument) -> str:
    """What the source calls the parameter that an argument carries, or a piece of; else the argument's name."""
    name = argument_name(module, f, argument)
    if name != argument.name or not UNNAMED.fullmatch(name):
        return name
    said = signature(module, f.name)
    declared = said.parameters if said.declared else ()
    return next((p.name for p in declared if argument.index in p.ir_arguments and p.name), name)


def _from_ir(f: Function) -> Signature:
    offset = 1 if f.arguments and f.arguments[0].attribute("sret") else 0
    parameters = tuple(
        Parameter(_ir_name(a), ir_ctype(a.type), n, (a.index,)) for n, a in enumerate(f.arguments[offset:])
    )
    result = ir_ctype(f.function_type.result) if not offset else Opaque("struct")
    hidden = 0 if offset else None
    return Signature(demangled(f.name) or f.name, parameters, result, None, f.name, hidden, declared=False)


def _ir_name(a: Argument) -> str:
    return a.name if re.fullmatch(r"[A-Za-z_]\w*", a.name) else f"arg{a.index}"


def ir_ctype(t: Type) -> CType:
    """The C type of an IR type; signedness is not known there."""
    match t:
        case FloatType(name):
            return Scalar("float", t.bits, _FLOAT_NAMES.get(name, name), name)
        case IntType(bits):
            return Scalar("bool", 8, "bool") if bits == 1 else Scalar("int", bits, f"int{bits}_t")
        case PointerType():
            return Pointer(Opaque())
        case ArrayType(element, count) | VectorType(element, count):
            return Array(ir_ctype(element), (count,))
        case SimpleType("void"):
            return Void()
    return Opaque(str(t))


_FLOAT_NAMES = {"half": "_Float16", "bfloat": "__bf16", "x86_fp80": "long double", "fp128": "_Float128"}


class _Reader:
    """Relates one function's declared parameters to its IR arguments."""

    def __init__(self, module: Module, f: Function, types: DebugTypes) -> None:
        self.module, self.function, self.types = module, f, types
        node = types.subprogram(f)
        assert node is not None
        self.node, self.next = node, 0
        unit = self._node(node.fields.get("unit"))
        tag, producer = (str(unit.fields.get("language")), text(unit.fields.get("producer"))) if unit else ("", "")
        self.language = language_of(tag, producer)

    def signature(self, result: bl.ByteType | None, declared: tuple[Declared, ...]) -> Signature:
        arguments = self.function.arguments
        hidden = next((a.index for a in arguments[:2] if a.attribute("sret")), None)
        if hidden == 0:
            self.next = 1
        variables = self._variables()
        names = {n: v.name for n, v in variables.items()}
        if (result_name := self._result_in_memory()) is not None:
            names = {1: result_name, **{n + 1: name for n, name in names.items()}}
        if self.language == "D" and not declared:  # ldc writes the types of parameters with the variables only
            declared = tuple(v for _, v in sorted(variables.items()))
        parameters = []
        for n, d in enumerate(declared):
            if self.next == hidden:
                self.next += 1
            parameters.append(self._parameter(n, d, names.get(n + 1, d.name) or f"arg{n}"))
        if self.next != len(arguments):
            why = f"{len(arguments)} IR arguments do not match {len(declared)} declared parameters"
            parameters = [Parameter(p.name, p.type, p.index, (), p.unsupported or why) for p in parameters]
        name = text(self.node.fields.get("name")) or self.function.name
        nothing = result is None or self.function.function_type.result == SimpleType("void")
        to = Void() if nothing and hidden is None or result is None else ctype(result)
        symbol = self.function.name
        return Signature(name, tuple(parameters), to, self._span(), symbol, hidden, self.language)

    def _variables(self) -> dict[int, Declared]:
        """Parameters by number, from the records in the body (at -O0 their names are nowhere else)."""
        found = {}
        for i in self.function.instructions():
            for line in i.debug_records:
                if (record := debug_record(line)) and (variable := self._own_variable(record.variable)):
                    found[variable.arg] = variable
        for variable in self.types.retained(self.function):
            found.setdefault(variable.arg, variable)
        return found

    def _result_in_memory(self) -> str | None:
        """The name of a Fortran function's result where the first IR argument is the memory for it, else None.

        Debug info has it among the types of parameters. The numbers of variables do not count it:
        `#dbg_declare(ptr %1, !x)` with `arg: 1` says that x is the second IR argument.
        """
        if self.language != "Fortran" or self.function.function_type.result != SimpleType("void"):
            return None
        places = {f"ptr %{a.name}": a.index for a in self.function.arguments}
        found = {}
        for i in self.function.instructions():
            for record in filter(None, map(debug_record, i.debug_records)):
                node = self.module.node(record.variable)
                place = places.get(record.operand)
                if place is not None and self._node(node.fields.get("scope")) is self.node:
                    found[number(node.fields.get("arg")), place] = text(node.fields.get("name"))
        shifts = {place - arg + 1 for arg, place in found if arg} or {1 for arg, place in found if not (arg or place)}
        return found.get((0, 0), "result") if shifts == {1} else None

    def _own_variable(self, ref: MDRef) -> Declared | None:
        node = self.module.node(ref)
        scope = self._node(node.fields.get("scope"))
        found = self.types.variable(ref) if scope is self.node else None
        return found if found and found.arg else None

    def _parameter(self, n: int, d: Declared, name: str) -> Parameter:
        t = ctype(d.type) if d.type is not None else Opaque()
        rest = self.function.arguments[self.next :]
        used, why = self._carriers(d.type, rest, name)
        if self.language == "Fortran" and used == 1 and isinstance(rest[0].type, PointerType):
            why = why or by_descriptor_alone(d.type, name)
            t = by_reference(d.type, t)
        else:
            t = terms(self.language, d.type, t)
        first, self.next = self.next, self.next + used
        return Parameter(name, t, n, tuple(range(first, self.next)), why, d.moves)

    def _carriers(self, t: bl.ByteType | None, rest: list[Argument], name: str) -> tuple[int, str]:
        """How many of the next IR arguments carry a parameter of type `t`, or why that is not known."""
        indirect = self.language == "Fortran" and bool(rest) and isinstance(rest[0].type, PointerType)
        if isinstance(t, bl.Record | bl.Sequence) and not t.size and not indirect:
            return 0, ""
        if t is None or not rest:
            return 0, f"no IR argument is left for {name}"
        if indirect:
            return 1, ""
        if isinstance(t, bl.Basic | bl.Pointer):
            fits = _fits_scalar(t, rest[0].type)
            return (1, "") if fits else (0, f"IR type {rest[0].type} does not match {ctype(t)}")
        if rest[0].attribute("byval"):
            return 1, ""
        pieces = _coerced(t, rest, self.module)
        if pieces:
            return pieces, ""
        return 0, f"how {name} of type {ctype(t)} is passed is not known"

    def _node(self, ref: object) -> MDNode | None:
        return self.module.node(ref) if isinstance(ref, MDRef) and ref.id >= 0 else None

    def _span(self) -> Span | None:
        file = self.module.node(ref) if isinstance(ref := self.node.fields.get("file"), MDRef) and ref.id >= 0 else None
        name = text(file.fields.get("filename")) if file is not None else ""
        return Span(name, number(self.node.fields.get("line"))) if name else None


def _fits_scalar(t: bl.ByteType, ir: Type) -> bool:
    match t, ir:
        case bl.Pointer(), PointerType():
            return True
        case bl.Basic(format=format), FloatType(name):
            return format == name
        case bl.Basic(encoding=encoding), IntType(bits):
            return encoding != "float" and (bits == 8 * t.size or (encoding == "bool" and bits == 1))
    return False


def _coerced(t: bl.ByteType, rest: list[Argument], module: Module) -> int:
    """How many IR arguments hold the bytes of `t` in order, each scalar as it is declared; 0 if none do."""
    position, used = 0, 0
    end = t.size
    while end and not bl.scalars(t, end - 1):  # padding at the end is not passed
        end -= 1
    while position < end:
        if used == len(rest) or rest[used].attribute("byval"):
            return 0
        piece = rest[used].type
        position = -(-position // module.layout.align(piece)) * module.layout.align(piece)
        if not _piece_fits(t, position, piece, module):
            return 0
        position, used = position + module.layout.size(piece), used + 1
    return used


def _piece_fits(t: bl.ByteType, position: int, piece: Type, module: Module) -> bool:
    """Do the scalars of `t` from `position` on agree with the IR type they are passed as?"""
    return all(_is_like(t, at, x, module) for at, x in module.layout.leaves(piece, position, lanes=True))


def _is_like(t: bl.ByteType, position: int, piece: Type, module: Module) -> bool:
    if position >= t.size:
        return isinstance(piece, IntType)
    found = bl.scalars(t, position)
    match piece:
        case FloatType(name):
            return any(f.mask == bl.FLOAT_BIT[name] and f.start == position for f in found)
        case PointerType():
            return any(f.pointer is not None and f.start == position for f in found)
    return position + module.layout.size(piece) <= -(-t.size // 8) * 8


def ctype(t: bl.ByteType, _inside: frozenset[int] = frozenset()) -> CType:
    """A declared layout as a C type; a struct inside itself, through pointers, is opaque."""
    match t:
        case bl.Basic(name=name, size=size, encoding=encoding, format=format):
            kind = {"char": "int", "uchar": "uint"}.get(encoding, encoding)
            return Scalar(kind, 8 * size, name or f"{kind}{8 * size}_t", format)
        case bl.Pointer(const=const, restrict=restrict):
            to = t.to()
            return Pointer(ctype(to, _inside) if to is not None else Opaque(), const, restrict)
        case bl.Sequence(element=element, flavour="complex"):
            part = ctype(element)
            return Complex(part) if isinstance(part, Scalar) else Opaque(t.name)
        case bl.Sequence(element=element, counts=counts):
            return Array(ctype(element, _inside), counts)
        case bl.Record(name=name, members=members, size=size, union=False) if id(t) not in _inside:
            inner = _inside | {id(t)}
            return Struct(name, tuple(Field(m.name, ctype(m.type, inner), m.offset) for m in members), size)
    return Opaque(t.name or "void", t.size)
