"""Copies of functions, for some of their calls (`analysis.activity.call_cloning` says which) or under another
signature.

    define double @f(ptr %p) {…}                   define double @f(ptr %p) {…}
    %a = call double @f(ptr %active)         ->    define internal double @f.copy.1(ptr %p) {…}
    %b = call double @f(ptr %constant)             %a = call double @f(ptr %active)
                                                   %b = call double @f.copy.1(ptr %constant)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from llgrad.analysis.activity.call_cloning import Site, Split, direct_calls
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import edit_operands
from llgrad.ir.symbols import copied, make_local, with_globals
from llgrad.ir.values import Call, Function
from llgrad.ir.write import write

_MARK = ".copy."


def with_copies(text: str, splits: Sequence[Split]) -> str:
    """The text with the copies that `splits` wants, and the calls in its groups as calls of them."""
    module = parse(text)
    calls = {site: _call(module, site) for split in splits for group in split.groups for site in group}
    for split in splits:
        members = [module.function(name) for name in split.members]
        for group in split.groups:
            copies = copies_of(module, members)
            for site in group:
                calls[site].set_operand(calls[site].arity, copies[site.callee])
    return write(module)


def _call(module: Module, site: Site) -> Call:
    return direct_calls(module.function(site.caller), module.function(site.callee))[site.index]


def copies_of(module: Module, members: Sequence[Function]) -> dict[str, Function]:
    """Local copies of functions, by the names of these; they use each other."""
    plain = [_original(f.name) for f in members]
    n = next(n for n in count(1) if not any(f"{name}{_MARK}{n}" in module.globals for name in plain))
    made = {f.name: copied(f, f"{name}{_MARK}{n}", described=True) for f, name in zip(members, plain, strict=True)}
    for f in made.values():
        make_local(f)
        edit_operands(f, with_globals(made))
    return made


def _original(name: str) -> str:
    start, _, end = name.rpartition(_MARK)
    return start if end.isdigit() else name
