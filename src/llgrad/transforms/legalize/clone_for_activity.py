"""Copies of functions, for some of their calls (`analysis.activity.call_cloning` says which) or under another
signature."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from llgrad.analysis.activity.call_cloning import Site, Split, direct_calls
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Call, Function
from llgrad.ir.write import write, write_function
from llgrad.llvm.assembly import COMDAT, joined, renamed

_MARK = ".copy."
_COPY = re.compile(re.escape(_MARK) + r"\d+$")
_LINKAGE = r"(?:internal|private|linkonce_odr|linkonce|weak_odr|weak|available_externally|dso_local|hidden|protected) "
_HEAD = re.compile(rf"^define (?:{_LINKAGE})*")
_REFERENCE = re.compile(r"(?<![\w.])!(\d+)\b")
_OUTER = re.compile(r"\b(?:scope|inlinedAt): !(\d+)")
_LOOP = re.compile(r"!llvm\.loop !(\d+)")  # of its operands, two say where the loop is
_RETAINED = re.compile(r", retainedNodes: !\d+")


def with_copies(text: str, splits: Sequence[Split]) -> str:
    """The text with the copies that `splits` wants, and the calls in its groups as calls of them."""
    module = parse(text)
    calls = {site: _call(module, site) for split in splits for group in split.groups for site in group}
    bodies = []
    for split in splits:
        members = [module.function(name) for name in split.members]
        for group in split.groups:
            names = fresh_names(module, members)
            for f in members:
                module.add(Function(names[f.name], f.function_type, [a.name for a in f.arguments]))
                bodies.append(copy(f, names))
            for site in group:
                calls[site].set_operand(calls[site].arity, module.function(names[site.callee]))
    return joined([write(module), *bodies])


def _call(module: Module, site: Site) -> Call:
    return direct_calls(module.function(site.caller), module.function(site.callee))[site.index]


def fresh_names(module: Module, members: Sequence[Function]) -> dict[str, str]:
    """Names for copies of functions, which the module has not yet."""
    plain = [_COPY.sub("", f.name) for f in members]
    n = next(n for n in count(1) if not any(f"{name}{_MARK}{n}" in module.globals for name in plain))
    return {f.name: f"{name}{_MARK}{n}" for f, name in zip(members, plain, strict=True)}


def copy(f: Function, names: Mapping[str, str]) -> str:
    """The definition of a function under another name; what it calls has other names, too."""
    header, end, body = write_function(f).partition("\n")
    text = COMDAT.sub("", _HEAD.sub("define internal ", header)) + end + body
    assert f.module is not None
    return _in_scopes_of_its_own(f.module, renamed(text, names)) + "\n"


def _in_scopes_of_its_own(module: Module, text: str) -> str:
    """A copy's text with debug info of its own: LLVM wants a subprogram in one function only."""
    header = text.partition("\n")[0]
    if (subprogram := re.search(r"!dbg !(\d+)", header)) is None:
        return text
    old: dict[int, str] = {}  # nodes that lie in the subprogram
    seen: dict[int, bool] = {int(subprogram[1]): True}
    loops = {int(n) for n in _LOOP.findall(text)}

    def inside(i: int) -> bool:
        if i not in seen:
            seen[i] = False
            outer = [int(n) for n in (_REFERENCE if i in loops else _OUTER).findall(module.raw_metadata.get(i, ""))]
            seen[i] = any([inside(n) for n in outer])
        return seen[i]

    for i in {int(n) for n in _REFERENCE.findall(text)}:
        inside(i)
    for i, lies in seen.items():
        if lies:
            old[i] = module.raw_metadata.get(i, "")
    new = {i: module.add_metadata(_RETAINED.sub("", body)).id for i, body in old.items()}

    def edit(m: re.Match[str]) -> str:
        return f"!{new.get(int(m[1]), int(m[1]))}"

    for i in new.values():
        module.raw_metadata[i] = _REFERENCE.sub(edit, module.raw_metadata[i])
    return _REFERENCE.sub(edit, text)
