"""Equality tests of floats, hidden from an optimiser.

Decision 4 of the design: `if (x == 3.0) return x * x;` loses its derivative when an optimiser puts the constant in. So
the operands of floating-point equality tests pass through opaque calls (`hide`) until optimisation is done (`reveal`).
"""

from __future__ import annotations

import re

from llgrad.backend import LLVMModule
from llgrad.brackets import listed

_HIDE = "llgrad.hide."
_FLOAT = r"(?:half|bfloat|float|double|x86_fp80|fp128|ppc_fp128)"
_EQUALITY = re.compile(rf"^( *%[^=\n]+ = fcmp (?:[a-z]+ )*?(?:oeq|one|ueq|une)) ({_FLOAT}|<[^>]*>) (?=\S)")


def hide(text: str) -> str:
    """Pass both operands of every `==` and `!=` on floats through an opaque call, unless one is zero.

    (Comparing with zero tells nothing about a float's bits, so no optimiser puts the zero in.)
    """
    count, lines = 0, []
    used: dict[str, str] = {}
    for line in text.split("\n"):
        m = _EQUALITY.match(line)
        split = _operands(line[m.end() :]) if m else None
        if m is None or split is None or any(_is_zero(x) for x in split[:2]):
            lines.append(line)
            continue
        helper = used.setdefault(m[2], f"{_HIDE}{_mangled(m[2])}")
        names = [f"%llgrad.hidden.{count + n}" for n in (0, 1)]
        count += 2
        lines += [f"  {n} = call {m[2]} @{helper}({m[2]} {x})" for n, x in zip(names, split[:2], strict=True)]
        lines.append(f"{m[1]} {m[2]} {names[0]}, {names[1]}{split[2]}")
    attributes = "nocallback nofree nosync nounwind speculatable willreturn memory(none)"
    lines += [f"declare {t} @{helper}({t}) {attributes}" for t, helper in used.items()]
    return "\n".join(lines) + ("\n" if used else "")


def reveal(module: LLVMModule) -> None:
    """Undo `hide`: the opaque calls become their arguments."""
    declared = re.compile(rf"^declare [^@\n]*?({_FLOAT}|<[^>\n]*>) @({re.escape(_HIDE)}[\w.]+)\(", re.MULTILINE)
    found = declared.findall(module.text())
    if found:
        body = "define internal {0} @{1}({0} %x) alwaysinline {{\n  ret {0} %x\n}}\n"
        text = re.sub(rf"^declare [^\n]*@{re.escape(_HIDE)}[^\n]*$", "", module.text(), flags=re.MULTILINE)
        module.replace_text(text + "".join(body.format(t, name) for t, name in found))
        module.run(["always_inliner", "global_dce"])


def _operands(text: str) -> tuple[str, str, str] | None:
    """`%x, 3.0, !dbg !7` → (`%x`, `3.0`, `, !dbg !7`); None where it does not look like that."""
    parts, _ = listed(text)
    return (parts[0], parts[1], "".join(f", {part}" for part in parts[2:])) if len(parts) > 1 else None


def _is_zero(operand: str) -> bool:
    return operand == "zeroinitializer" or bool(re.fullmatch(r"-?0\.0+e\+00|0x[HKLRM]?0+", operand))


def _mangled(t: str) -> str:
    return re.sub(r"\W+", ".", t).strip(".")
