"""Structs that the C ABI passes in registers: which parameters of a function are one argument of C's.

clang's names say it (`%s.coerce0`, `%s.coerce1`), debug info does, and so does code that is not optimised: it puts the
parameters together in memory first. Where nothing of that is left, two numbers may be one struct.
"""

from __future__ import annotations

from collections.abc import Callable

from llgrad.ir.module import Module
from llgrad.ir.types import FloatType, IntType, StructType, VectorType
from llgrad.ir.values import Alloca, Argument, Function, GetElementPtr, Store
from llgrad.signature import signature

Raw = Callable[[], Module] | None
"""Gives the module as it was before it was touched."""

NUMBERS = (FloatType, IntType, VectorType)


class Together:
    """Of one function. `known`: what is not one argument here, is none."""

    def __init__(self, module: Module, f: Function, raw: Raw) -> None:
        said = signature(module, f.name)
        self._name = f.name
        self._declared = said.parameters
        self._stored: dict[int, Alloca] = {}
        several = sum(isinstance(p.type, NUMBERS) for p in f.arguments) > 1
        self.known = not several or said.declared or any(not p.name.isdigit() for p in f.arguments)
        if not self.known:
            first = as_written(f, raw)
            self._stored = _stored(first)
            self.known = any(isinstance(u, Store) for p in first.arguments for u in p.users)

    def group(self, parameters: list[Argument]) -> list[Argument]:
        """Those of the parameters that are one argument with the first."""
        first = parameters[0]
        if first.index in self._stored:
            return [p for p in parameters if self._stored.get(p.index) is self._stored[first.index]]
        if first.name.endswith(".coerce0"):
            stem = first.name[: -len("0")]
            return [p for n, p in enumerate(parameters) if p.name == f"{stem}{n}"]
        together = next((p.ir_arguments for p in self._declared if first.index in p.ir_arguments), (first.index,))
        return [p for p in parameters if p.index in together]

    def unclear(self, marked: Argument | None, p: Argument) -> str:
        """Why nobody knows whether `p`, which has no marker, is part of the argument whose marker stands before; ""."""
        numbers = marked is not None and isinstance(marked.type, NUMBERS) and isinstance(p.type, FloatType | VectorType)
        if self.known or marked is None or not numbers:
            return ""
        return f"arguments {marked.name} and {p.name} of {self._name} may be one struct in registers, or two numbers"


UNCLEAR = "compile with -g or -fno-discard-value-names, or write a marker before each argument"


def as_written(f: Function, raw: Raw) -> Function:
    """The function before it was touched."""
    found = raw().globals.get(f.name) if raw is not None else f
    return found if isinstance(found, Function) else f


def _stored(f: Function) -> dict[int, Alloca]:
    """Parameters that are members of one struct in memory at first."""
    found: dict[int, Alloca] = {}
    for p in f.arguments if f.blocks else ():  # (which reads the body)
        for u in p.users:
            place = u.pointer if isinstance(u, Store) and u.value is p else None
            if isinstance(place, GetElementPtr) and isinstance(place.pointer, Alloca):
                t = place.source_type
                if isinstance(t, StructType) and t.name is None and len(place.operands) == 3:
                    found[p.index] = place.pointer
    return found


__all__ = ["NUMBERS", "UNCLEAR", "Raw", "Together", "as_written"]
