"""JAX's own tools and transformations on foreign functions."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import llgrad

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks does that")
jax.config.update("jax_enable_x64", True)

from jax import numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from llgrad.errors import UnsupportedError  # noqa: E402
from llgrad.foreign import ForeignShapeError, ForeignSignatureError, ForeignTypeError  # noqa: E402
from llgrad.jax import foreign  # noqa: E402

DECLARED: dict[str, dict[str, Any]] = {
    "waves": {}, "energy": {}, "layer": {"out": ("rows",)},
    "blend": {"out": {"sums": "like at"}, "counts": {"n": "at"}},
    "relax": {"updates": "u"}, "staged": {"scratch": {"tmp": "like x"}}, "product": {},
}  # fmt: skip


def random(*shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(sum(shape) + len(shape)).uniform(0.5, 1.5, shape))


def inputs(name: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Static arguments that come first, and arrays; integer arrays last."""
    x = random(5)
    return {
        "energy": ((), (x, random(5) + 0.1, random())), "layer": ((4, 5), (random(4, 5), x)),
        "relax": ((), (x, random())), "blend": ((), (random(), random() + 1, x)), "product": ((), (x, random(5) + 0.2)),
    }.get(name, ((), (x,)))  # fmt: skip


def function(lib: llgrad.Library, name: str) -> Any:
    f, static = foreign(lib[name], **DECLARED[name]), inputs(name)[0]
    if name == "blend":
        return lambda *arrays: f(*arrays, at=jnp.array([0, 4, 2, 2], jnp.int32))
    return lambda *arrays: f(*static, *arrays)


@pytest.mark.parametrize("name", DECLARED)
def test_check_grads(lib: llgrad.Library, name: str) -> None:
    f, arrays = function(lib, name), inputs(name)[1]
    check_grads(f, arrays, order=2, modes=["fwd", "rev"])
    check_grads(jax.jit(f), arrays, order=1, modes=["fwd", "rev"])


def test_the_first_example(source_file: Path) -> None:
    f = foreign(source_file, "f")
    x = jnp.linspace(-1, 1, 6, dtype=jnp.float32)
    wanted = 2 * x * jnp.sin(x) + x * x * jnp.cos(x)
    np.testing.assert_allclose(f(x), x * x * jnp.sin(x), rtol=1e-5)
    for way in (jax.grad(lambda x: f(x).sum()), jax.jit(jax.grad(lambda x: f(x).sum()))):
        assert way(x).dtype == jnp.float32
        np.testing.assert_allclose(way(x), wanted, rtol=1e-4, atol=1e-6)


def exact_hessian(x: Any, a: Any, k: Any) -> Any:
    coupling = jnp.roll(jnp.eye(5), 1, 0)
    return jnp.diag(6 * a * x) + k * k * (coupling + coupling.T)


def test_transformations(lib: llgrad.Library) -> None:
    f, (x, a, k) = foreign(lib.energy), inputs("energy")[1]
    exact = 3 * a * x**2 + k * k * (jnp.roll(x, 1) + jnp.roll(x, -1))
    for way in (jax.grad(f), jax.jacrev(f), jax.jacfwd(f), jax.jit(jax.grad(f))):
        np.testing.assert_allclose(way(x, a, k), exact, rtol=1e-12)
    np.testing.assert_allclose(jax.jvp(lambda x: f(x, a, k), (x,), (a,))[1], exact @ a, rtol=1e-12)
    np.testing.assert_allclose(jax.vjp(lambda x: f(x, a, k), x)[1](2.0)[0], 2 * exact, rtol=1e-12)
    linear = jax.linearize(lambda x: f(x, a, k), x)[1]
    np.testing.assert_allclose(linear(a), exact @ a, rtol=1e-12)
    for way in (jax.hessian(f), jax.jacrev(jax.jacrev(f)), jax.jacfwd(jax.jacfwd(f)), jax.jacrev(jax.jacfwd(f))):
        np.testing.assert_allclose(way(x, a, k), exact_hessian(x, a, k), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(jax.checkpoint(f)(x, a, k), f(x, a, k))
    np.testing.assert_allclose(jax.grad(jax.checkpoint(lambda x: jnp.sin(f(x, a, k))))(x), jnp.cos(f(x, a, k)) * exact)
    with pytest.raises(UnsupportedError, match="third derivatives"):
        jax.jacfwd(jax.jacfwd(jax.jacfwd(f)))(x, a, k)


def test_linear_transpose(lib: llgrad.Library, tmp_path: Path) -> None:
    """Of what is linear in the arguments that are transposed: alone, over a batch, differentiated by the rest."""
    source = tmp_path / "linear.c"
    source.write_text("""
void filtered(const double *x, const double *a, int n, double *y) {
    for (int i = 0; i < n; i++) y[i] = a[i] * x[i] + (i ? x[i - 1] : 0);
}
""")
    f, x, a, c = foreign(source, "filtered"), random(5), random(5), jnp.arange(5.0)
    matrix = jnp.diag(a) + jnp.eye(5, k=-1)
    back = jax.linear_transpose(lambda x: f(x, a), x)
    for way in (back, jax.jit(back)):
        np.testing.assert_allclose(way(c)[0], matrix.T @ c)
    np.testing.assert_allclose(jax.vmap(lambda c: back(c)[0])(jnp.eye(5)), matrix)
    rows = jax.linear_transpose(jax.vmap(lambda x: f(x, a)), jnp.ones((2, 5)))(jnp.stack([c, 2 * c]))[0]
    np.testing.assert_allclose(rows, jnp.stack([matrix.T @ c, 2 * matrix.T @ c]))
    shared = jax.linear_transpose(lambda x: jax.vmap(lambda a: f(x, a))(jnp.stack([a, a])), x)(jnp.stack([c, c]))[0]
    np.testing.assert_allclose(shared, 2 * matrix.T @ c)
    slope = jax.grad(lambda a: jax.linear_transpose(lambda x: f(x, a), x)(c)[0].sum())(a)
    np.testing.assert_allclose(slope, c)
    energy, (_, b, k) = foreign(lib.energy), inputs("energy")[1]
    with pytest.raises(UnsupportedError, match="no transpose by its inputs"):
        jax.linear_transpose(jax.grad(lambda x: energy(x, b, k)), x)(c)


def test_batches(lib: llgrad.Library) -> None:
    f, (_, a, k), vmap = foreign(lib.energy), inputs("energy")[1], jax.vmap
    many, ks = random(6, 5), random(3)
    rows = lambda g: jnp.stack([g(row) for row in many])  # noqa: E731
    axes = (0, None, None)
    np.testing.assert_allclose(vmap(f, axes)(many, a, k), rows(lambda x: f(x, a, k)))
    np.testing.assert_allclose(jax.jit(vmap(f, (1, None, None)))(many.T, a, k), rows(lambda x: f(x, a, k)))
    by_a = rows(lambda x: jax.grad(f, argnums=1)(x, a, k))
    np.testing.assert_allclose(vmap(jax.grad(f, argnums=1), axes)(many, a, k), by_a, rtol=1e-12)
    np.testing.assert_allclose(jax.grad(lambda a: vmap(f, axes)(many, a, k).sum())(a), by_a.sum(0), rtol=1e-12)
    np.testing.assert_allclose(jax.jvp(lambda a: vmap(f, axes)(many, a, k), (a,), (a,))[1], by_a @ a, rtol=1e-12)
    both = vmap(vmap(jax.grad(f), axes), (None, None, 0))(many, a, ks)
    np.testing.assert_allclose(both[1, 2], jax.grad(f)(many[2], a, ks[1]), rtol=1e-12)
    hessians = vmap(jax.hessian(f), axes)(many, a, k)
    np.testing.assert_allclose(hessians[2], exact_hessian(many[2], a, k), rtol=1e-12, atol=1e-12)
    check_grads(lambda a, k: vmap(f, axes)(many, a, k), (a, k), order=2, modes=["fwd", "rev"])
    assert vmap(foreign(lib.waves))(jnp.zeros((0, 4))).shape == (0, 4)


def test_control_flow(lib: llgrad.Library) -> None:
    f, x = foreign(lib.waves), random(4)

    def loop(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (0.5 * f(c), c.sum()), x, None, length=3)[0].sum()

    check_grads(loop, (x,), order=2, modes=["fwd", "rev"])
    check_grads(jax.jit(loop), (x,), order=1, modes=["rev"])
    branch = lambda x: jax.lax.cond(x[0] > 0, lambda x: f(x).sum(), lambda x: x.sum(), x)  # noqa: E731
    np.testing.assert_allclose(jax.grad(branch)(x), jax.grad(lambda x: f(x).sum())(x))
    np.testing.assert_allclose(jax.grad(branch)(-x), jnp.ones(4))


def test_shard_map(lib: llgrad.Library) -> None:
    f, (_, a, k) = foreign(lib.energy), inputs("energy")[1]
    mesh, many = jax.sharding.Mesh(np.array(jax.devices()), ("i",)), random(4, 5)
    spec = jax.sharding.PartitionSpec("i")
    one = lambda rows: jax.vmap(lambda x: f(x, a, k))(rows)  # noqa: E731
    for check in (True, False):
        spread = jax.shard_map(one, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check)
        np.testing.assert_allclose(spread(many), one(many))
        found = jax.grad(lambda rows, spread=spread: spread(rows).sum())(many)
        np.testing.assert_allclose(found, jax.grad(lambda rows: one(rows).sum())(many), rtol=1e-12)


def test_shapes_and_symbolic_zeros(lib: llgrad.Library) -> None:
    f, g = foreign(lib.waves), foreign(lib.blend, **DECLARED["blend"])
    assert f(jnp.zeros(0)).shape == (0,) == jax.grad(lambda x: f(x).sum())(jnp.zeros(0)).shape
    assert f(jnp.array(0.5)).shape == ()
    np.testing.assert_allclose(foreign(lib.product)(x := random(3), x), x @ x)
    x, t, at = random(), random(5), jnp.array([1, 3], jnp.int32)
    found = jax.grad(lambda t: g(x, 0.3, t, at)[0])(t)  # nothing flows into `sums`
    np.testing.assert_allclose(found, jnp.zeros(5).at[at].set(2 * x * (t[at] * x + 0.3)), rtol=1e-12)
    assert jax.eval_shape(f, jax.ShapeDtypeStruct((7,), jnp.float64)).shape == (7,)


def test_single_precision_passes_jaxs_checks(source_file: Path) -> None:
    x = jnp.linspace(0.5, 1.5, 6, dtype=jnp.float32)
    check_grads(foreign(source_file, "f"), (x,), order=2, modes=["fwd", "rev"], eps=3e-2, atol=2e-2, rtol=2e-2)


def test_batches_are_not_copied(tmp_path: Path) -> None:
    """A function that returns the address of what it is given, for each row."""
    path = tmp_path / "where.c"
    path.write_text("double where(const double *x, int n) { return n + 0 * x[0] + (double)(long)x; }")
    rows = jnp.ones((8, 16))
    found = np.asarray(jax.jit(jax.vmap(foreign(path, "where")))(rows)).astype(np.int64)
    np.testing.assert_array_equal(found - 16, rows.unsafe_buffer_pointer() + 8 * 16 * np.arange(8))


def test_wrong_arguments(lib: llgrad.Library, source_file: Path) -> None:
    f, layer = foreign(lib.waves), foreign(lib.layer, **DECLARED["layer"])
    for bad in (jnp.float32, jnp.int32, jnp.complex128):
        with pytest.raises(ForeignTypeError, match="not float64"):
            f(jnp.ones(3, bad))
    with pytest.raises(ForeignTypeError, match="must be an array, not list"):
        f([1.0])
    with pytest.raises(ForeignTypeError, match="rows must be an integer"):
        jax.jit(layer)(2, 3, jnp.ones((2, 3)), jnp.ones(3))
    with pytest.raises(ForeignShapeError, match="which array"):
        foreign(lib.product)(jnp.ones(3), jnp.ones(2))
    with pytest.raises(TypeError, match="out={'y'"):
        foreign(source_file, "layer")
    with pytest.raises(llgrad.LlgradError, match="assembly"):
        jax.grad(foreign(lib.tangle))(jnp.ones(3))


def test_failures_are_exceptions(tmp_path: Path) -> None:
    path = tmp_path / "throws.cpp"
    path.write_text('extern "C" double f(const double *x, int n) { if (x[0] > 1) throw 3; return x[0] * n; }')
    f = foreign(path, "f")
    try:
        assert f(jnp.array([0.5, 0])) == 1
    except llgrad.LlgradError as error:
        pytest.skip(f"no C++ here: {error.message}")
    with pytest.raises(Exception, match="threw a C"):
        jax.jit(f)(jnp.array([1.5, 0])).block_until_ready()


def test_threads(lib: llgrad.Library) -> None:
    f, data = jax.jit(jax.grad(foreign(lib.staged, **DECLARED["staged"]))), random(8, 300)
    wanted, found = [np.asarray(f(row)) for row in data], [None] * 8

    def work(n: int) -> None:
        for _ in range(20):
            found[n] = np.asarray(f(data[n]))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    np.testing.assert_array_equal(found, wanted)


def test_pickle(source_file: Path) -> None:
    f = foreign(source_file, "layer", **DECLARED["layer"])
    again = pickle.loads(pickle.dumps(f))
    w, x = random(2, 3), random(3)
    np.testing.assert_array_equal(again(2, 3, w, x), f(2, 3, w, x))


def test_it_imports_no_other_framework() -> None:
    code = "import sys, llgrad.jax; assert not {m.split('.')[0] for m in sys.modules} & {'torch', 'tensorflow'}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_example_weighs_the_sun() -> None:
    pytest.importorskip("optax", reason="optax is not installed: make test-frameworks does that")
    from examples.frameworks import orbits

    fitted, values = orbits.fit(1500)
    assert values[-1] < 1e-2 * values[0] and orbits.mass(fitted) == pytest.approx(1.988e30, rel=0.03)

def test_outputs_are_proven(lib: llgrad.Library) -> None:
    """Written before they are read, as long as the code makes them, and guarded where that is not known."""
    x = jnp.array([0.3, -0.2, 0.9])
    np.testing.assert_allclose(jax.jacrev(foreign(lib.softmax))(x), jax.jacrev(jax.nn.softmax)(x), rtol=1e-12)
    w, products = jnp.arange(9.0).reshape(3, 3), foreign(lib.products, counts={"n": "x"})
    np.testing.assert_allclose(jax.jacrev(products, 1)(w, x), w)
    np.testing.assert_allclose(jax.jacrev(foreign(lib.mean))(x), jnp.diag(4 * x))
    with pytest.raises(ForeignSignatureError, match="writes 2\\*n elements of y"):
        foreign(lib.wide)
    assert jax.jit(foreign(lib.wide, out=("2*n",)))(x).shape == (6,)
    with pytest.raises(ForeignShapeError, match="'y' of wide has 3 elements"):
        jax.jit(foreign(lib.wide, out="like x"))(x)
    with pytest.raises(ForeignShapeError, match="'x' of three has 2 elements"):
        jax.jit(foreign(lib.three))(x[:2])
    put = jax.jit(foreign(lib.put, out={"y": (5,)}, counts={"n": "at"}))
    assert put(x, jnp.array([0, 4, 2], jnp.int32)).shape == (5,)
    with pytest.raises(Exception, match="accessed element 5 of argument 'y' of put"):
        put(x, jnp.array([0, 5, 2], jnp.int32)).block_until_ready()
