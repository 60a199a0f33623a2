"""Values whose adjoint may be zero only because nothing used them: what an optimiser computes ahead of a condition.

`b != 0 ? a / b : 0` is a division under a branch in C and, after LLVM, a division and a `select`: the division by zero
runs, and is not chosen. Its adjoint is zero then, its partials are infinite, and their product would be NaN where the
program that was written has derivative 0. The same holds for what was hoisted above a branch or out of a loop, and
for lanes of a vector that nobody reads. A zero adjoint of such a value is a strong zero: it stays zero, whatever it is
multiplied by. Values that are always used are not touched: there the derivative is what IEEE arithmetic says. Nor are
those whose partials are finite because their operands are: sums and products of what the program chose to compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from llgrad.analysis.flow import Flow
from llgrad.ir.build import const_float, const_int
from llgrad.ir.types import I32, FloatType, VectorType
from llgrad.ir.values import (
    AnyValue,
    Call,
    ConstAggregate,
    ConstInt,
    ExtractElement,
    Function,
    Instruction,
    Load,
    Phi,
    Select,
    ShuffleVector,
    Undef,
)
from llgrad.synthesis.facts import Facts
from llgrad.synthesis.needs import Effect, Partials

# Rules whose results and partials are finite where their operands are (but for overflow).
_FINITE = frozenset({
    "fadd", "fsub", "fmul", "fneg", "fma", "fmuladd", "fabs", "copysign", "fmax", "fmin", "fmaximum", "fminimum",
    "fmaximum_num", "fminimum_num", "sin", "cos", "tanh", "atan",
})  # fmt: skip


def strong_zeros(facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect]) -> frozenset[Instruction]:
    """The instructions whose zero adjoint may meet a partial that is infinite or no number, for no fault of theirs."""
    candidates = _speculated(facts, flow)
    wild: set[AnyValue] = set()
    if flow.function.attribute("llgrad.checkpoint") is not None:  # what was computed before the loop
        wild.update(flow.function.arguments)
    for i in (i for b in flow.order for i in b.instructions if i in candidates):
        rule = effects.get(i)
        chosen = isinstance(i, (Phi, Select, Load))  # what the program runs into, whoever computed it
        pole = isinstance(rule, Partials) and rule.rule.name not in _FINITE
        if pole or not chosen and any(o in wild for o in i.operands):
            wild.add(i)
    return frozenset(i for i in wild if isinstance(i, Instruction))


def _speculated(facts: Facts, flow: Flow) -> set[Instruction]:
    """The active instructions each of whose uses may not take place, or is by another of them."""
    active = [i for b in flow.order for i in b.instructions if facts.active(i)]
    found = set(active)
    work = [i for i in active if _used_for_certain(facts, flow, i, found)]
    while work:
        i = work.pop()
        if i in found:
            found.remove(i)
            operands = [o for o in i.operands if isinstance(o, Instruction) and o in found]
            work += [o for o in operands if _used_for_certain(facts, flow, o, found)]
    return found


def _used_for_certain(facts: Facts, flow: Flow, i: Instruction, candidates: set[Instruction]) -> bool:
    """Is there a use outside of `candidates` that follows whenever `i` is executed? (A phi uses at the edge.)"""
    lanes: set[int] = set()
    for u in i.users:
        if u in candidates or not (facts.active(u) or u.opcode in ("store", "ret", "call", "invoke")):
            continue
        match u:
            case Select():
                continue
            case Call() if (f := u.called_function) is not None and f.attribute("llgrad.checkpoint") is not None:
                continue  # a loop made a function, which may use it under conditions only
            case ExtractElement(index=ConstInt(value=n)):
                lanes.add(n)
                continue
            case ShuffleVector(lhs=a, mask=mask):
                first = a.type.count  # type: ignore[attr-defined]
                lanes |= {n % first for n in mask if n >= 0 and u.operands[n >= first] is i}
                continue
            case Phi():
                places = [block for value, block in u.incoming() if value is i]
            case _:
                places = [u.block]
        if any(flow.postdominates(p, i.block) for p in places):
            return True
    return isinstance(i.type, VectorType) and len(lanes) >= i.type.count


def define_lanes(functions: Iterable[Function]) -> None:
    """Give the undefined lanes of float vectors a value, which LLVM allows: poison times a zero adjoint is poison."""
    for i in (i for f in functions for i in f.instructions()):
        for n, v in enumerate(i.operands):
            defined = _defined(v)
            if defined is not v:
                i.set_operand(n, defined)
        if isinstance(i, ShuffleVector) and -1 in i.mask and not _is_scalable(i):
            i.mask = tuple(max(n, 0) for n in i.mask)
            i.mask_constant = ConstAggregate(VectorType(I32, len(i.mask)), tuple(const_int(I32, n) for n in i.mask))


def _is_scalable(i: Instruction) -> bool:
    return isinstance(i.type, VectorType) and i.type.scalable


def _defined(v: AnyValue) -> AnyValue:
    if not isinstance(v.type, VectorType) or not isinstance(v.type.element, FloatType) or v.type.scalable:
        return v
    half = const_float(v.type.element, Fraction(1, 2))  # no rule has a pole there
    match v:
        case Undef():
            return ConstAggregate(v.type, (half,) * v.type.count)
        case ConstAggregate(elements=elements) if any(isinstance(e, Undef) for e in elements):
            return ConstAggregate(v.type, tuple(half if isinstance(e, Undef) else e for e in elements))
    return v
