"""What waits for a fused loop, written where it has run: see `deferred_adjoints`."""

from __future__ import annotations

from llgrad.autodiff.sweeps.recurrences_writer import Replaying
from llgrad.ir.values import Block, Instruction


class Postponing(Replaying):
    """An instruction that waits in part is reversed twice: its adjoint stays in its cell the first time."""

    def make_postponed(self) -> None:
        self.postponed, self.waited = self.plan.postponed, False

    def catch_up(self, block: Block) -> None:
        """The reverse sweep enters `block`: write what has waited for a loop behind it."""
        for one in (f.postponed for f in self.plan.fused.values() if f.postponed.at is block):
            assert self.recording is not None and self.recording.late is not None
            self.recording.late.run(self.b, one.values)
            self.at(self.b.block, None)
            self.waited = True
            for i in one.parts:
                super().instruction(i)
            self.waited = False

    def is_due(self, i: Instruction, k: int) -> bool:
        return i not in self.postponed or (k in (self.postponed[i] or ())) is self.waited or self.postponed[i] is None

    def instruction(self, i: Instruction) -> None:
        if i not in self.postponed:
            super().instruction(i)
            return
        self.settle(i)
        if self.postponed[i] is None:
            return
        notes, kept = self.keep_note(i), []
        for _ in self.each_lane():
            kept.append(self.sum(i))
        super().instruction(i)
        for lane in self.each_lane():
            self.b.store(kept[lane], self.cell(i))
        self.put_note(i, notes)
