"""A module: its globals by name, in order, and what the writer must give back unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from llgrad.errors import Span
from llgrad.ir.types import SIMPLE_TYPES, DataLayout, StructType, Type
from llgrad.ir.values import (
    Alias,
    Alloca,
    Attribute,
    Function,
    GlobalValue,
    GlobalVariable,
    Instruction,
    MDNode,
    MDRef,
    MDString,
)

_FILE = "filename", "directory"
_OWN = "/llgrad/runtime/"
_LIBRARY = re.compile(
    r"^/usr/(local/)?(include|lib)/|/llgrad/runtime/|/include/c\+\+/|/c\+\+/v1/|^/rustc/|^library/(core|alloc|std)/"
    r"|/rustlib/|/lib/std/"
)


def _allocates(i: Instruction, t: Type) -> bool:
    return isinstance(i, Alloca) and i.allocated_type == t


class Module:
    """Globals are found by name; bodies and metadata nodes are parsed when first asked for."""

    def __init__(self) -> None:
        self.source_filename = ""
        self.triple = ""
        self.layout = DataLayout()
        self.asm: list[str] = []  # module-level inline assembly, a line each
        self.types: dict[str, StructType] = {}  # named structs, with the %
        self.type_cache: dict[str, Type] = dict(SIMPLE_TYPES)  # types that are one token, for the parser
        self.raw_types: dict[str, str] = {}  # named structs as text, for the parser
        self.comdats: list[str] = []  # whole lines
        self.globals: dict[str, GlobalValue] = {}  # variables, aliases and functions, in order
        self.attribute_groups: dict[int, tuple[Attribute, ...]] = {}
        self.named_metadata: dict[str, str] = {}  # name -> text after the "="
        self.raw_metadata: dict[int, str] = {}  # id -> text after the "="
        self.nodes: dict[int, MDNode] = {}  # parsed so far
        self.node_parser: Any = None  # set by ir.parse: (module, id) -> MDNode
        self._next_node = 0
        self.use_list_orders: list[str] = []

    @property
    def functions(self) -> list[Function]:
        return [g for g in self.globals.values() if isinstance(g, Function)]

    @property
    def variables(self) -> list[GlobalVariable]:
        return [g for g in self.globals.values() if isinstance(g, GlobalVariable)]

    def concerned(self, asks: Callable[[str], bool]) -> list[Function]:
        """The definitions that may concern somebody: `asks` is given the text of a body that nobody has read yet."""
        return [f for f in self.functions if not f.is_declaration and (f.unread is None or asks(f.unread))]

    def function(self, name: str) -> Function:
        """The function of that name, through aliases; KeyError where there is none."""
        g: Any = self.globals[name]
        while isinstance(g, Alias):
            g = g.aliasee
        if not isinstance(g, Function):
            raise KeyError(name)
        return g

    def add(self, value: GlobalValue) -> GlobalValue:
        """Enter a global under its name, which must be new."""
        if value.name in self.globals:
            raise KeyError(f"@{value.name} exists already")
        value.module = self
        self.globals[value.name] = value
        return value

    def node(self, ref: MDRef | int) -> MDNode:
        """The metadata node behind a reference, parsed once."""
        i = ref if isinstance(ref, int) else ref.id
        if i not in self.nodes:
            self.nodes[i] = self.node_parser(self, i)
        return self.nodes[i]

    def add_metadata(self, text: str) -> MDRef:
        """Enter a new node (`distinct !{!1, i32 2}`, `!DILocation(…)`) and return its reference."""
        if not self._next_node:
            self._next_node = 1 + max(max(self.raw_metadata, default=-1), max(self.nodes, default=-1))
        while self._next_node in self.raw_metadata or self._next_node in self.nodes:
            self._next_node += 1
        self.raw_metadata[self._next_node] = text
        return MDRef(self._next_node)

    def span(self, instruction: Instruction) -> Span | None:
        """Where the source has this instruction (`!dbg`), or None."""
        ref = instruction.metadata.get("dbg")
        return None if ref is None or ref.id < 0 else self._span(self.node(ref))

    def definition(self, name: str) -> Span | None:
        """Where the source defines a function or a variable, or None."""
        ref: object = self.globals[name].metadata.get("dbg")
        if isinstance(ref, MDRef) and ref.id >= 0 and isinstance(of := self.node(ref).fields.get("var"), MDRef):
            ref = of  # of a variable: the node is an expression
        known = isinstance(ref, MDRef) and ref.id >= 0
        return self._in_file(self.node(ref), self.node(ref)) if known and isinstance(ref, MDRef) else None

    def place_of_type(self, t: Type) -> Span | None:
        """Where the source has the first instruction that makes, takes or allocates values of a type, or None."""
        everything = (i for f in self.functions if not f.is_declaration for i in f.instructions())
        using = (i for i in everything if t in (i.type, *(v.type for v in i.operands)) or _allocates(i, t))
        return next((span for i in using if (span := self.span(i)) is not None), None)

    def place_of_use(self, name: str) -> Span | None:
        """Where the source has the first instruction that uses a function or variable, or None."""
        used = self.globals.get(name)
        everything = (i for f in self.functions if not f.is_declaration for i in f.instructions())
        using = (i for i in everything if any(v is used for v in i.operands))
        return next((span for i in using if (span := self.place(i)) is not None), None)

    def place(self, instruction: Instruction) -> Span | None:
        """Where a user looks for it: of what was inlined from a library, the line that calls the library; of what has
        no line, the line before it in its block, after it, or of its function. A runtime of llgrad's is no such place.
        """
        location = self._location(instruction)
        found = self._span(location) if location is not None else None
        found = found if found is not None and found.line else (self._near(instruction) or found)
        return None if found is not None and _OWN in found.file else found

    def _location(self, instruction: Instruction) -> MDNode | None:
        """The `DILocation` of an instruction; where that is in a library, of the call from the user's code."""
        ref: object = instruction.metadata.get("dbg")
        first = location = self.node(ref) if isinstance(ref, MDRef) and ref.id >= 0 else None
        while location is not None and (found := self._span(location)) is not None and _LIBRARY.search(found.file):
            ref = location.fields.get("inlinedAt")
            location = self.node(ref) if isinstance(ref, MDRef) else None
        return location if location is not None and self._span(location) is not None else first

    def place_and_function(self, of: Instruction | Function | GlobalVariable | MDRef) -> str:
        """`gmm.c:12:3 in energy`: where a user looks for an instruction, function or variable (its debug info's node),
        and in which function of the source. Without debug info the file and the function."""
        span, function = None, ""
        match of:
            case MDRef():
                span, function = self._span(self.node(of)), self._function_around(self.node(of))
            case Instruction():
                span, function = self.place(of), self.function_of(of)
            case Function() | GlobalVariable():
                span, function = self.definition(of.name), of.name if isinstance(of, Function) else ""
        where = str(span or self.source_filename)
        return f"{where} in {function}" if function else where

    def around(self, instruction: Instruction) -> str:
        """` in f` for an instruction whose place nobody knows, for want of debug info; else nothing."""
        span, function = self.span(instruction), self.function_of(instruction)
        return f" in {function}" if function and (span is None or not span.line) else ""

    def function_of(self, instruction: Instruction) -> str:
        """The function of the source that an instruction is in, as far as debug info tells: it may be inlined."""
        location, block = self._location(instruction), instruction.block
        named = self._function_around(location) if location is not None else ""
        return named or (block.function.name if block is not None and block.function is not None else "")

    def _function_around(self, node: MDNode) -> str:
        """What the source calls the function that a location or variable is in."""
        scope = node.fields.get("scope")
        while isinstance(scope, MDRef):
            found = self.node(scope)
            if found.kind == "DISubprogram":
                name = found.fields.get("name")
                return name.text if isinstance(name, MDString) else ""
            scope = found.fields.get("scope")
        return ""

    def _near(self, instruction: Instruction) -> Span | None:
        """The line that is next to an instruction which has none: LLVM gives none to what it has merged."""
        block = instruction.block
        if block is None or block.function is None:
            return None
        n = next(k for k, i in enumerate(block.instructions) if i is instruction)
        others = (*reversed(block.instructions[:n]), *block.instructions[n + 1 :])
        lines = (span for i in others if (span := self.span(i)) is not None and span.line)
        return next(lines, None) or self.definition(block.function.name)

    def _span(self, location: MDNode) -> Span | None:
        scope = location.fields.get("scope")
        while isinstance(scope, MDRef):
            node = self.node(scope)
            if (found := self._in_file(node, location)) is not None:
                return found
            scope = node.fields.get("scope")
        return None

    def _in_file(self, scope: MDNode, location: MDNode) -> Span | None:
        """A line and a column in the file that a scope is in, if that is said."""
        if not isinstance(scope.fields.get("file"), MDRef):
            return None
        fields = self.node(scope.fields["file"]).fields
        name, folder = (v.text if isinstance(v, MDString) else str(v or "") for v in map(fields.get, _FILE))
        line, column = (int(location.fields.get(n) or 0) for n in ("line", "column"))
        return Span(name, line, column, folder)


class Position(Struct, frozen=True):
    """Where an instruction is, so that it is found when the same text is parsed again."""

    function: str
    block: str
    number: int  # in the block

    @staticmethod
    def of(i: Instruction) -> Position:
        assert i.block.function is not None
        return Position(i.block.function.name, i.block.name, i.block.instructions.index(i))

    def find(self, module: Module) -> Instruction:
        block = next(b for b in module.function(self.function).blocks if b.name == self.block)
        return block.instructions[self.number]
