"""Structs that the C ABI passes in registers: which parameters of a function are one argument of C's.

clang's names say it (`%s.coerce0`, `%s.coerce1`), debug info does (of the type, or of the pieces of a variable), and so
does code that is not optimised: it puts the parameters together in memory first. Where nothing of that is left, two
parameters without `noundef` may be one struct; what a call passes for them may tell (`may_be_pair`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from llgrad.analysis.layout.debug_info import debug_record
from llgrad.autodiff.requests.markers import REPLAY
from llgrad.ir.module import Module
from llgrad.ir.types import FloatType, IntType, PointerType, StructType, VectorType
from llgrad.ir.values import Alloca, Argument, Function, GetElementPtr, Store
from llgrad.signature import signature

Raw = Callable[[], Module] | None
"""Gives the module as it was before it was touched."""

_NUMBERS = (FloatType, IntType, VectorType)
_PIECES = (*_NUMBERS, PointerType)  # what goes in a register


class Whole(Struct, frozen=True):
    """Parameters that are one argument of C's.

    `unclear`: why nobody knows whether they are part of the argument before them, where that has a marker and they have
    none; "" where it is known.
    """

    parameters: list[Argument]
    unclear: str


class Together:
    """Of one function. `known`: what is not one argument here, is none."""

    def __init__(self, module: Module, f: Function, raw: Raw) -> None:
        named = module.globals.get(f.name.removeprefix(REPLAY))
        f = named if isinstance(named, Function) else f
        said = signature(module, f.name)
        self._name = f.name
        self._declared = said.parameters
        said_of = [*f.result_attributes, *(x for a in f.arguments for x in a.attributes)]
        self._says = any(x.name == "noundef" for x in said_of)
        self._stored: dict[int, Alloca] = {}
        self._pieces: dict[int, int] = {}  # the variables that parameters are pieces of
        numbers = {p.index for p in f.arguments if isinstance(p.type, _NUMBERS)}
        pieces = {p.index for p in f.arguments if isinstance(p.type, _PIECES)}
        told = {n for p in said.parameters for n in p.ir_arguments}
        self._untold = said.declared and not numbers <= told  # as where Zig calls a struct a pointer
        named_so = any(not p.name.isdigit() for p in f.arguments) and not self._untold
        self.known = len(pieces) < 2 or (said.declared and not self._untold) or named_so
        if not self.known:
            written = as_written(f, raw)
            self._stored, self.known = _stored(written)
            if not self.known:
                self._pieces, self.known = _pieces(written)

    def wholes(self, parameters: Sequence[Argument]) -> list[Whole]:
        """The arguments that the parameters are, in their order."""
        found = list[Whole]()
        while parameters:
            group = self._group(parameters)
            found.append(Whole(group, self._unclear(found[-1].parameters[-1], group[0]) if found else ""))
            parameters = parameters[len(group) :]
        return found

    def may_be_pair(self, p: Argument, q: Argument) -> bool:
        """May two parameters, of which one is a pointer, be one struct that nothing tells from two arguments?

        Scalars are `noundef`, where clang says so of anything.
        """
        pieces = isinstance(p.type, _PIECES) and isinstance(q.type, _PIECES)
        pointers = isinstance(p.type, PointerType) or isinstance(q.type, PointerType)
        passed = ("noundef", "byval", "sret")
        return not self.known and pieces and pointers and not any(a.attribute(n) for a in (p, q) for n in passed)

    def _group(self, parameters: Sequence[Argument]) -> list[Argument]:
        """Those of the parameters that are one argument with the first."""
        first = parameters[0]
        if first.index in self._stored:
            return [p for p in parameters if self._stored.get(p.index) is self._stored[first.index]]
        if first.index in self._pieces:
            return [p for p in parameters if self._pieces.get(p.index) == self._pieces[first.index]]
        if first.name.endswith(".coerce0"):
            stem = first.name[: -len("0")]
            return [p for n, p in enumerate(parameters) if p.name == f"{stem}{n}"]
        together = next((p.ir_arguments for p in self._declared if first.index in p.ir_arguments), (first.index,))
        return [p for p in parameters if p.index in together]

    def _unclear(self, before: Argument, p: Argument) -> str:
        """What clang cuts a struct into may be undefined, numbers may not: they are `noundef`, where it says so."""
        if self.known or before.attribute("noundef") or p.attribute("noundef") or not (self._says or self._untold):
            return ""
        if not isinstance(before.type, _NUMBERS) or not isinstance(p.type, FloatType | VectorType):
            return ""
        return f"arguments {before.name} and {p.name} of {self._name} may be one struct in registers, or two numbers"


UNCLEAR = "compile with -g or -fno-discard-value-names, or write a marker before each argument"


def as_written(f: Function, raw: Raw) -> Function:
    """The function before it was touched."""
    found = raw().globals.get(f.name) if raw is not None else f
    return found if isinstance(found, Function) else f


def _stored(f: Function) -> tuple[dict[int, Alloca], bool]:
    """Parameters that are members of one struct in memory at first; and whether all numbers are in memory at first."""
    together, alone = dict[int, Alloca](), set[int]()
    for p in f.arguments if f.blocks else ():  # (which reads the body)
        place = p.users[0].pointer if len(p.users) == 1 and isinstance(p.users[0], Store) else None
        if isinstance(place, Alloca):
            alone.add(p.index)
        elif isinstance(place, GetElementPtr) and isinstance(place.pointer, Alloca):
            t = place.source_type
            if isinstance(t, StructType) and t.name is None and len(place.operands) == 3:
                together[p.index] = place.pointer
    pieces = {p.index for p in f.arguments if isinstance(p.type, _PIECES)}
    return together, pieces <= alone | together.keys()


def _pieces(f: Function) -> tuple[dict[int, int], bool]:
    """Parameters that are pieces of one variable, by its number; and whether debug info says so of all numbers."""
    found = dict[int, int]()
    places = {a.name: a.index for a in f.arguments}
    for line in (line for b in f.blocks[:1] for i in b.instructions for line in i.debug_records):
        record = debug_record(line)
        if record is None or record.kind != "value" or not _is_whole_or_piece(record.expression):
            continue
        index = places.get(record.operand.partition("%")[2].strip('"'))
        if index is not None and f.module is not None and f.module.node(record.variable).fields.get("arg"):
            found.setdefault(index, record.variable.id)
    pieces = {p.index for p in f.arguments if isinstance(p.type, _PIECES)}
    return found, pieces <= found.keys()


def _is_whole_or_piece(expression: str) -> bool:
    first, *rest = expression.split(",")
    return not rest and not first.strip() or first.strip() == "DW_OP_LLVM_fragment" and len(rest) == 2


__all__ = ["UNCLEAR", "Raw", "Together", "Whole", "as_written"]
