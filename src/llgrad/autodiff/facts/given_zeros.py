"""Zero derivatives that are *given*, and those that arithmetic may have *made*.

A derivative is given if it comes from a seed, from shadow memory that nothing computed is put into, or from absence
(no use, not chosen, inactive), through operations whose partials are constants or choices alone. On such a way a
derivative is zero only where the value does not change (a tangent) or nothing depends on it (an adjoint). A rule whose
partial is infinite or nan there contributes nothing. A derivative is made once a partial that varies was multiplied
in: its zero may be that of `2 * x` at 0, and the infinite partial of a root there is what IEEE arithmetic says.

Made is what can be reached in the graph of `analysis.activity.graph` from the operands (reverse mode: backwards) or the
results (forward mode) of rules that multiply. The graph has values one by one and memory by object, and one answer for
all calls of a function. In reverse mode there are two answers for the body of a function: the adjoint of its result is
given in some calls and made in others (`Request.made`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from llgrad.analysis.activity.graph import NUMBERS, Hub, Node, Result, has_rule, is_opaque
from llgrad.analysis.memory.call_effects import behaviour
from llgrad.analysis.solver import reach
from llgrad.autodiff.emit.expressions import is_choice
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.ir.floats import to_float
from llgrad.ir.types import FloatType, StructType, Type, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Binary,
    Call,
    Cast,
    ConstAggregate,
    ConstFloat,
    ConstInt,
    Function,
    Instruction,
    Load,
    Return,
    Store,
    Unary,
    Value,
)
from llgrad.rules import library
from llgrad.rules.expression import Const, Expr
from llgrad.rules.rule import Rule

FINITE = frozenset({
    "fadd", "fsub", "fmul", "fneg", "fma", "fmuladd", "fabs", "copysign", "fmax", "fmin", "fmaximum", "fminimum",
    "fmaximum_num", "fminimum_num", "sin", "cos", "tanh", "atan",
})  # fmt: skip
"""Rules whose results and partials are finite where their operands are (but for overflow)."""
STEEP = frozenset({
    "sqrt", "cbrt", "pow", "asin", "acos", "acosh", "csqrt", "casin", "cacos", "casinh", "cacosh", "cpow",
})  # fmt: skip
"""Rules whose results are finite where their partials are infinite."""
_LARGEST = 2.0**60  # of a literal factor: products of a few of these neither underflow nor overflow
_PLAIN = ("copy", "allocate")  # memory that is moved
_ROUNDED = ("half", "bfloat")  # their sums are rounded again, which may make zeros


class Made(Struct, frozen=True):
    """What derivatives may be made by arithmetic: in general, and where functions' results have given adjoints."""

    everywhere: Collection[Node]
    within: Collection[Node]

    def gives(self, v: AnyValue, made: bool = False) -> bool:
        """Is a zero derivative of `v` given? `made`: the adjoint of its function's result may be made."""
        t = scalar(v.type)
        if isinstance(t, FloatType) and t.name in _ROUNDED:
            return False
        return v not in (self.everywhere if made else self.within)

    def hands(self, facts: Facts, user: Instruction, v: AnyValue, made: bool = False) -> bool:
        """Is the adjoint given that a store, a return or a call hands back to `v`?"""
        among, t = self.everywhere if made else self.within, scalar(v.type)
        if isinstance(t, FloatType) and t.name in _ROUNDED:
            return False
        match user:
            case Store(value=x) if x is v:
                return all(o not in among for access in facts.memory.writes(user) for o in access.objects)
            case Return():
                assert user.block.function is not None
                return not made and Result(user.block.function) not in among
            case Call(arguments=arguments):
                callees, unknown = facts.callees(user)
                places = [k for k, x in enumerate(arguments) if x is v]
                if unknown or any(f.is_declaration or len(f.arguments) < len(arguments) for f in callees):
                    return False
                return bool(callees) and all(f.arguments[k] not in among for f in callees for k in places)
        return False


def made(facts: Facts) -> Made:
    """What arithmetic may have made of the derivatives of one request, in the whole program."""
    if facts.made is None:
        facts.made = _made(facts)
    found: Made = facts.made
    return found


def _made(facts: Facts) -> Made:
    if facts.checkpointed:  # steps are run by functions of which the graph knows nothing
        every = frozenset(v for f in facts.memory.functions for v in (*f.arguments, *f.instructions()))
        return Made(every, every)
    edges = facts.activity.edges(facts.reverse)

    def onwards(n: Node) -> Sequence[Node]:
        return edges.get(n, ())

    start = [NUMBERS, *_unknown(facts, edges), *_multiplied(facts)]
    everywhere = reach(start, onwards)
    if not facts.reverse:
        return Made(frozenset(everywhere), frozenset(everywhere))
    kept = [n for n in everywhere if not isinstance(n, Instruction | Result)]
    within = reach([*start, *kept], lambda n: [x for x in onwards(n) if not isinstance(x, Result)])
    return Made(frozenset(everywhere), frozenset(within))


def _unknown(facts: Facts, nodes: Collection[Node]) -> Iterator[Node]:
    """Calls of which no rule of llgrad's says what they multiply by."""
    for hub in (n for n in nodes if isinstance(n, Hub)):
        f = hub.call.called_function
        if f is None or has_rule(f) or not (facts.entry(hub.call) or behaviour(hub.call, f).kind in _PLAIN):
            yield hub


def _multiplied(facts: Facts) -> Iterator[Node]:
    """The operands of rules that multiply; in forward mode their results."""
    for i in (i for f in facts.memory.functions for i in f.instructions()):
        inexact = "fpext" if facts.reverse else "fptrunc"  # small ones become zero
        if isinstance(i, Cast) and i.opcode == inexact:
            yield i.value if facts.reverse else i
        rule = rule_of(facts, i)
        found = [i.operands[k] for k in _factors(i, rule)] if rule is not None else []
        if found and facts.reverse:
            yield from found
        elif found:
            yield Hub(i) if isinstance(i, Call) else i


def rule_of(facts: Facts, i: Instruction) -> Rule | None:
    """The rule of an instruction, if it has one."""
    if isinstance(i, Call):
        entry = facts.entry(i)
        return entry.rule if entry is not None else None
    return library.instruction(i.opcode) if isinstance(i, Binary | Unary) else None


def is_steep(facts: Facts, i: Instruction) -> bool:
    """Has an instruction a rule whose result is finite where a partial is infinite?"""
    entry = facts.entry(i) if isinstance(i, Call) else None
    return entry is not None and entry.rule.name in STEEP


def is_pole(facts: Facts, i: Instruction) -> bool:
    """May a partial be infinite or no number where the operands are finite?"""
    rule = rule_of(facts, i)
    return rule is not None and rule.name not in FINITE and bool(_factors(i, rule))


def is_variable(v: Alloca) -> bool:
    """Is it one float, which is loaded and stored, and of which nothing else has the address?"""
    if not (isinstance(v.allocated_type, FloatType) and v.allocated_type.name in ("float", "double")):
        return False
    return isinstance(v.count, ConstInt) and v.count.value == 1 and all(_is_plain_access(v, u) for u in v.users)


def _is_plain_access(v: Alloca, user: Value) -> bool:
    match user:
        case Load():
            return user.type == v.allocated_type
        case Store(value=x):
            return x is not v and x.type == v.allocated_type
        case Call(called_function=Function(name=name)):
            return name.startswith("llvm.lifetime.")
    return False


def is_pair(t: Type) -> bool:
    """Is it a complex number, or a struct of two results?"""
    fields = t.fields if isinstance(t, StructType) else None
    return fields is not None and len(fields) == 2 and all(isinstance(x, FloatType) for x in fields)


def is_told(facts: Facts, f: Function) -> bool:
    """Do notes go into a function and out of it (`Request.notes`)?

    Forwards it is told whether its arguments depend on what changes, and tells that of its result. Backwards it tells
    of its arguments whether they are used.
    """
    if f.is_declaration or has_rule(f) or is_opaque(f) or facts.checkpointed:
        return False
    floats = [a.type for a in f.arguments] + [f.function_type.result]
    return f in _told(facts) and any(isinstance(t, FloatType) for t in floats)


def are_told(facts: Facts, call: Call) -> bool:
    """Do notes go into a call, and out of it: into each function that it may reach?"""
    return bool(found := facts.callees(call)[0]) and all(is_told(facts, f) for f in found)


def _told(facts: Facts) -> Collection[Function]:
    """All functions, if there is a pole in one of them."""
    if facts.told is None:
        poles = any(is_pole(facts, i) and facts.active(i) for f in facts.memory.functions for i in f.instructions())
        facts.told = frozenset(facts.memory.functions) if poles else frozenset[Function]()
    found: Collection[Function] = facts.told
    return found


def _factors(i: Instruction, rule: Rule) -> list[int]:
    """The positions of the operands with a partial that varies."""
    pairs = isinstance(i, Call) and len(rule.operands) > len(i.arguments)  # in vectors
    if pairs:
        return [n // 2 for n in range(len(rule.operands)) if any(row[n] is not None for row in rule.partials)]
    columns = range(len(rule.operands))
    return [k for k in columns if any(p is not None and not is_plain(p, i.operands) for p in _column(rule, k))]


def _column(rule: Rule, k: int) -> list[Expr | None]:
    return [row[k] for row in rule.partials]


def is_plain(partial: Expr, operands: Sequence[AnyValue]) -> bool:
    """Is a partial derivative a constant of the program, or a choice?"""
    if isinstance(partial, Const) or is_choice(partial):
        return True
    return not partial.results() and all(_is_literal(operands[n]) for n in partial.operands())


def _is_literal(v: AnyValue) -> bool:
    match v:
        case ConstFloat(FloatType() as t, bits):
            return 1 / _LARGEST <= abs(to_float(t, bits)) <= _LARGEST
        case ConstAggregate(elements=elements):
            return all(map(_is_literal, elements))
        case ConstInt():
            return abs(v.signed) < 60
    return False


__all__ = [
    "FINITE", "STEEP", "Made", "are_told", "is_pair", "is_plain", "is_pole", "is_steep", "is_told", "is_variable",
    "made", "rule_of",
]  # fmt: skip
