"""`llgrad explain` says what plans say, at the lines of the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import llgrad
from llgrad.api.derivatives import Derivative
from llgrad.api.explain import Report, explain
from llgrad.autodiff.requests.request import Mode
from llgrad.cli import main

CODE = """#include <math.h>
double chain(const double *x, double a, int n) {
    double y = 1;
    for (int i = 0; i < n; i++)
        y = sin(y * x[i]);
    return a > 0 ? y * a : y;
}
double apart(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 20; j++)
            s += sin(x[i] * j) * x[i];
    return s;
}
double until(double x) {
    while (x > 1)
        x = x * x * 0.4;
    return x;
}
"""


@pytest.fixture
def report(source: Callable[..., Path]) -> Callable[[str], Report]:
    lib = llgrad.load(source(CODE))
    return lambda name: explain(Derivative(lib[name], Mode.COMBINED, None, None, "grad", compile=False))


def test_what_is_kept_where(report: Callable[[str], Report]) -> None:
    found = report("chain")
    [lines] = found.lines.values()
    assert lines[5].active and any("value (double) in each iteration of line 4" in kept for kept in lines[5].kept)
    assert [(step.span.line, step.bytes) for step in found.loops if step.span] == [(4, 8)]
    assert dict(found.parameters)["int n"] == "constant"
    assert dict(found.parameters)["double a"].startswith("active")


def test_how_loops_are_gone_through(report: Callable[[str], Report]) -> None:
    assert "both sweeps together" in [step.how for step in report("apart").loops]
    assert [step.how for step in report("until").loops] == ["in chunks: its count is not known"]


def test_the_command(source: Callable[..., Path], tmp_path: Path) -> None:
    path, page = source(CODE), tmp_path / "page.html"
    done = CliRunner().invoke(main, ["explain", str(path), "-f", "chain"])
    assert done.exit_code == 0 and "y = sin(y * x[i]);" in done.output and "in each iteration of line 4" in done.output
    assert CliRunner().invoke(main, ["explain", str(path), "-f", "chain", "-o", str(page)]).exit_code == 0
    assert "in each iteration of line 4" in page.read_text() and "<html>" in page.read_text()
    refused = CliRunner().invoke(main, ["explain", str(path), "-f", "nothing"])
    assert refused.exit_code == 2 and "defines no function 'nothing'" in refused.output
