"""Regular expressions that are compiled when they are first used: most runs of llgrad use few of them."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands for a pattern; what it is asked for, it has from then on."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED:
            raise AttributeError(name)
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


_ASKED = frozenset(name for name in dir(re.Pattern) if not name.startswith("_"))


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile(text, flags)`, at first use: `lazy_pattern("a+").match("aa")`."""
    return cast(re.Pattern[str], _Lazy(text, flags))
