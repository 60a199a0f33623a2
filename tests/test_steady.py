"""Values that are the same in every iteration of a loop around their own: what the plan says, and second derivatives.

First derivatives of both programs are checked with the corpus, at every level.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from full.switches import switched

import llgrad

CORPUS = Path(__file__).parent / "corpus"
X = np.array([0.7, 0.2, 0.3, 0.65, 0.1, -0.2, 0.15, 0.05, 0.8, -0.3, 0.35, 0.25, -0.1, 0.02, 0.61, 0.12])


def function(name: str) -> llgrad.Function:
    found: llgrad.Function = getattr(llgrad.load(CORPUS / f"{name}.c"), name)
    return found


def columns(f: llgrad.Function) -> list[str]:
    """Those of floats, as the plan lists them."""
    plan = llgrad.vjp(f, wrt="x", of="y").plan
    return [line for line in plan.splitlines() if "column" in line and "double" in line]


def test_columns_have_no_elements_for_loops_in_which_nothing_changes() -> None:
    f = function("steady_values")
    steady = columns(f)
    with switched("none_steady"):
        every = columns(f)
    assert sum(line.count(" in ") for line in every) >= sum(line.count(" in ") for line in steady) + 5


def test_what_changes_has_its_own_elements() -> None:
    f = function("steady_not")
    steady = columns(f)
    with switched("none_steady"):
        assert columns(f) == steady


@pytest.mark.parametrize("name", ["steady_values", "steady_not"])
def test_second_derivatives(name: str) -> None:
    f = function(name)
    hvp, reverse = llgrad.hvp(f, wrt="x", of="y"), llgrad.jacobian(f, wrt="x", of="y", mode="reverse")
    seed, v, h = np.array([1.0, -0.5, 2.0]), np.cos(np.arange(16.0)), 1e-5
    found = hvp(X, 4, np.zeros(3), 3, v, seed=seed)
    ahead, behind = (reverse(X + by * v, 4, np.zeros(3), 3) for by in (h, -h))
    np.testing.assert_allclose(found, seed @ (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7)


def test_exchanged_buffers_are_apart_in_each_iteration() -> None:
    plan = llgrad.vjp(function("exchanged_buffers"), wrt="x", of="y").plan
    assert plan.count("adjoints collected") == 2, plan  # of the first two loops, and no others
