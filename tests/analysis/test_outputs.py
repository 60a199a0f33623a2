"""What is written before it is read: known programs, and random ones that are run on memory of two contents."""

from __future__ import annotations

import ctypes
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.analysis.memory.output_arguments import Outputs, outputs
from llgrad.analysis.memory.polynomial_bounds import Between, Known, Poly
from llgrad.analysis.memory.polynomial_proofs import Fact, Proof
from llgrad.execution.library import loaded
from llgrad.ir.parse import parse
from llgrad.programs import stages
from llgrad.transforms.symbols import own_names

HEAD = "#include <math.h>\n#include <string.h>\n#include <stddef.h>\n#define APART static __attribute__((noinline))\n"

FILLED = {
    "softmax": "void f(const double *x, int n, double *out) { double s = 0;"
    "for (int i = 0; i < n; i++) { out[i] = exp(x[i]); s += out[i]; } for (int i = 0; i < n; i++) out[i] /= s; }",
    "zero, then accumulate": "void f(const double *W, const double *x, int n, double *out) {"
    "for (int i = 0; i < n; i++) out[i] = 0;"
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) out[i] += W[i * n + j] * x[j]; }",
    "scaled at the end": "void f(const double *x, int n, double *out) { for (int i = 0; i < n; i++) out[i] = 0;"
    "for (int k = 0; k < 3; k++) for (int i = 0; i < n; i++) out[i] += k * x[i];"
    "for (int i = 0; i < n; i++) out[i] *= 0.5; }",
    "a batch": "void f(const float *x, int b, int n, float *out) { for (int r = 0; r < b; r++) { float s = 0;"
    "for (int i = 0; i < n; i++) { out[r * n + i] = expf(x[r * n + i]); s += out[r * n + i]; }"
    "for (int i = 0; i < n; i++) out[r * n + i] /= s; } }",
    "memcpy": "void f(const double *x, size_t n, double *out) { memcpy(out, x, n * sizeof *x);"
    "for (size_t i = 0; i < n; i++) out[i] *= out[n - 1 - i]; }",
    "matrices": "void f(int m, int k, int n, const double *A, const double *B, double *C) {"
    "memset(C, 0, sizeof(double) * m * n);"
    "for (int i = 0; i < m; i++) for (int p = 0; p < k; p++) for (int j = 0; j < n; j++)"
    "C[i * n + j] += A[i * k + p] * B[p * n + j]; }",
    "helpers": "APART void zero(double *p, int n) { for (int i = 0; i < n; i++) p[i] = 0; }"
    "APART void axpy(double a, const double *x, double *y, int n) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }"
    "void f(const double *x, int m, int n, double *out) { for (int r = 0; r < m; r++) {"
    "zero(out + r * n, n); axpy(r, x, out + r * n, n); } }",
    "layer norm": "void f(const float *x, int rows, int n, float *out) { for (int r = 0; r < rows; r++) {"
    "const float *a = x + r * n; float *o = out + r * n, m = 0, v = 0; for (int i = 0; i < n; i++) m += a[i]; m /= n;"
    "for (int i = 0; i < n; i++) { o[i] = a[i] - m; v += o[i] * o[i]; } v = 1 / sqrtf(v / n);"
    "for (int i = 0; i < n; i++) o[i] *= v; } }",
    "sums": "void f(const double *x, int n, double *out) { out[0] = x[0];"
    "for (int i = 1; i < n; i++) out[i] = out[i - 1] + x[i]; }",
    "sums by a test": "void f(const double *x, int n, double *out) {"
    "for (int i = 0; i < n; i++) out[i] = (i ? out[i - 1] : 0) + x[i]; }",
    "columns first": "void f(const double *x, int m, int n, double *out) {"
    "for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) out[i * n + j] = x[j * m + i];"
    "for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) out[i * n + j] *= 2; }",
    "pairs": "void f(const double *x, int n, double *out) { for (int i = 0; i < n; i++) {"
    "out[2 * i] = x[i]; out[2 * i + 1] = -x[i]; } for (int i = 0; i < 2 * n; i++) out[i] *= out[i]; }",
    "rows of three": "void f(const double (*x)[3], int n, double (*out)[3]) { for (int i = 0; i < n; i++) {"
    "for (int j = 0; j < 3; j++) out[i][j] = 0;"
    "for (int j = 0; j < 3; j++) for (int k = 0; k < 3; k++) out[i][j] += x[i][k] * x[i][j]; } }",
    "an early return": "void f(const double *x, int n, double *out) { if (n <= 0) return;"
    "memset(out, 0, n * sizeof *out); for (int k = 0; k < n; k++)"
    "for (int i = 0; i < n - k; i++) out[i + k] += x[i]; }",
    "a convolution": "void f(const double *x, const double *w, int n, int k, double *out) {"
    "for (int i = 0; i < n + k - 1; i++) out[i] = 0;"
    "for (int i = 0; i < n; i++) for (int j = 0; j < k; j++) out[i + j] += x[i] * w[j]; }",
    "backwards": "void f(const double *U, const double *b, int n, double *x) { for (int i = n - 1; i >= 0; i--) {"
    "double s = b[i]; for (int j = i + 1; j < n; j++) s -= U[i * n + j] * x[j]; x[i] = s / U[i * n + i]; } }",
    "either way": "void f(const double *x, int n, double *out) {"
    "for (int i = 0; i < n; i++) if (x[i] > 0) out[i] = x[i]; else out[i] = 0;"
    "for (int i = 0; i < n; i++) if (x[i] < 1) out[i] += 1; }",
    "flat": "void f(const double *x, size_t m, size_t n, double *out) { for (size_t i = 0; i < m * n; i++) out[i] = 0;"
    "for (size_t i = 0; i < m; i++) for (size_t j = 0; j < n; j++) out[i * n + j] += x[j]; }",
    "cholesky": "void f(const double *A, int n, double *L) { memset(L, 0, sizeof(double) * n * n);"
    "for (int j = 0; j < n; j++) { double s = A[j * n + j];"
    "for (int k = 0; k < j; k++) s -= L[j * n + k] * L[j * n + k];"
    "L[j * n + j] = sqrt(s); for (int i = j + 1; i < n; i++) { double t = A[i * n + j];"
    "for (int k = 0; k < j; k++) t -= L[i * n + k] * L[j * n + k]; L[i * n + j] = t / L[j * n + j]; } } }",
}  # fmt: skip

UNKNOWN = {
    "accumulated": "for (int i = 0; i < n; i++) out[i] += x[i];",
    "one too few": "for (int i = 0; i < n - 1; i++) out[i] = 0; for (int i = 0; i < n; i++) out[i] += x[i];",
    "not the first": "for (int i = 1; i < n; i++) out[i] = 0; for (int i = 0; i < n; i++) out[i] += x[i];",
    "the next": "for (int i = 0; i < n - 1; i++) out[i] = x[i] + out[i + 1];",
    "some": "for (int i = 0; i < n; i++) if (x[i] > 0) out[i] = 0; for (int i = 0; i < n; i++) out[i] += x[i];",
    "for many": "if (n > 5) for (int i = 0; i < n; i++) out[i] = 0; for (int i = 0; i < n; i++) out[i] += x[i];",
    "every other": "for (int i = 0; i < n; i += 2) out[i] = 0; for (int i = 0; i < n; i++) out[i] += x[i];",
    "a way out": "for (int i = 0; i < n; i++) { if (x[i] < 0) break; out[i] = 0; }"
    "for (int i = 0; i < n; i++) out[i] += x[i];",
    "another count": "for (int i = 0; i < n; i++) out[i] = 0; for (int i = 0; i < m; i++) out[i] += x[i];",
    "all columns but one": "for (int j = 0; j < n - 1; j++) for (int i = 0; i < m; i++) out[i * n + j] = x[j];"
    "for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) out[i * n + j] *= 2;",
    "no beginning": "for (int i = 1; i < n; i++) out[i] = out[i - 1] + x[i];",
    "in the next round": "for (int k = 0; k < 2; k++) { if (k) for (int i = 0; i < n; i++) out[i] += x[i];"
    "if (k) for (int i = 0; i < n; i++) out[i] = 0; }",
    "anywhere": "for (int i = 0; i < n; i++) out[at[i]] = 0; for (int i = 0; i < n; i++) out[i] += x[i];",
    "halves": "for (int i = 0; i < n; i++) ((float *)out)[i] = 0; for (int i = 0; i < n; i++) out[i] += x[i];",
    "kept": "static double *was; if (was) *was += 1; was = out; for (int i = 0; i < n; i++) out[i] = 0;",
    "elsewhere": "extern void g(double *); for (int i = 0; i < n; i++) out[i] = 0; g(out);",
}  # fmt: skip


def found(path: Path, source: str) -> tuple[Outputs, llgrad.Library]:
    path.write_text(HEAD + source)
    lib = llgrad.load(path)
    module = parse(stages.prepare(loaded(lib)._program(), ["f"], 2))
    return outputs(module, module.function(own_names.own_name("f"))), lib


@pytest.mark.parametrize("name", FILLED)
def test_written_before_it_is_read(name: str, tmp_path: Path) -> None:
    made, _ = found(tmp_path / "code.c", FILLED[name])
    assert len(made.filled) == 1 and not made.unknown, str(made)


@pytest.mark.parametrize("name", UNKNOWN)
def test_perhaps_not(name: str, tmp_path: Path) -> None:
    body = f"void f(const double *x, const int *at, int m, int n, double *out) {{ {UNKNOWN[name]} }}"
    made, _ = found(tmp_path / "code.c", body)
    assert len(made.unknown) == 1 and not made.filled, str(made)


def test_no_exceptions_on_the_way(tmp_path: Path) -> None:
    """Several outputs are told apart, and scratch memory is an output of its own."""
    made, _ = found(
        tmp_path / "code.c",
        "void f(const double *x, int n, double *a, double *b, double *c) {"
        "for (int i = 0; i < n; i++) { a[i] = x[i]; b[i] = 0; }"
        "for (int i = 0; i < n; i++) { b[i] += a[i]; a[i] += b[n - 1 - i]; c[i] += a[i]; } }",
    )
    assert [a.name for a in made.filled] == ["a", "b"] and [a.name for a in made.unknown] == ["c"]
    assert "c: elements may be read that were not written before" in str(made)


# --- random programs --------------------------------------------------------------------------------------------------


def _loop(draw: random.Random, depth: int) -> str:
    """Loops over elements of `out`, which they write or change."""
    bound = draw.choice(["n", "n", "n", "m", "n - 1", "n + 1", "2 * n", "m * n"])
    start = draw.choice(["0"] * 5 + ["1", "n / 2"])
    index, step = draw.choice([("i", "i++"), ("i", "i++"), ("i", "i += 2"), ("n - 1 - i", "i++"), ("i - 1", "i++")])
    statement = draw.choice(["out[{}] = x[i];", "out[{}] = 1;", "out[{}] += x[i];", "out[{}] *= 2;"]).format(index)
    if draw.random() < 0.2:
        statement = f"out[{index}] = 0.5 * out[{draw.choice(['i - 1', 'i + 1', '0', 'n - 1', 'i'])}];"
    if draw.random() < 0.2:
        statement = f"if ({draw.choice(['x[i] > 0', 'i > 0', 'i < n - 1', 'm > 1', 'n > 0'])}) {{ {statement} }}"
    if index == "n - 1 - i":
        bound, start = "n", "0"
    loop = f"for (int i = {start}; i < {bound}; {step}) {{ {statement} }}"
    if depth and draw.random() < 0.3:
        inner = draw.choice(["out[i * n + j] = x[j]", "out[i * n + j] += x[i]", "out[j * m + i] = 1", "out[i] += x[j]"])
        first = draw.choice(["", "out[i] = 0;"])
        loop = f"for (int i = 0; i < m; i++) {{ {first} for (int j = 0; j < n; j++) {inner}; }}"
    if depth and draw.random() < 0.15:
        loop = f"for (int k = 0; k < {draw.choice(['2', 'm'])}; k++) {{ {loop} {_loop(draw, 0)} }}"
    if draw.random() < 0.1:
        loop = f"if ({draw.choice(['m > 0', 'n > 2'])}) {{ {loop} }}"
    return loop


def _depends(lib: llgrad.Library, n: int, m: int) -> bool:
    """Does what is written depend on what the memory held before?"""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 1, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(
        loaded(lib).addresses()["f"]
    )
    x, made = np.sin(np.arange(200.0)), []
    for start in (np.arange(300) + 0.3, -1.7 * np.arange(300) - 5.1):
        out = start.copy()
        function(x.ctypes.data, m, n, out.ctypes.data + 8 * 50)
        made.append((out, out != start))
    (one, changed), (other, again) = made
    return bool(np.any((changed | again) & (one != other)))


def test_random_programs(tmp_path: Path) -> None:
    """What is said to be written before it is read does not depend on what was there; half of the others do."""
    draw, said, depend = random.Random(20), 0, 0
    for n in range(60):
        body = " ".join(_loop(draw, 1) for _ in range(draw.choice([2, 2, 3])))
        source = f"void f(const double *x, int m, int n, double *out) {{ {body} }}"
        made, lib = found(tmp_path / f"code{n}.c", source)
        if any(a.name == "out" for a in made.unknown):
            depend += any(_depends(lib, *sizes) for sizes in itertools.product(range(6), repeat=2))
            continue
        said += 1
        for sizes in itertools.product(range(6), repeat=2):
            assert not _depends(lib, *sizes), (source, sizes)
    assert said > 12 and depend > 20


# --- proofs -----------------------------------------------------------------------------------------------------------


def _number(value: int) -> Known:
    return Known(lambda _: value)


def test_what_is_proven_holds() -> None:
    """Against all values of the unknowns: small boxes, random polynomials and facts."""
    draw, shown = random.Random(5), 0
    for _ in range(600):
        m, n = _number(0), _number(0)
        high = Poly({m_: draw.randint(-1, 2) for m_ in ((), (m,), (n,))})
        i = Between(Poly.of(0), high, met=True)
        monomials: list[tuple[Any, ...]] = [(), (m,), (n,), (i,), tuple(sorted((m, n), key=lambda u: u.number)), (n, i)]
        p = Poly({x: draw.randint(-3, 3) for x in draw.sample(monomials, 3)})
        facts = [Fact(Poly({(): -draw.randint(0, 2), (draw.choice([m, n]),): 1})) for _ in range(draw.randint(1, 3))]
        if not Proof(facts).shows(p):
            continue
        shown += any(p.terms)

        def value(q: Poly, at: dict[object, int]) -> int:
            return sum(c * int(np.prod([at[x] for x in mono], dtype=int)) for mono, c in q.terms.items())

        for a, b in itertools.product(range(-2, 5), repeat=2):
            at: dict[object, int] = {m: a, n: b}
            if all(value(fact.poly, at) >= 0 for fact in facts):
                for c in range(value(high, at) + 1):
                    assert value(p, at | {i: c}) >= 0, (p.terms, high.terms, a, b)
    assert shown > 50
