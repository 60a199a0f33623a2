"""Rules of NVIDIA's libdevice by name: `__nv_sinf` is `sin` in float, `__nv_fast_expf` is `exp`, `__nv_dadd_rn` a sum.

A name is `__nv_`, what the function computes, and `f` where it does so in float. Where libm has the function, its rule
is that of libm. Fast and rounded versions have the rule of what they approximate. What libm lacks is here.
"""

from __future__ import annotations

from functools import cache

from .expression import Const, both, functions, ge, le, select
from .libm import RULES, half
from .rule import Rule, rule
from .scalar import INSTRUCTIONS, INTRINSICS

PREFIX = "__nv_"
PI, TWO_OVER_SQRT_PI = Const("pi"), Const("2/sqrt(pi)")
exp, cos, sin, sqrt, hypot = functions("exp cos sin sqrt hypot")

OWN: dict[str, Rule] = {
    r.name: r
    for r in (
        rule("rsqrt", lambda x, r: -(half * r) / x),
        rule("rcbrt", lambda x, r: -r / (3 * x)),
        rule("rcp", lambda x, r: -(r * r)),
        rule("rhypot", lambda x, y, r: (-(x * (r * (r * r))), -(y * (r * (r * r))))),
        rule("sinpi", lambda x, r: PI * cos(PI * x)),
        rule("cospi", lambda x, r: -(PI * sin(PI * x))),
        rule("erfcx", lambda x, r: 2 * x * r - TWO_OVER_SQRT_PI),
        rule("erfinv", lambda x, r: exp(r * r) / TWO_OVER_SQRT_PI),
        rule("erfcinv", lambda x, r: -(exp(r * r) / TWO_OVER_SQRT_PI)),
        rule("normcdf", lambda x, r: exp(-(half * (x * x))) / sqrt(2 * PI)),
        rule("saturate", lambda x, r: select(both(ge(x, 0), le(x, 1)), 1, 0)),
    )
}
"""What libm lacks. `saturate` has the slope of the identity at both ends."""

_LIBM = {r.name: r for r in (*INTRINSICS, *RULES)}
_ARITHMETIC = {name: next(r for r in INSTRUCTIONS if r.name == f"f{name}") for name in ("add", "sub", "mul", "div")}
_FORMATS = {"f": "float", "d": "double"}
_WAYS = ("_rn", "_rz", "_ru", "_rd")  # of rounding


@cache
def lookup(symbol: str) -> tuple[Rule, str] | None:
    """The rule of a function of libdevice, and the format in which it computes."""
    name = symbol.removeprefix(PREFIX).removeprefix("fast_")
    if name.endswith(_WAYS):
        return _rounded(name[:-3])
    if name == "fdividef":
        return _ARITHMETIC["div"], "float"
    for known in (OWN, _LIBM):
        if name in known:
            return known[name], "double"
        if name.endswith("f") and name[:-1] in known:
            return known[name[:-1]], "float"
    return None


def _rounded(name: str) -> tuple[Rule, str] | None:
    """`dadd` is a sum of doubles, `fsqrt` a root of a float, `fmaf` one step; conversions have other names."""
    if name in ("fma", "fmaf"):
        return _LIBM["fma"], "float" if name == "fmaf" else "double"
    rule = _ARITHMETIC.get(name[1:]) or {"sqrt": _LIBM["sqrt"], "rcp": OWN["rcp"], "rsqrt": OWN["rsqrt"]}.get(name[1:])
    return (rule, _FORMATS[name[0]]) if rule is not None and name[0] in _FORMATS else None
