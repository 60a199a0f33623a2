"""Zero tangents and adjoints that meet infinity or NaN: given ones stay zero; with strong zeros so do those that
arithmetic made, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases import Program, read_program
from harness import MODES, compiled, prepared, request
from msgspec.structs import replace
from oracle import Vector
from sandbox import isolated
from wide import Wide

from llgrad.autodiff.requests.request import Mode

SOURCE = """
#include <math.h>
// x: 2
// y: 2
void edges(const double *x, double *y, int n) {
    double a = x[0], b = x[1];
    y[0] = %s;
    y[1] = 3 * a + b;
}
"""
FORWARD, REVERSE = Mode.FORWARD, Mode.COMBINED
# Functions of a = x[0], b = x[1] that have no finite derivative at the point, and the modes in which a zero meets an
# infinite value (not an infinite partial of a rule: products are what IEEE says).
EDGES: tuple[tuple[str, tuple[float, float], tuple[Mode, ...]], ...] = (
    ("sqrt(a)", (0, 1), ()), ("log(a)", (0, 1), ()), ("pow(a, b)", (0, 0.5), ()), ("pow(a, 0.25)", (0, 1), ()),
    ("b / a", (0, 1), ()), ("asin(a)", (1, 1), ()), ("cbrt(a)", (0, 1), ()), ("1 / (a * b)", (0, 0), ()),
    ("log(a * b) * b", (0, 1), (FORWARD, REVERSE)), ("sqrt(sqrt(a))", (0, 1), ()),
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Program]:
    path = tmp_path_factory.mktemp("edges") / "edges.c"
    path.write_text(SOURCE % "a")
    return path, read_program(path)


@pytest.mark.parametrize("formula, point, made", EDGES, ids=[edge[0] for edge in EDGES])
def test_edge(program: tuple[Path, Program], formula: str, point: tuple[float, float], made: tuple[Mode, ...]) -> None:
    path, case = program
    path.write_text(SOURCE % formula)
    text = prepared(compiled([path]), [case], 1)
    at = np.array([*point, 0, 0], float)
    for mode in MODES:
        weak = isolated(derivative, text, case, mode, False, at)
        strong = isolated(derivative, text, case, mode, True, at)
        assert not np.isfinite(weak[1]).all(), "the point is no edge"
        assert np.isfinite(weak[0]).all() == (mode not in made)
        if mode is Mode.FORWARD:
            np.testing.assert_array_equal(strong[0][2:], [0, 0])  # no tangent
        else:
            np.testing.assert_array_equal(strong[0][:2], [3, 1])  # no adjoint of y[0]
        if mode not in made:
            np.testing.assert_array_equal(weak[0], strong[0])
        numbers = ~np.isnan(weak[1])
        np.testing.assert_array_equal(strong[1][numbers], weak[1][numbers])  # infinity stays infinity


def derivative(text: str, case: Program, mode: Mode, strong: bool, at: Vector) -> Vector:
    """Two lanes: seeds under which the edge must vanish, and seeds that ask for it."""
    call = Wide(text, case, replace(request(case, mode), strong_zero=strong, width=2))
    seeds = [[0, 0, 0, 0], [1, 1, 0, 0]] if mode is Mode.FORWARD else [[0, 0, 0, 1], [0, 0, 1, 0]]
    return call(at, list(np.array(seeds, float)))[0]
