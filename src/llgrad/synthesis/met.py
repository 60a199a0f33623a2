"""Functions that pointers in the program's variables may point to: all whose address its code or its variables use.

A variable may hold, when a derivative begins, what any code of the program has stored there: `set_activation(relu)`, or
a table that is never changed. A derivative finds such a function by its address; one that it does not know ends it
(`tape.FAIL_TARGET`). `with_met` gives each function a variable with its address; derivatives share it with the program.
"""

from __future__ import annotations

import re

from llgrad.analysis.known import MET, VIRTUAL
from llgrad.assembly import DEFINITION, GLOBAL, NAME, plain
from llgrad.rules import library

_INDIRECT = re.compile(r"\b(?:call|invoke) [^@\n]*?%[-\w.$]+\(")
_DECLARED = re.compile(rf"^declare [^@\n]*({NAME})\(", re.MULTILINE)
_USED = re.compile(rf'"[^"\n]*"|({NAME})(?![-\w.$(])')
_CALLED = re.compile(rf"\b(?:call|invoke) [^@%\n]*(?:\([^\n@]*?\) )?({NAME})\(")


def with_met(text: str) -> str:
    """The program's text with a variable for each of these functions, where it calls functions through pointers."""
    if not _INDIRECT.search(text):
        return text
    defined = {name for _, name, _ in DEFINITION.findall(text)}
    ruled = {m[1] for m in _DECLARED.finditer(text) if library.lookup(plain(m[1])) is not None}
    found: dict[str, None] = {}
    for line in text.split("\n"):
        if "@" in line and _may_store(line, defined):
            found |= dict.fromkeys(m[1] for m in _USED.finditer(line) if m[1] in defined or m[1] in ruled)
    there = {m[1] for m in GLOBAL.finditer(text)}
    made = [f"{own} = global ptr {name}" for name in found if (own := f'@"{MET}{plain(name)}"') not in there]
    return "\n".join([text, *made, ""]) if made else text


def _may_store(line: str, defined: set[str]) -> bool:
    """May this line hand on an address: an initial value, or code that is no call of what is not the program's own?"""
    if line.startswith("@"):
        m = GLOBAL.match(line)
        return m is not None and not plain(m[1]).startswith((VIRTUAL, "__enzyme", "llvm."))
    called = _CALLED.search(line)
    return line.startswith(" ") and "__enzyme" not in line and (called is None or called[1] in defined)
