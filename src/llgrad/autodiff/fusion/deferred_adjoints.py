"""Adjoints that need what a fused loop computes: they wait until the loop has run (see `fusion`).

In `exp(-rate * time) * sum / paths` the adjoint of the sum needs nothing that the loop computes, that of the rate needs
the sum. A fused loop runs where the reverse sweep comes to it, so what the sum's adjoint is made of is reversed as
usual, and the rest is *postponed*: the reverse of an instruction, or that of some of its operands, is written where the
reverse sweep enters the last block before the loop and all that follows it. Nothing on the way may ask for it: so it is
arithmetic, and loads of what nobody writes there; it is in blocks that every call runs; and it does not lead to the
adjoint of anything that the loop computes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import (
    Allocate,
    Effect,
    Free,
    Key,
    Linear,
    Memory,
    Nothing,
    Partials,
    needs,
    operand_parts,
)
from llgrad.ir.types import FloatType
from llgrad.ir.values import AnyValue, Block, Cast, Instruction, Load, Select

Parts = Mapping[Instruction, frozenset[int] | None]
"""The operands, by position, whose part of the reverse of an instruction waits; None: all of it."""


class Postponed(Struct, frozen=True):
    """What waits for one fused loop, last instruction first. `at`: whose reverse it precedes (None: nothing waits);
    `values`: what is late and asked for there."""

    at: Block | None
    parts: Parts
    values: frozenset[Instruction]


def postponed(
    facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect], barred: Collection[Instruction],
    loop: Loop, computed: Collection[Instruction], late: frozenset[Instruction],
) -> Postponed | None:  # fmt: skip
    """What has to wait for `loop`; None where some of that cannot.

    `computed`: what is known only when the loop has run; `late`: what of that is computed after the loop; `barred`:
    what must be reversed where it stands.
    """
    return _Search(facts, flow, effects, barred, loop, computed, late).found()


class _Search:
    def __init__(
        self, facts: Facts, flow: Flow, effects: Mapping[Instruction, Effect], barred: Collection[Instruction],
        loop: Loop, computed: Collection[Instruction], late: frozenset[Instruction],
    ) -> None:  # fmt: skip
        self.facts, self.flow, self.effects, self.barred, self.loop = facts, flow, effects, barred, loop
        self.computed, self.late = computed, late
        self.after = [b for b in flow.order if b not in loop and flow.reachable(loop.header, b)]
        self.last = next((b for b in self.after if b.terminator.opcode == "ret"), None)

    def found(self) -> Postponed | None:
        parts: dict[Instruction, frozenset[int] | None] = {}
        waits: set[AnyValue] = set()
        asked: list[Instruction] = []
        for block in reversed(self.flow.order):
            for i in reversed(block.instructions) if block not in self.loop else ():
                e = self.effects.get(i)
                if e is None or isinstance(e, Nothing | Free):
                    continue
                own = [k for k in map(_about, needs(self.facts, i, e)) if k in self.computed]
                whole = i in waits and block in self.after
                if not own and not whole:
                    continue
                if not self._can_wait(i, e):
                    return None
                some = None if whole or not isinstance(e, Partials) else self._operands(i, e)
                parts[i] = some
                asked += [k for k in own if k is not None]
                operands = i.operands if some is None else [i.operands[n] for n in sorted(some)]
                waits.update(v for v in operands if self.facts.active(v))
        if any(v in self.computed and v not in parts for v in waits) or not self.late.issuperset(asked):
            return None
        if not parts:
            return Postponed(None, {}, frozenset())
        at: Block | None = next(iter(parts)).block
        while at is not None and (at in self.loop.blocks or self.flow.reachable(self.loop.header, at)):
            at = self.flow.idom[at]
        return None if at is None or self.flow.loop_of(at) is not None else Postponed(at, parts, self._values(asked))

    def _can_wait(self, i: Instruction, e: Effect) -> bool:
        """May the reverse of `i` run later than that of everything else after the loop?"""
        reached = self.last is not None and self.flow.dominates(i.block, self.last)
        if not reached or self.flow.loop_of(i.block) is not None or i in self.barred or i.block not in self.after:
            return False
        if not isinstance(i.type, FloatType) or i.type.name in ("half", "bfloat"):
            return False
        match e:
            case Partials(rule, entry):
                scalar = all(lane is None for _, lane in operand_parts(i, rule, entry))
                return scalar and all(out.place == "return" and out.field is None for out in rule.results)
            case Linear():
                return isinstance(i, Select) or isinstance(i, Cast) and i.opcode in ("fpext", "fptrunc")
            case Memory("load"):
                return isinstance(i, Load) and not self._changes(i)
        return False

    def _changes(self, load: Load) -> bool:
        """Might the adjoint of what is loaded be asked for, or its shadow be gone, before it is added?"""
        memory, after = self.facts.memory, [i for b in self.after for i in b.instructions]
        if any(isinstance(self.effects.get(i), Allocate) for i in after):
            return True
        changed = [a for i in after for a in (*memory.writes(i), *memory.frees(i))]
        return any(memory.may_alias(a, b) for a in changed for b in memory.reads(load))

    def _operands(self, i: Instruction, e: Partials) -> frozenset[int]:
        """The operands whose partial derivatives need what the loop computes."""
        found, parts = set[int](), operand_parts(i, e.rule, e.entry)
        for row in e.rule.partials:
            for k, partial in enumerate(row):
                if partial is None or not self.facts.active(parts[k][0]):
                    continue
                values: list[AnyValue] = [parts[n][0] for n in partial.operands()]
                if any(v in self.computed for v in (*values, *([i] if partial.results() else ()))):
                    found.add(k)
        return frozenset(found)

    def _values(self, asked: Sequence[Instruction]) -> frozenset[Instruction]:
        """What is late of what the values that are asked for are computed from."""
        found: set[Instruction] = set()
        work = list(asked)
        while work:
            i = work.pop()
            if i not in found:
                found.add(i)
                work += [v for v in i.operands if isinstance(v, Instruction) and v in self.late]
        return frozenset(found)


def _about(key: Key) -> Instruction | None:
    """The instruction that a key is about."""
    first = key[1][0] if isinstance(key[1], tuple) else key[1]
    return first if isinstance(first, Instruction) else None
