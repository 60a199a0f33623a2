"""Constant tables of distances become tables of pointers again.

Where code may be loaded at any address, LLVM turns a constant table of pointers into one of distances, of 32 bits, from
the table, and a load from it into `llvm.load.relative`. Analyses know pointers. A table of distances that LLVM has not
made itself stays, and so do its loads, for which there is no rule.
"""

from __future__ import annotations

import re
from itertools import count

from llgrad.llvm.assembly import NAME, plain, spelt

_LOADED = "@llvm.load.relative."
_TABLE = r"^{name} = [^\n]*?constant \[(\d+) x i32\] \[([^\n]*)\][^\n\]]*$"
_LOAD = re.compile(
    rf"^( *)(%[^ ]+) = (?:tail )?call [^\n@]*@llvm\.load\.relative\.i(32|64)\(ptr (?:\w+ )*({NAME}), i\d+ ([^,)]+)\)"
    r"[^\n!]*?((?:, ![^\n]*)?)$",
    re.MULTILINE,
)
_FIRST, _LAST = "i32 trunc (i64 sub (i64 ptrtoint (ptr ", " to i64)"


def with_pointers(text: str) -> str:
    """The text with pointers in the tables, and plain loads of them."""
    if _LOADED not in text:
        return text
    tables: dict[str, str] = {}
    number = count()

    def edit(m: re.Match[str]) -> str:
        space, result, width, name, offset, notes = m.groups()
        if name not in tables:
            tables[name] = _absolute(text, name)
        if not tables[name]:
            return m[0]
        wide, twice, place = (f'%"llgrad.table.{next(number)}"' for _ in range(3))
        lines = (
            f"{wide} = {'sext i32' if width == '32' else 'add i64'} {offset}{' to i64' if width == '32' else ', 0'}",
            f"{twice} = shl i64 {wide}, 1",
            f"{place} = getelementptr i8, ptr {_name(name)}, i64 {twice}",
            f"{result} = load ptr, ptr {place}, align 8{notes}",
        )
        return "\n".join(space + line for line in lines)

    return "".join([_LOAD.sub(edit, text), *tables.values()])


def _name(table: str) -> str:
    return spelt(f"{plain(table)}.absolute")


def _absolute(text: str, name: str) -> str:
    """The table of pointers for a table of distances; nothing if it is anything else."""
    m = re.search(_TABLE.format(name=re.escape(name)), text, re.MULTILINE)
    if m is None:
        return ""
    *parts, rest = m[2].split(f", i64 ptrtoint (ptr {name} to i64)) to i32)")
    parts = [part.removeprefix(", ") for part in parts]
    if rest or not all(part.startswith(_FIRST) and part.endswith(_LAST) for part in parts):
        return ""
    pointers = ", ".join(f"ptr {part[len(_FIRST) : -len(_LAST)]}" for part in parts)
    return f"{_name(name)} = internal unnamed_addr constant [{len(parts)} x ptr] [{pointers}], align 8\n"
