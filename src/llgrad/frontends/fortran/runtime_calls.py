"""What flang does with the bits of floats, or leaves to its runtime, written as calls that have derivatives.

`nearest` is written out by flang as a sum of integers: here it is C's `nextafter`. What reads or draws
numbers is called by names of `runtime`'s, which has flang's runtime put them into memory of their own. And what flang
says of numbers that is not so is left out: `cshift` by a negative number is counted from a negative remainder, to which
flang 22 adds the extent "without unsigned overflow", so that LLVM may take anything for the sum (programs that flang
itself compiles at -O2 read outside of the array).
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
_REMAINDER = re.compile(r"^ +(%\S+) = srem i\d+ ", re.MULTILINE)
_READ = re.compile(r"@_FortranAio(Input(?:Real32|Real64|Complex32|Complex64|Descriptor))\(")
_SUFFIX = {"double": ("", "f64"), "float": ("f", "f32")}


def rewritten(text: str) -> str:
    """The module with these calls."""
    text = _READ.sub(r"@llgrad_\1(", text).replace("@_FortranARandomNumber(", "@llgrad_Drawn(")
    text = text.replace("@_FortranAEtime(", "@llgrad_Etime(")
    nearest, remainders = _NEAREST.search(text), "= srem i" in text
    if not nearest and not remainders:
        return text
    parts = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    text = "".join(_with_nearest(_with_signs(part)) for part in parts)
    if not nearest:
        return text
    for t, (letter, suffix) in _SUFFIX.items():
        for name, given in ((f"nextafter{letter}", f"{t}, {t}"), (f"llvm.copysign.{suffix}", f"{t}, {t}")):
            if f"@{name}(" in text and not re.search(rf"^declare [^\n]*@{re.escape(name)}\(", text, re.MULTILINE):
                text += f"\ndeclare {t} @{name}({given})\n"
    return text


def _with_signs(part: str) -> str:
    """Sums of a remainder, which may be negative, and something: unsigned, they overflow."""
    names = "|".join(map(re.escape, _REMAINDER.findall(part)))
    return re.sub(rf"= add nuw (?=(?:nsw )?i\d+ (?:{names}),)", "= add ", part) if names else part


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
