"""Functions compiled to Python closures.

Each instruction becomes a step, a closure over register numbers that is called with the registers of the frame;
constants sit in registers of their own. A block is a chain of segments: steps, then an `end` that says where to go
on: (segment, registers). A call of a function with a body ends a segment, so that Python's stack does not grow with
the program's. Phis are moves on the edges, done in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from interpreter import others, scalar
from interpreter.image import Address, bitcast, poison, zero
from interpreter.undefined import POISON, Bits
from llgrad.errors import ForeignError, UnsupportedError
from llgrad.ir.types import VOID, StructType, Type
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    Constant,
    ExtractElement,
    ExtractValue,
    Function,
    GetElementPtr,
    GlobalValue,
    IndirectBranch,
    InlineAsm,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Other,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    Unary,
    Unreachable,
)

if TYPE_CHECKING:
    from interpreter.machine import Machine

Registers = list[Any]
Step = Callable[[Registers], None]
Next = tuple[Any, Any]  # (Segment | None, Registers | None)
End = Callable[[Registers], Next]
Edge = End


class Segment:
    """Steps and an end; `origins` are the instructions of the steps, `last` that of the end."""

    __slots__ = ("steps", "end", "origins", "last")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.origins: list[Instruction] = []
        self.end: End = _fell_off
        self.last: Instruction | None = None


def _fell_off(_: Registers) -> Next:
    raise ForeignError("a block without a terminator")


class Code:
    """A compiled function: where it starts, and the registers it starts with; the arguments are the first of them."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.entry = Segment()
        self.template: Registers = [None] * len(function.arguments)


class Compiler:
    """Compiles one function for one machine."""

    def __init__(self, machine: Machine, function: Function) -> None:
        self.machine, self.image = machine, machine.image
        self.code = Code(function)
        self._slots: dict[int, int] = {id(a): i for i, a in enumerate(function.arguments)}
        self._constants: dict[Any, int] = {}
        self._segments = {id(b): Segment() for b in function.blocks}
        self._kept: list[Any] = []  # keeps what `_slots` knows by id

    def compile(self) -> Code:
        function = self.code.function
        self.code.entry = self._segments[id(function.entry)]
        for block in function.blocks:
            self._block(block)
        return self.code

    # --- registers ---------------------------------------------------------------------------------------------------

    def slot(self, value: AnyValue) -> int:
        """The register of a value; constants get theirs filled in."""
        known = self._slots.get(id(value))
        if known is not None:
            return known
        constant = isinstance(value, (Constant, GlobalValue))
        self._slots[id(value)] = len(self.code.template)
        self._kept.append(value)
        self.code.template.append(self.image.constant(value) if constant else None)  # type: ignore[arg-type]
        return self._slots[id(value)]

    def slots(self, values: Sequence[AnyValue]) -> list[int]:
        return [self.slot(v) for v in values]

    # --- blocks and edges --------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        segment = self._segments[id(block)]
        for instruction in block.instructions:
            if isinstance(instruction, Phi):
                self.slot(instruction)
            elif instruction.is_terminator:
                segment.end, segment.last = self._terminator(instruction), instruction
            elif isinstance(instruction, Call):
                segment = self._call(segment, instruction)
            else:
                self._add(segment, instruction, self.step(instruction))

    def _add(self, segment: Segment, instruction: Instruction, step: Step) -> None:
        segment.steps.append(self.machine.traced(instruction, step, self._slots.get(id(instruction))))
        segment.origins.append(instruction)

    def edge(self, source: Block, target: Block) -> Edge:
        """Going from one block to another."""
        segment = self._segments[id(target)]
        phis = list(target.phis())
        if not phis:
            return lambda r: (segment, r)
        moves = [(self.slot(p), self.slot(p.incoming_from(source))) for p in phis]
        if len(moves) == 1:
            target_slot, source_slot = moves[0]

            def move(r: Registers) -> Next:
                r[target_slot] = r[source_slot]
                return segment, r

            return move

        def move_all(r: Registers) -> Next:
            values = [r[s] for _, s in moves]
            for (t, _), value in zip(moves, values, strict=True):
                r[t] = value
            return segment, r

        return move_all

    # --- terminators -------------------------------------------------------------------------------------------------

    def _terminator(self, i: Instruction) -> End:
        edges = [self.edge(i.block, t) for t in i.targets]
        match i:
            case Branch(None, _):
                return edges[0]
            case Branch(condition, _) if condition is not None:
                return _conditional(self.slot(condition), edges[0], edges[1])
            case Switch(condition, values, _):
                cases = {v.value: e for v, e in zip(values, edges[1:], strict=True)}
                return _switch(self.slot(condition), cases, edges[0])
            case Return(value):
                return self.machine.returning(None if value is None else self.slot(value))
            case Unreachable():
                return _unreachable
            case Call():
                return self._invoke(i, edges)
            case IndirectBranch(address, targets):
                names = [(self.code.function.name, b.name) for b in targets]
                return self._indirect(self.slot(address), dict(zip(names, edges, strict=True)))
            case Other(opcode="resume"):
                return self.machine.exceptions.resuming(self.slot(i.operands[0]))
        return _refusal(f"the interpreter has no {i.opcode}")

    def _indirect(self, address: int, edges: dict[tuple[str, str], Edge]) -> End:
        blocks = self.image.blocks

        def end(r: Registers) -> Next:
            key = blocks.get(r[address])
            if key not in edges:
                raise ForeignError("indirectbr to an address that is none of its targets")
            return edges[key](r)

        return end

    # --- calls -------------------------------------------------------------------------------------------------------

    def _call(self, segment: Segment, i: Call) -> Segment:
        """Add a call; the segment on which the block goes on."""
        if self.machine.ignores(i):
            return segment
        builtin = self.machine.builtin(i)
        arguments = self.slots(i.arguments)
        target = self._result(i)
        if builtin is not None:
            self._add(segment, i, _apply(builtin, arguments, target))
            return segment
        following = Segment()
        segment.end, segment.last = self._entering(i, arguments, target, following, None), i
        return following

    def _result(self, i: Call) -> int | None:
        return None if i.type == VOID else self.slot(i)

    def _invoke(self, i: Call, edges: list[Edge]) -> End:
        if i.opcode != "invoke":
            return _refusal(f"the interpreter has no {i.opcode}")
        normal = Segment()
        normal.end, normal.last = edges[0], i
        builtin = self.machine.builtin(i)
        arguments, target = self.slots(i.arguments), self._result(i)
        if self.machine.ignores(i):
            return edges[0]
        if builtin is None:
            return self._entering(i, arguments, target, normal, edges[1])
        apply = _apply(builtin, arguments, target)
        return self.machine.exceptions.guarding(apply, edges[0], edges[1])

    def _entering(
        self, i: Call, arguments: list[int], target: int | None, following: Segment, unwind: Edge | None
    ) -> End:
        """The end of a segment by a call of a function with a body, or through a pointer."""
        machine, callee = self.machine, i.callee
        types = [a.type for a in i.arguments]
        copies = self._byval(i)
        if isinstance(callee, InlineAsm):
            return _refusal("inline assembly")
        pointer = self.slot(callee)

        def end(r: Registers) -> Next:
            values = [r[a] for a in arguments]
            return machine.enter(r[pointer], values, types, copies, (following, r, target, unwind))

        return end

    def _byval(self, i: Call) -> list[tuple[int, int]]:
        """Arguments that are copied for the callee, and their sizes."""
        found = []
        for k, attributes in enumerate(i.argument_attributes):
            for a in attributes:
                if a.name == "byval" and isinstance(a.value, Type):
                    found.append((k, self.image.codecs.layout.alloc_size(a.value)))
                if a.name in ("inalloca", "preallocated"):
                    raise UnsupportedError(f"{a.name} arguments")
        return found

    # --- instructions ------------------------------------------------------------------------------------------------

    def step(self, i: Instruction) -> Step:
        """The step of an instruction that is neither a phi, a call nor a terminator."""
        match i:
            case Load(pointer):
                return _unary(self.image.codecs(i.type).load, self.slot(pointer), self.slot(i))
            case Store(value, pointer):
                return _store(self.image.codecs(value.type).store, self.slot(pointer), self.slot(value))
            case Alloca(allocated, count):
                return self._alloca(i, allocated, self.slot(count))
            case Other():
                return others.step(self, i)
        return _apply(self.function(i), self.slots(i.operands), self.slot(i))

    def function(self, i: Instruction) -> Callable[..., Any]:
        """What an instruction without effects computes from its operands."""
        bits = self.image.pointer_bits
        match i:
            case Binary(opcode, lhs, _):
                return scalar.binary(opcode, lhs.type, i.flags)
            case Compare(opcode, predicate, lhs, _):
                return scalar.compare(opcode, predicate, lhs.type, i.flags, bits)
            case Cast("bitcast", value):
                return bitcast(self.image.codecs, value.type, i.type)  # type: ignore[no-any-return]
            case Cast(opcode, value):
                return scalar.lanewise(scalar.cast(opcode, value.type, i.type, i.flags, bits), i.type)
            case GetElementPtr(source, _, indices):
                return _address(Address(self.image, source, indices))
            case Select():
                return scalar.select
            case Unary("fneg", _):
                return scalar.lanewise(lambda a: -a, i.type)
            case Unary("freeze", _):
                return _freeze(i.type)
        return self._structural(i)

    def _structural(self, i: Instruction) -> Callable[..., Any]:
        """Instructions that take values apart and put them together."""
        match i:
            case ExtractValue(_, path):
                return _extractor(path)
            case InsertValue(_, _, path):
                return lambda aggregate, value: _inserted(aggregate, value, path)
            case ExtractElement():
                return lambda v, k: POISON if k is POISON or k >= len(v) else v[k]
            case InsertElement():
                return lambda v, x, k: _insert_element(v, x, k)
            case ShuffleVector(_, _, mask):
                return _shuffle(mask, getattr(i.lhs.type, "element", None))
        raise UnsupportedError(f"the interpreter has no {i.opcode}")

    def _alloca(self, i: Alloca, allocated: Type, count: int) -> Step:
        size, target = self.image.codecs.layout.alloc_size(allocated), self.slot(i)
        allocate, frames = self.machine.memory.allocate, self.machine.frames

        def step(r: Registers) -> None:
            r[target] = address = allocate(size * int(r[count]), "stack")
            frames[-1].allocas.append(address)

        return step


# --- closures --------------------------------------------------------------------------------------------------------


def _unary(f: Callable[..., Any], a: int, target: int) -> Step:
    def step(r: Registers) -> None:
        r[target] = f(r[a])

    return step


def _binary(f: Callable[..., Any], a: int, b: int, target: int) -> Step:
    def step(r: Registers) -> None:
        r[target] = f(r[a], r[b])

    return step


def _store(f: Callable[..., Any], pointer: int, value: int) -> Step:
    def step(r: Registers) -> None:
        f(r[pointer], r[value])

    return step


def _apply(f: Callable[..., Any], operands: Sequence[int], target: int | None) -> Step:
    """Call `f` with the operands; keep its result where there is a target."""
    if target is not None and len(operands) == 1:
        return _unary(f, operands[0], target)
    if target is not None and len(operands) == 2:
        return _binary(f, operands[0], operands[1], target)

    def step(r: Registers) -> None:
        value = f(*[r[o] for o in operands])
        if target is not None:
            r[target] = value

    return step


def _conditional(condition: int, if_true: Edge, if_false: Edge) -> End:
    def end(r: Registers) -> Next:
        return if_true(r) if r[condition] else if_false(r)

    return end


def _switch(condition: int, cases: dict[int, Edge], default: Edge) -> End:
    def end(r: Registers) -> Next:
        value = r[condition]
        if value is POISON:
            bool(value)  # raises
        return cases.get(value, default)(r)

    return end


def _unreachable(_: Registers) -> Next:
    raise ForeignError("unreachable code was reached", cause="the program has undefined behaviour on this input")


def _refusal(what: str) -> End:
    def end(_: Registers) -> Next:
        raise UnsupportedError(what)

    return end


def _address(address: Address) -> Callable[..., Any]:
    """The common shape, one scalar index of 64 bits, without a loop; others as they are."""
    if len(address.terms) == 1 and address.terms[0][0] == 1 and address.terms[0][2] == 64:
        base, size = address.base, address.terms[0][1]

        def indexed(pointer: Any, index: Any, *rest: Any) -> Any:
            try:
                return (pointer + base + index * size) & 0xFFFFFFFFFFFFFFFF
            except TypeError:
                return address(pointer, index, *rest)

        return indexed
    return address


def _freeze(t: Type) -> Callable[..., Any]:
    """Undefined values become zero, as LLVM may choose."""

    def freeze(value: Any, t: Any = t) -> Any:
        if value.__class__ is tuple:
            return tuple(map(freeze, value, _elements(t, len(value))))
        if value is POISON:
            return zero(t)
        return value.frozen() if value.__class__ is Bits else value

    return freeze


def _elements(t: Any, count: int) -> Sequence[Type]:
    return t.fields if isinstance(t, StructType) and t.fields is not None else [t.element] * count


def _extractor(path: tuple[int, ...]) -> Callable[..., Any]:
    if len(path) == 1:
        index = path[0]
        return lambda aggregate: aggregate[index]

    def extract(aggregate: Any) -> Any:
        for index in path:
            aggregate = aggregate[index]
        return aggregate

    return extract


def _inserted(aggregate: Any, value: Any, path: tuple[int, ...]) -> Any:
    head, *rest = path
    inner = _inserted(aggregate[head], value, tuple(rest)) if rest else value
    return (*aggregate[:head], inner, *aggregate[head + 1 :])


def _insert_element(vector: Any, value: Any, index: Any) -> Any:
    if index is POISON or index >= len(vector):
        return (POISON,) * len(vector)
    return (*vector[:index], value, *vector[index + 1 :])


def _shuffle(mask: tuple[int, ...], element: Any) -> Callable[..., Any]:
    missing = poison(element)

    def shuffle(a: Any, b: Any) -> Any:
        both = a + b
        return tuple([missing if m < 0 else both[m] for m in mask])

    return shuffle

