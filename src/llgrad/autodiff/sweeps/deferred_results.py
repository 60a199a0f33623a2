"""What is computed from the results of fused loops: it waits until the reverse sweep is done (see `fusion`).

Where the forward sweep comes to a late instruction, it puts the operands that it knows aside, in stack cells, and marks
the instruction's block as reached; `write` then runs the late instructions of the blocks that were reached. LLVM turns
cells and marks into registers, and the tests of marks that always hold into nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llgrad.autodiff.emit.alias_scopes import mark
from llgrad.autodiff.plan.plan import Plan
from llgrad.ir.build import FALSE, TRUE, Builder, clone, const_int, zero
from llgrad.ir.types import I1, I8
from llgrad.ir.values import AnyValue, Argument, Block, Instruction, Phi, Store

if TYPE_CHECKING:
    from llgrad.autodiff.sweeps.augmented_sweep import RecordingSweep


class Late:
    """The late instructions of one combined derivative."""

    def __init__(self, sweep: RecordingSweep, plan: Plan) -> None:
        self.sweep, self.instructions = sweep, plan.late
        self.results = {v for f in plan.fused.values() for v in f.results}
        self.returned: AnyValue | None = None  # what the function returns, where that is late
        self._cells: dict[AnyValue, AnyValue] = {}
        self._aside: dict[tuple[Instruction, int], AnyValue] = {}
        self._reached: dict[Block, AnyValue] = {}
        self._phis: dict[Phi, tuple[Phi, Phi]] = {}
        self._done: frozenset[Instruction] = frozenset()

    def waits_for(self, v: AnyValue | None) -> bool:
        """Is `v` known only when fused loops have run?"""
        return v in self.instructions or v in self.results

    def cell(self, v: AnyValue) -> AnyValue:
        """Where the value of a late instruction, or the result of a fused loop, is put."""
        if v not in self._cells:
            self._cells[v] = self.sweep.stack.alloca(v.type, f"{v.name}.late")  # type: ignore[union-attr]
        return self._cells[v]

    # --- in the forward sweep

    def capture(self, i: Instruction) -> None:
        """Put aside the operands of `i` that are known here; of a phi, which way control came and what that brought."""
        b = self.sweep.b
        if isinstance(i, Phi):
            self._phis[i] = b.phi(I8, name=f"{i.name}.way"), b.phi(i.type, name=f"{i.name}.aside")
            return
        for n, v in enumerate(i.operands):
            if isinstance(v, Instruction) and not self.waits_for(v):
                self._aside[i, n] = self.sweep.stack.alloca(v.type, f"{v.name}.aside")
                b.store(self.sweep.value(v), self._aside[i, n], 0)

    def reached(self, block: Block) -> None:
        """The copy of `block` has its phis: mark it."""
        here = [i for i in block.instructions if i in self.instructions]
        if not here:
            return
        self._reached[block] = self.sweep.stack.alloca(I1, f"{block.name}.reached")
        self.sweep.stack.store(FALSE, self._reached[block], 0)
        self.sweep.b.store(TRUE, self._reached[block], 0)
        for phi in (i for i in here if isinstance(i, Phi)):
            for n, v in enumerate(self._phis[phi]):
                self._aside[phi, n] = self.sweep.stack.alloca(v.type, v.name)
                self.sweep.b.store(v, self._aside[phi, n], 0)

    def complete(self) -> None:
        """All values of the forward sweep exist: fill in the phis of `capture`."""
        for phi, (way, aside) in self._phis.items():
            for n, (v, block) in enumerate(phi.incoming()):
                if block in self.sweep.blocks:
                    source = self.sweep.exit_of(block, phi.block)
                    way.add(const_int(I8, n), source)
                    aside.add(zero(phi.type) if self.waits_for(v) else self.sweep.value(v), source)

    # --- when the fused loops have run

    def write(self, b: Builder) -> None:
        """Run what is late and has not run yet."""
        self.run(b, self.instructions - self._done)
        if self.returned is not None:
            self.sweep.returned = b.load(self.returned.type, self.cell(self.returned), "", 0)

    def run(self, b: Builder, wanted: frozenset[Instruction]) -> None:
        """Run some of what is late, where the fused loops have run that it waits for."""
        for block in (x for x in self.sweep.flow.order if x in self._reached):
            here = [i for i in block.instructions if i in wanted]
            if not here:
                continue
            run, on = (self.sweep.new_block(f"{block.name}.{word}") for word in ("late", "done"))
            b.branch_if(b.load(I1, self._reached[block], "", 0), run, on)
            b.at_end(run)
            for i in here:
                self._run(b, i)
            b.branch(on)
            b.at_end(on)
        self._done |= wanted

    def _run(self, b: Builder, i: Instruction) -> None:
        sweep = self.sweep
        if isinstance(i, Phi):
            b.store(self._chosen(b, i), self.cell(i), 0)
            return
        if isinstance(i, Store) and sweep.facts.unwanted.may_drop(i):
            return
        new = clone(i)
        new.metadata = {k: v for k, v in i.metadata.items() if k == "tbaa"}
        for n, v in enumerate(i.operands):
            w = self._operand(b, i, n, v)
            new.operands.append(w)
            w.users.append(new)
        b.insert(new, i.name)
        if isinstance(new, Store):
            mark(sweep.module, new, "primal")
        else:
            b.store(new, self.cell(i), 0)

    def _operand(self, b: Builder, i: Instruction, n: int, v: AnyValue) -> AnyValue:
        if self.waits_for(v):
            return b.load(v.type, self.cell(v), "", 0)
        if (i, n) in self._aside:
            return b.load(v.type, self._aside[i, n], "", 0)
        return self.sweep.value(v) if isinstance(v, Argument) else v

    def _chosen(self, b: Builder, phi: Phi) -> AnyValue:
        way = b.load(I8, self._aside[phi, 0], "", 0)
        chosen = b.load(phi.type, self._aside[phi, 1], "", 0)
        for n, v in enumerate(phi.operands):
            if self.waits_for(v):
                came = b.icmp("eq", way, const_int(I8, n))
                chosen = b.select(came, b.load(v.type, self.cell(v), "", 0), chosen)
        return chosen
