"""Static variables and tables of functions that a derivative shares with its program.

The program exports them (`share_globals`), a derivative refers to them (`borrow_globals`), the loader or the linker
supplies their addresses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from llgrad.analysis.statics.statics import tables
from llgrad.ir.module import Module
from llgrad.ir.values import Alias, ConstExpr, GlobalVariable
from llgrad.llvm.assembly import COMDAT, GLOBAL, STATIC, plain, renamed
from llgrad.transforms.pass_manager import LLVM, Unit
from llgrad.transforms.symbols.address_taken import function_tables


def share(unit: Unit, _: object) -> bool:
    """Export static variables, and the tables that say where they lead."""
    text = unit.text()
    shared = shared_names(text)
    made = tables(text, shared)
    if names := {**{name: name for name in function_tables(text)}, **shared}:
        unit.llvm().rename(names)
        unit.changed(LLVM)
    return unit.put(unit.text() + made) if made else bool(names)


def share_globals(text: str, found: Mapping[str, str], closed: bool = False) -> str:
    """Give static mutable variables, and tables of functions (`shared_names`), external linkage, under a name of
    llgrad's: a derivative refers to them.

    Thread-local ones, too, though derivatives cannot: else LLVM would take what other functions set for constant.
    """

    def edit(m: re.Match[str]) -> str:
        if plain(m[1]) not in found:
            return m[0]
        left_out = ("internal", "private", "unnamed_addr", "local_unnamed_addr")
        kept = [w for w in m[2].split() if w not in left_out]
        return f"{m[1]} = {''.join(w + ' ' for w in kept)}{m[3]} "

    made = tables(text, found, closed)
    if not found:
        return text + made
    text = GLOBAL.sub(edit, text)
    return renamed(text, found) + made


def shared_names(text: str) -> dict[str, str]:
    """The static variables, and tables of functions, that `share_globals` shares, and their new names."""
    tables = function_tables(text)
    return {
        name: STATIC + name
        for m in GLOBAL.finditer(text)
        if _is_local(m) and ((name := plain(m[1])) in tables or m[3] != "constant")
    }


def _is_local(m: re.Match[str]) -> bool:
    return not {"internal", "private"}.isdisjoint(m[2].split())


def leave_comdats(module: Module) -> None:
    """Functions that will be internal leave their groups: a linker drops the program's own for a group it has twice."""
    module.comdats.clear()
    for g in module.globals.values():
        g.suffix = COMDAT.sub("", g.suffix)


_SAYS = ("llvm.global.annotations", "llvm.used", "llvm.compiler.used")


def leave_unused(module: Module) -> None:
    """Drop what keeps functions that nothing calls: their copies may ask for derivatives that nobody makes.

    What annotations say is in attributes by now (`registrations.apply`).
    """
    for name in _SAYS if not module.asm else ():
        module.globals.pop(name, None)


def borrow_globals(module: Module, names: Collection[str]) -> list[str]:
    """Turn the definitions of `names` into references to the program's variables; so are their aliases, which are
    returned."""
    dropped = ("dso_local", "hidden", "protected", "unnamed_addr", "local_unnamed_addr")
    for v in module.variables:
        if v.name in names:
            v.initializer = None
            v.linkage = "external"
            v.prefix = tuple(word for word in v.prefix if word not in dropped)
            v.suffix, v.metadata = "", {}
    aliases = [a for a in module.globals.values() if isinstance(a, Alias) and _led_to(a) in names]
    for a in aliases:
        del module.globals[a.name]
    for a in aliases:
        module.add(GlobalVariable(a.name, a.value_type, None, type=a.type)).linkage = "external"
    return [a.name for a in aliases]


def _led_to(alias: Alias) -> str:
    """The name of what an alias is of, in the end."""
    v: object = alias
    while isinstance(v, Alias | ConstExpr):
        v = v.aliasee if isinstance(v, Alias) else v.operands[0]
    return v.name if isinstance(v, GlobalVariable) else ""


def constants_of_threads(module: Module) -> bool:
    """Constants that each thread has for its own become one, which all have; are there any?"""
    found = [v for v in module.variables if v.constant and any(map(_is_of_threads, v.prefix))]
    for v in found:
        v.prefix = tuple(word for word in v.prefix if not _is_of_threads(word))
    return bool(found)


def _is_of_threads(word: str) -> bool:
    return word.startswith("thread_local")
