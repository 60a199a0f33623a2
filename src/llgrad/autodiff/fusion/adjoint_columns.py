"""Innermost loops whose adjoints of loads meet: they are collected first and added to shadow memory afterwards.

A loop that loads an element and its neighbours adds, in reverse, to places that other iterations add to as well; LLVM
does not vectorise that. Such a loop goes back in strips of iterations, and puts the adjoints of these loads into
columns in stack memory: that is vectorised. Behind each strip short loops add the columns to shadow memory: those whose
addresses are regular are vectorised, too.

Loads whose adjoints are the same value (the neighbours of a point are only summed) share a column. Loads that are a
whole number of iterations apart (`x[i - 1]`, `x[i]`, `x[i + 1]`) are added by one loop over the places that they read,
each place once: a gather. What lies beyond the ends of a column, as far as such loads are apart, is zero.

The sums are the same but for the order of their terms, if nothing in the loop takes an adjoint from where one of these
loads has read: if no store in it may write there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.memory.access_strides import Strides
from llgrad.analysis.memory.double_buffers import Exchanged
from llgrad.analysis.memory.mod_ref import Access
from llgrad.analysis.objects import gep_base
from llgrad.analysis.solver import reach
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import Effect, Linear, Memory, Nothing, Partials
from llgrad.ir.types import is_float
from llgrad.ir.values import AnyValue, Argument, Binary, Call, Function, Instruction, Load, Store

APART = 8  # iterations at most between the first and the last of loads that are added together
FEWEST = 3  # loads of what may be one object, so that the collecting pays
STRIP = 256  # iterations; a power of two
MOST = 16  # columns


class Collected(Struct, frozen=True):
    """A load whose adjoints are collected in the column of `column`.

    It is added together with `group`: at iteration i it reads where that reads at iteration i + `shift`. `step` is how
    many bytes further on it reads in each iteration; None where the addresses are not regular.
    """

    load: Load
    column: Load
    group: Load
    shift: int
    step: int | None

    def __str__(self) -> str:
        column = f" as %{self.column.name}" if self.column is not self.load else ""
        where = f" at %{self.group.name} + {self.shift}" if self.group is not self.load else ""
        return f"%{self.load.name}{column}{where}"


def scattered(
    facts: Facts, function: Function, flow: Flow, effects: Mapping[Instruction, Effect], loops: Sequence[Loop]
) -> dict[Loop, tuple[Collected, ...]]:
    """For each of the innermost `loops` where that pays: the loads whose adjoints are collected."""
    recursive = function in reach(_callers(facts, function), lambda f: _callers(facts, f))
    if facts.runtime_activity or recursive:  # (columns of every call under way would lie on the stack)
        return {}
    exchanged = Exchanged(facts.memory, flow)
    found = {loop: _collected(facts, flow, effects, exchanged, loop) for loop in loops}
    return {loop: _grouped(facts, flow, loop, loads) for loop, loads in found.items() if loads}


def _callers(facts: Facts, function: Function) -> list[Function]:
    return [c.block.function for c in facts.memory.callers(function) if c.block.function is not None]


def _collected(
    facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect], exchanged: Exchanged, loop: Loop
) -> tuple[Load, ...]:
    inside = [i for b in loop.order for i in b.instructions]
    shapes = [effects.get(i, Nothing()) for i in inside]
    simple = all(
        isinstance(e, (Nothing, Linear, Partials)) and getattr(e, "entry", None) is None
        or isinstance(e, Partials) and e.entry is not None and "pointer" not in e.rule.operands
        or isinstance(i, (Load, Store)) and isinstance(e, Memory)
        for i, e in zip(inside, shapes, strict=True)
    )  # fmt: skip
    if loop.children or not simple or len(loop.order) != 1:
        return ()
    active = [i for i, e in zip(inside, shapes, strict=True) if isinstance(e, Memory)]
    loads = [i for i in active if isinstance(i, Load) and is_float(i.type)]
    strides, memory = Strides(flow, loop, facts.layout), facts.memory
    reads = {i: memory.reads(i)[0] for i in loads}
    writes = [w for i in active if isinstance(i, Store) for w in memory.writes(i)]
    if any(
        memory.may_alias(w, r) and not _through_restrict(w, r) and not exchanged.apart(loop, w, r)
        for w in writes for r in reads.values()
    ):  # fmt: skip
        return ()
    found = tuple(a for a in loads if pays(facts, strides, reads[a], list(reads.values())))
    return found if len(found) <= MOST else ()


def _grouped(facts: Facts, flow: Flow, loop: Loop, loads: Sequence[Load]) -> tuple[Collected, ...]:
    """Which column each load has, and which loads are added together."""
    strides, columns = Strides(flow, loop, facts.layout), dict[AnyValue, Load]()
    found: list[Collected] = []
    rows: dict[Hashable, list[tuple[int, Collected]]] = {}
    for i in loads:
        column = columns.setdefault(_passed_on(i, loop), i)
        address = strides.address(facts.memory.reads(i)[0])
        if address is None or address[2] == 0:
            found.append(Collected(i, column, i, 0, None))
            continue
        base, parts, step, constant = address
        place, rest = divmod(constant, step)
        rows.setdefault((i.type, base, parts, step, rest), []).append((place, Collected(i, column, i, 0, step)))
    for row in rows.values():
        row.sort(key=lambda item: item[0])
        first, before = row[0], row[0][0]
        for place, one in row:
            if place - before > 1 or place - first[0] > APART:  # no place is added to that none of them reads
                first = place, one
            before = place
            found.append(replace(one, group=first[1].load, shift=place - first[0]))
    return tuple(sorted(found, key=lambda one: loads.index(one.load)))


def _passed_on(v: Instruction, loop: Loop) -> AnyValue:
    """A value of the same iteration whose adjoint is that of `v`: the last of the sums that `v` goes into."""
    while len(v.users) == 1 and v.users[0] in loop:
        user = v.users[0]
        match user:
            case Binary(opcode="fadd"):
                passes = True
            case Binary(opcode="fsub", lhs=a):
                passes = a is v
            case Call() if user.called_function is not None and user.type == v.type:
                named = user.called_function.name.startswith(("llvm.fmuladd.", "llvm.fma."))
                passes = named and user.arguments[2] is v
            case _:
                passes = False
        if not passes:
            break
        v = user
    return v


def pays(facts: Facts, strides: Strides, read: Access, reads: Sequence[Access]) -> bool:
    """Are there enough loads of what may be the same object, and does one of them meet this in another iteration?

    Two are enough if one goes forwards and the other backwards: blocks that are read from both ends.
    Where no address is regular, nothing is vectorised when the columns are added either.
    """
    near = [other for other in reads if facts.memory.may_alias(read, other)]
    if all(strides.same_iteration(read, other) for other in near):
        return False
    steps = {address[2] > 0 for other in near if (address := strides.address(other)) is not None and address[2]}
    return bool(steps) and (len(near) >= FEWEST or len(steps) == 2)


def _through_restrict(written: Access, read: Access) -> bool:
    """Do two arguments lead to them, one of which says that what is written while the function runs is its alone?"""
    a, b = _argument(written), _argument(read)
    return a is not None and b is not None and a is not b and any(x.attribute("noalias") is not None for x in (a, b))


def _argument(access: Access) -> Argument | None:
    base = gep_base(access.pointer) if access.pointer is not None else None
    return base if isinstance(base, Argument) else None
