"""StableHLO as JAX writes it, lowered by jaxlib's own passes: gradients against JAX's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.errors import CompilerError, UnsupportedError
from llgrad.frontends import language_of

jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks does that")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)
RNG = np.random.default_rng(5)
POSITIVE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


@pytest.fixture(autouse=True, scope="module")
def compiler() -> None:
    try:
        language_of(Path("a.mlir")).identity()
    except CompilerError as error:
        pytest.skip(f"{error.message}: {error.cause} ({error.fix})")


def network(x: Any, w1: Any, b1: Any, w2: Any, target: Any) -> Any:
    return (w2 @ jnp.tanh(w1 @ x + b1) - target) ** 2


def integrate(y: Any, k: Any, dt: Any) -> Any:
    def slope(v: Any) -> Any:
        return jnp.roll(v, 1) - 2 * v + jnp.roll(v, -1) - k * v**3

    def step(_: Any, v: Any) -> Any:
        a = slope(v)
        return v + 0.5 * dt * (a + slope(v + dt * a))

    y = jax.lax.fori_loop(0, 12, step, y)
    return y @ y


def choices(x: Any, n: Any) -> Any:
    chosen = jax.lax.switch(n, [lambda v: v[0], lambda v: v[1] ** 2, lambda v: jnp.sin(v[2])], x)
    return chosen * jax.lax.cond(x[0] > 0, lambda v: jnp.sum(v**2), jnp.prod, x)


def outputs(x: Any) -> Any:
    return jnp.outer(x, x), jnp.sum(x**3)


def written(path: Path, f: Any, *args: Any) -> Any:
    """The function as llgrad loads what JAX writes."""
    path.write_text(jax.jit(f).lower(*args).as_text(debug_info=True))
    return llgrad.load(path)[f.__name__]


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (network, [RNG.normal(size=4), RNG.normal(size=(5, 4)), RNG.normal(size=5), RNG.normal(size=5), 0.3]),
        (integrate, [RNG.uniform(0.2, 1, 6), 0.4, 0.05]),
        (choices, [RNG.normal(size=3), 1]), (choices, [-RNG.uniform(size=3), 7]),
    ],
)  # fmt: skip
def test_gradients(f: Any, args: list[Any], tmp_path: Path) -> None:
    """Array operations, a loop, branches."""
    ours = written(tmp_path / "f.stablehlo.mlir", f, *args)
    wrt = tuple(n for n, a in enumerate(args) if not isinstance(a, int))
    value, gradients = llgrad.value_and_grad(ours, wrt=wrt)(*args)
    truth, theirs = jax.value_and_grad(f, argnums=wrt)(*args)
    assert value == pytest.approx(float(truth), rel=1e-12)
    for g, t in zip(gradients if isinstance(gradients, tuple) else (gradients,), theirs, strict=True):
        np.testing.assert_allclose(g, t, rtol=1e-10, atol=1e-13)


def test_several_results_are_written_to_further_arguments(tmp_path: Path) -> None:
    x = RNG.normal(size=3)
    ours = written(tmp_path / "f.mlir", outputs, x)
    assert str(ours.signature).startswith("func.func @outputs(%x: memref<3xf64>, %out0: memref<3x3xf64>")
    seed = RNG.normal(size=(3, 3))
    _, dx = llgrad.vjp(ours, wrt="x", of="out0")(x, np.zeros((3, 3)), np.zeros(()), seed=seed)
    np.testing.assert_allclose(dx, (seed + seed.T) @ x, rtol=1e-12)


def ordered(x: Any, a: Any) -> Any:
    columns = jnp.sort(a, axis=0) * jnp.arange(9.0).reshape(3, 3)
    return jnp.sum(columns) * jnp.median(x) + x[jnp.argsort(x)][2] + jnp.sum(jax.lax.top_k(x, 2)[0] ** 2)


def scattered(x: Any, a: Any) -> Any:
    bins = jnp.zeros(8).at[jnp.array([1, 3, 3, 9])].add(x[:4])
    rows = a.at[1, :].set(a[0] ** 2).at[:, 2].multiply(x[1]).at[0].max(x[2])
    return jnp.sum(bins**3) + jnp.sum(rows**2) + jnp.sum(jax.ops.segment_sum(x, jnp.array([0, 1, 0, 2, 1, 0]), 3) ** 3)


def likelihood(a: Any, b: Any) -> Any:
    factor = jnp.linalg.cholesky(a)
    quadratic = b @ jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b)
    return jnp.sum(jnp.log(jnp.diag(factor))) + 0.5 * quadratic


def solved(a: Any, b: Any) -> Any:
    batch = jnp.linalg.cholesky(jnp.stack([a @ a.T, a.T @ a]) + jnp.eye(3))
    upper = jax.scipy.linalg.solve_triangular(a, b, lower=False, trans=1)
    q, r = jnp.linalg.qr(a[:, :2])
    return jnp.sum(jnp.linalg.solve(a, b) ** 2) + jnp.sum(batch**2) + upper @ b + b @ q @ r[0]


def by_two_keys(x: Any, a: Any) -> Any:
    order = jnp.lexsort((x, jnp.array([2, 1, 2, 1, 1, 2])))
    return jnp.sum(x[order] * jnp.arange(6.0)) * a[0, 0]


def spectral(x: Any, a: Any) -> Any:
    values, vectors = jnp.linalg.eigh(a + a.T)
    left, singular, right = jnp.linalg.svd(jnp.stack([a[:, :2], a[1:].T]), full_matrices=False)
    powers = jnp.sum(vectors[:, 0] ** 4) * values[2] + jnp.sum(singular[:, 0] * left[:, 0, 0] ** 2)
    return powers + jnp.linalg.norm(a, 2) * jnp.sum(right[:, 0] ** 4) * x[0]


def transformed(x: Any, a: Any) -> Any:
    """Lengths of several factors, one and two axes, whole and halved."""
    spectrum = jnp.fft.fft(x) * jnp.exp(1j * x)
    smooth = jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(-jnp.arange(4.0)), 6)
    plane = jnp.fft.irfft2(jnp.fft.rfft2(a) ** 2, (3, 3))
    return jnp.sum(jnp.abs(jnp.fft.ifft(spectrum)[:3]) ** 3) + jnp.sum(smooth**3) + plane[1] @ plane[2]


def chosen(x: Any, a: Any) -> Any:
    """A branch of five, of which others would have used the memory; numbers without a sign."""
    drawn = jax.random.normal(jax.random.PRNGKey(0), (6,))
    return jax.scipy.linalg.expm(a)[0, 1] * jnp.sum(x * drawn)


def bends(x: Any) -> Any:
    def energy(v: Any) -> Any:
        return jnp.sum(jnp.sin(v) ** 2 * jnp.roll(v, 1))

    slope = jax.grad(energy)(x)
    return jnp.vdot(slope, slope) + jnp.sum(jax.hessian(energy)(x)[0])


def scanned(x: Any) -> Any:
    return jnp.sum(jax.lax.associative_scan(lambda a, b: a * b + 0.1 * a, x) * x)


@pytest.mark.parametrize("f", [bends, scanned])
def test_arrays_of_jax_are_arguments(f: Any, tmp_path: Path) -> None:
    """Nothing is written to them, so that they may be read-only, and the derivative is by them unless one says else.

    Hessians copy rows; scans have halves without elements.
    """
    x = jnp.array(RNG.normal(size=8))
    gradient = llgrad.grad(written(tmp_path / "f.mlir", f, x))(np.asarray(x))
    np.testing.assert_allclose(gradient, jax.grad(f)(x), rtol=1e-10)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (by_two_keys, [RNG.normal(size=6), RNG.normal(size=(3, 3))]),
        (spectral, [RNG.normal(size=6), RNG.normal(size=(3, 3))]),
        (transformed, [RNG.normal(size=6), RNG.normal(size=(3, 3))]),
        (chosen, [RNG.normal(size=6), RNG.normal(size=(3, 3))]),
        (ordered, [RNG.normal(size=6), RNG.normal(size=(3, 3))]),
        (scattered, [RNG.normal(size=6), np.arange(9.0).reshape(3, 3)]),
        (likelihood, [POSITIVE, RNG.normal(size=3)]), (solved, [RNG.normal(size=(3, 3)), RNG.normal(size=3)]),
    ],
)  # fmt: skip
def test_what_jaxlib_does_not_lower(f: Any, args: list[Any], tmp_path: Path) -> None:
    """Sorting, scattering (what falls outside is dropped), Fourier's transforms, LAPACK's factorisations and solves."""
    value, gradients = llgrad.value_and_grad(written(tmp_path / "f.mlir", f, *args), wrt=(0, 1))(*args)
    truth, theirs = jax.value_and_grad(f, argnums=(0, 1))(*args)
    assert value == pytest.approx(float(truth), rel=1e-12)
    for g, t in zip(gradients, theirs, strict=True):
        np.testing.assert_allclose(g, t, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (jnp.linalg.eigvals, "stablehlo.custom_call of lapack_dgeev"),
        (lambda a: jnp.linalg.svd(a[:, :2]), "stablehlo.custom_call of lapack_dgesdd"),
        (lambda a: jax.lax.sort([a[0] + 0j, a[1]], num_keys=1), "stablehlo.sort"),
    ],
)  # fmt: skip
def test_what_nobody_lowers(f: Any, name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=name):
        written(tmp_path / "f.mlir", f, np.eye(3))


def test_one_number_that_is_reduced(tmp_path: Path) -> None:
    """Along no axis: JAX asks whether a loop is done for all elements, of one."""

    def beta(x: Any) -> Any:
        return jax.scipy.special.betainc(x, x + 1.0, 0.3)

    found = llgrad.grad(written(tmp_path / "f.mlir", beta, 0.8), wrt="x")(0.8)
    assert found == pytest.approx(float(beta(0.8 + 1e-5) - beta(0.8 - 1e-5)) / 2e-5, rel=1e-7)


def test_brain_floats(tmp_path: Path) -> None:
    """bfloat16, as numbers and as arrays: derivatives as precise as its eight bits."""
    import ml_dtypes

    def model(x: Any, w: Any, k: Any) -> Any:
        return jnp.sum(jnp.tanh(x * w) * k)

    def field(x: Any, k: Any) -> Any:
        return x * x * k

    x, w = (np.array(v, ml_dtypes.bfloat16) for v in ([0.5, 1.25, -0.75, 2.0], [1.0, 0.5, 0.25, -1.0]))
    k = ml_dtypes.bfloat16(1.5)
    f = written(tmp_path / "model.mlir", model, x, w, k)
    assert f(x, w, 1.5) == pytest.approx(float(model(x, w, k)), rel=0.02)
    found = llgrad.grad(f, wrt=("x", "w", "k"))(x, w, 1.5)
    exact = jax.grad(model, argnums=(0, 1, 2))(*(np.asarray(v, np.float64) for v in (x, w, k)))
    for ours, theirs in zip(found, exact, strict=True):
        np.testing.assert_allclose(np.asarray(ours, np.float64), theirs, rtol=0.05, atol=0.02)
    g = written(tmp_path / "field.mlir", field, x, k)
    out, (dx, dk) = llgrad.vjp(g, wrt=("x", "k"), of="out0")(x, 1.5, np.zeros_like(x), seed=np.ones_like(x))
    assert np.array_equal(out, np.asarray(field(x, k)))
    assert (dx.astype(float).tolist(), dk) == ([1.5, 3.75, -2.25, 6.0], 6.375)


def test_a_function_of_jaxs_with_the_programs_name(tmp_path: Path) -> None:
    """What JAX calls a function inside may be called like the whole."""
    a = np.random.default_rng(3).uniform(-1, 1, (3, 3)) + 3 * np.eye(3)

    def slogdet(a: Any) -> Any:
        return jnp.linalg.slogdet(a)[1]

    f = written(tmp_path / "slogdet.mlir", slogdet, a)
    np.testing.assert_allclose(llgrad.grad(f, wrt=0)(a), np.linalg.inv(a).T, rtol=1e-12)
