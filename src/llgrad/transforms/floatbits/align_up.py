"""Addresses that are rounded up to a multiple of some alignment are as far ahead of a pointer as they are.

    q = inttoptr ((ptrtoint p + 63) & -64)      →      q = getelementptr i8, p, (((ptrtoint p + 63) & -64) - ptrtoint p)

likewise where the alignment is a variable (`std::align`), so that the shadow of `q` is as far into that of `p`, however
that is aligned: where the alignment is more than
allocators give, accesses claim no more than theirs. `llvm.ptrmask` (`__builtin_align_up`) is written likewise.
Addresses that are rounded down, to the head of a page or past a tag, stay as they are.

Arrays that come from Python lie where their elements may (`x[1:]`): accesses of a library's code claim no more
(`as_elements_are`), else LLVM moves vectors by instructions that end the process.
"""

from __future__ import annotations

import re

from llgrad.analysis.bits.integer_values import ahead, with_constant
from llgrad.ir.build import Builder, Names
from llgrad.ir.parse import parse
from llgrad.ir.types import I8, I64, PTR
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Call,
    Cast,
    ConstInt,
    Function,
    GetElementPtr,
    put_instead,
)
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

USUAL = 16  # what `malloc` gives
WORD = 8
_MORE = re.compile(r"\balign (?:1[6-9]|[2-9]\d|\d{3,})\b")
_CLAIMING = re.compile(
    rf"^(?: [^\n]*?\b(?:load|store|call|invoke) |define )[^\n]*?{_MORE.pattern}[^\n]*$", re.MULTILINE
)
_MADE = re.compile(r" = inttoptr i64 |@llvm\.ptrmask\.p0\.i64\(")
_CLAIMED = re.compile(r"^( [^\n]*\b(?:load|store|call|invoke) [^\n]*)$", re.MULTILINE)


def as_elements_are(text: str) -> str:
    """The text, whose accesses and parameters claim no larger alignment than that of a double."""

    def edit(m: re.Match[str]) -> str:
        exact = " byval(" in m[0] or " atomic " in m[0]  # that is how they are passed, or what makes them atomic
        return m[0] if exact else _MORE.sub(f"align {WORD}", m[0])

    return _CLAIMING.sub(edit, text) if _MORE.search(text) else text


def with_alignment(work: LLVMModule) -> None:
    """Rewrite such addresses in `work`."""
    if not _MADE.search(text := work.text()):
        return
    module = parse(text)
    found = [f for f in module.functions if _MADE.search(f.unread or "")]
    if not sum([_rewritten(f) for f in found]):
        return
    work.replace_text(_CLAIMED.sub(lambda m: re.sub(r"\balign (\d+)", _usual, m[1]), write(module)))


def _usual(m: re.Match[str]) -> str:
    return f"align {min(int(m[1]), USUAL)}"


def _rewritten(f: Function) -> int:
    names = Names([v.name for v in (*f.arguments, *f.instructions())])
    made = [i for i in f.instructions() if isinstance(i, Cast | Call) and _is_rounded(i)]
    for i in made:
        _rewrite(i, names)
    return len(made)


def _is_rounded(i: Cast | Call) -> bool:
    if isinstance(i, Cast):
        value = i.value
        found = ahead(value, _start(value)) if i.opcode == "inttoptr" else None
        return found is not None and found[1] and found[0] >= 0
    if i.called_function is None or not i.called_function.name.startswith("llvm.ptrmask."):
        return False
    pointer, mask = i.arguments
    down = -mask.signed if isinstance(mask, ConstInt) else 0
    return down > 0 and not down & (down - 1) and with_constant(pointer)[1] >= down - 1


def _rewrite(i: Cast | Call, names: Names) -> None:
    b = Builder(i.block, names)
    b.at = i.block.instructions.index(i)
    if isinstance(i, Call):
        pointer, mask = i.arguments
        address, start = b.binary("and", b.cast("ptrtoint", pointer, I64), mask), with_constant(pointer)[0]
    else:
        address, start = i.value, _start(i.value)
    by = b.binary("sub", address, b.cast("ptrtoint", start, I64))
    new = GetElementPtr(I8, start, [by], i.type, i.name)
    new.metadata = {k: v for k, v in i.metadata.items() if k == "dbg"}
    put_instead(i, new)


def _start(v: AnyValue, depth: int = 8) -> AnyValue:
    """The pointer that an address is computed from."""
    if isinstance(v, Binary) and depth:
        left = _start(v.lhs, depth - 1)
        return left if left.type == PTR else _start(v.rhs, depth - 1)
    return with_constant(v.value)[0] if isinstance(v, Cast) and v.opcode == "ptrtoint" else v
