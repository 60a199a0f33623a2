"""Control bytes of Rust's hash tables, accessed by the library's own code: neither floats nor pointers lie there.

A table (`hashbrown`, which `HashMap` and `HashSet` are made of) is one block: entries, then a byte for each that says
whether there is one, at a place that only the program knows. Bytes and groups of 16 are read and written there, at any
address as far as the code tells, and so where the entries' floats may lie. What an access is of is told by the function
of the library that it was inlined from, in the debug info: the module `control` handles nothing but these bytes; single
bytes that the table's own functions access (not those of `core::ptr`, which move entries) are such, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from llgrad.analysis.layout.inlined_at import functions, linkage
from llgrad.ir.module import Module
from llgrad.ir.types import I8, IntType, Type, scalar
from llgrad.ir.values import Call, Instruction, Load, MDRef, Store
from llgrad.support.lazy_pattern import lazy_pattern

_CRATE = r"(?:_ZN9hashbrown|Cs\w+?_9hashbrown|\$hashbrown\.\.)"
_CONTROL = lazy_pattern(rf"{_CRATE}(?:7?control|3?raw(?:\.\.)?(?:4?sse2|7?generic|4?neon))")
_TABLE = lazy_pattern(rf"{_CRATE}3?raw.*\dRawTable")
_MOVES_CONTROL = lazy_pattern(rf"{_CRATE}3raw.*23prepare_rehash_in_place")
_BELOW = lazy_pattern(r"(?:_ZN4core|Cs\w+?_4core)(?:9core_arch|3ptr|3mem)")


class ControlBytes:
    """Which accesses of a module these are."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._any = any("9hashbrown" in text for text in module.raw_metadata.values())
        self._known: dict[tuple[int, re.Pattern[str]], bool] = {}

    def accessed(self, i: Instruction) -> bool:
        """Is nothing but control bytes read, or written, or moved?"""
        ref = i.metadata.get("dbg") if self._any else None
        match i:
            case Load() if ref is not None:
                return self._is_of(i.type, ref)
            case Store(value) if ref is not None:
                return self._is_of(value.type, ref)
            case Call() if ref is not None and (f := i.called_function) is not None:
                return f.name.startswith(("llvm.memcpy", "llvm.memmove")) and self._is_within(ref, _MOVES_CONTROL)
        return False

    def _is_of(self, t: Type, ref: MDRef) -> bool:
        if not isinstance(scalar(t), IntType):
            return False
        if self._is_within(ref, _CONTROL):
            return True
        return t == I8 and _TABLE.search(next(self._functions(ref), "")) is not None

    def _is_within(self, ref: MDRef, wanted: re.Pattern[str]) -> bool:
        if (ref.id, wanted) not in self._known:
            self._known[ref.id, wanted] = self._within(ref, wanted)
        return self._known[ref.id, wanted]

    def _within(self, ref: MDRef, wanted: re.Pattern[str]) -> bool:
        """Was it inlined from there, through nothing but what reads, writes and copies for anybody?"""
        for name in self._functions(ref):
            if wanted.search(name):
                return True
            if not _BELOW.search(name):
                return False
        return False

    def _functions(self, at: MDRef) -> Iterator[str]:
        return map(linkage, functions(self._module, at))


__all__ = ["ControlBytes"]
