"""Memory that holds pointers at one time and floats at another: a union, a pool, a buffer used again.

In its shadow lie shadow pointers and adjoints by turns, and each must be gone when the other begins. What is written in
the forward sweep is gone when the primal overwrites it, what is written in the reverse sweep when that comes to the
write which made it. `Reused` says which writes these are: by memory object and by the offsets at which other
instructions keep the other thing. It may name too many: to clear dead shadow memory changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from llgrad.analysis.memory.call_effects import is_column, is_copy
from llgrad.analysis.memory.cells import Extent, moved, overlap, strided
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.ir.values import Call, Function, Instruction, Load, Store


class Leaves(Protocol):
    """What an instruction reads or writes, as an analysis of kinds answers: (offset, kind, bytes), every `stride` after
    the `head`."""

    @property
    def stride(self) -> int | None: ...

    @property
    def head(self) -> int: ...

    @property
    def leaves(self) -> tuple[tuple[int, Any, int], ...]: ...


class Bits(Protocol):
    """What is asked of an analysis of kinds."""

    def access(self, instruction: Instruction, /) -> Leaves: ...


class Reused:
    """The answers for what `functions` do to the `objects`."""

    def __init__(
        self, memory: Memory, kinds: Bits, functions: Iterable[Function], objects: frozenset[MemoryObject]
    ) -> None:
        self._memory, self._kinds, self._objects = memory, kinds, objects
        self._floats: dict[MemoryObject, dict[Extent, None]] = {}
        self._pointers: dict[MemoryObject, dict[Extent, None]] = {}
        for f in functions:
            for i in f.instructions():
                for o, extent, pointer, is_float in self._touched(i):
                    if pointer and not isinstance(i, Load):
                        self._pointers.setdefault(o, {})[extent] = None
                    if is_float:
                        self._floats.setdefault(o, {})[extent] = None

    def over_pointers(self, i: Instruction) -> bool:
        """May this write of floats overwrite pointers?"""
        mine = [(o, extent) for o, extent, _, is_float in self._touched(i) if is_float]
        return any(overlap(extent, other) for o, extent in mine for other in self._pointers.get(o, ()))

    def over_floats(self, i: Instruction) -> bool:
        """May this write of pointers be to where floats are kept at other times?"""
        mine = [(o, extent) for o, extent, pointer, _ in self._touched(i) if pointer]
        return any(overlap(extent, other) for o, extent in mine for other in self._floats.get(o, ()))

    def _touched(self, i: Instruction) -> Iterator[tuple[MemoryObject, Extent, bool, bool]]:
        """What is written, or read by a load: whether it may be a pointer, and whether a float."""
        match i:
            case Load(pointer) | Store(_, pointer):
                pass
            case Call(arguments=[pointer, _, _, *_]) if is_copy(i):
                pass
            case _:
                return
        places = [(o, spot) for o, spot in self._memory.places(pointer) if o in self._objects]
        if not places or (isinstance(pointer, Call) and is_column(pointer)):
            return
        layout = self._kinds.access(i)
        for at, kind, size in layout.leaves:
            unknown = not kind.is_known
            pointer_leaf, float_leaf = unknown or kind.name == "pointer", unknown or kind.is_float
            if pointer_leaf or float_leaf:
                by = strided(layout.stride, at) if layout.stride and at >= layout.head else at
                for o, spot in places:
                    yield o, (moved(spot, by), size), pointer_leaf, float_leaf


__all__ = ["Reused"]
