"""Solvers in PyTorch and JAX: derivatives of implicit functions against those of the converged iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import llgrad

CODE = r"""
#include <math.h>
void layer(const double *u, const double *w, const double *x, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        double s = x[i];
        for (int j = 0; j < n; j++) s += w[i * n + j] * u[j];
        out[i] = tanh(s);
    }
}
double kepler(double E, double e, double M) { return E - e * sin(E) - M; }
"""
RNG = np.random.default_rng(2)
N = 4
W, X = 0.2 * RNG.normal(size=(N, N)), RNG.normal(size=N)


@pytest.fixture(scope="module")
def solver(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("implicit") / "layer.c"
    path.write_text(CODE)
    lib = llgrad.load(path)

    @llgrad.fixed_point(step=lib.layer, unknown="u", given={"n": lambda x: len(x)})
    def equilibrium(w: Any, x: Any, sweeps: int = 200) -> Any:
        u, out, x = np.zeros(N), np.zeros(N), np.asarray(x, float)
        for _ in range(sweeps):
            lib.layer(u, np.ascontiguousarray(w), x, N, out)
            u[:] = out
        return u

    @llgrad.implicit(residual=lib.kepler, unknown="E")
    def anomaly(e: float, M: float) -> float:
        E = M
        for _ in range(60):
            E -= (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        return E

    return equilibrium, anomaly


def test_torch(solver: Any) -> None:
    torch = pytest.importorskip("torch")
    from llgrad.torch import implicit

    equilibrium, anomaly = map(implicit, solver)

    def unrolled(w: Any, x: Any) -> Any:
        u = torch.zeros(N, dtype=torch.float64)
        for _ in range(200):
            u = torch.tanh(w @ u + x)
        return u

    w, x = (torch.tensor(a, requires_grad=True) for a in (W, X))
    found = torch.autograd.grad((equilibrium(w, x, sweeps=300) ** 3).sum(), (w, x), create_graph=True)
    wanted = torch.autograd.grad((unrolled(w, x) ** 3).sum(), (w, x), create_graph=True)
    for f, g in zip(found, wanted, strict=True):
        torch.testing.assert_close(f, g, rtol=1e-8, atol=1e-10)
    along = torch.tensor(RNG.normal(size=(N, N)))
    twice = [torch.autograd.grad((g[0] * along).sum() + g[1].sum(), (w, x)) for g in (found, wanted)]
    for f, g in zip(*twice, strict=True):
        torch.testing.assert_close(f, g, rtol=1e-7, atol=1e-9)
    e, M = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.3, 1.0))
    assert torch.autograd.gradcheck(anomaly, (e, M)) and torch.autograd.gradgradcheck(anomaly, (e, M))
    x32 = torch.tensor(X, dtype=torch.float32, requires_grad=True)
    equilibrium(torch.tensor(W), x32).sum().backward()
    assert x32.grad.dtype == torch.float32


def test_a_network_with_an_equilibrium_layer_learns(solver: Any) -> None:
    torch = pytest.importorskip("torch")
    from llgrad.torch import implicit

    torch.manual_seed(0)
    layer = implicit(solver[0])
    w = torch.zeros((N, N), dtype=torch.float64, requires_grad=True)
    teacher = torch.tensor(W)
    rows = torch.tensor(RNG.normal(size=(6, N)))
    wanted = torch.stack([layer(teacher, r) for r in rows])
    optimiser = torch.optim.Adam([w], lr=0.05)
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        loss = ((torch.stack([layer(w, r) for r in rows]) - wanted) ** 2).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0]


def test_jax(solver: Any) -> None:
    jax = pytest.importorskip("jax")
    from llgrad.jax import implicit

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    equilibrium, anomaly = implicit(solver[0], out="like x"), implicit(solver[1], out="like M")

    def unrolled(w: Any, x: Any) -> Any:
        u = jnp.zeros(N)
        for _ in range(100):
            u = jnp.tanh(w @ u + x)
        return u

    along = jnp.asarray(RNG.normal(size=(N, N)))
    made = []
    for f in (equilibrium, unrolled):
        gradient = jax.grad(lambda w, x, f=f: (f(w, x) ** 3).sum(), (0, 1))
        bent = jax.grad(lambda w, x, g=gradient: (g(w, x)[0] * along).sum() + g(w, x)[1].sum(), (0, 1))
        rows = jax.vmap(lambda x, f=f: jax.grad(lambda x: f(W, x).sum())(x))(jnp.stack([X, 2 * X]))
        made.append([*jax.jit(gradient)(W, X), *bent(W, X), rows])
    for found, wanted in zip(*made, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
    E = float(anomaly(0.3, 1.0))
    assert float(jax.grad(anomaly, 1)(0.3, 1.0)) == pytest.approx(1 / (1 - 0.3 * np.cos(E)), rel=1e-10)
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.jvp(anomaly, (0.3, 1.0), (1.0, 0.0))
