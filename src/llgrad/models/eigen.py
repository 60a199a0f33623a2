"""Functions of Eigen's packets, which take floats apart to their exponents, are those of the numbers in them.

`plog_double` and its like compute by polynomials what they cut out of the bits of a vector: nothing has a derivative
through that. What they compute is known by their names, as libm's is (`Eigen/src/Core/arch/Default/
GenericPacketMathFunctions.h`), so they get bodies that call LLVM's intrinsics; values differ in the last place.
"""

from __future__ import annotations

import re

_MEANT = {
    "plog_float": "log", "plog_double": "log", "plog2_float": "log2", "plog2_double": "log2",
    "pexp_float": "exp", "pexp_double": "exp", "psin_float": "sin", "pcos_float": "cos",
}  # fmt: skip
_DEFINED = re.compile(
    r"^(?P<head>define (?:[^@\n]* )?(?P<type><(?P<count>\d+) x (?P<element>float|double)>) "
    r"@_ZN5Eigen8internal\d+(?P<name>p[a-z0-9]+_(?:float|double))IDv\d+_[fd]EET_(?P<by>RK|)S\d_"
    r"\((?:(?P=type)|ptr)[^%\n]*(?P<given>%[-\w.$]+)\)[^\n]*\{\n).*?^\}\n",
    re.MULTILINE | re.DOTALL,
)


def known(text: str) -> str:
    """The text with such bodies."""
    if "@_ZN5Eigen8internal" not in text:
        return text
    used: dict[str, str] = {}

    def edit(m: re.Match[str]) -> str:
        if m["name"] not in _MEANT or not m["name"].endswith(m["element"]):
            return m[0]
        t, intrinsic = m["type"], f"@llvm.{_MEANT[m['name']]}.v{m['count']}f{32 if m['element'] == 'float' else 64}"
        used[intrinsic] = f"declare {t} {intrinsic}({t})\n"
        load = f"  %x = load {t}, ptr {m['given']}\n" if m["by"] else ""
        given = "%x" if m["by"] else m["given"]
        return f"{m['head']}{load}  %r = call {t} {intrinsic}({t} {given})\n  ret {t} %r\n}}\n"

    text = _DEFINED.sub(edit, text)
    return "".join([text, *(line for line in used.values() if line.strip() not in text)])
