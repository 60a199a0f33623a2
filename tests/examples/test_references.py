"""The hand-written ADBench derivatives against complex steps of the NumPy objectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from examples.adbench import references as ref
from examples.adbench.instances import (
    DATA,
    Array,
    Ba,
    Gmm,
    Lstm,
    random_ba,
    random_gmm,
    random_lstm,
    read_ba,
    read_gmm,
    read_lstm,
)

STEP = 1e-200  # a complex step has no cancellation: as small as one likes
Instance = Gmm | Ba | Lstm


def complex_step(f: Callable[[Any], Any], instance: Instance, field: str, direction: Array) -> Any:
    """The derivative of f(instance) when `field` moves along `direction`."""
    moved = replace(instance, **{field: getattr(instance, field) + 1j * STEP * direction})
    return np.imag(f(moved)) / STEP


def gradient(f: Callable[[Any], Any], instance: Instance, field: str) -> Array:
    """The full gradient of a scalar objective by one field."""
    shape = getattr(instance, field).shape
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    return np.array([complex_step(f, instance, field, unit) for unit in units]).reshape(shape)


def close(got: Array, expected: Array, tolerance: float = 1e-12) -> None:
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize(("d", "k", "n"), [(1, 1, 1), (1, 3, 4), (2, 1, 5), (4, 3, 7)])
def test_gmm_gradient(d: int, k: int, n: int) -> None:
    instance = random_gmm(d, k, n)
    for field, got in zip(("alphas", "means", "icf"), ref.gmm_gradient(instance), strict=True):
        expected = gradient(ref.gmm_objective, instance, field)
        assert np.abs(got - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(("layers", "length", "bits"), [(1, 2, 1), (1, 5, 3), (2, 6, 2), (3, 4, 3)])
def test_lstm_gradient(layers: int, length: int, bits: int) -> None:
    instance = random_lstm(layers, length, bits)
    for field, got in zip(("main", "extra"), ref.lstm_gradient(instance), strict=True):
        close(got, gradient(ref.lstm_objective, instance, field))


def test_ba_jacobian() -> None:
    instance = random_ba(4, 5, 9).expanded()
    jacobian, by_weight = ref.ba_jacobian(instance)
    fields = [("cams", 0, 11), ("points", 11, 14), ("weights", 14, 15)]
    for field, start, stop in fields:
        shape = getattr(instance, field).shape
        for column in range(start, stop):
            direction = np.ones(shape) if field == "weights" else np.tile(np.eye(shape[1])[column - start], (9, 1))
            expected = complex_step(lambda i: ref.ba_objective(i)[0], instance, field, direction)
            close(jacobian[:, :, column], expected)
    close(by_weight, complex_step(lambda i: ref.ba_objective(i)[1], instance, "weights", np.ones(9)))


def test_ba_rotates_by_the_rodrigues_vector() -> None:
    instance = random_ba(1, 1, 1)
    instance.cams[0, :3] = [0.0, 0.0, np.pi / 2]
    instance.cams[0, 3:] = [0, 0, 0, 2, 5, 7, 0, 0]
    instance.points[0] = [1.0, 0.0, 4.0]
    errors, _ = ref.ba_objective(replace(instance, weights=np.ones(1), feats=np.zeros((1, 2))))
    assert errors[0] == pytest.approx([5.0, 7.5])


def test_ba_unrotated_camera_keeps_its_rotation_derivative() -> None:
    instance = random_ba(2, 2, 3)
    jacobian, _ = ref.ba_jacobian(instance)
    assert not instance.cams[instance.obs[0, 0], :3].any()
    assert np.abs(jacobian[0, :, :3]).min() > 0


@pytest.mark.parametrize("reader", [read_gmm, read_lstm])
def test_real_instances_along_random_directions(reader: Callable[[], Any]) -> None:
    instance = reader()
    gmm = isinstance(instance, Gmm)
    objective, gradients = (ref.gmm_objective, ref.gmm_gradient) if gmm else (ref.lstm_objective, ref.lstm_gradient)
    fields = ("alphas", "means", "icf") if gmm else ("main", "extra")
    rng = np.random.default_rng(1)
    for field, got in zip(fields, gradients(instance), strict=True):
        direction = rng.normal(size=got.shape)
        expected = complex_step(objective, instance, field, direction)
        assert abs((got * direction).sum() - expected) <= 1e-12 * np.abs(got * direction).sum()


def test_real_bundle_adjustment() -> None:
    instance = read_ba()
    assert (len(instance.cams), len(instance.points), len(instance.weights)) == (49, 7776, 31843)
    jacobian, by_weight = ref.ba_jacobian(instance)
    assert jacobian.shape == (31843, 2, 15)
    rng = np.random.default_rng(2)
    cams, points = rng.normal(size=instance.cams.shape), rng.normal(size=instance.points.shape)
    moved = replace(instance, cams=instance.cams + 1j * STEP * cams, points=instance.points + 1j * STEP * points)
    expected = np.imag(ref.ba_objective(moved)[0]) / STEP
    direction = np.concatenate([cams[instance.obs[:, 0]], points[instance.obs[:, 1]]], axis=1)
    close(np.einsum("pij,pj->pi", jacobian[:, :, :14], direction), expected, 1e-11)
    close(by_weight, -2 * instance.weights)


def test_a_truncated_file_is_an_error(tmp_path: Any) -> None:
    path = tmp_path / "short.txt"
    path.write_text((DATA / "gmm_d10_K25.txt").read_text()[:5000])
    with pytest.raises(ValueError, match="ends before"):
        read_gmm(path)
