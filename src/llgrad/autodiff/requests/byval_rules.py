"""Rules of functions that are passed structs by value in memory: both are called through functions that take addresses.

`weight(big b)` has a parameter `ptr byval(%struct.big)`. Where it has a rule, calls of it become calls of a function
that takes a pointer, and so do calls of its rule: a struct by value is then a pointer argument, whose shadow is one,
and which nobody writes through. (A rule in forward mode may take the tangent by value, too.)
"""

from __future__ import annotations

import re
from collections.abc import Collection

from llgrad.llvm.assembly import NAME, plain, spelt
from llgrad.support.brackets import listed

PREFIX = "llgrad.byaddress."
_DEFINED = re.compile(rf"^(?:define|declare) [^@\n]*?({NAME})\((.*)\)[^()\n]*$", re.MULTILINE)
_BYVAL = re.compile(r"byval\(((?:[^()]|\([^()]*\))*)\) ?")


def by_address(text: str, ruled: Collection[str], rules: Collection[str], registered: str) -> str:
    """The text with such functions for those that are passed structs; `registered` is what registrations begin with."""
    heads = {plain(m[1]): m for m in _DEFINED.finditer(text)}
    found = [n for n in dict.fromkeys([*ruled, *rules]) if n in heads and "byval(" in heads[n][2]]
    if not found:
        return text
    called = re.compile(r"^ [^\n]*\b(?:call|invoke) [^\n]*$", re.MULTILINE)
    names = {spelt(n): spelt(f"{PREFIX}{n}") for n in found}
    own = {spelt(n) for n in found if n in ruled}

    def edit_call(m: re.Match[str]) -> str:
        callee = next((n for n in re.findall(rf"({NAME})\(", m[0]) if n in own), None)
        if callee is None:
            return m[0]
        line = re.sub(r"\btail call\b", "call", m[0], count=1)  # which may not be given addresses of its caller's stack
        return _BYVAL.sub("", line).replace(f"{callee}(", f"{names[callee]}(")

    text = called.sub(edit_call, text)
    lines = [
        re.sub(NAME, lambda m: names.get(m[0], m[0]), line) if line.startswith("@") and registered in line else line
        for line in text.split("\n")
    ]
    return "\n".join([*lines, *(_through(heads[n], spelt(f"{PREFIX}{n}")) for n in found), ""])


def _through(head: re.Match[str], name: str) -> str:
    """A function that takes addresses and calls the one that takes structs."""
    result = re.search(r"(\S+|\{[^{}]*\}|<[^<>]*>) $", head[0][: head.start(1) - head.start()])
    assert result is not None
    taken, given = [], []
    for n, parameter in enumerate(listed(head[2])[0]):
        words = re.sub(r' ?%(?:[-\w.$]+|"[^"]*")$', "", parameter) if not parameter.endswith(")") else parameter
        taken.append(f"{_BYVAL.sub('', words)} %x{n}")
        given.append(f"{words} %x{n}")
    call = f"call {result[1]} {head[1]}({', '.join(given)})"
    body = [f"  {call}", "  ret void"] if result[1] == "void" else [f"  %r = {call}", f"  ret {result[1]} %r"]
    return "\n".join([f"define {result[1]} {name}({', '.join(taken)}) {{", *body, "}"])


