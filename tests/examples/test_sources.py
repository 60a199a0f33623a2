"""The C objectives, compiled as they are, against the independent NumPy objectives."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import native
from examples.adbench import references as ref
from examples.adbench.instances import random_ba, random_gmm, random_lstm, read_gmm, read_lstm

VARIANT = native.Variant("-O1")


@pytest.fixture(autouse=True)
def _build_aside(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setattr(native, "BUILD", tmp_path_factory.getbasetemp() / "native")


def test_gmm() -> None:
    objective = native.primal("gmm", VARIANT).gmm_objective
    for instance in (random_gmm(1, 1, 1), random_gmm(3, 4, 6), read_gmm()):
        arguments = instance.arguments()
        native.bind(objective, arguments)()
        assert arguments[-1][0] == pytest.approx(ref.gmm_objective(instance), rel=1e-12)


def test_lstm_leaves_its_initial_state_alone() -> None:
    objective = native.primal("lstm", VARIANT).lstm_objective
    for instance in (random_lstm(1, 2, 1), random_lstm(3, 5, 4), read_lstm()):
        arguments, state = instance.arguments(), instance.state.copy()
        native.bind(objective, arguments)()
        assert arguments[-1][0] == pytest.approx(ref.lstm_objective(instance), rel=1e-12)
        assert np.array_equal(instance.state, state)


def test_ba() -> None:
    lib = native.primal("ba", VARIANT)
    instance = random_ba(4, 5, 11)
    for same in (instance, instance.expanded()):
        arguments = same.arguments()
        native.bind(lib.ba_objective, arguments)()
        for got, expected in zip(arguments[-2:], ref.ba_objective(instance), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-10)
