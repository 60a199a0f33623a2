"""More than two floats leave a function through memory, never on x86's floating-point stack."""

from __future__ import annotations

import re

import pytest
from deriving import prepared, request
from msgspec.structs import replace

from llgrad.autodiff.requests.request import Mode, Request
from llgrad.execution.entry import Entry, entry_text
from llgrad.llvm import emit_assembly
from llgrad.programs import derivatives, stages
from llgrad.programs.failure_hook import fail_text

RECURSIVE = """
#include <math.h>
typedef TYPE Real;
static __attribute__((noinline)) Real tree(Real a, Real b, Real c, double d, int n)
{
    if (n == 0)
        return a * b + sin(c) * d;
    return tree(a * 0.5f, b + c, c, d * a, n - 1) * tree(b, c * 0.5f, a, d, n - 1) + a * d;
}
Real f(Real a, Real b, Real c, double d, int n) { return tree(a, b, c, d, n); }
"""
TABLE = """
static __attribute__((noinline)) double sum(double a, double b, double c) { return a * b + c; }
static __attribute__((noinline)) double product(double a, double b, double c) { return a * b * c; }
static double (*const table[2])(double, double, double) = {sum, product};
double f(double a, double b, double c, int n) { return table[n](a, b, c) * a; }
"""


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        (RECURSIVE.replace("TYPE", "double"), request(Mode.COMBINED, "ooooco")),
        (RECURSIVE.replace("TYPE", "float"), request(Mode.COMBINED, "ooooco")),
        (RECURSIVE.replace("TYPE", "double"), replace(request(Mode.FORWARD, "ooooco"), width=3, primal_result=True)),
        (RECURSIVE.replace("TYPE", "float"), replace(request(Mode.COMBINED, "ooooco"), width=2)),
        (TABLE, request(Mode.COMBINED, "oooco")),
        (TABLE, replace(request(Mode.FORWARD, "oooco"), width=4)),
    ],
)
def test_no_float_is_on_the_stack_of_floats(source: str, asked: Request) -> None:
    derived = derivatives.derivative(prepared(source), asked)
    entry = Entry("entry", derived.parameters, derived.results)
    text = entry_text(entry, derived.symbol, aggregate=derived.aggregate, wide=derived.wide)
    module = stages.finish(derived.text, [text, fail_text()], ["entry"], vectorize=False)
    assert derived.wide
    assert re.search(r"^define internal [^@]*\{ \{ [^@]*4 x i1", module.text(), re.MULTILINE), "nothing returns it so"
    assert not re.search(r"\bf(ld|st)[a-z]*\b", emit_assembly(module, cpu="x86-64"))


def test_two_floats_are_in_registers() -> None:
    text = prepared("double f(double a, double b) { return a * b; }")
    derived = derivatives.derivative(text, request(Mode.COMBINED, "ooo"))
    assert not derived.wide and "4 x i1" not in derived.text
