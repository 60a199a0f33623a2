"""What nim's generated C does with exceptions that nobody in the program catches: they end in an error.

A procedure that raises sets a flag and returns; its callers test the flag. Who calls it from outside the program would
take the zero that it returned for its result, and find the flag set in all later calls. So procedures that may raise
have two symbols: the program calls the one that nim wrote (`__llgrad_nim.name`), all others one that calls it, tests
the flag and fails (`llgrad_fail`, with the exception). It first fails if an exception is being handled, so that
analyses know that none lies there from before (`analysis.memory.must_stores`): a handler cannot call code that calls in
turn.
Where no handler is in the program, to raise is to fail; where none is for defects (an index out of bounds), those fail
at once: what leads there returns nowhere, and the text of the error is no part of any derivative.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

RAISED, HANDLED = "__llgrad_nim_raised", "__llgrad_nim_handled"
_HEAD = r"^(?:N_LIB_PRIVATE|N_LIB_EXPORT|extern) +N_\w+\(([^\n()]+), (\w+)\)\(([^\n()]*)\)"
_DEFINED = re.compile(_HEAD + r" \{(.*?)^(?=N_|static N_|\Z)", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(r"^(?: *)" + _HEAD[1:] + ";$", re.MULTILINE)
_FIRST = re.compile(r"^ *(?:N_LIB_\w+|extern|static) ", re.MULTILINE)
_RAISING = re.compile(r"\bnimErr_\b|\bBeforeRet_\b")
_LINE = re.compile(r'^#line \d+ "[^\n]*"$', re.MULTILINE)
_FLAG = re.compile(r"^N_LIB_PRIVATE (?:NIM_THREADVAR )?NIM_BOOL (nimInErrorMode__\w+);", re.MULTILINE)
CURRENT = re.compile(r"^N_LIB_PRIVATE (?:NIM_THREADVAR )?Exception\* (currException__\w+);", re.MULTILINE)


def entered(texts: Mapping[Path, str], own: Collection[Path]) -> dict[Path, str]:
    """The units, and one beside each of `own` (those that are not of nim's library) with entries for those outside."""
    flags = [m[1] for text in texts.values() for m in _FLAG.finditer(text)]
    current = [m[1] for text in texts.values() for m in CURRENT.finditer(text)]
    if not flags or not current:
        return dict(texts)
    others = [text for text in texts.values() if not CURRENT.search(text)]  # nim's own handler is for what it prints
    caught = _caught(others)
    texts = {path: _failing(text, *caught) for path, text in texts.items()}
    if not caught[0]:
        return texts
    found = {path: [m for m in _DEFINED.finditer(texts[path]) if _RAISING.search(m[4])] for path in own}
    names = {m[2] for those in found.values() for m in those}
    made = {path: _labelled(text, names) for path, text in texts.items()}
    for path, those in found.items():
        if those:
            text = texts[path]
            entries = "\n".join(_entry(m, text, current[0]) for m in those)
            before = text[: _first(text)] + _OUTSIDE.format(current[0])
            made[path.with_name(f"{path.stem}.entries.c")] = before + entries
    holder = next(path for path, text in texts.items() if CURRENT.search(text))
    made[holder] += _raised(flags[0], current[0])
    return made


def _labelled(text: str, names: set[str]) -> str:
    """The unit, where declarations say under which symbol the program finds what may raise."""
    declared = {m[2] for m in _DECLARED.finditer(text)}

    def label(m: re.Match[str]) -> str:
        return f'{m[0].rstrip(";")} __asm__("__llgrad_nim.{m[2]}");' if m[2] in names else m[0]

    def head(m: re.Match[str]) -> str:  # what nobody calls in its own unit is not declared there
        return f"{label(m)} {m[0]}" if m[2] in names - declared else m[0]

    return re.sub(_HEAD + r"(?= \{)", head, _DECLARED.sub(label, text), flags=re.MULTILINE)


def _first(text: str) -> int:
    """Where functions and variables are declared: all types are before."""
    found = _FIRST.search(text)
    return found.start() if found else len(text)


_OUTSIDE = f"""
extern void {RAISED}(void);
extern void {HANDLED}(void) __attribute__((noreturn, cold));
extern void* {{}};
"""


def _entry(m: re.Match[str], text: str, current: str) -> str:
    result, name, parameters, _ = m.groups()
    lines = _LINE.findall(text, 0, m.start())
    plain = [] if parameters in ("", "void") else [p.split()[-1].lstrip("*") for p in parameters.split(", ")]
    call = f"{name}__inside({', '.join(plain)})"
    returned = (f"{result} result = {call};", "return result;") if result != "void" else (f"{call};", "")
    return "\n".join([
        f'extern {result} {name}__inside({parameters}) __asm__("__llgrad_nim.{name}");',
        *lines[-1:],
        f"{result} {name}({parameters}) {{ if ({current}) {HANDLED}(); {returned[0]} {RAISED}(); {returned[1]} }}",
        "",
    ])  # fmt: skip


def _raised(flag: str, current: str) -> str:
    """Tests the flag, and fails with what was raised. The next call finds the flag and the current exception as if
    nothing had been (nim leaves one there that was raised again)."""
    return f"""
extern void llgrad_fail(int, void*) __attribute__((noreturn, cold));
__attribute__((noinline, cold, noreturn)) static void llgrad_uncaught(void) {{
  Exception* e = {current};
  {flag} = 0;
  {current} = 0;
  llgrad_fail(12, e);
}}
void {RAISED}(void) {{
  if (__builtin_expect({flag}, 0)) llgrad_uncaught();
  {current} = 0;
}}
__attribute__((cold, noreturn)) void {HANDLED}(void) {{
  static struct {{ void* type; void* parent; const char* name; long length; void* text; }} e;
  e.name = "a handler, which is not left yet, led to this call";
  {current} = 0;
  llgrad_fail(12, &e);
}}
"""


# --- what fails where it is raised ------------------------------------------------------------------------------------

_HANDLED = "*nimErr_ = NIM_FALSE;"
_HANDLER = re.compile(r"\bif \((isObj\w*\(nimBorrowCurrentException\(\)[^{]*)\{")
_DEFECT = re.compile(r'"\|(?:Exception|(?:\w+\|)*Defect)\|')
_DEFECTS = {
    "raiseIndexError2": ("IndexDefect", 'n < 0 ? "index out of bounds, the container is empty" : '
                         '"index %ld not in 0 .. %ld", (long) i, (long) n'),
    "raiseIndexError3": ("IndexDefect", '"index %ld not in %ld .. %ld", (long) i, (long) a, (long) b'),
    "raiseIndexError": ("IndexDefect", '"index out of bounds"'),
    "raiseFieldError": ("FieldDefect", '"%s", f.p ? f.p->data : ""'),
    "raiseFieldError2": ("FieldDefect", '"%s%ld\'", f.p ? f.p->data : "", (long) discVal'),
    "raiseRangeError": ("RangeDefect", '"value out of range: %ld", (long) val'),
    "raiseRangeErrorI": ("RangeDefect", '"value out of range: %ld notin %ld .. %ld", (long) i, (long) a, (long) b'),
    "raiseRangeErrorF": ("RangeDefect", '"value out of range"'),
    "raiseRangeErrorU": ("RangeDefect", '"value out of range"'),
    "raiseRangeErrorNoArgs": ("RangeDefect", '"value out of range"'),
    "raiseObjectConversionError": ("ObjectConversionDefect", '"invalid object conversion"'),
    "raiseOverflow": ("OverflowDefect", '"over- or underflow"'),
    "raiseDivByZero": ("DivByZeroDefect", '"division by zero"'),
    "raiseFloatInvalidOp": ("FloatInvalidOpDefect", '"FPU operation caused a NaN result"'),
    "raiseFloatOverflow": ("FloatOverflowDefect", '"FPU operation caused an overflow"'),
    "raiseAssert": ("AssertionDefect", '"%s", msg.p ? msg.p->data : ""'),
}  # fmt: skip
_RAISES = re.compile(
    r"^N_LIB_PRIVATE N_\w+\(void, ((?:raise[A-Z]\w*?)(?:__\w+)?)\)\([^\n()]*\) \{", re.MULTILINE
)  # fmt: skip
_FAILS = """
extern void llgrad_fail(int, void*) __attribute__((noreturn, cold));
#define llgrad_defect(class, ...) { \\
  static struct { long capacity; char data[248]; } said; \\
  static struct { void* type; void* parent; const char* name; long length; void* text; } e; \\
  int length = __builtin_snprintf(said.data, sizeof said.data, __VA_ARGS__); \\
  e.length = length < (int) sizeof said.data ? length : (int) sizeof said.data - 1; \\
  e.name = class; \\
  e.text = &said; \\
  llgrad_fail(12, &e); }
"""


def _caught(texts: Sequence[str]) -> tuple[bool, bool]:
    """Is any exception caught, and may a defect be?"""
    typed = [m[1] for text in texts for m in _HANDLER.finditer(text)]
    handlers = sum(text.count(_HANDLED) for text in texts)
    return handlers > 0, handlers > len(typed) or any(map(_DEFECT.search, typed))


def _failing(text: str, exceptions: bool, defects: bool) -> str:
    """The unit, where nim's runtime fails in place of raising what nobody catches."""

    def body(m: re.Match[str]) -> str:
        name = m[1].partition("__")[0]
        if name in _DEFECTS and not defects:
            return f'{m[0]} llgrad_defect("{_DEFECTS[name][0]}", {_DEFECTS[name][1]})'
        if name == "raiseExceptionEx" and not exceptions:
            return f"{m[0]} if (!e->name) e->name = ename; llgrad_fail(12, e);"
        return m[0]

    made = _RAISES.sub(body, text)
    return made if made == text else _FAILS + made
