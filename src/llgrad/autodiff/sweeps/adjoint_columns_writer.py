"""Adjoints of loads, collected in columns, strip by strip, and added to shadow memory behind each: see
`adjoint_columns`."""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Loop
from llgrad.autodiff.fusion.adjoint_columns import APART, STRIP, Collected
from llgrad.autodiff.sweeps.adjoints import Adjoints, Leaf
from llgrad.ir.build import const_int, i64, zero
from llgrad.ir.types import I64, ArrayType, Type
from llgrad.ir.values import AnyValue, Load


class Collecting(Adjoints):
    """Writes columns, and the loops that add them."""

    def make_columns(self) -> None:
        """Columns are shared by loops: one innermost loop runs at a time."""
        self.columns, self.strips = {}, {}
        made: dict[tuple[Type, int, int], AnyValue] = {}
        for loop, collected in self.plan.scattered.items():
            self.strips[loop] = self.cells.alloca(I64, "strip.last"), self.cells.alloca(I64, "strip.first")
            own = list(dict.fromkeys(c.column for c in collected))
            for c in collected:
                keys = [(c.load.type, own.index(c.column), lane) for lane in self.each_lane()]
                for key in keys:
                    if key not in made:
                        cells = ArrayType(c.load.type, STRIP + 2 * APART)
                        made[key] = self.cells.alloca(cells, f"{c.column.name}.column", 64)
                self.columns[c.load] = [made[key] for key in keys]

    def collect(self, i: Load, leaf: Leaf) -> None:
        loop = self.place.loop
        assert loop is not None
        first = self.b.load(I64, self.strips[loop][1], "", 8)
        self.b.store(leaf[2], self._in_column(i, self.b.binary("sub", self._index(loop), first)), 0)

    def _in_column(self, i: Load, at: AnyValue, shift: int = 0) -> AnyValue:
        """Where the adjoint of a load is, `at` iterations behind the start of the strip."""
        at = self.b.binary("add", at, i64(APART + shift))
        return self.b.gep(i.type, self.columns[i][self.lane], [at], flags=("inbounds",))

    def start_strip(self, loop: Loop, last: AnyValue) -> None:
        """The reverse of iteration `last` comes next."""
        first = self.b.binary("and", last, i64(-STRIP))
        for value, cell in zip((last, first), self.strips[loop], strict=True):
            self.b.store(value, cell, 8)

    def strip_is_done(self, loop: Loop, index: AnyValue) -> AnyValue:
        """Was `index` the first iteration of the strip, the last to be run backwards?"""
        return self.b.icmp("eq", index, self.b.load(I64, self.strips[loop][1], "", 8))

    def add_columns(self, loop: Loop) -> None:
        """The strip is done: add what has been collected, the loads of a group together."""
        last, first = (self.b.load(I64, cell, "", 8) for cell in self.strips[loop])
        length = self.b.binary("add", self.b.binary("sub", last, first), i64(1))
        groups: dict[Load, list[Collected]] = {}
        for c in self.plan.scattered[loop]:
            groups.setdefault(c.group, []).append(c)
        for group in groups.values():
            for _ in self.each_lane():
                self._add_group(loop, sorted(group, key=lambda c: c.shift), length, first)

    def _add_group(self, loop: Loop, group: list[Collected], length: AnyValue, first: AnyValue) -> None:
        """Add the columns of loads that read the same places: each place is added to once."""
        i, step, apart = group[0].load, group[0].step, group[-1].shift
        self._end_with_zeros(group, length, apart)
        self.b.store(first, self.index[loop], 8)
        start = self.get_shadow(i.pointer) if step is not None else None
        again, done = (self.new_block(f"{i.name}.{word}.rev") for word in ("add", "added"))
        at, end = self.cells.alloca(I64, "place"), self.b.binary("add", length, i64(apart))
        self.b.store(i64(0), at, 8)
        self.b.branch(again)
        self.at(again, loop)
        place = self.b.load(I64, at, "", 8)
        if start is None:
            self.b.store(self.b.binary("add", first, place), self.index[loop], 8)
            start = self.get_shadow(i.pointer)
        elif step is not None:
            start = self.b.offset(start, self.b.binary("mul", place, const_int(I64, step)))
        total: AnyValue | None = None
        for c in group:
            found = self.b.load(i.type, self._in_column(c.load, place, -c.shift), f"{c.load.name}.adj", 0)
            total = found if total is None else self.adjoint_op("fadd", total, found)
        assert total is not None
        self.accumulate(start, i.type, total, shadow=True)
        next = self.b.binary("add", place, i64(1))
        self.b.store(next, at, 8)
        self.b.branch_if(self.b.icmp("eq", next, end), done, again)
        self.at(done, loop)

    def _end_with_zeros(self, group: list[Collected], length: AnyValue, apart: int) -> None:
        """What the others of the group find beyond the ends of a column."""
        columns = {self.columns[c.load][self.lane]: c.load for c in group}
        for i in columns.values():
            for n in range(apart):
                self.b.store(zero(i.type), self._in_column(i, i64(0), -1 - n), 0)
                self.b.store(zero(i.type), self._in_column(i, length, n), 0)
