"""Derivatives of any width, called with one memory a lane: `Wide(text, program, request)(point, seeds)`."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from typing import Any

import harness
import numpy as np
from cases import Memory, Program
from harness import SLOT, put
from msgspec.structs import replace
from oracle import Matrix, Vector

from llgrad.autodiff.derivation import derive
from llgrad.autodiff.emit import tape
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import Engine
from llgrad.programs import stages

_NUMPY = {"double": "f8", "float": "f4", "x86_fp80": "f16", "ptr": "u8"}


class _Shadow(Memory):
    """Shadow memory; buffers in `own` are their own shadows, and `p[2]` there is where `p[2]` points to."""

    def __init__(self, program: Program, primal: Memory, own: Collection[str]) -> None:
        self._primal, self._own = primal, own
        super().__init__(program, shadow=True)
        for b in program.buffers:
            for n, (offset, target, at) in enumerate(b.pointers):
                if f"{b.name}[{n}]" in own:
                    self._view(b.name, offset, "u8")[0] = primal.address(target) + at

    def address(self, name: str) -> int:
        return self._primal.address(name) if name in self._own else super().address(name)


class WideCall:
    """One derivative of a program, in an engine under the program's name."""

    def __init__(self, engine: Engine | None, program: Program, request: Request) -> None:
        assert engine is not None
        self.engine, self.program, self.request = engine, program, request
        address = engine.address(harness.entry_name(program, request.mode))
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
        self.arena = np.zeros(tape.ARENA_BYTES, np.uint8)

    def __call__(
        self, point: Vector, seeds: Sequence[Vector], constant: Sequence[Collection[str]] | None = None
    ) -> tuple[Matrix, Vector]:
        """A row for each lane (tangents of the outputs, or adjoints of the inputs), and the primal outputs.

        `constant` are buffers that are their own shadows, in each lane.
        """
        program, floats = self.program, len(self.program.leaves)
        memory = Memory(program)
        shadows = [_Shadow(program, memory, own) for own in constant or [()] * len(seeds)]
        memory.set_floats(point[:floats])
        for shadow, seed in zip(shadows, seeds, strict=True):
            shadow.set_floats(seed[:floats])
        values = self._values(memory, shadows, point[floats:], [s[floats:] for s in seeds])
        slots, results = np.zeros(SLOT * (len(values) + 1), np.uint8), np.zeros(SLOT * 64, np.uint8)
        put(slots, values)
        self._entry(results.ctypes.data, slots.ctypes.data)
        if not (memory.intact() and all(s.intact() for s in shadows)):
            raise AssertionError("something was written outside the buffers")
        extra = self._results(results, len(seeds))
        rows = [np.concatenate([s.floats(), e]) for s, e in zip(shadows, extra, strict=True)]
        return np.array(rows), memory.floats()

    def _values(
        self, memory: Memory, shadows: Sequence[Memory], scalars: Vector, seeds: Sequence[Vector]
    ) -> list[tuple[str, Any]]:
        """(dtype, value) of each parameter of the derivative."""
        forward = self.request.mode is Mode.FORWARD
        values: list[tuple[str, Any]] = [] if forward else [("u8", self.arena.ctypes.data)]
        at = 0
        for p, act in zip(self.program.parameters, self.request.arguments, strict=True):
            if p.kind == "buffer":
                values.append(("u8", memory.address(p.name)))
                values += [("u8", s.address(p.name)) for s in shadows] if act is Act.DUP else []
            elif p.kind == "integer":
                values.append((f"i{int(p.type[1:]) // 8}", int(p.value)))
            else:
                values.append((_NUMPY[p.type], scalars[at]))
                values += [(_NUMPY[p.type], s[at]) for s in seeds] if forward else []
                at += 1
        if not forward and self.program.result != "void":
            values += [(_NUMPY[self.program.result], s[-1]) for s in seeds]
        return values

    def _results(self, results: Any, width: int) -> list[list[float]]:
        """What each lane returns."""
        kinds = [p.type for p in self.program.scalars]
        if self.request.mode is Mode.FORWARD:
            kinds = [self.program.result] if self.program.result != "void" else []
        found: list[list[float]] = [[] for _ in range(width)]
        for n, kind in enumerate(kinds):
            for lane in range(width):
                t = np.dtype(_NUMPY[kind])
                found[lane].append(float(results[SLOT * (n * width + lane) :][: t.itemsize].view(t)[0]))
        return found


class Wide(WideCall):
    """One derivative of a program of the corpus, compiled."""

    def __init__(self, text: str, program: Program, request: Request) -> None:
        module = parse(text)
        [f] = derive(module, request)
        whole = write(module) + harness._entry(program, request.mode, f)
        name = harness.entry_name(program, request.mode)
        made = stages.finish(whole, [harness._failure_hook()], [name, "llgrad_fail"], level=1, vectorize=False)
        super().__init__(Engine([made], opt_level=1), program, request)


def jacobian_in_lanes(text: str, program: Program, mode: Mode, width: int) -> tuple[Matrix, Vector]:
    """All tangents or adjoints by derivatives of that width; and primal outputs."""
    return all_lanes(Wide(text, program, replace(harness.request(program, mode), width=width)), program)


def all_lanes(call: WideCall, program: Program) -> tuple[Matrix, Vector]:
    """All tangents or adjoints, the last sweep filled with zeros; and primal outputs."""
    width, size = call.request.width, program.inputs if call.request.mode is Mode.FORWARD else program.outputs
    seeds = np.zeros((-(-size // width) * width, size))
    np.fill_diagonal(seeds, 1)
    rows, primal = [], np.zeros(0)
    for start in range(0, size, width):
        found, primal = call(program.point, list(seeds[start : start + width]))
        rows.append(found)
    return np.concatenate(rows)[:size], primal
