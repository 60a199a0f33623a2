"""D: ldc, in its subset without a runtime (`-betterC`).

`extern(C)` functions keep their names, D's own are found by their plain ones. A slice is one IR value, length and
address: what is defined with slices as parameters takes the two apart instead, for callers outside; within the program
a function beside it (`….sliced`) takes slices.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from ctypes.util import find_library
from pathlib import Path

from msgspec.structs import replace

from llgrad.frontends.common.consulted import Consulted, ahead, looked_for
from llgrad.frontends.common.tools import (
    UNOPTIMISED,
    Compiled,
    Language,
    Source,
    Tool,
    find,
    makefile_dependencies,
    run,
)
from llgrad.frontends.d.nested_frames import with_arrays_apart

_FIX = "correct the source, or pass the flags it needs (-I…, -d-version=…)"
_FLAGS = ("-betterC", "-O2", "--boundscheck=off", "-g", "--mcpu=x86-64", "--output-ll")
_RAW = (f"-{UNOPTIMISED}",)
_UNVECTORISED = ("--disable-loop-unrolling", "--vectorize-loops=false", "--vectorize-slp=false")


_COPIED = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare noalias ptr @malloc(i64)
define linkonce_odr noalias ptr @_d_allocmemory(i64 %size) alwaysinline {
  %made = call ptr @malloc(i64 %size)
  ret ptr %made
}
define linkonce_odr void @_d_array_slice_copy(ptr %to, i64 %count, ptr %from, i64 %others, i64 %size) alwaysinline {
  %bytes = mul i64 %count, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
"""
"""What `a[] = b[]` calls, which D's runtime has, and what closures are kept in (which nobody collects)."""


def ldc() -> Tool:
    """The compiler; CompilerError that says how to get one."""
    fix = "install ldc (Debian: apt install ldc)"
    return find("D", ("ldc2",), "LLGRAD_LDC", ("--version",), r"and LLVM (\d+)", fix)


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    bodies = Compiled(_COPIED.encode(), (sources[0].path,), is_runtime=True)
    made = [_file(source, raw) for source in sources]
    texts = unread_elsewhere(unsliced([c.module.decode() for c in made]))
    return [*(replace(c, module=t.encode()) for c, t in zip(made, texts, strict=True)), bodies]


_VARIABLE = re.compile(r"^(@_D\w+) = (?=thread_local global )", re.MULTILINE)
_ELSEWHERE = re.compile(r"^(@_D\w+) = external thread_local ", re.MULTILINE)


def unread_elsewhere(texts: Sequence[str]) -> list[str]:
    """The modules with static variables of threads (as D's modules declare): those that nobody sets are constant."""
    shared = {name for text in texts for name in _ELSEWHERE.findall(text)}
    return [_VARIABLE.sub(lambda m: m[0] if m[1] in shared else f"{m[0]}internal ", text) for text in texts]


# --- slices as parameters ---------------------------------------------------------------------------------------------

_NAME = r"(\"[^\"\n]+\"|[\w.$]+)"
_SLICE = re.compile(r"\{ i64, (ptr|[^{}]*\*) \} %([\w.$]+)")
_DEFINED = re.compile(rf"^define ([^\n@]*)@{_NAME}\(([^\n()]*\{{ i64, [^\n()]*)\)([^\n]*\{{)$", re.MULTILINE)
_LOCAL = re.compile(r"\b(?:weak|weak_odr|linkonce|linkonce_odr|internal|private|available_externally)\b")
_WORDS = re.compile(r"\b(?:hidden|protected|dso_local|noundef|nonnull|zeroext|signext|noalias) ")


def unsliced(modules: Sequence[str]) -> list[str]:
    """The modules with lengths and addresses in place of slices, where functions are called from outside."""
    wanted = [{m[2]: m for m in _DEFINED.finditer(t) if not _LOCAL.search(m[1]) and _apart(m[3])} for t in modules]
    names = [re.escape(name) for found in wanted for name in found]
    if not names:
        return list(modules)
    called = re.compile(rf"@({'|'.join(names)})(?![\w.$\"])")
    made = []
    for text, found in zip(modules, wanted, strict=True):
        inside = called.sub(lambda m: f"@{_sliced(m[1])}", text)
        for name, m in found.items():
            head = f"define {m[1]}@{_sliced(name)}({m[3]}){m[4]}"
            inside = inside.replace(head, _taken_apart(m)) + _beside(m)
        made.append(inside)
    return made


def _sliced(name: str) -> str:
    return f'{name[:-1]}.sliced"' if name.endswith('"') else f"{name}.sliced"


def _apart(parameters: str) -> str:
    """The parameters with a length and an address for each slice; empty if there is none, or one that is not plain."""
    found = _SLICE.sub(lambda m: f"i64 %{m[2]}.length, {m[1]} %{m[2]}.ptr", parameters)
    return "" if found == parameters or "{" in found else found


def _taken_apart(m: re.Match[str]) -> str:
    """The definition's first lines, where slices are made of their parts."""
    lines = [f"define {m[1]}@{m[2]}({_apart(m[3])}){m[4]}"]
    for t, name in _SLICE.findall(m[3]):
        both = f"{{ i64, {t} }}"
        lines += [
            f"  %{name}.half = insertvalue {both} undef, i64 %{name}.length, 0",
            f"  %{name} = insertvalue {both} %{name}.half, {t} %{name}.ptr, 1",
        ]
    return "\n".join(lines)


def _beside(m: re.Match[str]) -> str:
    """The function that takes slices."""
    lines, result = [], _WORDS.sub("", m[1]).strip()
    for t, name in _SLICE.findall(m[3]):
        both = f"{{ i64, {t} }} %{name}"
        lines += [f"  %{name}.length = extractvalue {both}, 0", f"  %{name}.ptr = extractvalue {both}, 1"]
    call = f"call {result} @{m[2]}({_apart(m[3])})"
    lines += [f"  {call}", "  ret void"] if result == "void" else [f"  %result = {call}", f"  ret {result} %result"]
    body = "\n".join(lines)
    return f"\ndefine linkonce_odr {m[1]}@{_sliced(m[2])}({m[3]}) alwaysinline {{\n{body}\n}}\n"


def _file(source: Source, raw: bool) -> Compiled:
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        made, rule = Path(folder, "module.ll"), Path(folder, "module.d")
        flags = [*_FLAGS, *(_RAW if raw else _UNVECTORISED), f"--makedeps={rule}", *source.flags]
        command = [ldc().path, *flags, f"--of={made}", str(source.path.absolute())]
        run(command, source.path, _FIX, noise="^BISECT:", cwd=Path(folder))
        read = makefile_dependencies(rule, source.path, Path(folder))[1:]
        configured, consulted = _consulted(read, source, Path(folder))
        text = with_arrays_apart(finished(made.read_text()))
        libraries = _libraries() if "_D3std" in text or "_D4core" in text else ()
        return Compiled(text.encode(), (source.path, *read, *configured), libraries, consulted)


_SEARCHED = re.compile(r"--?[IJ]=?(.+)")
_ENDINGS = (".di", ".d", ".i", ".c", "/package.di", "/package.d")


def _consulted(read: Sequence[Path], source: Source, folder: Path) -> tuple[list[Path], Consulted]:
    """ldc's configuration, and where it looks for modules and files before it finds them."""
    given = [str(folder / m[1]) for m in map(_SEARCHED.fullmatch, source.flags) if m]
    library = [str(path.parent) for path in read if path.stem == "object"]
    found = tuple(ahead(read, [*given, *library]))
    modules = (os.path.splitext(name) for name in (*found, *map(str, read)))
    others = (name + other for name, ending in modules if ending in (".d", ".di") for other in _ENDINGS)
    program = Path(ldc().path)
    homes = [program.parent, Path.home() / ".ldc", program.parents[1] / "etc", program.parents[1] / "etc" / "ldc"]
    configurations = [home / "ldc2.conf" for home in (*homes, Path("/etc"), Path("/etc/ldc"))]
    files, missing = looked_for(configurations)
    return files, Consulted((*missing, *found, *others))


# ldc says that `this`, a pointer, lies where it points to: it *is* that address
_THIS = re.compile(r"@llvm\.dbg\.declare(\(metadata [^\n]*? %\.this_arg, metadata !\d+, metadata !DIExpression\(\)\))")
_VALUE = "declare void @llvm.dbg.value(metadata, metadata, metadata)"
# Functions of std.math that Phobos has compiled, or computes from the bits of floats: as libm has them
_LIBM = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
    "exp2", "expm1", "log", "log10", "log1p", "log2", "pow", "sqrt", "cbrt", "hypot", "fabs", "fmin", "fmax", "fmod",
    "fma", "floor", "ceil", "trunc", "round", "rint", "nearbyint", "fdim", "copysign", "ldexp", "lround", "lrint",
)  # fmt: skip
_MATHS = re.compile(
    r"^(?:declare|define) [^\n@]*?(double|float|x86_fp80|i64) "
    rf"@(_D(?:3std|4core)4math(?:\d+[a-z]+)?(?:__T)?\d+({'|'.join(_LIBM)})(?:Impl)?[FT](?:(?!4impl)\w)*)\(([^\n()]*)\)"
    r"[^\n]*?(?:\{\n.*?^\})?$", re.MULTILINE | re.DOTALL,
)  # fmt: skip
_SUFFIXES = {"x86_fp80": "l", "double": "", "float": "f"}


def finished(text: str) -> str:
    """The module with libm in place of Phobos' mathematics, and true debug info."""
    needed: dict[str, str] = {}

    def libm(m: re.Match[str]) -> str:
        result, symbol, name, types = m[1], m[2], m[3], [p.split()[0] for p in m[4].split(", ") if p]
        t = types[0] if types else ""
        others = {"ldexp": ["i32"], "lround": [], "lrint": []}.get(name, types[1:])
        plain = result == ("i64" if name in ("lround", "lrint") else t) and types[1:] == others
        if t not in _SUFFIXES or not plain or (name != "ldexp" and set(types) != {t}):
            return m[0]
        called = name + _SUFFIXES[t]
        needed[called] = f"declare {result} @{called}({', '.join(types)})"
        values = ", ".join(f"{p} %{n}" for n, p in enumerate(types))
        body = f"  %r = call {result} @{called}({values})\n  ret {result} %r\n"
        return f"define linkonce_odr {result} @{symbol}({values}) alwaysinline {{\n{body}}}"

    text = _MATHS.sub(libm, text)
    if (told := _THIS.sub(r"@llvm.dbg.value\1", text)) != text:
        text = told if _VALUE in told else f"{told}\n{_VALUE}\n"
    known = set(re.findall(r"^(?:declare|define) [^\n]*@(\w+)\(", text, re.MULTILINE))
    return "\n".join([text, *(line for name, line in needed.items() if name not in known), ""])


def _libraries() -> tuple[str, ...]:
    """The parts of D's library that are compiled already, for what a program names of them."""
    found = (find_library(name) for name in ("druntime-ldc-shared", "phobos2-ldc-shared"))
    return tuple(name for name in found if name)


D = Language("d", (".d",), _compile, lambda: ldc().version, ("ldc2",), ("LLGRAD_LDC",))
