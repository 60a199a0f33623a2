"""Do all accesses of a function lie within its arrays, for the sizes of one call?

`check` asks what `memory_checks` has written for the function (docs/memory-checks.md). What certainly exceeds an array
is an error; where nothing is known of a pointer that the code writes through, the call must be guarded (`runtime.c`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from llgrad.execution.loaded import Loaded
from llgrad.foreign.roles import ForeignShapeError, Resolved, Roles, Shape
from llgrad.foreign.runtime import int64s
from llgrad.programs.guarded_memory import ANSWERS, EXCEEDS, FITS, Place

REVERSE = ("vjp", "second", "record", "replay")


class Check:
    """The check of one function; where there is none, nothing is known of its arrays."""

    def __init__(self, library: Loaded, symbol: str) -> None:
        self.checked, self.written = not library.unchecked, library.effects(symbol).written
        self._test = library.test(symbol, (), derived=False)
        self.limits = self._test.check.limits if self._test is not None else None
        address = self._test.address() if self._test is not None else 0
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address) if address else None

    def fits(self, roles: Roles, shapes: tuple[Shape, ...], made: Resolved, kind: str = "primal") -> bool:
        """Is it known that `kind` of derivative writes nothing outside of arrays? ForeignShapeError where the function
        certainly accesses something there. A reverse sweep writes adjoints wherever the function reads."""
        if not self.checked:
            return True
        sizes, numbers = _bytes(roles, shapes, made), roles.numbered(made.integers)
        unproven = self._unproven(roles, sizes, numbers)
        if kind in REVERSE:
            return not unproven
        read_only = self.limits.read_only if self.limits is not None else frozenset()
        return all(self._writes_within(n, sizes.get(n, 0), numbers) for n in unproven - read_only)

    def _unproven(self, roles: Roles, sizes: Mapping[int, int], numbers: Mapping[int, int]) -> set[int]:
        """The pointers of which it is not known that all accesses fit."""
        if self.limits is None:
            return set(sizes)
        pointers = self.limits.pointers
        if self._run is None:
            return {n for n in sizes if n in self.limits.unknown or n in pointers}
        ends = [n for p in pointers for n in (0, sizes.get(p, 1 << 62))]
        block = int64s([*[0] * ANSWERS, *(numbers.get(n, 0) for n in self.limits.numbers), *ends])
        answer = self._run(ctypes.addressof(block))
        if answer == EXCEEDS:
            raise self._exceeds(roles, self.limits.places[block[0]], block, sizes)
        return set() if answer == FITS else {p for k, p in enumerate(pointers) if block[0] >> k & 1}

    def _writes_within(self, n: int, size: int, numbers: Mapping[int, int]) -> bool:
        """Do at least all writes fit, by what is known of outputs?"""
        ends = self.written[n].ends(numbers) if n in self.written else None
        return ends is not None and ends[0] >= 0 and ends[1] <= size

    @staticmethod
    def _exceeds(roles: Roles, place: Place, block: Any, sizes: Mapping[int, int]) -> ForeignShapeError:
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
