"""The mathematics of some programs in JAX, PyTorch and CasADi, on the numbers that the C programs use.

`gradient(tool, program, size)` gives a call that returns the gradient, in the order of the C program's. Compilation is
not timed. ImportError where a framework is missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from examples.adbench.instances import Array

Gradient = Callable[[], Array]
IN, OUT, SAMPLES = 32, 10, 64  # programs/network.c
K, N = 25, 500  # programs/gmm.c


def noise(n: Any) -> Array:
    """`noise` of programs/program.h."""
    z = (np.asarray(n, np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(float) * 2.0**-53


def _counted(count: int, step: int = 1) -> Array:
    return noise(step * np.arange(count))


# --- objectives in the functions that NumPy, JAX and PyTorch share (`m`) ---------------------------------------------


def normalize(m: Any, x: Any, weights: Any) -> Any:
    """programs/normalize.c"""
    return (x * weights).sum() / m.sqrt((x * x).sum())


def network(m: Any, w: Any, x: Any, target: Any) -> Any:
    """programs/network.c"""
    hidden = (w.shape[0] - OUT) // (IN + 1 + OUT)
    ends = np.cumsum([hidden * IN, hidden, OUT * hidden])
    w1, b1, w2, b2 = w[: ends[0]], w[ends[0] : ends[1]], w[ends[1] : ends[2]], w[ends[2] :]
    h = m.tanh(x @ w1.reshape(hidden, IN).T + b1)
    e = h @ w2.reshape(OUT, hidden).T + b2 - target
    return (e * e).sum() / SAMPLES


def gmm(m: Any, p: Any, x: Any, place: Any) -> Any:
    """programs/gmm.c, without its constants; `place` spreads a row's strictly lower part."""
    d = x.shape[1]
    alphas, means, icf = p[:K], p[K : K + K * d].reshape(K, d), p[K + K * d :].reshape(K, -1)
    diagonal, lower = m.exp(icf[:, :d]), icf[:, d:]
    sums = icf[:, :d].sum(1)
    away = x[:, None, :] - means
    q = diagonal * away + m.einsum("nkj,kij->nki", away, (lower @ place).reshape(K, d, d))
    t = alphas + sums - 0.5 * (q * q).sum(2)
    prior = 0.5 * ((diagonal * diagonal).sum() + (lower * lower).sum())
    return _log_sum_exp(m, t, 1).sum() - N * _log_sum_exp(m, alphas, 0) + prior


def _log_sum_exp(m: Any, t: Any, axis: int) -> Any:
    return m.special.logsumexp(t, axis)


def inputs(program: str, size: int) -> tuple[Array, ...]:
    """The active array, and the constants after it."""
    match program:
        case "normalize":
            return _counted(size) - 0.25, (1 + np.arange(size) % 5).astype(float)
        case "network":
            count = size * (IN + 1) + OUT * (size + 1)
            x = (_counted(SAMPLES * IN, 7) - 0.5).reshape(SAMPLES, IN)
            return 0.5 * (_counted(count) - 0.5), x, _counted(SAMPLES * OUT, 3).reshape(SAMPLES, OUT)
        case _:
            lower = [(i, j) for j in range(size) for i in range(j + 1, size)]
            place = np.zeros((len(lower), size * size))
            for n, (i, j) in enumerate(lower):
                place[n, i * size + j] = 1
            count = K * (1 + size + size * (size + 1) // 2)
            return _counted(count), _counted(N * size, 5).reshape(N, size), place


OBJECTIVES: dict[str, Callable[..., Any]] = {"normalize": normalize, "network": network, "gmm": gmm}

# --- frameworks ------------------------------------------------------------------------------------------------------


def jax_gradient(program: str, size: int) -> Gradient:
    """Compiled by XLA, on one core."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import jax.scipy.special

    class Mathematics:
        special = jax.scipy.special
        sqrt, tanh, exp, einsum = jnp.sqrt, jnp.tanh, jnp.exp, jnp.einsum

    first, *rest = map(jnp.asarray, inputs(program, size))
    compiled = jax.jit(jax.grad(lambda p: OBJECTIVES[program](Mathematics, p, *rest)))
    return lambda: np.asarray(compiled(first).block_until_ready())


def torch_gradient(program: str, size: int) -> Gradient:
    """As PyTorch runs it eagerly, on one core."""
    import torch

    torch.set_num_threads(1)
    first, *rest = map(torch.from_numpy, inputs(program, size))
    first.requires_grad_()

    def run() -> Array:
        (found,) = torch.autograd.grad(OBJECTIVES[program](torch, first, *rest), first)
        return np.asarray(found)

    return run


def casadi_gradient(program: str, size: int) -> Gradient:
    """CasADi's virtual machine: `euler` as a fold over its step, `network` as matrix products."""
    import casadi as c

    if program == "euler":
        state, p = c.SX.sym("state", 2), c.SX.sym("p", 2)
        faster = c.vertcat(state[1], -p[0] * c.sin(state[0]) - p[1] * state[1])
        step = c.Function("step", [state, p], [state + 1e-4 * faster])
        given = c.MX.sym("given", 4)
        end = step.fold(size)(given[:2], given[2:])
        out, values = end[0] ** 2 + 0.5 * end[1] ** 2, 0.5 + _counted(4)
    else:
        values, x, target = inputs("network", size)
        given = c.MX.sym("given", len(values))
        ends = np.cumsum([size * IN, size, OUT * size])
        w1, w2 = c.reshape(given[: ends[0]], IN, size), c.reshape(given[ends[1] : ends[2]], size, OUT)
        h = c.tanh(c.DM(x) @ w1 + c.repmat(given[ends[0] : ends[1]].T, SAMPLES, 1))
        e = h @ w2 + c.repmat(given[ends[2] :].T, SAMPLES, 1) - c.DM(target)
        out = c.sumsqr(e) / SAMPLES
    made = c.Function("gradient", [given], [c.gradient(out, given)])
    return lambda: np.asarray(made(values)).ravel()


FRAMEWORKS: dict[str, tuple[tuple[str, ...], Callable[[str, int], Gradient]]] = {
    "JAX": (("normalize", "network", "gmm"), jax_gradient),
    "PyTorch": (("normalize", "network", "gmm"), torch_gradient),
    "CasADi": (("euler", "network"), casadi_gradient),
}
