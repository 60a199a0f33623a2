"""MLIR's functions that return arrays, or several results: beside each one that Python can call, `f.out`.

It takes a memref more for each result, `%out0`, `%out1`, …, that the result is copied to (a number to one of rank 0).
Where only the program knows a result's extents, the function fails if those of the array it is given are others.
"""

from __future__ import annotations

import re
from collections.abc import Callable

OUTWARD = ".out"
_FUNCTION = re.compile(r"^[ \t]*func\.func (?:public )?@([\w.$-]+)\(", re.MULTILINE)
_NUMBER = re.compile(r"f64|f32|bf16|i64|i32|index")
_ARRAY = re.compile(r"(memref|tensor)<((?:(?:\d+|\?)x)*)(f64|f32|bf16|i64|i32)((?:, strided<.*>)?)>")
_FAIL = "llgrad_fail"
_WRONG_SHAPE = 7


def with_outward(text: str, listed: Callable[[str, int], list[str]]) -> str:
    """The source with those functions; `listed` gives what a list in parentheses holds that begins at a place."""
    made, at = [], 0
    for m in _FUNCTION.finditer(text):
        given = listed(text, m.end())
        end = _close(text, m.end())
        results = _results(text[end:], listed)
        if not results or not all(_NUMBER.fullmatch(r) or _ARRAY.fullmatch(r) for r in results):
            continue
        if len(results) == 1 and _NUMBER.fullmatch(results[0]):
            continue
        types = [p.partition(":")[2].partition("{")[0].strip() for p in given]
        if text[end:].lstrip().startswith("->"):
            made += [text[at : m.start()], _outward(m[1], types, results, [p.partition(":")[0].strip() for p in given])]
            at = m.start()
    whole = "".join([*made, text[at:]])
    return whole if f"@{_FAIL}(%" not in "".join(made) else _declaring(whole)


def _declaring(text: str) -> str:
    """With the function that says that a shape is wrong."""
    line = f"func.func private @{_FAIL}(i32, !llvm.ptr)\n"
    m = re.search(r"^\s*(?:builtin\.)?module\b[^\n]*\{[^\S\n]*\n", text, re.MULTILINE)
    at = m.end() if m else len(text)
    return text[:at] + ("" if m else "\n") + line + text[at:]


def _close(text: str, start: int) -> int:
    """Behind the parenthesis that closes a list."""
    depth = 1
    for n in range(start, len(text)):
        depth += (text[n] == "(") - (text[n] == ")")
        if not depth:
            return n + 1
    return len(text)


def _results(rest: str, listed: Callable[[str, int], list[str]]) -> list[str]:
    """The types that a function returns, of what follows its parameters."""
    m = re.match(r"\s*->\s*(\()?", rest)
    if m is None:
        return []
    if m[1]:
        return [r.partition("{")[0].strip() for r in listed(rest, m.end())]
    one = re.match(r"[^{\n]*", rest[m.end() :])
    return [one[0].partition(" attributes")[0].strip()] if one else []


def _outward(name: str, types: list[str], results: list[str], names: list[str]) -> str:
    formal = [f"{n}: {t}" for n, t in zip(names, types, strict=True)]
    count = f":{len(results)}" if len(results) > 1 else ""
    given = f"{', '.join(names)}) : ({', '.join(types)})"
    body = [f"%llgrad_r{count} = func.call @{name}({given} -> ({', '.join(results)})"]
    for n, t in enumerate(results):
        value, out = f"%llgrad_r#{n}" if count else "%llgrad_r", f"%out{n}"
        m = _ARRAY.fullmatch(t)
        memref = f"memref<{m[2]}{m[3]}>" if m else f"memref<{'i64' if t == 'index' else t}>"
        formal.append(f"{out}: {memref}")
        if m:
            body += _checked(n, value, t, out, memref, m[2].split("x")[:-1])
        if m and m[1] == "memref":
            body.append(f"memref.copy {value}, {out} : {t} to {memref}")
        elif m:
            put = f"bufferization.materialize_in_destination {value} in restrict writable {out}"
            body.append(f"{put} : ({t}, {memref}) -> ()")
        else:
            if t == "index":
                body.append(f"%llgrad_n{n} = arith.index_cast {value} : index to i64")
                value = f"%llgrad_n{n}"
            body.append(f"memref.store {value}, {out}[] : {memref}")
    lines = "\n  ".join([*body, "return"])
    return f"func.func @{name}{OUTWARD}({', '.join(formal)}) {{\n  {lines}\n}}\n"


def _checked(n: int, value: str, t: str, out: str, memref: str, extents: list[str]) -> list[str]:
    """Fails where the array that a result is copied to has other extents than the program gave it."""
    lines = []
    for d in (d for d, extent in enumerate(extents) if extent == "?"):
        name = f"%llgrad_{n}_{d}"
        lines += [
            f"{name}_d = arith.constant {d} : index",
            f"{name}_a = {t[:6]}.dim {value}, {name}_d : {t}",
            f"{name}_b = memref.dim {out}, {name}_d : {memref}",
            f"{name}_c = arith.cmpi ne, {name}_a, {name}_b : index",
            f"scf.if {name}_c {{",
            f"{name}_e = arith.constant {_WRONG_SHAPE} : i32",
            f"{name}_n = llvm.mlir.zero : !llvm.ptr",
            f"func.call @{_FAIL}({name}_e, {name}_n) : (i32, !llvm.ptr) -> ()",
            "}",
        ]
    return lines
