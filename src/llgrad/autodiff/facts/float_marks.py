"""Where floats and numbers share memory: what is tested as a derivative runs, and which stores make marks.

How tests and marks are written: `autodiff.emit.float_checks`. Memory that is a float at one time and a number at
another is found by `analysis.valueflow.tagged_unions`, numbers that are stored over parts of floats by
`analysis.memory.partial_overwrites`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from llgrad.analysis.activity.activity import Activity
from llgrad.analysis.memory.call_effects import is_copy
from llgrad.analysis.memory.mod_ref import MemoryObject
from llgrad.analysis.memory.partial_overwrites import Overwriting, Place
from llgrad.analysis.objects import size_of
from llgrad.analysis.solver import reach
from llgrad.analysis.types.kinds import Kinds
from llgrad.autodiff.emit.float_checks import MARKS
from llgrad.errors import KindError
from llgrad.ir.types import FloatType, IntType, scalar
from llgrad.ir.values import AnyValue, Argument, Binary, Call, Cast, Instruction, Load, Store, Unary


class Marked:
    """The answers for one root request."""

    def __init__(self, activity: Activity, kinds: Kinds) -> None:
        self.activity, self.kinds, self.memory = activity, kinds, activity.memory
        self.layout = self.memory.module.layout

    def hides_float(self, i: Store) -> bool:
        """Does `i` write an integer (zero is one, too, to LLVM) where a float is kept at other times?"""
        if not isinstance(scalar(i.value.type), IntType) or self.kinds.is_control(i):
            return False
        size = next((a.size for a in self.memory.writes(i)), None)
        if self.kinds.clashes(i.pointer, i.value) or self.kinds.memory(i.pointer, size).may_hold_float:
            return True
        return i in self._overwriting.over

    def tested(self, i: Instruction) -> list[tuple[AnyValue, int, FloatType]]:
        """What `i` takes for a number though it may be an active float: values, and for a load the pointer, with the
        float's place behind it."""
        if not self.activity.tests_number(i):
            return []
        if isinstance(i, Load):
            place = self.kinds.float_around(i.pointer, self.layout.size(i.type))
            assert place is not None
            return [(i.pointer, *place)]
        formats = ((v, self.kinds.value(v).format) for v in i.operands if self.activity.active(v))
        return [(v, 0, t) for v, t in formats if t is not None]

    def is_sure_float(self, v: AnyValue) -> bool:
        """Is `v` known to be no number that is moved as a float, in a program that may take floats for numbers?"""
        if not isinstance(v.type, FloatType) or not (self._objects or self._in_registers):
            return False
        if isinstance(v, Load):
            return self._objects.isdisjoint(self.memory.points_to(v.pointer))
        return isinstance(v, Binary | Unary | Call | Argument) or (isinstance(v, Cast) and v.opcode != "bitcast")

    def part_overwritten(self, i: Store) -> Place | None:
        """Of a store of a number over a part of what is read as a float, or is taken for a number: that float."""
        if not isinstance(i.value.type, IntType) or not self.activity.is_inert(i) or self.kinds.is_control(i):
            return None
        if not self.activity.shadowed(i.pointer):
            return None
        if i in self._torn:
            self._refuse_cramped(i, self._torn[i][1])
            return self._torn[i]
        if self._by_turns.isdisjoint(self.memory.points_to(i.pointer)) or not self.memory.is_own(i):
            return None
        size = self.layout.size(i.value.type)
        place = self.kinds.float_around(i.pointer, size)
        if place is None or place[1].bits // 8 <= size:
            return None
        self._refuse_cramped(i, place[1])
        return place

    def _refuse_cramped(self, i: Store, t: FloatType) -> None:
        """Raise where a mark might reach beyond the shadow of a variable: those of allocations have room."""
        for o in self.memory.points_to(i.pointer):
            if o.is_external and (size_of(o, self.layout) or 0) % (t.bits // 8):
                raise KindError(
                    f"a number is stored over what is read as a float elsewhere, perhaps at the end of {o}",
                    span=self.memory.module.place(i),
                    cause=f"the variable has no room for a whole number of {t}s, nor has its shadow",
                    fix="give numbers and floats functions of their own, or make the variable larger",
                )

    def may_hold(self, allocation: AnyValue) -> bool:
        """May numbers that are stored in memory allocated here make marks, which are wider?"""
        return any(o.site is allocation for o in self._objects)

    def may_be_written(self, i: Store) -> bool:
        """Does `i` write to memory where there are floats and numbers by turns?"""
        return not self._objects.isdisjoint(self.memory.points_to(i.pointer))

    @cached_property
    def _objects(self) -> frozenset[MemoryObject]:
        """What may hold marks, by copies, too."""
        start = self._by_turns | {o for i in self._torn for o in self.memory.points_to(i.pointer)}
        copied: dict[MemoryObject, set[MemoryObject]] = {}
        for i in (i for f in self.memory.functions for i in f.instructions() if isinstance(i, Call) and is_copy(i)):
            together = {o for a in (*self.memory.reads(i), *self.memory.writes(i)) for o in a.objects}
            for o in together:
                copied.setdefault(o, set()).update(together)
        return frozenset(reach(start, lambda o: copied.get(o, ()))) if start else start

    @cached_property
    def _in_registers(self) -> bool:
        """Are there values that are floats and numbers by turns?"""
        return any(self.kinds.is_by_turns(i) for f in self.memory.functions for i in f.instructions())

    @cached_property
    def _by_turns(self) -> frozenset[MemoryObject]:
        loads = [i for f in self.memory.functions for i in f.instructions() if isinstance(i, Load)]
        return frozenset(o for i in loads if self.kinds.is_by_turns(i) for o in self.memory.points_to(i.pointer))

    @cached_property
    def _torn(self) -> Mapping[Store, Place]:
        return {i: place for i, place in self._overwriting.torn.items() if place[1].name in MARKS}

    @cached_property
    def _overwriting(self) -> Overwriting:
        """What integers are stored over."""
        functions = self.activity.functions
        stores = [i for f in functions for i in f.instructions() if isinstance(i, Store)]
        numbers = [i for i in stores if isinstance(i.value.type, IntType) and self.activity.shadowed(i.pointer)]
        inert = [i for i in numbers if self.activity.is_inert(i) and not self.kinds.is_control(i)]
        return Overwriting(self.memory, self.kinds, functions, inert)
