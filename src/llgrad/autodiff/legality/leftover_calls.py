"""What no pass replaces: calls of the C interface that are left, and names that nearly are names of it.

No program leaves llgrad with such a call: it would stay for the linker, or for whoever runs the program. A name with
`__enzyme_` in it is of the interface; others may be meant for it (`autodiff.requests.spelling`). Functions that the
program defines are its own, whatever they are called.

    refuse_misspelt(module)    before anything is read: `__enzime_autodiff`, `__enzyme_fwdiff`; variables that nearly
                               are registrations, `__enzime_register_gradient_f`
    refuse_left(module)        after the last pass: calls, and uses of addresses, of `__enzyme_…` and `__llgrad_…`
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from llgrad.autodiff.custom_rules.custom_rules import OWN
from llgrad.autodiff.enzyme.calls import naming
from llgrad.autodiff.requests.markers import MODES, PREFIX, SIZE, SPLIT, marker_of
from llgrad.autodiff.requests.registrations import KINDS
from llgrad.autodiff.requests.spelling import CALLS, nearest
from llgrad.errors import Span, UnknownNameError, UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Alias, Function, GlobalValue, Instruction, parts
from llgrad.llvm import LLVMModule

REGISTRATIONS = tuple(f"{PREFIX}{k}" for k in KINDS)
_APART = re.compile(rf"{OWN}(?:value|augmented|reverse|forward)_")  # what objects of `--derivative` define
_MADE = "llgrad."  # llgrad's own names
_HINTS = tuple(w.encode() for w in ("__en", "zyme_", *(w.removeprefix(PREFIX) for w in (*MODES, SIZE, SPLIT))))


def is_call(name: str) -> bool:
    """Is it a name of the C interface, or of llgrad's own that nobody else defines?"""
    return PREFIX in name or (name.startswith(OWN) and _APART.match(name) is None)


def misspelt(names: Iterable[str]) -> dict[str, str]:
    """Of names that are declared, those that are no call of the interface but look so, and what they were to be."""
    found = {n: nearest(n) for n in names if not n.startswith(("llvm.", _MADE)) and not is_known(n)}
    return {n: word for n, word in found.items() if word or PREFIX in n}


def is_known(name: str) -> bool:
    """Is it the name of a call of the interface, or of llgrad's own?"""
    return name.startswith(OWN) or any(w in name for w in CALLS)


def may_be_misspelt(bitcode: bytes) -> bool:
    """Can there be such a name in a module? (Two edits leave one of three parts of a name as it is.)"""
    return any(hint in bitcode for hint in _HINTS)


def registered(names: Iterable[str]) -> dict[str, str]:
    """Of names of variables, those that nearly are registrations, and what these were to be."""
    found = [n for n in names if not n.startswith(("llvm.", _MADE)) and PREFIX not in n and marker_of(n) is None]
    return {n: word for n in found if (word := nearest(n, REGISTRATIONS))}


def refuse_misspelt(module: Module) -> None:
    """Refuse what looks like a name of the interface and is none: calls of functions without a body, and variables."""
    declared = misspelt(f.name for f in module.functions if f.is_declaration)
    for use in uses(module, declared):
        raise unknown(use.name, declared[use.name], use.span)
    for name, word in registered(g.name for g in module.variables).items():
        raise unknown(name, word, None)


def unknown(name: str, word: str, span: Span | None) -> UnknownNameError:
    """The refusal of a name that was to be `word`, if that is known."""
    return UnknownNameError(
        f"{name} is nothing that llgrad knows", span=span, cause="the program does not define it",
        fix=f"did you mean {word}?" if word else f"use one of {', '.join(CALLS)}",
    )  # fmt: skip


def refuse_left(module: Module) -> None:
    """Refuse a finished program with calls of the interface in it, or with addresses of such functions; all are named.
    """
    left = {f.name for f in module.functions if f.is_declaration and is_call(f.name)}
    found = list(dict.fromkeys(uses(module, left)))
    if found:
        others = f"; left too: {', '.join(map(str, found[1:]))}" if found[1:] else ""
        raise UnsupportedError(
            f"{found[0].name} is left in the finished program: no derivative took its place", span=found[0].span,
            cause=f"it is used by {found[0].user}, and not called by its name there{others}",
            fix="call it by its name: not through a pointer or a table",
        )  # fmt: skip


class Use(Struct, frozen=True):
    """A function's name in what `user` does or holds."""

    name: str
    user: str
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.span or self.user})"


def uses(module: Module, names: Collection[str]) -> Iterator[Use]:
    """Where a module uses functions: in instructions, initial values of variables, other names."""
    for f in {f.name: f for n in sorted(names) for f in naming(module, n)}.values():
        for i in f.instructions():
            place = module.place(i) or (module.definition(f.name) if "dbg" in f.metadata else None)
            yield from (Use(name, f.name, place) for name in _named(i.operands, names))
    for v in module.variables:
        if not v.name.startswith(_MADE):
            yield from (Use(name, v.name) for name in _named([v.initializer], names))
    for g in module.globals.values():
        if isinstance(g, Alias):
            yield from (Use(name, g.name) for name in _named([g.aliasee], names))


def _named(values: Iterable[object], names: Collection[str]) -> Iterator[str]:
    """The functions of these names among values and the constants that they are made of."""
    for v in values:
        if isinstance(v, Function) and v.name in names:
            yield v.name
        elif not isinstance(v, Instruction | GlobalValue):
            yield from _named(parts(v), names)


def spelt_right(whole: LLVMModule) -> LLVMModule:
    """The module, in which nothing nearly has a name of the C interface."""
    declared = misspelt(f.name for f in whole.functions() if f.is_declaration)
    if declared or registered(whole.definitions()):
        refuse_misspelt(parse(whole.text()))
    return whole


def complete(whole: LLVMModule) -> LLVMModule:
    """The finished module, in which no call of the C interface is left."""
    if any(f.is_declaration and is_call(f.name) for f in whole.functions()):
        refuse_left(parse(whole.text()))
    return whole
