"""What may change what an instruction has read, or written, before somebody asks for it again.

`Changes` answers for one program: with the writes of each function by object, by shape (objects, size and type) and by
base, so that an answer looks at few of them. All answers say "may".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from msgspec.structs import replace

from llgrad.analysis.memory.alias import Place
from llgrad.analysis.memory.cells import Spot
from llgrad.analysis.memory.effective_types import used_again
from llgrad.analysis.memory.mod_ref import Access, Memory
from llgrad.analysis.memory.tbaa import Tag
from llgrad.analysis.objects import MemoryObject
from llgrad.analysis.solver import reach
from llgrad.ir.values import AnyValue, Call, Function, Instruction, Load, Store, Value

_ONE = ("argument", "global", "stack", "heap")
_FEW, _BLOCK = 16, 64
_Write = tuple[Instruction, Access, bool]
"""Who writes, what, and whether that is a release."""
_ByBase = dict[AnyValue | None, dict[int | None, list[_Write]]]
_Key = tuple[bool, int | None, Tag | None]
"""Whether it is a release, the size and the type."""
_Shape = tuple[frozenset[Place], int | None, Tag | None]
"""What two accesses must have in common to be aliased alike, pointers aside."""


class _Shapes:
    """The shapes of writes to one object, by the blocks of it that they begin in."""

    def __init__(self) -> None:
        self._blocks: dict[int | None, dict[_Shape, None]] = {}

    def add(self, shape: _Shape, at: Spot) -> None:
        """A shape that begins at `at`, among others. None has those that may begin in any block, or are large."""
        size = shape[1]
        block = at // _BLOCK if isinstance(at, int) and size is not None and size <= _BLOCK else None
        self._blocks.setdefault(block, {})[shape] = None

    def near(self, read: Access, obj: MemoryObject) -> Iterator[_Shape]:
        """The shapes that may touch what is read in this object, or all where nothing tells."""
        spots = [at for o, at in read.places if o == obj]
        known = [at for at in spots if isinstance(at, int)]
        if not spots or read.size is None or len(known) < len(spots):
            return chain.from_iterable(self._blocks.values())
        near = {n for at in known for n in range(at // _BLOCK - 1, (at + read.size) // _BLOCK + 1)}
        return chain.from_iterable(self._blocks.get(n, ()) for n in (None, *near))


class Changes:
    """See the module. Answers are computed when first asked for."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._mutable: dict[frozenset[Place], frozenset[Place]] = {}
        self._indices: dict[Function, dict[MemoryObject, _Shapes]] = {}
        self._writers: dict[Function, dict[_Shape, list[_Write]]] = {}
        self._by_base: dict[tuple[Function, _Shape], _ByBase] = {}
        self._relations: dict[tuple[Function, MemoryObject], tuple[MemoryObject, ...]] = {}
        self._matches: dict[tuple[Function, _Shape], list[_Shape]] = {}
        self._returning: dict[Function, tuple[Call, ...]] = {}
        self._afters: dict[Call, dict[_Key, set[Place]]] = {}
        self._laters: dict[tuple[Function, bool], tuple[Access, ...]] = {}

    def overwritten_after(
        self, reader: Instruction, *, returns_to: bool = False, frees: bool = True, through: AnyValue | None = None
    ) -> bool:
        """May something that is executed after `reader` change, or (if `frees`) free, the bytes that it read?

        Not counting frees is for whoever postpones them, and drops lifetime markers, until after the reverse sweep.
        For a function other than the root, and with `returns_to` for the root, what callers may do later counts, and
        stack memory of functions that have returned is gone. `through`: only what is read through this pointer.
        """
        function = _function(reader)
        if _is_shared_with_threads(reader):
            return True
        for read in self.memory.reads(reader):
            if (read.tbaa is not None and read.tbaa.constant) or (through is not None and read.pointer is not through):
                continue
            if self._gone(read, returns_to) or self._changed_in(function, reader, read, frees):
                return True
            if function is not self.memory.root and self._changed_later(function, read, frees):
                return True
        return False

    def changed_behind(self, call: Call, pointer: AnyValue) -> bool:
        """May something that is executed after `call`, and not within it, change what a pointer leads to?

        For warnings: arguments that the caller could let overlap are taken to be apart.
        """
        function, whole = _function(call), Access(None, None, self.memory.places(pointer))
        follows = self.memory.flow(function).may_follow
        after = (w for i, w in self._candidates(function, whole, False) if i is not call and follows(call, i))
        later = self._later(function, False) if function is not self.memory.root else ()
        within = (w for w in after if not self.memory.apart(w, whole))
        found = chain(within, (w for w in later if self._may_write(w, whole)))
        return any(not whole.objects.isdisjoint(w.objects) for w in found)

    def stays(self, store: Store) -> bool:
        """Is what the root stores in one place changed by nothing that is executed later, but perhaps by `store`?"""
        function = _function(store)
        if function is not self.memory.root or self.memory.callers(function) or _is_shared_with_threads(store):
            return False
        follows = self.memory.flow(function).may_follow
        return not any(
            i is not store and follows(store, i) and not self.memory.apart(w, written)
            for written in self.memory.writes(store)
            for i, w in self._candidates(function, written, True)
        )

    def may_run_twice(self, function: Function) -> bool:
        """Does a second run of a function, right after the first, read what that has read, and release nothing?"""
        touched = self.memory.summary(function)
        return not touched.frees and not any(self._may_write(w, r) for w in touched.writes for r in touched.reads)

    def never_written(self, obj: MemoryObject) -> bool:
        """Does nothing in the program write or free this memory?"""
        if obj.is_constant or obj.is_code:
            return True
        if self.memory.root.is_declaration:
            return False
        written = self.memory.summary(self.memory.root)
        whole = Access(None, None, frozenset({(obj, None)}))
        return not any(self._may_write(w, whole) for w in (*written.writes, *written.frees))

    def _gone(self, read: Access, returns_to: bool) -> bool:
        """Does it lie in the frame of a function that returns before the reverse sweep, or in the caller's hands?"""
        for o in read.objects:
            if o.kind == "stack" and (o.function is not self.memory.root or returns_to):
                return True
            if returns_to and self.memory.escapes(o) and not o.is_constant and not o.is_code:
                return True
        return False

    def _changed_in(self, function: Function, reader: Instruction, read: Access, frees: bool) -> bool:
        own = (*self.memory.writes(reader), *(self.memory.frees(reader) if frees else ()))
        if any(self._may_write(w, read) for w in own):
            return True
        follows = self.memory.flow(function).may_follow
        return any(
            follows(reader, i) and not self.memory.apart(w, read)
            for i, w in self._candidates(function, read, frees)
        )

    def _changed_later(self, function: Function, read: Access, frees: bool) -> bool:
        """By what callers do once a call of `function` has returned?"""
        if any(self._may_write(w, read) for w in self._later(function, frees)):
            return True
        under_way = (function, *(_function(c) for c in self._returns_to(function)))
        from_outside = any(self.memory.called_back(f) for f in under_way)
        return from_outside and any(self.memory.escapes(o) and not o.is_constant for o in read.objects)

    def _later(self, function: Function, frees: bool) -> tuple[Access, ...]:
        """What the callers of a function, and theirs, write after it, as in summaries."""
        key = (function, frees)
        if key not in self._laters:
            found: dict[tuple[int | None, Tag | None], set[Place]] = {}
            for call in self._returns_to(function):
                for (is_free, size, tag), places in self._after(call).items():
                    if frees or not is_free:
                        found.setdefault((size, tag), set()).update(places)
            self._laters[key] = tuple(Access(None, size, frozenset(at), tag) for (size, tag), at in found.items())
        return self._laters[key]

    def _after(self, call: Call) -> dict[_Key, set[Place]]:
        """What a caller writes and frees after a call."""
        if call not in self._afters:
            caller, found = _function(call), dict[_Key, set[Place]]()
            follows = self.memory.flow(caller).may_follow
            for i in (d.instruction for d in self.memory.ssa.chain(caller)):
                if follows(call, i):
                    touches = self.memory.touches(i)
                    for is_free, accesses in ((False, touches.writes), (True, touches.frees)):
                        for a in accesses:
                            found.setdefault((is_free, a.size, a.tbaa), set()).update(a.places)
            self._afters[call] = found
        return self._afters[call]

    def _returns_to(self, function: Function) -> tuple[Call, ...]:
        """The calls that are under way while `function` runs."""
        if function not in self._returning:
            seeds = self.memory.callers(function)
            self._returning[function] = tuple(reach(seeds, lambda c: self.memory.callers(_function(c))))
        return self._returning[function]

    def _may_write(self, write: Access, read: Access) -> bool:
        """May a later write be to what was read? Memory may be used for one type first, for another after (blocks of
        the heap, arrays of characters): of one object, types tell members of one class apart, and no more. Only what
        pointers in the caller's memory lead to counts as many objects, of one type each (but see `effective_types`)."""
        if not self.memory.types.may_alias(write.tbaa, read.tbaa):
            if self.memory.types.are_members(write.tbaa, read.tbaa):
                return False
            places = frozenset(p for p in read.places if p[0] in write.objects and self._is_one(p[0]))
            return bool(places) and self.memory.overlaps.meet(write, replace(read, places=places))
        return self.memory.overlaps.meet(write, self._changing(read))

    def _is_one(self, o: MemoryObject) -> bool:
        """May any two accesses of an object be of the same bytes, whatever their types?"""
        return o.kind in _ONE or o in self._used_again

    @cached_property
    def _used_again(self) -> set[MemoryObject]:
        return used_again(self.memory, lambda o: o.kind not in _ONE)

    def _changing(self, access: Access) -> Access:
        """Without what never changes."""
        places = self._mutable.get(access.places)
        if places is None:
            places = self._mutable[access.places] = frozenset(p for p in access.places if not p[0].is_constant)
        return access if len(places) == len(access.places) else replace(access, places=places)

    def _candidates(self, function: Function, read: Access, frees: bool) -> Iterator[tuple[Instruction, Access]]:
        """The writes in a function that may, by objects and types, touch what is read, last ones first."""
        key = (function, _shape(read))
        if key not in self._matches:
            index = self._index(function)
            near = dict.fromkeys(p for o in read.objects if not o.is_constant for p in self._related(function, o))
            shapes = dict.fromkeys(shape for p in near for shape in index[p].near(read, p))
            writers = self._writers[function]
            self._matches[key] = [w for w in shapes if self._may_write(writers[w][0][1], read)]
        for shape in self._matches[key]:
            for i, access, is_free in self._near(function, shape, read):
                if frees or not is_free:
                    yield i, access

    def _near(self, function: Function, shape: _Shape, read: Access) -> Iterable[_Write]:
        """The writes of one shape, without those at other constant offsets from the base that is read from."""
        writers = self._writers[function][shape]
        base, at = self.memory.decompose(read.pointer) if read.pointer is not None else (None, 0)
        if len(writers) < _FEW or base is None or read.size is None or not self.memory.is_stable(base):
            return writers
        if (function, shape) not in self._by_base:
            self._by_base[function, shape] = self._grouped(writers)
        groups = self._by_base[function, shape]
        own = groups.get(base, {})
        blocks = (None, *range(at // _BLOCK - 1, (at + read.size) // _BLOCK + 1))
        others = (w for other, group in groups.items() if other is not base for part in group.values() for w in part)
        return chain((w for n in blocks for w in own.get(n, ())), others)

    def _grouped(self, writers: Iterable[_Write]) -> _ByBase:
        """Writes by base, and by the block in which they begin; None: anywhere, or of more than a block."""
        groups: _ByBase = {}
        for write in writers:
            access = write[1]
            base, at = self.memory.decompose(access.pointer) if access.pointer is not None else (None, 0)
            small = base is not None and access.size is not None and access.size <= _BLOCK
            groups.setdefault(base, {}).setdefault(at // _BLOCK if small else None, []).append(write)
        return groups

    def _related(self, function: Function, obj: MemoryObject) -> tuple[MemoryObject, ...]:
        """The objects written in a function that may be this one."""
        key = (function, obj)
        if key not in self._relations:
            written = self._index(function)
            self._relations[key] = tuple(p for p in written if p == obj or self.memory.overlaps.may_coincide(obj, p))
        return self._relations[key]

    def _index(self, function: Function) -> dict[MemoryObject, _Shapes]:
        """The shapes of the writes and frees in a function by object."""
        if function not in self._indices:
            writers: dict[_Shape, list[_Write]] = {}
            for i in (d.instruction for d in self.memory.ssa.chain(function)):
                touches = self.memory.touches(i)
                for is_free, accesses in ((False, touches.writes), (True, touches.frees)):
                    for a in accesses:
                        writers.setdefault(_shape(a), []).append((i, a, is_free))
            index: dict[MemoryObject, _Shapes] = {}
            for shape, found in writers.items():
                found.reverse()
                for o, at in shape[0]:
                    index.setdefault(o, _Shapes()).add(shape, at)
            self._indices[function], self._writers[function] = index, writers
        return self._indices[function]


def _shape(access: Access) -> _Shape:
    return access.places, access.size, access.tbaa


def _is_shared_with_threads(i: Instruction) -> bool:
    return bool(i.flags & {"volatile", "atomic"}) or (isinstance(i, Load) and bool(i.ordering))


def _function(i: Value) -> Function:
    assert isinstance(i, Instruction) and i.block.function is not None
    return i.block.function


__all__ = ["Changes"]
