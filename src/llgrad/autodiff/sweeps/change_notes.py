"""Whether values depend on what changes, noted as the derivative runs: `%x.changes` beside `%x.tan` (see
`zeroed_tangents`).

A note is a truth value (a vector of such for a vector), in each lane of the derivative. What has none depends on it.
"""

from __future__ import annotations

from llgrad.autodiff.emit.expressions import all_true, truth
from llgrad.autodiff.facts.reverse_uses import operand_parts
from llgrad.autodiff.requests.request import noted_arguments
from llgrad.autodiff.sweeps.primal_copy import Sweep
from llgrad.autodiff.sweeps.zeroed_tangents import Notes, noted
from llgrad.ir.build import FALSE, zero
from llgrad.ir.types import I1, VectorType
from llgrad.ir.values import Alloca, AnyValue, Argument, Call, Instruction, Load, Phi, Select, Store
from llgrad.rules.rule import Rule


class Changing(Sweep):
    """Writes notes at the current place."""

    notes: Notes
    changes: list[dict[AnyValue, AnyValue]]  # in each lane
    cells: dict[tuple[int, AnyValue], AnyValue]  # (lane, variable) -> stack cell

    def begin_notes(self) -> None:
        """To be called when the arguments are bound."""
        self.changes, self.cells = [{} for _ in range(self.width)], {}
        nothing = Notes(frozenset(), frozenset())
        self.notes = nothing if self.request.sets else noted(self.facts, self.source, self.request.notes)
        given = iter(self.target.arguments[len(self.target.arguments) - self.width * len(self._floats()) :])
        for a in self._floats() if self.request.notes else ():
            for _ in self.each_lane():
                self.changes[self.lane][a] = next(given)
        before, self.b = self.b, self.stack
        for a in (a for a in self.source.arguments if a in self.notes and a not in self.notes.told):
            for _ in self.each_lane():
                self._compare(a)
        self.b = before

    def _floats(self) -> list[Argument]:
        """The arguments that come with a note, if the request says so."""
        return noted_arguments(self.source, self.request)

    def changes_of(self, v: AnyValue) -> AnyValue:
        """Does `v` depend on what changes?"""
        if v in self.notes:
            return self.changes[self.lane][v]
        return all_true(truth(v.type)) if self.facts.active(v) else zero(truth(v.type))

    def note(self, i: Instruction) -> None:
        """Whatever is no rule: its tangent is written. (`note_rule` is for the others.)"""
        if i in self.notes.leaves and i not in self.changes[self.lane]:
            self._compare(i)
        if i not in self.notes.steps:
            return
        name, table = f"{i.name}.changes", self.changes[self.lane]
        match i:
            case Phi():
                table[i] = self.b.phi(truth(i.type), name=name)
            case Select(condition=c, if_true=a, if_false=b):
                table[i] = self.b.select(self.value(c), self.changes_of(a), self.changes_of(b), name)
            case Load(pointer=variable):
                table[i] = self.b.load(I1, self._cell(variable), name, 1)
            case _:
                table[i] = self.changes_of(i.operands[0])

    def note_store(self, i: Store) -> None:
        """The note of a variable is that of what is stored in it."""
        if isinstance(i.pointer, Alloca) and any(u in self.notes.steps for u in i.pointer.users):
            self.b.store(self.changes_of(i.value), self._cell(i.pointer), 1)

    def _cell(self, variable: AnyValue) -> AnyValue:
        place = self.lane, variable
        if place not in self.cells:
            self.cells[place] = self.stack.alloca(I1, f"{getattr(variable, 'name', 'x')}.changes")
            self.stack.store(FALSE, self.cells[place], 1)
        return self.cells[place]

    def note_rule(self, i: Instruction, rule: Rule, choices: dict[int, AnyValue]) -> None:
        """`choices`: the slopes of operands that the rule takes or leaves."""
        if i in self.notes.leaves:
            self._compare(i)
        if i not in self.notes.steps:
            return
        parts = operand_parts(i, rule, self.facts.entry(i) if isinstance(i, Call) else None)
        lanes = any(lane is not None for _, lane in parts) or len(rule.results) > 1
        t = I1 if lanes else truth(i.type)  # one note for the lanes of complex numbers
        total: AnyValue = zero(t)  # as its tangent is, if no operand with a partial is active
        for k, (v, lane) in enumerate(parts):
            if not rule.depends_on(k) or not self.facts.active(v):
                continue
            one = self.changes_of(v)
            if lane is not None:
                one = self.b.extract_element(one, lane)
            if k in choices and len(rule.results) == 1:
                one = self.b.binary("and", one, self.b.fcmp("une", choices[k], zero(v.type)))
            total = self.b.binary("or", one, total)
        if isinstance(i.type, VectorType) and lanes:
            whole: AnyValue = zero(truth(i.type))
            for n in range(i.type.count):
                whole = self.b.insert_element(whole, total, n)
            total = whole
        self.changes[self.lane][i] = total

    def complete_note(self, phi: Phi) -> None:
        """Fill in the note of a phi."""
        new = self.changes[self.lane].get(phi)
        if isinstance(new, Phi) and not new.operands and phi in self.notes.steps:
            for value, block in phi.incoming():
                if block in self.blocks and (block, phi.block) not in self.dropped:
                    new.add(self.changes_of(value), self.exit_of(block, phi.block))
            if self.prune(new):
                self.changes[self.lane][phi] = all_true(new.type)

    def _compare(self, v: AnyValue) -> None:
        """Where a zero tangent can be believed."""
        tangent = self.shadow(v)
        self.changes[self.lane][v] = self.b.fcmp("une", tangent, zero(tangent.type))
