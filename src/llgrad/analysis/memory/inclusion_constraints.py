"""The terms in which pointer constraints are written: facts, nodes of values, cells of memory, loads and stores.

A fact is an object and a spot in it (`points_to_sets`). Memory of an object is a cell for each word of 8
bytes and one for stores at unknown offsets. `analysis.memory.points_to` says which constraints a program makes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from llgrad.analysis.memory.call_effects import in_common, targets_of
from llgrad.analysis.memory.cells import (
    Cells,
    Range,
    Spot,
    difference,
    moved,
    strided,
    words,
)
from llgrad.analysis.memory.points_to_sets import BITS, FactSets, fact_of, spot_of
from llgrad.analysis.memory.tbaa import Tag, TypeTree
from llgrad.analysis.objects import (
    UNKNOWN,
    WORD,
    MemoryObject,
    carries_pointer,
    constant_targets,
    initial_pointers,
    leaves,
    size_of,
)
from llgrad.analysis.solver import Propagation, Shift
from llgrad.ir.module import Module
from llgrad.ir.types import ArrayType, FloatType, IntType, StructType, Type, VectorType
from llgrad.ir.values import (
    AnyValue,
    Argument,
    ConstAggregate,
    ConstExpr,
    GlobalValue,
    GlobalVariable,
    Instruction,
    Value,
)

_RTTI = ("_ZTI", "_ZTS", "_ZTV", "_ZTT")
"""Type information and tables of virtual functions: they lead to code, and to no data."""
_OF_TYPE_INFOS = "_ZTVN10__cxxabiv1"  # what these tables hold is called by C++'s runtime alone

Nodes = tuple[int, ...]


class Inclusion:
    """Inclusions between the sets of facts at nodes: a node for each leaf of a value and for each cell of memory."""

    def __init__(self, module: Module, null: GlobalVariable | None = None) -> None:
        self.module, self.layout = module, module.layout
        self._null = null  # a variable that holds no pointer when the root is entered
        self._exposed: set[int] = set()  # data that code outside was handed, or found there
        self._sets = FactSets(self._exposed)
        self._flow = Propagation(self._sets)
        self.types = TypeTree(module)
        self._cells = Cells(self._flow, self.types.may_alias)
        self.objects: list[MemoryObject] = []
        self._index: dict[MemoryObject, int] = {}
        self._values: dict[Value, Nodes] = {}
        self._constants: dict[frozenset[int], int] = {}
        self._shared: dict[int, int] = {}  # of an object: what memory that callers may have linked to it holds
        self._in_common = in_common(module)
        self._before: dict[int, int] = {}  # of an object: what it may hold from before the root is entered
        self._scalar: set[int] = set()  # objects that hold no pointers then which copies would move
        self._of_scalars: dict[tuple[int, int], int] = {}  # what is loaded from there, and perhaps elsewhere, by nodes
        self._empty = self._flow.node()
        # Code that is not known: what it hands out, and what it is handed. One fact stands for all data it was handed.
        self._anything = self._sets.anything = self._fact(UNKNOWN)
        self._unknown, self._outside = self._flow.node(), self._cells.cell(self._object(UNKNOWN), None)
        for node in (self._unknown, self._outside):
            self._flow.add(node, {self._anything})

    # --- facts, objects, nodes

    def _raw(self, index: int, spot: Spot) -> int:
        return fact_of(index, spot)

    def _fact(self, obj: MemoryObject, offset: int | None = None) -> int:
        return self._raw(self._object(obj), offset)

    def _object(self, obj: MemoryObject) -> int:
        if obj not in self._index:
            self._index[obj] = len(self.objects)
            self.objects.append(obj)
            if isinstance(obj.site, GlobalVariable) and obj.kind == "global":
                self._initialise(self._index[obj], obj.site)
        return self._index[obj]

    def _initialise(self, index: int, variable: GlobalVariable) -> None:
        """What an initializer stores; what other code may have stored before the root is entered."""
        if self._is_open(variable) and (table := targets_of(variable)) is not None:
            self._before[index] = self._constant(self._targets((g, at) for g, found in table.items() for at in found))
        elif self._is_open(variable):
            inner = self._object(MemoryObject("contents", self._in_common.get(variable, variable)))
            self._before[index] = self._constant({self._raw(inner, None)})
            self._flow.add(self._cells.cell(inner, None), {self._raw(inner, None)})
        if variable.initializer is None and variable.name.startswith(_RTTI):
            if not variable.name.startswith(_OF_TYPE_INFOS):
                self._flow.add(self._cells.cell(index, None), {self._anything})  # code of a library
        elif variable.initializer is not None:
            for at, g, offset in initial_pointers(variable.initializer, self.layout):
                self._flow.add(self._cells.cell(index, at // WORD), self._targets({(g, offset)}))

    def _is_open(self, variable: GlobalVariable) -> bool:
        """May it hold pointers that other code has stored before the root is entered?"""
        elsewhere = variable.initializer is None  # then its length may be, too
        mutable = (not variable.constant or elsewhere) and not variable.name.startswith(_RTTI)
        return mutable and variable is not self._null and _may_hold_pointers(variable.value_type, elsewhere)

    def _targets(self, found: Iterable[tuple[GlobalValue | None, int | None]]) -> set[int]:
        return {self._fact(UNKNOWN) if g is None else self._fact(MemoryObject("global", g), at) for g, at in found}

    def _objects_of(self, facts: Iterable[int]) -> set[int]:
        return {f >> BITS for f in facts}

    def _new_nodes(self, t: Type) -> Nodes:
        return tuple(self._flow.node() for _ in leaves(t, self.layout))

    def _nodes(self, value: AnyValue) -> Nodes:
        """A node for each leaf of the value."""
        if isinstance(value, (Argument, Instruction)):
            found = self._values.get(value)
            if found is None:
                found = self._values[value] = self._new_nodes(value.type)
            return found
        if isinstance(value, GlobalValue):
            return (self._constant(self._targets(constant_targets(value, self.layout))),)
        if isinstance(value, ConstAggregate):
            return self._aggregate(value)
        if isinstance(value, ConstExpr):
            return (self._constant(self._targets(constant_targets(value, self.layout))),)
        return (self._empty,)

    def _aggregate(self, value: ConstAggregate) -> Nodes:
        parts = leaves(value.type, self.layout)
        if len(parts) == 1 or not carries_pointer(value.type):
            return (self._constant(self._targets(constant_targets(value, self.layout))),)
        at: dict[int, set[int]] = {}
        for offset, g, inside in initial_pointers(value, self.layout):
            at.setdefault(offset, set()).update(self._targets({(g, inside)}))
        return tuple(self._constant(at.get(leaf.offset, set())) for leaf in parts)

    def _constant(self, facts: set[int]) -> int:
        if not facts:
            return self._empty
        key = frozenset(facts)
        if key not in self._constants:
            node = self._constants[key] = self._flow.node()
            self._flow.add(node, key)
        return self._constants[key]

    def _copy(self, source: Nodes, target: Nodes, by: Shift = 0) -> None:
        if len(source) == len(target):
            pairs = list(zip(source, target, strict=True))
        else:
            pairs = [(s, t) for s in source for t in target]
        for s, t in pairs:
            self._flow.edge(s, t, by)

    def _forwards(self, source: int, target: int, stride: int, start: int) -> None:
        """`target` points as many bytes after `source`, never before it, as differ from `start` by strides.

        An object that has room for one or two has no others: so little is exact. (A pointer may point to its end.)
        """
        start %= stride
        by = strided(stride, start)

        def move(facts: set[int]) -> None:
            found = set()
            for fact in facts:
                spot, size = spot_of(fact), size_of(self.objects[fact >> BITS], self.layout)
                if isinstance(spot, int) and size is not None and 0 < size - spot - start <= 2 * stride:
                    found |= {self._raw(fact >> BITS, at) for at in range(spot + start, size + 1, stride)}
                else:
                    found.add(self._sets.shift(fact, by))
            self._flow.add(target, found)

        self._flow.watch(source, move)

    # --- memory

    def _load(
        self, pointer: int, target: int, at: Shift, size: int, settled: bool = False, tag: Tag | None = None
    ) -> None:
        """`target` gets what the memory that `pointer` points to may hold, `at` bytes further on (None: anywhere).

        `settled`: but not what globals held from before. `tag`: of TBAA.
        """

        def read(facts: set[int]) -> None:
            for fact in facts:
                obj = fact >> BITS
                if obj in self._before and not settled:
                    self._flow.edge(self._before[obj], target)
                elif obj in self._scalar:
                    self._of_scalars[pointer, target] = obj
                if obj in self._shared:
                    self._flow.edge(self._shared[obj], target)
                if self.objects[obj] is UNKNOWN:
                    self._flow.edge(self._unknown, target)
                    continue
                for key in words(moved(spot_of(fact), at), size):
                    self._cells.read(obj, key, target, tag)

        self._flow.watch(pointer, read)

    def _store(self, source: int, pointer: int, at: Shift, size: int, tag: Tag | None = None) -> None:
        """The memory that `pointer` points to may hold what is at `source`."""
        if source == self._empty:
            return

        def write(facts: set[int]) -> None:
            for fact in facts:
                obj = fact >> BITS
                if self.objects[obj].is_code or self.objects[obj].is_constant:
                    continue
                if obj in self._shared:
                    self._flow.edge(source, self._shared[obj])
                for key in words(moved(spot_of(fact), at), size):
                    self._flow.edge(source, self._cells.cell(obj, key, tag))

        self._flow.watch(pointer, write)

    def _transfer(self, source: int, target: int, size: int | None, settled: Collection[int] = ()) -> None:
        """`memcpy`: word by word where the size is known and small, else all that the memory holds.

        `settled`: the words that are not what globals held from before.
        """
        if size is None or size > 64 * WORD:
            self._flow.watch(target, lambda to: self._flow.watch(source, lambda found: self._transfer_all(found, to)))
            return
        for at in range(0, size, WORD):
            between = self._flow.node()
            self._load(source, between, at, WORD, at in settled)
            self._store(between, target, at, WORD)

    def _transfer_all(self, sources: set[int], targets: set[int]) -> None:
        for source in sources:
            for target in targets:
                obj, to = source >> BITS, target >> BITS
                if self.objects[to].is_code or self.objects[to].is_constant:
                    continue
                if self.objects[obj] is UNKNOWN:
                    for node in (self._cells.cell(to, None), self._shared.get(to)):
                        if node is not None:
                            self._flow.edge(self._unknown, node)
                    continue
                between = difference(spot_of(target), spot_of(source))
                self._cells.copy(obj, to, between, self._copied(source, target))
                before = None if obj in self._scalar else self._before.get(obj)
                for node in (before, self._shared.get(obj)):
                    if node is not None:
                        self._flow.edge(node, self._cells.cell(to, None))
                if to in self._shared:
                    self._flow.edge(self._cells.all(obj), self._shared[to])

    def _copied(self, source: int, target: int) -> Range:
        """The bytes of an object that a copy from one place to another may read: as far as both objects reach."""
        start, to = spot_of(source), spot_of(target)
        size, room = (size_of(self.objects[f >> BITS], self.layout) for f in (source, target))
        if not isinstance(start, int):
            return None, size
        ends = [size] if size is not None else []
        ends += [start + room - to] if room is not None and isinstance(to, int) else []
        return start, min(ends, default=None)

    # --- queries, once solved

    def facts(self, value: AnyValue) -> set[int]:
        """What a value, in any of its leaves, may point to."""
        if isinstance(value, (Argument, Instruction)) and value not in self._values:
            return set()
        return self._all_at(self._nodes(value))

    def held(self, obj: MemoryObject) -> set[int]:
        """What pointers in an object may point to."""
        index = self._index.get(obj)
        if index is None:
            return set()
        before = [self._before[index]] if index in self._before else []
        if not self._cells.has(index):
            return self._all_at(before)
        shared = [self._shared[index]] if index in self._shared else []
        return self._all_at([self._cells.all(index), *shared, *before])

    def _all_at(self, nodes: Iterable[int]) -> set[int]:
        """What is known at any of the nodes, with all that code outside may hand out where it is handed out."""
        found: set[int] = set().union(*(self._flow.facts(n) for n in nodes))
        return found | {self._raw(n, None) for n in self._exposed} if self._anything in found else found

    def met(self, facts: Iterable[int]) -> set[MemoryObject]:
        """The objects that facts are of."""
        return {self.objects[n] for n in self._objects_of(facts)}

    def spot(self, fact: int) -> tuple[MemoryObject, Spot]:
        return self.objects[fact >> BITS], spot_of(fact)


def _may_hold_pointers(t: Type, elsewhere: bool = False) -> bool:
    """`elsewhere`: an array without length has one in the code that defines it."""
    match t:
        case FloatType():
            return False
        case IntType(bits):
            return bits == 8 or bits >= 64
        case ArrayType(element, count):
            some = count > 0 or elsewhere
            text = element == IntType(8) and 0 < count < WORD
            return some and not text and _may_hold_pointers(element, elsewhere)
        case VectorType(element):
            return _may_hold_pointers(element, elsewhere)
        case StructType(fields) if fields is not None:
            return any(_may_hold_pointers(f, elsewhere) and f != IntType(8) for f in fields)
    return True
