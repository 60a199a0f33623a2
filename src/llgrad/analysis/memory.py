"""What memory there is, who may point to it, and what every instruction reads, writes and frees.

`analyse` gives a `Memory` for the program reachable from one root. All answers say "may": what is not known can be.
Points-to sets are those of `pointers`; accesses are sets of (object, offset) with a size and a TBAA tag; calls of
functions that have bodies are summarised transitively, those of others by `known`. Nothing here speaks of shadows
(design, decision 3), and `!alias.scope`, `!noalias` and `!tbaa.struct` are not read: they do not say what other
iterations do. Memory of other threads is not modelled, but what a volatile or atomic load reads counts as overwritten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from llgrad.analysis.flow import Flow, flow
from llgrad.analysis.known import Behaviour, behaviour, is_copy, reads_argument, writes_argument
from llgrad.analysis.objects import UNKNOWN, MemoryObject, carries_pointer, gep_offset
from llgrad.analysis.overlaps import Overlaps, Place
from llgrad.analysis.pointers import PointerGraph
from llgrad.analysis.solver import reach, strong_components
from llgrad.analysis.tbaa import Tag, TypeTree
from llgrad.analysis.usedagain import UsedAgain
from llgrad.ir.module import Module
from llgrad.ir.types import Type
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Constant,
    ConstExpr,
    ConstInt,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Load,
    Other,
    Store,
    Value,
)
from llgrad.rules.facts import string_layout, takes_view

__all__ = ["UNKNOWN", "Access", "Callees", "Memory", "MemoryObject", "Tag", "analyse"]

T = TypeVar("T")


class Access(Struct, frozen=True):
    """Bytes that may be touched: `size` bytes (None: not known) at one of `places`; `pointer` is None in summaries."""

    pointer: AnyValue | None
    size: int | None
    places: frozenset[Place]
    tbaa: Tag | None = None
    objects: frozenset[MemoryObject] = frozenset()  # of `places`

    def __post_init__(self) -> None:
        force_setattr(self, "objects", frozenset(o for o, _ in self.places))

    def __str__(self) -> str:
        where = ", ".join(sorted(f"{o}{'' if at is None else f'+{at}'}" for o, at in self.places))
        typed = f" as {self.tbaa}" if self.tbaa else ""
        return f"{self.size if self.size is not None else '?'} bytes of {{{where}}}{typed}"


class Touches(Struct, frozen=True):
    """What an instruction, or a call of a function, may read, write and free."""

    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    frees: tuple[Access, ...] = ()


class Callees(NamedTuple):
    """The functions that a call may reach, and whether it may reach others."""

    functions: tuple[Function, ...]
    may_be_unknown: bool


def analyse(
    module: Module,
    root: Function,
    distinct_arguments: bool = False,
    constant_arguments: Collection[int] = (),
    active_arguments: Collection[int] = (),
) -> Memory:
    """The memory model of what `root` reaches.

    distinct_arguments   no two of the buffers that the root's pointer arguments point to overlap;
    constant_arguments   indices of arguments whose memory the user calls constant: a pointer to active memory that the
                         program stores elsewhere is not found through them;
    active_arguments     indices of arguments whose memory the user calls active: it holds data, never code.
    """
    graph = PointerGraph(module, root, distinct_arguments, constant_arguments, active_arguments)
    return Memory(graph, distinct_arguments)


class Memory:
    """See the module. Immutable; answers are computed when first asked for."""

    def __init__(self, graph: PointerGraph, distinct: bool) -> None:
        self._graph = graph
        self.module: Module = graph.module
        self.root: Function = graph.root
        self.types: TypeTree = graph.types
        self.functions: tuple[Function, ...] = tuple(graph.functions)
        self._pointed: dict[AnyValue, frozenset[MemoryObject]] = {}
        self._places: dict[AnyValue, frozenset[Place]] = {}
        self._contents: dict[MemoryObject, frozenset[MemoryObject]] = {}
        self._closed: dict[frozenset[MemoryObject], frozenset[MemoryObject]] = {}
        self._anywhere: dict[frozenset[MemoryObject], frozenset[Place]] = {}
        self._decoded: dict[frozenset[int], frozenset[Place]] = {}
        self._lonely: dict[MemoryObject, bool] = {}
        self._mutable: dict[frozenset[Place], frozenset[Place]] = {}
        self._same: dict[frozenset[Any], frozenset[Any]] = {}
        self._overlaps = Overlaps(self._is_lonely, distinct)
        self._touches: dict[Instruction, Touches] = {}
        self._flows: dict[Function, Flow] = {}
        self._indices: dict[Function, dict[MemoryObject, dict[_Shape, None]]] = {}
        self._writers: dict[Function, dict[_Shape, list[_Write]]] = {}
        self._by_base: dict[tuple[Function, _Shape], _ByBase] = {}
        self._relations: dict[tuple[Function, MemoryObject], tuple[MemoryObject, ...]] = {}
        self._matches: dict[tuple[Function, _Shape], list[_Shape]] = {}
        self._returning: dict[Function, tuple[Call, ...]] = {}
        self._afters: dict[Call, dict[_Key, set[Place]]] = {}
        self._laters: dict[tuple[Function, bool], tuple[Access, ...]] = {}

    # --- points-to

    def points_to(self, value: AnyValue) -> frozenset[MemoryObject]:
        """The objects that a value, or any pointer in it, may point into."""
        found = self._pointed.get(value)
        if found is None:
            found = self._pointed[value] = self._as_objects(self._graph.facts(value))
        return found

    def places(self, value: AnyValue) -> frozenset[Place]:
        """The same, with offsets where they are known, exactly or modulo a stride."""
        found = self._places.get(value)
        if found is None:
            found = self._places[value] = self._as_places(frozenset(self._graph.facts(value)))
        return found

    def returned(self, function: Function) -> frozenset[MemoryObject]:
        """What the result of a function may point to."""
        return self._as_objects(self._graph.result_facts(function))

    def contents(self, obj: MemoryObject) -> frozenset[MemoryObject]:
        """What pointers found in an object's memory may point to."""
        found = self._contents.get(obj)
        if found is None:
            found = self._contents[obj] = self._as_objects(self._graph.held(obj))
        return found

    @property
    def objects(self) -> tuple[MemoryObject, ...]:
        """All objects met so far, code excepted: some are met only when somebody asks for them."""
        return tuple(o for o in self._graph.objects if not o.is_code)

    def functions_called(self, call: Call) -> Callees:
        """The functions, with and without bodies, that a call may reach: none where its pointer is never set."""
        callee = call.called_function
        if callee is not None:
            return Callees((callee,), False)
        return Callees(self._graph.linked(call), self._graph.leads_outside(call))

    def received(self, call: Call, function: Function) -> list[Place]:
        """Where the object of a virtual call may be that leads to this function (`pointers.virtual_call`)."""
        return [self._graph.spot(f) for f in sorted(self._graph.received.get((call, function), ()))]

    def callers(self, function: Function) -> tuple[Call, ...]:
        """The calls that may reach a function; there may be others where it is the root or `called_back`."""
        return tuple(self._graph.callers.get(function, ()))

    @cached_property
    def owners(self) -> dict[Argument, Function]:
        """The functions that arguments are of."""
        return {a: f for f in self.functions for a in f.arguments}

    def passed(self, v: Argument | Call) -> list[AnyValue]:
        """What an argument is where the program calls its function, or a call's result where functions return it."""
        if isinstance(v, Call):
            return [r for f in self.functions_called(v).functions for r in f.returned()]
        calls = self.callers(self.owners[v]) if v in self.owners else ()
        return [c.arguments[v.index] for c in calls if v.index < len(c.arguments)]

    def called_back(self, function: Function) -> bool:
        """May code that has no body here call this function?"""
        return function in self._graph.called_back

    def reachable(self, objects: Iterable[MemoryObject]) -> frozenset[MemoryObject]:
        """These, what pointers in them point to, and so on."""
        key = frozenset(objects)
        if key not in self._closed:
            self._closed[key] = self._one(self._closure(key))
        return self._closed[key]

    def _closure(self, objects: Iterable[MemoryObject]) -> set[MemoryObject]:
        found, work, seen = set(objects), list(objects), set[int]()
        while work:
            held = self.contents(work.pop())
            if id(held) not in seen:  # equal ones are one
                seen.add(id(held))
                work += held - found
                found |= held
        return found

    def _as_objects(self, facts: set[int]) -> frozenset[MemoryObject]:
        return self._one(self._graph.met(facts))

    def _as_places(self, facts: frozenset[int]) -> frozenset[Place]:
        if facts not in self._decoded:
            self._decoded[facts] = self._one({self._graph.spot(f) for f in facts})
        return self._decoded[facts]

    def _one(self, found: Iterable[T]) -> frozenset[T]:
        """One set for all that are equal: many values point to the same."""
        made = frozenset(found)
        return self._same.setdefault(made, made)

    # --- accesses

    def reads(self, instruction: Instruction) -> tuple[Access, ...]:
        """What the instruction may read."""
        return self._touched(instruction).reads

    def writes(self, instruction: Instruction) -> tuple[Access, ...]:
        """What it may write."""
        return self._touched(instruction).writes

    def frees(self, instruction: Instruction) -> tuple[Access, ...]:
        """What it may free; `llvm.lifetime.start` and `.end`, which leave contents undefined, count as frees."""
        return self._touched(instruction).frees

    def accessed_as(self, objects: Collection[MemoryObject]) -> set[Type]:
        """The types of all that is loaded from some memory or stored there."""
        found = set[Type]()
        for i in (i for f in self.functions for i in f.instructions() if isinstance(i, Load | Store)):
            if any(o in objects for a in (*self.reads(i), *self.writes(i)) for o in a.objects):
                found.add(i.type if isinstance(i, Load) else i.value.type)
        return found

    @cached_property
    def readers(self) -> dict[MemoryObject, list[tuple[Load | Call, Access]]]:
        """The loads and the copies that may read an object, and what they read. (What calls do is looked at inside.)"""
        found: dict[MemoryObject, list[tuple[Load | Call, Access]]] = {}
        for i in (i for f in self.functions for i in f.instructions()):
            if isinstance(i, Load) or isinstance(i, Call) and is_copy(i):
                for read in self.reads(i):
                    for o in read.objects:
                        found.setdefault(o, []).append((i, read))
        return found

    def is_own(self, i: Instruction) -> bool:
        """Is all memory that `i` may write made by the program, so that nothing active is in it to begin with?"""
        objects = {o for a in self.writes(i) for o in a.objects}
        return all(o.kind in ("stack", "heap") or o.begins_inactive for o in objects)

    def _touched(self, i: Instruction) -> Touches:
        if i not in self._touches:
            self._touches[i] = self._find_touches(i)
        return self._touches[i]

    def _find_touches(self, i: Instruction) -> Touches:
        match i:
            case Load(pointer):
                return Touches(reads=(self._access(pointer, self._size(i), self.types.tag(i)),))
            case Store(value, pointer):
                return Touches(writes=(self._access(pointer, self._size(value), self.types.tag(i)),))
            case Call():
                return _merge(self.touches_of(i, f) for f in self.callees(i))
            case Other(opcode="atomicrmw" | "cmpxchg"):
                both = (self._access(i.operands[0], self._size(i.operands[1]), self.types.tag(i)),)
                return Touches(both, both)
            case Other(opcode="va_arg"):
                both = (self._access(i.operands[0], None),)
                return Touches(both, both)
        return Touches()

    def callees(self, call: Call) -> list[Function | None]:
        """`functions_called` as a list, with None for code that is not known."""
        functions, unknown = self.functions_called(call)
        return [*functions, *([None] if unknown else [])]

    def _size(self, value: AnyValue) -> int | None:
        try:
            return self.module.layout.size(value.type)
        except TypeError:
            return None

    def _access(self, pointer: AnyValue, size: int | None, tag: Tag | None = None) -> Access:
        """An access through a pointer; of a pointer to nothing known anything may be accessed."""
        places = self.places(pointer)
        if not places and not (isinstance(pointer, Constant) and not isinstance(pointer, ConstExpr)):
            places = frozenset({(UNKNOWN, None)})
        return Access(pointer, size, places, tag)

    def touches_of(self, call: Call, callee: Function | None) -> Touches:
        """What the call may touch if it calls `callee`; None: code that is not known."""
        if callee is None or callee.is_declaration:
            return self._external(call, callee, behaviour(call, callee))
        copied = [n for n, a in enumerate(callee.arguments[: call.arity]) if a.attribute("byval") is not None]
        reads = tuple(self._access(call.arguments[n], None) for n in copied)
        return _merge([Touches(reads), self.summary(callee)]) if reads else self.summary(callee)

    def _external(self, call: Call, callee: Function | None, known: Behaviour) -> Touches:
        arguments = call.arguments
        match known.kind:
            case "nothing":
                return Touches()
            case "copy":
                length = arguments[2].value if isinstance(arguments[2], ConstInt) else None
                return Touches((self._access(arguments[1], length),), (self._access(arguments[0], length),))
            case "fill":
                length = arguments[2].value if isinstance(arguments[2], ConstInt) else None
                return Touches(writes=(self._access(arguments[0], length),))
            case "lifetime":
                return Touches(frees=(self._access(arguments[-1], None),))
            case "string":
                return self._string(call, known)
        frees = tuple(self._access(arguments[n], None) for n in (known.freed,) if n is not None)
        if known.kind == "free":
            return Touches(frees=frees)
        if known.kind == "allocate" and known.moves is not None:
            return Touches(frees, (), frees)
        reads = self._through(call, known.reads, [reads_argument(call, callee, n) for n in range(call.arity)])
        writes = self._through(call, known.writes, [writes_argument(call, callee, n) for n in range(call.arity)])
        outside = known.writes == "any" and not known.inactive
        return Touches(reads, writes, (*frees, *(writes if outside else ())))

    def _string(self, call: Call, known: Behaviour) -> Touches:
        """A member of `std::string`: the strings that it changes, what it reads, and the text of all of them."""
        size = string_layout(call.called_function.name if call.called_function else "")[0]
        strings = tuple(self._access(call.arguments[n], size) for n in known.strings)
        others = [a for n, a in enumerate(call.arguments) if n not in known.strings and carries_pointer(a.type)]
        text = (Access(None, None, self._throughout(self._graph.text_of(call))),)
        reads = tuple(self._access(a, None) for a in others)
        if call.called_function is not None and takes_view(call.called_function.name):
            viewed = self.reachable(frozenset(o for a in others for o in self.points_to(a)))
            reads += (Access(None, None, self._throughout(viewed)),)
        return Touches((*strings, *reads, *text), (*strings, *text), text)

    def _through(self, call: Call, extent: str, allowed: list[bool]) -> tuple[Access, ...]:
        """What code without a body may touch through its arguments, and what it may know of besides."""
        if extent == "none":
            return ()
        found = []
        for argument, allow in zip(call.arguments, allowed, strict=True):
            if allow and carries_pointer(argument.type):
                places = self._throughout(self.reachable(self.points_to(argument)))
                found += [Access(argument, None, places)] if places else []
        if extent == "any":
            found.append(Access(None, None, frozenset({(UNKNOWN, None)})))
        return tuple(found)

    def _throughout(self, objects: frozenset[MemoryObject]) -> frozenset[Place]:
        if objects not in self._anywhere:
            self._anywhere[objects] = frozenset((o, None) for o in objects if not o.is_code)
        return self._anywhere[objects]

    # --- summaries of functions

    def summary(self, function: Function) -> Touches:
        """What a call of a function with a body may touch, transitively."""
        return self._summaries[function]

    @cached_property
    def _summaries(self) -> dict[Function, Touches]:
        """Callees first; functions that call each other touch the same."""
        number = {f: n for n, f in enumerate(self.functions)}
        calls = [(n, number[g]) for f, n in number.items() for g in self._defined_callees(f)]
        group = strong_components(len(number), calls)
        within: dict[int, list[Function]] = {}
        for caller, n in number.items():
            within.setdefault(group[n], []).append(caller)
        called: dict[int, set[int]] = {n: set() for n in within}
        for f, g in calls:
            if group[f] != group[g]:
                called[group[f]].add(group[g])
        found: dict[int, dict[_Key, set[Place]]] = {}
        for n in TopologicalSorter(called).static_order():
            found[n] = {}
            for part in (*map(self._own_touches, within[n]), *(found[g] for g in called[n])):
                for key, places in part.items():
                    found[n].setdefault(key, set()).update(places)
        return {f: touches for n, of in found.items() for touches in [_as_touches(of)] for f in within[n]}

    def _own_touches(self, function: Function) -> dict[_Key, set[Place]]:
        """What the instructions of a function touch, calls of functions with bodies left out."""
        found: dict[_Key, set[Place]] = {}
        for i in function.instructions():
            if isinstance(i, Call):
                touches = _merge(self._called_outside(i, f) for f in self.callees(i))
            else:
                touches = self._touched(i)
            for word, accesses in (("reads", touches.reads), ("writes", touches.writes), ("frees", touches.frees)):
                for a in accesses:
                    found.setdefault((word, a.size, a.tbaa), set()).update(a.places)
        return found

    def _called_outside(self, call: Call, callee: Function | None) -> Touches:
        return self.touches_of(call, callee) if callee is None or callee.is_declaration else Touches()

    def _defined_callees(self, function: Function) -> list[Function]:
        calls = (i for i in function.instructions() if isinstance(i, Call))
        return list(dict.fromkeys(f for c in calls for f in self.functions_called(c).functions if not f.is_declaration))

    # --- aliasing

    def may_alias(self, a: Access, b: Access) -> bool:
        """May two accesses touch the same byte? If both have pointers of one function, in one call of that function,
        but in any two iterations of its loops."""
        return self.may_meet(a, b) and not self._apart_in_function(a, b)

    def may_meet(self, a: Access, b: Access) -> bool:
        """The same for any two calls of the functions they are in."""
        return self.types.may_alias(a.tbaa, b.tbaa) and self._overlaps.meet(a, b)

    def coincide(self, a: frozenset[MemoryObject], b: frozenset[MemoryObject]) -> bool:
        """May an object of one set and a different one of the other be the same memory?"""
        return self._overlaps.coincide(a, b)

    def _is_lonely(self, o: MemoryObject) -> bool:
        """Is an object's memory certainly no other object's?"""
        if o not in self._lonely:
            self._lonely[o] = o.is_code or not self.escapes(o) or (_is_private(o) and o not in self.exposed)
        return self._lonely[o]

    def _apart_in_function(self, a: Access, b: Access) -> bool:
        """Different constant offsets from one base that has one value throughout a call of its function?"""
        if a.pointer is None or b.pointer is None or a.size is None or b.size is None:
            return False
        (base, at), (other, bt) = self._decompose(a.pointer), self._decompose(b.pointer)
        if base is not other or at is None or bt is None or not self._is_stable(base):
            return False
        return at + a.size <= bt or bt + b.size <= at

    def _decompose(self, pointer: AnyValue) -> tuple[AnyValue, int | None]:
        total: int | None = 0
        while isinstance(pointer, GetElementPtr):
            by = gep_offset(pointer.source_type, pointer.indices, self.module.layout)
            if by is None:
                break
            total, pointer = total + by if total is not None else None, pointer.pointer
        return pointer, total

    def _is_stable(self, base: AnyValue) -> bool:
        if isinstance(base, (Argument, Constant, GlobalVariable)):
            return True
        if not isinstance(base, Instruction) or base.block is None or base.block.function is None:
            return False
        return not self._flow(base.block.function).may_follow(base, base)

    # --- what may change what was read

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
        for read in self.reads(reader):
            if (read.tbaa is not None and read.tbaa.constant) or (through is not None and read.pointer is not through):
                continue
            if self._gone(read, returns_to) or self._changed_in(function, reader, read, frees):
                return True
            if function is not self.root and self._changed_later(function, read, frees):
                return True
        return False

    def stays(self, store: Store) -> bool:
        """Is what the root stores in one place changed by nothing that is executed later, but perhaps by `store`?"""
        function = _function(store)
        if function is not self.root or self.callers(function) or _is_shared_with_threads(store):
            return False
        follows = self._flow(function).may_follow
        return not any(
            i is not store and follows(store, i) and not self._apart_in_function(w, written)
            for written in self.writes(store)
            for i, w in self._candidates(function, written, True)
        )

    def _gone(self, read: Access, returns_to: bool) -> bool:
        """Does it lie in the frame of a function that returns before the reverse sweep, or in the caller's hands?"""
        for o in read.objects:
            if o.kind == "stack" and (o.function is not self.root or returns_to):
                return True
            if returns_to and self.escapes(o) and not o.is_constant and not o.is_code:
                return True
        return False

    def _changed_in(self, function: Function, reader: Instruction, read: Access, frees: bool) -> bool:
        own = (*self.writes(reader), *(self.frees(reader) if frees else ()))
        if any(self._may_write(w, read) for w in own):
            return True
        follows = self._flow(function).may_follow
        return any(
            follows(reader, i) and not self._apart_in_function(w, read)
            for i, w in self._candidates(function, read, frees)
        )

    def _changed_later(self, function: Function, read: Access, frees: bool) -> bool:
        """By what callers do once a call of `function` has returned?"""
        if any(self._may_write(w, read) for w in self._later(function, frees)):
            return True
        under_way = (function, *(_function(c) for c in self._returns_to(function)))
        from_outside = any(self.called_back(f) for f in under_way)
        return from_outside and any(self.escapes(o) and not o.is_constant for o in read.objects)

    def _later(self, function: Function, frees: bool) -> tuple[Access, ...]:
        """What the callers of a function, and theirs, write after it, as in summaries."""
        key = (function, frees)
        if key not in self._laters:
            found: dict[_Key, set[Place]] = {}
            for call in self._returns_to(function):
                for at, places in self._after(call).items():
                    if frees or at[0] == "writes":
                        found.setdefault(("writes", *at[1:]), set()).update(places)
            self._laters[key] = _as_touches(found).writes
        return self._laters[key]

    def _after(self, call: Call) -> dict[_Key, set[Place]]:
        """What a caller writes and frees after a call."""
        if call not in self._afters:
            caller, found = _function(call), dict[_Key, set[Place]]()
            follows = self._flow(caller).may_follow
            for i in caller.instructions():
                touches = self._touched(i)
                if (touches.writes or touches.frees) and follows(call, i):
                    for word, accesses in (("writes", touches.writes), ("frees", touches.frees)):
                        for a in accesses:
                            found.setdefault((word, a.size, a.tbaa), set()).update(a.places)
            self._afters[call] = found
        return self._afters[call]

    def _returns_to(self, function: Function) -> tuple[Call, ...]:
        """The calls that are under way while `function` runs."""
        if function not in self._returning:
            seeds = self.callers(function)
            self._returning[function] = tuple(reach(seeds, lambda c: self.callers(_function(c))))
        return self._returning[function]

    def _may_write(self, write: Access, read: Access) -> bool:
        """May a later write be to what was read? Memory may be used for one type first, for another after (blocks of
        the heap, arrays of characters): of one object, types tell members of one class apart, and no more. Only what
        pointers in the caller's memory lead to counts as many objects, of one type each (but see `usedagain`)."""
        if not self.types.may_alias(write.tbaa, read.tbaa):
            if self.types.are_members(write.tbaa, read.tbaa):
                return False
            places = frozenset(p for p in read.places if p[0] in write.objects and self._is_one(p[0]))
            return bool(places) and self._overlaps.meet(write, replace(read, places=places))
        return self._overlaps.meet(write, self._changing(read))

    def _is_one(self, o: MemoryObject) -> bool:
        """May any two accesses of an object be of the same bytes, whatever their types?"""
        return o.kind in _ONE or o in self._used_again

    @cached_property
    def _used_again(self) -> set[MemoryObject]:
        called = UsedAgain(
            self.module.layout, self.types, self.places, lambda c: self.functions_called(c).functions, self.callers
        )
        return called.objects(self.functions, lambda o: o.kind not in _ONE)

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
            shapes = dict.fromkeys(shape for p in near for shape in index[p])
            writers = self._writers[function]
            self._matches[key] = [w for w in shapes if self._may_write(writers[w][0][1], read)]
        for shape in self._matches[key]:
            for i, access, is_free in self._near(function, shape, read):
                if frees or not is_free:
                    yield i, access

    def _near(self, function: Function, shape: _Shape, read: Access) -> Iterable[_Write]:
        """The writes of one shape, without those at other constant offsets from the base that is read from."""
        writers = self._writers[function][shape]
        base, at = self._decompose(read.pointer) if read.pointer is not None else (None, None)
        if len(writers) < _FEW or base is None or at is None or read.size is None or not self._is_stable(base):
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
            base, at = self._decompose(access.pointer) if access.pointer is not None else (None, None)
            small = at is not None and access.size is not None and access.size <= _BLOCK
            groups.setdefault(base, {}).setdefault(at // _BLOCK if small and at is not None else None, []).append(write)
        return groups

    def _related(self, function: Function, obj: MemoryObject) -> tuple[MemoryObject, ...]:
        """The objects written in a function that may be this one."""
        key = (function, obj)
        if key not in self._relations:
            written = self._index(function)
            self._relations[key] = tuple(p for p in written if p == obj or self._overlaps.may_coincide(obj, p))
        return self._relations[key]

    def _index(self, function: Function) -> dict[MemoryObject, dict[_Shape, None]]:
        """The shapes of the writes and frees in a function by object."""
        if function not in self._indices:
            writers: dict[_Shape, list[_Write]] = {}
            for i in function.instructions():
                touches = self._touched(i)
                for is_free, accesses in ((False, touches.writes), (True, touches.frees)):
                    for a in accesses:
                        writers.setdefault(_shape(a), []).append((i, a, is_free))
            index: dict[MemoryObject, dict[_Shape, None]] = {}
            for shape, found in writers.items():
                found.reverse()
                for o, _ in shape[0]:
                    index.setdefault(o, {})[shape] = None
            self._indices[function], self._writers[function] = index, writers
        return self._indices[function]

    def _flow(self, function: Function) -> Flow:
        if function not in self._flows:
            self._flows[function] = flow(function)
        return self._flows[function]

    # --- objects

    def never_written(self, obj: MemoryObject) -> bool:
        """Does nothing in the program write or free this memory?"""
        if obj.is_constant or obj.is_code:
            return True
        if self.root.is_declaration:
            return False
        written = self.summary(self.root)
        whole = Access(None, None, frozenset({(obj, None)}))
        return not any(self._may_write(w, whole) for w in (*written.writes, *written.frees))

    def escapes(self, obj: MemoryObject) -> bool:
        """Is its address known outside the program when the root is entered, while it runs, or afterwards?"""
        return obj.is_external or obj in self._escaped

    def is_local(self, obj: MemoryObject) -> bool:
        """Memory that the program makes and nothing outside ever sees."""
        return not self.escapes(obj)

    @cached_property
    def exposed(self) -> frozenset[MemoryObject]:
        """What code that is not known was given, or found there."""
        return frozenset(self._graph.exposed())

    @cached_property
    def _escaped(self) -> frozenset[MemoryObject]:
        seeds = [*self.exposed, *self.returned(self.root), *(o for o in self._graph.objects if o.is_external)]
        return self.reachable(seeds)

    def __str__(self) -> str:
        """The objects, whether they escape, and what they may point to."""
        lines = [f"memory of @{self.root.name}: {len(self.functions)} functions"]
        for o in self.objects:
            held = ", ".join(sorted(map(str, self.contents(o))))
            lines.append(f"  {o}{'' if self.is_local(o) else ' (escapes)'} -> {{{held}}}")
        return "\n".join(lines)


_ONE = ("argument", "global", "stack", "heap")
_FEW, _BLOCK = 16, 64
_Write = tuple[Instruction, Access, bool]
"""Who writes, what, and whether that is a release."""
_ByBase = dict[AnyValue | None, dict[int | None, list[_Write]]]
_Key = tuple[str, int | None, Tag | None]
_Shape = tuple[frozenset[Place], int | None, Tag | None]
"""What two accesses must have in common to be aliased alike, pointers aside."""


def _shape(access: Access) -> _Shape:
    return access.places, access.size, access.tbaa


def _merge(parts: Iterable[Touches]) -> Touches:
    found = list(parts)
    if len(found) == 1:
        return found[0]
    return Touches(_joined(t.reads for t in found), _joined(t.writes for t in found), _joined(t.frees for t in found))


def _joined(parts: Iterable[tuple[Access, ...]]) -> tuple[Access, ...]:
    return tuple(dict.fromkeys(a for part in parts for a in part))


def _as_touches(found: dict[_Key, set[Place]]) -> Touches:
    def pick(word: str) -> tuple[Access, ...]:
        return tuple(Access(None, size, frozenset(at), tag) for (w, size, tag), at in found.items() if w == word)

    return Touches(pick("reads"), pick("writes"), pick("frees"))


def _is_private(obj: MemoryObject) -> bool:
    """An argument whose memory is, by its attributes, accessed through itself only."""
    site = obj.site
    return obj.kind == "argument" and isinstance(site, Argument) and any(
        site.attribute(n) is not None for n in ("noalias", "byval")
    )  # fmt: skip


def _is_shared_with_threads(i: Instruction) -> bool:
    return bool(i.flags & {"volatile", "atomic"}) or (isinstance(i, Load) and bool(i.ordering))


def _function(i: Value) -> Function:
    assert isinstance(i, Instruction) and i.block.function is not None
    return i.block.function
