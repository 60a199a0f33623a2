"""Values whose adjoint may be zero only because nothing used them: what an optimiser computes ahead of a condition.

`b != 0 ? a / b : 0` is a division under a branch in C and, after LLVM, a division and a `select`: the division by zero
runs, and is not chosen. Its adjoint is zero then, its partials are infinite, and their product would be NaN where the
program that was written has derivative 0. The same holds for what was hoisted above a branch or out of a loop, and
for lanes of a vector that nobody reads. A zero adjoint of such a value is a strong zero: it stays zero, whatever it is
multiplied by. Values that are always used are not touched: there the derivative is what IEEE arithmetic says. Nor are
those whose partials are finite because their operands are: sums and products of what the program chose to compute.

But products may overflow, or be of what nobody has set. Where `select`s of the same block say when a value is used,
what is handed back from there to what is used at other times, too, is *cut*: it counts where the conditions hold. One
`select` a leaf of the expression does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from llgrad.analysis.flow import Flow
from llgrad.ir.build import const_float, const_int
from llgrad.ir.types import I32, FloatType, Type, VectorType
from llgrad.ir.values import (
    AnyValue,
    Call,
    Cast,
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
    Value,
)
from llgrad.rules.expression import Const
from llgrad.synthesis.facts import Facts
from llgrad.synthesis.needs import Effect, Partials, operand_parts

# Rules whose results and partials are finite where their operands are (but for overflow).
_FINITE = frozenset({
    "fadd", "fsub", "fmul", "fneg", "fma", "fmuladd", "fabs", "copysign", "fmax", "fmin", "fmaximum", "fminimum",
    "fmaximum_num", "fminimum_num", "sin", "cos", "tanh", "atan",
})  # fmt: skip


Path = frozenset[tuple[AnyValue, bool]]
_ALWAYS: frozenset[Path] = frozenset({frozenset()})
_MOST_PATHS = 4


class Cut(Struct, frozen=True):
    """What an instruction hands back to `operands` counts only if the conditions of one of the `paths` hold."""

    paths: tuple[tuple[tuple[AnyValue, bool], ...], ...]
    operands: frozenset[AnyValue]


def cuts(facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect]) -> dict[Instruction, Cut]:
    """Where adjoints are cut that may be no numbers, as they come from what was computed ahead and not chosen."""
    candidates, dirty = _speculated(facts, flow), set[AnyValue]()
    when: dict[AnyValue, frozenset[Path]] = {}
    found: dict[Instruction, Cut] = {}
    for i in (i for b in flow.order for i in reversed(b.instructions) if i in candidates):
        users = [u for u in dict.fromkeys(i.users) if facts.active(u)]
        if _hands_back(i, effects.get(i)):
            when[i] = _when(i, users, when)
        if any(when.get(u, _ALWAYS) != _ALWAYS and (u in dirty or _multiplies(u, i, effects)) for u in users):
            dirty.add(i)
    for i, paths in ((i, when[i]) for i in candidates if i in when):
        operands = [i.pointer] if isinstance(i, Load) else [o for o in dict.fromkeys(i.operands) if facts.active(o)]
        other = {o for o in operands if i in dirty or _multiplies(i, o, effects)}
        other = {o for o in other if not _implies(when.get(o, _ALWAYS), paths)}
        lanes = any(isinstance(c.type, VectorType) for path in paths for c, _ in path)
        if other and paths != _ALWAYS and not (lanes and any(_count(o.type) != _count(i.type) for o in other)):
            found[i] = Cut(tuple(sorted((tuple(p) for p in paths), key=len)), frozenset(other))
    return found


def _hands_back(i: Instruction, effect: Effect | None) -> bool:
    """Does its reverse do no more than to hand adjoints back to its operands, or to memory?"""
    if isinstance(effect, Partials):
        return all(out.place == "return" for out in effect.rule.results)
    return isinstance(i, Load | Select) or isinstance(i, Cast) and i.opcode in ("fpext", "fptrunc")


def _when(i: Instruction, users: Sequence[Value], when: Mapping[AnyValue, frozenset[Path]]) -> frozenset[Path]:
    """The conditions under which a value is used, of which each path is one list."""
    paths: set[Path] = set()
    for u in users:
        if not isinstance(u, Instruction) or u.block is not i.block or _count(u.type) != _count(i.type):
            return _ALWAYS
        after = when.get(u, _ALWAYS)
        if isinstance(u, Select):
            if isinstance(u.condition.type, VectorType) and not isinstance(i.type, VectorType):
                return _ALWAYS
            sides = [(u.condition, side) for side, v in ((True, u.if_true), (False, u.if_false)) if v is i]
            paths |= {path | {side} for path in after for side in sides}
        elif u in when:
            paths |= after
        else:
            return _ALWAYS
    kinds = {c.type for path in paths for c, _ in path}
    several = len(paths) > 1 and len(kinds) > 1  # a truth value and a vector of such
    return _ALWAYS if not paths or several or len(paths) > _MOST_PATHS or frozenset() in paths else frozenset(paths)


def _multiplies(i: AnyValue, operand: AnyValue, effects: Mapping[Instruction, Effect]) -> bool:
    """Is the partial derivative by an operand anything but a constant?"""
    effect = effects.get(i) if isinstance(i, Instruction) else None
    if not isinstance(effect, Partials) or not isinstance(i, Instruction):
        return False
    places = [k for k, (v, _) in enumerate(operand_parts(i, effect.rule, effect.entry)) if v is operand]
    return any(not isinstance(row[k], Const) for row in effect.rule.partials for k in places if row[k] is not None)


def _implies(inner: frozenset[Path], outer: frozenset[Path]) -> bool:
    """Does one of the `outer` paths hold wherever one of the `inner` does?"""
    return all(any(q <= p for q in outer) for p in inner)


def _count(t: Type) -> int:
    return t.count if isinstance(t, VectorType) else 0


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
