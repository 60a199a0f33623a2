"""The same numerical core in every language: values, gradients against C's and against finite differences."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from compilers import require
from core import CASES, EXAMPLES, STEPS, Case, M, N, differences, reference

import llgrad
from llgrad.errors import KindError

Layout = Callable[[Case, Sequence[Any]], list[Any]]


def c_layout(case: Case, v: Sequence[Any]) -> list[Any]:
    """Sizes and pointers."""
    return {"network": [N, M, *v], "integrate": [N, *v, STEPS], "solve": [N, *v]}[case.name]


def slices(case: Case, v: Sequence[Any]) -> list[Any]:
    """Arrays know their sizes."""
    return [*v, STEPS] if case.name == "integrate" else list(v)


LAYOUTS: dict[str, Layout] = {
    "model.c": c_layout, "model.cpp": c_layout, "model.rs": slices, "model.f90": slices, "model.zig": c_layout,
    "model.py": slices, "model.d": c_layout, "model.nim": c_layout,
    "model.mlir": slices,
}  # fmt: skip


# What is refused today, and with which error. An entry goes when it works.
REFUSED = {("model.nim", "integrate"): KindError}


def named(source: str, name: str) -> Any:
    """The function of that name: of a library, or Numba's."""
    if source.endswith(".py"):
        return runpy.run_path(str(EXAMPLES / source))[name]
    return llgrad.load(EXAMPLES / source)[name]


def derivative(source: str, case: Case) -> tuple[Callable[[Sequence[Any]], float], list[Any]]:
    """The function itself, and its gradient by all that is active."""
    layout = LAYOUTS[source]
    function = named(source, case.name)
    arguments = layout(case, case.active)
    wrt = tuple(n for n, a in enumerate(arguments) if any(a is v for v in case.active))
    assert len(wrt) == len(case.active)
    value, gradients = llgrad.value_and_grad(function, wrt=wrt)(*arguments)
    assert abs(value - reference(case.name, case.active)) < 1e-12
    return lambda v: float(function(*layout(case, v))), list(gradients)


def is_quick(source: str, case: Case) -> bool:
    """One function of every language each time; the others where the IR is the most different from C's."""
    return case.name == "network" or source in ("model.c", "model.rs", "model.f90")


@pytest.mark.parametrize(
    ("source", "case"),
    [
        pytest.param(source, case, id=f"{source}-{case.name}", marks=() if is_quick(source, case) else pytest.mark.full)
        for source in LAYOUTS for case in CASES
        if (source, case.name) != ("model.mlir", "solve")  # which that example does not have
    ],
)  # fmt: skip
def test_core(source: str, case: Case) -> None:
    if source.endswith(".py"):
        pytest.importorskip("numba", reason="no Numba (pip install numba)")
    else:
        require(source)
    if (source, case.name) in REFUSED:
        with pytest.raises(REFUSED[source, case.name]):
            derivative(source, case)
        return
    function, gradients = derivative(source, case)
    _, of_c = derivative("model.c", case)
    for ours, c, truth in zip(gradients, of_c, differences(function, case.active), strict=True):
        np.testing.assert_allclose(ours, np.reshape(c, np.shape(ours)), rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(ours, truth, rtol=1e-7, atol=1e-9)
