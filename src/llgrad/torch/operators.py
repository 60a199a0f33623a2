"""The operators of a foreign function in PyTorch.

A function becomes five operators of `torch.library`: itself and the four kinds of derivatives of `foreign.function`.
Each takes, after its tensors and integers, `batched`: which tensors have a leading axis of a batch ([] if none has);
that is how `vmap` reaches the batches of the runtime. The derivatives of each are written in terms of the others:

    f      backward: vjp                                  forward: jvp
    vjp    backward by adjoints: jvp; by inputs: second   forward: vjp of tangents + second
    jvp    backward by tangents: vjp; by inputs: second   forward: jvp of tangents + bend

Those of `second` and `bend` would be third derivatives, and are refused. Where nothing but a kernel could come of it
(plain tensors, nothing recorded, no transformation or mode at work) a derivative runs its kernel at once, without the
dispatcher. With `keep_tape` a backward that is not itself recorded reads the tape that its forward left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from llgrad.foreign import Foreign, ForeignTypeError
from llgrad.torch.rules import DTYPES, FLOATS, RULES, Rule, nothing_watches

_operators: dict[tuple[str, bool], Operators] = {}
_lock = threading.RLock()


def operators(made: Foreign, keep_tape: bool = False) -> Operators:
    """The operators of a function: one set for the process."""
    with _lock:
        key = (made.key, keep_tape)
        if key not in _operators:
            _operators[key] = Operators(made, operators(made) if keep_tape else None)
        return _operators[key]


class Operators:
    """The operators of a function, and what they share."""

    vjp: Callable[..., Any]
    jvp: Callable[..., Any]
    second: Callable[..., Any]
    bend: Callable[..., Any]

    def __init__(self, made: Foreign, of: Operators | None = None) -> None:
        """`of`: those whose derivatives these share; then tapes are kept."""
        self.foreign, self.tensors, self.active, self.keep_tape = made, made.tensors, made.active, of is not None
        for i in made.tensors:
            if i.dtype not in DTYPES:
                raise ForeignTypeError(f"{i.name} of {made.name} holds {i.dtype}, which is no dtype of PyTorch")
        self.outputs = [FLOATS[m.dtype] for m in made.outputs]
        count, n = len(self.tensors), len(self.active)
        if of is not None and n:
            self.vjp, self.jvp, self.second, self.bend = of.vjp, of.jvp, of.second, of.bend
        elif n:
            self.vjp = self._derivative("vjp", count + len(self.outputs), n)
            self.jvp = self._derivative("jvp", count + n, len(self.outputs))
            self.second = self._derivative("second", count + len(self.outputs) + n, n)
            self.bend = self._derivative("bend", count + 2 * n, len(self.outputs))
        self.primal = self._operator("primal", count, len(self.outputs)).operator

    def _derivative(self, kind: str, tensors: int, results: int) -> Callable[..., Any]:
        """The operator, or its kernel where the operator would only come to that."""
        rule = self._operator(kind, tensors, results)
        operator, kernel = rule.operator, rule.kernel

        def run(*args: Any) -> Any:
            return kernel(*args) if nothing_watches(args[:tensors]) else operator(*args)

        return run

    def _operator(self, kind: str, tensors: int, results: int) -> Rule:
        statics = "".join(f", SymInt s{n}" for n in range(len(self.foreign.statics)))
        wrt = "" if kind == "primal" else ", int[] wrt"
        given = ", ".join(f"Tensor t{n}" for n in range(tensors))
        returns = ", ".join(["Tensor"] * results)
        schema = f"({given}{statics}, int[] batched{wrt}) -> {returns if results == 1 else f'({returns})'}"
        name = f"llgrad::{self.foreign.name}_{self.foreign.key}" + ("" if kind == "primal" else f"_{kind}")
        rule = RULES[kind](self, kind, tensors, results)
        name += "_taped" if self.keep_tape else ""
        made = torch.library.custom_op(name, rule.kernel, mutates_args=(), device_types="cpu", schema=schema)
        made.register_fake(rule.fake)
        made.register_vmap(rule.vmap)
        rule.differentiate(made)
        floats = {i.dtype for i in self.tensors if i.active}
        if kind == "primal" and len(floats) == 1 and all(i.active for i in self.tensors):
            made.register_autocast("cpu", FLOATS[floats.pop()])
        return rule


__all__ = ["DTYPES", "Operators", "operators"]
