"""Which values and which memory have derivatives, and which pointers need shadows, for one request.

*Varied* is what depends differentiably on active inputs, *useful* what active outputs depend on, *active* what is both
(Hascoët and Pascual: "The Tapenade automatic differentiation tool"; here over `graph`, forwards and backwards).
Values are told apart one by one, memory by object. An object has a shadow if it holds active data, if it holds
pointers to objects that have, or if some pointer may point to it as well as to one that has (unification): a shadow
pointer then always has somewhere to point to. Three kinds of memory never get a shadow that llgrad could make: that of
arguments the user calls constant, that of unknown code, and what pointers in mutable globals point to from before. A
pointer that may point to one of these and to shadowed memory is `mixed` (design, decision 6).

Contract: memory of constant arguments is shared with no active memory. What the program itself stores there and reads
back on a way from active inputs to active outputs is a `conflict`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Literal

from msgspec import Struct

from llgrad.analysis.activity.graph import (
    NUMBERS,
    WIRE,
    FlowGraph,
    Hub,
    KindAnswers,
    Node,
    Result,
    counts,
    declares_inactive,
    describe_callee,
    has_rule,
    is_miscalled,
    is_opaque,
)
from llgrad.analysis.memory.call_effects import behaviour, is_copy, tape_call
from llgrad.analysis.memory.mod_ref import Access, Memory, MemoryObject
from llgrad.analysis.memory.partial_overwrites import Overwriting
from llgrad.analysis.objects import carries_pointer, holds_type
from llgrad.analysis.solver import reach
from llgrad.ir.types import FloatType, IntType, PointerType, Type, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Binary,
    Block,
    Call,
    Cast,
    ConstExpr,
    Function,
    GlobalVariable,
    Instruction,
    Load,
    Other,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Value,
)
from llgrad.rules import lookup


class Act(StrEnum):
    """Activity of an argument or of the result; "active" is another word for "out"."""

    CONST = "const"
    DUP = "dup"
    DUPNONEED = "dupnoneed"
    OUT = "out"

    @classmethod
    def _missing_(cls, value: object) -> Act | None:
        return cls.OUT if value == "active" else None


Mode = Literal["forward", "reverse"]


def analyse(
    memory: Memory, arguments: Sequence[Act], result: Act, mode: Mode = "reverse", kinds: KindAnswers | None = None,
    kept: Collection[MemoryObject] = (),
) -> Activity:
    """The activity of the program that `memory` describes, when its root is differentiated so.

    Without `kinds`, every integer of 16 bits or more that comes from memory may hold floats unless TBAA says no.
    `kept`: what variables held before that shadows are made for.
    """
    if len(arguments) != len(memory.root.arguments):
        raise ValueError(f"@{memory.root.name} has {len(memory.root.arguments)} arguments, not {len(arguments)}")
    return Activity(memory, tuple(arguments), result, mode, kinds, frozenset(kept))


class Mixture(Struct, frozen=True):
    """The objects a pointer may point to: those that have shadows, and those that cannot have one."""

    shadowed: frozenset[MemoryObject]
    constant: frozenset[MemoryObject]

    def __str__(self) -> str:
        return f"{_listed(self.shadowed)} (active) or {_listed(self.constant)} (no shadow)"


class Activity:
    """See the module. Immutable; answers are computed when first asked for."""

    def __init__(
        self, memory: Memory, arguments: tuple[Act, ...], result: Act, mode: Mode, kinds: KindAnswers | None,
        kept: frozenset[MemoryObject],
    ) -> None:  # fmt: skip
        self._kept = kept
        self.memory, self.arguments, self.result, self.mode = memory, arguments, result, mode
        self._kinds = kinds
        self._graph = FlowGraph(memory, kinds)
        self._ignored = frozenset(o for o in memory.objects if _is_inactive_global(o))
        root = memory.root
        self._constant = frozenset(
            o for o in memory.objects if isinstance(o.site, Argument) and o.function is root
            and arguments[o.site.index] is Act.CONST
        ) | self._ignored  # fmt: skip
        self._varied = self._reach([*self._inputs(), *self._wire], self._graph.forwards, self._constant)
        self._useful = self._reach([*self._outputs(), *self._wire], self._graph.backwards, self._constant)

    @property
    def _wire(self) -> list[Node]:
        """Other ranks may send what depends on their active inputs, and need what is sent to them."""
        return [WIRE] if self._graph.messages else []

    def _reach(
        self, seeds: Iterable[Node], edges: dict[Node, list[Node]], blocked: frozenset[MemoryObject]
    ) -> dict[Node, Node | None]:
        return reach(
            (s for s in seeds if s not in blocked), lambda n: [x for x in edges.get(n, ()) if x not in blocked]
        )

    def _inputs(self) -> list[Node]:
        found: list[Node] = []
        for argument, act in zip(self.memory.root.arguments, self.arguments, strict=True):
            if act is not Act.CONST:
                found += [argument] if self._graph.may_hold_float(argument) else []
                found += self._own(argument)
        return [*found, *self._shadowed_globals]

    @cached_property
    def _shadowed_globals(self) -> list[MemoryObject]:
        """Globals with a shadow of the user's: active data before and after, like an argument's memory."""
        return [o for o in self.memory.objects if o.has_own_shadow]

    def _own(self, argument: Argument) -> list[MemoryObject]:
        return [o for o in self.memory.objects if o.site is argument]

    def _outputs(self) -> list[Node]:
        found: list[Node] = [NUMBERS, *self.memory.reachable(self._shadowed_globals)]
        for argument, act in zip(self.memory.root.arguments, self.arguments, strict=True):
            if act is not Act.CONST:
                found += self.memory.reachable(self._own(argument))
        if self.result is not Act.CONST:
            found.append(Result(self.memory.root))
            found += self.memory.reachable(self.memory.returned(self.memory.root))
        return [n for n in found if not (isinstance(n, MemoryObject) and (n.is_code or n.is_constant))]

    # --- values

    def active(self, value: AnyValue) -> bool:
        """Does this value carry floats (be it as bits) that have a derivative?"""
        return isinstance(value, (Argument, Instruction)) and value in self._varied and value in self._useful

    def varied(self, value: AnyValue | MemoryObject) -> bool:
        """May it depend on active inputs?"""
        return value in self._varied

    def useful(self, value: AnyValue | MemoryObject) -> bool:
        """May active outputs depend on it?"""
        return value in self._useful

    def edges(self, backwards: bool) -> Mapping[Node, Sequence[Node]]:
        """The graph along which derivatives flow: tangents forwards, adjoints backwards."""
        return self._graph.backwards if backwards else self._graph.forwards

    def is_inert(self, i: Store) -> bool:
        """Does `i` write an integer that is no address and depends on nothing active, whatever else its bits are?"""
        v = i.value
        return isinstance(scalar(v.type), IntType) and not self.active(v) and not self.memory.points_to(v)

    @cached_property
    def bits_changed(self) -> tuple[Instruction, ...]:
        """Integer arithmetic on the bits of active floats whose result is active: to be refused."""
        return tuple(i for i in dict.fromkeys(self._graph.arithmetic) if self._changes_active_bits(i))

    @cached_property
    def numbers_made(self) -> tuple[Instruction, ...]:
        """Integer arithmetic on the bits of floats that depend on active inputs, whose result is taken for a number."""
        made = (i for i in dict.fromkeys(self._graph.arithmetic) if any(map(self.varied, i.operands)))
        return tuple(i for i in made if not self.active(i))

    @cached_property
    def bits_left(self) -> tuple[Instruction, ...]:
        """Integers that are the bits of floats which depend on active inputs, or parts of them, and that no active
        output is seen to depend on."""
        everything = (i for f in self.functions for i in f.instructions() if isinstance(i.type, IntType))
        return tuple(i for i in everything if i not in self._useful and self._is_left(i))

    def _is_left(self, i: Instruction) -> bool:
        if isinstance(i, Cast):
            return i.opcode == "bitcast" and isinstance(i.operands[0].type, FloatType) and i.operands[0] in self._varied
        if not isinstance(i, Load) or self._graph.is_number_use(i):
            return False
        if self._kinds is not None and self._kinds.value(i).is_float and i in self._varied:
            return True
        varied = any(o in self._varied for a in self.memory.reads(i) for o in a.objects)
        return varied and self.is_part_of_float(i.type, self.memory.reads(i))

    def is_part_of_float(self, t: Type, accesses: Sequence[Access]) -> bool:
        """Is such a small integer a part of a float, in memory where there are floats, and integers like it, alone?

        (Larger ones may lie in work arrays, which are used for floats and for integers by turns.)
        """
        if not isinstance(t, IntType) or t.bits > 16:
            return False
        objects = frozenset(o for a in accesses for o in a.objects)
        if not all(isinstance(x, FloatType) or x == t for x in self.memory.accessed_as(objects)):
            return False
        each = (b for o in objects for b in self._float_accesses.get(o, ()))
        return any(self.memory.may_meet(a, b) for b in each for a in accesses)

    @cached_property
    def _float_accesses(self) -> dict[MemoryObject, list[Access]]:
        """Where floats are read and written, in each object, as themselves or by copies of memory that has some."""
        found: dict[MemoryObject, list[Access]] = {}
        copies: dict[MemoryObject, list[Call]] = {}
        for i in (i for f in self.functions for i in f.instructions() if isinstance(i, Load | Store | Call)):
            touched = [(o, a) for a in (*self.memory.reads(i), *self.memory.writes(i)) for o in a.objects]
            if isinstance(i, Call):
                for o in {o for o, _ in touched} if is_copy(i) else ():
                    copies.setdefault(o, []).append(i)
            elif isinstance(i.type if isinstance(i, Load) else i.value.type, FloatType):
                for o, a in touched:
                    found.setdefault(o, []).append(a)
        done: set[Call] = set()
        work = list(found)
        while work:
            for copy in (c for c in copies.get(work.pop(), ()) if c not in done):
                done.add(copy)
                for a in (*self.memory.reads(copy), *self.memory.writes(copy)):
                    work += a.objects - found.keys()
                    for o in a.objects:
                        found.setdefault(o, []).append(a)
        return found

    def _changes_active_bits(self, i: Instruction) -> bool:
        return self.active(i) and (i.opcode == "atomicrmw" or any(self.active(v) for v in i.operands))

    # --- memory

    @property
    def constant_objects(self) -> frozenset[MemoryObject]:
        """The memory of arguments that the request says are constant."""
        return self._constant

    @cached_property
    def active_objects(self) -> frozenset[MemoryObject]:
        """The objects that may hold active floats. (Text that does is refused: `autodiff.legality.legality`.)"""
        both = (n for n in self._varied if isinstance(n, MemoryObject) and n in self._useful)
        return frozenset(o for o in both if o.kind != "text")

    @cached_property
    def shadowed_objects(self) -> frozenset[MemoryObject]:
        """The objects that need shadows."""
        holders: dict[MemoryObject, list[MemoryObject]] = {}
        for o in self.memory.objects:
            for held in self.memory.contents(o):
                holders.setdefault(held, []).append(o)
        merged: dict[MemoryObject, set[MemoryObject]] = {}
        for together in self._pointed_to_together():
            for o in together:
                merged.setdefault(o, set()).update(together)

        def successors(o: MemoryObject) -> list[MemoryObject]:
            wider = [x for x in merged.get(o, ()) if not self._is_shadowless(x)]
            other = [x for x in (*holders.get(o, ()), *wider) if not x.is_code and x.kind not in ("thrown", "text")]
            return [x for x in other if x not in self._constant and not x.is_library_table]

        return frozenset(reach(self.active_objects, successors))

    def tests_number(self, i: Instruction) -> bool:
        """Is something taken for a number here that may be an active float?"""
        if not self._graph.is_number_use(i):
            return False
        if isinstance(i, Load):
            return self._touches_shadowed(self.memory.reads(i))
        return any(map(self.active, i.operands))

    def _pointed_to_together(self) -> set[frozenset[MemoryObject]]:
        """The points-to sets of the program's pointers."""
        found = set()
        for function in self.memory.functions:
            for value in (*function.arguments, *function.instructions()):
                if holds_type(value.type, PointerType):
                    found.add(self.memory.points_to(value))
        return {s for s in found if len(s) > 1}

    def _is_shadowless(self, obj: MemoryObject) -> bool:
        """Memory for which there is no shadow and none can be made."""
        outside = obj.kind == "contents" and not isinstance(obj.site, Argument) and not obj.has_own_shadow
        outside = outside and obj not in self._kept
        return obj in self._constant or obj.kind in ("unknown", "thrown") or outside

    def object_active(self, obj: MemoryObject) -> bool:
        """Does the object need a shadow?"""
        return obj in self.shadowed_objects

    @cached_property
    def shadowless(self) -> frozenset[MemoryObject]:
        """Objects that need a shadow and cannot have one."""
        return frozenset(o for o in self.shadowed_objects if self._is_shadowless(o))

    def shadowed(self, value: AnyValue) -> bool:
        """Does a pointer, or a value that carries one, need a shadow?"""
        if not carries_pointer(value.type) and not isinstance(value.type, PointerType):
            return False
        if not holds_type(value.type, PointerType) and not self.is_pointer_integer(value):
            return False
        return not self.shadowed_objects.isdisjoint(self.memory.points_to(value))

    def mixed(self, value: AnyValue) -> Mixture | None:
        """What a pointer may point to, if that is both memory with a shadow and memory that cannot have one."""
        if not self.shadowed(value):
            return None
        pointees = self.memory.points_to(value)
        constant = frozenset(o for o in pointees if self._is_shadowless(o))
        return Mixture((pointees & self.shadowed_objects) - self.shadowless, constant) if constant else None

    def nature(self, value: AnyValue) -> tuple[bool, bool]:
        """Does a pointer lead to memory that cannot have a shadow; does it lead to active memory?"""
        objects = self.memory.reachable(self.memory.points_to(value))
        return any(map(self._is_shadowless, objects)), not self.active_objects.isdisjoint(objects)

    def meets_both(self, function: Function) -> bool:
        """Does memory with a shadow meet memory that cannot have one in a pointer, or in a write, of a function?"""
        values = (*function.arguments, *function.instructions())
        return any(map(self.mixed, values)) or any(i.block.function is function for i, _ in self.conflicts)

    def is_pointer_integer(self, value: AnyValue) -> bool:
        """Is an integer used as a pointer, or may it be?"""
        if isinstance(value, ConstExpr):
            return isinstance(value.type, IntType)  # made of an address
        if not isinstance(value, (Argument, Instruction)) or value not in self._pointer_integers:
            return False
        return self._kinds is None or self._kinds.value(value).name in ("pointer", "any", "unknown", "conflict")

    @cached_property
    def _pointer_integers(self) -> dict[Node, Node | None]:
        """Integers that may come to be pointers: in `inttoptr`, in memory, or out of sight."""
        seeds: list[Node] = []
        for function in self.memory.functions:
            for i in function.instructions():
                match i:
                    case Cast("inttoptr", value):
                        seeds.append(value)
                    case Store(value, _) if not self._graph.is_integer_store(i):
                        seeds.append(value)
                    case Call():
                        outside = any(f is None or f.is_declaration for f in self.memory.callees(i))
                        seeds += i.arguments if outside else []
        return reach((s for s in seeds if _is_local_integer(s)), self._sources)

    def _sources(self, value: Node) -> list[Node]:
        """The integers that an integer may be computed from, or passed from."""
        found: list[AnyValue] = []
        match value:
            case Phi() | Select() | Cast() | Unary() | Binary():
                found = value.operands
            case Argument() | Call():
                found = self.memory.passed(value)
            case Instruction():
                found = value.operands if value.opcode in _MOVING else []
        return [v for v in found if _is_local_integer(v)]

    @cached_property
    def conflicts(self) -> tuple[tuple[Instruction, MemoryObject], ...]:
        """Writes of varied data to constant arguments' memory from where useful data may be read back."""
        nothing: frozenset[MemoryObject] = frozenset()
        varied = self._reach(self._inputs(), self._graph.forwards, nothing)
        useful = self._reach(self._outputs(), self._graph.backwards, nothing)
        both = {o for o in self._constant - self._ignored if o in varied and o in useful}
        found = []
        for function in self.memory.functions if both else ():
            for i in function.instructions():
                for o in (o for a in self.memory.writes(i) for o in a.objects & both):
                    source: Node = i.value if isinstance(i, Store) else Hub(i) if isinstance(i, Call) else i
                    if source in varied and not _is_call_of_body(i):
                        found.append((i, o))
        return tuple(dict.fromkeys(found))

    # --- functions

    def argument_activity(self, function: Function, index: int) -> Act:
        """Of a function that is reached: what its parameter is in the calls of it, all together."""
        if function is self.memory.root and not self.memory.callers(function):
            return self.arguments[index]
        argument = function.arguments[index]
        return self._act(self.active(argument), self.shadowed(argument))

    def result_activity(self, function: Function) -> Act:
        """Of a function that is reached: what its result is in the calls of it, all together."""
        if function is self.memory.root and not self.memory.callers(function):
            return self.result
        result = Result(function)
        pointer = carries_pointer(function.function_type.result)
        used = pointer and any(self.shadowed(c) for c in self.memory.callers(function))
        return self._act(result in self._varied and result in self._useful, used)

    def result_is_both(self, function: Function) -> bool:
        """Does a function return active floats and pointers that need shadows, in one struct?"""
        t, result = function.function_type.result, Result(function)
        return not isinstance(t, PointerType) and result in self._varied and result in self._useful and any(
            self.shadowed(c) for c in self.memory.callers(function)
        )

    def _act(self, active: bool, shadowed: bool) -> Act:
        if shadowed:
            return Act.DUP
        return (Act.DUP if self.mode == "forward" else Act.OUT) if active else Act.CONST

    def active_call(self, call: Call) -> bool:
        """Has the derivative anything to do for this call?"""
        if declares_inactive(call.attributes) or self.ends(call.block):
            return False
        miscalled = any(f is not None and is_miscalled(call, f) for f in self.memory.callees(call))
        if miscalled and (hub := Hub(call)) in self._varied and hub in self._useful:
            return True
        return any(
            self._external(call, f) if f is None or (is_opaque(f) and not has_rule(f)) else f in self._active_functions
            for f in self.memory.callees(call)
        )

    @cached_property
    def _active_functions(self) -> dict[Function, Function | None]:
        """Functions that do something for the derivative, or call one that does."""
        own = [f for f in self.functions if any(self._does_something(i) for i in f.instructions())]
        return reach([*own, *self._active_rules(), *self._overwriting(own)], self._callers)

    def _overwriting(self, known: Collection[Function]) -> Iterator[Function]:
        """Functions that do nothing but store numbers where there are active floats."""
        if self._kinds is None:
            return
        others = [i for f in self.functions if f not in known for i in f.instructions() if isinstance(i, Store)]
        numbers = [i for i in others if isinstance(i.value.type, IntType) and not self._graph.is_integer_store(i)]
        stores = [i for i in numbers if self._touches_active(self.memory.writes(i))]
        found = Overwriting(self.memory, self._kinds, self.functions, stores).over if stores else ()
        yield from {f: None for i in found if (f := i.block.function) is not None}

    def ends(self, block: Block) -> bool:
        """Does no derivative come out of this block? (See `graph.DeadEnds`.)"""
        return self._graph.ends.holds(block)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions whose bodies are differentiated: not those that have a rule, or are inactive by declaration."""
        return self._graph.functions

    def _active_rules(self) -> Iterator[Function]:
        """Functions with a rule of the user's that active data comes to or from."""
        for f in self._graph.ruled:
            if any(h.call in self.memory.callers(f) for h in self._graph.messages):
                yield f  # what other ranks send has to be received
                continue
            hubs = [h for h in map(Hub, self.memory.callers(f)) if h in self._varied and h in self._useful]
            if hubs or any(self.active(a) or self.shadowed(a) for a in f.arguments):
                yield f

    def _callers(self, function: Function) -> list[Function]:
        calls = [c for c in self.memory.callers(function) if not declares_inactive(c.attributes)]
        found = [c.block.function for c in calls if c.block.function is not None]
        return [f for f in found if not declares_inactive(f.attributes)]

    def _does_something(self, i: Instruction) -> bool:
        if self.ends(i.block):
            return False
        if self.active(i) or self.tests_number(i):
            return True
        match i:
            case Call():
                outside = [f for f in self.memory.callees(i) if f is None or (is_opaque(f) and not has_rule(f))]
                return any(self._external(i, f) for f in outside)
            case Store(value, _):
                if self._graph.is_integer_store(i) or not (self._graph.may_hold_float(value) or self.shadowed(value)):
                    return isinstance(value.type, PointerType) and self._touches_shadowed(self.memory.writes(i))
                return self._touches_shadowed(self.memory.writes(i))
            case Return(value) if value is not None:
                return self.shadowed(value) or self.active(value)  # what a caller gave, handed back
            case Other(opcode="atomicrmw" | "cmpxchg"):
                return not counts(i) and self._touches_shadowed(self.memory.writes(i))
        return i.opcode == "alloca" and self.shadowed(i)

    def _external(self, call: Call, callee: Function | None) -> bool:
        """The same for a call of code without a body."""
        if declares_inactive(call.attributes) or (callee is not None and declares_inactive(callee.attributes)):
            return False
        if self.mode == "reverse" and tape_call(call):
            return True  # what is on the tape stays there until the reverse sweep
        known = behaviour(call, callee)
        touches = self.memory.touches_of(call, callee)
        if known.kind in ("lifetime", "nothing", "string"):
            return self.active(call)
        if known.kind in ("copy", "fill", "free", "allocate"):
            return self._touches_shadowed((*touches.writes, *touches.frees)) or self.shadowed(call)
        if callee is not None and lookup(callee.name) is not None:
            return self.active(call) or self._touches_shadowed(touches.writes)
        if known.inactive:
            return self.active(call) or any(not a.objects.isdisjoint(self.active_objects) for a in touches.writes)
        used = any(self.active(a) or self.shadowed(a) for a in (*call.arguments, call))
        return used or self._touches_active((*touches.reads, *touches.writes))

    def _touches_shadowed(self, accesses: Iterable[Access]) -> bool:
        return any(not a.objects.isdisjoint(self.shadowed_objects) for a in accesses)

    def _touches_active(self, accesses: Iterable[Access]) -> bool:
        return any(not a.objects.isdisjoint(self.active_objects) for a in accesses)

    # --- words

    def explain(self, value: AnyValue | MemoryObject) -> str:
        """Why a value or an object is active or shadowed, or why not."""
        if value in self._varied and value in self._useful:
            came = _way(self._varied, value)
            goes = _way(self._useful, value)
            return f"active: varied by {' -> '.join(reversed(came))}; useful by {' -> '.join(goes)}"
        if isinstance(value, MemoryObject):
            if value in self.shadowed_objects:
                return "shadowed: it holds a pointer to active memory, or a pointer to active memory may point to it"
            return "constant by the user's word" if value in self._constant else self._why_inactive(value)
        if self.shadowed(value):
            pointees = self.memory.points_to(value) & self.shadowed_objects
            mixture = self.mixed(value)
            return f"shadowed: may point to {mixture if mixture else _listed(pointees)}"
        return self._why_inactive(value)

    def _why_inactive(self, value: Node) -> str:
        if value in self._varied:
            return "inactive: no active output depends on it"
        return "inactive: it depends on no active input" + ("" if value in self._useful else ", nor any output on it")

    def __str__(self) -> str:
        lines = [f"activity of @{self.memory.root.name} ({', '.join(self.arguments)}) -> {self.result}, {self.mode}"]
        lines += sorted(f"  {o}: {'active' if o in self.active_objects else 'shadow'}" for o in self.shadowed_objects)
        for function in self.memory.functions:
            names = [f"%{v.name}" for v in (*function.arguments, *function.instructions()) if self.active(v)]
            lines.append(f"  @{function.name}: {' '.join(names)}")
        return "\n".join(lines)


_MOVING = frozenset({"insertvalue", "extractvalue", "insertelement", "extractelement", "shufflevector"})


def _is_inactive_global(o: MemoryObject) -> bool:
    """A global that no derivative passes through, by the user's word."""
    return isinstance(o.site, GlobalVariable) and declares_inactive(o.site.attributes)


def _is_local_integer(value: Node) -> bool:
    return isinstance(value, (Argument, Instruction)) and carries_pointer(value.type)


def _is_call_of_body(i: Instruction) -> bool:
    return isinstance(i, Call) and i.called_function is not None and not i.called_function.is_declaration


def _way(parents: dict[Node, Node | None], node: Node, most: int = 6) -> list[str]:
    """From a node back to the seed it was reached from, shortened."""
    way: list[str] = []
    at: Node | None = node
    while at is not None:
        way.append(_called(at))
        at = parents[at]
    return way if len(way) <= most else [*way[: most - 2], "…", way[-1]]


def _called(node: Node) -> str:
    match node:
        case Call():
            return f"%{node.name} (call of {describe_callee(node)})"
        case Instruction():
            return f"{node.opcode} %{node.name}" if node.name else node.opcode
        case Value():
            return f"%{node.name}"
    return str(node)


def _listed(objects: Iterable[MemoryObject]) -> str:
    return ", ".join(sorted(map(str, objects))) or "nothing"
