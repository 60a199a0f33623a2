"""Do all accesses of a function lie within its arrays, for the sizes of one call?

`check` asks what `memorychecks` has written for the function (docs/memory-checks.md). What certainly exceeds an array
is an error; where nothing is known of a pointer that the code writes through, the call must be guarded (`runtime.c`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from llgrad import cache
from llgrad.entry import Code
from llgrad.foreign.roles import ForeignShapeError, Resolved, Roles, Shape
from llgrad.foreign.runtime import int64s
from llgrad.loaded import Loaded
from llgrad.memorychecks import ANSWERS, CHECK, EXCEEDS, FITS, Limits, limits


class Check:
    """The check of one function."""

    def __init__(self, library: Loaded, symbol: str) -> None:
        self.limits, data = _pieces(library, symbol)
        self._code = Code(data) if data else None
        if self._code is not None:
            self._run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self._code.addresses[CHECK])

    def fits(self, roles: Roles, shapes: tuple[Shape, ...], made: Resolved) -> bool:
        """Is it known that nothing outside of the arrays is written? ForeignShapeError where something is accessed."""
        sizes = _bytes(roles, shapes, made)
        pointers = self.limits.pointers
        writes = {n for n in sizes if n not in self.limits.read_only}
        if self._code is None:
            return not writes & (self.limits.unknown.keys() | set(pointers))
        numbers = roles.numbered(made.integers)
        ends = [n for p in pointers for n in (0, sizes.get(p, 1 << 62))]
        block = int64s([*[0] * ANSWERS, *(numbers.get(n, 0) for n in self.limits.numbers), *ends])
        answer = self._run(ctypes.addressof(block))
        if answer == EXCEEDS:
            raise self._exceeds(roles, block, sizes)
        unproven = set() if answer == FITS else {p for k, p in enumerate(pointers) if block[0] >> k & 1}
        return not writes & unproven

    def _exceeds(self, roles: Roles, block: Any, sizes: Mapping[int, int]) -> ForeignShapeError:
        place = self.limits.places[block[0]]
        p = next(p for p in roles.signature.parameters if place.argument in p.ir_arguments)
        done = f"{'writes' if place.written else 'reads'} bytes {block[1]} to {block[2]} of {p.name}"
        return ForeignShapeError(
            f"{roles.signature.name} {done}, which has {sizes[place.argument]}",
            cause=f"the access is at {place.source}" if place.source else f"its signature is {roles.signature}",
            fix="pass arrays that are as long as the code takes them to be, or declare larger outputs",
        )


def _bytes(roles: Roles, shapes: tuple[Shape, ...], made: Resolved) -> dict[int, int]:
    """How long the memory behind each pointer is, by IR argument."""
    found = {}
    inputs = [(i.parameter, s, i.dtype) for i, s in zip(roles.tensors, shapes, strict=True) if i.array]
    outputs = [(m.parameter, s, m.dtype) for m, s in zip(roles.outputs, made.outputs, strict=True)]
    scratch = [(m.parameter, s, m.dtype) for m, s in zip(roles.scratch, made.scratch, strict=True)]
    for p, shape, dtype in (*inputs, *outputs, *scratch):
        if p is not None:
            size = dtype.itemsize
            for n in shape:
                size *= n
            found[p.ir_arguments[0]] = size
    return found


def _pieces(library: Loaded, symbol: str) -> tuple[Limits, bytes]:
    name = cache.key("foreign check", library.key, symbol)
    found = cache.get(name) if library.key else None
    if found is None:
        made, data = _made(*library.optimised(symbol))
        found = {"limits": cache.dumped(made), "object": data}
        if library.key:
            cache.put(name, found)
    known: Limits = cache.loaded(found["limits"])
    return known, found["object"]


def _made(text: str, root: str) -> tuple[Limits, bytes]:
    from llgrad.backend import LLVMModule
    from llgrad.backend.codegen import emit_jit_object
    from llgrad.ir.parse import parse

    module = parse(text)
    made = limits(module, module.function(root))
    return made, emit_jit_object(LLVMModule.from_text(made.text)) if made.text else b""
