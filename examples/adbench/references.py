"""Objectives and derivatives of the three ADBench problems, written by hand in NumPy.

They share no code with llgrad: they are what its derivatives are compared with. The objectives take complex
arrays too, so that tests differentiate them by complex steps; the derivatives are worked out on paper and real.
"adj" at the end of a name says adjoint: the derivative of the output by that value.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .instances import Array, Ba, Gmm, Lstm

AnyArray = NDArray[Any]


# Gaussian mixture ----------------------------------------------------------------------------------------------


def _log_sum_exp(t: AnyArray) -> AnyArray:
    top = t.real.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(t - top).sum(axis=-1)))


def _softmax(t: Array) -> Array:
    e = np.exp(t - t.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _triangular(icf: AnyArray, d: int) -> AnyArray:
    """Q (k, d, d): exponentials of the first d entries on the diagonal, the rest below it column by column."""
    q = np.zeros((len(icf), d, d), icf.dtype)
    column, row = np.triu_indices(d, 1)
    q[:, range(d), range(d)] = np.exp(icf[:, :d])
    q[:, row, column] = icf[:, d:]
    return q


def _gmm_terms(g: Gmm) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Q (k, d, d), y = x - means (n, k, d), z = Q y (n, k, d), and the terms t (n, k)."""
    d = g.sizes[0]
    q = _triangular(g.icf, d)
    y = g.x[:, None, :] - g.means
    z = np.einsum("kij,nkj->nki", q, y)
    return q, y, z, g.alphas + g.icf[:, :d].sum(axis=1) - 0.5 * (z * z).sum(axis=2)


def gmm_objective(g: Gmm) -> Any:
    """The log posterior, a scalar."""
    d, k, n = g.sizes
    q, _, _, t = _gmm_terms(g)
    nu = d + g.m + 1
    log_gamma_d = 0.25 * d * (d - 1) * log(pi) + sum(lgamma(0.5 * nu + 0.5 * (1 - j)) for j in range(1, d + 1))
    constant = nu * d * (log(g.gamma) - 0.5 * log(2)) - log_gamma_d
    prior = 0.5 * g.gamma**2 * (q * q).sum() - g.m * g.icf[:, :d].sum() - k * constant
    return -0.5 * n * d * log(2 * pi) + _log_sum_exp(t).sum() - n * _log_sum_exp(g.alphas) + prior


def gmm_gradient(g: Gmm) -> tuple[Array, Array, Array]:
    """Gradient by alphas, means, icf.

    With w = softmax of t over k:  t_adj = w;  z_adj = -w z;  Q_adj = sum_n z_adj y^T;  y_adj = Q^T z_adj.
    The prior adds gamma^2 Q to Q_adj, and -m to the sums s.
    """
    d, _, n = g.sizes
    q, y, z, t = _gmm_terms(g)
    w = _softmax(t)
    z_adj = -w[:, :, None] * z
    q_adj = np.einsum("nki,nkj->kij", z_adj, y) + g.gamma**2 * q
    s_adj = w.sum(axis=0) - g.m
    column, row = np.triu_indices(d, 1)
    diagonal = np.einsum("kii,kii->ki", q_adj, q) + s_adj[:, None]
    return (
        w.sum(axis=0) - n * _softmax(g.alphas),
        -np.einsum("kij,nki->kj", q, z_adj),
        np.concatenate([diagonal, q_adj[:, row, column]], axis=1),
    )


# Bundle adjustment ---------------------------------------------------------------------------------------------


def _rodrigues(r: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """cos θ, sin θ / θ and (1 - cos θ) / θ² of Rodrigues vectors r (p, 3); the limits at θ = 0."""
    square = (r * r).sum(axis=1)
    theta = np.sqrt(np.where(square == 0, 1.0, square))
    still = square == 0
    sinc = np.where(still, 1.0, np.sin(theta) / theta)
    versine = np.where(still, 0.5, 2 * (np.sin(theta / 2) / theta) ** 2)
    return np.where(still, 1.0, np.cos(theta)), sinc, versine


def _project(cams: AnyArray, points: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Points in camera coordinates (p, 3), and their projections (p, 2)."""
    r, v = cams[:, :3], points - cams[:, 3:6]
    cos, sinc, versine = _rodrigues(r)
    along = (r * v).sum(axis=1)
    p = cos[:, None] * v + sinc[:, None] * np.cross(r, v) + (versine * along)[:, None] * r
    xy = p[:, :2] / p[:, 2:]
    q = (xy * xy).sum(axis=1)
    return p, (cams[:, 6] * (1 + cams[:, 9] * q + cams[:, 10] * q * q))[:, None] * xy + cams[:, 7:9]


def ba_objective(b: Ba) -> tuple[AnyArray, AnyArray]:
    """Reprojection errors (p, 2) and weight errors (p,)."""
    _, projected = _project(b.cams[b.obs[:, 0]], b.points[b.obs[:, 1]])
    return b.weights[:, None] * (projected - b.feats), 1 - b.weights**2


def _rotation_jacobian(r: Array, v: Array) -> tuple[Array, Array]:
    """Of p = R(r) v: dp/dr and R = dp/dv, each (p, 3, 3).

    p = cos θ v + s (r × v) + h (r·v) r with s = sin θ / θ, h = (1 - cos θ) / θ²; along r_i, θ changes by r_i / θ:
    cos' = -s r_i,  s' = (cos θ - s) / θ² r_i,  h' = (s - 2 h) / θ² r_i.  The quotients lose digits for tiny θ > 0.
    """
    cos, s, h = (value[:, None, None] for value in _rodrigues(r))
    square = (r * r).sum(axis=1)[:, None, None]
    square = np.where(square == 0, np.inf, square)
    unit = np.eye(3)
    cross_r = np.cross(r[:, None, :], unit).transpose(0, 2, 1)  # column j: r × e_j
    cross_v = np.cross(unit, v[:, None, :]).transpose(0, 2, 1)  # column i: e_i × v
    rows, by = r[:, None, :], r[:, :, None]
    along = (r * v).sum(axis=1)[:, None, None]
    by_theta = -s * v[:, :, None] + (cos - s) / square * np.cross(r, v)[:, :, None] + (s - 2 * h) / square * along * by
    by_r = by_theta * rows + s * cross_v + h * (along * unit + by * v[:, None, :])
    return by_r, cos * unit + s * cross_r + h * by * rows


def ba_jacobian(b: Ba) -> tuple[Array, Array]:
    """Rows of the reprojection errors by camera, point and weight (p, 2, 15); weight errors by weight (p,)."""
    cams, points = b.cams[b.obs[:, 0]], b.points[b.obs[:, 1]]
    p, projected = _project(cams, points)
    by_r, by_v = _rotation_jacobian(cams[:, :3], points - cams[:, 3:6])
    xy, depth, w = p[:, :2] / p[:, 2:], p[:, 2, None, None], b.weights[:, None, None]
    q = (xy * xy).sum(axis=1)[:, None, None]
    f, k1, k2 = (cams[:, i, None, None] for i in (6, 9, 10))
    radial = 1 + k1 * q + k2 * q * q
    outer = 2 * xy[:, :, None] * xy[:, None, :]
    by_xy = f * (radial * np.eye(2) + (k1 + 2 * k2 * q) * outer)
    by_p = by_xy @ np.concatenate([np.tile(np.eye(2), (len(p), 1, 1)), -xy[:, :, None]], axis=2) / depth
    column = xy[:, :, None]
    principal = np.tile(np.eye(2), (len(p), 1, 1))
    blocks = [by_p @ by_r, -by_p @ by_v, radial * column, principal, f * q * column, f * q * q * column, by_p @ by_v]
    return np.concatenate([*(w * block for block in blocks), (projected - b.feats)[:, :, None]], axis=2), -2 * b.weights


# LSTM ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Layer:
    """What one layer computed in one step; gates are (4, b): forget, in, out, change."""

    source: AnyArray
    hidden: AnyArray
    cell: AnyArray
    gates: AnyArray
    squashed: AnyArray

    @property
    def new_cell(self) -> AnyArray:
        return np.asarray(self.cell * self.gates[0] + self.gates[1] * self.gates[3])

    @property
    def new_hidden(self) -> AnyArray:
        return np.asarray(self.gates[2] * self.squashed)


def _layer(weight: AnyArray, bias: AnyArray, source: AnyArray, hidden: AnyArray, cell: AnyArray) -> _Layer:
    z = np.stack([source, hidden, source, hidden]) * weight + bias
    gates = np.concatenate([1 / (1 + np.exp(-z[:3])), np.tanh(z[3:])])
    return _Layer(source, hidden, cell, gates, np.tanh(cell * gates[0] + gates[1] * gates[3]))


def _run(s: Lstm) -> tuple[list[list[_Layer]], AnyArray]:
    """Every layer of every step, and the predictions (c - 1, b)."""
    layers, _, bits = s.sizes
    params = s.main.reshape(layers, 2, 4, bits)
    state = [(row[0], row[1]) for row in s.state]
    steps: list[list[_Layer]] = []
    for item in s.sequence[:-1]:
        source = item * s.extra[0]
        steps.append([])
        for j, (hidden, cell) in enumerate(state):
            done = _layer(params[j, 0], params[j, 1], source, hidden, cell)
            steps[-1].append(done)
            source = done.new_hidden
        state = [(done.new_hidden, done.new_cell) for done in steps[-1]]
    tops = np.stack([step[-1].new_hidden for step in steps])
    return steps, tops * s.extra[1] + s.extra[2]


def lstm_objective(s: Lstm) -> Any:
    """The loss, a scalar."""
    _, prediction = _run(s)
    lse = np.log(2 + np.exp(prediction).sum(axis=1, keepdims=True))
    return -(s.sequence[1:] * (prediction - lse)).sum() / prediction.size


def _layer_adj(
    done: _Layer, weight: Array, hidden_adj: Array, cell_adj: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Adjoints of z (4, b), of the inputs z is made from (4, b), and of source, hidden and cell before the step."""
    forget, ingate, outgate, change = done.gates
    cell_adj = cell_adj + hidden_adj * outgate * (1 - done.squashed**2)
    gate_adj = np.stack([cell_adj * done.cell, cell_adj * change, hidden_adj * done.squashed, cell_adj * ingate])
    slope = np.concatenate([done.gates[:3] * (1 - done.gates[:3]), 1 - done.gates[3:] ** 2])
    z_adj = gate_adj * slope
    inputs_adj = z_adj * weight
    weight_adj = z_adj * np.stack([done.source, done.hidden, done.source, done.hidden])
    return weight_adj, z_adj, inputs_adj[0] + inputs_adj[2], inputs_adj[1] + inputs_adj[3], cell_adj * forget


def lstm_gradient(s: Lstm) -> tuple[Array, Array]:
    """Gradient by main (l, 2, 4b) and extra (3, b) parameters: backpropagation through time."""
    layers, _, bits = s.sizes
    params = s.main.reshape(layers, 2, 4, bits)
    steps, prediction = _run(s)
    following = s.sequence[1:]
    e = np.exp(prediction)
    share = e / (2 + e.sum(axis=1, keepdims=True))
    prediction_adj = -(following - following.sum(axis=1, keepdims=True) * share) / prediction.size
    main_adj, extra_adj = np.zeros_like(params), np.zeros_like(s.extra)
    hidden_adj, cell_adj = np.zeros((layers, bits)), np.zeros((layers, bits))
    for t in range(len(steps) - 1, -1, -1):
        extra_adj[1] += prediction_adj[t] * steps[t][-1].new_hidden
        extra_adj[2] += prediction_adj[t]
        source_adj = prediction_adj[t] * s.extra[1]
        for j in range(layers - 1, -1, -1):
            weight_adj, bias_adj, source_adj, hidden_adj[j], cell_adj[j] = _layer_adj(
                steps[t][j], params[j, 0], hidden_adj[j] + source_adj, cell_adj[j]
            )
            main_adj[j, 0] += weight_adj
            main_adj[j, 1] += bias_adj
        extra_adj[0] += source_adj * s.sequence[t]
    return main_adj.reshape(s.main.shape), extra_adj
