"""Split derivatives of a program: primal memory is overwritten between the sweeps, a tape is read three times."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from cases import Memory, Program
from harness import _NUMPY, SLOT, Built, arguments, entry_name, put, request
from msgspec.structs import replace
from oracle import Vector

from llgrad.autodiff.emit import tape
from llgrad.autodiff.requests.request import Mode, Request


def sweeps(program: Program) -> list[Request]:
    """The augmented forward sweep, the reverse sweep, and the one that may be repeated."""
    asked = request(program, Mode.COMBINED)
    reverse = replace(asked, mode=Mode.REVERSE)
    return [replace(asked, mode=Mode.AUGMENTED), reverse, replace(reverse, repeatable=True)]


class Apart:
    """One split derivative, ready to be run."""

    def __init__(self, built: Built, program: Program) -> None:
        assert built.engine is not None
        self.program = program
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        names = [entry_name(replace(program, name=f"{program.name}.{n}"), Mode.REVERSE) for n in range(3)]
        self.entries = [kind(built.engine.address(name)) for name in names]

    def __call__(self, point: Vector, seed: Vector) -> list[Vector]:
        """One row of the Jacobian, from each of three reverse sweeps on one tape."""
        program, floats = self.program, len(self.program.leaves)
        memory, shadow = Memory(program), Memory(program, shadow=True)
        memory.set_floats(point[:floats])
        arena, scratch = (np.zeros(tape.ARENA_BYTES, np.uint8) for _ in range(2))
        results = np.zeros(SLOT * 32, np.uint8)
        self.run(0, arena, memory, shadow, point[floats:], [], results)
        frame = int(results[:8].view(np.uint64)[0])
        for b in program.buffers:
            lost = np.frombuffer(np.random.default_rng(1).bytes(len(memory.bytes(b.name))), np.uint8)
            ctypes.memmove(memory.address(b.name), lost.ctypes.data, len(lost))
        seeds = [(_NUMPY[program.result], seed[-1])] if program.result != "void" else []
        rows = []
        for which, used in ((2, scratch), (2, scratch), (1, arena)):
            shadow.set_floats(seed[:floats])
            results[:] = 0
            self.run(which, used, memory, shadow, point[floats:], [*seeds, ("u8", frame)], results)
            types = [np.dtype(_NUMPY[p.type]) for p in program.scalars]
            extra = [float(results[SLOT * i :][: t.itemsize].view(t)[0]) for i, t in enumerate(types)]
            rows.append(np.concatenate([shadow.floats(), extra]))
        return rows

    def run(
        self, which: int, arena: Any, memory: Memory, shadow: Memory, scalars: Vector, last: list[Any], results: Any
    ) -> None:
        slots = np.zeros(SLOT * 64, np.uint8)
        put(slots, [("u8", arena.ctypes.data), *arguments(self.program, memory, shadow, scalars), *last])
        self.entries[which](results.ctypes.data, slots.ctypes.data)
