"""What the MLIR frontend says of its functions in metadata: `memref`s as NumPy arrays."""

from __future__ import annotations

import re

from llgrad.analysis.debuginfo import text
from llgrad.ir.module import Module
from llgrad.ir.values import Function, MDRef
from llgrad.signature.signature import Parameter, Signature
from llgrad.signature.types import CType, Scalar, View, Void

METADATA = "llgrad.signatures"  # a list of !{name, parameter, type, parameter, type, …}
_FLOATS = {"f64": "double", "f32": "float"}
_MEMREF = re.compile(r"memref<((?:(?:\?|\d+)x)*)(f64|f32|i64|i32|i8|index)(?:, strided<.*>)?>")


def told(module: Module, f: Function) -> Signature | None:
    """The signature that the frontend noted; None where there is none, or a type that cannot be passed."""
    for number in re.findall(r"!(\d+)", module.named_metadata.get(METADATA, "")):
        name, *words = [text(x) for x in module.node(MDRef(int(number))).operands]
        if name == f.name:
            return _signature(f, list(zip(words[::2], words[1::2], strict=True)))
    return None


def _signature(f: Function, declared: list[tuple[str, str]]) -> Signature | None:
    parameters, at = [], 0
    for n, (name, word) in enumerate(declared):
        t = _type(word)
        if t is None:
            return None
        count = len(t.parts) if isinstance(t, View) else 1
        parameters.append(Parameter(name, t, n, tuple(range(at, at + count))))
        at += count
    result = {"void": Void(), "double": _type("f64"), "float": _type("f32")}.get(str(f.function_type.result))
    if result is None or at != len(f.arguments):
        return None
    return Signature(f.name, tuple(parameters), result, None, f.name, None, "MLIR")


def _type(word: str) -> CType | None:
    if word in _FLOATS:
        return Scalar("float", int(word[1:]), word, _FLOATS[word])
    if word in ("i64", "i32", "i8", "index"):
        return Scalar("int", 64 if word == "index" else int(word[1:]), word)
    m = _MEMREF.fullmatch(word)
    element = _type(m[2]) if m else None
    if m is None or element is None:
        return None
    rank = m[1].count("x")
    dimensions = range(rank)
    shapes, strides = (f"shape.{d}" for d in dimensions), (f"stride.{d}" for d in dimensions)
    carried = ("null", "data", "zero", *shapes, *strides)  # the address that was allocated is not for callees to free
    return View(element, False, False, word, carried, rank, "A" if "strided" in word else "C")
