"""Numbers written as text and read back: what `sprintf` writes is inactive, unless the program reads a number from it.

Formatting has no derivative, and a program that prints needs none. One that formats an active float and parses the
text again would have a zero derivative where it depends on the float: it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from llgrad.analysis.memory import Memory, MemoryObject
from llgrad.ir.types import FloatType
from llgrad.ir.values import AnyValue, Call, Function

FORMATTERS = frozenset({
    "sprintf", "snprintf", "vsprintf", "vsnprintf", "__sprintf_chk", "__snprintf_chk", "__vsprintf_chk",
    "__vsnprintf_chk",
})  # fmt: skip
PARSERS = frozenset({"atof", "strtod", "strtof", "strtold"})


def read_back(memory: Memory, functions: Iterable[Function], varied: Callable[[AnyValue], bool]) -> Call | None:
    """A call that may read a number from text which an active float was formatted into."""
    calls = [i for f in functions for i in f.instructions() if isinstance(i, Call)]
    parsers = [c for c in calls if _name(c) in PARSERS]
    if not parsers:
        return None
    text: set[MemoryObject] = set()
    for c in calls:
        floats = [a for a in c.arguments if isinstance(a.type, FloatType)]
        if _name(c) in FORMATTERS and (_name(c).lstrip("_").startswith("v") or any(map(varied, floats))):
            text |= memory.points_to(c.arguments[0])
    size = -1
    while text and size != len(text):  # copies of the text
        size = len(text)
        for c in calls:
            if any(o in text for a in memory.reads(c) for o in a.objects):
                text |= {o for a in memory.writes(c) for o in a.objects}
    anywhere = any(o.kind == "unknown" for o in text)
    return next((c for c in parsers if text and (anywhere or _may_read(memory, c, text))), None)


def _may_read(memory: Memory, parser: Call, text: set[MemoryObject]) -> bool:
    objects = memory.points_to(parser.arguments[0])
    return not text.isdisjoint(objects) or any(o.kind == "unknown" for o in objects)


def _name(call: Call) -> str:
    return call.called_function.name if call.called_function is not None else ""
