"""Zig's own mathematics as calls of libm's, which have derivative rules.

`std.math` computes tanh, log1p, frexp, … by looking at bits. Functions of these names whose parameters are as expected
(an argument that is known at compile time is none) get a body that calls libm. Numbers go by value; complex numbers and
what is returned in two parts lie in memory, as zig passes them.
"""

from __future__ import annotations

import re

from llgrad.frontends.common.libm_forms import SUFFIXES, Form, declared, plain, with_declarations, written

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
    **{name: plain(name, "T") for name in (*_UNARY, "lgamma")},
    **{name: plain(name, "T", "T") for name in ("pow", "atan2", "hypot", "copysign")},
    "gamma": plain("tgamma", "T"),
    "nextAfter": plain("nextafter", "T", "T"),
    "ilogb": plain("ilogb", "T", returned="i32"),
    "ldexp": plain("ldexp", "T", "i32"),
    "frexp": Form("void", ("ptr", "T"), _FREXP),
    **{
        f"complex.{name}{bits}": Form("void", ("ptr", "ptr"), body.format(f"c{name}"))
        for name in ("exp", "sinh", "cosh", "tanh")
        for bits, body in _COMPLEX.items()
    },
}
_FUNCTION = re.compile(
    r"^(define internal (?:fastcc )?)(\w+) @(math\.(complex\.)?\w+\.(\w+))\(([^\n]*)\)[^\n)]*\{\n.*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
_VERSION = re.compile(r"(?:__func_\d+|_?32|_?64|Binary32|Binary64)$")
_PARAMETER = re.compile(r"(\w+)\b[^,]* %\d+(?:, |$)")


def by_libm(text: str) -> str:
    """The module with calls of libm's functions in place of zig's, and declarations of these."""
    declarations: dict[str, str] = {}

    def called(m: re.Match[str]) -> str:
        start, returned, symbol, of_complex, name, parameters = m.groups()
        form = _FORMS.get(f"complex.{name}" if of_complex else _VERSION.sub("", name))
        if "".join(p[0] for p in _PARAMETER.finditer(parameters)) != parameters or not form:
            return m[0]
        taken = tuple(_PARAMETER.findall(parameters))
        for t, f in SUFFIXES.items():
            is_t = name.endswith({"": "64", "f": "32"}.get(f, "-")) if of_complex else t in (returned, *taken)
            if is_t and (body := written(form, returned, taken, t)):
                declarations.update(declared(body))
                return f"{start}{returned} @{symbol}({parameters}) {{\n{body}}}\n"
        return m[0]

    return with_declarations(_FUNCTION.sub(called, text), declarations)
