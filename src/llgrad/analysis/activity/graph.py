"""The graph along which derivatives flow: an edge a -> b says that floats in b may depend on those in a.

Nodes are SSA values, memory objects (all bytes as one), the result of each function, and a hub for each call of code
without a body. Comparisons, conditions, indices, float-to-integer casts and inactive functions make no edges. Float
bits in integers flow through loads, stores, copies, phis, casts and shifts like floats; what integer arithmetic makes
of them flows on, too, and is noted in `arithmetic`, because no derivative rule is right for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol

from msgspec import Struct

from llgrad.analysis.bits.byte_moves import integer_moves
from llgrad.analysis.cfg.flow import Flow, flow
from llgrad.analysis.memory.call_effects import Behaviour, behaviour
from llgrad.analysis.memory.mod_ref import UNKNOWN, Access, Memory, MemoryObject, Touches
from llgrad.analysis.memory.points_to import is_byte_copy
from llgrad.analysis.memory.reused_memory import Leaves
from llgrad.analysis.objects import carries_float, holds_type
from llgrad.analysis.solver import reach
from llgrad.ir.types import FloatType, IntType, PointerType, SimpleType, scalar
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Attribute,
    Binary,
    Block,
    Call,
    Cast,
    Compare,
    ConstInt,
    ExtractElement,
    Function,
    GetElementPtr,
    GlobalVariable,
    InsertElement,
    Instruction,
    Load,
    Other,
    Return,
    Select,
    Store,
    Value,
)
from llgrad.models.mpi import READ, WRITTEN, buffers, continues, is_handle, is_integer_type, moves, sends
from llgrad.rules import Entry, lookup
from llgrad.rules.blas import is_own
from llgrad.rules.library import LIKE


class NamedKind(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_float(self) -> bool: ...


class KindAnswers(Protocol):
    """What activity asks of an analysis of kinds."""

    def may_hold_float(self, v: AnyValue, /) -> bool: ...

    def value(self, v: AnyValue, /) -> NamedKind: ...

    def is_number_use(self, i: AnyValue, /) -> bool: ...

    def access(self, instruction: Instruction, /) -> Leaves: ...


class Result(Struct, frozen=True):
    """What a function returns."""

    function: Function

    def __str__(self) -> str:
        return f"the result of @{self.function.name}"


class Hub(Struct, frozen=True):
    """All that a call of code without a body has to do with."""

    call: Call

    def __str__(self) -> str:
        return f"the call of {describe_callee(self.call)}"


Node = Hashable
NUMBERS = "what is taken for a number"
"""Where all that may be a float ends that is used as a number: whether it is one then is tested, so it has a shadow."""

WIRE = "what other ranks send"
"""Where floats go that MPI sends, and come from. Other ranks may differentiate other functions, which are not seen."""


class FlowGraph:
    """Edges of the program that `memory` describes."""

    def __init__(self, memory: Memory, kinds: KindAnswers | None) -> None:
        self.memory, self._kinds = memory, kinds
        self.forwards: dict[Node, list[Node]] = {}
        self.backwards: dict[Node, list[Node]] = {}
        self.arithmetic: list[Instruction] = []
        self._floats: dict[Value, bool] = {}
        self.ends = DeadEnds(memory)
        self.functions = followed(memory, self.ends)
        self.ruled: dict[Function, None] = {}
        self.messages: dict[Hub, None] = {}
        for function in self.functions:
            for block in function.blocks:
                for i in [] if self.ends.holds(block) else block.instructions:
                    self._instruction(function, i)
        self._outside()

    def may_hold_float(self, value: AnyValue) -> bool:
        """May the value carry float bits, by its type, its TBAA tag, and kinds?"""
        if not isinstance(value, (Argument, Instruction)):
            return carries_float(value.type)
        if value not in self._floats:
            self._floats[value] = self._holds(value)
        return self._floats[value]

    def _holds(self, value: Argument | Instruction) -> bool:
        if holds_type(value.type, FloatType):
            return True
        typed = isinstance(value, Load) and self.memory.types.is_integer(self.memory.types.tag(value))
        if typed and (self._kinds is None or self._kinds.value(value).name == "integer"):
            return False
        byte, given = isinstance(value.type, IntType) and value.type.bits == 8, isinstance(value, Load | Argument)
        if not carries_float(value.type) and not (byte and (not given or is_byte_copy(value))):
            return False
        return self._kinds is None or self._kinds.may_hold_float(value)

    def is_number_use(self, i: Instruction) -> bool:
        """Is what may be a float taken for a number here?"""
        return self._kinds is not None and self._kinds.is_number_use(i)

    def _edge(self, source: Node, target: Node) -> None:
        self.forwards.setdefault(source, []).append(target)
        self.backwards.setdefault(target, []).append(source)

    def _value_edge(self, source: AnyValue, target: Node) -> None:
        if isinstance(source, (Argument, Instruction)) and self.may_hold_float(source):
            self._edge(source, target)

    # --- instructions

    def _instruction(self, function: Function, i: Instruction) -> None:
        match i:
            case Call():
                self._call(i)
            case Load():
                if self.is_number_use(i):
                    self._from_memory(self.memory.reads(i), NUMBERS)
                elif self.may_hold_float(i):
                    self._from_memory(self.memory.reads(i), i)
            case Store():
                if not self.is_integer_store(i):
                    self._to_memory(i.value, self.memory.writes(i))
            case Return(value) if value is not None:
                self._value_edge(value, Result(function))
            case Other():
                self._other(i)
            case GetElementPtr() | Compare() | Cast("fptosi" | "fptoui" | "ptrtoint" | "inttoptr"):
                pass
            case _ if self.is_number_use(i):
                self._number(i)
            case _ if not isinstance(i.type, SimpleType) and self.may_hold_float(i):
                self._compute(i)

    def _number(self, i: Instruction) -> None:
        """Of what may be floats a number is made: it has no derivative, by a test as the program runs."""
        for v in i.arguments if isinstance(i, Call) else i.operands:
            self._value_edge(v, NUMBERS)

    def _compute(self, i: Instruction) -> None:
        operands = i.operands
        match i:
            case Select():
                operands = operands[1:]
            case ExtractElement():
                operands = operands[:1]
            case InsertElement():
                operands = operands[:2]
        for value in operands:
            self._value_edge(value, i)
        if changes_bits(i):
            self.arithmetic.append(i)

    def _other(self, i: Other) -> None:
        match i.opcode:
            case "atomicrmw" if counts(i):
                pass
            case "atomicrmw" | "cmpxchg":
                self._to_memory(i.operands[-1], self.memory.writes(i))
                if self.may_hold_float(i):
                    self._from_memory(self.memory.reads(i), i)
                if i.detail.get("operation", "xchg") not in ("xchg", "fadd", "fsub") and self.may_hold_float(i):
                    self.arithmetic.append(i)
            case "va_arg":
                if self.may_hold_float(i):
                    self._from_memory(self.memory.reads(i), i)
                    self._edge(UNKNOWN, i)

    def _from_memory(self, accesses: Iterable[Access], target: Node) -> None:
        for access in accesses:
            for o in access.objects:
                if not o.is_code and not o.is_constant:
                    self._edge(o, target)

    def _to_memory(self, value: AnyValue, accesses: Iterable[Access]) -> None:
        if isinstance(value, (Argument, Instruction)) and self.may_hold_float(value):
            self._into(value, accesses)

    def _into(self, source: Node, accesses: Iterable[Access]) -> None:
        for access in accesses:
            for o in access.objects:
                if not o.is_code and not o.is_constant:
                    self._edge(source, o)

    def is_integer_store(self, i: Instruction) -> bool:
        """By its TBAA tag, a store of something that is neither float nor pointer, unless it was seen to be one."""
        assert isinstance(i, Store)
        if not self.memory.types.is_integer(self.memory.types.tag(i)) or self.memory.points_to(i.value):
            return False
        seen = self._kinds is not None and isinstance(i.value, Argument | Instruction)
        return not (seen and self.may_hold_float(i.value))

    # --- calls

    def _call(self, call: Call) -> None:
        for callee in self.memory.callees(call):
            if declares_inactive(call.attributes) or (callee is not None and declares_inactive(callee.attributes)):
                continue
            if callee is not None and has_rule(callee):
                self._ruled(call, callee)
            elif callee is None or is_opaque(callee):
                self._external(call, callee, behaviour(call, callee))
            else:
                self._defined(call, callee)

    def _defined(self, call: Call, callee: Function) -> None:
        for n, argument in enumerate(call.arguments):
            if n >= len(callee.arguments):
                self._value_edge(argument, UNKNOWN)
            elif self.may_hold_float(callee.arguments[n]):
                self._value_edge(argument, callee.arguments[n])
        if not isinstance(call.type, SimpleType) and self.may_hold_float(call):
            self._edge(Result(callee), call)
        if is_miscalled(call, callee):
            self._miscalled(call, callee)

    def _miscalled(self, call: Call, callee: Function) -> None:
        """The body does not say what becomes of an argument of another type: a float may be passed for a pointer."""
        touches, hub = self.memory.touches_of(call, callee), Hub(call)
        self._opaque(call, touches.reads, touches.writes)
        pairs = zip(call.arguments, callee.arguments, strict=False)
        given = frozenset(o for a, p in pairs if a.type != p.type for o in self.memory.points_to(a))
        for o in self.memory.reachable(given):
            if not o.is_code and not o.is_constant:
                self._both_ways(hub, o)

    def _ruled(self, call: Call, callee: Function) -> None:
        """The user's rule may lead from all that goes in to all that comes out."""
        self.ruled[callee] = None
        self._defined(call, callee)
        hub = Hub(call)
        if sends(callee.name):
            if not moves_integers(call, callee):
                self._message(call, callee, hub)
            return
        if is_own(callee.name):
            touches = self.memory.touches_of(call, callee)
            self._opaque(call, touches.reads, touches.writes)
            for argument in callee.arguments:
                self._value_edge(argument, hub)
            if not isinstance(call.type, SimpleType):
                self._edge(hub, Result(callee))
            return
        for argument in callee.arguments:
            self._value_edge(argument, hub)
        if not isinstance(call.type, SimpleType) and self.may_hold_float(call):
            self._edge(hub, Result(callee))
        touches = self.memory.touches_of(call, callee)
        given = frozenset(o for a in call.arguments for o in self.memory.points_to(a))
        objects = {o for a in (*touches.reads, *touches.writes) for o in a.objects} | self.memory.reachable(given)
        for o in objects:
            if not o.is_code and not o.is_constant:
                self._both_ways(hub, o)

    def _message(self, call: Call, callee: Function, hub: Hub) -> None:
        """What is sent may be what is received anywhere."""
        read, written = (self._buffers(call, callee, kinds) for kinds in (READ, WRITTEN))
        if continues(callee.name):
            read, written = read | self.memory.read_later, written | self.memory.written_later
        for o in (o for o in read if not o.is_code and not o.is_constant):
            self._edge(o, hub)
        for o in (o for o in written if not o.is_code and not o.is_constant):
            self._edge(hub, o)
        self._both_ways(hub, WIRE)
        self.messages[hub] = None

    def _buffers(self, call: Call, callee: Function, kinds: str) -> frozenset[MemoryObject]:
        given = (call.arguments[n] for n in buffers(callee.name, kinds))
        return frozenset(o for a in given for o in self.memory.points_to(a))  # no message follows pointers

    def _external(self, call: Call, callee: Function | None, known: Behaviour) -> None:
        hub = Hub(call)
        touches = self.memory.touches_of(call, callee)
        entry = lookup(callee.name) if callee is not None else None
        if known.kind == "copy":
            self._from_memory(touches.reads, hub)
            self._into(hub, touches.writes)
        elif known.kind == "allocate" and known.moves is not None:
            self._from_memory(touches.reads, hub)
            for o in self.memory.points_to(call):
                self._edge(hub, o)
        elif entry is not None:
            self._rule(call, entry, touches.reads)
        elif known.kind == "string":
            self._string(call, touches)
        elif known.inactive:
            self._bits(call, callee)
        elif known.kind == "plain":
            self._opaque(call, touches.reads, touches.writes)

    def _string(self, call: Call, touches: Touches) -> None:
        """Bytes of floats may be put into text."""
        hub = Hub(call)
        for argument in call.arguments:
            if not isinstance(argument.type, FloatType):  # formatted, as by `printf`
                self._value_edge(argument, hub)
        self._from_memory([a for a in touches.reads if a.size is None], hub)
        self._into(hub, [a for a in touches.writes if a.size is None])

    def _opaque(self, call: Call, reads: Iterable[Access], writes: Iterable[Access]) -> None:
        hub = Hub(call)
        for argument in call.arguments:
            self._value_edge(argument, hub)
        self._from_memory(reads, hub)
        self._into(hub, writes)
        if any(o.is_code for a in call.arguments for o in self.memory.points_to(a)):
            self._both_ways(hub, UNKNOWN)
        if not isinstance(call.type, SimpleType) and self.may_hold_float(call):
            self._edge(hub, call)

    def _rule(self, call: Call, entry: Entry, reads: Iterable[Access]) -> None:
        if entry.rule.inactive:
            return
        hub = Hub(call)
        for n, argument in enumerate(call.arguments):
            if holds_type(argument.type, FloatType) and entry.depends_on(n):
                self._value_edge(argument, hub)
        self._from_memory(reads, hub)
        for out in entry.rule.results:
            if out.kind != "float":
                continue
            if isinstance(out.place, int):
                for o in self.memory.points_to(call.arguments[out.place]):
                    self._edge(hub, o)
            else:
                self._edge(hub, call)

    def _bits(self, call: Call, callee: Function | None) -> None:
        """Integer intrinsics hand float bits on, changed."""
        if callee is None or not callee.name.startswith("llvm.") or isinstance(call.type, SimpleType):
            return
        if self.is_number_use(call):
            self._number(call)
            return
        if holds_type(call.type, PointerType) or not self.may_hold_float(call):
            return
        for argument in call.arguments:
            self._value_edge(argument, call)
        if not callee.name.startswith("llvm.expect") and integer_moves(call) is None:
            self.arithmetic.append(call)

    def _outside(self) -> None:
        """Code that is not known moves data between all it can reach."""
        globals_ = [o for o in self.memory.objects if _is_public(o)]
        for o in dict.fromkeys([*self.memory.exposed, *globals_]):
            handle = isinstance(o.site, GlobalVariable) and is_handle(o.site.name)
            if o.kind not in ("unknown", "thrown", "text") and not (o.is_code or o.is_constant or handle):
                self._both_ways(o, UNKNOWN)
        for function in self.memory.functions:
            if self.memory.called_back(function):
                for argument in function.arguments:
                    if self.may_hold_float(argument):
                        self._edge(UNKNOWN, argument)
                self._edge(Result(function), UNKNOWN)

    def _both_ways(self, a: Node, b: Node) -> None:
        self._edge(a, b)
        self._edge(b, a)


def counts(i: Other) -> bool:
    """Is this integer arithmetic on memory shared by threads? That is done to counters, never to a float's bits."""
    moved = i.detail.get("operation", "xchg") in ("xchg", "fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum")
    return i.opcode == "atomicrmw" and isinstance(i.type, IntType) and not moved


def declares_inactive(attributes: Iterable[Attribute]) -> bool:
    """Has the user said of a function, or of a call, that no derivative passes through it?"""
    return any(a.name == "enzyme_inactive" for a in attributes)


def moves_integers(call: Call, callee: Function) -> bool:
    """Does such a call of MPI move integers alone, as its datatypes say?"""
    letters = moves(callee.name)
    types = [a for a, letter in zip(call.arguments, letters, strict=False) if letter == "t"]
    handles = [t.name if isinstance(t, GlobalVariable) else t.value if isinstance(t, ConstInt) else "" for t in types]
    return bool(handles) and all(map(is_integer_type, handles))


def has_rule(function: Function) -> bool:
    """Has the user given the function's derivative? Its body says nothing about it then."""
    return function.attribute("llgrad.rule") is not None


def is_miscalled(call: Call, function: Function) -> bool:
    """Is it called as a function of another type?"""
    return call.function_type != function.function_type


def is_opaque(function: Function) -> bool:
    """Has it no body, or none that counts: the function is declared to be like one of the library?"""
    return function.is_declaration or function.name.startswith(LIKE)


class DeadEnds:
    """Blocks from which no way leads to a return: they end the program, or are left by what nobody in it catches.

    No derivative comes out of there, so that nothing in them is active: the text of an error, say, into which an active
    number is put. Not those that write memory in which the caller may look, if it catches what is thrown; nor where a
    function cleans up on the way out, and what leads there: shadows are released, too.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._flows: dict[Function, Flow] = {}
        self._found: dict[Block, bool] = {}
        self._ways_out: dict[Function, set[Block]] = {}
        self.caught = any(self._is_caught(i) for f in memory.functions for i in f.instructions())  # is any exception?

    def _reaches_return(self, block: Block) -> bool:
        f = block.function
        if f is None:
            return True
        if f not in self._flows:
            self._flows[f] = flow(f)
        return self._flows[f].reaches_return(block)

    def _is_caught(self, i: Instruction) -> bool:
        return i.opcode == "invoke" and self._reaches_return(i.targets[1])

    def holds(self, block: Block) -> bool:
        """Is this such a block?"""
        if block not in self._found:
            ends = not self.caught and not self._reaches_return(block)
            self._found[block] = ends and not any(map(self._matters, reach([block], lambda b: b.successors())))
        return self._found[block]

    def _matters(self, block: Block) -> bool:
        """Is it where a function cleans up, or does it write what the caller may look at?"""
        f = block.function
        if f is not None and f not in self._ways_out:
            pads = [i.targets[1] for i in f.instructions() if i.opcode == "invoke"]
            self._ways_out[f] = set(reach(pads, lambda b: b.successors()))
        if f is not None and block in self._ways_out[f]:
            return True
        return any(_is_callers(o) for i in block.instructions for a in self._memory.writes(i) for o in a.objects)


def _is_callers(o: MemoryObject) -> bool:
    """May the caller of the root look at the shadow of this memory?"""
    return o.has_own_shadow or isinstance(o.site, Argument)


def followed(memory: Memory, ends: DeadEnds | None = None) -> tuple[Function, ...]:
    """The functions whose bodies are differentiated: reached through neither one that has a rule nor dead ends."""
    ends = ends or DeadEnds(memory)

    def callees(f: Function) -> list[Function]:
        if not follows(f):
            return []
        calls = [i for b in f.blocks if not ends.holds(b) for i in b.instructions if isinstance(i, Call)]
        return [g for c in calls if not declares_inactive(c.attributes) for g in memory.functions_called(c).functions]

    def follows(f: Function) -> bool:
        return not (declares_inactive(f.attributes) or has_rule(f) or is_opaque(f))

    called_back = [f for f in memory.functions if memory.called_back(f)]
    heard = reach([memory.root, *called_back], callees)
    return tuple(f for f in memory.functions if f in heard and follows(f))


def changes_bits(i: Instruction) -> bool:
    """Is this integer arithmetic that does more than move bits about?"""
    match i:
        case Cast("sitofp" | "uitofp" | "sext"):
            return True
        case Binary():
            return isinstance(scalar(i.type), IntType) and integer_moves(i) is None
    return False


def _is_public(o: MemoryObject) -> bool:
    site = o.site
    return o.kind == "global" and isinstance(site, GlobalVariable) and site.linkage not in ("internal", "private")


def describe_callee(call: Call) -> str:
    """`@f`, or the pointer that is called."""
    callee = call.callee
    if isinstance(callee, Function):
        return f"@{callee.name}"
    return f"%{callee.name}" if isinstance(callee, Value) else "inline assembly"
