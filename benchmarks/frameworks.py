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
LAYERS, WIDTH, MAIN = 2, 14, 8 * 2 * 14  # programs/lstm.c
CAMERAS, CAMERA = 20, 11  # programs/ba.c


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


def lstm(m: Any, p: Any, state: Any, sequence: Any) -> Any:
    """programs/lstm.c"""
    weights, extra = p[:MAIN].reshape(LAYERS, 2, 4, WIDTH), p[MAIN:].reshape(3, WIDTH)

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        given, made = x * extra[0], []
        for j in range(LAYERS):
            (hidden, cell), (w, b) = state[j], weights[j]
            forget, outgate = m.sigmoid(given * w[0] + b[0]), m.sigmoid(given * w[2] + b[2])
            cell = cell * forget + m.sigmoid(hidden * w[1] + b[1]) * m.tanh(hidden * w[3] + b[3])
            given = outgate * m.tanh(cell)
            made.append(m.stack([given, cell]))
        return m.stack(made), given * extra[1] + extra[2]

    prediction = m.scan(step, state, sequence[:-1])
    wanted = sequence[1:]
    rest = m.log(2 + m.exp(prediction).sum(1))
    return -(wanted * (prediction - rest[:, None])).sum() / (WIDTH * len(wanted))


def ba(m: Any, p: Any, obs: Any, feats: Any) -> Any:
    """programs/ba.c, the sum of all that it writes."""
    points = 1 + len(obs) // 8
    end = CAMERAS * CAMERA + 3 * points
    cams = p[: CAMERAS * CAMERA].reshape(CAMERAS, CAMERA)[obs[:, 0]]
    x, w = p[CAMERAS * CAMERA : end].reshape(points, 3)[obs[:, 1]], p[end:]
    offset, r = x - cams[:, 3:6], cams[:, :3]
    theta = m.sqrt((r * r).sum(1))[:, None]
    axis = r / theta
    along = (axis * offset).sum(1)[:, None] * (1 - m.cos(theta))
    turned = offset * m.cos(theta) + m.linalg.cross(axis, offset) * m.sin(theta) + axis * along
    at = turned[:, :2] / turned[:, 2:]
    q = (at * at).sum(1)
    scale = cams[:, 6] * (1 + cams[:, 9] * q + cams[:, 10] * q * q)
    errors = w[:, None] * (scale[:, None] * at + cams[:, 7:9] - feats)
    return errors.sum() + (1 - w * w).sum()


def _log_sum_exp(m: Any, t: Any, axis: int) -> Any:
    return m.special.logsumexp(t, axis)


def inputs(program: str, size: int) -> tuple[Any, ...]:
    """The active array, and the constants after it."""
    match program:
        case "normalize":
            return _counted(size) - 0.25, (1 + np.arange(size) % 5).astype(float)
        case "network":
            count = size * (IN + 1) + OUT * (size + 1)
            x = (_counted(SAMPLES * IN, 7) - 0.5).reshape(SAMPLES, IN)
            return 0.5 * (_counted(count) - 0.5), x, _counted(SAMPLES * OUT, 3).reshape(SAMPLES, OUT)
        case "lstm":
            state = (_counted(2 * LAYERS * WIDTH, 3) - 0.5).reshape(LAYERS, 2, WIDTH)
            sequence = (_counted(size * WIDTH, 7) < 0.5).astype(float).reshape(size, WIDTH)
            return 2 * _counted(MAIN + 3 * WIDTH) - 1, state, sequence
        case "ba":
            points = 1 + size // 8
            p = _counted(CAMERAS * CAMERA + 3 * points + size)
            p[6 : CAMERAS * CAMERA : CAMERA] += 400
            p[CAMERAS * CAMERA + 2 : CAMERAS * CAMERA + 3 * points : 3] += 20
            obs = np.stack([np.arange(size) % CAMERAS, np.arange(size) % points], 1)
            return p, obs, 100 * _counted(2 * size, 3).reshape(size, 2)
        case _:
            lower = [(i, j) for j in range(size) for i in range(j + 1, size)]
            place = np.zeros((len(lower), size * size))
            for n, (i, j) in enumerate(lower):
                place[n, i * size + j] = 1
            count = K * (1 + size + size * (size + 1) // 2)
            return _counted(count), _counted(N * size, 5).reshape(N, size), place


OBJECTIVES: dict[str, Callable[..., Any]] = {
    "normalize": normalize, "network": network, "gmm": gmm, "lstm": lstm, "ba": ba,
}  # fmt: skip

# --- frameworks ------------------------------------------------------------------------------------------------------


def jax_gradient(program: str, size: int) -> Gradient:
    """Compiled by XLA, on one core."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import jax.scipy.special

    class Mathematics:
        special, linalg = jax.scipy.special, jnp.linalg
        sqrt, tanh, exp, log, sin, cos = jnp.sqrt, jnp.tanh, jnp.exp, jnp.log, jnp.sin, jnp.cos
        sigmoid, einsum, stack = jax.nn.sigmoid, jnp.einsum, jnp.stack

        @staticmethod
        def scan(step: Any, state: Any, given: Any) -> Any:
            return jax.lax.scan(step, state, given)[1]

    first, *rest = map(jnp.asarray, inputs(program, size))
    compiled = jax.jit(jax.grad(lambda p: OBJECTIVES[program](Mathematics, p, *rest)))
    return lambda: np.asarray(compiled(first).block_until_ready())


def torch_gradient(program: str, size: int) -> Gradient:
    """As PyTorch runs it eagerly, on one core."""
    import torch

    class Mathematics:
        special, linalg = torch.special, torch.linalg
        sqrt, tanh, exp, log, sin, cos = torch.sqrt, torch.tanh, torch.exp, torch.log, torch.sin, torch.cos
        sigmoid, einsum, stack = torch.sigmoid, torch.einsum, torch.stack

        @staticmethod
        def scan(step: Any, state: Any, given: Any) -> Any:
            made = []
            for x in given:
                state, result = step(state, x)
                made.append(result)
            return torch.stack(made)

    torch.set_num_threads(1)
    first, *rest = map(torch.from_numpy, inputs(program, size))
    first.requires_grad_()

    def run() -> Array:
        (found,) = torch.autograd.grad(OBJECTIVES[program](Mathematics, first, *rest), first)
        return np.asarray(found)

    return run


def casadi_gradient(program: str, size: int) -> Gradient:
    """CasADi's virtual machine, on symbols in matrices; loops are folds over a step of scalars, or its map."""
    import casadi as c

    given, out, values = CASADI[program](c, size)
    made = c.Function("gradient", [given], [c.gradient(out, given)])
    return lambda: np.asarray(made(values)).ravel()


def _casadi_euler(c: Any, size: int) -> tuple[Any, Any, Array]:
    state, p = c.SX.sym("state", 2), c.SX.sym("p", 2)
    faster = c.vertcat(state[1], -p[0] * c.sin(state[0]) - p[1] * state[1])
    step = c.Function("step", [state, p], [state + 1e-4 * faster])
    given = c.MX.sym("given", 4)
    end = step.fold(size)(given[:2], given[2:])
    return given, end[0] ** 2 + 0.5 * end[1] ** 2, 0.5 + _counted(4)


def _casadi_network(c: Any, size: int) -> tuple[Any, Any, Array]:
    values, x, target = inputs("network", size)
    given = c.MX.sym("given", len(values))
    ends = np.cumsum([size * IN, size, OUT * size])
    w1, w2 = c.reshape(given[: ends[0]], IN, size), c.reshape(given[ends[1] : ends[2]], size, OUT)
    h = c.tanh(c.DM(x) @ w1 + c.repmat(given[ends[0] : ends[1]].T, SAMPLES, 1))
    e = h @ w2 + c.repmat(given[ends[2] :].T, SAMPLES, 1) - c.DM(target)
    return given, c.sumsqr(e) / SAMPLES, values


def _casadi_lstm(c: Any, size: int) -> tuple[Any, Any, Array]:
    values, start, sequence = inputs("lstm", size)
    state, p = c.SX.sym("state", 1 + 2 * LAYERS * WIDTH), c.SX.sym("p", len(values))
    x, wanted = c.SX.sym("x", WIDTH), c.SX.sym("wanted", WIDTH)
    extra, made = c.reshape(p[MAIN:], WIDTH, 3), []
    given = x * extra[:, 0]
    for j in range(LAYERS):
        hidden, cell = c.vertsplit(state[1 + 2 * WIDTH * j : 1 + 2 * WIDTH * (j + 1)], WIDTH)
        w = c.reshape(p[8 * WIDTH * j : 8 * WIDTH * (j + 1)], WIDTH, 8)
        gates = [a * w[:, n] + w[:, 4 + n] for n, a in enumerate((given, hidden, given, hidden))]
        forget, ingate, outgate = (1 / (1 + c.exp(-g)) for g in gates[:3])
        cell = cell * forget + ingate * c.tanh(gates[3])
        given = outgate * c.tanh(cell)
        made += [given, cell]
    prediction = given * extra[:, 1] + extra[:, 2]
    more = c.dot(wanted, prediction - c.log(2 + c.sum1(c.exp(prediction))))
    step = c.Function("step", [state, p, x, wanted], [c.vertcat(state[0] + more, *made)])
    given, count = c.MX.sym("given", len(values)), size - 1
    first = np.concatenate([[0.0], start.ravel()])
    end = step.fold(count)(first, c.repmat(given, 1, count), sequence[:-1].T, sequence[1:].T)
    return given, -end[0] / (WIDTH * count), values


def _casadi_ba(c: Any, size: int) -> tuple[Any, Any, Array]:
    values, obs, feats = inputs("ba", size)
    cam, x, w, feat = c.SX.sym("cam", CAMERA), c.SX.sym("x", 3), c.SX.sym("w"), c.SX.sym("feat", 2)
    offset, theta = x - cam[3:6], c.sqrt(c.sumsqr(cam[:3]))
    axis = cam[:3] / theta
    along = c.dot(axis, offset) * (1 - c.cos(theta))
    turned = offset * c.cos(theta) + c.cross(axis, offset) * c.sin(theta) + axis * along
    at = turned[:2] / turned[2]
    q = c.sumsqr(at)
    errors = w * (cam[6] * (1 + cam[9] * q + cam[10] * q * q) * at + cam[7:9] - feat)
    one = c.Function("one", [cam, x, w, feat], [c.sum1(errors) + 1 - w * w])
    given, points = c.MX.sym("given", len(values)), 1 + size // 8
    end = CAMERAS * CAMERA + 3 * points
    cams, xs = c.reshape(given[: CAMERAS * CAMERA], CAMERA, CAMERAS), given[CAMERAS * CAMERA : end]
    listed = [[int(n) for n in obs[:, side]] for side in range(2)]
    every = one.map(size)(cams[:, listed[0]], c.reshape(xs, 3, points)[:, listed[1]], given[end:].T, feats.T)
    return given, c.sum2(every), values


CASADI: dict[str, Callable[[Any, int], tuple[Any, Any, Array]]] = {
    "euler": _casadi_euler, "network": _casadi_network, "lstm": _casadi_lstm, "ba": _casadi_ba,
}  # fmt: skip
FRAMEWORKS: dict[str, tuple[tuple[str, ...], Callable[[str, int], Gradient]]] = {
    "JAX": (tuple(OBJECTIVES), jax_gradient),
    "PyTorch": (tuple(OBJECTIVES), torch_gradient),
    "CasADi": (tuple(CASADI), casadi_gradient),
}
