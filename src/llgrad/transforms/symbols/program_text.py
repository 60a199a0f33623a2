"""A program's text by the functions, variables and aliases in it, and parts taken out of it.

Bodies are not read: what a definition refers to are the names in its text. That may be more than it uses, never less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct, field

from llgrad.llvm.assembly import DEFINITION, NAME, plain, spelt, without_idle_metadata
from llgrad.support.brackets import listed
from llgrad.support.lazy_pattern import lazy_pattern

_ENTITY = lazy_pattern(rf"^(?:({NAME}) = [^\n]*|declare [^@\n]*({NAME})\([^\n]*)$", re.MULTILINE)
LINKAGE = lazy_pattern(r"^define (?:(?:internal|private|external|(?:linkonce|weak)(?:_odr)?|available_externally) )?")
_NAMED = lazy_pattern(rf"[^@]*{NAME}")
_OF_BODIES = lazy_pattern(r' (?:comdat\b|personality |prefix |prologue |section "|partition "|gc "|align \d|![a-z])')
INDIRECT = lazy_pattern(r"^@[^\n]*? = ([^\n\"]*)\b(?:alias|ifunc) ([^\n]*?), (?:ptr )?(?=@|getelementptr )")


class Program(Struct):
    """A program's text by the names in it, as `spelt` has them: LLVM quotes more than it must."""

    text: str
    functions: dict[str, tuple[int, int]]  # where each is defined
    others: dict[str, tuple[int, int]]  # the lines of variables, aliases and declarations
    askers: dict[str, None] = field(default_factory=dict)  # what asks for derivatives, for whoever has looked for it
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
        return name in self.others and INDIRECT.match(self.lines(name)) is not None

    def names(self, name: str) -> tuple[str, ...]:
        """What a function, a variable or an alias refers to."""
        if name not in self.leads:
            self.leads[name] = tuple(n for n in self.found(self.lines(name)) if n != name)
        return self.leads[name]

    def found(self, text: str) -> list[str]:
        """The program's names in a text."""
        names = dict.fromkeys(as_spelt(n) for n in dict.fromkeys(re.findall(NAME, text)))
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
    for m in DEFINITION.finditer(text):
        functions[as_spelt(m[2])] = (m.start(), text.index("\n}\n", m.end()) + 3)
    others = {as_spelt(m[1] or m[2]): m.span() for m in _ENTITY.finditer(text)}
    return Program(text, functions, others)


def as_spelt(name: str) -> str:
    """A name as `spelt` has it."""
    return spelt(plain(name)) if name[1] == '"' else name


def taken_out(program: Program, bodies: Collection[str], kept: Collection[str], more: Sequence[str] = ()) -> str:
    """A text of `_pieces`, and more lines; what its metadata names alone is declared there, too."""
    used = {n for name in (*bodies, *kept) for n in program.names(name)}.union(bodies, kept)
    text = without_idle_metadata("\n".join(["".join(_pieces(program, bodies, kept, used)), *more, ""]))
    lines = "\n".join(line for line in text[text.rfind("\n}\n") :].split("\n") if line.startswith("!") and "@" in line)
    named = [n for n in program.found(lines) if n not in used]
    made = [f"{n} = external global i8" if program.is_variable(n) else declared(program.lines(n), n) for n in named]
    return "\n".join([text, *made, ""])


def _pieces(program: Program, bodies: Collection[str], kept: Collection[str], used: Collection[str]) -> Iterator[str]:
    """A program's text with these functions, and variables and aliases in `kept`; what else is `used` is declared."""
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
    if m := INDIRECT.match(line):
        result, _, parameters = m[2].partition(" (")
        return f"declare {result} {name}({parameters}\n" if parameters else f"{name} = external global {result}\n"
    if not line.startswith("define "):
        return line
    head = LINKAGE.sub("declare ", line)
    named = _NAMED.match(head)
    assert named is not None
    _, end = listed(head, named.end() + 1)
    tail = head[end + 1 :].removesuffix("{").rstrip()
    cut = _OF_BODIES.search(tail)
    return f"{head[: end + 1]}{tail[: cut.start()] if cut else tail}\n"
