"""Zig's own mathematics as calls of libm's, which have derivative rules.

`std.math` computes tanh, log1p, frexp, … by looking at bits. Functions of these names whose parameters are as expected
(an argument that is known at compile time is none) get a body that calls libm. Numbers go by value; complex numbers and
what is returned in two parts lie in memory, as zig passes them.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Form(NamedTuple):
    """What a function returns and takes, and its body; `T` is the float's type, `F` the end of C's names."""

    returned: str
    taken: tuple[str, ...]
    body: str


def _plain(function: str, *taken: str, returned: str = "T") -> _Form:
    values = ", ".join(f"{t} %{n}" for n, t in enumerate(taken))
    return _Form(returned, taken, f"  %r = call {returned} @{function}F({values})\n  ret {returned} %r\n")


_FREXP = """  %at = getelementptr {T, i32}, ptr %0, i64 0, i32 1
  %m = call T @frexpF(T %1, ptr %at)
  store T %m, ptr %0
  ret void
"""
_COMPLEX = {  # C on x86-64 passes two doubles, but floats in a vector
    "64": """  %at = getelementptr {{T, T}}, ptr %1, i64 0, i32 1
  %re = load T, ptr %1
  %im = load T, ptr %at
  %r = call {{T, T}} @{0}(T %re, T %im)
  store {{T, T}} %r, ptr %0
  ret void
""",
    "32": """  %z = load <2 x T>, ptr %1, align 4
  %r = call <2 x T> @{0}F(<2 x T> %z)
  store <2 x T> %r, ptr %0, align 4
  ret void
""",
}
_UNARY = ("tanh", "sinh", "cosh", "tan", "asin", "acos", "atan", "expm1", "log1p", "cbrt", "asinh", "acosh", "atanh")
_FORMS = {
    **{name: _plain(name, "T") for name in (*_UNARY, "lgamma")},
    **{name: _plain(name, "T", "T") for name in ("pow", "atan2", "hypot", "copysign")},
    "gamma": _plain("tgamma", "T"),
    "nextAfter": _plain("nextafter", "T", "T"),
    "ilogb": _plain("ilogb", "T", returned="i32"),
    "ldexp": _plain("ldexp", "T", "i32"),
    "frexp": _Form("void", ("ptr", "T"), _FREXP),
    **{
        f"complex.{name}{bits}": _Form("void", ("ptr", "ptr"), body.format(f"c{name}"))
        for name in ("exp", "sinh", "cosh", "tanh")
        for bits, body in _COMPLEX.items()
    },
}
_SUFFIXES = {"double": "", "float": "f", "x86_fp80": "l", "fp128": "f128"}
_FUNCTION = re.compile(
    r"^(define internal (?:fastcc )?)(\w+) @(math\.(complex\.)?\w+\.(\w+))\(([^\n]*)\)[^\n)]*\{\n.*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
_VERSION = re.compile(r"(?:__func_\d+|_?32|_?64|Binary32|Binary64)$")
_PARAMETER = re.compile(r"(\w+)\b[^,]* %\d+(?:, |$)")
_CALL = re.compile(r"= call ([^@]+) @(\w+)\(([^)]*)\)")


def by_libm(text: str) -> str:
    """The module with calls of libm's functions in place of zig's, and declarations of these."""
    declarations: dict[str, str] = {}

    def called(m: re.Match[str]) -> str:
        start, returned, symbol, of_complex, name, parameters = m.groups()
        form = _FORMS.get(f"complex.{name}" if of_complex else _VERSION.sub("", name))
        if "".join(p[0] for p in _PARAMETER.finditer(parameters)) != parameters or not form:
            return m[0]
        taken = tuple(_PARAMETER.findall(parameters))
        for t, f in _SUFFIXES.items():
            is_t = name.endswith({"": "64", "f": "32"}.get(f, "-")) if of_complex else t in (returned, *taken)
            if is_t and (returned, *taken) == tuple(t if u == "T" else u for u in (form.returned, *form.taken)):
                body = re.sub(r"F\b", f, re.sub(r"\bT\b", t, form.body))
                for result, function, values in _CALL.findall(body):
                    types = ", ".join(v.rsplit(" ", 1)[0] for v in values.split(", "))
                    declarations[function] = f"declare {result} @{function}({types})"
                return f"{start}{returned} @{symbol}({parameters}) {{\n{body}}}\n"
        return m[0]

    text = _FUNCTION.sub(called, text)
    known = set(re.findall(r"^(?:declare|define) [^\n]*?@(\w+)\(", text, re.MULTILINE))
    return text + "".join(
        f"\n{declaration}\n" for name, declaration in sorted(declarations.items()) if name not in known
    )
