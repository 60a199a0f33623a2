"""Long tables of constant numbers, set aside while derivatives are made.

Nothing about a derivative depends on what such a table holds, but reading and printing it again and again takes longer
than all the rest: the coefficients of a filter are megabytes of text. Meanwhile it is declared alone.
"""

from __future__ import annotations

import re

from msgspec import Struct

from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import NAME, plain
from llgrad.support.brackets import listed

_LONG = 50_000  # characters of a line
_VARIABLE = re.compile(
    rf"^({NAME}) = ((?:(?:internal|private|dso_local|(?:local_)?unnamed_addr) )*)constant (?=[\[{{<%])", re.MULTILINE
)
_NAMED = re.compile(r'%(?:[-\w.$]+|"[^"]*")')
_CLAUSES = re.compile(r"(, align \d+)?(?:, ![\w.]+ !\d+)*")  # what may follow its elements
_SHARED = re.compile(r"^(?:target [^\n]*|%[^\n]* = type [^\n]*)\n", re.MULTILINE)


class Tables(Struct, frozen=True):
    """A module that defines them, as text, and the names of those that are a file's own."""

    text: str
    own: tuple[str, ...]

    def put_back(self, whole: LLVMModule) -> None:
        """Links them with a program that declares them."""
        whole.link(LLVMModule.from_text(self.text))
        whole.internalize([name for name in whole.definitions() if name not in self.own])


def set_aside(text: str) -> tuple[str, Tables | None]:
    """A program that declares its long tables; these."""
    rest, lines, own, at = list[str](), list[str](), list[str](), 0
    for m in _VARIABLE.finditer(text):
        end = text.index("\n", m.end())
        if end - m.end() < _LONG or text.find("@", m.end(), end) >= 0:
            continue
        last = max(text.rfind(bracket, m.end(), end) for bracket in "]}>")
        clauses = _CLAUSES.fullmatch(text, last + 1, end)
        if clauses is None:
            continue
        aligned = clauses[1] or ""
        rest += [text[at : m.start()], f"{m[1]} = external constant {_type(text, m.end())}{aligned}"]
        lines.append(f"{m[1]} = constant {text[m.end() : last + 1]}{aligned}\n")
        own += [plain(m[1])] if not {"internal", "private"}.isdisjoint(m[2].split()) else []
        at = end
    if not lines:
        return text, None
    return "".join([*rest, text[at:]]), Tables("".join([*_SHARED.findall(text), *lines]), tuple(own))


def _type(text: str, start: int) -> str:
    """The type that starts there: a name, or in brackets."""
    if (name := _NAMED.match(text, start)) is not None:
        return name[0]
    return text[start : listed(text, start + 1)[1] + 1]


__all__ = ["Tables", "set_aside"]
