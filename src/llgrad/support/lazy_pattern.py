"""Regular expressions that are compiled when they are first used: most runs of llgrad use few of them.

Tables of patterns for names are long, and each name is compared with all. A name that does not begin as a pattern does
needs no compilation: `lazy_pattern(r"_FortranAio\\w*").fullmatch("sin")` is None at once.
"""

from __future__ import annotations

import re
from typing import Any, cast

_ASKED = frozenset(name for name in dir(re.Pattern) if not name.startswith("_"))


class _Lazy:
    """Stands for a pattern; what it is asked for when it is compiled, it has from then on."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._flags, self._beginning = text, flags, "" if flags else beginning(text)

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED:
            raise AttributeError(name)
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value

    def fullmatch(self, string: str) -> re.Match[str] | None:
        return self._compared("fullmatch", string)

    def match(self, string: str, *at: int) -> re.Match[str] | None:
        return self._compared("match", string, *at)

    def _compared(self, way: str, string: str, *at: int) -> re.Match[str] | None:
        if not string.startswith(self._beginning, *at):
            return None
        setattr(self, way, getattr(re.compile(self.pattern, self._flags), way))
        found: re.Match[str] | None = getattr(self, way)(string, *at)
        return found


def beginning(text: str) -> str:
    """Letters with which all begins that a pattern matches: "ab" of `abc?(d|e)`; none of `a|b`."""
    depth = 0
    for sign in _NOT_SYNTAX.sub("", text):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            return ""
    end = next((n for n, c in enumerate(text) if not (c.isalnum() or c == "_")), len(text))
    return text[: end - 1] if end and text[end : end + 1] in ("*", "?", "{", "+") else text[:end]


_NOT_SYNTAX = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")  # what is escaped, and sets of letters


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile(text, flags)`, at first use: `lazy_pattern("a+").match("aa")`."""
    return cast(re.Pattern[str], _Lazy(text, flags))
