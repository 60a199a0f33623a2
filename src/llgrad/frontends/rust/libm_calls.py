"""The functions of Rust's crate `libm` (of num-traits without the standard library, too) as calls of C's.

    libm::math::erf::erf(f64) -> f64            call double @erf(double)
    libm::math::frexp::frexp(f64) -> (f64, i32) call double @frexp(double, ptr)

They are recognised by path and types, mangled in either way; the crate's generic versions count, too. Its square root
is an instruction in inline assembly.
"""

from __future__ import annotations

import re

from llgrad.frontends.common.libm_forms import SUFFIXES, Form, declared, plain, with_declarations, written

_UNARY = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log "
    "log10 log1p log2 rint round roundeven sin sinh sqrt tan tanh tgamma trunc y0 y1"
)
_BINARY = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder"


def _pair(function: str, taken: tuple[str, ...], second: str) -> Form:
    """C's function leaves its second result in memory."""
    values = ", ".join(f"{t} %{n}" for n, t in enumerate(taken))
    return Form(
        f"{{ T, {second} }}", taken, f"  %at = alloca {second}, align 8\n"
        f"  %first = call T @{function}({values}, ptr %at)\n  %second = load {second}, ptr %at\n"
        f"  %one = insertvalue {{ T, {second} }} poison, T %first, 0\n"
        f"  %both = insertvalue {{ T, {second} }} %one, {second} %second, 1\n  ret {{ T, {second} }} %both\n",
    )  # fmt: skip


_SINCOS = """  %sine = call T @sinF(T %0)
  %cosine = call T @cosF(T %0)
  %one = insertvalue { T, T } poison, T %sine, 0
  %both = insertvalue { T, T } %one, T %cosine, 1
  ret { T, T } %both
"""
_FORMS = {
    **{name: plain(name, "T") for name in _UNARY.split()},
    **{name: plain(name, "T", "T") for name in _BINARY.split()},
    "fma": plain("fma", "T", "T", "T"),
    **{name: plain(name, "i32", "T") for name in ("jn", "yn")},
    **{name: plain(name, "T", "i32") for name in ("ldexp", "scalbn")},
    "ilogb": plain("ilogb", "T", returned="i32"),
    "sincos": Form("{ T, T }", ("T",), _SINCOS),
    "frexp": _pair("frexpF", ("T",), "i32"),
    "modf": _pair("modfF", ("T",), "T"),
    "lgamma_r": _pair("lgammaF_r", ("T",), "i32"),
    "remquo": _pair("remquoF", ("T", "T"), "i32"),
}
_FUNCTION = re.compile(
    r"^(define [^@\n]*?)((?:double|float|i32|\{ (?:double|float), (?:double|float|i32) \})) "
    r"@(_ZN4libm4math\w+17h[0-9a-f]{16}E|_RNv\w+_4libm4math\w+|_RINv\w+_4libm4math\w+)"
    r"\(([^()\n]*)\)([^\n]*\{\n).*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
_ROOT = re.compile(
    r'(= )call (double|float) asm [^"\n]*"sqrts[sd] \$\{0:x\}, \$\{0:x\}", "[^"\n]*"'
    r"\((?:double|float) ([^()\n]*)\)(?: #\d+)?"
)
_SEGMENT = re.compile(r"(\d+)")
_PARAMETER = re.compile(r"(?:^|, )(\w+) (?:[a-z]\w* )*(%[-\w.$]+)(?=, |$)")


def by_libm(text: str) -> str:
    """The module with calls of C's functions in place of the crate's, and declarations of these."""
    if "4libm4math" not in text and '"sqrts' not in text:
        return text
    declarations: dict[str, str] = {}

    def root(m: re.Match[str]) -> str:
        name = f"llvm.sqrt.f{64 if m[2] == 'double' else 32}"
        declarations[name] = f"declare {m[2]} @{name}({m[2]})"
        return f"{m[1]}call {m[2]} @{name}({m[2]} {m[3]})"

    def called(m: re.Match[str]) -> str:
        start, returned, symbol, parameters, rest = m.groups()
        name = _name(symbol)
        form = _FORMS.get(name) or _FORMS.get(re.sub(r"f(?=_r$|$)", "", name))
        given = _PARAMETER.findall(parameters)
        if form is None or len(given) != len(form.taken):
            return m[0]
        for t in SUFFIXES:
            if body := written(form, returned, [kind for kind, _ in given], t):
                declarations.update(declared(body))
                body = re.sub(r"%(\d+)\b", lambda n: given[int(n[1])][1], body)
                return f"{start}{returned} @{symbol}({parameters}){rest}{body}}}\n"
        return m[0]

    return with_declarations(_ROOT.sub(root, _FUNCTION.sub(called, text)), declarations)


def _name(symbol: str) -> str:
    """The last part of a path: `_ZN4libm4math3erf3erf17h…E` is `erf`."""
    at, last = symbol.index("4libm4math"), ""
    while (m := _SEGMENT.search(symbol, at)) is not None:
        end = m.end() + int(m[1])
        if symbol[m.end() :].startswith("h") and m[1] == "17":  # the hash of the older mangling
            break
        last, at = symbol[m.end() : end], end
        if at < len(symbol) and not symbol[at].isdigit():
            break
    return last
