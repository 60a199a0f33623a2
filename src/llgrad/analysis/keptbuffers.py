"""Buffers that a static variable keeps from one call to the next.

`static double *work;` that grows when it is too small, or a `static std::vector<double>`: all that such a variable can
hold, whoever called before, are blocks of its own and pointers into them, and nothing else leads there. That is known
of the whole program (`llgrad.ownbuffers`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from llgrad.analysis.memory import Memory, MemoryObject
from llgrad.ir.types import FloatType, IntType, PointerType
from llgrad.ir.values import AnyValue, Call, ConstInt, GlobalVariable, Load, Store
from llgrad.rules.facts import RELEASES
from llgrad.rules.library import effects

_OWN = "llgrad.static.of-its-own."  # what stores to it in the whole program is known (`llgrad.ownbuffers`)
_NO_STORES = ("llvm.lifetime.", "llvm.threadlocal.", "__cxa_guard", "__cxa_atexit", "__cxa_thread_atexit")


class Kept(Struct, frozen=True):
    """Where in a variable the start of its buffer is, and pointers into it; what allocates that (`rules.facts`)."""

    variable: GlobalVariable
    family: str
    start: int
    others: tuple[int, ...]


def kept_buffers(memory: Memory) -> dict[MemoryObject, Kept]:
    """What such variables hold when the root is entered."""
    read = (a for f in memory.functions for i in f.instructions() if isinstance(i, Load) for a in memory.reads(i))
    variables = dict.fromkeys(o for a in read for o in a.objects if o.kind == "global" and not o.has_own_shadow)
    found = {}
    for o in variables:  # (not all objects that are met: some are only when they are asked for)
        g = o.site
        if not isinstance(g, GlobalVariable) or not g.name.startswith(_OWN):
            continue
        for held in memory.contents(o):
            if held.kind == "contents" and held.site is g and (kept := _kept(memory, g, held)) is not None:
                found[held] = kept
    return found


def _kept(memory: Memory, g: GlobalVariable, contents: MemoryObject) -> Kept | None:
    words: dict[int, set[tuple[MemoryObject, object]]] = {}
    for at, value in _stored(memory, g):
        if at is None:
            return None
        words.setdefault(at, set()).update(memory.places(value))
    blocks = {o for held in words.values() for o, _ in held if o is not contents}
    if _are_elsewhere(memory, g, blocks):
        return None
    if not words and _is_used_alone(memory, g, contents):
        return Kept(g, "malloc", 0, ())
    starts = [at for at, held in words.items() if all(o is contents or spot == 0 for o, spot in held)]
    if len(starts) != 1 or not blocks or memory.contents(contents) != {contents}:
        return None
    held = {o for o, _ in words[starts[0]]}
    if any(o not in held for word in words.values() for o, _ in word if o is not contents):
        return None
    families = {_family(o) for o in blocks}
    if len(families) != 1 or not families <= set(RELEASES.values()):
        return None
    if any(memory.contents(o) - {contents} for o in blocks) or not _holds_floats(memory, {contents, *blocks}):
        return None
    return Kept(g, families.pop(), starts[0], tuple(sorted(words.keys() - {starts[0]})))


def _is_used_alone(memory: Memory, g: GlobalVariable, contents: MemoryObject) -> bool:
    """Does the request's code write and read floats in the block of a variable, and nothing else with it?"""
    alone = memory.contents(contents) == {contents} and not _are_elsewhere(memory, g, {contents}, contents)
    return alone and _holds_floats(memory, {contents})


def _are_elsewhere(
    memory: Memory, g: GlobalVariable, blocks: set[MemoryObject], within: MemoryObject | None = None
) -> bool:
    """Does other memory that outlives the call hold pointers to such blocks? Their shadows must be the same."""
    written = {o for f in memory.functions for i in f.instructions() for a in memory.writes(i) for o in a.objects}
    outer = (o for o in written if o.is_external and o is not within and not (o.kind == "global" and o.site is g))
    return any(memory.contents(o) & blocks for o in outer)


def _stored(memory: Memory, g: GlobalVariable) -> Iterator[tuple[int | None, AnyValue]]:
    """Pointers that are stored in a variable, and where in it; None: that is not known."""
    for i in (i for f in memory.functions for i in f.instructions()):
        if not any(o.kind == "global" and o.site is g for a in memory.writes(i) for o in a.objects):
            continue
        if isinstance(i, Store) and isinstance(i.value.type, PointerType):
            places = {spot for o, spot in memory.places(i.pointer) if o.site is g and o.kind == "global"}
            at = next(iter(places)) if len(places) == 1 else None
            yield (at if isinstance(at, int) else None), i.value
        elif isinstance(i, Store):
            if not isinstance(i.value.type, IntType) or i.value.type.bits >= 64:
                yield None, i.value
        elif not isinstance(i, Call) or not _leaves_pointers(memory, i):
            yield None, g


def _leaves_pointers(memory: Memory, call: Call) -> bool:
    """Does a call move none itself? Those of functions with bodies are looked at there."""
    called, unknown = memory.functions_called(call)
    if call.called_function is not None and call.called_function.name.startswith("llvm.memset."):
        return isinstance(call.arguments[1], ConstInt) and call.arguments[1].value == 0
    named = [f.name for f in called if f.is_declaration]
    return not unknown and all(name.startswith(_NO_STORES) for name in named)


def _family(o: MemoryObject) -> str:
    """What kind of allocator made it; "": no one that returns it, as it is."""
    f = o.site.called_function if o.kind == "heap" and isinstance(o.site, Call) else None
    known = effects(f.name) if f is not None else None
    a = known.allocator if known is not None else None
    return a.family if a is not None and a.place == "return" and a.alignment is None else ""


def _holds_floats(memory: Memory, blocks: set[MemoryObject]) -> bool:
    """Are such blocks accessed as floats and small integers alone?"""
    accessed = memory.accessed_as(blocks)
    return bool(accessed) and all(
        isinstance(t, FloatType) or (isinstance(t, IntType) and t.bits < 64) for t in accessed
    )


__all__ = ["Kept", "kept_buffers"]
