"""The forward half of a fused loop's iterations, written into the reverse sweep, before their reverse (see `fusion`).

It is the forward sweep of the loop's blocks, with slots in the same frame. What the loop takes from outside and what
goes from iteration to iteration lies in stack cells, which LLVM turns into registers.

What the caller has put into the shadow of scratch memory that it brings (`Fusion.filled`) are adjoints of what the last
iteration stores there: they are set aside when the loop is entered, and added before that iteration is reversed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llgrad.autodiff.emit import helpers, tape
from llgrad.autodiff.emit.lanes import Lanes
from llgrad.autodiff.fusion.fusion import Fusion
from llgrad.autodiff.sweeps.augmented_sweep import RecordingSweep
from llgrad.ir.build import Builder, i64
from llgrad.ir.types import I64, PTR, Type
from llgrad.ir.values import AnyValue, Block, Instruction, Phi

if TYPE_CHECKING:
    from llgrad.autodiff.sweeps.reverse_sweep import ReverseSweep


class Iteration(RecordingSweep):
    """`start` is where an iteration begins; it ends by entering the reverse of the loop's latch."""

    def __init__(self, back: ReverseSweep, fusion: Fusion) -> None:
        first = back.recording
        assert first is not None
        Lanes.__init__(self, first.width)
        self.__dict__.update({k: v for k, v in vars(first).items() if k not in vars(self)})
        self.first, self.fusion, self.loop, self.back = first, fusion, fusion.loop, back
        self.skipped, self.checked, self.late = {}, {}, None
        self.impossible: Block | None = None  # where the forward sweep has seen that the loop does not go
        self.values, self.blocks, self.dropped, self.continued = {}, {}, set(), {}
        self.index, self.index_next, self.chunk, self.chunk_now = {}, {}, {}, {}
        self.column, self.trip, self.choice, self.scopes = {}, {}, {}, {}
        self.cells: dict[tuple[AnyValue, int | None], AnyValue] = {}  # (value, lane of its shadow)
        self.aside: dict[tuple[int, int, str], AnyValue] = {}  # where what is set aside is: (which, lane, what)
        self.b = Builder(Block(""), self.names)
        self.start = self.new_block(f"{self.loop.header.name}.run")

    def write_iteration(self) -> None:
        for a in self.source.arguments:
            self.values[a] = self.first.values[a]
            for lane in self.each_lane():
                if a in self.first.shadows_of[lane]:
                    self.shadows[a] = self.first.shadows_of[lane][a]
        self.b.at_end(self.start)
        for v in (*self.fusion.inputs, *self.loop.header.phis()):
            self.values[v] = self.b.load(v.type, self._cell(v, None), v.name, 0)
            for lane in self.each_lane() if self.facts.shadowed(v) else ():
                self.shadows[v] = self.b.load(v.type, self._cell(v, lane), f"{v.name}.shadow", 0)
        self.copy_blocks()
        self._complete_own_phis()
        self.b.at_end(self.start)
        self.b.branch(self.blocks[self.loop.header])

    def enter(self) -> None:
        """The reverse sweep is about to enter the loop: put down what it takes from outside."""
        for v in self.fusion.inputs:
            self._put(v, v)
        for phi in self.loop.header.phis():
            assert self.loop.preheader is not None
            self._put(phi, phi.incoming_from(self.loop.preheader))
        if self.fusion.filled:
            self._set_aside()

    def _set_aside(self) -> None:
        back = self.back
        back.b.store(back.lookup(("count", self.loop)), self._scratch(0, 0, "last", I64), 8)
        for n, filled in enumerate(self.fusion.filled):
            count = back.get(filled.count)
            for condition, way in filled.ways:
                ends = (i64(0), count) if way else (count, i64(0))
                count = back.b.select(back.get(condition), *ends)
            size = back.b.binary("mul", count, i64(filled.type.bits // 8))
            for lane in back.each_lane():
                block = back.b.call(tape.reserve(self.module), [self.arena, size], "aside.block")
                column = tape.column(back.b, self.module, block, i64(0), 0, "aside")
                shadow = back.get_shadow(filled.base)
                back.b.call(helpers.aside(self.module, filled.type), [column, shadow, count])
                for what, v in (("block", block), ("column", column), ("shadow", shadow), ("count", count)):
                    back.b.store(v, self._scratch(n, lane, what, v.type), 8)

    def _scratch(self, n: int, lane: int, what: str, type: Type) -> AnyValue:
        if (n, lane, what) not in self.aside:
            self.aside[n, lane, what] = self.stack.alloca(type, f"aside.{what}")
        return self.aside[n, lane, what]

    def _bring_back(self) -> None:
        """In the last iteration: the adjoints that were set aside are those of what it has stored."""
        back, on = self.new_block("aside.added"), self.new_block("aside.done")
        index = self.b.load(I64, self.back.index[self.loop], "", 8)
        last = self.b.load(I64, self._scratch(0, 0, "last", I64), "", 8)
        self.b.branch_if(self.b.icmp("eq", index, last), back, on)
        self.b.at_end(back)
        for n, filled in enumerate(self.fusion.filled):
            for lane in range(self.width):
                types = (("column", PTR), ("shadow", PTR), ("count", I64))
                given = [self.b.load(t, self._scratch(n, lane, what, t), "", 8) for what, t in types]
                self.b.call(helpers.added_back(self.module, filled.type), given)
        self.b.branch(on)
        self.b.at_end(on)

    def release_aside(self) -> None:
        """The loop is over: what was set aside is released."""
        for n in reversed(range(len(self.fusion.filled))):
            for lane in reversed(range(self.width)):
                block = self.back.b.load(PTR, self._scratch(n, lane, "block", PTR), "", 8)
                self.back.b.call(tape.release(self.module), [self.arena, block])

    def _put(self, v: Instruction, given: AnyValue) -> None:
        back = self.back
        back.b.store(back.get(given), self._cell(v, None), 0)
        for lane in back.each_lane() if self.facts.shadowed(v) else ():
            back.b.store(back.get_shadow(given), self._cell(v, lane), 0)

    def _cell(self, v: Instruction, lane: int | None) -> AnyValue:
        if (v, lane) not in self.cells:
            self.cells[v, lane] = self.stack.alloca(v.type, f"{v.name}.cell")
        return self.cells[v, lane]

    # --- what differs from the forward sweep of the whole function

    def copied(self) -> Sequence[Block]:
        return self.loop.order

    def new_targets(self, i: Instruction) -> list[Block]:
        for t in i.targets:
            if t not in self.blocks:
                if self.impossible is None:
                    self.impossible = self.new_block(f"{self.loop.header.name}.impossible")
                    Builder(self.impossible, self.names).unreachable()
                self.blocks[t] = self.impossible
        return super().new_targets(i)

    def instruction(self, i: Instruction) -> None:
        if not (isinstance(i, Phi) and i.block is self.loop.header):
            super().instruction(i)

    def more_phis(self, block: Block) -> None:
        if block is not self.loop.header:
            super().more_phis(block)

    def complete_phi(self, phi: Phi) -> None:
        if phi.block is not self.loop.header:
            super().complete_phi(phi)

    def terminator(self, block: Block) -> None:
        if block is not self.loop.latch:
            super().terminator(block)
            return
        assert self.first.late is not None
        for phi in self.loop.header.phis():
            v = phi.incoming_from(block)
            self.b.store(self.value(v), self._cell(phi, None), 0)
            for lane in self.each_lane() if self.facts.shadowed(phi) else ():
                self.b.store(self.shadow(v), self._cell(phi, lane), 0)
        for v in self.fusion.results:
            self.b.store(self.values[v], self.first.late.cell(v), 0)
        if self.fusion.filled:
            self._bring_back()
        self.b.branch(self.back.blocks[block])
