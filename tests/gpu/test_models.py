"""Kernels of machine learning: values and gradients against NumPy's formulas in double, and their differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.errors import CompilerError


def attention(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ v


def layernorm(x: Any, g: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g


@pytest.fixture(scope="module")
def lib() -> Any:
    try:
        return llgrad.load(Path(__file__).with_name("models.cu"))
    except CompilerError as error:
        pytest.skip(f"no compiler for kernels: {error}")


@pytest.mark.parametrize(
    ("kernel", "formula", "shapes", "n", "grid", "block"),
    [
        ("attention8", attention, [(32, 8)] * 3, 32, 2, 16),
        ("layernorm", layernorm, [(3, 100), (100,)], 100, 3, 32),
    ],
)  # fmt: skip
def test_gradient(
    lib: Any, kernel: str, formula: Callable[..., Any], shapes: list[tuple[int, ...]], n: int, grid: int, block: int
) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    exact = [x.astype(np.float64) for x in inputs]
    y, h = np.zeros(shapes[0], np.float32), 1e-6
    lib[kernel][grid, block](*inputs, y, np.int32(n))
    np.testing.assert_allclose(y, formula(*exact), atol=1e-5)
    w = rng.normal(size=y.shape).astype(np.float32)
    shadows = [np.zeros_like(x) for x in inputs]
    lib[kernel].vjp[grid, block]((*inputs, y, np.int32(n)), (*shadows, w.copy(), None))
    for n_th, shadow in enumerate(shadows):
        t = rng.normal(size=shadow.shape)
        high, low = ([x + sign * h * t * (n_th == m) for m, x in enumerate(exact)] for sign in (1, -1))
        wanted = (w * (formula(*high) - formula(*low))).sum() / (2 * h)
        assert abs((shadow * t).sum() - wanted) < 1e-5 * (np.abs(shadow) * np.abs(t)).sum()
