"""The loops that run recurrences again: see `recurrences`."""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Loop
from llgrad.autodiff.emit import tape
from llgrad.autodiff.emit.alias_scopes import mark
from llgrad.autodiff.facts.reverse_uses import Key
from llgrad.autodiff.sweeps.precompute_writer import Rehearsing
from llgrad.ir.build import clone, i64
from llgrad.ir.types import I64, PTR, is_float
from llgrad.ir.values import AnyValue, Block, Call, Instruction, Load, Phi


class Replaying(Rehearsing):
    """Writes them where the reverse sweep enters a loop, and reads their columns."""

    def make_replays(self) -> None:
        """A cell for the block of each loop, and one for each column."""
        self.replays = {loop: self.cells.alloca(PTR, f"{loop.header.name}.replay") for loop in self.plan.replayed}
        phis = (phi for found in self.plan.replayed.values() for phi in found.phis)
        self.replay_columns = {phi: self.cells.alloca(PTR, f"{phi.name}.column") for phi in phis}
        around = {place: loop for loop, place in self.plan.replayed_at.items() if place is not loop}
        self.replayed_in = around  # loops in all iterations of which one of these is the same
        self.longest = {loop: self.cells.alloca(I64, f"{loop.header.name}.ran") for loop in around.values()}

    def begin_replays(self, place: Loop) -> None:
        """A loop is entered: what is run for all its iterations was not run yet."""
        if place in self.replayed_in:
            loop = self.replayed_in[place]
            self.b.store(i64(-1), self.longest[loop], 8)
            nothing = self.b.call(tape.reserve(self.module), [self.arena, i64(0)], f"{loop.header.name}.replay.block")
            self.b.store(nothing, self.replays[loop], 8)

    def replay(self, loop: Loop) -> None:
        """Run the recurrence, from where the loop is entered; then go on there."""
        count = self.lookup(("count", loop))
        if loop not in self.longest:
            self._run_again(loop, count)
            return
        name, outer = loop.header.name, self.place.loop
        longer, ran = self.new_block(f"{name}.longer"), self.new_block(f"{name}.known")
        known = self.b.load(I64, self.longest[loop], "", 8)
        self.b.branch_if(self.b.icmp("sgt", count, known), longer, ran)
        self.at(longer, outer)
        self.b.call(tape.release(self.module), [self.arena, self.b.load(PTR, self.replays[loop], "", 8)])
        self.b.store(count, self.longest[loop], 8)
        self._run_again(loop, count)
        self.b.branch(ran)
        self.at(ran, outer)

    def _run_again(self, loop: Loop, count: AnyValue) -> None:
        found, name, outer = self.plan.replayed[loop], loop.header.name, self.place.loop
        trips = self.b.binary("add", count, i64(1))
        offsets: list[AnyValue] = []
        total: AnyValue = i64(0)
        for phi in found.phis:
            offsets.append(total)
            size = self.b.binary("mul", trips, i64(self.facts.layout.alloc_size(phi.type)))
            size = self.b.binary("and", self.b.binary("add", size, i64(63)), i64(-64))
            total = self.b.binary("add", total, size)
        block = self.b.call(tape.reserve(self.module), [self.arena, total], f"{name}.replay.block")
        self.b.store(block, self.replays[loop], 8)
        columns = {
            phi: tape.column(self.b, self.module, block, offset, self._number(n, phi), f"{phi.name}.column")
            for n, (phi, offset) in enumerate(zip(found.phis, offsets, strict=True))
        }
        for phi, column in columns.items():
            self.b.store(column, self.replay_columns[phi], 8)
        assert loop.preheader is not None and loop.latch is not None
        starts = {phi: self.get(phi.incoming_from(loop.preheader)) for phi in found.phis}
        outside: dict[AnyValue, AnyValue] = {v: self.get(v) for v in found.inputs(loop)}
        before, again, done = self.place.block, self.new_block(f"{name}.again"), self.new_block(f"{name}.ran")
        self.b.branch(again)
        self.at(again, outer)
        index = self.b.phi(I64, name=f"{name}.i.again")
        now: dict[AnyValue, AnyValue] = {phi: self.b.phi(phi.type, name=f"{phi.name}.again") for phi in found.phis}
        for phi, column in columns.items():
            place = self.b.gep(phi.type, column, [index], flags=("inbounds",))
            mark(self.module, self.b.store(now[phi], place, 0), "tape")
        for i in found.steps:
            now[i] = self._step(i, {**outside, **now})
        next = self.b.binary("add", index, i64(1))
        self.b.branch_if(self.b.icmp("eq", index, count), done, again)
        self._complete(index, before, i64(0), again, next)
        for phi in found.phis:
            latch = phi.incoming_from(loop.latch)
            self._complete(now[phi], before, starts[phi], again, now.get(latch, outside.get(latch, latch)))
        self.at(done, outer)

    def _number(self, n: int, phi: Phi) -> int:
        """Of a column: see `tape`."""
        size = self.facts.layout.alloc_size(phi.type)
        return n if is_float(phi.type) else n + tape.INTEGERS * size

    def _complete(self, phi: AnyValue, before: Block, start: AnyValue, again: Block, next: AnyValue) -> None:
        assert isinstance(phi, Phi)
        phi.add(start, before)
        phi.add(next, again)

    def _step(self, i: Instruction, known: dict[AnyValue, AnyValue]) -> AnyValue:
        new = clone(i)
        new.metadata = {}
        for v in i.operands:
            w = self.arguments.get(v, known.get(v, v))
            new.operands.append(w)
            w.users.append(new)
        if isinstance(new, Call):
            new.tail = ""
        return self.b.insert(new, f"{i.name}.again")

    def end_replays(self, place: Loop) -> None:
        """A loop has been left."""
        loop = self.replayed_in.get(place, place)
        if loop in self.replays and self.plan.replayed_at[loop] is place:
            self.b.call(tape.release(self.module), [self.arena, self.b.load(PTR, self.replays[loop], "", 8)])

    def recompute(self, key: Key) -> AnyValue:
        kind, of = key
        if kind != "primal" or of not in self.replay_columns:
            return super().recompute(key)
        loop = self.flow.loop_of(of.block)
        assert loop is not None
        column = self.b.load(PTR, self.replay_columns[of], "", 8)
        made = Load(of.type, self.b.gep(of.type, column, [self._index(loop)], flags=("inbounds",)), 0)
        made.align = self.facts.layout.alloc_size(of.type)
        mark(self.module, made, "tape")
        return self.b.insert(made, f"{of.name}.replayed")
