"""What derivatives are made from, taken out of a large program, and what asked for them put back.

Reading, checking and printing a program takes LLVM longer than differentiating a small part of it. So the program
is read once, and an excerpt of its text goes through everything that derivatives need: the functions that ask; the
variables that may change; what these, and the functions that are differentiated, lead to. The rest is never edited.
Afterwards the functions that asked replace those in the program, with the derivatives that they call.

What analyses ask of the whole program is in the excerpt, or is answered before: LLVM has seen which static variables
never change; the functions whose address the rest uses are listed (`transforms.symbols.address_taken`), and those that
the excerpt may call are part of it. Declared alone is what askers call for other reasons, and no derivative looks at
that.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection

from llgrad.autodiff.requests.markers import PREFIX
from llgrad.ir.module import Module
from llgrad.ir.write import write
from llgrad.llvm.assembly import COMDAT, NAME, mutable_globals, spelt
from llgrad.support.lazy_pattern import lazy_pattern
from llgrad.transforms.symbols import program_text
from llgrad.transforms.symbols.address_taken import called_types, defined_type, may_call, met, variable
from llgrad.transforms.symbols.program_text import INDIRECT, LINKAGE, Program, as_spelt, taken_out
from llgrad.transforms.symbols.shared_globals import borrow_globals

_LARGEST = 0.5  # the share of a program that an excerpt may have
_LEAST = 200_000  # characters of a program
_LABEL = lazy_pattern(rf"blockaddress\(({NAME}),")
_OF_LLVM = lazy_pattern(r"@llvm\.(?:used|compiler\.used|global_ctors|global_dtors)$")


def read(text: str) -> Program:
    """The program as LLVM prints it, with what asks for derivatives."""
    program = program_text.read(text)
    starts, order = [at for at, _ in program.functions.values()], list(program.functions)
    at = text.find(PREFIX)
    while at >= 0:
        n = bisect(starts, at) - 1
        if n >= 0 and at < program.functions[order[n]][1]:
            program.askers[order[n]] = None
        at = text.find(PREFIX, at + 1)
    return program


def excerpt(program: Program, more: Collection[str] = ()) -> str | None:
    """The text that derivatives are made from; None where that would be the better part of the program.

    `more`: functions that are differentiated, besides those that are named where derivatives are asked for.
    """
    text = program.text
    if len(text) < _LEAST or not program.askers or "module asm" in text:
        return None
    if "blockaddress(" in text and not program.askers.keys().isdisjoint(map(as_spelt, _LABEL.findall(text))):
        return None  # a table of a computed goto, which stays with its function
    aliases = [name for name in program.others if program.is_alias(name)]
    if any(name in program.askers for alias in aliases for name in program.names(alias)):
        return None  # so do other names of a function
    asked = {n for name in program.askers for line in program.lines(name).split("\n") if PREFIX in line
             for n in program.found(line) if PREFIX not in n}  # fmt: skip
    whole: dict[str, None] = {}  # all of what these lead to is in the excerpt
    program.reached([*asked, *more, *map(spelt, mutable_globals(text))], whole, _is_own)
    may_be_met: dict[str, str] | None = None
    while called := {t for name in whole if name in program.functions for t in called_types(program.lines(name))}:
        if may_be_met is None:
            may_be_met = {name: defined_type(program.lines(name)) for name in map(as_spelt, met(text, closed=True))}
        more = [name for name, t in may_be_met.items() if name not in whole and may_call(called, t)]
        if not more:
            break
        program.reached(more, whole, _is_own)
    named: dict[str, None] = {}  # what askers name, and the variables that lead to
    said = [n for n in program.others if n.startswith("@llvm.") and program.is_variable(n) and not _OF_LLVM.match(n)]
    program.reached([*program.askers, *said], named, lambda n: n in program.askers or program.is_variable(n))
    bodies = {name for name in (*whole, *program.askers) if name in program.functions}
    if sum(len(program.lines(name)) for name in bodies) > _LARGEST * len(text):
        return None
    if any(_is_local_alias(program, n) for name in named for n in program.names(name)):
        return None  # nothing outside its module can name it
    rest = map(as_spelt, met(text, True, program.askers)) if may_be_met else ()  # what askers use is in the excerpt
    return taken_out(program, bodies, {*whole, *named}, [variable(n) for n in rest if n in whole])


def _is_own(name: str) -> bool:
    return not name.startswith("@llvm.")


def _is_local_alias(program: Program, name: str) -> bool:
    m = INDIRECT.match(program.lines(name))
    return m is not None and not {"internal", "private"}.isdisjoint(m[1].split())


def remainder(module: Module, program: Program, edited: Collection[str]) -> str:
    """The text of what is new in the excerpt's module, and of the functions `edited`, which replace the program's.

    These are visible; what else the program has is declared.
    """
    borrow_globals(module, {v.name for v in module.variables if program.is_variable(spelt(v.name))})
    own = read(write(module))
    bodies = {name for name in own.functions if name in edited or name not in program.functions}
    kept = {n for n in own.others if own.is_variable(n) and _is_own(n)}
    text = taken_out(own, bodies, kept)
    lines = (line for line in text.split("\n") if not line.startswith("$"))
    return "\n".join(_visible(line) if line.startswith("define ") else line for line in lines)


def _visible(line: str) -> str:
    """The first line of a function, with external linkage and in no group."""
    return COMDAT.sub("", LINKAGE.sub("define ", line))
