"""Derivative rules as data: no IR, no LLVM in here.

`library.lookup` finds the rule of a function, `library.instruction` that of an opcode, `expression.evaluate` computes a
partial in any algebra, `library.symbol` names what generated code calls, `special_functions.body` gives what no library
has, `library.effects` knows what functions do besides computing. `docs/rules.md` is generated from the table.
"""

from .constants import exact, literal
from .expression import Algebra, Apply, Const, Expr, Operand, Result, evaluate
from .library import Allocator, Deallocator, Effects, Entry, call_format, effects, instruction, lookup, symbol
from .rule import Out, Rule
from .special_functions import body

__all__ = [
    "Algebra",
    "Allocator",
    "Apply",
    "Const",
    "Deallocator",
    "Effects",
    "Entry",
    "Expr",
    "Operand",
    "Out",
    "Result",
    "Rule",
    "body",
    "call_format",
    "effects",
    "evaluate",
    "exact",
    "instruction",
    "literal",
    "lookup",
    "symbol",
]
