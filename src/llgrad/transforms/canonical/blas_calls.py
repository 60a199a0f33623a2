"""Calls of BLAS in a program that is prepared to be differentiated, and in what is finished (see `rules.blas`).

`lowered` leads each call through a routine of its own that takes its arguments by value (so that what one call reads
and another overwrites is told apart), and registers the rules of `runtime/blas/blas.c` for it. Those call routines in
turn: they have rules, too, for derivatives of derivatives. `bridged` gives the routines that are left bodies, which
call the user's library.

    %s = call double @ddot_(ptr %n, ptr %x, ptr %incx, ptr %y, ptr %incy)
    ->
    %s = call double @llgrad.blas.0.ddot_(…)    ; loads what it is given, calls @llgrad_blas_ddot.0, which has rules
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from itertools import count

from llgrad.ir.module import Module
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.rewrite import bodies, direct_calls, word
from llgrad.ir.symbols import named
from llgrad.ir.types import PTR, ArrayType
from llgrad.ir.values import Attribute, ConstAggregate, ConstNull, Function, GlobalVariable
from llgrad.llvm import LLVMModule
from llgrad.rules import blas
from llgrad.transforms.canonical.runtime_routines import compiled, linked

WORDS = ("size", "keep", "kept", "reverse", "before", "after")
_CALLED = "llgrad.blas."


def _way(family: str) -> Attribute:
    """How a routine's library is called: by Fortran's names, or those of C."""
    return Attribute("llgrad.rule", family, string=True)


def lowered(module: Module) -> Module | None:
    """The module with calls of routines by value, and their rules; None where there are none."""
    declared = [f for f in module.functions if f.is_declaration]
    wanted = _led_through(module, [f for f in declared if blas.is_routine(f.name)])
    known = {g.removeprefix(blas.RULED) for g in module.globals if g.startswith(blas.RULED)}
    left = [f.name for f in declared if blas.is_own(f.name) and f.name not in known]
    if not wanted and not left:
        return None
    in_c = "cblas" in wanted.values() or _is_in_c(module)
    closed = _reached({_base(own) for own in (*wanted, *left)})
    own = [f for f in dict.fromkeys([*wanted, *left, *sorted(closed)]) if f not in known]
    there = {f.name for f in declared}
    for name in own:
        if name not in there:
            f = _declared(module, name)
            f.attributes = (*f.attributes, _way("cblas" if in_c else "fortran"))
    part = _rules().clone()
    part.cut([f"{base}_{word}" for base in sorted(closed) for word in WORDS if f"{base}_{word}" in _definitions()])
    made = linked(module, part, blas.OWN)
    for name in own:
        _register(made, name)
    return made


def _is_in_c(module: Module) -> bool:
    return any(_way("cblas") in f.attributes for f in module.functions)


def _declared(module: Module, own: str) -> Function:
    return parse_function_text(module, blas.declaration(own))[0]


def _led_through(module: Module, routines: list[Function]) -> dict[str, str]:
    """Have each call of a routine call one of its own, which calls one by value: the families of these, by name."""
    wanted: dict[str, str] = {}
    numbers = _free_numbers(module)
    where = bodies(module, *(word(f.name) for f in routines)) if routines else []
    found = [(call, f) for call, f in direct_calls(where) if f in routines and f is call.callee]
    for call, f in sorted(found, key=lambda c: routines.index(c[1])):
        if f.function_type.vararg:
            continue
        n = next(numbers)
        own, name = f"{blas.own_name(f.name)}.{n}", f"{_CALLED}{n}.{f.name}"
        types, result = [str(t) for t in f.function_type.params], str(f.function_type.result)
        if (made := blas.called(f.name, types, result, name, own)) is not None:
            wanted[own] = blas.family(f.name)
            _declared(module, own)
            call.set_operand(call.arity, parse_function_text(module, made)[0])
    return wanted


def _free_numbers(module: Module) -> Iterator[int]:
    taken = {name.removeprefix(_CALLED).partition(".")[0] for name in module.globals if name.startswith(_CALLED)}
    taken |= {name.rpartition(".")[2] for name in module.globals if name.startswith(blas.OWN)}
    return (n for n in count() if str(n) not in taken)


def _base(own: str) -> str:
    """The routine that `own`, the routine of one call, is."""
    return own.partition(".")[0]


def _register(module: Module, own: str) -> None:
    names = [own, *(f"{_base(own)}_{word}" for word in WORDS)]
    rules = tuple(module.globals[n] if n == own or n in _definitions() else ConstNull(PTR) for n in names)
    t = ArrayType(PTR, len(rules))
    module.add(GlobalVariable(f"{blas.RULED}{own}", t, ConstAggregate(t, rules))).linkage = "weak"


def _reached(bases: Collection[str]) -> set[str]:
    """The routines that the rules of `bases` call, theirs, and so on."""
    rules, found = _definitions(), set[str]()
    work = [name for base in bases for word in WORDS if (name := f"{base}_{word}") in rules] + list(bases)
    while work:
        name = work.pop()
        if name in found:
            continue
        found.add(name)
        if name in rules:
            work += rules[name]
        elif blas.is_own(name):
            work += [f"{name}_{word}" for word in WORDS if f"{name}_{word}" in rules]
    return {name for name in found if blas.is_own(name)}


def _rules() -> LLVMModule:
    return compiled("blas/blas.c", "-g0")


@functools.cache
def _definitions() -> dict[str, list[str]]:
    """The functions of the rules, and what of theirs they name."""
    defined = (f for f in parse(_rules().text()).functions if not f.is_declaration)
    return {f.name: [name for name in named(f) if name.startswith(blas.OWN)] for f in defined}


def is_bridged(text: str) -> bool:
    """Does a text name routines that call the user's library?"""
    return f"@{blas.OWN}" in text


def bridged(module: Module) -> bool:
    """Give the routines that the module calls bodies."""
    own = [f.name for f in module.functions if f.is_declaration and blas.is_own(f.name)]
    way = "cblas" if _is_in_c(module) else "fortran"
    for name in own:
        body, library = blas.bridge(name, way)
        parse_function_text(module, library + body)
    return bool(own)
