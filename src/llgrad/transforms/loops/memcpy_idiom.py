"""Loops that copy or swap memory byte by byte, as copies of blocks: `while (n--) { t = *p; *p++ = *q; *q++ = t; }`.

A byte of a float has no adjoint of its own, so what such a loop moves is refused; of a block, whole floats are moved.
The loop stays, without its accesses, and counts (LLVM knows the result); what follows it moves as many bytes. That is
the same unless the two blocks overlap (and are not one), which is tested as the program runs: then the derivative
fails. So this is done to what was refused, and to nothing else. LLVM does the same to copies, where it sees that
nothing overlaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from llgrad.llvm import LLVMModule

_BEFORE = ("sroa", "simplifycfg", "loop_simplify", "loop_rotate", "simplifycfg", "loop_simplify", "instruction_namer")
_NAME = r"%[-\w.$]+"
_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^([-\w.$]+):[^\n]*\n((?:  [^\n]+\n)+)", re.MULTILINE)
_BRANCH = re.compile(rf"  br i1 ({_NAME}), label %([-\w.$]+), label %([-\w.$]+)(.*)\n\Z")
_LOAD = re.compile(rf"^  ({_NAME}) = load i8, ptr ({_NAME})[,\n][^\n]*\n?", re.MULTILINE)
_STORE = re.compile(rf"^  store i8 ({_NAME}), ptr ({_NAME})[,\n][^\n]*\n?", re.MULTILINE)
_OTHERS = re.compile(r"\b(?:load|store|call|invoke|atomicrmw|cmpxchg|fence)\b")
_PHI = re.compile(rf"^  ({_NAME}) = phi (\S+) \[ (\S+), %([-\w.$]+) \], \[ (\S+), %([-\w.$]+) \]", re.MULTILINE)
_STEP = r"getelementptr (?:inbounds |nuw |nusw )*i8, ptr {0}, i\d+ 1$"
_GEP = r"^  {0} = getelementptr (?:inbounds |nuw |nusw )*i8, ptr (\S+), (i\d+) (\S+)$"
_TOLD = re.compile(r"^ *#dbg_[^\n]*\n|, ![\w.]+ !\d+(?=\n|,)", re.MULTILINE)
_ADD = r"^  {0} = add (?:nuw |nsw )*i\d+ (?:{1}, 1|1, {1})$"
_WIDE = r"^  {0} = ([sz]ext)(?: nneg)? (i\d+) ({1}) to (i\d+)$"
Place = tuple[str, ...]
"""Where a pointer of the loop starts: it, or a base, the index's type and first value, and how that is widened."""


class Move(NamedTuple):
    source: Place
    to: Place
    swaps: bool


class NothingToDo(Exception):
    """There are no loops over bytes."""


def moved_in_blocks(text: str, fail: int) -> str:
    """`in_blocks` of a text that has such loops; NothingToDo where it has none."""
    if (made := in_blocks(text, fail)) == text:
        raise NothingToDo
    return made


def in_blocks(text: str, fail: int) -> str:
    """The text in which such loops move blocks; itself where there is none. `fail`: the code of the failure."""
    if not re.search(r"\bstore i8 %", text):
        return text
    work = LLVMModule.from_text(text)
    work.run(_BEFORE)
    before = work.text()
    names = count()
    after = _FUNCTION.sub(lambda f: _moved(f[0], names, fail), before)
    if after == before:
        return text
    if "@llgrad_fail(" not in before:
        after += "\ndeclare void @llgrad_fail(i32, ptr) noreturn\n"
    return after


def _moved(function: str, names: Iterator[int], fail: int) -> str:
    """A function's text in which its loops are written anew, one after the other."""
    for block in _BLOCK.finditer(function):
        label, body = block[1], _TOLD.sub("", block[2])
        branch, phis = _BRANCH.search(body), {m[1]: m for m in _PHI.finditer(body)}
        if branch is None or (branch[2] == label) == (branch[3] == label) or not phis:
            continue
        if (move := _move(function, body, label, phis)) is not None:
            out = branch[3] if branch[2] == label else branch[2]
            into = f"bytewise.{next(names)}"
            text = _counting(body, label, branch, phis, into) + _blocks(into, out, move, fail)
            return _moved(_entered(function.replace(block[0], text), out, label, f"{into}.move"), names, fail)
    return function


def _counting(body: str, label: str, branch: re.Match[str], phis: dict[str, re.Match[str]], into: str) -> str:
    """The loop without its accesses, which counts how often it runs and then goes to the block `into`."""
    first = next(iter(phis.values()))
    entry = first[6] if first[4] == label else first[4]
    number = f"  %{into}.n = phi i64 [ 0, %{entry} ], [ %{into}.count, %{label} ]\n"
    start = body.index("\n", max(m.end() for m in phis.values())) + 1
    steps = _STORE.sub("", _LOAD.sub("", body[start : branch.start()]))
    steps += f"  %{into}.count = add nuw i64 %{into}.n, 1\n"
    here, there = (f"label %{n}" for n in (label, into))
    ends = (here, there) if branch[2] == label else (there, here)
    last = f"  br i1 {branch[1]}, {ends[0]}, {ends[1]}{branch[4]}\n"
    return f"{label}:\n{number}{body[:start]}{steps}{last}"


def _entered(function: str, block: str, before: str, now: str) -> str:
    """The function in which a block is entered from the block `now` where it was from `before`."""
    phis = re.compile(rf"^{re.escape(block)}:[^\n]*\n(?:  {_NAME} = phi [^\n]*\n)+", re.MULTILINE)
    return phis.sub(lambda m: m[0].replace(f", %{before} ]", f", %{now} ]"), function)


def _move(function: str, body: str, label: str, phis: dict[str, re.Match[str]]) -> Move | None:
    """What a loop moves; None if it does anything else."""
    loads, stores = list(_LOAD.finditer(body)), list(_STORE.finditer(body))
    rest = _STORE.sub("", _LOAD.sub("", body))
    if len(loads) != len(stores) or len(loads) not in (1, 2) or _OTHERS.search(rest) or "phi" in _PHI.sub("", rest):
        return None
    if max(m.start() for m in loads) > min(m.start() for m in stores):
        return None
    if any(len(re.findall(rf"^ +[^#\n]*{re.escape(m[1])}(?![-\w.$])", function, re.MULTILINE)) != 2 for m in loads):
        return None
    read = {m[1]: _start(m[2], body, label, phis) for m in loads}
    written = {m[1]: _start(m[2], body, label, phis) for m in stores}
    if read.keys() != written.keys():
        return None
    a, b = next(iter(read)), list(read)[-1]
    source, to = read[a], written[a]
    if source is None or to is None or source == to or (a != b and (read[b], written[b]) != (to, source)):
        return None
    return Move(source, to, swaps=a != b)


def _start(pointer: str, body: str, label: str, phis: dict[str, re.Match[str]]) -> Place | None:
    """Where a pointer that goes on by one byte in each iteration starts."""
    if (phi := phis.get(pointer)) is not None:
        first, step = _ends(phi, label)
        ahead = re.search(rf"^  {re.escape(step)} = " + _STEP.format(re.escape(pointer)), body, re.MULTILINE)
        return (first,) if ahead else None
    gep = re.search(_GEP.format(re.escape(pointer)), body, re.MULTILINE)
    if gep is None or f"  {gep[1]} = " in body:
        return None
    index, kind = gep[3], gep[2]
    wide = re.search(_WIDE.format(re.escape(index), _NAME), body, re.MULTILINE)
    if (phi := phis.get(wide[3] if wide else index)) is None:
        return None
    first, step = _ends(phi, label)
    ahead = re.search(_ADD.format(re.escape(step), re.escape(phi[1])), body, re.MULTILINE)
    if ahead is None or {"zext": "nuw ", "sext": "nsw ", "": "i64 "}[wide[1] if wide else ""] not in ahead[0]:
        return None
    return (gep[1], kind, first, wide[1], wide[2]) if wide else (gep[1], kind, first)


def _ends(phi: re.Match[str], label: str) -> tuple[str, str]:
    return (phi[5], phi[3]) if phi[4] == label else (phi[3], phi[5])


def _blocks(into: str, out: str, move: Move, fail: int) -> str:
    """The blocks after the loop: whether the blocks of memory overlap, and what is done."""
    lines: list[str] = []
    source, to = (_pointer(p, f"%{into}.{n}", lines) for n, p in enumerate((move.source, move.to)))
    size = f"i64 %{into}.count"

    def copy(target: str, of: str) -> str:
        return f"  call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {of}, {size}, i1 false)"

    if move.swaps:
        kept = f"%{into}.kept"
        steps = [f"  {kept} = alloca i8, {size}, align 16", copy(kept, source), copy(source, to), copy(to, kept)]
    else:
        steps = [copy(to, source)]
    same = "eq" if move.swaps else "ule"  # a copy to before its source may overlap
    starts, does = "".join(f"{line}\n" for line in lines), "\n".join(steps)
    return f"""
{into}:
{starts}  %{into}.end = getelementptr i8, ptr {source}, {size}
  %{into}.end.to = getelementptr i8, ptr {to}, {size}
  %{into}.before = icmp ule ptr %{into}.end, {to}
  %{into}.behind = icmp ule ptr %{into}.end.to, {source}
  %{into}.same = icmp {same} ptr {to}, {source}
  %{into}.apart = or i1 %{into}.before, %{into}.behind
  %{into}.good = or i1 %{into}.apart, %{into}.same
  br i1 %{into}.good, label %{into}.move, label %{into}.fail

{into}.fail:
  call void @llgrad_fail(i32 {fail}, ptr null)
  unreachable

{into}.move:
{does}
  br label %{out}
"""


def _pointer(place: Place, name: str, lines: list[str]) -> str:
    """The pointer that a place is, written before a use."""
    if len(place) == 1:
        return place[0]
    base, kind, index, *widened = place
    if widened:
        lines.append(f"  {name}.wide = {widened[0]} {widened[1]} {index} to {kind}")
        index = f"{name}.wide"
    lines.append(f"  {name} = getelementptr i8, ptr {base}, {kind} {index}")
    return name


__all__ = ["in_blocks"]
