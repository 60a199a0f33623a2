"""Inline assembly of one instruction: what SSE, AVX and FMA compute of packed floats, as operations of LLVM's.

`asm("maxpd %1, %0" : "+x"(a) : "x"(b))` is how Eigen compares packets where it takes the compiler for an old one
(clang calls itself GCC 4.2), and `vfmadd231pd` how it keeps a compiler from choosing another form. Operands are in
AT&T's order, the result last (Intel SDM, volume 2): `maxpd s, d` is `d > s ? d : s`, and `vmaxpd t, s, d` is
`s > t ? s : t`. Anything else stays as it is, and is refused where it carries an active float.

    %m = call <2 x double> asm "maxpd $1, $0", "=x,x,0"(<2 x double> %s, <2 x double> %d)

                                                      →      %c = fcmp ogt <2 x double> %d, %s
                                                             %m = select <2 x i1> %c, <2 x double> %d, <2 x double> %s
"""

from __future__ import annotations

from llgrad.ir.build import Builder, declare
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, bodies, local_names, replaced
from llgrad.ir.types import FLOAT, VectorType
from llgrad.ir.values import AnyValue, Call, InlineAsm
from llgrad.transforms.intrinsics.asm_barriers import ASM, parts

_CHOICES = {"max": "ogt", "min": "olt"}
_TWO = frozenset(f"{v}{op}" for op in ("max", "min", "add", "sub", "mul", "div") for v in ("", "v"))
_FUSED = {"vfmadd132": (2, 0, 1), "vfmadd213": (1, 2, 0), "vfmadd231": (1, 0, 2)}
"""Which sources, in AT&T's order, are multiplied, and which is added."""


def spelt(module: Module) -> bool:
    """Make such assembly operations."""
    changed = False
    for f in bodies(module, ASM):
        names = local_names(f)
        for i in list(f.instructions()):
            if isinstance(i, Call) and isinstance(i.callee, InlineAsm) and i.opcode == "call":
                changed |= _is_operation(module, i, i.callee, before(i, names))
    return changed


def _is_operation(module: Module, c: Call, code: InlineAsm, b: Builder) -> bool:
    """Make the call an operation, if it is understood."""
    words, text, (result, *constraints) = parts(code)
    kind, _, given = text.partition(" ")
    op, format, operands = kind[:-2], kind[-2:], given.strip().split(", ")
    if words not in ("asm ", "asm sideeffect ") or (op not in _TWO and op not in _FUSED) or c.tail == "musttail":
        return False
    if not isinstance(c.type, VectorType) or format != ("ps" if c.type.element == FLOAT else "pd"):
        return False
    if result not in ("=x", "=v", "=&x", "=&v") or operands[-1] != "$0":
        return False
    sources = _sources(c, [s for s in constraints if not s.startswith("~")], op, operands)
    if sources is None:
        return False
    made = _result(module, b, op, sources)
    replaced(c, made)
    return True


def _sources(c: Call, constraints: list[str], op: str, operands: list[str]) -> list[AnyValue] | None:
    """What the instruction computes of, in AT&T's order."""
    if c.arity != len(constraints) or any(v.type != c.type for v in c.arguments):
        return None
    if not {"0", "x", "v"}.issuperset(constraints):
        return None
    known = {f"${n}": v for n, v in enumerate(c.arguments, 1)}
    if "0" in constraints:
        known["$0"] = c.arguments[constraints.index("0")]
    reads = operands if op[0] != "v" or op in _FUSED else operands[:-1]
    if not known.keys() >= set(reads) or len(reads) != (3 if op in _FUSED else 2):
        return None
    return [known[s] for s in reads]


def _result(module: Module, b: Builder, op: str, sources: list[AnyValue]) -> AnyValue:
    """The instruction's result, of sources in AT&T's order."""
    t = sources[0].type
    assert isinstance(t, VectorType)
    if op in _FUSED:
        fma = declare(module, f"llvm.fma.v{t.count}f{32 if t.element == FLOAT else 64}", t, [t, t, t])
        return b.call(fma, [sources[n] for n in _FUSED[op]], "llgrad.asm")
    second, first = sources
    if (operation := op.removeprefix("v")) not in _CHOICES:
        return b.binary(f"f{operation}", first, second, "llgrad.asm")
    return b.select(b.fcmp(_CHOICES[operation], first, second), first, second, "llgrad.asm")


__all__ = ["spelt"]
