"""Panics of Zig: they end in an error, without what Zig's library does to print a trace of the stack.

What it does is nine tenths of a Debug build, and keeps variables of threads. Nothing of it matters to a derivative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = r"(\"(?:[^\"\n]+)\"|[-\w.$]+)"
_PANIC = re.compile(
    r"^(define internal [^\n@]*)@(\"debug\.FullPanic\(\(function '[^'\n]*'\)\)\.(\w+?)(?:__(?:func|anon)_\d+)?\""
    r"|debug\.(defaultPanic|panicExtra|panic)(?:__(?:func|anon)_\d+)?)\(([^\n]*?)\) [^\n]*\{\n.*?^\}\n",
    re.MULTILINE | re.DOTALL,
)  # fmt: skip
_PARAMETER = re.compile(r"(ptr|i64)\b[^,%]* %(\d+)")
_OWN = re.compile(
    rf"^define (?:internal|private) [^\n@]*@{_NAME}\([^\n]*\{{\n.*?^\}}\n"
    rf"|^@{_NAME} = (?:internal|private) [^\n]*\n",
    re.MULTILINE | re.DOTALL,
)  # fmt: skip
_NAMED = re.compile(rf"@{_NAME}")
_SAID = """
@llgrad.panic.said = internal global [256 x i8] zeroinitializer
define internal void @llgrad.panic(ptr %text, i64 %length) noreturn cold {
  %short = icmp ult i64 %length, 255
  %kept = select i1 %short, i64 %length, i64 255
  call void @llvm.memcpy.p0.p0.i64(ptr @llgrad.panic.said, ptr %text, i64 %kept, i1 false)
  %end = getelementptr inbounds i8, ptr @llgrad.panic.said, i64 %kept
  store i8 0, ptr %end
  call void @llgrad_fail(i32 13, ptr @llgrad.panic.said)
  unreachable
}
declare void @llgrad_fail(i32, ptr) cold noreturn
"""


def failing(text: str) -> str:
    """The module, where a panic is `llgrad_fail` with what it says, without the functions that nobody calls then."""
    texts: dict[str, str] = {}

    def body(m: re.Match[str]) -> str:
        start, symbol, kind, function, parameters = m.groups()
        found = _PARAMETER.findall(parameters)
        if (kind == "call" or function == "defaultPanic") and [t for t, _ in found[:2]] == ["ptr", "i64"]:
            call = f"@llgrad.panic(ptr %{found[0][1]}, i64 %{found[1][1]})"
        else:
            said = " ".join(re.findall(r"[A-Z]?[a-z0-9]+", kind)).lower() if kind else "panic"
            texts[said] = f"@llgrad.panic.{len(texts)}" if said not in texts else texts[said]
            call = f"@llgrad_fail(i32 13, ptr {texts[said]})"
        return f"{start}@{symbol}({parameters}) noreturn cold {{\nentry:\n  call void {call}\n  unreachable\n}}\n"

    made = _PANIC.sub(body, text)
    if made == text:
        return text
    constants = (f'{name} = private constant [{len(t) + 1} x i8] c"{t}\\00"\n' for t, name in texts.items())
    return _reached("".join([made, *constants, _SAID]))


def _reached(text: str) -> str:
    """The module without internal functions and variables that nothing leads to from what others may see."""
    own = {m[1] or m[2]: m for m in _OWN.finditer(text)}
    outside = "".join(_between(text, [m.span() for m in own.values()]))
    pending = list({n for n in _NAMED.findall(outside) if n in own})
    known = set(pending)
    while pending:
        new = {n for n in _NAMED.findall(own[pending.pop()][0]) if n in own} - known
        known |= new
        pending += new
    return "".join(_between(text, [m.span() for n, m in own.items() if n not in known]))


def _between(text: str, spans: list[tuple[int, int]]) -> Iterator[str]:
    at = 0
    for start, end in spans:
        yield text[at:start]
        at = end
    yield text[at:]
