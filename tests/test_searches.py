"""Chosen iterations, run again behind their loops: where, and with the values and tangents of what was there before."""

from __future__ import annotations

import math

import numpy as np
import pytest
from interpreter import Dual, Machine, tangent
from interpreter.floats import format_of

from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import verified
from llgrad.transforms.loops.chosen_iteration import with_chosen_iterations

LOOP = """
define double @f(ptr %x, ptr %y, i64 %n, double %start) {{
entry:
  br label %before
before:
  br label %loop
loop:
  %i = phi i64 [ 0, %before ], [ %next, %latch ]
  %p = phi ptr [ %x, %before ], [ %q, %latch ]
  %best = phi double [ %start, %before ], [ %better, %latch ]
  %v = load double, ptr %p
  %w = fmul double %v, %v
  {body}
  br i1 {small}, label %then, label %latch
then:
  %z = fsub double %w, %v
  br label %latch
latch:
  %s = phi double [ %w, %loop ], [ %z, %then ]
  %c = fcmp {test} double %s, %best
  %better = {choice}
  %q = getelementptr i8, ptr %p, i64 8
  %next = add i64 %i, 1
  %go = icmp ult i64 %next, %n
  br i1 %go, label %loop, label %end
end:
  %r = phi double [ %better, %latch ]
  {end}
  ret double %r
}}
declare double @llvm.minnum.f64(double, double)
declare double @llvm.maxnum.f64(double, double)
declare void @g() nounwind willreturn
"""
USUAL = {
    "body": "%k = fcmp olt double %v, 0.0", "small": "%k", "test": "olt", "end": "",
    "choice": "select i1 %c, double %s, double %best",
}  # fmt: skip
CHOSEN = {
    "least": {},
    "most": {"test": "ogt"},
    "the last of equals": {"test": "ole"},
    "unordered": {"test": "ult"},
    "the other way": {"choice": "select i1 %c, double %best, double %s"},
    "minnum": {"choice": "call double @llvm.minnum.f64(double %best, double %s)"},
    "minnum, candidate first": {"choice": "call double @llvm.minnum.f64(double %s, double %best)"},
    "maxnum": {"choice": "call double @llvm.maxnum.f64(double %best, double %s)"},
    "maxnum, candidate first": {"choice": "call double @llvm.maxnum.f64(double %s, double %best)"},
}
LEFT = {
    "writes": {"body": "store double %w, ptr %y\n  %k = fcmp olt double %v, 0.0"},
    "calls": {"body": "call void @g()\n  %k = fcmp olt double %v, 0.0"},
    "volatile": {"body": "%o = load volatile double, ptr %y\n  %k = fcmp olt double %o, 0.0"},
    "hangs on the best": {"body": "%k = fcmp olt double %v, %best"},
    "a sum of the best": {"choice": "fadd double %s, %best"},
    "no choice between them": {"choice": "select i1 %c, double %s, double %v"},
}
ARRAYS = {
    "distinct": [0.75, -0.5, 2.0, 0.25, 3.0],
    "ties": [0.5, 1.5, -0.5, 0.5, 1.5],
    "nan first": [math.nan, 0.5, 2.0, 0.25],
    "nan within": [0.5, math.nan, 0.25, 3.0],
    "one": [2.0],
}


def results(text: str, x: list[float], start: float) -> tuple[float, float]:
    machine = Machine(parse(text), uninitialised="poison")
    at = machine.put(np.array(x))
    machine.set(at, np.array(x), np.arange(1.0, len(x) + 1))
    got = machine.run("f", [at, machine.put(np.zeros(1)), len(x), Dual(start, 100.0, format_of("double"))])
    return float(getattr(got, "value", got)), float(tangent(got))


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen(name: str) -> None:
    text = LOOP.format(**{**USUAL, **CHOSEN[name]})
    module = parse(text)
    assert with_chosen_iterations(module)
    new = verified(write(module)).text()
    assert "chosen" in new
    for x in ARRAYS.values():
        for start in (0.3, 1e30, -1e30, math.nan):
            (value, slope), (was, was_slope) = results(new, x, start), results(text, x, start)
            np.testing.assert_array_equal(value, was, f"{x}, from {start}")
            if not math.isnan(was_slope):  # the interpreter multiplies a nan that `minnum` has not taken by zero
                assert slope == was_slope, f"{x}, from {start}"


@pytest.mark.parametrize("name", LEFT)
def test_left(name: str) -> None:
    assert not with_chosen_iterations(parse(LOOP.format(**{**USUAL, **LEFT[name]})))


def test_candidates_without_a_derivative_are_left() -> None:
    text = LOOP.format(**USUAL)
    for computed in ("load double, ptr %p", "fmul double %v, %v", "fsub double %w, %v"):
        text = text.replace(computed, "select i1 true, double 2.0, double 1.0")
    assert not with_chosen_iterations(parse(text))


def test_searches_that_llvm_vectorises_are_left() -> None:
    text = LOOP.format(**{**USUAL, "choice": "select nnan nsz i1 %c, double %s, double %best"})
    assert not with_chosen_iterations(parse(text))
