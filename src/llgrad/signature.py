"""Debug info → the C signature a user calls, and the names by which functions are found.

`signature(module, name)` relates each declared parameter to the IR arguments that carry it: one argument for scalars
and pointers, `byval` and coerced arguments for structs (System V: pieces of eight bytes), a hidden first one for large
results. Where the correspondence is not certain the parameter says why in `unsupported`; nothing is guessed. Without
debug info the IR types speak: pointers are opaque and names are the IR's, or `arg0`, `arg1`, ….
`candidates(module)` lists what may be called, `find(module, name)` looks a plain, qualified or mangled name up.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llgrad.analysis import bytelayout as bl
from llgrad.analysis.debuginfo import DebugTypes, Declared, debug_record, number, text
from llgrad.errors import Span, UnknownNameError
from llgrad.ir.module import Module
from llgrad.ir.types import ArrayType, FloatType, IntType, PointerType, SimpleType, StructType, Type, VectorType
from llgrad.ir.values import Alias, Argument, Function, MDNode, MDRef

if TYPE_CHECKING:
    import numpy as np

# --- C types ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CType:
    """Base. `str()` is the type's C spelling, `declare(name)` a declaration with it."""

    def declare(self, name: str) -> str:
        """`double x[3]`, `const double *p`"""
        return f"{self} {name}".rstrip()

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        """NumPy's type of a value (of an element, for pointers and arrays); None where it has none."""
        return None

    @property
    def size(self) -> int:
        """Bytes; 0 where unknown."""
        return 0


@dataclass(frozen=True, slots=True)
class Void(CType):
    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class Opaque(CType):
    """A type of which no more than the name is known."""

    name: str = "void"
    bytes: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.bytes


@dataclass(frozen=True, slots=True)
class Scalar(CType):
    """`kind` is float, int, uint or bool; `format` is LLVM's name of a float."""

    kind: str
    bits: int
    c_name: str
    format: str = ""

    def __str__(self) -> str:
        return self.c_name

    @property
    def size(self) -> int:
        return (self.bits + 7) // 8

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        import numpy as np

        if self.kind == "float":
            names = {"half": "float16", "float": "float32", "double": "float64", "x86_fp80": "longdouble"}
            return np.dtype(names[self.format]) if self.format in names else None
        if self.kind == "bool":
            return np.dtype(np.bool_)
        return np.dtype(f"{self.kind}{self.bits}") if self.bits in (8, 16, 32, 64) else None


@dataclass(frozen=True, slots=True)
class Complex(CType):
    """Two floats, real part first."""

    part: Scalar

    def __str__(self) -> str:
        return f"{self.part} _Complex"

    @property
    def size(self) -> int:
        return 2 * self.part.size

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        import numpy as np

        names = {4: "complex64", 8: "complex128"}
        return np.dtype(names[self.part.size]) if self.part.size in names else None


@dataclass(frozen=True, slots=True)
class Pointer(CType):
    to: CType
    const: bool = False
    restrict: bool = False

    def __str__(self) -> str:
        return self.declare("")

    def declare(self, name: str) -> str:
        star = f"*{'restrict ' if self.restrict and name else 'restrict' if self.restrict else ''}{name}"
        const = "const " if self.const else ""
        if isinstance(self.to, Array):
            return const + self.to.declare(f"({star})")
        if isinstance(self.to, Pointer):
            return self.to.declare(f"const {star}" if self.const else star)
        return f"{const}{self.to} {star}"

    @property
    def size(self) -> int:
        return 8

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        return self.to.dtype


@dataclass(frozen=True, slots=True)
class Array(CType):
    """`dims` are counts, outermost first; -1 where unknown."""

    element: CType
    dims: tuple[int, ...]

    def __str__(self) -> str:
        return self.declare("")

    def declare(self, name: str) -> str:
        return self.element.declare(name) + "".join(f"[{d if d >= 0 else ''}]" for d in self.dims)

    @property
    def size(self) -> int:
        total = self.element.size
        for d in self.dims:
            total *= max(d, 0)
        return total

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        return self.element.dtype


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: CType
    offset: int


@dataclass(frozen=True, slots=True)
class Struct(CType):
    name: str
    fields: tuple[Field, ...]
    bytes: int

    def __str__(self) -> str:
        return self.name or "struct"

    @property
    def size(self) -> int:
        return self.bytes

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        import numpy as np

        formats = [_field_dtype(f.type) for f in self.fields]
        if any(f is None for f in formats) or len({f.name for f in self.fields}) < len(self.fields):
            return None
        names, offsets = [f.name for f in self.fields], [f.offset for f in self.fields]
        spec = {"names": names, "formats": formats, "offsets": offsets, "itemsize": self.bytes}
        return np.dtype(spec)  # type: ignore[call-overload,no-any-return]


def _field_dtype(t: CType) -> object | None:
    if isinstance(t, Pointer):
        return "u8"
    if isinstance(t, Array):
        return (t.dtype, t.dims) if t.dtype is not None and min(t.dims) > 0 else None
    return t.dtype


# --- signatures ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """`ir_arguments` are the indices of the IR arguments that carry it; `unsupported` says why that is not known."""

    name: str
    type: CType
    index: int
    ir_arguments: tuple[int, ...]
    unsupported: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """`result_argument` is the index of the IR argument through which a large struct is returned (`sret`)."""

    name: str
    parameters: tuple[Parameter, ...]
    result: CType
    source: Span | None = None
    symbol: str = ""
    result_argument: int | None = None
    declared: bool = field(default=True, compare=False)  # from debug info, not from IR types alone

    def __str__(self) -> str:
        inside = ", ".join(p.type.declare(p.name) for p in self.parameters) or "void"
        return self.result.declare(f"{self.name}({inside})")

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; UnknownNameError with near ones otherwise."""
        found = next((p for p in self.parameters if p.name == name), None)
        if found is None:
            known = [p.name for p in self.parameters]
            fix = _suggest(name, known, "its parameters are")
            raise UnknownNameError(f"{self.name} has no parameter {name!r}", span=self.source, fix=fix)
        return found


def signature(module: Module, function_name: str) -> Signature:
    """The signature of a function, found as by `find`."""
    f = find(module, function_name)
    types = DebugTypes(module)
    declared = types.result_and_parameters(f)
    if declared is None:
        return _from_ir(f)
    return _Reader(module, f, types).signature(*declared)


def _from_ir(f: Function) -> Signature:
    offset = 1 if f.arguments and f.arguments[0].attribute("sret") else 0
    parameters = tuple(
        Parameter(_ir_name(a), ir_ctype(a.type), n, (a.index,)) for n, a in enumerate(f.arguments[offset:])
    )
    result = ir_ctype(f.function_type.result) if not offset else Opaque("struct")
    return Signature(_demangled(f.name) or f.name, parameters, result, None, f.name, 0 if offset else None, False)


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
        self.by_reference = unit is not None and "Fortran" in str(unit.fields.get("language"))

    def signature(self, result: bl.ByteType | None, declared: tuple[Declared, ...]) -> Signature:
        arguments = self.function.arguments
        hidden = next((a.index for a in arguments[:2] if a.attribute("sret")), None)
        if hidden == 0:
            self.next = 1
        names = self._names()
        parameters = []
        for n, d in enumerate(declared):
            if self.next == hidden:
                self.next += 1
            parameters.append(self._parameter(n, d, names.get(n + 1, d.name) or f"arg{n}"))
        if self.next != len(arguments):
            why = f"{len(arguments)} IR arguments do not match {len(declared)} declared parameters"
            parameters = [Parameter(p.name, p.type, p.index, (), p.unsupported or why) for p in parameters]
        name = text(self.node.fields.get("name")) or self.function.name
        to = ctype(result) if result is not None else Void()
        return Signature(name, tuple(parameters), to, self._span(), self.function.name, hidden)

    def _names(self) -> dict[int, str]:
        """Names of parameters by number, from the records in the body (at -O0 they are nowhere else)."""
        names = {}
        for i in self.function.instructions():
            for line in i.debug_records:
                if (record := debug_record(line)) and (variable := self._own_variable(record.variable)):
                    names[variable.arg] = variable.name
        return names

    def _own_variable(self, ref: MDRef) -> Declared | None:
        node = self.module.node(ref)
        scope = self._node(node.fields.get("scope"))
        found = self.types.variable(ref) if scope is self.node else None
        return found if found and found.arg else None

    def _parameter(self, n: int, d: Declared, name: str) -> Parameter:
        t = ctype(d.type) if d.type is not None else Opaque()
        rest = self.function.arguments[self.next :]
        used, why = self._carriers(d.type, rest, name)
        by_reference = self.by_reference and used == 1 and isinstance(rest[0].type, PointerType)
        if by_reference and not isinstance(t, Pointer):
            t = Pointer(t.element if isinstance(t, Array) else t)
        first, self.next = self.next, self.next + used
        return Parameter(name, t, n, tuple(range(first, self.next)), why)

    def _carriers(self, t: bl.ByteType | None, rest: list[Argument], name: str) -> tuple[int, str]:
        """How many of the next IR arguments carry a parameter of type `t`, or why that is not known."""
        if isinstance(t, bl.Record | bl.Sequence) and not t.size:
            return 0, ""
        if t is None or not rest:
            return 0, f"no IR argument is left for {name}"
        if self.by_reference and isinstance(rest[0].type, PointerType):
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
    match piece:
        case ArrayType(element, count) | VectorType(element, count):
            size = module.layout.size(element)
            return all(_piece_fits(t, position + n * size, element, module) for n in range(count))
        case StructType(fields) if fields is not None:
            offsets = module.layout.offsets(piece)
            return all(_piece_fits(t, position + o, f, module) for o, f in zip(offsets, fields, strict=True))
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


# --- names -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function that may be called: its symbol, its plain name and its qualified one (`space::Class::name`)."""

    symbol: str
    name: str
    qualified: str
    source: Span | None = None


_HIDDEN_PREFIXES = ("llvm.", "__cxx_global", "_GLOBAL__", "__clang_call", "asan.", "__llgrad")


def candidates(module: Module) -> list[Candidate]:
    """The functions with bodies that other files may call, in the module's order."""
    found = []
    for g in module.globals.values():
        if g.name.startswith(_HIDDEN_PREFIXES) or g.linkage in ("internal", "private", "available_externally"):
            continue
        if isinstance(g, Function) and not g.is_declaration:
            found.append(_candidate(module, g, g.name))
        elif isinstance(g, Alias):
            try:
                target = module.function(g.name)
            except KeyError:
                continue
            if not target.is_declaration:
                found.append(_candidate(module, target, g.name))
    return found


def _candidate(module: Module, f: Function, symbol: str) -> Candidate:
    types = DebugTypes(module)
    node = types.subprogram(f)
    if node is None or symbol != f.name:
        qualified = _demangled(symbol) or symbol
        return Candidate(symbol, qualified.rpartition("::")[2], qualified)
    plain = text(node.fields.get("name")) or symbol
    path, scope = [plain], node.fields.get("scope")
    while isinstance(scope, MDRef) and scope.id >= 0:
        owner = module.node(scope)
        if owner.kind not in ("DINamespace", "DICompositeType", "DIModule"):
            break
        path.insert(0, text(owner.fields.get("name")))
        scope = owner.fields.get("scope")
    file = node.fields.get("file")
    name = text(module.node(file).fields.get("filename")) if isinstance(file, MDRef) and file.id >= 0 else ""
    span = Span(name, number(node.fields.get("line"))) if name else None
    return Candidate(symbol, plain, "::".join(filter(None, path)), span)


def find(module: Module, name: str) -> Function:
    """A function by symbol, plain name or qualified name.

    UnknownNameError where there is none (with near names) or where overloads share the name (with their symbols).
    """
    known = module.globals.get(name)
    if isinstance(known, Function) or (isinstance(known, Alias) and known.kind == "alias"):
        return module.function(name)
    all_candidates = candidates(module)
    for key in ("qualified", "name"):
        found = [c for c in all_candidates if name == getattr(c, key)]
        if len(found) == 1:
            return module.function(found[0].symbol)
        if found:
            symbols = ", ".join(f"{c.symbol} ({c.qualified})" for c in found)
            raise UnknownNameError(f"{name!r} is overloaded", cause=f"candidates: {symbols}", fix="give the symbol")
    names = dict.fromkeys(n for c in all_candidates for n in (c.name, c.qualified))
    raise UnknownNameError(
        f"there is no function {name!r}",
        cause="no function with a body has this name" if names else "the module has no function that may be called",
        fix=_suggest(name, list(names), "it has"),
    )


def _suggest(name: str, known: list[str], otherwise: str) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return f"{otherwise} {', '.join(known[:12])}{', …' if len(known) > 12 else ''}" if known else ""


def _demangled(symbol: str) -> str | None:
    """The qualified name in an Itanium-mangled symbol, without parameters; None where it is more than names."""
    m = re.match(r"_Z(NK?)?(?=\d|St)", symbol)
    if m is None:
        return None
    names, rest = [], symbol[m.end() :]
    if rest.startswith("St"):
        names, rest = ["std"], rest[2:]
    while n := re.match(r"\d+", rest):
        length = int(n[0])
        names.append(rest[n.end() : n.end() + length])
        rest = rest[n.end() + length :]
        if not m[1]:
            break
    if not names or (m[1] and not rest.startswith("E")):
        return None
    return "::".join(names)
