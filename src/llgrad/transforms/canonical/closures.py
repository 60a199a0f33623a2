"""Pointers to nested procedures that are stored: records of the procedure and its frame instead of machine code.

What `trampolines` leaves are pointers that go through memory (`object%f => inner`). The 32 bytes in which LLVM would
write machine code take the addresses of the procedure and of its frame here, and the pointer is the record's address
plus one: addresses of functions are even. A call through a pointer, anywhere in the program, looks at the last bit: of
a record it calls the procedure, and gives it the frame. All of that is loads, stores and calls, so it has derivatives
as any other code has; the shadow of a record holds the shadow of the frame. Each procedure's frame has a place of its
own in records, and is handed to that procedure alone: points-to, which tells places apart, gives none another's frame.

Code outside the program knows nothing of records. Where it may come by such a pointer, be it through memory, all are
left as they are, and fail when they are called; so are all where a call through a pointer cannot be told in these
terms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llgrad.llvm.assembly import NAME, plain
from llgrad.models import libc
from llgrad.rules import blas, library
from llgrad.support.brackets import listed

_VALUE = r"%[-\w.$]+"
_INIT = re.compile(
    rf"^( *)(?:tail )?call void @llvm\.init\.trampoline\(ptr [^%\n]*({_VALUE}), ptr [^@\n]*({NAME}), "
    rf"ptr [^%\n]*({_VALUE})\)([^\n]*)$", re.MULTILINE,
)  # fmt: skip
_ADJUST = re.compile(rf"= (?:tail )?call ptr @llvm\.adjust\.trampoline\(ptr [^%\n]*({_VALUE})\)")
_ROOM = re.compile(rf"^( *{_VALUE} = alloca \[32 x i8\](?:, i\d+ 1)?, align) \d+", re.MULTILINE)
_CALL = re.compile(
    rf"^( *(?:{_VALUE} = )?)(?:(?:tail |notail )?(call)|(invoke)) "
    rf"([^@(\n]*?(?:\([^@()\n]*\)[^@(\n]*?)*)({_VALUE})\(([^\n]*)$", re.MULTILINE,
)  # fmt: skip
_LEFT = re.compile(rf"^(?![^\n]*\basm\b)[^@\n]*\b(?:call|invoke) [^@\n]*?{_VALUE}\(", re.MULTILINE)
_DECLARED = re.compile(rf"^declare [^@\n]*({NAME})\(", re.MULTILINE)
_VARIABLE = re.compile(rf"^({NAME}) = [^\n]*?\b(?:global|constant) ([^\n]*)", re.MULTILINE)
_MADE = re.compile(rf"^ *({_VALUE}) = alloca ([^\n]*)", re.MULTILINE)
_STEP = re.compile(rf"^ *({_VALUE}) = getelementptr [^\n]*?\bptr ((?:@|%)[-\w.$]+)", re.MULTILINE)
_POINTING = re.compile(r"\bptr\b|\bi64\b|%")  # c_funptr is an i64
_DEFINED = re.compile(rf"^define [^@\n]*({NAME})\(", re.MULTILINE)
_HEAD = re.compile(rf"^define ([^@\n]*)({NAME})\(", re.MULTILINE)
_TYPE = re.compile(r"(?:^|(?<= ))(?:void|i\d+|ptr|half|float|double|fp128|x86_fp80|[{<\[].*[}>\]])$")
_CONVENTION = re.compile(r"\b(?:\w+cc|cc \d+|asm)\b|\.\.\.")
_PASSED = re.compile(r"(?:byval|sret|inalloca)\([^()]*(?:\([^()]*\)[^()]*)*\)|\b(?:zeroext|signext|inreg)\b")

Shape = tuple[str, tuple[str, ...]]
"""The types of a procedure's result and of its parameters, but the frame."""


def with_closures(text: str) -> str:
    """The program in which pointers to nested procedures that are stored are records."""
    if "call ptr @llvm.adjust.trampoline(" not in text or _given_away(text):
        return text
    names, apart = sorted({m[3] for m in _INIT.finditer(text)}), _are_rooms(text)
    procedures = {name: 8 * n if apart else 8 for n, name in enumerate(names, 1)}
    calls = _Calls(_shapes(text, procedures))
    written = _CALL.sub(calls.written, text)
    if calls.strange or _LEFT.search(_CALL.sub("", text)):
        return text
    size = max(32, 8 + 8 * len(procedures))
    written = _ROOM.sub(lambda m: f"{m[1].replace('[32 x i8]', f'[{size} x i8]')} 16", written)
    text = _ADJUST.sub(r"= getelementptr i8, ptr \1, i64 1", _INIT.sub(lambda m: _recorded(m, procedures), written))
    return text + "".join(calls.made)


def _are_rooms(text: str) -> bool:
    """Is each record an allocation of 32 bytes that can be made as large as is needed?"""
    for part in re.split(r"^(?=define )", text, flags=re.MULTILINE):
        rooms = {m[1].split()[0] for m in _ROOM.finditer(part)}
        if any(m[2] not in rooms for m in _INIT.finditer(part)):
            return False
    return True


def _shapes(text: str, procedures: dict[str, int]) -> dict[Shape, list[tuple[str, int]]]:
    """The procedures of each shape that a record may hold, and where in a record the frame of each lies."""
    found: dict[Shape, list[tuple[str, int]]] = {}
    for m in _HEAD.finditer(text):
        if m[2] in procedures and (kind := _TYPE.search(m[1].rstrip())) is not None:
            parameters = [_passed(a) for a in listed(text, m.end())[0] if " nest " not in a]
            found.setdefault(_shape(kind[0], parameters), []).append((m[2], procedures[m[2]]))
    return found


def _shape(kind: str, passed: Sequence[str]) -> Shape:
    return kind, tuple(_PASSED.sub("", t).strip() for t in passed)


def _given_away(text: str) -> bool:
    """May code outside the program find such a pointer: as an argument, in memory behind one, in what it calls?

    Memory whose type has no pointers holds none; of all other memory it is not known here.
    """
    defined = {plain(name) for name in _DEFINED.findall(text)}
    foreign = {name for name in _DECLARED.findall(text) if plain(name) not in defined and not _is_known(plain(name))}
    if not foreign:
        return False
    numbers = {m[1] for m in _VARIABLE.finditer(text) if not _POINTING.search(m[2])}
    for part in re.split(r"^(?=define )", text, flags=re.MULTILINE):
        own = numbers.union(m[1] for m in _MADE.finditer(part) if not _POINTING.search(m[2]))
        for m in _STEP.finditer(part):
            if m[2] in own:
                own.add(m[1])
        for line in part.split("\n"):
            named = foreign.intersection(re.findall(NAME, line)) if not line.startswith("declare ") else ()
            for name in named:
                call = re.search(rf"\b(?:call|invoke) [^@%\n]*?{re.escape(name)}\(", line)
                given = listed(line, call.end())[0] if call else ["ptr"]
                if any(a.startswith("ptr") and a.split()[-1] not in own for a in given):
                    return True
    return False


def _is_known(name: str) -> bool:
    """Functions that neither keep pointers nor call what they find in memory."""
    listed = library.effects(name) or library.lookup(name) or blas.is_routine(name) or name in libc.ROUTINES
    return bool(listed) or name.startswith(("llvm.", "_Fortran", "llgrad"))


def _recorded(m: re.Match[str], procedures: dict[str, int]) -> str:
    indent, record, procedure, frame, end = m.groups()
    at = f"%llgrad.frame.{m.start()}"
    return (
        f"{indent}store ptr {procedure}, ptr {record}, align 16{end}\n"
        f"{indent}{at} = getelementptr i8, ptr {record}, i64 {procedures[procedure]}{end}\n"
        f"{indent}store ptr {frame}, ptr {at}, align 8{end}"
    )


class _Calls:
    """Calls through pointers as calls of functions that look at the pointer first, one for each type.

    Where no procedure of a call's shape is recorded, the pointer is that of a function: a method of an object.
    """

    def __init__(self, shapes: dict[Shape, list[tuple[str, int]]]) -> None:
        self.shapes = shapes
        self.made: list[str] = []
        self.strange = False
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}

    def written(self, m: re.Match[str]) -> str:
        head, call, invoke, said, pointer, rest = m.groups()
        kind = _TYPE.search(said.rstrip())
        given, end = listed(rest, 0)
        if kind is None or _CONVENTION.search(said) or any(a.startswith("metadata") for a in given):
            self.strange = True
            return m[0]
        types = tuple(_passed(a) for a in given)
        if not (procedures := self.shapes.get(_shape(kind[0], types))):
            return m[0]
        result = " ".join([*_PASSED.findall(said), kind[0]])
        name = self._names.setdefault((result, types), f"@llgrad.called.{len(self._names)}")
        if len(self._names) > len(self.made):
            self.made.append(_function(name, result, kind[0], types, procedures))
        return f"{head}{call or invoke} {result} {name}({', '.join([f'ptr {pointer}', *given])}){rest[end + 1 :]}"


def _function(
    name: str, result: str, kind: str, types: tuple[str, ...], procedures: Sequence[tuple[str, int]]
) -> str:  # fmt: skip
    """Each procedure has its frame at a place of its own in records, so that points-to keeps frames apart."""
    own = [f"{t} %a{n}" for n, t in enumerate(types)]
    made, back = ("", "ret void") if kind == "void" else ("%r{0} = ", f"ret {kind} %r{{0}}")
    ways = "".join(
        f"""test{n}:
  %is{n} = icmp eq ptr %procedure, {procedure}
  br i1 %is{n}, label %procedure{n}, label %test{n + 1}
procedure{n}:
  %place{n} = getelementptr i8, ptr %f, i64 {offset - 1}
  %frame{n} = load ptr, ptr %place{n}, align 8
  {made.format(n)}call {result} {procedure}({", ".join([*own, f"ptr nest %frame{n}"])})
  {back.format(n)}
"""
        for n, (procedure, offset) in enumerate(procedures)
    )
    return f"""
define internal {result} {name}({", ".join(["ptr %f", *own])}) alwaysinline {{
  %bits = ptrtoint ptr %f to i64
  %last = trunc i64 %bits to i1
  br i1 %last, label %record, label %function
record:
  %at = getelementptr i8, ptr %f, i64 -1
  %procedure = load ptr, ptr %at, align 8
  br label %test0
{ways}test{len(procedures)}:
  unreachable
function:
  {made.format("")}call {result} %f({", ".join(own)})
  {back.format("")}
}}
"""


def _passed(argument: str) -> str:
    """The type of an argument, with what says how it is passed."""
    if argument[0] in "{<[":
        return argument[: listed(argument, 1)[1] + 1]
    return " ".join([argument.split(None, 1)[0], *_PASSED.findall(argument)])
