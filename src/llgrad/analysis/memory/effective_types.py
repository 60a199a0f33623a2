"""Blocks behind pointers in the caller's memory that are used for values of one type first, of another after.

One object stands for all that such pointers lead to: blocks of one type each, as a rule, which types of accesses (TBAA)
tell apart. But a `void *` in a struct may be a work array, for numbers first and for indices then: where what is loaded
from one place is accessed as several types, types tell nothing of what it leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from llgrad.analysis.memory.alias import Place
from llgrad.analysis.memory.mod_ref import Memory
from llgrad.analysis.memory.tbaa import Tag
from llgrad.analysis.objects import MemoryObject, gep_offset
from llgrad.analysis.solver import reach
from llgrad.ir.types import PointerType
from llgrad.ir.values import (
    AnyValue,
    Call,
    Cast,
    GetElementPtr,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Unary,
)

Node = tuple[AnyValue, int | None]
"""A pointer, and how many bytes it is behind what was loaded; None: not known."""
Use = tuple[Tag, int | None, int]
"""An access: its type, where, and of how many bytes."""
_FARTHEST = 1 << 12


def used_again(memory: Memory, stands_for_many: Callable[[MemoryObject], bool]) -> set[MemoryObject]:
    """Those of the objects that stand for many of which types tell nothing."""
    return _UsedAgain(memory).objects(stands_for_many)


class _UsedAgain:
    def __init__(self, memory: Memory) -> None:
        self._memory, self._places, self._types = memory, memory.places, memory.types

    def objects(self, stands_for_many: Callable[[MemoryObject], bool]) -> set[MemoryObject]:
        loads: dict[Load, frozenset[MemoryObject]] = {}
        for i in (i for f in self._memory.functions for i in f.instructions()):
            found = self._places(i) if isinstance(i, Load) and isinstance(i.type, PointerType) else ()
            if isinstance(i, Load) and (many := frozenset(o for o, _ in found if stands_for_many(o))):
                loads[i] = many
        wide = {o for i in loads for o, at in self._places(i.pointer) if not isinstance(at, int)}
        groups: dict[Place, list[Load]] = {}
        for i in loads:
            for o, at in self._places(i.pointer):
                groups.setdefault((o, None if o in wide else at), []).append(i)
        several = set[MemoryObject]()
        for group in groups.values():
            objects = {o for i in group for o in loads[i]}
            if not objects <= several and self._is_of_several(group):
                several |= objects
        return several

    def _is_of_several(self, group: list[Load]) -> bool:
        start: list[Node] = [(i, 0) for i in group]
        uses = dict.fromkeys(use for v, at in reach(start, self._onwards) for use in self._uses(v, at))
        return any(self._differ(*pair) for pair in combinations(uses, 2))

    def _uses(self, v: AnyValue, at: int | None) -> Iterator[Use]:
        for u in v.users:
            if isinstance(u, Load | Store) and u.pointer is v and (tag := self._types.tag(u)) is not None:
                yield tag, at, self._memory.module.layout.size(u.type if isinstance(u, Load) else u.value.type)

    def _differ(self, a: Use, b: Use) -> bool:
        (tag, at, size), (other, to, length) = a, b
        if at is not None and to is not None and (at + size <= to or to + length <= at):
            return False
        return not self._types.may_alias(tag, other) and not self._types.are_members(tag, other)

    def _onwards(self, node: Node) -> Iterator[Node]:
        """What is computed from a pointer, and what it is handed on to."""
        v, at = node
        for u in v.users:
            match u:
                case GetElementPtr(source, pointer, indices) if pointer is v:
                    by = gep_offset(source, indices, self._memory.module.layout)
                    near = at is not None and by is not None and abs(at + by) < _FARTHEST
                    yield u, at + by if near and at is not None and by is not None else None
                case Phi() | Select() | Unary("freeze") | Cast("addrspacecast"):
                    yield u, at if not isinstance(u, Phi) else None
                case Call() | Return():
                    yield from ((taken, at) for taken in self._memory.handed(v, u))


__all__ = ["used_again"]
