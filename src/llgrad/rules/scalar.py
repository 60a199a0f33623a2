"""Rules of LLVM's floating-point instructions, and of the intrinsics that have no counterpart in libm.

LangRef, "Binary Operations" and "Standard C/C++ Library Intrinsics". Casts between formats (fpext, fptrunc), copies,
shuffles and reductions are linear maps of structure, not of arithmetic; who handles structure handles them.
"""

from __future__ import annotations

from .expression import Const, Expr, eq, functions, integer, isub, select, sitofp
from .rule import PAIR, RETURN_INT, Out, Rule, flat, rule

powi, ldexp, rint = functions("powi ldexp rint")
PI = Const("pi")


def quotient(x: Expr, y: Expr, r: Expr) -> Expr:
    """The whole number n in r = x - n*y; exact where trunc(x/y) may be off by one."""
    return rint((x - r) / y)


def power_of_two(n: Expr) -> Expr:
    """2**n for an integer operand."""
    return ldexp(1, n)


INSTRUCTIONS: tuple[Rule, ...] = (
    rule("fneg", lambda x, r: -1),
    rule("fadd", lambda x, y, r: (1, 1)),
    rule("fsub", lambda x, y, r: (1, -1)),
    rule("fmul", lambda x, y, r: (y, x)),
    rule("fdiv", lambda x, y, r: (1 / y, -(r * (1 / y)))),  # one division for both; inf for subnormal y
    rule("frem", lambda x, y, r: (1, -quotient(x, y, r))),
)
"""By opcode; a C function may well be called `fadd`, so `library.lookup` does not look here."""

INTRINSICS: tuple[Rule, ...] = (
    rule("fmuladd", lambda x, y, z, r: (y, x, 1)),
    rule("canonicalize", lambda x, r: 1),
    rule("arithmetic.fence", lambda x, r: 1),
    rule("powi", lambda x, n, r: select(eq(sitofp(n), 0), 0, sitofp(n) * powi(x, isub(n, integer(1)))), "fi"),
    rule("llvm.sincos", lambda x, s, c: (c, -s), results=PAIR),
    rule("llvm.sincospi", lambda x, s, c: (PI * c, -(PI * s)), results=PAIR),
    rule("llvm.modf", lambda x, f, n: (1, None), results=PAIR),
    rule(
        "llvm.frexp",
        lambda x, m, e: power_of_two(isub(integer(0), e)),
        "f",
        (Out("return", "float", 0), Out("return", "int", 1)),
    ),
    flat("is.fpclass", "fi", RETURN_INT),
    flat("fptosi.sat", results=RETURN_INT),
    flat("fptoui.sat", results=RETURN_INT),
)
"""By intrinsic without `llvm.`, unless libm has a function of that name with other operands."""
