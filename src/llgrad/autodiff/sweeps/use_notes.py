"""Whether values are used, noted as the reverse sweep runs: `%x.used` beside `%x.adj` (see `speculated`).

The note of a value is a truth value: of a vector a vector of such, of a complex number one. It is set by whoever
hands an adjoint back to the value, and cleared with the adjoint at its definition. A user that is itself of those that
may not be used hands its own note back; a `select` or a choice of a rule, only to what was chosen.
A variable of the function's own (`given_zeros.is_variable`) has a note, too, which loads set and stores take.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from llgrad.autodiff.emit.expressions import all_true, strong_product, strong_zero, truth
from llgrad.autodiff.sweeps.primal_values import ForwardValues
from llgrad.ir.build import FALSE, TRUE, Builder, Names, zero
from llgrad.ir.module import Module
from llgrad.ir.types import I1, VOID, FunctionType, Type
from llgrad.ir.values import AnyValue, Block, Function, Instruction
from llgrad.transforms.symbols.address_taken import DISPATCH


class Used(ForwardValues):
    """Writes notes at the current place."""

    cells: Builder
    notes: dict[tuple[int, AnyValue], AnyValue]  # (lane, value) -> stack cell
    use: AnyValue | None  # is the instruction used that is reversed? None: yes

    def note(self, v: AnyValue) -> None:
        """An adjoint is handed back to `v`: it is used if the instruction is that does it."""
        if v in self.plan.unused.tracked and self.use is not FALSE:
            cell, t = self._note(v), truth(v.type)
            use = self.use if self.use is not None else all_true(t)
            self.b.store(self.b.binary("or", use, self.b.load(t, cell, f"{getattr(v, 'name', 'x')}.used", 1)), cell, 1)

    def take_note(self, i: Instruction, adjoints: Sequence[AnyValue] = ()) -> AnyValue | None:
        """Is `i` used? None: yes. The note is clear from now on. `adjoints`: what says it where there is no note."""
        noted = self.cleared(i)
        given = i in self.plan.unused.given[self.request.made]
        if noted is not None and not given:
            return noted
        asked = any(o in self.plan.unused.tracked for o in i.operands)
        if not adjoints or not asked or not (given or i in self.plan.unused.candidates):
            return None
        return functools.reduce(lambda a, b: self.b.binary("or", a, b), map(self._is_other, adjoints))

    def _is_other(self, adjoint: AnyValue) -> AnyValue:
        """Is it another number than zero?"""
        return self.b.fcmp("une", adjoint, zero(adjoint.type))

    def note_given(self, user: Instruction, v: AnyValue, adjoint: AnyValue) -> None:
        """`user` hands an adjoint back to `v`, which is used, unless a given zero says that it is not."""
        given = (user, v) in self.plan.unused.handed[self.request.made] and v in self.plan.unused.tracked
        if given and self.use is None and adjoint.type == v.type:
            self.use = self._is_other(adjoint)

    def note_of(self, a: AnyValue) -> AnyValue:
        """Is an argument used? For the end of the sweep."""
        return self.b.load(I1, self._note(a), "", 1) if a in self.plan.unused.tracked else TRUE

    def cleared(self, i: AnyValue) -> AnyValue | None:
        """The note of a value or of a variable, which is clear from now on; None where there is none."""
        if i not in self.plan.unused.tracked:
            return None
        cell, t = self._note(i), truth(i.type)
        found = self.b.load(t, cell, f"{getattr(i, 'name', 'x')}.used", 1)
        self.b.store(zero(t), cell, 1)
        return found

    def keep_note(self, i: Instruction) -> list[AnyValue]:
        """The note of `i` in each lane, to be put back (`put_note`) where `i` is reversed in two parts."""
        if i not in self.plan.unused.tracked:
            return []
        return [self.b.load(truth(i.type), self._note(i), f"{i.name}.used", 1) for _ in self.each_lane()]

    def put_note(self, i: Instruction, kept: list[AnyValue]) -> None:
        for lane in self.each_lane() if kept else ():
            self.b.store(kept[lane], self._note(i), 1)

    def _note(self, v: AnyValue) -> AnyValue:
        place = self.lane, v
        if place not in self.notes:
            self.notes[place] = self.cells.alloca(truth(v.type), f"{getattr(v, 'name', 'x')}.used")
            self.cells.store(zero(truth(v.type)), self.notes[place], 1)
        return self.notes[place]

    def where_chosen(self, use: AnyValue | None, condition: AnyValue, way: bool, t: Type) -> AnyValue:
        """Is what a choice of type `t` takes used, where the condition is as `way` says?"""
        yes, no = use if use is not None else all_true(truth(t)), zero(truth(t))
        return self.b.select(condition, yes, no) if way else self.b.select(condition, no, yes)

    def where_taken(self, factor: AnyValue) -> AnyValue:
        """Is an operand used that a rule takes or leaves, with this slope?"""
        taken = self.b.fcmp("une", factor, zero(factor.type))
        return taken if self.use is None else self.b.binary("and", taken, self.use)

    def product(self, i: Instruction, factor: AnyValue, seed: AnyValue, product: AnyValue) -> AnyValue:
        """The product of both, or zero where the seed is zero for a reason that counts."""
        if self.request.strong_zero:
            return strong_product(self.b, factor, seed, product)
        if i in self.plan.unused.given[self.request.made]:
            return strong_zero(self.b, seed, product)
        if i in self.plan.unused.chained[self.request.made] and i in self.plan.unused.tracked:
            return strong_zero(self.b, seed, product, self.use)
        if i in self.plan.unused.guarded:
            return strong_zero(self.b, seed, product, self.use if i in self.plan.unused.tracked else None)
        return product


def either(module: Module, used: Function, unused: Function) -> Function:
    """A function that calls one of two reverse sweeps, by whether the result of what they reverse is used."""
    name = f"{DISPATCH}.used.{used.name}"
    if name in module.globals:
        return module.function(name)
    t = used.function_type
    target = Function(name, FunctionType(t.result, (I1, *t.params)), ["used", *(f"a{n}" for n in range(len(t.params)))])
    target.linkage, target.attributes = "internal", used.attributes
    module.add(target)
    names = Names(a.name for a in target.arguments)
    start, *ways = (Block(names.fresh(n), target) for n in ("entry", "yes", "no"))
    target._blocks += [start, *ways]
    Builder(start, names).branch_if(target.arguments[0], *ways)
    for way, one in zip(ways, (used, unused), strict=True):
        b = Builder(way, names)
        made = b.call(one, target.arguments[1:])
        b.ret(None if t.result == VOID else made)
    return target
