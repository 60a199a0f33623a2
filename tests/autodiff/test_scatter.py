"""Adjoints that are collected before they are added: where iterations add to one place, and only where they may."""

from __future__ import annotations

from pathlib import Path

import pytest
from deriving import derivation, prepared

from llgrad.autodiff.requests.request import Mode

PROGRAMS = Path(__file__).parents[1] / "corpus"
# name: activities, function whose plan is looked at, whether it is split, loads that are collected
CASES = {
    "collected_stencil": ("dcdo", "collected_step", True, 3),
    "collected_rows": ("dcccdc", "f", False, 6),
    "collected_not": ("dcdc", "f", False, 0),
    "collected_floats": ("dcdo", "f", False, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_collected(name: str) -> None:
    letters, function, split, count = CASES[name]
    source = (PROGRAMS / f"{name}.c").read_text().replace(f" {name}(", " f(")
    plan = derivation(prepared(source, level=2), Mode.COMBINED, letters).plan(function, split)
    assert sum(len(loads) for loads in plan.scattered.values()) == count, str(plan)


def test_no_columns_in_recursive_functions() -> None:
    source = """
double f(const double *restrict x, int n, double *restrict y) {
    if (n < 4) return x[0];
    for (int i = 1; i + 1 < n; i++) y[i] = x[i - 1] * x[i] * x[i + 1];
    return f(y, n / 2, y + n);
}
"""
    assert not derivation(prepared(source, level=0), Mode.COMBINED, "dcdo").plan("f", True).scattered


def test_no_columns_for_irregular_addresses() -> None:
    source = """
double f(const double *restrict x, const int *restrict at, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) { const double *p = x + 4 * at[i]; sum += p[0] * p[1] * p[2]; }
    return sum;
}
"""
    plan = derivation(prepared(source, level=2), Mode.COMBINED, "dcco").plan("f", False)
    assert plan.loops and not plan.scattered, str(plan)
