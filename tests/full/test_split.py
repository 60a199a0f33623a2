"""The corpus by split derivatives: primal memory is overwritten between the sweeps, a tape is read three times."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import Memory, Program, all_programs
from harness import (
    _NUMPY,
    SLOT,
    Built,
    _engine,
    _entry,
    build,
    compiled,
    entry_name,
    jacobian,
    prepared,
    request,
)
from oracle import Matrix, Vector, disagreement
from sandbox import isolated

from llgrad import pipeline
from llgrad.errors import LlgradError
from llgrad.ir.write import write
from llgrad.synthesis import tape
from llgrad.synthesis.derive import derive
from llgrad.synthesis.request import Mode, Request

LEVEL = 2


def sweeps(program: Program) -> list[Request]:
    """The augmented forward sweep, the reverse sweep, and the one that may be repeated."""
    asked = request(program, Mode.COMBINED)
    reverse = replace(asked, mode=Mode.REVERSE)
    return [replace(asked, mode=Mode.AUGMENTED), reverse, replace(reverse, repeatable=True)]


def built_apart(whole: Any, program: Program) -> Built:
    """Entries for the three sweeps, under the names of three programs."""
    module = pipeline.reducible(prepared(whole, [program], LEVEL))
    made = derive(module, *sweeps(program))
    names = [replace(program, name=f"{program.name}.{n}") for n in range(3)]
    entries = [_entry(p, Mode.REVERSE, f) for p, f in zip(names, made, strict=True)]
    return Built(LEVEL, _engine(write(module) + "\n".join(entries), [(p, Mode.REVERSE) for p in names], LEVEL))


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
        values: list[tuple[str, Any]] = [("u8", arena.ctypes.data)]
        numbers = iter(scalars)
        for p in self.program.parameters:
            if p.kind == "buffer":
                values.append(("u8", memory.address(p.name)))
                values += [("u8", shadow.address(p.name))] if p.active else []
            elif p.kind == "integer":
                values.append((f"i{int(p.type[1:]) // 8}", int(p.value)))
            else:
                values.append((_NUMPY[p.type], next(numbers)))
        slots = np.zeros(SLOT * 64, np.uint8)
        for i, (kind, value) in enumerate([*values, *last]):
            slots[SLOT * i : SLOT * i + np.dtype(kind).itemsize].view(kind)[0] = value
        self.entries[which](results.ctypes.data, slots.ctypes.data)


def rows_apart(built: Built, program: Program) -> list[Matrix]:
    """The Jacobian three times."""
    run = Apart(built, program)
    rows = [run(program.point, seed) for seed in np.eye(program.outputs)]
    return [np.array([row[n] for row in rows]).reshape(program.outputs, -1) for n in range(3)]


@pytest.mark.parametrize("program", all_programs(), ids=lambda p: p.name)
def test_split(program: Program) -> None:
    whole = compiled([program.path])
    together = build(whole, [program], LEVEL)
    if (program.name, Mode.COMBINED) in together.errors:
        pytest.skip("refused: listed in test_programs")
    try:
        apart = built_apart(whole, program)
    except LlgradError as error:
        pytest.skip(f"refused by split mode alone: {error.message}")
    expected, _ = isolated(jacobian, together, program, Mode.COMBINED, program.point, seconds=60)
    found = isolated(rows_apart, apart, program, seconds=60)
    for n, matrix in enumerate(found):
        assert not disagreement(f"reverse sweep {n}", matrix, expected, 1e-9 if program.precise else 1e-3)
