"""llgrad's derivatives of the ADBench sources against the hand-written ones, on small random instances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import llgrad
from examples.adbench import problems, references
from examples.adbench.instances import HERE, random_ba, random_gmm, random_lstm

TOLERANCE = 1e-11


def agree(problem: problems.Problem) -> None:
    rows = problem.rows(problem.derivative())
    assert problems.worst_error(rows, problem.reference()) <= TOLERANCE
    assert problems.finite_difference_error(problem, rows, count=2) <= 1e-6


@pytest.mark.parametrize(("d", "k", "n"), [(1, 2, 3), (4, 3, 7)])
def test_gmm(d: int, k: int, n: int) -> None:
    agree(problems.gmm_problem(random_gmm(d, k, n)))


@pytest.mark.parametrize(("layers", "length", "bits"), [(1, 2, 1), (3, 5, 4)])
def test_lstm(layers: int, length: int, bits: int) -> None:
    agree(problems.lstm_problem(random_lstm(layers, length, bits)))


def test_ba() -> None:
    instance = random_ba(4, 5, 11)
    instance.cams[0, :3] = [0.3, -0.2, 0.5]  # the first camera's rotation is 0: its primal has a kink of second order
    agree(problems.ba_problem(instance))


def test_ba_unrotated_camera() -> None:
    problem = problems.ba_problem(random_ba(2, 3, 4))
    assert problems.worst_error(problem.rows(problem.derivative()), problem.reference()) <= TOLERANCE


CARRIED = """    const double *from = scaled;
    for (int j = 0; j < l; j++) {
        double *hidden = state + 2 * b * j;
        layer(b, main_params + 8 * b * j, main_params + 8 * b * j + 4 * b, from, hidden, hidden + b);
        from = hidden;
    }
    const double *top = from;
"""


def test_lstm_with_a_pointer_carried_through_the_loop(tmp_path: Path) -> None:
    """A form that Enzyme gets silently wrong (0.4 % off on ADBench's instance, by finite differences)."""
    text = (HERE / "lstm.c").read_text()
    start = text.index("    for (int j = 0; j < l; j++) {")
    end = text.index("    for (int i = 0; i < b; i++)\n        prediction")
    source = tmp_path / "carried.c"
    source.write_text(text[:start] + CARRIED + text[end:])
    instance = random_lstm(2, 9, 3)
    function = llgrad.load(source).lstm_objective
    df = llgrad.value_and_grad(function, wrt=("main_params", "extra_params"), of="loss")
    _, gradients = df(*instance.arguments())
    reference = references.lstm_gradient(instance)
    assert problems.worst_error(tuple(gradients), reference) <= TOLERANCE
    assert all(np.isfinite(gradient).all() for gradient in gradients)
