"""What a derivative is made from: the part of a program that its roots reach."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from llgrad.analysis.memory.call_effects import MET
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import (
    direct_variables,
    mutable_globals,
    names_in,
    plain,
    spelt,
)
from llgrad.transforms.symbols.address_taken import called_types, may_call, met_types, used_in
from llgrad.transforms.symbols.program_text import Program, read, taken_out


def only(whole: LLVMModule, roots: Sequence[str], said: Sequence[str] = ()) -> str:
    """The program with what the roots reach, and its variables and registrations (`said` too), and what those name.

    Weak functions and what LLVM itself lists stay; constructors and destructors of globals go. Functions that pointers
    in variables may point to (`address_taken`) stay if what is reached calls one of their type, or has its address.
    """
    return _text(*_kept(whole, roots, said, addressed=False))


def _kept(
    whole: LLVMModule, roots: Sequence[str], said: Sequence[str], *, addressed: bool
) -> tuple[Program, dict[str, None]]:
    """The program, and what of it `only` keeps. `addressed`: functions of a type that is called do not stay for it."""
    text = whole.text()
    program = _read(text)
    named_too = {plain(name) for words in said for name in names_in(words)}
    met = met_types(text)
    kept = {*roots, *mutable_globals(text), *named_too} - met.keys()
    found: dict[str, None] = {}
    program.reached(_always(program), found, _stays)
    while True:
        program.reached(map(spelt, sorted(kept)), found, _stays)
        part = "\n".join(map(program.lines, found)) if met else ""
        called = called_types(part) if met and not addressed else set()
        more = {name for name, t in met.items() if may_call(called, t)} - kept
        more |= used_in(part, text) - kept if met else set()
        if not more:
            return program, found
        kept |= more


def _text(program: Program, found: Collection[str]) -> str:
    bodies = [name for name in found if name in program.functions]
    return direct_variables(taken_out(program, bodies, found), shown=False)


@functools.lru_cache(maxsize=1)
def _read(text: str) -> Program:
    return read(text)


def _always(program: Program) -> list[str]:
    """Weak definitions, which others may replace, and LLVM's lists."""
    weak = [f for f in program.functions if program.text.startswith("define weak ", program.functions[f][0])]
    return weak + [
        name for name in program.others
        if program.is_variable(name) and program.lines(name).partition(" = ")[2].startswith(("weak ", "appending "))
    ]  # fmt: skip


def _stays(name: str) -> bool:
    return name not in ("@llvm.global_ctors", "@llvm.global_dtors")


def addressed(whole: LLVMModule, roots: Sequence[str], said: Sequence[str]) -> str:
    """`only` without the functions of whose types the roots call some, where that is less than half of it; else "".

    Optimised, it may show what is called: a library has many kernels of a type, and one in a record.
    """
    if not (met := met_types(whole.text())):
        return ""
    program, found = _kept(whole, roots, said, addressed=True)
    called = called_types("\n".join(map(program.lines, found)))
    others = {spelt(name.removeprefix(MET)) for name, t in met.items() if may_call(called, t)} - found.keys()
    return _text(program, found) if _length(program, others) > _length(program, found) else ""


def _length(program: Program, names: Collection[str]) -> int:
    """Of the bodies of those of these that are functions."""
    return sum(len(program.lines(name)) for name in names if name in program.functions)
