"""The forward half of a fused loop's iterations, written into the reverse sweep, before their reverse (see `fusion`).

It is the forward sweep of the loop's blocks, with slots in the same frame. What the loop takes from outside and what
goes from iteration to iteration lies in stack cells, which LLVM turns into registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llgrad.ir.build import Builder
from llgrad.ir.values import AnyValue, Block, Instruction, Phi
from llgrad.synthesis.fusion import Fusion
from llgrad.synthesis.lanes import Lanes
from llgrad.synthesis.record import RecordingSweep

if TYPE_CHECKING:
    from llgrad.synthesis.reverse import ReverseSweep


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
        self.b.branch(self.back.blocks[block])
