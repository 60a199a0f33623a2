"""What pointers in variables may lead to when a derivative begins, where the whole program's code tells it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.analysis.statics.known_targets import Address, known_targets, table
from llgrad.analysis.statics.owned_buffers import Owner, own_buffers
from llgrad.analysis.statics.pools import pools
from llgrad.analysis.statics.static_points_to import Part, Places
from llgrad.llvm.assembly import GLOBAL, NAME, plain, spelt
from llgrad.rules.library import effects

_NULL = re.compile(r"ptr null(?:,|$)|[^\n]*(?:ptr|%)[^\n]* zeroinitializer(?:,|$)", re.MULTILINE)
_EMPTY = """  %now.{n} = load ptr, ptr {place}, align 8
  %released.{n} = icmp eq ptr %now.{n}, %block
  br i1 %released.{n}, label %empty.{n}, label %next.{n}
empty.{n}:
  store ptr null, ptr {place}, align 8
  br label %next.{n}
next.{n}:
"""
_EMPTIED = "llgrad.emptied"
_RELEASED = re.compile(
    rf"^  (?:tail )?call void ({NAME})\(ptr (?:noundef |nonnull )*(%[^\s,)]+)[,)][^\n]*\n", re.MULTILINE
)
_POINTERS = re.compile(r"[^\n]*(?:\bptr\b|%)")
_BYTES = re.compile(r"\[\d{2,} x i(?:8|64)\]")  # that may be cut into blocks
_OTHERS = {"external", "extern_weak", "available_externally"}
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
    held = dict[str, dict[str, None]]()
    for m in GLOBAL.finditer(text):
        known = m[3] == "global" and (_is_private(m) or (closed and _is_ordinary(m))) and not m[1][1:].isdigit()
        if known and _POINTERS.match(text, m.end()):
            if group := places.around(m[1]):
                groups[m[1]] = group
                null += [plain(m[1])] if _NULL.match(text, m.end()) else []
            elif (group := places.around(m[1], held=True)) is not None:
                held[m[1]] = group
        elif known and _BYTES.match(text, m.end()) and (group := places.around(m[1], held=True)) is not None:
            held[m[1]] = group
    if not groups and not held:
        return StaticPointers()
    part = Part(places, groups, held)
    own = own_buffers(part, null)
    targets = known_targets(part, {plain(m[1]) for m in GLOBAL.finditer(text)})
    others = [name for name in part.around if not any(name == owner.name for owner in own)]
    within = pools(part, places, [name for name in others if name not in targets], others)
    targets = {name: ((target, None),) for name, target in within.items()} | targets
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
    none, and what it holds is indeterminate, says C: it may as well be null. A function is called for that behind all
    that releases memory. (It writes where the block was alone: other threads have their variables.)
    """
    owned = static_pointers(text, closed).own
    places = [f"getelementptr (i8, ptr {spelt(owner.name)}, i64 {at})" for owner in owned for at in owner.starts]
    if not places:
        return text
    tests = "".join(_EMPTY.format(place=place, n=n) for n, place in enumerate(places))

    def released(m: re.Match[str]) -> str:
        known = effects(plain(m[1]))
        frees = known is not None and known.deallocator is not None
        return f"{m[0]}  call void @{_EMPTIED}(ptr {m[2]})\n" if frees else m[0]

    edited = _RELEASED.sub(released, text) + f"define internal void @{_EMPTIED}(ptr %block) {{\n{tests}  ret void\n}}\n"
    still = {owner.name for owner in static_pointers(edited, closed).own}
    return edited if still >= {owner.name for owner in owned} else text


def tables(text: str, names: Mapping[str, str], closed: bool = False) -> str:
    """Lines for the program, whose variables have other `names` by now, that tell derivatives of it."""
    found = static_pointers(text, closed)
    lines = [replace(owner, name=names.get(owner.name, owner.name)).line for owner in found.own]
    for variable, known in found.targets.items():
        lines.append(table(names.get(variable, variable), [(names.get(g, g), at) for g, at in known]))
    return "".join(lines)


__all__ = ["StaticPointers", "emptied", "static_pointers", "tables"]
