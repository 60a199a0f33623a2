"""Inline assembly of one instruction: what SSE, AVX and FMA compute of packed floats, as operations of LLVM's.

`asm("maxpd %1, %0" : "+x"(a) : "x"(b))` is how Eigen compares packets where it takes the compiler for an old one
(clang calls itself GCC 4.2), and `vfmadd231pd` how it keeps a compiler from choosing another form. Operands are in
AT&T's order, the result last (Intel SDM, volume 2): `maxpd s, d` is `d > s ? d : s`, and `vmaxpd t, s, d` is
`s > t ? s : t`. Anything else stays as it is, and is refused where it carries an active float.
"""

from __future__ import annotations

import re

_CALL = re.compile(
    r'^(?P<space> +)(?P<name>%[-\w.$]+|%"[^"]*") = (?:(?:tail|notail) )?call (?:[^@<\n]* )?'
    r"(?P<type><\d+ x (?P<element>float|double)>) asm (?:sideeffect )?"
    r'"(?P<op>v?(?:max|min|add|sub|mul|div)|vfmadd(?:132|213|231))p(?P<format>[sd])\s+(?P<operands>(?:\$\d+, )+\$0)", '
    r'"=&?[xv](?P<said>(?:,[^",~]+)*)(?:,~[^"]*)?"\((?P<given>[^\n]*?)\)(?: #\d+)?'
    r"(?P<place>, !dbg !\d+)?(?:, ![^\n]*)?$",
    re.MULTILINE,
)
_CHOICES = {"max": "ogt", "min": "olt"}


def spelt(text: str) -> str:
    """The text with such assembly as operations."""
    if " asm " not in text:
        return text
    fused: set[str] = set()

    def edit(m: re.Match[str]) -> str:
        lines = _operation(m)
        if "@llvm.fma." in "".join(lines):
            fused.add(m["type"])
        return "\n".join(f"{m['space']}{line}{m['place'] or ''}" for line in lines) or m[0]

    text = _CALL.sub(edit, text)
    missing = [t for t in sorted(fused) if f"declare {t} @{_fma(t)}(" not in text]
    return "".join([text, *(f"declare {t} @{_fma(t)}({t}, {t}, {t})\n" for t in missing)])


def _operation(m: re.Match[str]) -> list[str]:
    """What stands for the call; nothing where it is not understood."""
    t, op = m["type"], m["op"]
    values, constraints = _values(m["given"], t), m["said"].split(",")[1:]
    if m["format"] != m["element"][0].replace("f", "s") or len(values) != len(constraints):
        return []
    known = {f"${n}": v for n, v in enumerate(values, 1)}
    for c, v in zip(constraints, values, strict=True):
        if c == "0":
            known["$0"] = v
        elif c not in ("x", "v"):
            return []
    *sources, target = m["operands"].split(", ")
    sources += [target] if op[0] != "v" or op.startswith("vf") else []
    if not known.keys() >= set(sources) or len(sources) != (3 if op.startswith("vf") else 2):
        return []
    return _result(m["name"], t, op, [known[s] for s in sources])


def _result(name: str, t: str, op: str, sources: list[str]) -> list[str]:
    """The instruction's result, of sources in AT&T's order."""
    if op.startswith("vf"):
        third, second, first = sources
        given = {"132": (first, third, second), "213": (second, first, third), "231": (second, third, first)}[op[-3:]]
        return [f"{name} = call {t} @{_fma(t)}({', '.join(f'{t} {v}' for v in given)})"]
    second, first = sources
    if (operation := op.removeprefix("v")) not in _CHOICES:
        return [f"{name} = f{operation} {t} {first}, {second}"]
    condition = f'%"{name.strip("%").strip(chr(34))}.first"'
    lanes = re.sub(r"(?:float|double)>", "i1>", t)
    return [
        f"{condition} = fcmp {_CHOICES[operation]} {t} {first}, {second}",
        f"{name} = select {lanes} {condition}, {t} {first}, {t} {second}",
    ]


def _fma(t: str) -> str:
    count, element = t.strip("<>").split(" x ")
    return f"llvm.fma.v{count}f{32 if element == 'float' else 64}"


def _values(given: str, t: str) -> list[str]:
    """The arguments, which all have this type."""
    found = re.split(rf"(?:^|, ){re.escape(t)} (?:noundef )?", given)
    return found[1:] if not found[0] else []
