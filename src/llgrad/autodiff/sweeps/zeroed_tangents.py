"""Values whose tangent may be zero because the program, or a rule, has left what depends on the input.

`y = x > 0 ? x : 0` and `fmax(x, 0)` have no tangent where they are zero, and so `sqrt(y)` has none, although the
slope of the root is infinite there: of zero times infinity IEEE arithmetic makes NaN. Reverse mode leaves the infinite
adjoint where it leaves the operand; forward mode has to know what the zero means. A zero that comes from the input
alone (`sqrt(x * x)` at 0) is not such: the root has no derivative there.

What may be left is followed along values, through variables of the function's own, and into and out of calls. What a
branch chooses between may be either: the sum of a loop that perhaps never runs counts as left.

Within a function the derivative notes as it runs whether a value depends on what changes (`noted`): `x * x` at 0 does,
`fmax(x, 1)` does not, and the tangents of both are zero. The notes begin where a zero tangent can be believed: where it
is given (`given_zeros`), and where what comes from memory or calls may be left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from llgrad.analysis.solver import reach
from llgrad.autodiff.emit.expressions import is_choice
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.given_zeros import are_told, is_pair, is_pole, is_variable, made, rule_of
from llgrad.autodiff.facts.reverse_uses import operand_parts
from llgrad.ir.types import FloatType, VectorType, is_float, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Call,
    ExtractValue,
    Function,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Value,
)
from llgrad.rules.expression import Expr


def left(facts: Facts) -> frozenset[AnyValue]:
    """The values of all functions whose tangent may be zero for that."""
    if facts.left is None:
        active = [i for f in facts.memory.functions for i in f.instructions() if facts.active(i)]
        steep = any(is_pole(facts, i) for i in active)
        start: list[AnyValue] = [i for i in active if _leaves(facts, i)] if steep else []
        facts.left = frozenset(reach(start, lambda v: _onwards(facts, v)))
    found: frozenset[AnyValue] = facts.left
    return found


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


class Notes(Struct, frozen=True):
    """The values of which it is noted whether they depend on what changes: by their tangents, or by their operands.

    `told`: the leaves whose note comes along: arguments of a function that is told, and results of such.
    """

    leaves: frozenset[AnyValue]
    steps: frozenset[Instruction]
    told: frozenset[AnyValue] = frozenset()

    def __contains__(self, v: AnyValue) -> bool:
        return v in self.leaves or v in self.steps


def noted(facts: Facts, function: Function, is_told_itself: bool) -> Notes:
    """What is noted in a function, so that its poles know what a zero tangent means; other values do depend."""
    start: list[AnyValue] = []
    for i in function.instructions():
        asks = isinstance(i, Call) and are_told(facts, i) or facts.active(i) and is_pole(facts, i)
        if asks or is_told_itself and isinstance(i, Return):
            start += [v for v in (i.arguments if isinstance(i, Call) else i.operands) if facts.active(v)]
    start = [v for v in start if isinstance(scalar(v.type), FloatType)]
    if not start:
        return Notes(frozenset(), frozenset())
    every = reach(start, lambda v: _computed_from(facts, v))
    steps = {v for v in every if isinstance(v, Instruction) and _computed_from(facts, v)}
    believed = made(facts), left(facts)
    told = {
        v for v in every
        if isinstance(v, Argument) and is_told_itself
        or isinstance(v, Call) and v not in steps and are_told(facts, v)
    }  # fmt: skip
    told = {v for v in told if isinstance(v.type, FloatType)}
    leaves = {v for v in every if v not in steps and (v in told or believed[0].gives(v) or v in believed[1])}
    leaves = {v for v in leaves if isinstance(scalar(v.type), FloatType) and not _is_scalable(v)}
    work = [v for v in every if v not in steps and v not in leaves]
    while work:  # what surely depends
        v = work.pop()
        for u in (u for u in _takers(v) if u in steps and _depends(facts, u, steps, leaves)):
            assert isinstance(u, Instruction)
            steps.remove(u)
            work.append(u)
    return Notes(frozenset(leaves), frozenset(steps), frozenset(told))


def _takers(v: AnyValue) -> Iterator[Value]:
    """What uses a value, and what loads it from a variable."""
    for u in v.users:
        if isinstance(u, Store) and u.value is v and isinstance(u.pointer, Alloca) and is_variable(u.pointer):
            yield from (x for x in u.pointer.users if isinstance(x, Load))
        else:
            yield u


def _is_scalable(v: AnyValue) -> bool:
    return isinstance(v.type, VectorType) and v.type.scalable


def _computed_from(facts: Facts, v: AnyValue) -> list[AnyValue]:
    """The active operands of what is computed lane by lane; of a variable, what is stored in it."""
    if not isinstance(v, Instruction) or _is_scalable(v):
        return []
    if isinstance(v, Load) and isinstance(v.pointer, Alloca) and is_variable(v.pointer):
        return [u.value for u in v.pointer.users if isinstance(u, Store) and facts.active(u.value)]
    rule = rule_of(facts, v)
    if rule is not None:
        entry = facts.entry(v) if isinstance(v, Call) else None
        alike = (entry is None or entry.shape != "byval") and (is_pair(v.type) or is_float(v.type))
        if not alike or any(out.place != "return" or out.kind != "float" for out in rule.results):
            return []
        parts = operand_parts(v, rule, entry)
        if len(rule.results) == 1 and any(x.type != v.type and lane is None and kind == "float"
                                          for (x, lane), kind in zip(parts, rule.operands, strict=True)):  # fmt: skip
            return []
        return [x for k, (x, _) in enumerate(parts) if rule.depends_on(k) and facts.active(x)]
    part = isinstance(v, ExtractValue) and _computed_from(facts, v.operands[0])
    if not (part or isinstance(v, Phi | Select) or v.opcode in ("fpext", "fptrunc", "freeze")):
        return []
    if not isinstance(scalar(v.type), FloatType):
        return []
    return [x for x in v.operands if facts.active(x)]


def _depends(facts: Facts, i: Value, steps: Collection[AnyValue], leaves: Collection[AnyValue]) -> bool:
    """Does `i` surely depend on what changes, as its operands do?"""
    assert isinstance(i, Instruction)
    operands = i.operands[1:] if isinstance(i, Select) else i.operands
    if isinstance(i, Load):
        operands = [u.value for u in i.pointer.users if isinstance(u, Store)]
    sure = [facts.active(v) and v not in steps and v not in leaves for v in operands]
    if isinstance(i, Phi | Select | Load):
        return all(sure)
    rule = rule_of(facts, i)
    if rule is None:
        return any(sure)
    parts = operand_parts(i, rule, facts.entry(i) if isinstance(i, Call) else None)
    whole = [v for k, (v, _) in enumerate(parts) for row in rule.partials if _is_whole(row[k])]
    return any(facts.active(v) and v not in steps and v not in leaves for v in whole)


def _is_whole(partial: Expr | None) -> bool:
    """Is there a partial, which is no choice?"""
    return partial is not None and not is_choice(partial)


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


__all__ = ["Notes", "left", "noted"]
