"""The functions that an instruction was inlined from, as debug info has them, and what they are instances of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llgrad.ir.module import Module
from llgrad.ir.values import Instruction, MDNode, MDRef, MDString


def functions(module: Module, at: object) -> Iterator[MDNode]:
    """The subprograms of a location and of where it was inlined, the innermost first."""
    while isinstance(at, MDRef):
        location = module.node(at)
        scope = location.fields.get("scope")
        while isinstance(scope, MDRef) and module.node(scope).kind != "DISubprogram":
            scope = module.node(scope).fields.get("scope")
        if isinstance(scope, MDRef):
            yield module.node(scope)
        at = location.fields.get("inlinedAt")


def linkage(function: MDNode) -> str:
    """The mangled name of a subprogram."""
    name = function.fields.get("linkageName")
    return name.text if isinstance(name, MDString) else ""


_CORE = re.compile(r"_ZN4core|_RI?N\w*?Cs\w+?_4core")
_COPY = re.compile(rf"(?:{_CORE.pattern})3ptr(?:4copy|19copy_nonoverlapping)")


_NODE = re.compile(r"(?:_ZN5alloc|_RI?N\w*?Cs\w+?_5alloc)11collections5btree4node")


def element(module: Module, copy: Instruction) -> int:
    """Of a copy of some number of `T`s (`ptr::copy::<T>`) within or between nodes of Rust's `BTreeMap`s: the bytes of
    a `T`; else 0. Arrays of keys, of values and of links, and a length, lie behind one another in a node."""
    found = [(f, linkage(f)) for f in functions(module, copy.metadata.get("dbg"))]
    outer = next((name for _, name in found if not _CORE.match(name)), "")
    if not found or not _COPY.match(found[0][1]) or not _NODE.match(outer):
        return 0
    parameters = found[0][0].fields.get("templateParams")
    names = module.node(parameters).operands if isinstance(parameters, MDRef) else ()
    types = [module.node(name).fields.get("type") for name in names if isinstance(name, MDRef)]
    bits = module.node(types[0]).fields.get("size") if len(types) == 1 and isinstance(types[0], MDRef) else 0
    return bits // 8 if isinstance(bits, int) else 0


__all__ = ["element", "functions", "linkage"]
