"""ADBench's hand: the C objectives against NumPy's, their Jacobians against complex steps and finite differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import llgrad
from examples.adbench.hand import Hand, errors, jacobian, read_hand
from examples.adbench.instances import DATA, HERE

STEP = 1e-200
FILES = ("simple_c100.txt", "complicated_c100.txt")


@pytest.fixture(scope="module", params=FILES)
def hand(request: Any) -> Hand:
    return read_hand(DATA / "hand" / request.param)


def objective(h: Hand) -> Any:
    arguments = h.arguments()
    llgrad.load(HERE / "hand.c")[h.objective](*arguments)
    return arguments[-1]


def test_the_objective_is_that_of_numpy(hand: Hand) -> None:
    assert np.abs(objective(hand) - errors(hand)).max() < 1e-14


def test_the_jacobian_is_that_of_complex_steps(hand: Hand) -> None:
    got = jacobian(hand)
    units = np.eye(len(hand.theta))
    columns = [errors(replace(hand, theta=hand.theta + 1j * STEP * unit)).imag / STEP for unit in units]
    expected = np.stack(columns, axis=-1)
    assert np.abs(got[0] - expected).max() < 1e-12 * np.abs(expected).max()
    if hand.u is not None:
        shifts = [errors(replace(hand, u=hand.u + 1j * STEP * unit)).imag / STEP for unit in np.eye(2)]
        assert np.abs(got[1] - np.stack(shifts, axis=-1)).max() < 1e-12 * np.abs(shifts).max()


def test_the_jacobian_is_that_of_finite_differences_of_the_c(hand: Hand) -> None:
    direction, h = np.random.default_rng(0).normal(size=hand.theta.shape), 1e-3
    at = {n: objective(replace(hand, theta=hand.theta + n * h * direction)) for n in (-3, -2, -1, 1, 2, 3)}
    expected = (45 * (at[1] - at[-1]) - 9 * (at[2] - at[-2]) + (at[3] - at[-3])) / (60 * h)
    assert np.abs(jacobian(hand)[0] @ direction - expected).max() < 1e-9 * np.abs(expected).max()
