"""Words that are loaded in two parts and put together again are loaded whole.

Rust's `Result<Vec<f64>, Error>` has an error's first byte where a vector has its pointer. Where a program asks for
both, LLVM (`sroa`) loads that byte and the seven after it, for either use: an address is then computed from integers,
and its shadow cannot be. The machine counts from the low end: the part that is shifted lies behind the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LOCAL = r'%(?:[-\w.$]+|"[^"\n]*")'
_BODY = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_JOINED = re.compile(rf"^  ({_LOCAL}) = or disjoint i(\d+) ({_LOCAL}), ({_LOCAL})(?:,[^\n]*)?\n", re.MULTILINE)
_MADE = re.compile(rf"^  ({_LOCAL}) = ([^\n]*)\n", re.MULTILINE)
_SHIFTED = re.compile(rf"shl (?:nuw |nsw )*i\d+ ({_LOCAL}), (\d+)(?!\d)")
_WIDENED = re.compile(rf"zext (?:nneg )?i(\d+) ({_LOCAL}) to ")
_LOADED = re.compile(rf"load i\d+, ptr ({_LOCAL}), (align \d+)(?:.*(, !dbg !\d+))?")
_MOVED = re.compile(rf"getelementptr (?:inbounds |nuw |nusw )*i8, ptr ({_LOCAL}), i64 (\d+)(?!\d)")
_LABEL = re.compile(r'^([-\w.$]+|"[^"\n]+"):(?: +; preds = ([^\n]*))?$', re.MULTILINE)
_WRITES = re.compile(
    r"^ +(?:store|fence|[^\n]*\b(?:cmpxchg|atomicrmw|invoke|call\b(?![^\n]*@llvm\.(?:assume|experimental)\b)))\b",
    re.MULTILINE,
)


class _Part(NamedTuple):
    """`bits` bits of memory, so many bytes behind a base, and where they go in the word."""

    shift: int
    bits: int
    base: str
    offset: int
    address: str
    told: str  # alignment and place in the source
    load: re.Match[str]


def rejoined(text: str) -> str:
    """The text in which such words are loaded whole."""
    return _BODY.sub(lambda m: _rejoined(m[0]), text) if _JOINED.search(text) else text


def _rejoined(body: str) -> str:
    number = 0
    while (found := next(_words(body), None)) is not None:
        joined, low, last = found
        name, bits = joined[1], joined[2]
        line = f"  {name} = load i{bits}, ptr {low.address}, {low.told}\n"
        if re.search(rf" = inttoptr i64 {re.escape(name)} to ptr\b", body):
            pointer, number = f"%llgrad.whole.{number}", number + 1
            line = f"  {pointer} = load ptr, ptr {low.address}, {low.told}\n  {name} = ptrtoint ptr {pointer} to i64\n"
        body = "".join((body[: last.end()], line, body[last.end() : joined.start()], body[joined.end() :]))
    return body


def _words(body: str) -> Iterator[tuple[re.Match[str], _Part, re.Match[str]]]:
    """What joins two parts, the first of them, and the load that comes last; nothing is written between the loads."""
    made = {m[1]: m for m in _MADE.finditer(body)} if _JOINED.search(body) else {}
    for joined in _JOINED.finditer(body):
        parts = sorted(filter(None, (_part(made, name) for name in joined.groups()[2:])), key=lambda p: p.shift)
        if len(parts) == 2 and _is_word(parts[0], parts[1], int(joined[2])):
            first, last = sorted((p.load for p in parts), key=lambda m: m.start())
            if (between := _between(body, first.end(), last.start())) is not None and not _WRITES.search(between):
                yield joined, parts[0], last


def _between(body: str, start: int, end: int) -> str | None:
    """What runs between two places, of one block or of one and the only block that leads to it."""
    labels = list(_LABEL.finditer(body, 0, end))
    inner = [label for label in labels if label.start() >= start]
    if not inner:
        return body[start:end]
    if len(inner) == len(labels):
        return None
    before, last = labels[-len(inner) - 1], inner[-1]
    return body[start : inner[0].start()] + body[last.end() : end] if last[2] == f"%{before[1]}" else None


def _is_word(low: _Part, high: _Part, bits: int) -> bool:
    beside = low.base == high.base and low.bits % 8 == 0 and low.offset + low.bits // 8 == high.offset
    return beside and low.shift == 0 and high.shift == low.bits and low.bits + high.bits == bits


def _part(made: dict[str, re.Match[str]], name: str) -> _Part | None:
    """The part of memory that a value holds, if it is one."""

    def of(name: str) -> str:
        return made[name][2] if name in made else ""

    shifted = _SHIFTED.match(of(name))
    widened = _WIDENED.match(of(shifted[1] if shifted else name))
    loaded = _LOADED.match(of(widened[2])) if widened else None
    if widened is None or loaded is None:
        return None
    moved = _MOVED.match(of(loaded[1]))
    base, offset = (moved[1], int(moved[2])) if moved else (loaded[1], 0)
    shift, told = int(shifted[2]) if shifted else 0, loaded[2] + (loaded[3] or "")
    return _Part(shift, int(widened[1]), base, offset, loaded[1], told, made[widened[2]])
