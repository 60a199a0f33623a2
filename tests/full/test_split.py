"""The corpus by split derivatives: primal memory is overwritten between the sweeps, a tape is read three times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from apart import Apart, sweeps
from cases import Program, all_programs
from harness import Built, _engine, _entry, build, compiled, jacobian, prepared
from msgspec.structs import replace
from oracle import Matrix, disagreement
from sandbox import isolated

from llgrad.autodiff.derivation import derive
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import LlgradError
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.transforms.optimise import normal_form

LEVEL = 2


def built_apart(whole: Any, program: Program) -> Built:
    """Entries for the three sweeps, under the names of three programs."""
    module = normal_form.reducible(parse(prepared(whole, [program], LEVEL)))
    made = derive(module, *sweeps(program))
    names = [replace(program, name=f"{program.name}.{n}") for n in range(3)]
    entries = [_entry(p, Mode.REVERSE, f) for p, f in zip(names, made, strict=True)]
    return Built(LEVEL, _engine(write(module) + "\n".join(entries), [(p, Mode.REVERSE) for p in names], LEVEL))


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
        assert not disagreement(f"reverse sweep {n}", matrix, expected, program.precision.levels)
