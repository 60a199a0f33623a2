"""Values whose tangent may be zero because the program, or a rule, has left what depends on the input.

`y = x > 0 ? x : 0` and `fmax(x, 0)` have no tangent where they are zero, and so `sqrt(y)` has none, although the
slope of the root is infinite there: of zero times infinity IEEE arithmetic makes NaN. Reverse mode leaves the infinite
adjoint where it leaves the operand; forward mode has to know what the zero means. A zero that comes from the input
alone (`sqrt(x * x)` at 0) is not such: the root has no derivative there.

What may be left is followed along values, through variables of the function's own, and into and out of calls.
"""

from __future__ import annotations

from llgrad.analysis.solver import reach
from llgrad.ir.values import Alloca, AnyValue, Call, Function, Instruction, Load, Phi, Select, Store
from llgrad.synthesis.emit import is_choice
from llgrad.synthesis.facts import Facts

STEEP = frozenset({
    "sqrt", "cbrt", "pow", "asin", "acos", "acosh", "csqrt", "casin", "cacos", "casinh", "cacosh", "cpow",
})  # fmt: skip
"""Rules whose results are finite where their partials are infinite."""


def left(facts: Facts, function: Function) -> frozenset[AnyValue]:
    """The values of `function` whose tangent may be zero for that."""
    active = [i for i in function.instructions() if facts.active(i)]
    if not any(_is_steep(facts, i) for i in active):
        return frozenset()
    start: list[AnyValue] = [i for i in active if _leaves(facts, i)]
    if function is not facts.root:
        start += function.arguments
    return frozenset(reach(start, _onwards))


def _is_steep(facts: Facts, i: Instruction) -> bool:
    entry = facts.entry(i) if isinstance(i, Call) else None
    return entry is not None and entry.rule.name in STEEP


def _leaves(facts: Facts, i: Instruction) -> bool:
    """Is `i` perhaps what does not depend on the input? A callee may return that, a place that is chosen hold it."""
    match i:
        case Select(_, a, b):
            return not (facts.active(a) and facts.active(b))
        case Phi():
            return not all(map(facts.active, i.operands))
        case Load(Alloca() as variable):
            stored = [u.value for u in variable.users if isinstance(u, Store) and u.pointer is variable]
            return not all(map(facts.active, stored))
        case Load(pointer):
            return isinstance(pointer, Phi | Select | Call)
    if not isinstance(i, Call) or (entry := facts.entry(i)) is None:
        return isinstance(i, Call)
    return any(is_choice(p) for row in entry.rule.partials for p in row if p is not None)


def _onwards(v: AnyValue) -> list[AnyValue]:
    """What is made of `v`."""
    found: list[AnyValue] = []
    for u in v.users:
        if isinstance(u, Store) and u.value is v and isinstance(u.pointer, Alloca):
            found += [x for x in u.pointer.users if isinstance(x, Load)]
        elif isinstance(u, Instruction):
            found.append(u)
    return found
