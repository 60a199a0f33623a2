"""Pointers to nested procedures: who is called with one calls the procedure itself, and is given its frame.

LLVM makes such a pointer by writing machine code beside the frame (`llvm.init.trampoline`), which wants a stack that
may be executed, and which no derivative could know. So a function that is called with one gets a copy, in which the
parameter is the procedure and one parameter more is its frame; the copy's own calls follow. A pointer that is stored is
left to LLVM, which resolves most of them when it inlines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from llgrad.llvm.assembly import COMDAT, NAME, plain, spelt
from llgrad.support.brackets import listed

_VALUE = r"%[-\w.$]+"
_DEFINITION = re.compile(rf"^define [^@\n]*({NAME})\([^\n]*\{{\n.*?^\}}\n", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(rf"^(define [^@\n]*)({NAME})\(([^\n]*)$", re.MULTILINE)
_INIT = re.compile(
    rf"call void @llvm\.init\.trampoline\(ptr [^%\n]*({_VALUE}), ptr [^@\n]*({NAME}), ptr [^%\n]*({_VALUE})\)"
)
_ADJUST = re.compile(rf"^ *({_VALUE}) = call ptr @llvm\.adjust\.trampoline\(ptr [^%\n]*({_VALUE})\)", re.MULTILINE)
_CALL = re.compile(rf"\bcall [^@%\n]*?({NAME}|{_VALUE})\(")
_LINKAGE = re.compile(r"\b(?:internal|private|linkonce_odr|linkonce|weak_odr|weak|dso_local|hidden|protected) ")
_FRAME = "%llgrad.frame."

TRAMPOLINE = "@llvm.adjust.trampoline("
_FAILING = """
define internal void @llgrad.nested() noinline {
  call void @llgrad_fail(i32 6, ptr null)
  unreachable
}
"""

Closure = tuple[str, str]
"""A procedure and the value of its frame, where it is called."""


def without_trampolines(text: str) -> str:
    """The program with copies of the functions that are called with nested procedures."""
    if TRAMPOLINE not in text:
        return text
    program = _Program(text)
    for name, body in list(program.bodies.items()):
        closures = _closures(body)
        if closures and (new := program.edited(body, closures)) != body:
            text = text.replace(body, new)
            program.bodies[name] = new
    return text + "\n" + "".join(program.made)


class _Program:
    """The functions of a program, and the copies that are made of them."""

    def __init__(self, text: str) -> None:
        self.bodies = {plain(m[1]): m[0] for m in _DEFINITION.finditer(text)}
        self.made: list[str] = []
        self._copies: dict[tuple[str, tuple[tuple[int, str], ...]], str] = {}

    def edited(self, body: str, closures: Mapping[str, Closure]) -> str:
        """The body, in which values of `closures` are nested procedures."""
        lines = body.split("\n")
        for at, line in enumerate(lines):
            if any(_has(line, v) for v in closures) and (m := _CALL.search(line)):
                lines[at] = self._called(line, m, closures)
        return "\n".join(lines)

    def _called(self, line: str, m: re.Match[str], closures: Mapping[str, Closure]) -> str:
        values, end = listed(line, m.end())
        if m[1] in closures:
            procedure, frame = closures[m[1]]
            line = f"{line[: m.start(1)]}{procedure}({', '.join([*values, f'ptr nest {frame}'])}{line[end:]}"
            again = _CALL.search(line)
            return self._called(line, again, closures) if again else line
        passed = {n: closures[v] for n, a in enumerate(values) if (v := a.rpartition(" ")[2]) in closures}
        callee = plain(m[1])
        if not passed or callee not in self.bodies:
            return line
        copy = self._copy(callee, tuple((n, procedure) for n, (procedure, _) in passed.items()))
        idle = {n for n in passed if not self._escapes(callee, n, set())}
        given = ["ptr null" if n in idle else a for n, a in enumerate(values)]
        frames = [f"ptr {frame}" for _, frame in passed.values()]
        return f"{line[: m.start(1)]}{copy}({', '.join([*given, *frames])}{line[end:]}"

    def _copy(self, callee: str, procedures: tuple[tuple[int, str], ...]) -> str:
        """The name of the function's copy for these procedures as arguments."""
        key = callee, procedures
        if key in self._copies:
            return self._copies[key]
        name = spelt(f"{callee}.with.{'.'.join(plain(p) for _, p in procedures)}.{len(self._copies)}")
        self._copies[key] = name
        head, m, rest = self._taken_apart(callee)
        parameters, end = listed(head, m.start(3))
        closures = {parameters[n].rpartition(" ")[2]: (procedure, f"{_FRAME}{n}") for n, procedure in procedures}
        own = ", ".join([*parameters, *(f"ptr {_FRAME}{n}" for n, _ in procedures)])
        tail = re.sub(r" !dbg !\d+", "", COMDAT.sub("", head[end:]))  # one function, one place in the source
        body = self.edited(rest, {**_closures(rest), **closures})  # which may make further copies
        self.made.append(f"{_LINKAGE.sub('', m[1]).replace('define ', 'define internal ')}{name}({own}{tail}\n{body}")
        return name

    def _escapes(self, callee: str, n: int, seen: set[tuple[str, int]]) -> bool:
        """Does the function do more with a procedure it is given than call it and pass it on?"""
        if (callee, n) in seen:
            return False
        seen.add((callee, n))
        head, m, rest = self._taken_apart(callee)
        value = listed(head, m.start(3))[0][n].rpartition(" ")[2]
        for line in rest.split("\n"):
            if not _has(line, value):
                continue
            call = _CALL.search(line)
            if call is None:
                return True
            passed = [k for k, a in enumerate(listed(line, call.end())[0]) if a.rpartition(" ")[2] == value]
            other = plain(call[1])
            if passed and (other not in self.bodies or any(self._escapes(other, k, seen) for k in passed)):
                return True
        return False

    def _taken_apart(self, name: str) -> tuple[str, re.Match[str], str]:
        head, _, rest = self.bodies[name].partition("\n")
        m = _HEAD.match(head)
        assert m is not None
        return head, m, rest


def failing_trampolines(text: str) -> str:
    """The program with pointers to nested procedures that LLVM has left as pointers to a function that fails."""
    text = re.sub(r"^ *(?:tail )?call void @llvm\.init\.trampoline\([^\n]*\n", "", text, flags=re.MULTILINE)
    taken = "= getelementptr i8, ptr @llgrad.nested, i64 0"
    text = re.sub(r"= (?:tail )?call ptr @llvm\.adjust\.trampoline\([^\n]*", taken, text)
    declared = "" if "@llgrad_fail(" in text else "declare void @llgrad_fail(i32, ptr)\n"
    return text + declared + _FAILING


def _closures(body: str) -> dict[str, Closure]:
    """The pointers to nested procedures that a function makes."""
    inits: dict[str, list[Closure]] = {}
    for m in _INIT.finditer(body):
        inits.setdefault(m[1], []).append((m[2], m[3]))
    return {m[1]: inits[m[2]][0] for m in _ADJUST.finditer(body) if len(inits.get(m[2], ())) == 1}


def _has(line: str, value: str) -> bool:
    return re.search(rf"{re.escape(value)}(?![-\w.$])", line) is not None
