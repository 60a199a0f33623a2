"""Everything the analyses say about one program, in the words that plan and writers ask in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from msgspec import Struct

from llgrad.analysis.activity import activity as activity_analysis
from llgrad.analysis.activity.call_cloning import splits
from llgrad.analysis.activity.graph import declares_inactive, has_rule
from llgrad.analysis.call_shapes import may_mean
from llgrad.analysis.cfg.flow import Flow, Loop, flow
from llgrad.analysis.cfg.loops import Count, Induction, backedge_count, constant_count, inductions
from llgrad.analysis.memory import mod_ref as memory_analysis
from llgrad.analysis.memory.call_effects import behaviour, tape_call
from llgrad.analysis.memory.cells import Spot
from llgrad.analysis.memory.clobbers import Changes
from llgrad.analysis.memory.mod_ref import MemoryObject
from llgrad.analysis.memory.reaching_stores import Reaching
from llgrad.analysis.memory.reused_memory import Reused
from llgrad.analysis.memory.static_buffers import kept_buffers
from llgrad.analysis.objects import carries_float, holds_type
from llgrad.analysis.solver import reach
from llgrad.analysis.types import kinds as kinds_analysis
from llgrad.analysis.types import layouts
from llgrad.analysis.valueflow.dead_bytes import Unread
from llgrad.analysis.valueflow.tagged_unions import turns
from llgrad.autodiff.emit.helpers import WORDS, Copied
from llgrad.autodiff.emit.no_rule import no_rule, without_others
from llgrad.autodiff.facts.device_threads import DeviceThreads
from llgrad.autodiff.facts.dupnoneed import Unwanted
from llgrad.autodiff.facts.float_marks import Marked
from llgrad.autodiff.facts.team_memory import Teams
from llgrad.autodiff.requests.request import Act, Mode
from llgrad.errors import ActivityError, KindError, NoRuleError, Span, UnsupportedError
from llgrad.ir.module import Module, Position
from llgrad.ir.types import (
    I8,
    I32,
    PTR,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    is_float,
    scalar,
)
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    ConstAggregate,
    Constant,
    ConstExpr,
    Function,
    GlobalVariable,
    InlineAsm,
    Instruction,
    Load,
    Phi,
    Store,
)
from llgrad.models.effects import Effects
from llgrad.rules import library
from llgrad.rules.rule import Out
from llgrad.transforms.legalize.clone_for_activity import with_copies
from llgrad.transforms.legalize.exceptions_to_results import may_raise
from llgrad.transforms.legalize.mixed_copies import Unsorted


class LoopFacts(Struct, frozen=True):
    """What the plan wants to know of a loop."""

    count: Count | None
    constant: int | None
    inductions: dict[Phi, Induction]


class Analysed(Struct, frozen=True):
    """What is known of a root's memory and kinds, whatever mode is asked for."""

    memory: memory_analysis.Memory
    changes: Changes
    kinds: kinds_analysis.Kinds

    @staticmethod
    def of(module: Module, root: Function, arguments: tuple[Act, ...], disjoint: bool) -> Analysed:
        constant = {n for n, act in enumerate(arguments) if act is Act.CONST}
        memory = memory_analysis.analyse(
            module, root, distinct_arguments=disjoint, constant_arguments=constant,
            active_arguments=set(range(len(arguments))) - constant,
        )  # fmt: skip
        kinds = kinds_analysis.analyse(module, root, memory=memory)
        found = turns(memory, kinds, constant)
        kinds.settle(found.integers, found.floats, found.numbers)
        return Analysed(memory, Changes(memory), kinds)


class Facts:
    """Facts for one root request; the functions it reaches share them.

    `analysed`, where it is known already: of the same root, constant arguments and `disjoint`. `returns_primal`: the
    caller gets what the root returns.
    """

    def __init__(
        self,
        module: Module,
        root: Function,
        arguments: tuple[Act, ...],
        result: Act,
        mode: Mode,
        disjoint: bool = False,
        runtime_activity: bool = False,
        analysed: Analysed | None = None,
        vector_math: bool = False,
        returns_primal: bool = True,
    ) -> None:
        self.module, self.root, self.layout = module, root, module.layout
        self.analysed = analysed or Analysed.of(module, root, arguments, disjoint)
        self.memory, self.kinds = self.analysed.memory, self.analysed.kinds
        self.changes = self.analysed.changes
        way: activity_analysis.Mode = "forward" if mode is Mode.FORWARD else "reverse"
        acts = tuple(activity_analysis.Act(a.value) for a in arguments)
        at_once = mode in (Mode.FORWARD, Mode.COMBINED)
        self.kept = kept_buffers(self.memory) if at_once else {}
        self.activity = activity_analysis.analyse(
            self.memory, acts, activity_analysis.Act(result.value), way, self.kinds, self.kept
        )
        self.reverse, self.runtime_activity = mode is not Mode.FORWARD, runtime_activity
        self.vector_math, self.returns_primal = vector_math, returns_primal
        self.apart = mode in (Mode.AUGMENTED, Mode.REVERSE)  # the caller has the tape; the reverse may run again
        self.read_back: frozenset[MemoryObject] | None = None  # see `early_frees`
        self.allocated: Any = None  # see `tape_allocations`
        self.left: Any = None  # see `zeroed_tangents`
        self.told: Any = None  # see `given_zeros`
        self.made: Any = None  # see `given_zeros`
        self.steep: Any = None  # see `speculated`
        given = zip(root.arguments, arguments, strict=True)
        self.unwanted = Unwanted(self.memory, [a for a, act in given if act is Act.DUPNONEED])
        self.marked = Marked(self.activity, self.kinds)
        self._flows: dict[Function, Flow] = {}
        self._loops: dict[Loop, LoopFacts] = {}
        self._visible: dict[Function, frozenset[MemoryObject]] = {}

    def decided_as_it_runs(self, pointer: AnyValue | None) -> bool:
        """May a pointer point to memory that the request says is constant, as well as to active memory?"""
        mixture = self.activity.mixed(pointer) if self.runtime_activity and pointer is not None else None
        return mixture is not None and mixture.constant <= self.activity.constant_objects

    def no_rule(self, call: Call) -> NoRuleError:
        """The refusal of a call whose derivative is not known; the remedy where the program has no such function."""
        error = no_rule(call, self.span(call))
        if self._is_never_set(call):
            error.remedy = partial(without_others, found=Position.of(call))
        return error

    def _is_never_set(self, call: Call) -> bool:
        """Is what is called found in memory from before, and are there no functions of the program's of that type?"""
        objects = self.memory.points_to(call.callee) if isinstance(call.callee, Load) else frozenset()
        from_before = all(o.kind == "contents" and isinstance(o.site, GlobalVariable | Argument) for o in objects)
        return bool(objects) and from_before and not self.memory.functions_called(call).functions

    def refuse_mixed(self, i: Instruction, pointer: AnyValue) -> None:
        """Raise ActivityError where a pointer may point to active memory and to memory without a shadow."""
        mixture = self.activity.mixed(pointer)
        if mixture is not None and not self.decided_as_it_runs(pointer):
            raise self.activity_error(
                f"%{getattr(pointer, 'name', '?')} points to {mixture}",
                span=self.span(i),
                cause="constant and active memory meet in one pointer",
                fix="make both arguments active, copy the constant one first, or ask for runtime activity",
            )

    def activity_error(self, message: str, **more: Any) -> ActivityError:
        """The error, with the copies of functions that may mend it."""
        error = ActivityError(message, **more)
        if found := splits(self.activity):
            error.remedy = partial(with_copies, splits=found)
        return error

    def may_be_constant(self, pointer: AnyValue) -> bool:
        """Under runtime activity: may the shadow of a pointer turn out to be the pointer itself?"""
        if not self.runtime_activity:
            return False
        objects = self.memory.points_to(pointer)
        return not objects or any(o.is_external or o not in self.activity.shadowed_objects for o in objects)

    def is_inactive_pointer(self, v: AnyValue) -> bool:
        """Does `v` carry pointers to inactive memory, and nothing that has a derivative?"""
        if self.active(v) or self.shadowed(v):
            return False
        pointers = holds_type(v.type, PointerType)
        return pointers or (self.activity.is_pointer_integer(v) and bool(self.memory.points_to(v)))

    def refuse_conflict(self, i: Instruction) -> None:
        """Raise KindError where an integer access of active memory touches bytes that are floats elsewhere."""
        if isinstance(i, Store) and self.activity.is_inert(i):
            return
        if self.kinds.is_number_use(i):
            return  # it is tested as the program runs
        accessed = i.operands[0] if isinstance(i, Store) else i
        if not isinstance(accessed.type, IntType) or (accessed is i and accessed.type.bits < 32):
            return  # a float's sign or exponent, read as an integer, is piecewise constant
        if layouts.CONFLICT in self.kinds.access(i).at.values():
            self._required(i)

    def flow(self, function: Function) -> Flow:
        if function not in self._flows:
            found = flow(function)
            if found.irreducible and self.reverse:
                block = found.irreducible[0]
                raise UnsupportedError(
                    f"irreducible control flow in {function.name}",
                    span=self.span(block.terminator),
                    cause=f"a cycle through block %{block.name} is entered at more than one place",
                    fix="replace the goto into the loop by a structured loop",
                )
            self._refuse_second_return(function)
            self._flows[function] = found
        return self._flows[function]

    def _refuse_second_return(self, function: Function) -> None:
        """setjmp and its like: control may come back to the call, with memory as some later statement left it."""
        for i in function.instructions():
            called = i.called_function if isinstance(i, Call) else None
            if called is not None and (called.attribute("returns_twice") or "setjmp" in called.name):
                raise UnsupportedError(
                    f"{function.name} calls {called.name}, which may return twice",
                    span=self.span(i),
                    cause="a jump back to it is not seen in the control flow that is reversed",
                    fix="return an error code instead of jumping",
                )

    def loop(self, function: Function, loop: Loop) -> LoopFacts:
        if loop not in self._loops:
            f = self.flow(function)
            self._loops[loop] = LoopFacts(
                backedge_count(f, loop, self.layout), constant_count(f, loop), dict(inductions(f, loop, self.layout))
            )
        return self._loops[loop]

    def span(self, i: Instruction) -> Span | None:
        return self.module.place(i)

    def is_caught(self, i: Instruction) -> bool:
        """Is this a call under a handler that runs in the derivative? In reverse mode one from which the function goes
        on to return; in forward mode any, as clean-up may write what an outer handler reads."""
        if not isinstance(i, Call) or i.opcode != "invoke" or i.block.function is None:
            return False
        return not self.reverse or self.flow(i.block.function).reaches_return(i.targets[1])

    @cached_property
    def raising(self) -> set[Function]:
        """The functions that something may be thrown out of."""
        return may_raise(self.memory.functions)

    @cached_property
    def unwinds(self) -> bool:
        """May a throw leave a function in which the forward sweep has allocated?"""
        known = any(f.personality is not None for f in self.module.functions) or "__cxa_throw" in self.module.globals
        return self.reverse and known and bool(self.raising)

    def leaves_traces(self, call: Call) -> bool:
        """May a call write memory that has a shadow, and that those who are under way when it throws can see? Or
        release what they can see: it cleans up when it throws."""
        function = call.block.function
        assert function is not None
        if function not in self._visible:
            self._visible[function] = self._seen_from(function)
        written = {o for a in self.memory.writes(call) for o in a.objects}
        freed = {o for a in self.memory.frees(call) for o in a.objects}
        return not (self.activity.shadowed_objects & written | freed).isdisjoint(self._visible[function])

    def _seen_from(self, function: Function) -> frozenset[MemoryObject]:
        """Memory that a function, or one that it was called from, has a way to."""
        under_way = reach([function], lambda f: [c.block.function for c in self.memory.callers(f) if c.block.function])
        values = [v for f in under_way for v in (*f.arguments, *f.instructions())]
        outside = [o for o in self.memory.objects if o.is_external]
        return self.memory.reachable({*outside, *(o for v in values for o in self.memory.points_to(v))})

    # --- activity

    def active(self, v: AnyValue) -> bool:
        """Does `v` carry floats that have a derivative?"""
        return not isinstance(v, Constant) and self.activity.active(v)

    def shadowed(self, v: AnyValue) -> bool:
        """Is `v` a pointer (or carries one) into active memory?"""
        return (not isinstance(v, Constant) or isinstance(v, ConstExpr | ConstAggregate)) and self.activity.shadowed(v)

    @cached_property
    def tests_numbers(self) -> bool:
        """Does the derivative test anywhere that what is taken for a number is no active float?"""
        return any(self.activity.tests_number(i) for f in self.memory.functions for i in f.instructions())

    @cached_property
    def checkpointed(self) -> bool:
        """Are there loops whose steps the reverse sweep runs again?"""
        return any(f.attribute("llgrad.checkpoint") for f in self.memory.functions)

    @cached_property
    def frees_at_once(self) -> bool:
        """Is memory released that the forward sweep does not postpone: by `realloc`, or within inactive calls?"""
        calls = [i for f in self.memory.functions for i in f.instructions() if isinstance(i, Call)]
        return any(self._releases(i) for i in calls)

    def _releases(self, call: Call) -> bool:
        if call.called_function is not None and call.called_function.attribute("llgrad.checkpoint") is not None:
            return False  # it frees what it has allocated
        known = self.effects(call)
        if known is not None:
            return known.allocator is not None and known.allocator.moves is not None
        return not self.activity.active_call(call) and bool(self.memory.frees(call))

    def overwritten(self, reader: Instruction, function: Function, split: bool) -> bool:
        """May what `reader` read have changed by the time the reverse sweep asks for it? (Releases are postponed.)

        A callee of a combined root has two sweeps as well, but both run in one call of the root.
        """
        if self.teams.may_change(reader) or self.device.may_change(reader):
            return True
        handed_out = split and (self.apart or bool(self.memory.callers(self.root)))
        return self.changes.overwritten_after(reader, returns_to=handed_out, frees=self.frees_at_once)

    def argument_overwritten(self, call: Call, n: int) -> bool:
        """The same of what a routine that has a rule reads through its `n`-th argument."""
        handed_out = self.apart or bool(self.memory.callers(self.root))
        through = call.arguments[n]
        return self.changes.overwritten_after(call, returns_to=handed_out, frees=self.frees_at_once, through=through)

    @cached_property
    def teams(self) -> Teams:
        """What the threads of a team of OpenMP run and reach."""
        return Teams(self.memory)

    @cached_property
    def device(self) -> DeviceThreads:
        """What the threads of a GPU share."""
        return DeviceThreads(self.memory)

    def adds_with_others(self, i: Instruction, pointer: AnyValue) -> bool:
        """May other threads add to the adjoints that `i` adds to, behind a pointer, at the same time?"""
        in_team = i.block.function in self.teams.functions and not self.teams.is_private(pointer)
        return self.reverse and (in_team or not self.device.is_private(pointer))

    # --- calls

    def effects(self, call: Call) -> Effects | None:
        f = call.called_function
        return library.effects(f.name) if f is not None and f.is_declaration else None

    def entry(self, call: Call) -> library.Entry | None:
        """The derivative rule of the called function, if it has one."""
        f = call.called_function
        return library.lookup(f.name) if f is not None else None

    def is_pure(self, call: Call) -> bool:
        """Has the called function a rule, and works on values alone?"""
        entry = self.entry(call)
        return entry is not None and "pointer" not in entry.rule.operands and entry.shape != "byval"

    def shadow_is_primal(self, call: Call, v: AnyValue) -> bool:
        """Is `v` constant memory that is passed to the user's rule, which is given the pointer as its own shadow?"""
        ruled = isinstance(v.type, PointerType) and any(has_rule(f) for f in self.callees(call)[0])
        return ruled and not self.shadowed(v)

    def callees(self, call: Call) -> tuple[tuple[Function, ...], bool]:
        """The functions a call may reach, and whether there may be others.

        Of several those of the call's own type; a derivative that meets another ends (`tape.FAIL_TARGET`).
        """
        if call.called_function is not None:
            return (call.called_function,), False
        found, unknown = self.memory.functions_called(call)
        return tuple(f for f in found if may_mean(call, f)) or found, unknown

    def leads_nowhere(self, call: Call) -> bool:
        """Is it a call through a pointer that the program never sets? It fails if it is reached."""
        return not isinstance(call.callee, InlineAsm) and self.callees(call) == ((), False)

    # --- the floats in values

    def float_parts(self, v: AnyValue) -> list[tuple[int, Type]]:
        """The floats in an active value: (byte offset, type). Vectors of floats are one; integers are what they hold.

        Raises KindError where it is not known what `v` holds.
        """
        parts = [(o, t) for o, t in self.layout.leaves(v.type) if carries_float(t)]
        integers = [(o, self.layout.size(t)) for o, t in parts if not is_float(t)]
        floats = [(o, t) for o, t in parts if is_float(t)]
        for at, size in integers:
            floats += self._floats_in_integer(v, at, size)
        return sorted(floats, key=lambda part: part[0])

    def holds_float(self, v: AnyValue, at: int, t: Type) -> bool:
        """Does an active value hold the float (or vector of floats) `t` at byte `at`? False: blanks that fit anything.

        Raises KindError where it holds something else: the adjoint of a float would be lost.
        """
        end = at + self.layout.size(t)
        parts = self.float_parts(v)
        if any(o <= at and end <= o + self.layout.size(p) and scalar(p) == scalar(t) for o, p in parts):
            return True
        over = [p for p in self.kinds.parts(v) if p[0] < end and at < p[0] + p[2]]
        if any(k is not layouts.ANY for _, k, _ in over):
            raise self._unknown_bits(v, at, end - at)
        return False

    def _floats_in_integer(self, v: AnyValue, at: int, size: int) -> Iterator[tuple[int, Type]]:
        for o, kind, n in self.kinds.parts(v):
            if o + n <= at or o >= at + size:
                continue
            if kind.format is not None and at <= o and o + n <= at + size:
                yield o, kind.format
            elif kind.is_float or not (kind.is_known or self._is_padding(v, n)):
                raise self._unknown_bits(v, o, n)

    def _is_padding(self, v: AnyValue, size: int) -> bool:
        """Are bytes of which nothing is known too few for a float?

        In what the caller passes: structs whose members are not aligned go through memory (the C ABI), so that no
        float lies in two words.
        """
        if v not in self.root.arguments or size >= 4:
            return False
        values = [i.type for f in self.memory.functions for i in f.instructions()]
        return size == 1 or not any(isinstance(t, FloatType) and t.name in ("half", "bfloat") for t in values)

    def _unknown_bits(self, v: AnyValue, offset: int, size: int) -> KindError:
        cause = "an integer or vector of integers holds the bits of floats here, and which is not known"
        end = offset + size
        if any(k is layouts.CONFLICT and o < end and offset < o + n for o, k, n in self.kinds.parts(v)):
            cause = self.kinds.disagreement(v, offset, size)
        return KindError(
            f"bytes {offset} to {end - 1} of {self.kinds.describe(v)} may be an active float, or part of one",
            span=self.span(v) if isinstance(v, Instruction) else None,
            cause=cause,
            fix="compile with debug info (-g), or copy through the float type",
        )

    def result_type(self, call: Call, k: int) -> Type:
        """Type of the k-th result of a rule's call."""
        entry = self.entry(call)
        assert entry is not None
        return self.rule_result_type(call, entry.rule.results[k])

    def rule_result_type(self, i: Instruction, out: Out) -> Type:
        """Type of one result of a rule, returned or stored."""
        if isinstance(out.place, int):
            assert isinstance(i, Call)
            entry = self.entry(i)
            assert entry is not None
            return FloatType(entry.format) if out.kind == "float" else I32
        if out.field is None:
            return i.type
        match i.type:
            case StructType(fields) if fields is not None:
                return fields[out.field]
            case VectorType(element):
                return element
        return i.type

    def refuse(self, i: Instruction, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{what} is not differentiated yet", span=self.span(i),
            cause=f"`{i.opcode}` of type {i.type}", fix="store its members one by one, or compile with -O2",
        )  # fmt: skip

    # --- what memory holds

    def float_leaves(self, i: Store) -> list[tuple[int, Type]]:
        """The floats in what `i` stores: (byte offset, type)."""
        if is_float(i.value.type):
            return [(0, i.value.type)]
        if self.activity.is_inert(i):
            return []
        return [(o, k.format) for o, k, _ in self._required(i).leaves if k.format is not None]

    def _required(self, i: Instruction) -> layouts.Layout:
        """What an access moves; a KindError where that is not known, with a remedy if it may be moved as a word."""
        try:
            return self.kinds.require(i)
        except KindError as error:
            if self._unsorted.moves_words(i):
                raise self._unsorted.remedied(error) from None
            raise

    @cached_property
    def _unread(self) -> Unread:
        return Unread(self.memory)

    @cached_property
    def _unsorted(self) -> Unsorted:
        return Unsorted(self.memory, self.kinds)

    @cached_property
    def _reaching(self) -> Reaching:
        return Reaching(self.memory)

    def _looked_at(self, copy: Call, at: Spot, size: int) -> layouts.Kind:
        """ANY for bytes of a copy that are zeros, not set or never looked at; or the floats as which they are."""
        if self._unread.after(copy, at, size) or self._reaching.is_blank(copy, at, size):
            return layouts.ANY
        floats = self._unread.floats(copy, at, size)
        return layouts.UNKNOWN if floats is None else layouts.float_kind(floats)

    @cached_property
    def _reused(self) -> Reused:
        return Reused(self.memory, self.kinds, self.activity.functions, self.activity.shadowed_objects)

    def written_without_tangents(self, allocation: Instruction) -> bool:
        """May a call that writes no tangents (declared inactive, or without a body) write to what is allocated here?"""
        return not self._written_by_calls.isdisjoint(self.memory.points_to(allocation))

    @cached_property
    def _written_by_calls(self) -> frozenset[MemoryObject]:
        calls = [i for f in self.activity.functions for i in f.instructions() if isinstance(i, Call)]
        found: set[MemoryObject] = set()
        for call in calls:
            for callee in self.memory.callees(call):
                inactive = declares_inactive((*call.attributes, *(callee.attributes if callee else ())))
                own = callee is None or callee.is_declaration or has_rule(callee)
                moves = own and behaviour(call, callee).kind in ("copy", "fill", "lifetime", "nothing")
                if inactive or (own and not moves and not tape_call(call)):
                    found.update(o for a in self.memory.touches_of(call, callee).writes for o in a.objects)
        return frozenset(found)

    def over_pointers(self, i: Instruction) -> bool:
        """Does the write `i` put floats, in whose shadow there are adjoints yet to come, where shadow pointers were?"""
        return self.reverse and self.memory.is_own(i) and self._reused.over_pointers(i)

    def over_floats(self, i: Instruction) -> bool:
        """Does the write `i` put pointers where the shadow holds adjoints of what is there at other times?

        Raises KindError where those are the caller's: they would be lost.
        """
        if not self.reverse or not self._reused.over_floats(i):
            return False
        if not self.memory.is_own(i):
            bad = next((leaf for leaf in self._target(i).leaves if leaf[1] is layouts.CONFLICT), None)
            if bad is not None:
                raise self.kinds.error(i, *bad)
        return True

    def _target(self, i: Instruction) -> layouts.Layout:
        pointer = i.operands[1] if isinstance(i, Store) else i.operands[0]
        size = next((a.size for a in self.memory.writes(i)), None)
        return self.kinds.memory(pointer, size)

    def pointer_leaves(self, i: Store) -> list[tuple[int, Type]]:
        """The pointers in what `i` stores: (byte offset, type)."""
        if isinstance(i.value.type, PointerType):
            return [(0, i.value.type)]
        if is_float(i.value.type) or (isinstance(i.value.type, IntType) and i.value.type.bits < 64):
            return []
        if self.activity.is_inert(i):
            return []
        return [(o, PTR) for o, k, _ in self._required(i).leaves if k is layouts.POINTER]

    def is_text(self, i: Call) -> bool:
        """Is what a memcpy moves the characters of a constant? Then it is a fill, as far as derivatives go."""
        sites = [o.is_constant and o.site for o in self.memory.points_to(i.arguments[1])]
        return bool(sites) and all(isinstance(g, GlobalVariable) and _is_text(g.value_type) for g in sites)

    def clears_shadow(self, i: Call) -> bool:
        """Does the reverse of a memset clear the shadow? Not that of pointers: it may be asked for at the end."""
        filled = self.kinds.access(i)
        pointers = any(kind is layouts.POINTER for _, kind, _ in filled.leaves)
        return not pointers or filled.may_hold_float or self.over_floats(i)

    def copied(self, i: Call) -> Copied:
        """What a memcpy or memmove moves."""
        if self.is_text(i):
            return Copied(1, ())
        try:
            layout = self.kinds.require(
                i, (self._is_local(i.arguments[0]), self._is_local(i.arguments[1])), partial(self._looked_at, i)
            )
        except KindError as error:
            if not self._unsorted.moves_words(i):
                raise
            if self._unsorted.has_hidden:
                raise self._unsorted.remedied(error) from None
            return WORDS
        size = layout.stride or sum(n for _, _, n in layout.leaves)
        moved = (layouts.POINTER, layouts.WORD)
        leaves = [(o, k) for o, k, _ in layout.leaves if k.format is not None or k in moved]
        if layout.head:
            floats = tuple((o, k.format) for o, k in leaves if k.format is not None)
            pointers = tuple(o for o, k in leaves if k is layouts.POINTER)
            return Copied(size, floats, pointers, head=layout.head)
        stride = _period(leaves, size)
        floats = tuple((o, k.format) for o, k in leaves if k.format is not None and o < stride)
        words = tuple(o for o, k in leaves if k is layouts.WORD and o < stride)
        if words and self.reverse and not self.memory.is_own(i):
            bad = next(leaf for leaf in self.kinds.access(i).leaves if not leaf[1].is_known)
            raise self.kinds.error(i, *bad)
        return Copied(stride, floats, tuple(o for o, k in leaves if k is layouts.POINTER and o < stride), words)

    def _is_local(self, pointer: AnyValue) -> bool:
        """Does a pointer point to memory that is allocated here, and that nothing else knows of while this runs?"""
        objects = self.memory.points_to(pointer) - self._kept_blocks
        own = all(o.kind in ("stack", "heap") and not self.memory.escapes(o) for o in objects)
        return own and bool(self.memory.points_to(pointer))

    @cached_property
    def _kept_blocks(self) -> frozenset[MemoryObject]:
        """What static variables of the program lead to, and nothing else does."""
        variables = {g for kept in self.kept.values() for g, _ in kept.variables}
        found = [o for o in self.memory.objects if o.kind == "global" and o.site in variables]
        return frozenset().union(*map(self.memory.contents, found))

    def is_integer(self, v: AnyValue) -> bool:
        """Is `v` known to be a number, and no bits of anything else?"""
        return isinstance(v.type, IntType) and self.kinds.value(v) is layouts.INTEGER

    def carries_pointer(self, v: AnyValue) -> bool:
        """May the value hold a pointer among other things?"""
        return isinstance(v.type, PointerType) or any(
            k is layouts.POINTER or not k.is_known for _, k in self.kinds.leaves(v)
        )

    def argument_of(self, v: AnyValue) -> Argument | None:
        """The root's argument into whose memory `v` points, where there is just one."""
        places = self.memory.points_to(v)
        site = next(iter(places)).site if len(places) == 1 else None
        if site in self.unwanted.arguments:
            return None  # it may be null
        known = isinstance(site, Argument) and next(iter(places)).kind == "argument" and self.shadowed(site)
        return site if known and isinstance(site, Argument) else None

    def escapes(self, allocation: Instruction) -> bool:
        """Does the caller see what is allocated here after the root has returned?"""
        return any(self.memory.escapes(o) for o in self.memory.points_to(allocation))

    def all_escape(self, pointer: AnyValue) -> bool:
        """Is it memory whose shadow has no mirror that releases it, but which was allocated under the root?"""
        objects = self.memory.points_to(pointer)
        return bool(objects) and all((o.kind == "heap" and self.memory.escapes(o)) or o in self.kept for o in objects)


def _is_text(t: Type) -> bool:
    return isinstance(t, ArrayType) and t.element == I8


def _period(leaves: Sequence[tuple[int, object]], size: int) -> int:
    """The smallest stride with which the leaves repeat over `size` bytes."""
    count = len(leaves)
    for n in range(1, count):
        if count % n or size % (count // n):
            continue
        step = size // (count // n)
        if all(leaves[j] == (leaves[j - n][0] + step, leaves[j - n][1]) for j in range(n, count)):
            return step
    return size or 1
