"""What recurrences need of libm, computed strip by strip in loops that come before their reverse: see `precompute`."""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Loop
from llgrad.autodiff.facts.reverse_uses import Key, Partials
from llgrad.autodiff.fusion.precompute import STRIP, Factor
from llgrad.autodiff.sweeps.adjoint_columns_writer import Collecting
from llgrad.autodiff.sweeps.adjoints import RuleValues
from llgrad.ir.build import i64
from llgrad.ir.types import I64, ArrayType, Type
from llgrad.ir.values import AnyValue, Instruction
from llgrad.rules.expression import Expr


class Rehearsing(Collecting):
    """Writes the loops that compute ahead, and reads their columns."""

    def make_ahead(self) -> None:
        """One column for each value and each partial derivative."""
        self.ahead, self.rehearsals, self.rehearsing = {}, {}, False
        for item in (item for found in self.plan.ahead.values() for item in found.items):
            i = item if isinstance(item, Instruction) else item[0]
            self.ahead[item] = self.cells.alloca(ArrayType(i.type, STRIP), f"{i.name}.ahead", 64)

    def rehearse(self, loop: Loop, entered: bool) -> None:
        """To the reverse of an iteration, where a strip begins by what is computed ahead of it."""
        if loop not in self.rehearsals:
            self._write_rehearsal(loop)
        if entered:
            self.b.branch(self.rehearsals[loop])
            return
        index = self.b.load(I64, self.index[loop], "", 8)
        begins = self.b.icmp("eq", self.b.binary("and", index, i64(STRIP - 1)), i64(STRIP - 1))
        self.b.branch_if(begins, self.rehearsals[loop], self.blocks[loop.header])

    def _write_rehearsal(self, loop: Loop) -> None:
        here, name = self.place, loop.header.name
        start, again, done = (self.new_block(f"{name}.{word}.rev") for word in ("rehearsal", "ahead", "strip"))
        self.rehearsals[loop] = start
        self.at(start, loop)
        last = self.b.load(I64, self.index[loop], "", 8)
        self.b.store(self.b.binary("and", last, i64(-STRIP)), self.index[loop], 8)
        self.b.branch(again)
        self.at(again, loop)
        self.rehearsing = True
        for v in self.plan.ahead[loop].values:
            self.b.store(self.get(v), self._in_strip(v), 0)
        known: dict[Instruction, RuleValues] = {}
        for i, r, k in self.plan.ahead[loop].factors:
            shape = self.plan.effects[i]
            assert isinstance(shape, Partials)
            partial = shape.rule.partials[r][k]
            assert partial is not None
            values = known.setdefault(i, RuleValues(self, i, shape))
            self.b.store(super().factor((i, r, k), partial, i.type, values), self._in_strip((i, r, k)), 0)
        self.rehearsing = False
        index = self.b.load(I64, self.index[loop], "", 8)
        self.b.store(self.b.binary("add", index, i64(1)), self.index[loop], 8)
        self.b.branch_if(self.b.icmp("eq", index, last), done, again)
        self.at(done, loop)
        self.b.store(last, self.index[loop], 8)
        self.b.branch(self.blocks[loop.header])
        self.at(here.block, here.loop)

    def _in_strip(self, item: Instruction | Factor) -> AnyValue:
        """Where the item of the current iteration is."""
        i = item if isinstance(item, Instruction) else item[0]
        loop = self.flow.loop_of(i.block)
        assert loop is not None
        within = self.b.binary("and", self._index(loop), i64(STRIP - 1))
        return self.b.gep(i.type, self.ahead[item], [within], flags=("inbounds",))

    def recompute(self, key: Key) -> AnyValue:
        kind, of = key
        if kind == "primal" and of in self.ahead and not self.rehearsing:
            return self.b.load(of.type, self._in_strip(of), f"{of.name}.ahead", 0)
        return super().recompute(key)

    def factor(self, place: Factor, partial: Expr, t: Type, values: RuleValues) -> AnyValue:
        if place in self.ahead and not self.rehearsing:
            return self.b.load(t, self._in_strip(place), f"{place[0].name}.partial", 0)
        return super().factor(place, partial, t, values)
