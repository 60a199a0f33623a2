"""Recurrences whose reverse calls functions of libm: what these give is computed ahead, in a loop of its own.

An integrator's step (`speed += h * f(angle)`) goes back from iteration to iteration: its adjoints are a recurrence,
which is not vectorised, and so neither is the `cos(angle)` that it takes. But the cosine depends on kept values alone.
Such a loop goes back in strips of iterations: one loop over the strip, which is vectorised, computes what the reverse
of each iteration needs of libm, into columns on the stack; then the strip is run backwards. What a loop computes so
costs little: `sin(angle)` is computed again rather than kept.

This pays where the vector versions of functions may be called (`Request.vector_math`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import Effect, Key, Partials
from llgrad.autodiff.fusion.fusion import carriers
from llgrad.ir.types import is_float
from llgrad.ir.values import Call, Function, Instruction

STRIP = 64  # iterations; a power of two
COST = 8  # of a function, for the cut: less than that of keeping a number
_INSTRUCTIONS = frozenset({"fabs", "copysign", "sqrt", "floor", "ceil", "trunc"})
Factor = tuple[Instruction, int, int]
"""Of the rule of an instruction: the partial derivative of a result by an operand."""


class Ahead(Struct, frozen=True):
    """What is computed ahead for a loop: values of the primal, and partial derivatives."""

    values: tuple[Instruction, ...]
    factors: tuple[Factor, ...]

    @property
    def items(self) -> list[Instruction | Factor]:
        return [*self.values, *self.factors]

    def __str__(self) -> str:
        return ", ".join([*(f"%{v.name}" for v in self.values), *(f"partial of %{f[0].name}" for f in self.factors)])


def recurrences(facts: Facts, function: Function, flow: Flow, loops: Collection[Loop]) -> frozenset[Loop]:
    """Innermost loops of one block, of known count, whose adjoints go from iteration to iteration."""
    if not facts.vector_math:
        return frozenset()
    simple = (x for x in loops if not x.children and len(x.order) == 1 and facts.loop(function, x).count is not None)
    return frozenset(x for x in simple if any(facts.active(p) and carriers(x, p) is None for p in x.header.phis()))


def ahead(
    facts: Facts, effects: Mapping[Instruction, Effect], recomputed: Collection[Key],
    handed: Collection[Instruction], loop: Loop,
) -> Ahead | None:  # fmt: skip
    """What of libm the reverse of an iteration needs; None where that is nothing."""
    inside = loop.header.instructions
    computed = (i for i in inside if ("primal", i) in recomputed and i not in handed)
    values = tuple(i for i in computed if isinstance(i, Call) and _is_call(facts, i))
    factors = tuple(f for i in inside for f in _factors(facts, i, effects.get(i)))
    return Ahead(values, factors) if values or factors else None


def _is_call(facts: Facts, i: Call) -> bool:
    """Does it take a function of libm to compute it?"""
    entry = facts.entry(i)
    name = i.called_function.name if i.called_function is not None else ""
    plain = name.split(".")[1] if name.startswith("llvm.") else name
    return entry is not None and is_float(i.type) and plain not in _INSTRUCTIONS | {"fmuladd", "fma"}


def _factors(facts: Facts, i: Instruction, e: Effect | None) -> Iterator[Factor]:
    if not isinstance(e, Partials) or not is_float(i.type):
        return
    for r, row in enumerate(e.rule.partials):
        for k, partial in enumerate(row):
            calls = partial is not None and bool(partial.functions() - _INSTRUCTIONS)
            asked = e.rule.operands[k] == "float" and e.rule.results[r].place == "return"
            if calls and asked and facts.active(i.operands[k]):
                yield i, r, k
