"""Values that are the same in every iteration of a loop around their own: `h[j]` of `for i, j: s += w[i][j] * h[j]`.

A column of the tape has no elements for the iterations of such a loop: each stores the same over what the one before
has stored, and the reverse sweep finds it there in each.
"""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.memory.double_buffers import Exchanged
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.recipes.selected_values import is_integer_instruction
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Call,
    Cast,
    Compare,
    ExtractElement,
    ExtractValue,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Select,
    ShuffleVector,
    Unary,
)

_OF_OPERANDS = (
    Binary, Unary, Compare, Cast, Select, GetElementPtr, ExtractElement, InsertElement, ShuffleVector, ExtractValue,
    InsertValue,
)  # fmt: skip


class Steady:
    """The answers for one function."""

    def __init__(self, facts: Facts, flow: Flow) -> None:
        self.facts, self.flow = facts, flow
        self.exchanged = Exchanged(facts.memory, flow)
        self._found: dict[Instruction, frozenset[Loop]] = {}
        self._written: dict[tuple[Load, Loop], bool] = {}

    def around(self, v: Instruction) -> frozenset[Loop]:
        """The loops around that of `v` in every iteration of which `v` takes the same values, one after the other."""
        if v not in self._found:
            own = self.flow.loop_of(v.block)
            loop, found = own.parent if own is not None else None, set()
            while loop is not None and own is not None:
                if self._is_same(v, own, loop):
                    found.add(loop)
                loop = loop.parent
            self._found[v] = frozenset(found)
        return self._found[v]

    def _is_same(self, v: Instruction, own: Loop, around: Loop) -> bool:
        """Is nothing that `v` is made of, in the iterations of the loops from `own` up to it, `around`'s own?"""
        work: list[AnyValue] = [v]
        seen: set[AnyValue] = set()
        while work:
            i = work.pop()
            if not isinstance(i, Instruction) or i.block not in around.blocks or i in seen:
                continue
            seen.add(i)
            if not self._depends_on_operands(i, own, around):
                return False
            work += i.operands
        return True

    def _depends_on_operands(self, i: Instruction, own: Loop, around: Loop) -> bool:
        """Is `i`, in each iteration of the loops from `own` up to `around`, a function of its operands alone?"""
        match i:
            case Phi():
                loop = self.flow.loop_of(i.block)
                inside = loop is not None and loop is not around and around.encloses(loop) and loop.encloses(own)
                return inside and loop is not None and loop.header is i.block
            case Load():
                return not i.flags and not self.facts.teams.may_change(i) and not self._is_written(i, around)
            case Call():
                return is_integer_instruction(i) or self.facts.is_pure(i)
        return isinstance(i, _OF_OPERANDS)

    def _is_written(self, load: Load, around: Loop) -> bool:
        """May something in a loop write what `load` reads?"""
        if (load, around) not in self._written:
            memory = self.facts.memory
            changes = [a for b in around.order for i in b.instructions for a in (*memory.writes(i), *memory.frees(i))]
            self._written[load, around] = any(
                memory.may_alias(a, r) and not self.exchanged.apart(around, a, r)
                for r in memory.reads(load) for a in changes
            )  # fmt: skip
        return self._written[load, around]
