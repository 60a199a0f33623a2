"""Values whose tangent may be zero because the program, or a rule, has left what depends on the input.

`y = x > 0 ? x : 0` and `fmax(x, 0)` have no tangent where they are zero, and so `sqrt(y)` has none, although the
slope of the root is infinite there: of zero times infinity IEEE arithmetic makes NaN. Reverse mode leaves the infinite
adjoint where it leaves the operand; forward mode has to know what the zero means. A zero that comes from the input
alone (`sqrt(x * x)` at 0) is not such: the root has no derivative there.

What may be left is followed along values, through variables of the function's own, and into and out of calls. What a
branch chooses between may be either: the sum of a loop that perhaps never runs counts as left.
"""

from __future__ import annotations

from llgrad.analysis.solver import reach
from llgrad.ir.values import Alloca, AnyValue, Call, Instruction, Load, Phi, Return, Select, Store
from llgrad.synthesis.emit import is_choice
from llgrad.synthesis.facts import Facts

STEEP = frozenset({
    "sqrt", "cbrt", "pow", "asin", "acos", "acosh", "csqrt", "casin", "cacos", "casinh", "cacosh", "cpow",
})  # fmt: skip
"""Rules whose results are finite where their partials are infinite."""


def left(facts: Facts) -> frozenset[AnyValue]:
    """The values of all functions whose tangent may be zero for that."""
    if facts.left is None:
        active = [i for f in facts.memory.functions for i in f.instructions() if facts.active(i)]
        steep = any(_is_steep(facts, i) for i in active)
        start: list[AnyValue] = [i for i in active if _leaves(facts, i)] if steep else []
        facts.left = frozenset(reach(start, lambda v: _onwards(facts, v)))
    found: frozenset[AnyValue] = facts.left
    return found


def _is_steep(facts: Facts, i: Instruction) -> bool:
    entry = facts.entry(i) if isinstance(i, Call) else None
    return entry is not None and entry.rule.name in STEEP


def _leaves(facts: Facts, i: Instruction) -> bool:
    """Is `i` perhaps what does not depend on the input? (What a loop begins with is taken for a sum's first term.)"""
    match i:
        case Select(_, a, b):
            return not (facts.active(a) and facts.active(b))
        case Phi():
            return _is_chosen(facts, i) and not all(map(facts.active, i.operands))
        case Load(Alloca() as variable):
            stored = [u.value for u in variable.users if isinstance(u, Store) and u.pointer is variable]
            return not all(map(facts.active, stored))
        case Load(Phi() as pointer):
            return _is_chosen(facts, pointer)
        case Load(pointer):
            return isinstance(pointer, Select)
    entry = facts.entry(i) if isinstance(i, Call) else None
    return entry is not None and any(is_choice(p) for row in entry.rule.partials for p in row if p is not None)


def _is_chosen(facts: Facts, phi: Phi) -> bool:
    """Does a branch choose, and no loop carry on?"""
    assert phi.block.function is not None
    loop = facts.flow(phi.block.function).loop_of(phi.block)
    return loop is None or loop.header is not phi.block


def _onwards(facts: Facts, v: AnyValue) -> list[AnyValue]:
    """What is made of `v`, in the functions that it is handed to and returned to, too."""
    found: list[AnyValue] = []
    for u in v.users:
        match u:
            case Store(value, Alloca() as variable) if value is v:
                found += [x for x in variable.users if isinstance(x, Load)]
            case Call() | Return() if taken := facts.memory.handed(v, u):
                found += taken
            case Instruction():
                found.append(u)
    return found


__all__ = ["STEEP", "left"]
