"""The bodies of digamma and polygamma, compiled, against mpmath, in every format."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from rule_algebras import engine

from llgrad.errors import UnsupportedError
from llgrad.rules import special_functions

TYPES = {"float": (np.float32, 24), "double": (np.float64, 53), "x86_fp80": (np.longdouble, 64)}


def call(base: str, format: str, x: Any) -> Any:
    kind = TYPES[format][0]
    source, target = np.array([x], kind), np.zeros(1, kind)
    address = engine(base, format).get_function_address("through")
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(source.ctypes.data, target.ctypes.data)
    return target[0]


def precise(x: Any) -> mp.mpf:
    mantissa, exponent = np.frexp(x)
    high = int(np.ldexp(mantissa, 64))
    return mp.ldexp(mp.mpf(high), int(exponent) - 64)


def points(kind: Any, negative: bool) -> list[Any]:
    draw = random.Random(11)
    if negative:
        return [kind(-draw.uniform(0.01, 12)) for _ in range(60)]
    near = [1.4616321449683623 + draw.uniform(-1e-3, 1e-3) for _ in range(15)] + [1.4616321449683623, 1.4616, 1.25]
    wide = [draw.uniform(0.01, 3) for _ in range(60)] + [10 ** draw.uniform(-6, 6) for _ in range(60)]
    return [kind(x) / kind(7) * kind(7) for x in near + wide]


@pytest.mark.parametrize("format", TYPES)
@pytest.mark.parametrize("base", special_functions.NAMES)
def test_positive(base: str, format: str) -> None:
    """Some units in the last place, next to digamma's root too."""
    kind, precision = TYPES[format]
    order = special_functions.NAMES.index(base)
    for x in points(kind, negative=False):
        with mp.workdps(40):
            want = mp.polygamma(order, precise(x))
            got = precise(call(base, format, x))
            size = abs(want) if order or 1.2 < x < 1.75 else max(abs(want), mp.mpf("0.5"))
            assert abs(got - want) <= (16 + 6 * order) * mp.mpf(2) ** -precision * size, (x, got, want)


@pytest.mark.parametrize("format", TYPES)
@pytest.mark.parametrize("base", special_functions.NAMES)
def test_negative(base: str, format: str) -> None:
    """Relative to the larger of the two terms of the reflection formula."""
    kind, precision = TYPES[format]
    order = special_functions.NAMES.index(base)
    for x in points(kind, negative=True):
        with mp.workdps(40):
            at = precise(x)
            want = mp.polygamma(order, at)
            scale = abs(want) + abs(mp.polygamma(order, 1 - at)) + mp.pi ** (order + 1)
            c = abs(mp.cot(mp.pi * at))
            bound = (16 + 12 * order) * mp.mpf(2) ** -precision * scale * (1 + c / (1 + c))
            assert abs(precise(call(base, format, x)) - want) <= bound, (x, want)


def test_edges() -> None:
    for format in TYPES:
        assert call("digamma", format, 0.0) == -np.inf
        assert call("digamma", format, np.inf) == np.inf
        assert call("polygamma1", format, 0.0) == np.inf
        assert call("polygamma1", format, np.inf) == 0
        assert np.isnan(call("digamma", format, np.nan))
        assert np.isnan(call("polygamma2", format, np.nan))


def test_refusals() -> None:
    with pytest.raises(UnsupportedError):
        special_functions.body("digamma", "fp128")
    with pytest.raises(UnsupportedError):
        special_functions.body("sin", "double")


def test_root_constants() -> None:
    """The constants of the Taylor series are mpmath's."""
    with mp.workdps(50):
        root = mp.findroot(mp.digamma, 1.46)
        assert (
            abs(mp.mpf(special_functions.ROOT.numerator) / special_functions.ROOT.denominator - root)
            < mp.mpf(10) ** -48
        )
        for k, value in enumerate(special_functions.TAYLOR, 1):
            want = mp.polygamma(k, root) / mp.factorial(k)
            assert abs(mp.mpf(value.numerator) / value.denominator - want) < mp.mpf(10) ** -28 * abs(want)
