"""Numba: instances of classes that change their fields in place; sets, and dictionaries by floats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from core import differences

import llgrad
from llgrad.errors import ArgumentError

numba = pytest.importorskip("numba", reason="there is no Numba: pip install numba")
jitclass = pytest.importorskip("numba.experimental").jitclass
X = np.random.default_rng(5).uniform(0.2, 1.1, 6)


@jitclass([("pos", numba.float64[:]), ("vel", numba.float64[:]), ("m", numba.float64)])
class Body:
    def __init__(self, pos, vel, m):
        self.pos, self.vel, self.m = pos.copy(), vel.copy(), m

    def step(self, dt):
        self.vel += -self.pos * self.m * dt
        self.pos += self.vel * dt
        self.pos -= 0.01 * self.pos

    @property
    def energy(self):
        return 0.5 * self.m * np.sum(self.vel**2) + np.sum(self.pos**2)


@numba.njit
def motion(x):
    body = Body(x[:3], x[3:], x[0])
    for _ in range(4):
        body.step(0.1)
    return body.energy


@numba.njit
def several(x):
    bodies = [Body(x[:3], x[3:], x[0]), Body(x[3:], x[:3], x[1])]
    for body in bodies:
        body.pos -= 0.1 * body.vel
        body.m *= 2
        body.pos[0] = body.m
    return bodies[0].energy * bodies[1].energy


@numba.njit
def distinct(x):
    """A set that grows, and loses elements."""
    found, total = {x[0]}, 0.0
    for i in range(40):
        found.add(x[i % 6] * (i + 1))
    found.discard(x[1] * 2)
    found.remove(x[2] * 3)
    for v in found:
        total += v * v * v
    return total * len(found) + (x[0] if x[0] in found else 0.0)


@numba.njit
def by_floats(x):
    d, total = {}, 0.0
    for i in range(60):
        d[x[i % 6] * (1.0 + i)] = x[i % 6] ** 2 * i
    for k, v in d.items():
        total += k * v
    return total


@numba.njit
def halves(x):
    m, e = math.frexp(x[0])
    return math.ldexp(x[1], 3) * m + x[2] * e


@pytest.mark.parametrize(
    "function", [motion, halves, *(pytest.param(f, marks=pytest.mark.full) for f in (several, distinct, by_floats))]
)
def test_programs(function) -> None:
    gradient = llgrad.grad(function)(X)
    np.testing.assert_allclose(gradient, differences(lambda v: function(*v), [X])[0], rtol=1e-7, atol=1e-9)
    _, slope = llgrad.jvp(function)(X, tangents=X)
    assert slope == pytest.approx((gradient * X).sum(), rel=1e-10)


def test_lists_of_singles_complex_singles_and_functions_without_a_name() -> None:
    @numba.njit
    def squares(values):
        s = 0.0
        for v in values:
            s += v * v
        return s

    singles = numba.typed.List([np.float32(0.1), np.float32(0.2)])
    value, gradient = llgrad.value_and_grad(squares)(singles)
    assert value == squares(singles)  # in the precision that the list has
    np.testing.assert_array_equal(gradient, [np.float32(0.2), np.float32(0.4)])
    with pytest.raises(ArgumentError, match="'values' is an empty list"):
        llgrad.grad(squares)(numba.typed.List.empty_list(numba.float64))
    with pytest.raises(ArgumentError, match="Unsupported array dtype: >f8"):
        llgrad.grad(squares)(np.ones(3, ">f8"))
    square = numba.njit(lambda z: (z * z).real)
    assert llgrad.grad(square)(np.complex64(2 + 3j)) == 4 - 6j
    assert llgrad.grad(numba.njit(lambda x: x[0] * x[0]))(np.array([3.0])) == 6.0
