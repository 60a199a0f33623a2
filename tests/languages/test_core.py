"""The same numerical core in every language: values, gradients against C's and against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from compilers import require
from core import CASES, STEPS, Case, differences, reference

import llgrad
from examples.languages import LAYOUTS, function


def derivative(source: str, case: Case) -> tuple[Callable[[Sequence[Any]], float], list[Any]]:
    """The function itself, and its gradient by all that is active."""
    layout, called = LAYOUTS[source], function(source, case.name)
    arguments = layout(case.name, case.active, STEPS)
    first = next(n for n, a in enumerate(arguments) if isinstance(a, np.ndarray))
    wrt = tuple(range(first, first + len(case.active)))
    value, gradients = llgrad.value_and_grad(called, wrt=wrt)(*arguments)
    assert abs(value - reference(case.name, case.active)) < 1e-12
    return lambda v: float(called(*layout(case.name, v, STEPS))), list(gradients)


def is_quick(source: str, case: Case) -> bool:
    """One function of every language each time; the others where the IR is the most different from C's."""
    return case.name == "network" or source in ("model.c", "model.rs", "model.f90")


@pytest.mark.parametrize(
    ("source", "case"),
    [
        pytest.param(source, case, id=f"{source}-{case.name}", marks=() if is_quick(source, case) else pytest.mark.full)
        for source in LAYOUTS for case in CASES
    ],
)  # fmt: skip
def test_core(source: str, case: Case) -> None:
    require(source)
    called, gradients = derivative(source, case)
    _, of_c = derivative("model.c", case)
    for ours, c, truth in zip(gradients, of_c, differences(called, case.active), strict=True):
        np.testing.assert_allclose(ours, np.reshape(c, np.shape(ours)), rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(ours, truth, rtol=1e-7, atol=1e-9)
