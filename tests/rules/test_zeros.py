"""Rule by rule, where a partial is infinite or nan: a zero that is given contributes nothing, in both modes; one that
arithmetic made meets it as IEEE says, and is zero with strong zeros.

The points are found by evaluating the partials of the table; a C program is made of each, which prints derivatives.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rule_algebras import FloatAlgebra

import llgrad
from llgrad.rules import complex_functions, evaluate
from llgrad.rules.library import FUNCTIONS, lookup

CANDIDATES = (0.0, 1.0, -1.0, -2.0, 3.0, 1e3)
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
DAILY = {"fdiv", "sqrt", "cbrt", "asin", "pow", "log", "csqrt", "clog"}

# Of x[0] = POINT and x[1] = 0; what is not RULE has slope 2 in x[0].
BODIES = {
    "seed": "y[0] = RULE(x[0]); y[1] = 2 * x[0];",
    "choice": "double v = RULE(x[0]); y[0] = c ? v : 2 * x[0];",
    "branch": "double v = RULE(x[0]); y[0] = 2 * x[0]; if (c) y[0] = v * v;",
    "maximum": "y[0] = fmax(RULE(x[0]), 1e300) + 2 * x[0];",
    "compared": "y[0] = called_ID(x[0]) > 1e300 ? 1 + 2 * x[0] : 2 * x[0]; y[1] = called_ID(x[0]);",
    "product": "y[0] = RULE(x[0]) * x[1];",
    "chain": "y[0] = cbrt(RULE(x[0])); y[1] = 2 * x[0];",
    "own": "y[0] = square(larger(RULE(x[0]), 1e100)) + 2 * x[0];",
    "square": "y[0] = RULE(x[0] + x[1] * x[1]);",
}
# What, mode, seeds of the two results or tangents, and the derivative that must come out: a number, or nan.
CHECKS: tuple[tuple[str, str, tuple[int, int], float, bool], ...] = (
    ("seed", "reverse", (0, 1), 2, False), ("seed", "forward", (0, 1), 0, False),
    ("choice", "reverse", (1, 0), 2, False), ("choice", "forward", (1, 0), 2, False),
    ("branch", "reverse", (1, 0), 2, False), ("branch", "forward", (1, 0), 2, False),
    ("maximum", "reverse", (1, 0), 2, False), ("maximum", "forward", (1, 0), 2, False),
    ("compared", "reverse", (1, 0), 2, False), ("compared", "forward", (1, 0), 2, False),
    ("chain", "reverse", (0, 1), 2, False), ("chain", "forward", (0, 1), 0, False),
    ("own", "reverse", (1, 0), 2, False), ("own", "forward", (1, 0), 2, False),
    ("product", "reverse", (1, 0), math.nan, False), ("product", "reverse", (1, 0), 0, True),
    ("square", "forward", (0, 1), math.nan, False), ("square", "forward", (0, 1), 0, True),
)  # fmt: skip


# The same of complex numbers: Z is x[0] + i x[1], and x[2] is 0. Derivatives by x[0] and x[1] are summed.
COMPLEX_BODIES = {
    "seed": "PAIR v = RULE(Z); y[0] = creal(v) + cimag(v); y[1] = 2 * x[0];",
    "choice": "PAIR v = RULE(Z); y[0] = c ? cimag(v) : 2 * x[0];",
    "branch": "PAIR v = RULE(Z); y[0] = 2 * x[0]; if (c) y[0] = creal(v) * cimag(v);",
    "maximum": "y[0] = fmax(creal(RULE(Z)), 1e300) + 2 * x[0];",
    "compared": "y[0] = called_ID(Z) > 1e300 ? 1 + 2 * x[0] : 2 * x[0]; y[1] = called_ID(Z);",
    "product": "PAIR v = RULE(Z); y[0] = (creal(v) + cimag(v)) * x[2];",
    "chain": "PAIR v = csqrt(RULE(Z)); y[0] = creal(v) + cimag(v); y[1] = 2 * x[0];",
    "own": "y[0] = square(larger(creal(RULE(Z)), 1e100)) + 2 * x[0];",
    "square": "PAIR v = RULE(CMPLX(x[0] + x[2] * x[2], x[1] + x[2] * x[2])); y[0] = creal(v) + cimag(v);",
}
COMPLEX: dict[str, Callable[..., complex]] = {
    "csqrt": np.sqrt, "clog": np.log, "clog10": np.log10, "cexp": np.exp, "csin": np.sin, "ccos": np.cos,
    "ctan": np.tan, "csinh": np.sinh, "ccosh": np.cosh, "ctanh": np.tanh, "casin": np.arcsin, "cacos": np.arccos,
    "catan": np.arctan, "casinh": np.arcsinh, "cacosh": np.arccosh, "catanh": np.arctanh, "cpow": np.power,
    "cmul": np.multiply, "cdiv": np.divide, "carg": np.angle, "cabs": np.abs, "cproj": np.positive, "conj": np.conj,
    "creal": np.real, "cimag": np.imag,
}  # fmt: skip
OPERATORS = {"cmul": "*", "cdiv": "/"}

Case = tuple[str, complex, bool]


def complex_poles(name: str) -> list[Case]:
    """As `poles`, of a rule of complex operands."""
    rule, found, count = FUNCTIONS[name], list[Case](), len(FUNCTIONS[name].operands) // 2
    seen: set[int] = set()
    for k, point in itertools.product(range(count), itertools.product((0, 1, -1, 1j, -1j, 0.5), repeat=count)):
        with np.errstate(all="ignore"):
            value = complex(COMPLEX[name](*map(np.complex128, point)))
        parts = [part for z in map(complex, point) for part in (z.real, z.imag)]
        partials = [p for row in rule.partials for p in row[2 * k : 2 * k + 2] if p is not None]
        results = [value.real, value.imag][: len(rule.results)]
        if all(math.isfinite(evaluate(p, parts, results, FloatAlgebra())) for p in partials):
            continue
        if k not in seen:
            seen.add(k)
            numbers = enumerate(map(complex, point))
            operands = ["(X)" if n == k else f"CMPLX({z.real!r}, {z.imag!r})" for n, z in numbers]
            text = f" {OPERATORS[name]} ".join(operands) if name in OPERATORS else f"{name}({', '.join(operands)})"
            found.append((text, point[k], math.isfinite(abs(value))))
    return found


def poles(name: str) -> list[Case]:
    """A call with the operand in question as X, a point where the partial by that is no finite number, and whether the
    result is one there; for each operand that has such a point."""
    if name in COMPLEX:
        return complex_poles(name)
    if name == "fdiv":
        return [("(1 / (X))", 0.0, False)]
    rule, function, entry = FUNCTIONS[name], getattr(LIBM, name, None), lookup(name)
    plain = set(rule.operands) == {"float"} and [(out.place, out.kind) for out in rule.results] == [("return", "float")]
    # `canonicalize` of libm is another
    if not plain or function is None or entry is None or entry.rule is not rule or entry.shape != "scalar":
        return []
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(rule.operands)
    found: list[Case] = []
    for k, partial in enumerate(rule.partials[0]):
        for point in itertools.product(CANDIDATES, repeat=len(rule.operands)) if partial is not None else ():
            value = function(*point)
            assert partial is not None
            if not math.isfinite(evaluate(partial, list(point), [value], FloatAlgebra())):
                operands = ", ".join("X" if n == k else repr(v) for n, v in enumerate(point))
                found.append((f"{name}({operands})", point[k], math.isfinite(value)))
                break
    return found


NAMES = [name for name in ("fdiv", *FUNCTIONS) if poles(name)]


def program(rule: str, cases: list[Case]) -> str:
    pairs = rule in COMPLEX
    bodies, number = (COMPLEX_BODIES, "PAIR") if pairs else (BODIES, "double")
    lines = [
        "#define _GNU_SOURCE", "#include <complex.h>", "#include <math.h>", "#include <stdio.h>",
        "#define PAIR double complex", "#define Z CMPLX(x[0], x[1])", "#define CMPLX(a, b) __builtin_complex(a, b)",
        "extern int enzyme_dup, enzyme_const, enzyme_strong_zero;",
        "void __enzyme_autodiff(void *, ...);", "void __enzyme_fwddiff(void *, ...);",
        "static volatile double nothing;",  # LLVM takes x - x for zero in sums that may be reordered, nan or not
        "#define OWN static __attribute__((noinline)) double",
        "OWN larger(double a, double b) { return a > b ? a : b; }", "OWN square(double x) { return x * x; }",
    ]  # fmt: skip
    calls = []
    for n, (call, point, _) in enumerate(cases):
        lines.append(f"#define RULE_{n}(X) {call}")
        lines.append(f"OWN called_{n}({number} x) {{ return RULE_{n}(x); }}")
        for what, body in bodies.items():
            text = body.replace("RULE", f"RULE_{n}").replace("ID", str(n))
            lines.append(f"static void {what}_{n}(const double *x, double *y, int c) {{ y[1] = 0; {text} }}")
        for m, (what, mode, (first, second), _, strong) in enumerate(CHECKS):
            marker = "enzyme_strong_zero, " if strong else ""
            reverse, given = mode == "reverse", "dx[0] + dx[1]" if pairs else "dx[0]"
            name = "__enzyme_autodiff" if reverse else "__enzyme_fwddiff"
            parts = (complex(point).real, complex(point).imag)[: 1 + pairs]
            at = ", ".join(f"{part!r} + nothing" for part in parts)
            between = "0, " * (pairs)
            dx, dy = ("0, 0", f"{first}, {second}") if reverse else (f"{first}, {between}{second}", "0, 0")
            calls.append(
                f"{{ double x[3] = {{{at}, nothing}}, dx[3] = {{{dx}}}, y[2], dy[2] = {{{dy}}};"
                f" {name}((void *){what}_{n}, {marker}enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, 0);"
                f' printf("{n} {m} %g\\n", {given if reverse else "dy[0]"}); }}'
            )
    return "\n".join([*lines, "int main(void) {", *calls, "return 0; }"])


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in DAILY else pytest.mark.full) for n in NAMES])
def test_zeros(name: str, tmp_path: Path) -> None:
    cases = poles(name)
    source = tmp_path / "zeros.c"
    source.write_text(program(name, cases))
    command = [sys.executable, "-m", "llgrad", "run", "-O1", str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    found = {(int(n), int(m)): float(v) for n, m, v in map(str.split, done.stdout.splitlines())}
    wrong = []
    for n, (call, point, finite) in enumerate(cases):
        for m, (what, mode, _, wanted, strong) in enumerate(CHECKS):
            got = found[n, m]
            if what in ("maximum", "own") and not finite:
                continue  # that is chosen
            if got != wanted and not (math.isnan(got) and math.isnan(wanted)):
                wrong.append(f"{call} at {point}: {what}, {mode}{', strong' * strong}: {got}, not {wanted}")
    assert not wrong, "\n".join(wrong)


HEAD = """
#include <math.h>
#define FAR static __attribute__((noinline))
struct both { double a, b; };
FAR void root_into(double x, double *r) { *r = sqrt(x); }
FAR struct both both(double x) { return (struct both){sqrt(x), x}; }
double kept;
"""
# Of x[0] = 0: the derivative of y[1] is 2, or, where arithmetic made the zero, nan.
VARIABLES = {
    "chain": "double v = sqrt(x[0]), w = sqrt(v); y[0] = w; y[1] = 2 * x[0];",
    "condition": "double r = sqrt(x[0]); y[1] = 2 * x[0]; if (r > 1) y[1] += 1 / r;",
    "twice": "double r = x[0]; r = sqrt(r); r = cbrt(r); y[1] = 2 * x[0]; if (r > 1) y[1] += r * r;",
    "overwritten": "double r = sqrt(x[0]); y[1] = 2 * x[0]; r = x[0] > 1 ? r : 2; y[0] = r * r; if (r > 3) y[1] /= r;",
    "loop": "double r = x[0]; for (int i = 0; i < 3; i++) r = sqrt(r); y[0] = r; y[1] = 2 * x[0];",
    "maximum": "double r = sqrt(x[0]), s = fmax(r, 1); y[1] = s * s - 1 + 2 * x[0];",
}
MADE = {
    "square": "double r = sqrt(x[0]); y[1] = r * r;",
    "condition": "double r = sqrt(x[0]); y[1] = 0; if (r < 1) y[1] = r * r;",
    "loop": "double r = sqrt(x[0]); y[1] = 1; for (int i = 0; i < 2; i++) y[1] *= r;",
    "inside": "double s = 0; for (int i = 0; i < 2; i++) s += x[0] * x[0]; y[1] = sqrt(s);",
}
OTHER_MEMORY = {
    "array": "double v[4]; for (int i = 0; i < 4; i++) v[i] = sqrt(x[0]); y[0] = sqrt(v[k]); y[1] = 2 * x[0];",
    "condition": "double v[4]; for (int i = 0; i < 4; i++) v[i] = sqrt(x[0]); y[1] = 2 * x[0]; if (v[k]) y[1] /= v[k];",
    "pointer": "double r; root_into(x[0], &r); y[0] = sqrt(r); y[1] = 2 * x[0];",
    "struct": "struct both v = both(x[0]); y[0] = sqrt(v.a); y[1] = 2 * v.b;",
    "global": "kept = sqrt(x[0]); root_into(1, y); y[0] = sqrt(kept); y[1] = 2 * x[0];",
}


def slopes(folder: Path, bodies: dict[str, str], level: int) -> dict[str, tuple[float, float]]:
    """The derivative of y[1] by x[0] at 0, in reverse; and the sum of y's tangents where x[0] does not change."""
    source = folder / "zeros.c"
    head = "_(const double *x, double *y, int k) { y[0] = y[1] = 0;"
    source.write_text(HEAD + "\n".join(f"void {name}{head} {body} }}" for name, body in bodies.items()))
    lib, found = llgrad.load(source, optimize=level), {}
    for name in bodies:
        f, arguments = getattr(lib, f"{name}_"), (np.zeros(1), np.zeros(2), 0)
        (dx,) = llgrad.vjp(f, wrt="x", of="y")(*arguments, seed=np.array([0.0, 1.0]))[1]
        dy = llgrad.jvp(f, wrt="x", of="y")(*arguments, tangents=np.zeros(1))[1]
        found[name] = float(dx), float(dy[0] + dy[1])
    return found


@pytest.mark.parametrize("level", [0, 2])
def test_variables_hand_on_what_is_known_of_zeros(level: int, tmp_path: Path) -> None:
    assert slopes(tmp_path, VARIABLES, level) == dict.fromkeys(VARIABLES, (2, 0))
    for name, (dx, dy) in slopes(tmp_path, MADE, level).items():
        assert math.isnan(dx) and (dy == 0 or math.isnan(dy)), name


@pytest.mark.parametrize("level", [0, 2])
def test_other_memory_says_nan_where_it_does_not_know(level: int, tmp_path: Path) -> None:
    for name, (dx, dy) in slopes(tmp_path, OTHER_MEMORY, level).items():
        assert (dx == 2 or math.isnan(dx)) and (dy == 0 or math.isnan(dy)), name


def test_poles_are_found() -> None:
    assert set(NAMES) >= DAILY | {"acos", "acosh", "atanh", "log1p", "atan2", "cacos", "cdiv", "cpow", "carg"}
    assert set(COMPLEX) == {rule.name for rule in complex_functions.RULES}
