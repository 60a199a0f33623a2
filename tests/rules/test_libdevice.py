"""Rules of libdevice's functions that libm lacks, against mpmath; names of the others against libm's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import pytest
from rule_algebras import MpAlgebra

from llgrad.rules import evaluate
from llgrad.rules.libdevice import OWN
from llgrad.rules.library import effects, lookup

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "rcbrt": lambda x: 1 / mp.cbrt(x),
    "rcp": lambda x: 1 / x,
    "rhypot": lambda x, y: 1 / mp.sqrt(x * x + y * y),
    "sinpi": mp.sinpi,
    "cospi": mp.cospi,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "erfinv": mp.erfinv,
    "erfcinv": lambda x: mp.erfinv(1 - x),
    "normcdf": lambda x: mp.ncdf(x),
    "saturate": lambda x: min(max(x, 0), 1),
}


@pytest.mark.parametrize("name", OWN)
def test_partials(name: str) -> None:
    rule, function = OWN[name], FUNCTIONS[name]
    with mp.workdps(60):
        for point in ([mp.mpf(x) for x in ("0.125", "0.75")], [mp.mpf(x) for x in ("0.5", "0.25")]):
            given = point[: len(rule.operands)]
            for n in range(len(given)):
                h = mp.mpf(10) ** -20
                high, low = ([x + sign * h * (k == n) for k, x in enumerate(given)] for sign in (1, -1))
                wanted = (function(*high) - function(*low)) / (2 * h)
                partial = rule.partials[0][n]
                assert partial is not None
                found = evaluate(partial, given, [function(*given)], MpAlgebra())
                assert abs(found - wanted) < mp.mpf(10) ** -30 * max(1, abs(wanted))


@pytest.mark.parametrize(
    ("symbol", "rule", "format"),
    [
        ("__nv_sin", "sin", "double"), ("__nv_sinf", "sin", "float"), ("__nv_erf", "erf", "double"),
        ("__nv_fast_expf", "exp", "float"), ("__nv_fast_fdividef", "fdiv", "float"), ("__nv_powi", "powi", "double"),
        ("__nv_dadd_rn", "fadd", "double"), ("__nv_fmul_rz", "fmul", "float"), ("__nv_fma_rn", "fma", "double"),
        ("__nv_fmaf_ru", "fma", "float"), ("__nv_dsqrt_rd", "sqrt", "double"), ("__nv_frsqrt_rn", "rsqrt", "float"),
        ("__nv_llrint", "llrint", "double"), ("__nv_sincosf", "sincos", "float"),
    ],
)  # fmt: skip
def test_names(symbol: str, rule: str, format: str) -> None:
    entry = lookup(symbol)
    assert entry is not None and (entry.rule.name.removeprefix("llvm."), entry.format) == (rule, format)


@pytest.mark.parametrize("symbol", ["__nv_float2int_rn", "__nv_int2double_rn", "__nv_popc", "__nv_max"])
def test_integers_have_no_rule(symbol: str) -> None:
    known = effects(symbol)
    assert lookup(symbol) is None and known is not None and known.inactive


@pytest.mark.parametrize("symbol", ["__nv_hiloint2double", "__nv_double_as_longlong", "__nv_norm3d", "__nv_nothing"])
def test_what_is_not_known_is_not_guessed(symbol: str) -> None:
    assert lookup(symbol) is None and effects(symbol) is None
