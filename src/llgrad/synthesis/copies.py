"""Copies of functions for some of their calls (`analysis.apart` says which)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count

from llgrad.analysis.apart import Split
from llgrad.assembly import joined, renamed
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Call, Function
from llgrad.ir.write import write, write_function

_MARK = ".copy."
_COPY = re.compile(re.escape(_MARK) + r"\d+$")
_LINKAGE = r"(?:internal|private|linkonce_odr|linkonce|weak_odr|weak|available_externally|dso_local|hidden|protected) "
_HEAD = re.compile(rf"^define (?:{_LINKAGE})*")
_COMDAT = re.compile(r" comdat(?:\(\$[^)]*\))?(?=[^\n]* \{\n)")


def with_copies(text: str, splits: Sequence[Split]) -> str:
    """The text with the copies that `splits` wants, and the calls in its groups as calls of them."""
    module = parse(text)
    bodies = []
    for split in splits:
        members = [module.function(name) for name in split.members]
        for group in split.groups:
            names = _fresh(module, members)
            for f in members:
                bodies.append(_copy(f, names))
            for site in group:
                call = list(module.function(site.caller).instructions())[site.index]
                assert isinstance(call, Call) and call.called_function is not None
                call.set_operand(call.arity, module.function(names[call.called_function.name]))
    return joined([write(module), *bodies])


def _fresh(module: Module, members: Sequence[Function]) -> dict[str, str]:
    """Names of copies, declared in the module."""
    plain = [_COPY.sub("", f.name) for f in members]
    n = next(n for n in count(1) if not any(f"{name}{_MARK}{n}" in module.globals for name in plain))
    names = {f.name: f"{name}{_MARK}{n}" for f, name in zip(members, plain, strict=True)}
    for f in members:
        module.add(Function(names[f.name], f.function_type, [a.name for a in f.arguments]))
    return names


def _copy(f: Function, names: dict[str, str]) -> str:
    text = _HEAD.sub("define internal ", write_function(f), count=1)
    return renamed(_COMDAT.sub("", text, count=1), names) + "\n"


def without_second_scopes(module: Module) -> None:
    """Copies without the subprogram of their debug info, which LLVM wants in one function only."""
    for f in module.functions:
        if _COPY.search(f.name):
            f.metadata = {kind: ref for kind, ref in f.metadata.items() if kind != "dbg"}
