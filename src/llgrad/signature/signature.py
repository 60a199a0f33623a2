"""`Signature`: parameters and result of a function, related to its IR arguments."""

from __future__ import annotations

from msgspec import Struct

from llgrad.errors import Span, UnknownNameError
from llgrad.signature import spelling
from llgrad.signature.names import suggest
from llgrad.signature.types import CType


class Parameter(Struct, frozen=True):
    """`ir_arguments` are the indices of the IR arguments that carry it; `unsupported` says why that is not known.

    `moves`: it is a Fortran allocatable or pointer, to which the function may give other memory.
    """

    name: str
    type: CType
    index: int
    ir_arguments: tuple[int, ...]
    unsupported: str = ""
    moves: bool = False


class Signature(Struct, frozen=True):
    """`result_argument` is the index of the IR argument through which a large struct is returned (`sret`)."""

    name: str
    parameters: tuple[Parameter, ...]
    result: CType
    source: Span | None = None
    symbol: str = ""
    result_argument: int | None = None
    language: str = "C"
    declared: bool = True  # from debug info, not from IR types alone

    def __str__(self) -> str:
        return spelling.spelled(self.language, self.name, [(p.name, p.type) for p in self.parameters], self.result)

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; UnknownNameError with near ones otherwise."""
        found = next((p for p in self.parameters if p.name == name), None)
        if found is None:
            known = [p.name for p in self.parameters]
            fix = suggest(name, known, "its parameters are")
            raise UnknownNameError(f"{self.name} has no parameter {name!r}", span=self.source, fix=fix)
        return found
