"""What memory there is, who may point to it, and what every instruction reads, writes and frees.

`analyse` gives a `Memory` for the program reachable from one root. All answers say "may": what is not known can be.
Points-to sets are those of `points_to`; accesses are sets of (object, offset) with a size and a TBAA tag; calls of
functions that have bodies are summarised transitively, those of others by `known`. Nothing here speaks of shadows
(design, decision 3), and `!alias.scope`, `!noalias` and `!tbaa.struct` are not read: they do not say what other
iterations do. Memory of other threads is not modelled, but what a volatile or atomic load reads counts as overwritten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from llgrad.analysis.cfg.flow import Flow, flow
from llgrad.analysis.memory.alias import Overlaps, Place
from llgrad.analysis.memory.call_effects import Behaviour, behaviour, is_copy, reads_argument, writes_argument
from llgrad.analysis.memory.memory_ssa import MemorySSA
from llgrad.analysis.memory.points_to import PointerGraph
from llgrad.analysis.memory.tbaa import Tag, TypeTree
from llgrad.analysis.objects import UNKNOWN, MemoryObject, carries_pointer, gep_offset
from llgrad.analysis.solver import strong_components
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
    Return,
    Store,
)
from llgrad.models.effects import string_layout, takes_view
from llgrad.models.mpi import READ_LATER, WRITTEN_LATER, buffers, continues

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
        self._same: dict[frozenset[Any], frozenset[Any]] = {}
        self.overlaps = Overlaps(self._is_lonely, distinct)
        self._found: dict[Instruction, Touches] = {}
        self._flows: dict[Function, Flow] = {}
        self._decomposed: dict[AnyValue, tuple[AnyValue, int]] = {}
        self.ssa = MemorySSA(self)

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

    def is_set_within(self, call: Call) -> bool:
        """Does a call reach nothing but functions whose addresses what the root reaches has stored?"""
        functions, unknown = self.functions_called(call)
        return bool(functions) and not unknown and call not in self._graph.from_before

    def received(self, call: Call, function: Function) -> list[Place]:
        """Where the object of a virtual call may be that leads to this function (`points_to.virtual_call`)."""
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

    def handed(self, v: AnyValue, u: Call | Return) -> list[Argument | Call]:
        """The way back: what takes the value of `v` where `u` passes it on, in functions that are called with it and
        where the function that returns it was called."""
        if isinstance(u, Return):
            return list(self.callers(u.block.function)) if u.block.function is not None else []
        bodies = [f for f in self.functions_called(u).functions if not f.is_declaration]
        return [p for f in bodies for p, a in zip(f.arguments, u.arguments, strict=False) if a is v]

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
        return self.touches(instruction).reads

    def writes(self, instruction: Instruction) -> tuple[Access, ...]:
        """What it may write."""
        return self.touches(instruction).writes

    def frees(self, instruction: Instruction) -> tuple[Access, ...]:
        """What it may free; `llvm.lifetime.start` and `.end`, which leave contents undefined, count as frees."""
        return self.touches(instruction).frees

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

    def touches(self, i: Instruction) -> Touches:
        if i not in self._found:
            self._found[i] = self._find_touches(i)
        return self._found[i]

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
        frees = tuple(self._freed(arguments[n]) for n in (known.freed,) if n is not None)
        if known.kind == "free":
            return Touches(frees=frees)
        if known.kind == "allocate" and known.moves is not None:
            return Touches(frees, (), frees)
        reads = self._through(call, known.reads, [reads_argument(call, callee, n) for n in range(call.arity)])
        writes = self._through(call, known.writes, [writes_argument(call, callee, n) for n in range(call.arity)])
        if callee is not None and continues(callee.name):
            reads = (*reads, Access(None, None, self._throughout(self.read_later)))
            writes = (*writes, Access(None, None, self._throughout(self.written_later)))
        outside = known.writes == "any" and not known.inactive
        return Touches(reads, writes, (*frees, *(writes if outside else ())))

    @cached_property
    def read_later(self) -> frozenset[MemoryObject]:
        """What MPI may read until some request is complete."""
        return self._buffers(READ_LATER)

    @cached_property
    def written_later(self) -> frozenset[MemoryObject]:
        """What MPI may write until some request is complete."""
        return self._buffers(WRITTEN_LATER)

    def _buffers(self, kinds: str) -> frozenset[MemoryObject]:
        named = [(f, n) for f in self.module.functions for n in buffers(f.name, kinds)]
        return frozenset(o for f, n in named for c in self.callers(f) for o in self.points_to(c.arguments[n]))

    def _freed(self, pointer: AnyValue) -> Access:
        """A block, with its columns where it is one of llgrad's tape."""
        access = self._access(pointer, None)
        columns = {c for o in access.objects if o.is_block for c in self.contents(o) if c.is_column_of(o)}
        return replace(access, places=access.places | self._throughout(frozenset(columns))) if columns else access

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
                touches = self.touches(i)
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
        return self.may_meet(a, b) and not self.apart(a, b)

    def may_meet(self, a: Access, b: Access) -> bool:
        """The same for any two calls of the functions they are in."""
        return self.types.may_alias(a.tbaa, b.tbaa) and self.overlaps.meet(a, b)

    def coincide(self, a: frozenset[MemoryObject], b: frozenset[MemoryObject]) -> bool:
        """May an object of one set and a different one of the other be the same memory?"""
        return self.overlaps.coincide(a, b)

    def _is_lonely(self, o: MemoryObject) -> bool:
        """Is an object's memory certainly no other object's?"""
        if o not in self._lonely:
            self._lonely[o] = o.is_code or not self.escapes(o) or (_is_private(o) and o not in self.exposed)
        return self._lonely[o]

    def apart(self, a: Access, b: Access) -> bool:
        """Different constant offsets from one base that has one value throughout a call of its function?"""
        if a.pointer is None or b.pointer is None or a.size is None or b.size is None:
            return False
        (base, at), (other, bt) = self.decompose(a.pointer), self.decompose(b.pointer)
        if base is not other or not self.is_stable(base):
            return False
        return at + a.size <= bt or bt + b.size <= at

    def decompose(self, pointer: AnyValue) -> tuple[AnyValue, int]:
        """A pointer as a base and constant bytes."""
        chain, base = list[tuple[AnyValue, int]](), pointer
        while isinstance(base, GetElementPtr) and base not in self._decomposed:
            if (offset := gep_offset(base.source_type, base.indices, self.module.layout)) is None:
                break
            chain.append((base, offset))
            base = base.pointer
        base, at = self._decomposed.get(base, (base, 0))
        for gep, offset in reversed(chain):
            at += offset
            self._decomposed[gep] = base, at
        return base, at

    def is_stable(self, base: AnyValue) -> bool:
        if isinstance(base, (Argument, Constant, GlobalVariable)):
            return True
        if not isinstance(base, Instruction) or base.block is None or base.block.function is None:
            return False
        return not self.flow(base.block.function).may_follow(base, base)

    def flow(self, function: Function) -> Flow:
        if function not in self._flows:
            self._flows[function] = flow(function)
        return self._flows[function]

    # --- objects

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


_Key = tuple[str, int | None, Tag | None]

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
