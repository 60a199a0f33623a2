"""Zig: maps with floats as values, queues."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad

X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    require("a.zig")
    return llgrad.load(Path(__file__).parent / "maps.zig")


@pytest.mark.parametrize("name", ["hashed", "ordered", "queued"])
def test_containers(lib: llgrad.Library, name: str) -> None:
    function = lib[name]
    gradient = llgrad.grad(function, wrt=1)(6, X)
    np.testing.assert_allclose(gradient, differences(lambda v: function(6, *v), [X])[0], rtol=1e-7, atol=1e-9)
    _, slope = llgrad.jvp(function, wrt=1)(6, X, tangents=X)
    assert slope == pytest.approx((gradient * X).sum(), rel=1e-10)
