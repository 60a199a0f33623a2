"""The reverse sweep: blocks run backwards (Griewank and Walther, Evaluating Derivatives, ch. 3.2).

Each block of the primal that matters has a reverse block. At its end the phis hand their adjoints to the values they
chose, and control goes where the plan says it came from; a loop is entered with its index at the last iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from llgrad.analysis.cfg.flow import Loop
from llgrad.autodiff.emit import helpers, tape
from llgrad.autodiff.recipes.selected_values import choice_sides
from llgrad.autodiff.requests.request import ReverseCallee
from llgrad.autodiff.sweeps.adjoints import Leaf
from llgrad.autodiff.sweeps.deferred_adjoints_writer import Postponing
from llgrad.autodiff.sweeps.fused_iterations import Iteration
from llgrad.autodiff.sweeps.primal_values import Place
from llgrad.ir.build import Builder, const_int, i64
from llgrad.ir.types import (
    I1,
    I8,
    I64,
    PTR,
    IntType,
)
from llgrad.ir.values import (
    AnyValue,
    Block,
    Phi,
    Switch,
)

Taken = tuple[Phi, int, list[Leaf], AnyValue | None]  # the adjoint of a phi in one lane, and whether it is used


class ReverseSweep(Postponing):
    """Writes the reverse sweep of `source` into `target`: after the recording sweep (combined) or alone (split)."""

    def write(
        self,
        callee: ReverseCallee,
        cells: Block,
        start: Block,
        seeds: Sequence[AnyValue],
        finish: Callable[[Builder, ReverseSweep], None],
    ) -> None:
        """`cells` is the target's entry block, still open, for stack cells; `start` where the sweep begins.

        `seeds` are the adjoints of an active result.
        """
        self.callee, self.cells, self.start = callee, Builder(cells, self.names), start
        self.finish = finish
        self.adjoints, self.nowhere, self.zeros = {}, {}, {}
        self.cut, self.aside, self.waiting = None, {}, {}
        self.notes, self.use = {}, None
        self.runs: dict[Block, Iteration] = {}  # latch of a fused loop -> its forward half
        self.unwound: dict[Block, Block] = {}  # reverse blocks of calls that ended with a throw: what precedes these
        last = self.plan.last
        assert last is not None
        visited = self._visit_order(last)
        for loop in self.plan.loops:
            self.index[loop] = self.cells.alloca(I64, f"{loop.header.name}.i.rev")
            nest = self.plan.nests.get(loop)
            if nest is not None and nest.chunked:
                self.chunk[loop] = self.cells.alloca(PTR, f"{loop.header.name}.chunk.rev")
        self._find_entries(visited)
        self.make_columns()
        self.make_ahead()
        self.make_replays()
        self.make_postponed()
        self.at(start, None)
        returned = last.terminator.operands[0] if last.terminator.operands else None
        if returned is not None and self.facts.active(returned):
            for lane in self.each_lane() if seeds else ():
                self.note_given(last.terminator, returned, seeds[lane])
                self.add_whole(returned, seeds[lane])
                self.use = None
        self.goto(None, last)
        for block in visited:
            self.at(self.blocks[block], self.flow.loop_of(block))
            self.catch_up(block)
            for i in reversed(block.instructions):
                if not isinstance(i, Phi):
                    self.instruction(i)
                if i.is_terminator and block in self.unwound:
                    self.b.branch(self.unwound[block])
                    self.at(self.unwound[block], self.flow.loop_of(block))
            self.settle()
            self.leave(block)

    def _visit_order(self, last: Block) -> list[Block]:
        order: list[Block] = []
        work = [self.plan.back(last)]
        while work:
            block = work.pop()
            if block in self.blocks:
                continue
            self.blocks[block] = self.new_block(f"{block.name}.rev")
            if self.facts.is_caught(block.terminator):
                self.unwound[block] = self.new_block(f"{block.name}.unwound.rev")
            order.append(block)
            work += self.plan.predecessors(block)
        return order

    def _find_entries(self, visited: list[Block]) -> None:
        """Loops that the reverse sweep enters in one place only get an entry block for what is constant in them."""
        ways: dict[Loop, int] = {}
        last = self.plan.back(self.plan.last) if self.plan.last else None
        edges = [(b, p) for b in visited for p in self.plan.predecessors(b)]
        for source, target in [(None, last), *edges]:
            for loop in self._entered(source, target):
                ways[loop] = ways.get(loop, 0) + 1
        self.single_entry = {loop for loop, n in ways.items() if n == 1}

    def _entered(self, source: Block | None, target: Block | None) -> list[Loop]:
        """The loops that the reverse sweep enters when it goes from `source` to `target`, outermost first."""
        found: list[Loop] = []
        loop = self.flow.loop_of(target) if target is not None else None
        while loop is not None:
            if source is None or source not in loop.blocks:
                found.insert(0, loop)
            loop = loop.parent
        return found

    # --- edges

    def goto(self, source: Block | None, target: Block) -> None:
        """Leave the current block for the reverse of `target`, entering loops at their last iteration."""
        entered = self._entered(source, target)
        for loop in entered:
            if loop in self.single_entry:
                self.entries[loop] = self.place.block
            if loop in self.plan.fused:
                self._enter_fused(loop)
                continue
            self.b.store(self.lookup(("count", loop)), self.index[loop], 8)
            if loop in self.chunk:
                self.b.store(self.lookup(("block", loop)), self.chunk[loop], 8)
            if loop in self.strips:
                self.start_strip(loop, self.lookup(("count", loop)))
            self.begin_replays(loop)
            if loop in self.replays:
                self.replay(loop)
            self.place = Place(self.place.block, loop)
        if target in self.runs:
            self.b.branch(self.runs[target].start)
            return
        inner = self.flow.loop_of(target)
        if inner in self.plan.ahead:
            self.rehearse(inner, inner in entered)
            return
        thrown = source is not None and target in self.unwound and source is target.terminator.targets[1]
        self.b.branch(self.unwound[target] if thrown else self.blocks[target])

    def _enter_fused(self, loop: Loop) -> None:
        """Its iterations run forwards, each with its reverse behind it."""
        assert loop.latch is not None
        if loop.latch not in self.runs:
            self.runs[loop.latch] = Iteration(self, self.plan.fused[loop])
            self.runs[loop.latch].write_iteration()
        self.runs[loop.latch].enter()
        self.b.store(i64(0), self.index[loop], 8)
        self.place = Place(self.place.block, loop)

    def _back(self, block: Block, loop: Loop, index: AnyValue, taken: list[Taken]) -> None:
        """To the reverse of the iteration before; in a fused loop, to the one after."""
        assert loop.latch is not None
        step = "add" if loop in self.plan.fused else "sub"
        self.b.store(self.b.binary(step, index, i64(1)), self.index[loop], 8)
        self._edge(block, loop.latch, taken)

    def leave(self, block: Block) -> None:
        """The end of a reverse block: phis hand their adjoints to the predecessors' values, control goes back."""
        loop = self.flow.loop_of(block)
        active = [phi for phi in block.phis() if self.facts.active(phi)]
        taken = [(phi, lane, self.take(phi), self.take_note(phi)) for phi in active for lane in self.each_lane()]
        if block is self.source.entry:
            self.finish(self.b, self)
            return
        preds = self.flow.predecessors[block]
        if loop is not None and loop.header is block:
            self._leave_header(block, loop, taken)
        elif len(preds) == 1:
            self._edge(block, preds[0], taken)
        elif block in self.plan.choices:
            self._leave_choice(block, preds, taken)
        else:
            self.goto(block, self.plan.predecessors(block)[0])

    def _edge(self, block: Block, pred: Block, taken: list[Taken]) -> None:
        for phi, self.lane, leaves, self.use in taken:
            v = phi.incoming_from(pred)
            if self.facts.active(v):
                self.add(v, leaves)
        self.lane, self.use = 0, None
        self.goto(block, self.plan.back(pred))

    def _leave_header(self, block: Block, loop: Loop, taken: list[Taken]) -> None:
        assert loop.preheader is not None and loop.latch is not None
        index = self.b.load(I64, self.index[loop], f"{block.name}.i", 8)
        if loop in self.chunk:
            chunk = self.b.load(PTR, self.chunk[loop], "", 8)
            how = "llgrad.tape.older" if self.request.repeatable else "llgrad.tape.unchunk"
            older = self.b.call(helpers.function(self.module, how), [self.arena, chunk, index])
            self.b.store(older, self.chunk[loop], 8)
        if loop in self.strips:
            within, added = self.new_block(f"{block.name}.within.rev"), self.new_block(f"{block.name}.strip.rev")
            self.b.branch_if(self.strip_is_done(loop, index), added, within)
            self.at(within, loop)
            self._back(block, loop, index, taken)
            self.at(added, loop)
            self.add_columns(loop)
        forwards = loop in self.plan.fused
        end = self.lookup(("count", loop)) if forwards else i64(0)
        first = self.b.icmp("eq", index, end, f"{block.name}.{'last' if forwards else 'first'}")
        out, again = self.new_block(f"{block.name}.out.rev"), self.new_block(f"{block.name}.again.rev")
        nest = self.plan.nests.get(loop)
        held = self.lookup(("block", loop)) if nest is not None and not nest.chunked else None
        self.b.branch_if(first, out, again)
        self.at(out, loop)
        self.end_replays(loop)
        if forwards:
            self.runs[loop.latch].release_aside()
        if held is not None and not self.request.repeatable:
            self.b.call(tape.release(self.module), [self.arena, held])
        self.place = Place(out, loop.parent)
        self._edge(block, loop.preheader, taken)
        self.at(again, loop)
        if loop in self.strips:
            self.start_strip(loop, self.b.binary("sub", index, i64(1)))
        self._back(block, loop, index, taken)

    def _leave_choice(self, block: Block, preds: Iterable[Block], taken: list[Taken]) -> None:
        choice = self.lookup(("choice", block))
        edges = [(p, self.new_block(f"{p.name}.to.{block.name}.rev")) for p in preds]
        if isinstance(choice.type, IntType) and choice.type == I1:
            sides = choice_sides(self.flow, block)
            assert sides is not None
            table = dict(edges)
            self.b.branch_if(choice, table[sides[0]], table[sides[1]])
        else:
            cases = [(const_int(I8, n), e) for n, (_, e) in enumerate(edges)]
            self.b.insert(Switch(choice, edges[0][1], cases[1:]))
        loop = self.flow.loop_of(block)
        for pred, edge in edges:
            self.at(edge, loop)
            self._edge(block, pred, taken)
