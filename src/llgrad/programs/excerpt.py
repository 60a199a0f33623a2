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

import re
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct, field

from llgrad.autodiff.requests.markers import PREFIX
from llgrad.ir.module import Module
from llgrad.ir.write import write
from llgrad.llvm.assembly import COMDAT, DEFINITION, NAME, mutable_globals, plain, spelt, without_idle_metadata
from llgrad.support.brackets import listed
from llgrad.support.lazy_pattern import lazy_pattern
from llgrad.transforms.symbols.address_taken import called_types, defined_type, may_call, met, variable
from llgrad.transforms.symbols.shared_globals import borrow_globals

_LARGEST = 0.5  # the share of a program that an excerpt may have
_LEAST = 200_000  # characters of a program
_ENTITY = lazy_pattern(rf"^(?:({NAME}) = [^\n]*|declare [^@\n]*({NAME})\([^\n]*)$", re.MULTILINE)
_LINKAGE = lazy_pattern(r"^define (?:(?:internal|private|external|(?:linkonce|weak)(?:_odr)?|available_externally) )?")
_NAMED = lazy_pattern(rf"[^@]*{NAME}")
_OF_BODIES = lazy_pattern(r' (?:comdat\b|personality |prefix |prologue |section "|partition "|gc "|align \d|![a-z])')
_LABEL = lazy_pattern(rf"blockaddress\(({NAME}),")
_OF_LLVM = lazy_pattern(r"@llvm\.(?:used|compiler\.used|global_ctors|global_dtors)$")
_INDIRECT = lazy_pattern(r"^@[^\n]*? = ([^\n\"]*)\b(?:alias|ifunc) ([^\n]*?), (?:ptr )?(?=@|getelementptr )")


class Program(Struct):
    """A program's text by the names in it, as `spelt` has them: LLVM quotes more than it must."""

    text: str
    functions: dict[str, tuple[int, int]]  # where each is defined
    others: dict[str, tuple[int, int]]  # the lines of variables, aliases and declarations
    askers: dict[str, None]
    leads: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def lines(self, name: str) -> str:
        """How a name is defined or declared."""
        start, end = self.functions.get(name) or self.others.get(name) or (0, 0)
        return self.text[start:end]

    def defines(self, name: str) -> bool:
        """Is it more than declared?"""
        return name in self.functions or self.is_variable(name) or self.is_alias(name)

    def is_variable(self, name: str) -> bool:
        return name in self.others and self.lines(name)[0] == "@" and not self.is_alias(name)

    def is_alias(self, name: str) -> bool:
        """Another name, or a function that is chosen when the program is loaded?"""
        return name in self.others and _INDIRECT.match(self.lines(name)) is not None

    def names(self, name: str) -> tuple[str, ...]:
        """What a function, a variable or an alias refers to."""
        if name not in self.leads:
            self.leads[name] = tuple(n for n in self.found(self.lines(name)) if n != name)
        return self.leads[name]

    def found(self, text: str) -> list[str]:
        """The program's names in a text."""
        names = dict.fromkeys(_spelt(n) for n in dict.fromkeys(re.findall(NAME, text)))
        return [n for n in names if n in self.functions or n in self.others]

    def reached(self, roots: Iterable[str], found: dict[str, None], enter: Callable[[str], bool]) -> None:
        """Adds to `found` what the roots are and lead to, as far as `enter` says yes."""
        work = list(roots)
        while work:
            if (name := work.pop()) not in found and enter(name):
                found[name] = None
                work += self.names(name)


def read(text: str) -> Program:
    """The program as LLVM prints it."""
    functions: dict[str, tuple[int, int]] = {}
    starts, order = list[int](), list[str]()
    for m in DEFINITION.finditer(text):
        name = _spelt(m[2])
        functions[name] = (m.start(), text.index("\n}\n", m.end()) + 3)
        starts.append(m.start())
        order.append(name)
    others = {_spelt(m[1] or m[2]): m.span() for m in _ENTITY.finditer(text)}
    askers: dict[str, None] = {}
    at = text.find(PREFIX)
    while at >= 0:
        n = bisect(starts, at) - 1
        if n >= 0 and at < functions[order[n]][1]:
            askers[order[n]] = None
        at = text.find(PREFIX, at + 1)
    return Program(text, functions, others, askers)


def excerpt(program: Program, more: Collection[str] = ()) -> str | None:
    """The text that derivatives are made from; None where that would be the better part of the program.

    `more`: functions that are differentiated, besides those that are named where derivatives are asked for.
    """
    text = program.text
    if len(text) < _LEAST or not program.askers or "module asm" in text:
        return None
    if "blockaddress(" in text and not program.askers.keys().isdisjoint(map(_spelt, _LABEL.findall(text))):
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
            may_be_met = {name: defined_type(program.lines(name)) for name in map(_spelt, met(text, closed=True))}
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
    rest = map(_spelt, met(text, True, program.askers)) if may_be_met else ()  # what askers use is seen in the excerpt
    return _taken_out(program, bodies, {*whole, *named}, [variable(n) for n in rest if n in whole])


def _spelt(name: str) -> str:
    return spelt(plain(name)) if name[1] == '"' else name


def _is_own(name: str) -> bool:
    return not name.startswith("@llvm.")


def _is_local_alias(program: Program, name: str) -> bool:
    m = _INDIRECT.match(program.lines(name))
    return m is not None and not {"internal", "private"}.isdisjoint(m[1].split())


def _taken_out(program: Program, bodies: Collection[str], kept: Collection[str], more: Sequence[str] = ()) -> str:
    """A text of `_pieces`, and more lines; what its metadata names alone is declared there, too."""
    used = {n for name in (*bodies, *kept) for n in program.names(name)}.union(bodies, kept)
    text = without_idle_metadata("\n".join(["".join(_pieces(program, bodies, kept, used)), *more, ""]))
    lines = "\n".join(line for line in text[text.rfind("\n}\n") :].split("\n") if line.startswith("!") and "@" in line)
    named = [n for n in program.found(lines) if n not in used]
    made = [f"{n} = external global i8" if program.is_variable(n) else declared(program.lines(n), n) for n in named]
    return "\n".join([text, *made, ""])


def _pieces(
    program: Program, bodies: Collection[str], kept: Collection[str], used: Collection[str]
) -> Iterator[str]:
    """A program's text with these functions, and the variables and aliases in `kept`; what else is `used` is declared.
    """
    places = sorted((*at, name) for table in (program.functions, program.others) for name, at in table.items())
    at = 0
    for start, end, name in places:
        yield program.text[at:start]
        at = end
        if name in bodies or (name in kept and name in program.others):
            yield program.text[start:end]
        elif name in used:
            yield declared(program.text[start:end], name)
    yield program.text[at:]


def declared(lines: str, name: str) -> str:
    """A declaration of the function, or of the alias, that is defined so."""
    line = lines.partition("\n")[0]
    if m := _INDIRECT.match(line):
        result, _, parameters = m[2].partition(" (")
        return f"declare {result} {name}({parameters}\n" if parameters else f"{name} = external global {result}\n"
    if not line.startswith("define "):
        return line
    head = _LINKAGE.sub("declare ", line)
    named = _NAMED.match(head)
    assert named is not None
    _, end = listed(head, named.end() + 1)
    tail = head[end + 1 :].removesuffix("{").rstrip()
    cut = _OF_BODIES.search(tail)
    return f"{head[: end + 1]}{tail[: cut.start()] if cut else tail}\n"


def remainder(module: Module, program: Program, edited: Collection[str]) -> str:
    """The text of what is new in the excerpt's module, and of the functions `edited`, which replace the program's.

    These are visible; what else the program has is declared.
    """
    borrow_globals(module, {v.name for v in module.variables if program.is_variable(spelt(v.name))})
    own = read(write(module))
    bodies = {name for name in own.functions if name in edited or name not in program.functions}
    kept = {n for n in own.others if own.is_variable(n) and _is_own(n)}
    text = _taken_out(own, bodies, kept)
    lines = (line for line in text.split("\n") if not line.startswith("$"))
    return "\n".join(_visible(line) if line.startswith("define ") else line for line in lines)


def _visible(line: str) -> str:
    """The first line of a function, with external linkage and in no group."""
    return COMDAT.sub("", _LINKAGE.sub("define ", line))
