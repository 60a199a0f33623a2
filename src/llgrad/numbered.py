"""Numbers that LLVM moves as pointers are stored as numbers again.

Where an enum or a union holds a number in one variant and a pointer in another, LLVM may keep both in a register of a
pointer's type: `inttoptr` of a length, or of an index. Such a pointer leads to no memory and has no shadow, and one
that is only stored need not be a pointer: the same bits are stored as the integer that they were. (What is loaded, or
comes from a float or a pointer, may be an address, and stays.)
"""

from __future__ import annotations

import re

_BODY = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_LOCAL = r'(?:%[-\w.$]+|%"[^"\n]*")'
_MADE = re.compile(rf"^  ({_LOCAL}) = inttoptr i64 ({_LOCAL}) to ptr(?:, ![^\n]*)?\n", re.MULTILINE)
_OF_POINTERS = re.compile(r", !(?:tbaa|nonnull) !\d+")


def with_numbers_stored(text: str) -> str:
    """The text in which what is made a pointer to be stored, and for nothing else, is stored as an integer."""
    return _BODY.sub(lambda m: _stored(m[0]), text) if _MADE.search(text) else text


def _stored(body: str) -> str:
    for made in _MADE.finditer(body):
        pointer, number = made.groups()
        if re.search(rf"^  {re.escape(number)} = (?:load|bitcast|ptrtoint) ", body, re.MULTILINE):
            continue
        named = rf"{re.escape(pointer)}(?![-\w.$])"
        lines = [u for u in re.findall(rf"^[^\n]*{named}[^\n]*\n", body, re.MULTILINE) if u != made[0]]
        uses = [line for line in lines if "#dbg_" not in line]
        if not uses or not all(re.match(rf"  store ptr {named}, ptr (?!{named})", u) for u in uses):
            continue
        for line in (made[0], *lines):
            stored = _OF_POINTERS.sub("", f"  store i64 {number}, {line.partition(', ')[2]}")
            body = body.replace(line, stored if line in uses else "")
    return body
