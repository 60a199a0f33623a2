"""Buffers that static variables keep from one call to the next.

`static double *work;` that grows when it is too small, two such buffers that are exchanged, or a `static
std::vector<double>`: all that such variables can hold, whoever called before, are blocks of their own and pointers into
them, and nothing else leads there. That is known of the whole program (`llgrad.analysis.statics.owned_buffers`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from llgrad.analysis.memory.call_effects import Owned, in_common, owners
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.ir.types import FloatType, IntType, PointerType, scalar
from llgrad.ir.values import AnyValue, Argument, Call, ConstInt, GlobalVariable, Store
from llgrad.models.effects import RELEASES
from llgrad.rules.library import effects

_NO_STORES = ("llvm.lifetime.", "llvm.threadlocal.", "__cxa_guard", "__cxa_atexit", "__cxa_thread_atexit")


class Kept(Struct, frozen=True):
    """Variables that have buffers in common, what is told of them, and what allocates the buffers
    (`models.effects`)."""

    variables: tuple[tuple[GlobalVariable, Owned], ...]
    family: str


def kept_buffers(memory: Memory) -> dict[MemoryObject, Kept]:
    """What such variables hold when the root is entered."""
    groups: dict[GlobalVariable, dict[GlobalVariable, Owned]] = {}
    told = owners(memory.module)
    for g, first in in_common(memory.module).items():
        groups.setdefault(first, {})[g] = told[g]
    found = {}
    for first, group in groups.items():
        contents = MemoryObject("contents", first)
        if contents in memory.objects and (family := _family(memory, group, contents)) is not None:
            found[contents] = Kept(tuple(group.items()), family)
    return found


def _family(memory: Memory, group: dict[GlobalVariable, Owned], contents: MemoryObject) -> str | None:
    """What allocates the buffers; None if the variables hold something else, too."""
    blocks = {contents}
    for g, owned in group.items():
        for value in _stored(memory, g, owned):
            if value is None:
                return None
            blocks.update(o for o, _ in memory.places(value))
    inside = {o for block in blocks for o in memory.contents(block)} - {contents}
    if _are_elsewhere(memory, group, blocks) or not all(map(_is_of_argument, inside)):
        return None
    families = {_allocator(o) for o in blocks - {contents}} or {"malloc"}
    if len(families) != 1 or not families <= set(RELEASES.values()) or not _holds_floats(memory, blocks):
        return None
    return families.pop()


def _is_of_argument(o: MemoryObject) -> bool:
    """What is copied from an argument as bytes might be pointers, for all that is known of it."""
    return o.kind == "contents" and isinstance(o.site, Argument)


def _are_elsewhere(memory: Memory, group: Collection[GlobalVariable], blocks: set[MemoryObject]) -> bool:
    """Does other memory that outlives the call hold pointers to such blocks? Their shadows must be the same."""
    written = {o for f in memory.functions for i in f.instructions() for a in memory.writes(i) for o in a.objects}
    outer = (o for o in written - blocks if o.is_external and not (o.kind == "global" and o.site in group))
    return any(not memory.contents(o).isdisjoint(blocks) for o in outer)


def _stored(memory: Memory, g: GlobalVariable, owned: Owned) -> Iterator[AnyValue | None]:
    """Pointers that are stored in a variable; None: something else is."""
    for i in (i for f in memory.functions for i in f.instructions()):
        places = {spot for a in memory.writes(i) for o, spot in a.places if o.kind == "global" and o.site is g}
        if not places:
            continue
        if isinstance(i, Store) and isinstance(i.value.type, PointerType):
            yield i.value
        elif isinstance(i, Store):
            apart = all(isinstance(at, int) for at in places) and places.isdisjoint({*owned.starts, *owned.others})
            number = isinstance(i.value.type, IntType) and (i.value.type.bits < 64 or apart)
            if not number and not (isinstance(i.value.type, FloatType) and apart):
                yield None
        elif not isinstance(i, Call) or not _leaves_pointers(memory, i):
            yield None


def _leaves_pointers(memory: Memory, call: Call) -> bool:
    """Does a call move none itself? Those of functions with bodies are looked at there."""
    called, unknown = memory.functions_called(call)
    if call.called_function is not None and call.called_function.name.startswith("llvm.memset."):
        return isinstance(call.arguments[1], ConstInt) and call.arguments[1].value == 0
    named = [f.name for f in called if f.is_declaration]
    return not unknown and all(name.startswith(_NO_STORES) for name in named)


def _allocator(o: MemoryObject) -> str:
    """What kind of allocator made it; "": no one that returns it, as it is."""
    f = o.site.called_function if o.kind == "heap" and isinstance(o.site, Call) else None
    known = effects(f.name) if f is not None else None
    a = known.allocator if known is not None else None
    return a.family if a is not None and a.place == "return" and a.alignment is None else ""


def _holds_floats(memory: Memory, blocks: set[MemoryObject]) -> bool:
    """Are such blocks accessed as floats and small integers alone?"""
    accessed = memory.accessed_as(blocks)
    numbers = {scalar(t) for t in accessed}
    return bool(numbers) and all(
        isinstance(t, FloatType) or (isinstance(t, IntType) and t.bits < 64) for t in numbers
    )


__all__ = ["Kept", "kept_buffers"]
