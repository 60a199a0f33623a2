"""`vmap`: a batch is as many calls, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import llgrad
from llgrad import errors

CODE = """
#include <math.h>
double wave(const double *x, double a, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += sin(a * x[i]) * x[i];
    return sum;
}
void squares(const double *x, double *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] * x[i]; }
static int calls;
double counted(double x) { return x * ++calls; }
"""
X = np.linspace(0, 1, 35).reshape(7, 5)


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path: Path = tmp_path_factory.mktemp("batches") / "code.c"
    path.write_text(CODE)
    return llgrad.load(path)


@pytest.mark.parametrize("threads", [1, 3, 20, None])
def test_a_batch_is_as_many_calls(lib: llgrad.Library, threads: int | None) -> None:
    a = np.arange(7.0)
    one = llgrad.value_and_grad(lib.wave, wrt=("x", "a"))
    value, (by_x, by_a) = llgrad.vmap(one, over=("x", "a"), threads=threads)(X, a, 5)
    for k in range(7):
        v, (gx, ga) = one(X[k], a[k], 5)
        assert value[k] == v and by_a[k] == ga and (by_x[k] == gx).all()
    values = llgrad.vmap(lib.wave, over=0, threads=threads)(X, 2.0, n=5)
    assert values.tolist() == [lib.wave(x, 2.0, 5) for x in X]


def test_other_derivatives(lib: llgrad.Library) -> None:
    seeds, out = np.arange(35.0).reshape(7, 5), np.zeros((7, 5))
    value, found = llgrad.vmap(llgrad.vjp(lib.squares, wrt="x", of="y"), over=("x", "y", "seed"))(X, out, 5, seed=seeds)
    assert (found == 2 * X * seeds).all() and (value == X * X).all() and (out == value).all()
    scratch = np.zeros(5)
    matrices = llgrad.vmap(llgrad.jacobian(lib.squares, wrt="x", of="y"), over=["x"])(X, scratch, 5)
    assert (matrices == [np.diag(2 * x) for x in X]).all() and not scratch.any()  # each element had its own
    products = llgrad.vmap(llgrad.hvp(lib.wave, wrt="x"), over=("x", -1))(X, 2.0, 5, seeds)
    assert (products[3] == llgrad.hvp(lib.wave, wrt="x")(X[3], 2.0, 5, seeds[3])).all()
    assert llgrad.vmap(lib.squares, over=("x", "y"))(X, out, 5) is None
    assert llgrad.vmap(lib.counted, over="x")(np.ones(4)).tolist() == [1, 2, 3, 4]  # one thread: it counts calls
    assert llgrad.vmap(lib.wave, over="x")(X[:0], 2.0, 5).shape == (0,)
    assert llgrad.vmap(lib.squares, over=("x", "y"))(X[:0], out[:0], 5) is None
    special = llgrad.vmap(llgrad.grad(lib.wave, wrt="x", specialize="n"), over="x")(X, 2.0, 5)
    assert (special == [llgrad.grad(lib.wave, wrt="x", specialize="n")(x, 2.0, 5) for x in X]).all()


BAD: list[tuple[Callable[[llgrad.Library], object], type[Exception], str]] = [
    (lambda lib: llgrad.vmap(lib.wave, over="y"), errors.UnknownNameError, "no parameter 'y'"),
    (lambda lib: llgrad.vmap(lib.wave, over=()), errors.ArgumentError, "over is empty"),
    (lambda lib: llgrad.vmap(lib.wave, over="x", threads=0), errors.ArgumentError, "no number of threads"),
    (lambda lib: llgrad.vmap(cast(Any, np.sin), over="x"), errors.ArgumentError, "takes a function of a library"),
    (lambda lib: llgrad.vmap(lib.wave, over=("x", "a"))(X, np.ones(3), 5), errors.ArgumentError, "x has 7, a has 3"),
    (lambda lib: llgrad.vmap(lib.wave, over="a")(X[0], 1.0, 5), errors.ArgumentError, "a has no batch axis"),
    (lambda lib: llgrad.vmap(lib.wave, over="n")(X[0], 1.0), errors.ArgumentError, "called without n"),
    (lambda lib: llgrad.vmap(llgrad.grad(lib.wave), over="x")(X[:0], 1.0, 5), errors.ArgumentError, "wave is empty"),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD)
def test_bad_batches(
    lib: llgrad.Library, call: Callable[[llgrad.Library], object], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        call(lib)


def test_an_error_names_the_element(lib: llgrad.Library) -> None:
    with pytest.raises(errors.ArgumentError) as caught:
        llgrad.vmap(lib.wave, over="x")(X.astype(np.float32), 1.0, 5)
    assert caught.value.__notes__[0].startswith("(element ")
