"""A square root is never below zero: `fabs(sqrt(x))`, which LLVM makes of `pow(x, 0.5)`, is that root plus zero.

    a = fabs(sqrt(x))      →      a = sqrt(x) + 0.0

LLVM clears the sign for the root of -0.0 alone, which is -0.0, and so does the sum. The absolute value has derivative 0
at zero, where the power has an infinite slope.
"""

from __future__ import annotations

import re

_LOCAL = r'%(?:[-\w.$]+|"[^"\n]*")'
_FORMAT = r"(?:half|float|double|x86_fp80|fp128)"
_BODY = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_ROOT = re.compile(rf"^  ({_LOCAL}) = [^@\n]*call [^@\n]*@(?:llvm\.sqrt\.|sqrt[fl]?\()", re.MULTILINE)
_ABSOLUTE = re.compile(
    rf"^  ({_LOCAL}) = [^@\n]*call [^@\n]*?({_FORMAT}) @llvm\.fabs\.\w+\({_FORMAT} (?:noundef )?({_LOCAL})\)[^,\n]*",
    re.MULTILINE,
)
_ZERO = {"half": "0xH0000", "x86_fp80": f"0xK{'0' * 20}", "fp128": f"0xL{'0' * 32}"}


def rooted(text: str) -> str:
    """The text in which absolute values of square roots are sums with zero."""
    return _BODY.sub(lambda m: _rooted(m[0]), text) if "@llvm.fabs." in text and _ROOT.search(text) else text


def _rooted(body: str) -> str:
    roots = set(_ROOT.findall(body))

    def edit(m: re.Match[str]) -> str:
        return f"  {m[1]} = fadd {m[2]} {m[3]}, {_ZERO.get(m[2], '0.000000e+00')}" if m[3] in roots else m[0]

    return _ABSOLUTE.sub(edit, body) if roots else body
