"""Readers of ADBench's instance files, and the random small instances that tests use.

Each instance is a frozen dataclass of C-contiguous float64 arrays; `arguments()` gives what the C objective takes,
in C order, with fresh output buffers last. Layouts are those stated at the top of `gmm.c`, `ba.c` and `lstm.c`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HERE = Path(__file__).parent
DATA = HERE / "data"


@dataclass(frozen=True, slots=True)
class Gmm:
    """alphas (k,), means (k, d), icf (k, d(d+1)/2), x (n, d), and the Wishart prior's gamma and m."""

    alphas: Array
    means: Array
    icf: Array
    x: Array
    gamma: float
    m: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """d, k, n."""
        return self.means.shape[1], len(self.means), len(self.x)

    def arguments(self) -> tuple[Any, ...]:
        """Arguments of `gmm_objective`."""
        return (*self.sizes, self.alphas, self.means, self.icf, self.x, self.gamma, self.m, np.zeros(1))


@dataclass(frozen=True, slots=True)
class Ba:
    """cams (n, 11), points (m, 3), weights (p,), feats (p, 2), obs (p, 2): camera and point of each observation."""

    cams: Array
    points: Array
    weights: Array
    feats: Array
    obs: NDArray[np.int32]

    def expanded(self) -> Ba:
        """The same observations, each with a camera and a point of its own.

        Every output then depends on inputs of its own, so that two reverse sweeps, seeded with all first and all
        second errors, give the whole Jacobian: sweep r's adjoints of `cams[i]`, `points[i]`, `weights[i]` are row r
        of observation i.
        """
        own = np.repeat(np.arange(len(self.obs), dtype=np.int32)[:, None], 2, axis=1)
        return Ba(self.cams[self.obs[:, 0]], self.points[self.obs[:, 1]], self.weights, self.feats, own)

    def arguments(self) -> tuple[Any, ...]:
        """Arguments of `ba_objective`."""
        p = len(self.weights)
        return (len(self.cams), len(self.points), p, self.cams, self.points, self.weights, self.obs, self.feats,
                np.zeros((p, 2)), np.zeros(p))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lstm:
    """main (l, 2, 4b), extra (3, b), state (l, 2, b), sequence (c, b)."""

    main: Array
    extra: Array
    state: Array
    sequence: Array

    @property
    def sizes(self) -> tuple[int, int, int]:
        """l, c, b."""
        return len(self.state), *self.sequence.shape

    def arguments(self) -> tuple[Any, ...]:
        """Arguments of `lstm_objective`."""
        return (*self.sizes, self.main, self.extra, self.state, self.sequence, np.zeros(1))


class _Words:
    """The numbers of an instance file, taken from the front."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.words: Iterator[str] = iter(path.read_text().split())

    def take(self, *shape: int) -> Array:
        count = int(np.prod(shape))
        values = np.array([float(word) for word in islice(self.words, count)])
        if values.size != count:
            raise ValueError(f"{self.path}: the file ends before an array of shape {shape} is complete")
        return values.reshape(shape)

    def integers(self, count: int) -> list[int]:
        return [int(value) for value in self.take(count)]


def read_gmm(path: Path = DATA / "gmm_d10_K25.txt") -> Gmm:
    """Reads `d K N`, alphas, means, icf, x, `gamma m`."""
    words = _Words(path)
    d, k, n = words.integers(3)
    alphas, means, icf, x = words.take(k), words.take(k, d), words.take(k, d * (d + 1) // 2), words.take(n, d)
    return Gmm(alphas, means, icf, x, float(words.take(1)[0]), *words.integers(1))


def read_ba(path: Path = DATA / "ba1_n49_m7776_p31843.txt") -> Ba:
    """Reads `n m p` and the one camera, point, weight and feature that stand for all."""
    words = _Words(path)
    n, m, p = words.integers(3)
    cam, point, weight, feat = (words.take(size) for size in (11, 3, 1, 2))
    index = np.arange(p, dtype=np.int32)
    obs = np.ascontiguousarray(np.stack([index % n, index % m], axis=1))
    return Ba(np.tile(cam, (n, 1)), np.tile(point, (m, 1)), np.tile(weight, p), np.tile(feat, (p, 1)), obs)


def read_lstm(path: Path = DATA / "lstm_l2_c1024.txt") -> Lstm:
    """Reads `l c b`, main and extra parameters, initial state, sequence."""
    words = _Words(path)
    layers, length, bits = words.integers(3)
    return Lstm(words.take(layers, 2, 4 * bits), words.take(3, bits), words.take(layers, 2, bits),
                words.take(length, bits))  # fmt: skip


def random_gmm(d: int, k: int, n: int, seed: int = 0) -> Gmm:
    """A small instance of full generality."""
    draw = np.random.default_rng(seed).normal
    return Gmm(draw(size=k), draw(size=(k, d)), 0.5 * draw(size=(k, d * (d + 1) // 2)), draw(size=(n, d)), 1.3, 2)


def random_ba(n: int, m: int, p: int, seed: int = 0) -> Ba:
    """Distinct cameras, points in front of them, weights and features; the first camera has no rotation at all."""
    rng = np.random.default_rng(seed)
    cams = rng.normal(size=(n, 11)) * [1, 1, 1, 1, 1, 1, 50, 3, 3, 0.1, 0.02]
    cams[0, :3] = 0.0
    cams[:, 6] += 400.0
    points = rng.normal(size=(m, 3)) + [0.0, 0.0, 20.0]
    obs = np.stack([rng.integers(n, size=p), rng.integers(m, size=p)], axis=1).astype(np.int32)
    obs[0, 0] = 0
    return Ba(cams, points, rng.uniform(0.2, 1, size=p), 100 * rng.normal(size=(p, 2)), obs)


def random_lstm(layers: int, length: int, bits: int, seed: int = 0) -> Lstm:
    """Random parameters, initial state and a sequence of zeros and ones that starts and ends with ones."""
    rng = np.random.default_rng(seed)
    sequence = rng.integers(2, size=(length, bits)).astype(float)
    sequence[[0, -1]] = 1.0  # else the loss of a short sequence may be constant, and its gradient zero
    return Lstm(rng.normal(size=(layers, 2, 4 * bits)), rng.normal(size=(3, bits)),
                rng.normal(size=(layers, 2, bits)), sequence)  # fmt: skip
