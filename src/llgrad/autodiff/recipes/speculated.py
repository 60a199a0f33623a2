"""Values whose adjoint may be zero only because nothing used them: what an optimiser computes ahead of a condition.

`b != 0 ? a / b : 0` is a division under a branch in C and, after LLVM, a division and a `select`: the division by zero
runs, and is not chosen. Its adjoint is zero then, its partials are infinite, and their product would be NaN where the
program that was written has derivative 0. The same holds for what was hoisted above a branch or out of a loop, and
for lanes of a vector that nobody reads, and for what `fmax` and its like leave. Where such a value is not used, it
contributes nothing, whatever its partials are. The reverse sweep notes as it runs whether it is used: `sqrt(x)` has
adjoint 0 at 0 where it is not chosen, and where `sqrt(x) * sqrt(x)` is; only the first says that nothing depends on it.
Values that are always used are not touched: there the derivative is what IEEE arithmetic says. Nor are
those whose partials are finite because their operands are: sums and products of what the program chose to compute.

What is stored in a variable that is not in a register (-O0) is used where the loads of the variable are.

Beside these are the values whose adjoints are given (`given`): zero, they say that nothing depends on the value. What
hands its adjoint on through a partial that varies (`sqrt(sqrt(x))`) is *chained*: its note comes from the given ones.

But products may overflow, or be of what nobody has set. Where `select`s of the same block say when a value is used,
what is handed back from there to what is used at other times, too, is *cut*: it counts where the conditions hold. One
`select` a leaf of the expression does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from llgrad.analysis.cfg.flow import Flow
from llgrad.analysis.solver import reach
from llgrad.autodiff.emit.expressions import is_choice
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.given_zeros import FINITE, are_told, is_pair, is_plain, is_steep, is_told, is_variable, made
from llgrad.autodiff.facts.reverse_uses import CallBody, Effect, Nothing, Partials, operand_parts
from llgrad.ir.build import const_float, const_int
from llgrad.ir.types import I32, FloatType, Type, VectorType, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Call,
    Cast,
    ConstAggregate,
    ConstInt,
    ExtractElement,
    Function,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Undef,
    Value,
)
from llgrad.rules.expression import Const

Path = frozenset[tuple[AnyValue, bool]]
_ALWAYS: frozenset[Path] = frozenset({frozenset()})
_MOST_PATHS = 4
Handed = frozenset[tuple[AnyValue, AnyValue]]


class Cut(Struct, frozen=True):
    """What an instruction hands back to `operands` counts only if the conditions of one of the `paths` hold."""

    paths: tuple[tuple[tuple[AnyValue, bool], ...], ...]
    operands: frozenset[AnyValue]


class Unused(Struct, frozen=True):
    """The instructions that contribute nothing where they are not used, or where nothing depends on them.

    `guarded`: of `candidates`, those whose partials may be infinite or nan; `tracked`: the values of which the reverse
    sweep notes whether they are used (of other candidates it looks whether their adjoint is zero); `given`: those whose
    partials may be infinite or nan and whose adjoint is given; `chained`: those whose adjoint is made of given ones
    alone; `handed`: stores, returns and calls, and the values to which they hand given adjoints. The last three by
    whether the adjoint of the function's result may be made.
    """

    guarded: frozenset[Instruction]
    candidates: frozenset[Instruction] = frozenset()
    tracked: frozenset[AnyValue] = frozenset()
    given: tuple[frozenset[Instruction], frozenset[Instruction]] = (frozenset(), frozenset())
    chained: tuple[frozenset[Instruction], frozenset[Instruction]] = (frozenset(), frozenset())
    handed: tuple[Handed, Handed] = (frozenset(), frozenset())


def cuts(facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect]) -> dict[Instruction, Cut]:
    """Where adjoints are cut that may be no numbers, as they come from what was computed ahead and not chosen."""
    candidates, dirty = _speculated(facts, flow, effects), set[AnyValue]()
    when: dict[AnyValue, frozenset[Path]] = {}
    found: dict[Instruction, Cut] = {}
    for i in (i for b in flow.order for i in reversed(b.instructions) if i in candidates):
        users = [u for u in dict.fromkeys(i.users) if facts.active(u)]
        if _hands_back(i, effects.get(i)):
            when[i] = _when(i, users, when)
        if any(when.get(u, _ALWAYS) != _ALWAYS and (u in dirty or _multiplies(u, i, effects)) for u in users):
            dirty.add(i)
    order = [*flow.function.arguments, *(i for b in flow.order for i in b.instructions)]
    places: dict[AnyValue, int] = {v: n for n, v in enumerate(order)}

    def place(side: tuple[AnyValue, bool]) -> tuple[int, bool]:
        return places.get(side[0], -1), side[1]

    for i, paths in ((i, when[i]) for i in when if i in candidates):
        operands = [i.pointer] if isinstance(i, Load) else [o for o in dict.fromkeys(i.operands) if facts.active(o)]
        other = {o for o in operands if i in dirty or _multiplies(i, o, effects)}
        other = {o for o in other if not _implies(when.get(o, _ALWAYS), paths)}
        lanes = any(isinstance(c.type, VectorType) for path in paths for c, _ in path)
        if other and paths != _ALWAYS and not (lanes and any(_count(o.type) != _count(i.type) for o in other)):
            chosen = [tuple(sorted(p, key=place)) for p in paths]  # the same in each process
            found[i] = Cut(tuple(sorted(chosen, key=lambda p: (len(p), *map(place, p)))), frozenset(other))
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


def unused(facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect]) -> Unused:
    """What contributes nothing, whatever its partials are, and how the reverse sweep of a function knows."""
    speculated = _speculated(facts, flow, effects)
    guarded = _guarded(flow, effects, speculated)
    candidates = _with_users(guarded, speculated)
    tracked: set[AnyValue] = {i for i in candidates if _is_tracked(facts, i, effects)}
    own = [i for b in flow.order for i in b.instructions if facts.active(i)]
    poles = [i for i in own if _is_pole(i, effects.get(i)) or isinstance(effects.get(i), CallBody)]
    given = [frozenset(i for i in poles if made(facts).gives(i, m)) for m in (False, True)]
    told = _told(facts, own)
    handed = [_handed(facts, own, m) if poles else frozenset[tuple[AnyValue, AnyValue]]() for m in (False, True)]
    variables = _variables(facts, flow.function) if poles else frozenset[AnyValue]()
    tracked |= variables
    kept = frozenset((u, u.value) for v in variables for u in v.users if isinstance(u, Store))
    chained = []
    for m in (False, True):
        loose = handed[m] | told | kept
        linked = _speculated(facts, flow, effects, loose) if loose else set()
        links = {i for i in poles if i in linked and i not in given[m] and _is_link(facts, i, effects)}
        loads = {i for i in linked if isinstance(i, Load) and i.pointer in variables}
        tracked |= {i for i in _with_users(links | loads, linked) if _is_tracked(facts, i, effects)}
        chained.append(frozenset(links))
    if is_told(facts, flow.function):
        tracked |= {a for a in flow.function.arguments if facts.active(a) and _is_tracked(facts, a, effects)}
    return Unused(
        frozenset(guarded), frozenset(candidates), frozenset(tracked),
        (given[0], given[1]), (chained[0], chained[1]), (handed[0], handed[1]),
    )  # fmt: skip


def _variables(facts: Facts, function: Function) -> frozenset[AnyValue]:
    """Those of a function that have active values."""
    found = (i for i in function.instructions() if isinstance(i, Alloca) and is_variable(i))
    return frozenset(v for v in found if any(facts.active(u) for u in v.users))


def _is_link(facts: Facts, i: Instruction, effects: Mapping[Instruction, Effect]) -> bool:
    """Does `i` need a note if its adjoint is made of given ones? (Of a call two versions are made then.)"""
    effect = effects.get(i)
    if isinstance(effect, CallBody) and not any(f in _steep_functions(facts) for f in effect.callees):
        return False
    return isinstance(effect, CallBody | Partials) and _is_tracked(facts, i, effects)


def _steep_functions(facts: Facts) -> Collection[Function]:
    """The functions in which a result is finite and its partial is not, there or in what they call."""
    if facts.steep is None:
        callers: dict[Function, list[Function]] = {}
        for i in (i for f in facts.memory.functions for i in f.instructions() if isinstance(i, Call)):
            assert i.block.function is not None
            for f in facts.callees(i)[0]:
                callers.setdefault(f, []).append(i.block.function)
        start = [f for f in facts.memory.functions if any(is_steep(facts, i) for i in f.instructions())]
        facts.steep = reach(start, lambda f: callers.get(f, ()))
    found: Collection[Function] = facts.steep
    return found


def _with_users(start: Iterable[Instruction], among: Collection[Instruction]) -> set[Instruction]:
    """`start`, and what uses it and is `among` those given, directly or through others."""
    return set(reach(start, lambda i: [u for u in i.users if isinstance(u, Instruction) and u in among]))


def _told(facts: Facts, own: Sequence[Instruction]) -> Handed:
    """The calls that tell whether they use an argument, with that."""
    floats = (v for v in own if isinstance(v.type, FloatType))
    return frozenset(
        (u, v) for v in floats for u in v.users if isinstance(u, Call) and are_told(facts, u)
    )


def _handed(facts: Facts, own: Sequence[Instruction], result_made: bool) -> Handed:
    """The stores, returns and calls that hand a given adjoint back, with the value that gets it."""
    found: set[tuple[AnyValue, AnyValue]] = set()
    for v in (v for v in own if isinstance(scalar(v.type), FloatType)):
        for u in v.users:
            if isinstance(u, Instruction) and made(facts).hands(facts, u, v, result_made):
                found.add((u, v))
    return frozenset(found)


def _guarded(flow: Flow, effects: Mapping[Instruction, Effect], candidates: set[Instruction]) -> set[Instruction]:
    """The candidates whose partials may be infinite or no number, for no fault of theirs."""
    wild: set[AnyValue] = set()
    calls: set[Instruction] = set()
    if flow.function.attribute("llgrad.checkpoint") is not None:  # what was computed before the loop
        wild.update(flow.function.arguments)
    for i in (i for b in flow.order for i in b.instructions if i in candidates):
        chosen = isinstance(i, (Phi, Select, Load))  # what the program runs into, whoever computed it
        if _is_pole(i, effects.get(i)) or not chosen and any(o in wild for o in i.operands):
            wild.add(i)
        elif isinstance(effects.get(i), CallBody):
            calls.add(i)
    return {i for i in wild if isinstance(i, Instruction)} | calls


def _is_pole(i: Instruction, effect: Effect | None) -> bool:
    """Has a rule a partial that may be infinite or no number where the operands are finite?"""
    if not isinstance(effect, Partials) or effect.rule.name in FINITE:
        return False
    operands = [v for v, _ in operand_parts(i, effect.rule, effect.entry)]
    return any(p is not None and not is_plain(p, operands) for row in effect.rule.partials for p in row)


def _is_tracked(facts: Facts, i: Instruction | Argument, effects: Mapping[Instruction, Effect]) -> bool:
    """Does the reverse sweep know, lane by lane, by whom `i` is used?"""
    ruled = isinstance(i, Call) and isinstance(effects.get(i), Partials)
    if not isinstance(scalar(i.type), FloatType) and not (ruled and is_pair(i.type)):
        return False
    if isinstance(i.type, VectorType) and i.type.scalable:
        return False
    return all(_notes(facts, i, u, effects.get(u)) for u in i.users if isinstance(u, Instruction))


def _notes(facts: Facts, i: Instruction | Argument, u: Instruction, effect: Effect | None) -> bool:
    """Is the use of `i` by `u` noted, if it is one?"""
    if facts.activity.tests_number(u):
        return False
    match u:
        case Store() | Return():
            return True
        case Call() if isinstance(effect, CallBody):
            ahead = u.called_function is not None and u.called_function.attribute("llgrad.checkpoint") is not None
            return not isinstance(i.type, VectorType) and not ahead
    if not facts.active(u):
        return True
    if isinstance(effect, Partials):
        alike = u.type == i.type or is_pair(u.type) and isinstance(i.type, FloatType)
        alike = alike and all(out.place == "return" for out in effect.rule.results)
        return alike and (effect.entry is None or effect.entry.shape in ("scalar", "pair"))
    return isinstance(u, Phi | Select) or u.opcode in ("fpext", "fptrunc", "freeze", "extractvalue")


def chooses(u: Value, i: Instruction, effects: Mapping[Instruction, Effect]) -> bool:
    """Does a rule take `i` or another operand (`fmax`)?"""
    effect = effects.get(u) if isinstance(u, Instruction) else None
    if not isinstance(effect, Partials) or not isinstance(u, Instruction):
        return False
    places = [k for k, (v, _) in enumerate(operand_parts(u, effect.rule, effect.entry)) if v is i]
    partials = [row[k] for row in effect.rule.partials for k in places]
    return bool(partials) and all(p is None or is_choice(p) for p in partials)


def _speculated(
    facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect], handed: Handed = frozenset()
) -> set[Instruction]:
    """The active instructions each of whose uses may not take place, or is by another of them, or is `handed`."""
    active = [i for b in flow.order for i in b.instructions if facts.active(i)]
    found = set(active)
    work = [i for i in active if _used_for_certain(facts, flow, i, found, effects, handed)]
    while work:
        i = work.pop()
        if i in found:
            found.remove(i)
            operands = [o for o in i.operands if isinstance(o, Instruction) and o in found]
            work += [o for o in operands if _used_for_certain(facts, flow, o, found, effects, handed)]
    return found


def _used_for_certain(
    facts: Facts, flow: Flow, i: Instruction, candidates: set[Instruction], effects: Mapping[Instruction, Effect],
    handed: Handed,
) -> bool:  # fmt: skip
    """Is there a use outside of `candidates` that follows whenever `i` is executed? (A phi uses at the edge.)"""
    lanes: set[int] = set()
    for u in i.users:
        if u in candidates or not (facts.active(u) or u.opcode in ("store", "ret", "call", "invoke")):
            continue
        if (u, i) in handed:
            continue
        if u.opcode != "ret" and isinstance(effects.get(u), Nothing):  # it hands nothing back
            continue
        match u:
            case Select():
                continue
            case Instruction() if chooses(u, i, effects):
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
