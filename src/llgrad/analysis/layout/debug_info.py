"""Debug info as byte layouts: the declared types of parameters, variables and globals (LLVM SourceLevelDebugging).

`DebugTypes(module)` turns `DI…Type` nodes into `byte_layouts.ByteType` trees, one object per node, lazily through
pointers. What it does not know becomes `Unknown`, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, lru_cache, partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.layout.byte_layouts import Basic, ByteType, Member, Pointer, Record, Sequence, Unknown
from llgrad.errors import Span, UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.values import Argument, ConstInt, Function, GlobalVariable, MDNode, MDRef, MDString

DESCRIPTOR = "CFI_cdesc_t"
_FORTRAN = (".f", ".for", ".f90", ".f95", ".f03", ".f08", ".f18")
_TRANSPARENT = {
    "DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_atomic_type",
    "DW_TAG_template_alias", "DW_TAG_immutable_type", "DW_TAG_packed_type",
}  # fmt: skip
_POINTERS = {"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"}
_RECORDS = {"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"}
_SINGLE = re.compile(r"&|\*(?!const |mut )\S")  # Rust's references and Zig's pointers to one item
_ENCODINGS = {
    "DW_ATE_signed": "int", "DW_ATE_unsigned": "uint", "DW_ATE_boolean": "bool", "DW_ATE_signed_char": "char",
    "DW_ATE_unsigned_char": "uchar", "DW_ATE_UTF": "uint", "DW_ATE_ASCII": "char", "DW_ATE_UCS": "uint",
}  # fmt: skip


class Declared(Struct, frozen=True):
    """A parameter's or variable's name and type (None: `void` or unknown); `arg` counts from 1, 0 for locals.

    `moves`: it is a Fortran allocatable or pointer, to which a callee may give other memory.
    """

    name: str
    type: ByteType | None
    arg: int = 0
    moves: bool = False


class DebugTypes:
    """The declared types of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._types: dict[int, ByteType | None] = {}
        self._declared: dict[int, Declared | None] = {}
        self._x86 = module.triple.startswith(("x86_64", "i386", "i486", "i586", "i686"))

    # --- what is declared ---------------------------------------------------------------------------------------

    def subprogram(self, function: Function) -> MDNode | None:
        """The `DISubprogram` of a function, if it has one."""
        ref = function.metadata.get("dbg")
        node = self.module.node(ref) if ref is not None and ref.id >= 0 else None
        return node if node is not None and node.kind == "DISubprogram" else None

    def is_cpp(self, function: Function) -> bool:
        """Is a function written in C++?"""
        node = self.subprogram(function)
        unit = self._node(node.fields.get("unit")) if node is not None else None
        return unit is not None and "C_plus_plus" in str(unit.fields.get("language"))

    def result_and_parameters(self, function: Function) -> tuple[ByteType | None, tuple[Declared, ...]] | None:
        """Declared result and parameters in source order; None without debug info. Names come from `arg:` variables."""
        node = self.subprogram(function)
        routine = self._node(node.fields.get("type")) if node else None
        if node is None or routine is None:
            return None
        types = self._tuple(routine.fields.get("types"))
        names = {v.arg: v.name for v in self._variables(node) if v.arg}
        variadic = len(types) > 1 and types[-1] is None
        formal = types[1:-1] if variadic else types[1:]
        parameters = tuple(Declared(names.get(i, ""), self.type(t), i, self._moves(t)) for i, t in enumerate(formal, 1))
        return self.type(types[0]) if types else None, parameters

    def _moves(self, ref: Any) -> bool:
        node = self._node(ref)
        return node is not None and any(node.fields.get(f) is not None for f in ("allocated", "associated"))

    def retained(self, function: Function) -> Iterator[Declared]:
        """The parameters that a function's debug info keeps, with their numbers."""
        node = self.subprogram(function)
        yield from (v for v in self._variables(node) if v.arg) if node is not None else ()

    def variable(self, ref: MDRef) -> Declared | None:
        """What a `DILocalVariable` or `DIGlobalVariable` declares."""
        if ref.id not in self._declared:
            self._declared[ref.id] = self._variable(ref)
        return self._declared[ref.id]

    def _variable(self, ref: MDRef) -> Declared | None:
        node = self._node(ref)
        if node is None or node.kind not in ("DILocalVariable", "DIGlobalVariable"):
            return None
        name, arg = text(node.fields.get("name")), number(node.fields.get("arg"))
        return Declared(name, self.type(node.fields.get("type")), arg)

    def global_types(self, variable: GlobalVariable) -> list[ByteType]:
        """The declared types of a global variable.

        Several where several declarations share its memory: a COMMON block is what each procedure says it is, a record
        of the variables that this procedure has there (these may overlap, by EQUIVALENCE). Linking keeps what one
        file has attached to a block; what all say is listed apart.
        """
        views: dict[Any, list[Member]] = {}
        for scope, member in self._common.get(variable.name) or self._attached(variable):
            views.setdefault(scope, []).append(member)
        return [_record_of(members) for members in views.values()]

    @cached_property
    def _common(self) -> dict[str, list[tuple[Any, Member]]]:
        """What `frontends.fortran.common_blocks` lists: the members of COMMON blocks, by these, each with who declares
        it."""
        found: dict[str, list[tuple[Any, Member]]] = {}
        for n in re.findall(r"!(\d+)", self.module.named_metadata.get("llgrad.common", "")):
            name, scope, offset, declared = self._tuple(MDRef(int(n)))
            if (t := self.type(declared)) is not None:
                found.setdefault(text(name), []).append((text(scope), Member("", number(offset), t)))
        return found

    def _attached(self, variable: GlobalVariable) -> Iterator[tuple[Any, Member]]:
        for kind, ref in variable.metadata.items():
            if kind.partition(" ")[0] == "dbg" and (placed := self._placed(ref)) is not None:
                yield placed

    def _placed(self, ref: Any) -> tuple[Any, Member] | None:
        """The variable of which an attachment of a global speaks, and the scope that declares it."""
        node, offset = self._node(ref), 0
        if node is not None and node.kind == "DIGlobalVariableExpression":
            expression, ref = self._node(node.fields.get("expr")), node.fields.get("var")
            words = node.fields.get("expr") if expression is None else expression
            if (found := _offset_of(words)) is None:
                return None
            offset, node = found, self._node(ref)
        declared = self.variable(ref)
        if node is None or declared is None or declared.type is None:
            return None
        scope = node.fields.get("scope")
        return getattr(scope, "id", None), Member(declared.name, offset, declared.type)

    def _variables(self, subprogram: MDNode) -> Iterator[Declared]:
        for ref in self._tuple(subprogram.fields.get("retainedNodes")):
            if isinstance(ref, MDRef) and (found := self.variable(ref)):
                yield found

    # --- types --------------------------------------------------------------------------------------------------

    def type(self, ref: Any) -> ByteType | None:
        """The layout behind a type reference; None for `void`."""
        if not isinstance(ref, MDRef) or ref.id < 0:
            return None
        if ref.id not in self._types:
            self._types[ref.id] = Unknown("", 0)  # what a malformed, directly recursive type sees of itself
            self._types[ref.id] = self._make(self.module.node(ref))
        return self._types[ref.id]

    def _make(self, node: MDNode) -> ByteType | None:
        tag, size = node.fields.get("tag"), number(node.fields.get("size")) // 8
        name = text(node.fields.get("name"))
        match node.kind:
            case "DIBasicType":
                return self._basic(node, name, size)
            case "DIDerivedType" if tag in _POINTERS:
                return self._pointer(node, name, size, tag != "DW_TAG_pointer_type")
            case "DIDerivedType" if tag in _TRANSPARENT:
                return self._wrapped(node, name)
            case "DICompositeType" if tag in _RECORDS:
                return self._record(node, name, size, tag == "DW_TAG_union_type")
            case "DICompositeType" if tag == "DW_TAG_array_type":
                return self._array(node, name, size)
            case "DICompositeType" if tag == "DW_TAG_enumeration_type":
                return Basic(name, size, "int") if size else Unknown(name, size)
        return Unknown(name, size)

    def _basic(self, node: MDNode, name: str, size: int) -> ByteType:
        encoding = node.fields.get("encoding")
        if encoding in ("DW_ATE_float", "DW_ATE_complex_float"):
            size = {10: 16, 20: 32}.get(size, size)  # where only the bits of `x86_fp80` are counted, as zig does
        if encoding == "DW_ATE_float" and (format := self._float(name, size)):
            return Basic(name, size, "float", format)
        if encoding == "DW_ATE_complex_float" and (format := self._float(name, size // 2)):
            return Sequence(name, size, Basic(format, size // 2, "float", format), (2,), "complex")
        if encoding in _ENCODINGS and size:
            known = {"u8": "uchar", "i8": "char"}.get(name, _ENCODINGS[encoding])
            return Basic(name, size, "uchar" if name == "byte" else known)
        return Unknown(name, size)

    def _float(self, name: str, size: int) -> str | None:
        if size == 2:
            return "bfloat" if "bf" in name.lower() or "brain" in name.lower() else "half"
        if size == 16:
            quad = "128" in name or "kind=16" in name or "quad" in name.lower()
            return "x86_fp80" if self._x86 and not quad else None if self.module.triple.startswith("p") else "fp128"
        return {4: "float", 8: "double", 12: "x86_fp80"}.get(size)

    def _pointer(self, node: MDNode, name: str, size: int, reference: bool) -> ByteType:
        target = node.fields.get("baseType")
        pointee = self._node(target)
        if pointee is not None and pointee.kind == "DISubroutineType":
            return Pointer(name, size or 8, lambda: Unknown("function", 0))
        if pointee is not None and pointee.fields.get("tag") in _RECORDS and self._is_fortran(pointee):
            return Record("", 40, _header(partial(self.type, target)))  # an object's descriptor: what `class` is, too
        const = "DW_TAG_const_type" in self._qualifiers(pointee)
        single = reference or _SINGLE.match(name) is not None
        return Pointer(name, size or 8, partial(self.type, target), const, False, single)

    def _is_fortran(self, node: MDNode) -> bool:
        file = self._node(node.fields.get("file"))
        return file is not None and text(file.fields.get("filename")).lower().endswith(_FORTRAN)

    def _qualifiers(self, node: MDNode | None) -> set[str]:
        """The transparent tags on the way down from `node`."""
        tags: set[str] = set()
        while node is not None and node.fields.get("tag") in _TRANSPARENT:
            tags.add(str(node.fields["tag"]))
            node = self._node(node.fields.get("baseType"))
        return tags

    def _wrapped(self, node: MDNode, name: str) -> ByteType | None:
        inner = self.type(node.fields.get("baseType"))
        if isinstance(inner, Pointer) and node.fields.get("tag") == "DW_TAG_restrict_type":
            return replace(inner, restrict=True)
        if name == "byte" and isinstance(inner, Basic):  # std::byte
            return replace(inner, name=name, encoding="uchar")
        named = isinstance(inner, Basic) or (inner is not None and not inner.name)
        return replace(inner, name=name) if inner is not None and name and named else inner

    def _record(self, node: MDNode, name: str, size: int, union: bool) -> ByteType:
        if "DIFlagFwdDecl" in str(node.fields.get("flags") or ""):
            return Unknown(name, size)
        members: list[Member] = []
        polymorphic = bool(node.fields.get("vtableHolder"))
        for ref in self._tuple(node.fields.get("elements")):
            element = self._node(ref)
            if element is None or element.kind == "DISubprogram":
                continue
            if element.fields.get("tag") == "DW_TAG_variant_part":
                members.append(Member("", 0, Unknown("variant", size)))
            elif element.fields.get("tag") in ("DW_TAG_member", "DW_TAG_inheritance"):
                members += self._member(element, size)
        polymorphic |= any(m.name.startswith("_vptr") for m in members)
        return Record(name, size, tuple(members), union, polymorphic, text(node.fields.get("identifier")))

    def _member(self, node: MDNode, record: int) -> list[Member]:
        flags = str(node.fields.get("flags") or "")
        if "DIFlagStaticMember" in flags:
            return []
        name, at = text(node.fields.get("name")), number(node.fields.get("offset"))
        t = self.type(node.fields.get("baseType"))
        if "DIFlagVirtual" in flags and node.fields.get("tag") == "DW_TAG_inheritance":
            return [Member("", 0, Unknown("virtual base", record))]
        if "DIFlagBitField" in flags:
            first, last = at // 8, (at + number(node.fields.get("size")) + 7) // 8
            return [Member(name, first, Basic(t.name if t else "", last - first, "int"), True)] if last > first else []
        base = node.fields.get("tag") == "DW_TAG_inheritance"
        return [Member(name, at // 8, t, base=base)] if t is not None else []

    def _array(self, node: MDNode, name: str, size: int) -> ByteType:
        element = self.type(node.fields.get("baseType"))
        descriptor = any(node.fields.get(f) is not None for f in ("dataLocation", "allocated", "associated", "rank"))
        if element is None or not element.size:
            return Unknown(name, size)
        if descriptor:
            rank = len(self._tuple(node.fields.get("elements")))
            return _descriptor(element, rank) if rank else Unknown(name, size)
        counts = tuple(self._count(self._node(r)) for r in self._tuple(node.fields.get("elements")))
        vector = "DIFlagVector" in str(node.fields.get("flags") or "")
        known = size if vector else element.size * _product(counts)
        return Sequence(name, size or known, element, counts, "vector" if vector else "array")

    def _count(self, node: MDNode | None) -> int:
        if node is None or node.kind not in ("DISubrange", "DIGenericSubrange"):
            return -1
        count, lower, upper = (_constant(node.fields.get(f)) for f in ("count", "lowerBound", "upperBound"))
        if count is not None:
            return count
        return upper - (1 if lower is None else lower) + 1 if upper is not None else -1

    # --- nodes --------------------------------------------------------------------------------------------------

    def _node(self, ref: Any) -> MDNode | None:
        return self.module.node(ref) if isinstance(ref, MDRef) and ref.id >= 0 else None

    def _tuple(self, ref: Any) -> tuple[Any, ...]:
        node = self._node(ref)
        return node.operands if node is not None else ()


def _descriptor(element: ByteType, rank: int) -> ByteType:
    """A Fortran array's descriptor, `CFI_cdesc_t` of ISO_Fortran_binding.h: address, facts, and for each dimension
    lower bound, extent and stride in bytes."""
    data = Sequence("", element.size, element, (-1,) * rank)
    word = Basic("index", 8, "int")
    bounds = [
        Member(f"{n}{d}", 24 + 24 * d + 8 * i, word)
        for d in range(rank) for i, n in enumerate(("lower", "extent", "stride"))
    ]  # fmt: skip
    return Record(DESCRIPTOR, 24 + 24 * rank, (*_header(lambda: data), *bounds))


def _record_of(members: list[Member]) -> ByteType:
    """What several variables in one place make, each at its offset."""
    if len(members) == 1 and not members[0].offset:
        return members[0].type
    return Record("", max(m.offset + m.type.size for m in members), tuple(members))


def _offset_of(expression: Any) -> int | None:
    """How many bytes into a global an expression says that a variable lies; None for parts of one and the like."""
    if isinstance(expression, MDRef):
        words = expression.text.partition("(")[2].rpartition(")")[0].replace(",", " ").split()
    else:
        words = [str(w) for w in expression.operands]
    if not words:
        return 0
    return int(words[1]) if len(words) == 2 and words[0] == "DW_OP_plus_uconst" else None


def _header(target: Callable[[], ByteType | None]) -> tuple[Member, ...]:
    """What every descriptor begins with: where it points to, and facts."""
    word, byte = Basic("index", 8, "int"), Basic("int8", 1, "int")
    facts = (Member(n, 20 + i, byte) for i, n in enumerate(("rank", "type", "attribute", "extra")))
    base = Member("base_addr", 0, Pointer("", 8, target))
    return (base, Member("elem_len", 8, word), Member("version", 16, Basic("int32", 4, "int")), *facts)


def _product(counts: tuple[int, ...]) -> int:
    total = 1
    for c in counts:
        total *= max(c, 0)
    return total


def _constant(x: Any) -> int | None:
    """An integer written as such or as a constant operand; None for variables and expressions."""
    if isinstance(x, ConstInt):
        return x.signed
    return int(x) if isinstance(x, int) or (isinstance(x, str) and x.lstrip("-").isdigit()) else None


def text(x: Any) -> str:
    """A metadata string, or an empty one."""
    return x.text if isinstance(x, MDString) else str(x) if isinstance(x, str) else ""


def number(x: Any) -> int:
    """A metadata integer, or 0."""
    return _constant(x) or 0


# --- debug records ---------------------------------------------------------------------------------------------------


class DebugRecord(Struct, frozen=True):
    """`#dbg_value` or `#dbg_declare`: the operand as written (`ptr %x`), the variable, the expression's text."""

    kind: str
    operand: str
    variable: MDRef
    expression: str

    @property
    def plain(self) -> bool:
        """Is the operand the whole variable (or, for a declare, its address)?"""
        return not self.expression.strip()


_RECORD = re.compile(r"#dbg_(value|declare|assign)\((.*?), !(\d+), !DIExpression\(([^)]*)\)")


@lru_cache(1 << 14)
def debug_record(line: str) -> DebugRecord | None:
    """A raw `#dbg_…` line taken apart; None for the kinds that declare nothing (`#dbg_label`, argument lists)."""
    m = _RECORD.search(line)
    if m is None or "DIArgList" in m[2]:
        return None
    return DebugRecord("value" if m[1] == "assign" else m[1], m[2].strip(), MDRef(int(m[3])), m[4])


UNNAMED = re.compile(r"arg\d*|\d+")
"""What LLVM's printer and its `instnamer` call arguments."""


def argument_name(module: Module, f: Function, argument: Argument) -> str:
    """What the source calls a parameter; its name in the module if it has one, or debug info does not tell."""
    if not UNNAMED.fullmatch(argument.name):
        return argument.name
    for i in f.entry.instructions if f.blocks else ():
        for record in filter(None, map(debug_record, i.debug_records)):
            node = module.node(record.variable)
            named = record.operand.rpartition("%")[2].strip('"') == argument.name
            if named and node.fields.get("arg") and (said := text(node.fields.get("name"))):
                return said
    types = DebugTypes(module)
    declared = types.result_and_parameters(f)
    plain = declared is not None and len(declared[1]) == len(f.arguments)
    return (declared[1][argument.index].name if plain and declared else "") or argument.name


_UNNAMED = re.compile(r"(?:\bargument )?(?:%(\d+)|%?\b(arg\d*))\b")  # as LLVM's printer and its `instnamer` call them


Called = Callable[[Module, Function, Argument], str]


def _source_names(
    module: Module, words: Collection[str], first: Collection[str], root: str, called: Called
) -> dict[str, str]:
    """What the source calls parameters that are called by these words in the module: of the functions that come
    `first`, else of the root, else of all; where all agree."""
    names: dict[str, str] = {}
    for word in words:
        owners = [(f, a) for f in module.functions for a in f.arguments if a.name == word and not f.is_declaration]
        named = [(f, a) for f, a in owners if f.name in first] or [(f, a) for f, a in owners if f.name == root]
        found = {called(module, f, a) for f, a in named or owners}
        if len(found) == 1:
            names[word] = found.pop()
    return {word: name for word, name in names.items() if name != word}


def say_in_source(error: UnsupportedError, module: Module, root: str, called: Called = argument_name) -> None:
    """Say where the function is, where an error has no line, and what the source calls its parameters (`called`).

    The function that is differentiated is named, and where there is no line, for want of debug info, the file.
    """
    if error.span is None or not error.span.line:
        error.span = module.definition(root) or error.span
    own = root.removeprefix("llgrad.root.")
    if error.span is None and module.source_filename:
        error.span = Span(module.source_filename)
    if words := {a or b for m in (error.message, error.cause) for a, b in _UNNAMED.findall(m)}:
        mentioned = {*re.findall(r"[\w.$]+", error.message)}
        names = _source_names(module, words, mentioned, root, called)

        def named(m: re.Match[str]) -> str:
            word = m[1] or m[2]
            return f"argument {names[word]}" if word in names else m[0]

        error.message, error.cause = _UNNAMED.sub(named, error.message), _UNNAMED.sub(named, error.cause)
    node = module.globals[root].metadata.get("dbg") if root in module.globals else None
    said = (text(module.node(node).fields.get("name")) if node is not None and node.id >= 0 else "") or own
    if not said.startswith("llgrad.") and not any(
        re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", error.message) for name in (own, said)
    ):
        error.message = f"{error.message}, in the derivative of {said}"
    error.args = (error.message,)
