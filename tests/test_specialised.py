"""Arguments that are fixed: the same derivatives, made for their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import llgrad
from llgrad import errors

CODE = """
#include <math.h>
#include <stdbool.h>
static int calls;
double waves(int d, const double *x, double p, int n, bool less) {
    double sum = 0;
    calls++;
    for (int i = 0; i < n; i++) {
        double t = 0;
        for (int j = 0; j < d; j++) t += sin(x[i * d + j] * j);
        sum += pow(t * t, p);
    }
    return less ? -sum : sum;
}
float half(float a, float x) { return a * x * x; }
double by_sign(double x, double a) { return signbit(a) || isnan(a) ? 3 * x : 2 * x; }
double power(int n, double x) { return n ? x * power(n - 1, x) : 1; }
int counted(void) { return calls; }
"""
X = np.linspace(0.1, 1.5, 12)


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = tmp_path_factory.mktemp("special") / "code.c"
    path.write_text(CODE)
    return llgrad.load(path)


@pytest.mark.parametrize("names", ["d", ("d", "n"), ("less", "p", "d")])
def test_values_that_are_fixed(lib: llgrad.Library, names: Any) -> None:
    general = llgrad.value_and_grad(lib.waves, wrt="x")
    special = llgrad.value_and_grad(lib.waves, wrt="x", specialize=names)
    for arguments in ((3, X, 1.5, 4, True), (3, X, 1.5, 4, False), (2, X, 2.5, 6, False)):
        value, found = special(*arguments)
        expected_value, expected = general(*arguments)
        assert value == pytest.approx(expected_value, rel=1e-14) and found == pytest.approx(expected, rel=1e-12)


def test_a_fixed_function_is_a_function(lib: llgrad.Library) -> None:
    fixed = lib.waves.specialized(d=3).specialized(n=4)
    assert repr(fixed).endswith("d=3, n=4>") and fixed.constants == {"d": 3, "n": 4}
    before = lib.counted()
    assert fixed(3, X, 1.5, 4, False) == lib.waves(3, X, 1.5, 4, False)
    llgrad.grad(fixed, wrt="x")(3, X, 1.5, 4, False)
    assert lib.counted() == before + 3  # one program, with its variables
    arguments = (3, X, 1.5, 4, False)
    assert llgrad.hessian(fixed, wrt="x")(*arguments) == pytest.approx(llgrad.hessian(lib.waves, wrt="x")(*arguments))
    batch = llgrad.vmap(llgrad.grad(fixed, wrt="x"), over="x")(3, np.stack([X, X]), 1.5, 4, False)
    assert (batch[1] == llgrad.grad(fixed, wrt="x")(*arguments)).all()
    assert llgrad.grad(lib.half.specialized(a=0.1))(0.1, 3.0) == llgrad.grad(lib.half, wrt="x")(0.1, 3.0)


def test_products_and_matrices(lib: llgrad.Library) -> None:
    arguments = (3, X, 1.5, 4, False)
    along = np.linspace(-1, 1, X.size)
    made = llgrad.hvp(lib.waves, wrt="x", specialize=("d", "n"))  # type: ignore[call-arg]
    np.testing.assert_allclose(made(*arguments, along), llgrad.hvp(lib.waves, wrt="x")(*arguments, along), rtol=1e-12)
    with pytest.raises(errors.ArgumentError, match="takes 5 arguments, not 4"):
        made(*arguments)
    whole = llgrad.hessian(lib.waves, wrt="x", specialize="d")(*arguments)  # type: ignore[call-arg]
    np.testing.assert_allclose(whole @ along, made(*arguments, along), rtol=1e-9, atol=1e-12)


def test_floats_that_are_fixed_are_told_apart_by_their_bits(lib: llgrad.Library) -> None:
    general, special = llgrad.grad(lib.by_sign, wrt="x"), llgrad.grad(lib.by_sign, wrt="x", specialize="a")
    for a in (0.0, -0.0, np.float32(-0.0), float("nan"), float("nan"), 2.0, np.float64(2.0)):
        assert special(1.0, a) == general(1.0, a)
    assert len(cast(Any, special)._made) == 4
    with pytest.raises(errors.ArgumentError, match="'a' of by_sign is -0.0, but the function was specialised to 0.0"):
        lib.by_sign.specialized(a=0.0)(1.0, -0.0)


def test_constants_are_in_the_code(lib: llgrad.Library) -> None:
    assert "goes back through loops []" not in llgrad.grad(lib.waves.specialized(d=2), wrt="x").plan
    assert "goes back through loops []" in llgrad.grad(lib.waves.specialized(d=2, n=2), wrt="x").plan


BAD: list[tuple[Callable[[llgrad.Library], object], type[Exception], str]] = [
    (lambda lib: lib.waves.specialized(d=3)(2, X, 1.5, 4, False), errors.ArgumentError, "'d' of waves is 2, but"),
    (lambda lib: llgrad.grad(lib.waves.specialized(p=2.0), wrt="p"), errors.ArgumentError, "specialised to one value"),
    (lambda lib: llgrad.grad(lib.waves, specialize="q"), errors.UnknownNameError, "no parameter 'q'"),
    (lambda lib: llgrad.grad(lib.waves, specialize="x"), errors.ArgumentError, "x of waves is no number"),
    (lambda lib: lib.waves.specialized(d=1.5), errors.ArgumentError, "must be an integer"),
    (lambda lib: llgrad.grad(lib.power.specialized(n=3)), errors.UnsupportedError, "power cannot be specialised"),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD)
def test_bad_values(
    lib: llgrad.Library, call: Callable[[llgrad.Library], object], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        call(lib)
