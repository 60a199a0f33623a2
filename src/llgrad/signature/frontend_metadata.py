"""What frontends note of functions in metadata, where there is no debug info: parameters in the language's own words.

`!llgrad.signatures.<language>` lists `!{name, parameter, type, parameter, type, …}`
(`frontends.common.tools.signatures`).

    MLIR    `memref<?x4xf64>`: the address that was allocated (null here), the data's, offset, extents, strides; with
            ` readonly` after it nothing is written to it;
    Julia   `Array{Float64, 2}`: data and extents, the first index runs fastest; `Ptr{Float64}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from llgrad.analysis.layout.debug_info import text
from llgrad.ir.module import Module
from llgrad.ir.types import FloatType, IntType
from llgrad.ir.values import Function, MDRef
from llgrad.signature.signature import Parameter, Signature
from llgrad.signature.types import CType, Scalar, View, Void

METADATA = "llgrad.signatures."


def told(module: Module, f: Function) -> Signature | None:
    """The signature that the frontend noted; None where there is none, or a type that cannot be passed."""
    for language, (spelled, type_of) in _LANGUAGES.items():
        for number in re.findall(r"!(\d+)", module.named_metadata.get(METADATA + language, "")):
            name, *words = [text(x) for x in module.node(MDRef(int(number))).operands]
            if name == f.name:
                return _signature(f, list(zip(words[::2], words[1::2], strict=True)), spelled, type_of)
    return None


def _signature(
    f: Function, declared: list[tuple[str, str]], language: str, type_of: Callable[[str], CType | None]
) -> Signature | None:
    parameters, at = [], 0
    for n, (name, word) in enumerate(declared):
        t = type_of(word)
        if t is None:
            return None
        count = len(t.parts) if isinstance(t, View) else 1
        parameters.append(Parameter(name, t, n, tuple(range(at, at + count))))
        at += count
    result = _result(f, language)
    if result is None or at != len(f.arguments):
        return None
    return Signature(f.name.removesuffix(".out"), tuple(parameters), result, None, f.name, None, language)


def _result(f: Function, language: str) -> CType | None:
    match f.function_type.result:
        case FloatType("bfloat") if language == "MLIR":
            return _mlir("bf16")
        case FloatType("double" | "float") as t:
            return _julia(f"Float{t.bits}") if language == "Julia" else _mlir(f"f{t.bits}")
        case IntType(bits) if language == "Julia":
            return _julia(f"Int{bits}")
        case t if str(t) == "void":
            return Void()
    return None


# --- MLIR -------------------------------------------------------------------------------------------------------------

_FLOATS = {"f64": "double", "f32": "float", "bf16": "bfloat"}
_MEMREF = re.compile(
    r"memref<((?:(?:\?|\d+)x)*)(f64|f32|bf16|i64|i32|i8|index)(, strided<\[([^]]*)\](?:, offset: (\?|-?\d+))?>)?>"
)


def _mlir(word: str) -> CType | None:
    if word in _FLOATS:
        return Scalar("float", int(word.lstrip("bf")), word, _FLOATS[word])
    if word in ("i64", "i32", "i8", "index"):
        return Scalar("int", 64 if word == "index" else int(word[1:]), word)
    t = word.removesuffix(" readonly")
    m = _MEMREF.fullmatch(t)
    element = _mlir(m[2]) if m else None
    if m is None or element is None or m[5] not in (None, "?", "0"):  # (arrays begin where they begin)
        return None
    extents, steps = _fixed(m[1].rstrip("x").split("x")), _fixed((m[4] or "").split(","))
    rank = m[1].count("x")
    dimensions = range(rank)
    shapes, strides = (f"shape.{d}" for d in dimensions), (f"stride.{d}" for d in dimensions)
    carried = ("null", "data", "zero", *shapes, *strides)  # the address that was allocated is not for callees to free
    order = "A" if m[3] else "C"
    return View(element, t != word, False, t, carried, rank, order, extents=extents, steps=steps)


def _fixed(words: list[str]) -> tuple[int | None, ...]:
    """Numbers, and None for what may be any."""
    return tuple(None if word.strip() == "?" else int(word) for word in words if word)


# --- Julia ------------------------------------------------------------------------------------------------------------

_JULIA = re.compile(r"Array\{(\w+), ?(\d+)\}|Ptr\{(\w+)\}")


def _julia(word: str) -> CType | None:
    m = re.fullmatch(r"(Float|Int)(64|32)|(Bool)", word)
    if m and m[3]:
        return Scalar("bool", 8, word)
    if m:
        return Scalar(m[1].lower(), int(m[2]), word, {"Float64": "double", "Float32": "float"}.get(word, ""))
    m = _JULIA.fullmatch(word)
    element = _julia(m[1] or m[3]) if m else None
    if m is None or element is None:
        return None
    if m[3]:
        return View(element, False, False, word)
    rank = int(m[2])
    carried = ("data", *(f"shape.{d}" for d in range(rank)))
    return View(element, False, False, word, carried, rank, "F")


_LANGUAGES: dict[str, tuple[str, Callable[[str], CType | None]]] = {"mlir": ("MLIR", _mlir), "julia": ("Julia", _julia)}
