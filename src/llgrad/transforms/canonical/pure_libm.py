"""Functions of libm compute and do nothing else, in a program that does not read errno (decision 10)."""

from __future__ import annotations

import re

from llgrad.analysis.call_shapes import fits
from llgrad.errors import ParseError
from llgrad.ir.parse import parse
from llgrad.llvm.assembly import NAME, plain
from llgrad.rules import library

_DECLARATION = re.compile(rf"^(declare [^@\n]*)({NAME})\(([^\n]*?)\)[^\n()]*$", re.MULTILINE)
_LOG_GAMMA = re.compile(r"(@l?gamma(f|l|f128|)\()((?:[^()\n]|\([^()\n]*\))*)\)")


def _signs_of_gamma(text: str) -> str:
    """Calls of `lgamma` say that they write the sign of gamma to `signgam`, in a program that looks there."""
    if "@signgam = external" not in text:
        return text

    def edit(line: str) -> str:
        if re.search(r"\b(?:call|invoke) ", line) is None or (m := _LOG_GAMMA.search(line)) is None:
            return line
        used.add(m[2])
        return f"{line[: m.start()]}@lgamma{m[2]}_r({m[3]}, ptr @signgam){line[m.end() :]}"

    used: set[str] = set()
    made = "\n".join(map(edit, text.split("\n")))
    for suffix in sorted(used):
        if f"@lgamma{suffix}_r(" not in text:
            t = library.C_SUFFIXES[suffix]
            made += f"\ndeclare {t} @lgamma{suffix}_r({t}, ptr)\n"
    return made


def pure_libm(text: str) -> str:
    """Functions of libm compute and do nothing else in a program that does not read errno (decision 10)."""
    text = _signs_of_gamma(text)
    if "@__errno_location" in text:
        return text

    def pure(m: re.Match[str]) -> str:
        entry = library.lookup(plain(m[2]))
        computes = entry is not None and "pointer" not in entry.rule.operands and entry.shape != "byval"
        computes &= not plain(m[2]).startswith("llvm.") and _declared_as_known(m)
        return f"{m[1]}{m[2]}({m[3]}) nounwind willreturn memory(none)" if computes else m[0]

    return _DECLARATION.sub(pure, text)


def _declared_as_known(m: re.Match[str]) -> bool:
    """Has a declaration the type of the function that is known by its name?"""
    try:
        f = parse(f"{m[1]}{m[2]}({m[3]})\n").function(plain(m[2]))
    except ParseError:  # it takes structs that have names
        return False
    t = f.function_type
    return not t.vararg and fits(f.name, t.result, t.params)
