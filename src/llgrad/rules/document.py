"""`docs/rules.md`, generated from the table: `python -m llgrad.rules.document > docs/rules.md`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from fractions import Fraction

from . import complex_functions, libm, rule, scalar
from .expression import Expr, evaluate
from .rule import Rule

SECTIONS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("LLVM instructions", scalar.INSTRUCTIONS),
    ("LLVM intrinsics without a counterpart in libm", scalar.INTRINSICS),
    ("Exponential, logarithm, powers", libm.ELEMENTARY),
    ("Trigonometric and hyperbolic", libm.TRIGONOMETRIC),
    ("Special functions", libm.SPECIAL),
    ("Choices", libm.CHOICES),
    ("Parts of a number", libm.PARTS),
    ("Piecewise constant", libm.FLAT),
    ("Complex, as real and imaginary parts", complex_functions.RULES),
)

_INFIX = {
    **{"or": (-1, " or ", -1, -1), "and": (-1, " and ", -1, -1)},
    **{"oeq": (0, " = ", 1, 1), "one": (0, " ≠ ", 1, 1), "olt": (0, " < ", 1, 1), "ole": (0, " ≤ ", 1, 1)},
    **{"ogt": (0, " > ", 1, 1), "oge": (0, " ≥ ", 1, 1)},
    **{"fadd": (1, " + ", 1, 1), "fsub": (1, " - ", 1, 2), "iadd": (1, " + ", 1, 1), "isub": (1, " - ", 1, 2)},
    **{"fdiv": (2, "/", 3, 4), "fmul": (3, "·", 3, 3)},
}
"""Operation: how strongly it binds, its sign, and how strongly its left and right operand must bind."""
_ATOM = 9


class _Text:
    """The algebra of formulas: (text, how strongly its outermost operator binds)."""

    def const(self, value: Fraction | str) -> tuple[str, int]:
        return str(value), _ATOM if str(value).isalnum() else 2

    def apply(self, op: str, args: Sequence[tuple[str, int]]) -> tuple[str, int]:
        texts = [text for text, _ in args]
        if op in _INFIX:
            level, sign, left, right = _INFIX[op]
            return f"{_within(args[0], left)}{sign}{_within(args[1], right)}", level
        match op:
            case "fneg":
                return f"-{_within(args[0], 2)}", 1
            case "sitofp" | "fptosi":
                return args[0]
            case "not":
                return f"not {_within(args[0], 0)}", 0
            case "uno":
                return f"{texts[0]} is nan" if texts[0] == texts[1] else f"{texts[0]} or {texts[1]} is nan", 0
            case "select":
                return f"({texts[1]} if {texts[0]} else {texts[2]})", _ATOM
        return f"{op}({', '.join(texts)})", _ATOM


def _within(item: tuple[str, int], level: int) -> str:
    return item[0] if item[1] >= level else f"({item[0]})"


def formula(expr: Expr | None, names: Sequence[str], operands: int) -> str:
    """An expression as mathematics; 0 for no dependence."""
    if expr is None:
        return "0"
    atoms = [(name, _ATOM) for name in names]
    return evaluate(expr, atoms[:operands], atoms[operands:], _Text())[0]


def row(item: Rule) -> str:
    """The table row of a rule."""
    count = len(item.operands)
    names, results = item.names[:count], item.names[count:]
    lines = []
    for out, result, partials in zip(item.results, results, item.partials, strict=True):
        if out.kind == "int":
            lines.append(f"{result} is an integer")
            continue
        for name, kind, partial in zip(names, item.operands, partials, strict=True):
            if kind == "float":
                lines.append(f"∂{result}/∂{name} = `{formula(partial, item.names, count)}`")
    shown = ", ".join(results) if len(results) > 1 else results[0]
    return f"| `{item.name}` | {shown} = {item.name}({', '.join(names)}) | {'<br>'.join(lines)} |"


def page() -> str:
    """The whole page."""
    convention = inspect.getdoc(rule) or ""
    lines = [
        "# Derivative rules",
        "",
        "Generated from `llgrad.rules` by `python -m llgrad.rules.document`; a test holds the two together.",
        "Every rule holds for all formats (half … fp128), all names of its family (`sin`, `sinf`, `sinl`,",
        "`llvm.sin.*`) and vectors of them. p and q are pointers through which results are stored. An integer",
        "result has no derivative.",
        "",
        "```text",
        convention,
        "```",
        "",
    ]
    for title, rules in SECTIONS:
        lines += [f"## {title}", "", "| rule | operation | partial derivatives |", "|---|---|---|"]
        lines += [row(item) for item in rules]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
