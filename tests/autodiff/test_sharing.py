"""Copies that have the shadows of what was copied: those of which it is proven that they may, and no others.

What the derivatives are is tested with all of `corpus`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from deriving import derivation, prepared, request
from msgspec.structs import replace

import llgrad
from llgrad.autodiff.derivation import Derivation
from llgrad.autodiff.recipes.tape_allocations import allocated
from llgrad.autodiff.requests.request import Mode
from llgrad.ir.parse import parse

PROGRAMS = Path(__file__).parents[1] / "corpus"
LETTERS = {"shared_not_apart": "dcdco", "shared_not_in_place": "dcc"}  # of others: dco
SHARED = {"shared_copy": 1, "shared_in_loop": 1, "shared_unless_it_fails": 1}
COPIES = """
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) double sum(const double *x, int n, double by) {
    double *w = malloc(n * sizeof *w), s = by;
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) s += w[i] * w[n - 1 - i] * s;
    free(w);
    return s;
}
double f(const double *x, const double *z, int n) { return sum(x, n, 2) * sum(z, n, 3); }
void g(const double *x, double *y, int n) {
    double *w = malloc(n * sizeof *w);
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) y[i] = w[i] * w[i] * w[0];
    free(w);
}
"""


@pytest.mark.parametrize("name", sorted(p.stem for p in PROGRAMS.glob("shared_*.c")))
def test_shared(name: str) -> None:
    source = (PROGRAMS / f"{name}.c").read_text().replace(f" {name}(", " f(")
    made = derivation(prepared(source, level=2), Mode.COMBINED, LETTERS.get(name, "dco"))
    assert len(allocated(made.facts).shared) == SHARED.get(name, 0)


def test_arguments_that_are_apart() -> None:
    """What is read of one is not read of the other."""
    source = (PROGRAMS / "shared_not_apart.c").read_text().replace(" shared_not_apart(", " f(")
    asked = replace(request(Mode.COMBINED, "dcdco"), disjoint=True)
    assert len(allocated(Derivation(parse(prepared(source, level=2)), asked).facts).shared) == 1


def test_from_python(tmp_path: Path) -> None:
    """Copied in a function that is called with two arrays; its second derivatives; in lanes, and beside a result."""
    (tmp_path / "copies.c").write_text(COPIES)
    lib = llgrad.load(tmp_path / "copies.c")
    x, z, v = np.linspace(0.5, 1.2, 5), np.linspace(1, 0.1, 5), np.linspace(-1, 1, 5)

    def slopes(x: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(llgrad.grad(lib.f, wrt=("x", "z"))(x, z, 5))

    def moved(k: int, by: float) -> tuple[np.ndarray, np.ndarray]:
        return (x + by * np.eye(5)[k], z) if k < 5 else (x, z + by * np.eye(5)[k - 5])

    differences = [(lib.f(*moved(k, 1e-6), 5) - lib.f(*moved(k, -1e-6), 5)) / 2e-6 for k in range(10)]
    assert np.allclose(np.concatenate(slopes(x)), differences, rtol=1e-7)
    along = (slopes(x + 1e-6 * v)[0] - slopes(x - 1e-6 * v)[0]) / 2e-6
    assert np.allclose(llgrad.hvp(lib.f, wrt="x")(x, z, 5, v), along, rtol=1e-7)
    wanted = np.diag(2 * x * x[0])
    wanted[:, 0] += x * x
    for mode in ("forward", "reverse"):
        assert np.allclose(llgrad.jacobian(lib.g, wrt="x", of="y", mode=mode)(x, np.zeros(5), 5), wanted, rtol=1e-12)
