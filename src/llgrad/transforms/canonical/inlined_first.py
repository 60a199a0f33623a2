"""Functions that are inlined wherever they are called, before anything is analysed.

    define internal ptr @make() #0 { %p = call ptr @malloc(i64 8) …  ->  define internal ptr @make() alwaysinline { …

* Small functions that return what they allocate: each place that calls one has memory of its own. So are those that
  return an address in what they are given: what they point into in one call is not taken for what they point into in
  another.
* Functions of libc++ that link the nodes of all trees, whatever these hold: in each place, of one.
* Functions that are passed floats and pointers in one struct, which clang passes in parts: a shadow for them would have
  to come in, and an adjoint go out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from llgrad.analysis.objects import is_mixture
from llgrad.ir.module import Module
from llgrad.ir.symbols import called
from llgrad.ir.types import PTR
from llgrad.ir.values import Attribute, Call, Function
from llgrad.models import libc
from llgrad.rules import library

_INLINE = Attribute("alwaysinline")
_LINKS = re.compile(
    r"_ZNSt3__1\d+__tree_(?:balance_after_insert|remove|(?:left|right)_rotate|(?:next|prev)(?:_iter)?|min|max)(?:B|I)"
)
_COPIED = ("internal", "private", "linkonce_odr", "linkonce")  # what a module has for itself
_LARGEST_WRAPPER = 60  # lines
_LARGEST_ACCESSOR = 25


def inlined_links(module: Module) -> bool:
    """Have functions of libc++ inlined that link the nodes of trees."""
    return _inline(f for f in module.functions if not f.is_declaration and _LINKS.match(f.name))


def inlined_mixtures(module: Module) -> bool:
    """Have functions inlined that are passed floats and pointers in one struct."""
    found = [f for f in module.functions if not f.is_declaration and _takes_mixture(f, module)]
    for f in found:
        kept = tuple(a for a in f.attributes if a.name not in ("noinline", "optnone"))
        f.attributes = (*kept, _INLINE)
    return bool(found)


def _takes_mixture(f: Function, module: Module) -> bool:
    if not any(is_mixture(a.type, module.layout) for a in f.arguments):
        return False
    recursive = any(isinstance(c, Call) and c.called_function is f for c in f.instructions())
    return not recursive and not any(a.name.startswith("enzyme_") for a in f.attributes)


def inlined_wrappers(module: Module, keep: Collection[str]) -> bool:
    """Have small functions that return a pointer inlined wherever they are called: those that allocate, and those that
    call nothing else."""
    wrappers = [f for f in module.functions if _is_candidate(f) and f.name not in keep]
    calls = {f.name: called(f) for f in wrappers}
    allocating = {name for name in module.globals if _allocates(name)}
    chosen: dict[str, Function] = {}
    while more := {f.name: f for f in wrappers if f.name not in chosen and calls[f.name] & (allocating | {*chosen})}:
        chosen |= more
    small = [f for f in wrappers if _lines(f) <= _LARGEST_ACCESSOR]
    while more := {
        f.name: f for f in small
        if f.name not in chosen and all(name.startswith("llvm.") or name in chosen for name in calls[f.name])
    }:  # fmt: skip
        chosen |= more
    inner = {name: calls[name] & chosen.keys() for name in chosen}
    return _inline(f for name, f in chosen.items() if not _reaches(name, inner))


def _inline(functions: Iterable[Function]) -> bool:
    found = list(functions)
    for f in found:
        f.attributes = (_INLINE,)
    return bool(found)


def _is_candidate(f: Function) -> bool:
    if f.is_declaration or f.function_type.result != PTR or f.linkage not in _COPIED:
        return False
    return not any("enzyme" in a.name for a in f.attributes) and _lines(f) <= _LARGEST_WRAPPER


def _lines(f: Function) -> int:
    """Lines of a definition as LLVM prints it."""
    if (text := f.unread) is not None:
        return text.count("\n") + 1
    return 1 + sum(2 + len(b.instructions) + sum(len(i.debug_records) for i in b.instructions) for b in f.blocks)


def _allocates(name: str) -> bool:
    known = library.effects(name)
    return (known is not None and known.allocator is not None) or name == f"{libc.PREFIX}realloc"


def _reaches(start: str, calls: Mapping[str, set[str]]) -> bool:
    """Does a function, through others of these, call itself?"""
    seen: set[str] = set()
    work = [start]
    while work:
        for name in calls[work.pop()] - seen:
            if name == start:
                return True
            seen.add(name)
            work.append(name)
    return False
