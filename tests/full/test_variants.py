"""The whole corpus with three lanes, with strong zeros, and with runtime activity: the same derivatives, or refused."""

from __future__ import annotations

from collections.abc import Callable

import harness
import numpy as np
import pytest
from cases import DOUBLE, Program, all_programs
from harness import MODES, compiled, prepared
from msgspec.structs import replace
from oracle import Matrix, disagreement
from sandbox import isolated
from wide import Wide

from llgrad.autodiff.requests.request import Mode, Request
from llgrad.errors import LlgradError

VARIANTS: dict[str, Callable[[Request], Request]] = {
    "three lanes": lambda r: replace(r, width=3),
    "strong zeros": lambda r: replace(r, strong_zero=True),
    "runtime activity": lambda r: replace(r, runtime_activity=True),
}
LEVEL, EXACT = 2, 1e-13


@pytest.mark.parametrize("program", all_programs(), ids=lambda p: p.name)
def test_variants(program: Program) -> None:
    wrong = isolated(differences, program, seconds=300)
    assert not wrong, "\n".join(wrong)


def differences(program: Program) -> list[str]:
    try:
        text = prepared(compiled([program.path]), [program], LEVEL)
    except LlgradError:
        return []  # seen by the corpus
    found = []
    for mode in MODES:
        try:
            plain = jacobian(text, program, harness.request(program, mode))
        except LlgradError:
            continue
        for name, variant in VARIANTS.items():
            try:
                got = jacobian(text, program, variant(harness.request(program, mode)))
            except LlgradError as error:
                found += [] if name == "runtime activity" else [f"{mode} with {name}: {error}"]
                continue
            tolerance = EXACT if program.precision is DOUBLE else program.precision.levels
            found.append(disagreement(f"{mode} with {name}", got, plain, tolerance))
    return [sentence for sentence in found if sentence]


def jacobian(text: str, program: Program, request: Request) -> Matrix:
    """A row for each seed."""
    call, size = Wide(text, program, request), program.inputs if request.mode is Mode.FORWARD else program.outputs
    seeds = np.zeros((-(-size // request.width) * request.width, size))
    np.fill_diagonal(seeds, 1)
    rows = [call(program.point, list(seeds[k : k + request.width]))[0] for k in range(0, size, request.width)]
    return np.concatenate(rows)[:size]
