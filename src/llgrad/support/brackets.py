"""Lists in text: what stands between commas, outside brackets and quotation marks."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r'"[^"\n]*"|[(\[{<)\]}>,]')


def listed(text: str, start: int = 0) -> tuple[list[str], int]:
    """The items of a list that begins there, and where the bracket is that closes it, or the text ends."""
    items, depth, begin, end = list[str](), 0, start, len(text)
    for m in _PUNCTUATION.finditer(text, start):
        depth += (m[0] in "([{<") - (m[0] in ")]}>")
        if depth < 0:
            end = m.start()
            break
        if m[0] == "," and not depth:
            items.append(text[begin : m.start()].strip())
            begin = m.end()
    last = text[begin:end].strip()
    return [*items, *([last] if last else [])], end


def lanes_of(vector: str) -> tuple[int, str]:
    """How many of which type: of `<4 x float>`; none of what is no vector of so many."""
    count, _, element = vector[1:-1].partition(" x ")
    return (int(count), element) if vector[:1] == "<" and count.isdigit() else (0, "")


__all__ = ["lanes_of", "listed"]
