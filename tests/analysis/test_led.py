"""Where pointers lead as random programs run, in the interpreter, against what the analysis says they may lead to.

The solver makes cycles one node as often as it can, as it does in large programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cases import Program
from generator import generate
from harness import compiled, interpreted, prepared
from interpreter import Machine
from numpy.typing import ArrayLike
from random_check import written

from llgrad.analysis import solver
from llgrad.analysis.memory.mod_ref import UNKNOWN, analyse
from llgrad.ir.parse import parse
from llgrad.ir.types import PointerType
from llgrad.ir.values import Alloca, Call, GlobalVariable, Instruction, Value

Thing = tuple[str, Value | None]
"""Memory as `MemoryObject` names it: its kind, and where it is made. (Arguments are buffers that may be one.)"""
_OF_OTHERS = {"argument", "contents", "text", "thrown"}


class Watched(Machine):
    """Remembers to what the results of instructions led."""

    def __init__(self, text: str) -> None:
        super().__init__(parse(text), trace=self._see)
        self.led: dict[Instruction, set[Thing]] = {}
        self._owner: dict[int, Thing] = {}
        self.run_constructors()
        for g in self.module.globals.values():
            if isinstance(g, GlobalVariable) and not g.is_declaration:
                self._owner[self.address_of(g.name) >> 32] = "global", g

    def put(self, array: ArrayLike, tangent: ArrayLike | None = None) -> int:
        address = super().put(array, tangent)
        self._owner[address >> 32] = "argument", None
        return address

    def _see(self, i: Instruction, result: object) -> None:
        if not isinstance(i.type, PointerType) or not isinstance(result, int) or not result:
            return
        if isinstance(i, Alloca):
            self._owner[result >> 32] = "stack", i
        elif isinstance(i, Call) and not getattr(i.callee, "name", "").startswith("llvm."):
            self._owner.setdefault(result >> 32, ("heap", i))
        if result >> 32 in self._owner:
            self.led.setdefault(i, set()).add(self._owner[result >> 32])


def lost(program: Program, text: str) -> Iterator[str]:
    """What pointers led to, and are not said to."""
    machine = Watched(text)
    interpreted(machine, program, program.point, np.zeros(program.inputs))
    memory = analyse(machine.module, machine.module.function(program.name))
    for i, found in machine.led.items():
        said = memory.points_to(i)
        if i.block.function in memory.functions and UNKNOWN not in said:
            things, kinds = {(o.kind, o.site) for o in said}, {o.kind for o in said}
            for kind, site in found - things:
                if kind not in ("argument", "heap") or not kinds & _OF_OTHERS:
                    yield f"%{i.name} led to {kind} {site}, not to {', '.join(map(str, said)) or 'nothing'}"


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("seed", [
    *range(310_000_000, 310_000_008),
    *(pytest.param(seed, marks=pytest.mark.full) for seed in range(310_000_008, 310_000_012)),
])  # fmt: skip
def test_pointers_lead_where_they_may(
    seed: int, level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver, "_SMALL", 3)
    [program] = written([generate(seed)], tmp_path)
    text = prepared(compiled([program.path]), [program], level, threads=True)
    assert not list(lost(program, text))
