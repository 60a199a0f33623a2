"""What pointers in variables may lead to when a derivative begins, where the whole program's code tells it."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.assembly import FUNCTION, GLOBAL, NAME, plain, spelt
from llgrad.following import Part, Places
from llgrad.knowntargets import Address, known_targets, table
from llgrad.ownbuffers import Owner, own_buffers
from llgrad.rules.library import effects

_NULL = re.compile(r"ptr null(?:,|$)|[^\n]*(?:ptr|%)[^\n]* zeroinitializer(?:,|$)", re.MULTILINE)
_HELD = re.compile(
    r"^  (?:(?P<read>%\S+) = load ptr|store ptr [^\s,]+), ptr (?P<place>@[^\s,]+|getelementptr [^%\n]*?\)), align",
    re.MULTILINE,
)
_EMPTY = """  %llgrad.now.{n} = load ptr, ptr {place}, align 8
  %llgrad.released.{n} = icmp eq ptr %llgrad.now.{n}, {block}
  %llgrad.left.{n} = select i1 %llgrad.released.{n}, ptr null, ptr %llgrad.now.{n}
  store ptr %llgrad.left.{n}, ptr {place}, align 8
"""
_RELEASED = re.compile(
    rf"^  (?:tail )?call void ({NAME})\(ptr (?:noundef |nonnull )*(%[^\s,)]+)[,)][^\n]*\n", re.MULTILINE
)
_LABEL = re.compile(r"^\S+:", re.MULTILINE)
_POINTERS = re.compile(r"[^\n]*(?:\bptr\b|%)")
_OTHERS = {"external", "extern_weak", "available_externally", "thread_local"}
_LIBRARYS = re.compile(r"@_Z(?:GV|Z|T\w)?N?K?St|@_Z(?:GV|Z)?N\w*9__gnu_cxx")  # of C++: its own code has them, too


class StaticPointers(Struct, frozen=True):
    """Variables that hold blocks of their own alone, and what others may lead to, by names without `@`."""

    own: list[Owner] = field(default_factory=list)
    targets: dict[str, tuple[Address, ...]] = field(default_factory=dict)


@functools.lru_cache(maxsize=1)
def static_pointers(text: str, closed: bool = False) -> StaticPointers:
    """Of a program's text. `closed`: nobody else calls its functions by name, or knows its variables."""
    if "\nmodule asm " in text:
        return StaticPointers()  # it may name what it likes
    places, groups, null = Places(text, closed), dict[str, dict[str, None]](), list[str]()
    for m in GLOBAL.finditer(text):
        known = m[3] == "global" and (_is_private(m) or (closed and _is_ordinary(m))) and not m[1][1:].isdigit()
        if known and _POINTERS.match(text, m.end()) and (group := places.around(m[1])):
            groups[m[1]] = group
            null += [plain(m[1])] if _NULL.match(text, m.end()) else []
    if not groups:
        return StaticPointers()
    part = Part(places, groups)
    own = own_buffers(part, null)
    targets = known_targets(part, {plain(m[1]) for m in GLOBAL.finditer(text)})
    for owner in own:
        targets.pop(owner.name, None)
    return StaticPointers(own, targets)


def _is_private(m: re.Match[str]) -> bool:
    return not {"internal", "private"}.isdisjoint(m[2].split())


def _is_ordinary(m: re.Match[str]) -> bool:
    """Is it the program's alone, where nobody else knows its names?"""
    return not _LIBRARYS.match(m[1]) and not any(word.partition("(")[0] in _OTHERS for word in m[2].split())


def emptied(text: str, closed: bool = False) -> str:
    """The program, whose variables that hold blocks of their own hold null once these are released.

    A derivative asks at its entry how large such blocks are. After `free(work); ready = 0;` the variable leads to
    none, and what it holds is indeterminate, says C: it may as well be null. (Seen are functions that name
    such a variable and release a block themselves, without a store to the variable at once.)
    """
    owned = {spelt(owner.name) for owner in static_pointers(text, closed).own}
    if not owned:
        return text
    count = itertools.count()

    def edit(f: re.Match[str]) -> str:
        found = [m for m in _HELD.finditer(f[0]) if not owned.isdisjoint(re.findall(NAME, m["place"]))]
        read = {m["read"]: m["place"] for m in found}

        def released(m: re.Match[str]) -> str:
            known = effects(plain(m[1]))
            if known is None or known.deallocator is None:
                return m[0]
            rest = _LABEL.split(f[0][m.end() :], maxsplit=1)[0]
            places = [read[m[2]]] if m[2] in read else list(dict.fromkeys(m["place"] for m in found))
            left = (place for place in places if f", ptr {place}, align" not in rest)
            return m[0] + "".join(_EMPTY.format(block=m[2], place=place, n=next(count)) for place in left)

        return _RELEASED.sub(released, f[0]) if found else f[0]

    edited = FUNCTION.sub(edit, text)
    return edited if owned <= {spelt(owner.name) for owner in static_pointers(edited, closed).own} else text


def tables(text: str, names: Mapping[str, str], closed: bool = False) -> str:
    """Lines for the program, whose variables have other `names` by now, that tell derivatives of it."""
    found = static_pointers(text, closed)
    lines = [replace(owner, name=names.get(owner.name, owner.name)).line for owner in found.own]
    for variable, known in found.targets.items():
        lines.append(table(names.get(variable, variable), [(names.get(g, g), at) for g, at in known]))
    return "".join(lines)


__all__ = ["StaticPointers", "emptied", "static_pointers", "tables"]
