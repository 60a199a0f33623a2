"""Calls of BLAS in a program that is prepared to be differentiated, and in what is finished (see `rules.blas`).

`lowered` leads each call through a routine of its own that takes its arguments by value (so that what one call reads
and another overwrites is told apart), and registers the rules of `runtime/blas/blas.c` for it. Those call routines in
turn:
they have rules, too, for derivatives of derivatives. `bridged` gives the routines that are left bodies, which call the
user's library.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path

from llgrad.ir.parse import parse
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import DEFINITION, NAME, plain
from llgrad.rules import blas

WORDS = ("size", "keep", "kept", "reverse", "before", "after")
_CALLED = "llgrad.blas."
_DECLARED = re.compile(rf"^declare [^@\n]*({NAME})\([^\n]*$", re.MULTILINE)
_WAY = '"llgrad.rule"="{}"'


def lowered(text: str) -> str:
    """The text with calls of routines by value, and their rules."""
    declared = {plain(m[1]): m[0] for m in _DECLARED.finditer(text)}
    numbers = (n for n in count() if f"{_CALLED}{n}." not in text and not re.search(rf"@{blas.OWN}\w+\.{n}\(", text))
    adapters: list[str] = []
    wanted: dict[str, str] = {}
    for symbol in declared:
        if blas.is_routine(symbol):
            text = _led_through(text, symbol, declared[symbol], numbers, adapters, wanted)
    known = dict.fromkeys(re.findall(rf"@\"?{re.escape(blas.RULED)}([\w.]+)\"? = ", text))
    left = [own for own in declared if blas.is_own(own) and own not in known]
    if not wanted and not left:
        return text
    way = "cblas" if "cblas" in wanted.values() or _WAY.format("cblas") in text else "fortran"
    rules = _definitions()
    closed = _reached({re.sub(r"\.\d+$", "", own) for own in (*wanted, *left)}, rules)
    own = [f for f in dict.fromkeys([*wanted, *left, *sorted(closed)]) if f not in known]
    new = [f"{blas.declaration(f).rstrip()} {_WAY.format(way)}\n" for f in own if f not in declared]
    whole = LLVMModule.from_text("\n".join([text, *adapters, *new]))
    functions = [f"{base}_{word}" for base in sorted(closed) for word in WORDS if f"{base}_{word}" in rules]
    part = _rules().clone()
    part.cut(functions)
    whole.link(part)
    rule = re.compile(rf"^define (?:dso_local )?(?!internal)([^@\n]*@{blas.OWN}\w+\()", re.MULTILINE)
    return "\n".join([rule.sub(r"define internal \1", whole.text()), *map(_registration, own), ""])


def _led_through(
    text: str, symbol: str, declaration: str, numbers: Iterator[int], adapters: list[str], wanted: dict[str, str]
) -> str:
    f = next(iter(parse(f"{re.sub(r' #[0-9]+.*', '', declaration)}\n").functions))
    types, result = [str(t) for t in f.function_type.params], str(f.function_type.result)
    own = blas.own_name(symbol)
    if f.function_type.vararg or blas.called(symbol, types, result, symbol, own) is None:
        return text

    def edit(m: re.Match[str]) -> str:
        n = next(numbers)
        wanted[f"{own}.{n}"] = blas.family(symbol)
        made = blas.called(symbol, types, result, f"{_CALLED}{n}.{symbol}", f"{own}.{n}")
        assert made is not None
        adapters.append(made)
        return f"{m[1]}@{_CALLED}{n}.{symbol}("

    return re.sub(rf"^( [^\n]*\b(?:call|invoke) [^\n]*)@{symbol}\(", edit, text, flags=re.MULTILINE)


def _registration(own: str) -> str:
    base, rules = re.sub(r"\.\d+$", "", own), _definitions()
    listed = [own, *(f"{base}_{word}" if f"{base}_{word}" in rules else "" for word in WORDS)]
    members = ", ".join(f"ptr @{name}" if name else "ptr null" for name in listed)
    return f"@{blas.RULED}{own} = weak global [{len(listed)} x ptr] [{members}]"


def _reached(bases: Collection[str], rules: dict[str, str]) -> set[str]:
    """The routines that the rules of `bases` call, theirs, and so on."""
    found: set[str] = set()
    work = [name for base in bases for word in WORDS if (name := f"{base}_{word}") in rules] + list(bases)
    while work:
        name = work.pop()
        if name in found:
            continue
        found.add(name)
        if name in rules:
            work += re.findall(rf"@({blas.OWN}\w+)\(", rules[name])
        elif blas.is_own(name):
            work += [f"{name}_{word}" for word in WORDS if f"{name}_{word}" in rules]
    return {name for name in found if blas.is_own(name)}


@functools.cache
def _rules() -> LLVMModule:
    from llgrad.frontends import compile_sources

    path = Path(__file__).parents[2] / "runtime" / "blas" / "blas.c"
    return LLVMModule.read(compile_sources([path], ["-g0", "-w"]).modules[0])


@functools.cache
def _definitions() -> dict[str, str]:
    """The functions of the rules, and their bodies."""
    text = _rules().text()
    starts = [(m.start(), plain(m[2])) for m in DEFINITION.finditer(text)]
    return {name: text[at : text.index("\n}", at)] for at, name in starts}


def bridged(text: str) -> str:
    """The text with bodies for the routines that it calls."""
    if f"@{blas.OWN}" not in text:
        return text
    declared = {plain(m[1]): m[0] for m in _DECLARED.finditer(text)}
    defined = {plain(name) for _, name, _ in DEFINITION.findall(text)}
    way = "cblas" if _WAY.format("cblas") in text else "fortran"
    for own in declared:
        if blas.is_own(own):
            body, library = blas.bridge(own, way)
            symbol = plain(re.findall(NAME, library)[0])
            text = text.replace(declared[own], body.rstrip("\n"))
            if symbol not in declared and symbol not in defined:
                text += library
                defined.add(symbol)
    return text
