"""Names by which functions are found: symbols, plain names, qualified names (`space::Class::name`)."""

from __future__ import annotations

import difflib
import re

from msgspec import Struct

from llgrad.analysis.layout.debug_info import DebugTypes, number, text
from llgrad.errors import Span, UnknownNameError
from llgrad.ir.module import Module
from llgrad.ir.values import Alias, Function, MDRef


class Candidate(Struct, frozen=True):
    """A function that may be called: its symbol, its plain name and its qualified one (`space::Class::name`)."""

    symbol: str
    name: str
    qualified: str
    source: Span | None = None


_HIDDEN_PREFIXES = (
    "llvm.", "_FortranA", "__cxx_global", "_GLOBAL__", "__clang_call", "asan.", "__llgrad", "swift_", "_swift_",
    "julia_", "jfptr_",
)  # fmt: skip
_OF_RUSTS_LIBRARY = re.compile(r"_ZN(4core|5alloc|3std)\d.*17h[0-9a-f]{16}E|_R\w*?Cs\w+_(4core|5alloc|3std)\w*")


def candidates(module: Module) -> list[Candidate]:
    """The functions with bodies that other files may call, in the module's order."""
    found = []
    for g in module.globals.values():
        if g.name.startswith(_HIDDEN_PREFIXES) or g.linkage in ("internal", "private", "available_externally"):
            continue
        if _OF_RUSTS_LIBRARY.fullmatch(g.name):
            continue
        if isinstance(g, Function) and not g.is_declaration:
            found.append(_candidate(module, g, g.name))
        elif isinstance(g, Alias):
            try:
                target = module.function(g.name)
            except KeyError:
                continue
            if not target.is_declaration:
                found.append(_candidate(module, target, g.name))
    return found


def _candidate(module: Module, f: Function, symbol: str) -> Candidate:
    types = DebugTypes(module)
    node = types.subprogram(f)
    if node is None or symbol != f.name:
        qualified = demangled(symbol) or symbol
        return Candidate(symbol, qualified.rpartition("::")[2], qualified)
    plain = text(node.fields.get("name")) or symbol
    path, scope = [plain], node.fields.get("scope")
    while isinstance(scope, MDRef) and scope.id >= 0:
        owner = module.node(scope)
        if owner.kind not in ("DINamespace", "DICompositeType", "DIModule"):
            break
        path.insert(0, text(owner.fields.get("name")))
        scope = owner.fields.get("scope")
    file = node.fields.get("file")
    name = text(module.node(file).fields.get("filename")) if isinstance(file, MDRef) and file.id >= 0 else ""
    span = Span(name, number(node.fields.get("line"))) if name else None
    return Candidate(symbol, plain, "::".join(filter(None, path)), span)


def find(module: Module, name: str) -> Function:
    """A function by symbol, plain name or qualified name.

    UnknownNameError where there is none (with near names) or where overloads share the name (with their symbols).
    """
    known = module.globals.get(name)
    if isinstance(known, Function) or (isinstance(known, Alias) and known.kind == "alias"):
        return module.function(name)
    all_candidates = candidates(module)
    for key in ("qualified", "name"):
        found = [c for c in all_candidates if name == getattr(c, key)]
        if len(found) == 1:
            return module.function(found[0].symbol)
        if found:
            symbols = ", ".join(f"{c.symbol} ({c.qualified})" for c in found)
            raise UnknownNameError(f"{name!r} is overloaded", cause=f"candidates: {symbols}", fix="give the symbol")
    names = dict.fromkeys(n for c in all_candidates for n in (c.name, c.qualified))
    raise UnknownNameError(
        f"there is no function {name!r}",
        cause="no function with a body has this name" if names else "the module has no function that may be called",
        fix=suggest(name, list(names), "it has"),
    )


def suggest(name: str, known: list[str], otherwise: str) -> str:
    """What to say to a name that is not known."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return f"{otherwise} {', '.join(known[:12])}{', …' if len(known) > 12 else ''}" if known else ""


def demangled(symbol: str) -> str | None:
    """The qualified name in an Itanium-mangled symbol, without parameters; None where it is more than names."""
    m = re.match(r"_Z(NK?)?(?=\d|St)", symbol)
    if m is None:
        return None
    names, rest = [], symbol[m.end() :]
    if rest.startswith("St"):
        names, rest = ["std"], rest[2:]
    while n := re.match(r"\d+", rest):
        length = int(n[0])
        names.append(rest[n.end() : n.end() + length])
        rest = rest[n.end() + length :]
        if not m[1]:
            break
    if not names or (m[1] and not rest.startswith("E")):
        return None
    return "::".join(names)
