"""MLIR's functions that return arrays, or several results: beside each one that Python can call, `f.out`.

It takes a memref more for each result, `%out0`, `%out1`, …, that the result is copied to (a number to one of rank 0).
Only results of known shape can be checked by those who call: others stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

OUTWARD = ".out"
_FUNCTION = re.compile(r"^[ \t]*func\.func (?:public )?@([\w.$-]+)\(", re.MULTILINE)
_NUMBER = re.compile(r"f64|f32|bf16|i64|i32|index")
_ARRAY = re.compile(r"(memref|tensor)<((?:\d+x)*)(f64|f32|bf16|i64|i32)((?:, strided<.*>)?)>")


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
    return "".join([*made, text[at:]])


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
