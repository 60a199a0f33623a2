"""What flang does with the bits of floats, or leaves to its runtime, written as calls that have derivatives.

`nearest` is written out by flang as a sum of integers: here it is C's `nextafter`. What reads or draws
numbers is called by names of `runtime`'s, which has flang's runtime put them into memory of their own.
"""

from __future__ import annotations

import re

_NEAREST = re.compile(
    r"^(?P<kept> +(?P<up>%\S+) = add (?P<int>i\d+) (?P<bits>%\S+), 1\b.*\n"
    r" +(?P<down>%\S+) = sub (?P=int) (?P=bits), 1\b.*\n"
    r" +(?P<sum>%\S+) = select i1 (?P<away>%\S+), (?P=int) (?P=up), (?P=int) (?P=down)\b.*\n)"
    r" +(?P<made>%\S+) = bitcast (?P=int) (?P=sum) to (?P<float>double|float)(?P<end>.*)$",
    re.MULTILINE,
)
_READ = re.compile(r"@_FortranAio(Input(?:Real32|Real64|Complex32|Complex64|Descriptor))\(")
_SUFFIX = {"double": ("", "f64"), "float": ("f", "f32")}


def rewritten(text: str) -> str:
    """The module with these calls."""
    text = _READ.sub(r"@llgrad_\1(", text).replace("@_FortranARandomNumber(", "@llgrad_Drawn(")
    if not _NEAREST.search(text):
        return text
    parts = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    text = "".join(map(_with_nearest, parts))
    for t, (letter, suffix) in _SUFFIX.items():
        for name, given in ((f"nextafter{letter}", f"{t}, {t}"), (f"llvm.copysign.{suffix}", f"{t}, {t}")):
            if f"@{name}(" in text and not re.search(rf"^declare [^\n]*@{re.escape(name)}\(", text, re.MULTILINE):
                text += f"\ndeclare {t} @{name}({given})\n"
    return text


def _with_nearest(part: str) -> str:
    count = 0
    while (m := _NEAREST.search(part)) is not None:
        t, made = m["float"], m["made"]
        letter, suffix = _SUFFIX[t]
        of = re.search(rf"^ +{re.escape(m['bits'])} = bitcast {t} (\S+) to", part, re.MULTILINE)
        if of is None:
            return part
        x, at = of[1], f"%llgrad.near.{count}"
        lines = (
            f"  {at}.far = call {t} @llvm.copysign.{suffix}({t} 0x7FF0000000000000, {t} {x}){m['end']}\n"
            f"  {at}.to = select i1 {m['away']}, {t} {at}.far, {t} 0.000000e+00\n"
            f"  {made} = call {t} @nextafter{letter}({t} {x}, {t} {at}.to){m['end']}"
        )
        part = part[: m.end("kept")] + lines + part[m.end() :]
        part = _from_zero(part, made, f"call {t} @nextafter{letter}({t} {x}, {t} {{}}){m['end']}", f"{at}.zero")
        count += 1
    return part


def _from_zero(part: str, made: str, call: str, name: str) -> str:
    """What is nearest to zero was a constant: it is a call, too."""
    phi = re.search(rf"^ +%\S+ = phi \S+ [^\n]*\[ {re.escape(made)}, [^\n]*$", part, re.MULTILINE)
    least = re.search(r"\[ ([-\d][^,%]*), %([\w.]+) \]", phi[0]) if phi else None
    if phi is None or least is None:
        return part
    part = part[: phi.start()] + phi[0].replace(least[0], f"[ {name}, %{least[2]} ]") + part[phi.end() :]
    return re.sub(
        rf"^({re.escape(least[2])}:.*\n)", lambda b: f"{b[1]}  {name} = {call.format(least[1])}\n", part, count=1,
        flags=re.MULTILINE,
    )  # fmt: skip
