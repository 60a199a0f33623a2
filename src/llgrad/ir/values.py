"""SSA values: compared by identity, one class per instruction *shape*, taken apart with `match`.

Local values (arguments, blocks, instructions) know their users, with multiplicity. Constants are frozen, compare by
value and have no users. An instruction's value operands live in `operands`; the named properties are views of it, so
that `replace_uses` and the use lists have one place to look at. Blocks that a terminator may go to are `targets`, the
blocks of a phi are `blocks`; both are counted as uses of those blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from llgrad.ir.types import (
    I1,
    LABEL,
    METADATA,
    PTR,
    VOID,
    DataLayout,
    FloatType,
    FunctionType,
    IntType,
    StructType,
    Type,
)

if TYPE_CHECKING:
    from llgrad.ir.module import Module


class Value:
    """Anything an operand can be. `name` is without its sigil."""

    __slots__ = ("type", "name", "users")

    def __init__(self, type: Type, name: str = "") -> None:
        self.type, self.name = type, name
        self.users: list[Instruction] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type} %{self.name}>"


# --- constants -----------------------------------------------------------------------------------------------------


class Constant(Struct, frozen=True):
    """Base of the constants that are compared by value."""

    type: Type

    @property
    def users(self) -> list[Instruction]:
        return []


class ConstInt(Constant, frozen=True):
    """`value` is unsigned, below 2**bits; `signed` reads it as two's complement."""

    value: int

    @property
    def signed(self) -> int:
        assert isinstance(self.type, IntType)
        return self.value - (1 << self.type.bits) if self.value >> (self.type.bits - 1) else self.value


class ConstFloat(Constant, frozen=True):
    """`bits` is the bit pattern in the type's own format, so that every constant is exact."""

    bits: int


class ConstNull(Constant, frozen=True):
    """`null`."""


class ConstZero(Constant, frozen=True):
    """`zeroinitializer` of an aggregate or vector."""


class Undef(Constant, frozen=True):
    """`undef`; `poison` when `poison` is true."""

    poison: bool = False


class ConstAggregate(Constant, frozen=True):
    """Array, struct or vector; `c"…"` strings become arrays of `i8`; a splat is spelt out."""

    elements: tuple[AnyConstant, ...]

    def placed(self, layout: DataLayout) -> Iterator[tuple[int, AnyConstant]]:
        """The elements, and at which bytes they begin."""
        return ((at, x) for (at, _), x in zip(layout.members(self.type), self.elements, strict=True))


class ConstExpr(Constant, frozen=True):
    """Constant expression (`getelementptr`, `ptrtoint`, `add`, `sub`, `trunc`, casts, …); GEPs name `source_type`.

    `extra` keeps what only the writer needs (`inrange(…)`).
    """

    opcode: str
    operands: tuple[AnyConstant, ...]
    flags: frozenset[str] = frozenset()
    source_type: Type | None = None
    extra: str = ""


def parts(v: object) -> tuple[AnyConstant, ...]:
    """What a constant is put together of."""
    return v.elements if isinstance(v, ConstAggregate) else v.operands if isinstance(v, ConstExpr) else ()


class BlockAddress(Constant, frozen=True):
    """`blockaddress(@function, %block)`, by name."""

    function: str
    block: str


class RawConstant(Constant, frozen=True):
    """`dso_local_equivalent @f`, `no_cfi @f`, `ptrauth (…)`, `token none`: kept as text."""

    text: str


class MetadataValue(Constant, frozen=True, eq=False):
    """Metadata passed as an operand: `text` verbatim (`!4`, `!"enzyme_const"`, `!DIExpression()`), or a `value`."""

    text: str
    value: Any = None


class InlineAsm(Constant, frozen=True):
    """`asm sideeffect "…", "…"` as callee; `text` is everything from `asm` on."""

    text: str


# --- globals ---------------------------------------------------------------------------------------------------------


class Attribute(Struct, frozen=True):
    """`noalias`, `align 8`, `sret(%T)`, `memory(none)`, `"key"="value"`.

    `value` is None, an int, a Type, or text (inside the parentheses, or a string attribute's value); `string` marks
    quoted keys.
    """

    name: str
    value: int | str | Type | None = None
    string: bool = False


class GlobalValue(Value):
    """A named `ptr` constant of the module; `prefix` and `suffix` keep linkage, visibility, section, … as text."""

    __slots__ = ("value_type", "linkage", "prefix", "suffix", "metadata", "module")

    def __init__(self, name: str, value_type: Type, type: Type = PTR) -> None:
        super().__init__(type, name)
        self.value_type = value_type
        self.linkage = "external"
        self.prefix: tuple[str, ...] = ()  # dso_local, hidden, unnamed_addr, thread_local(…), externally_initialized …
        self.suffix = ""  # section "…", comdat(…), align 16, …
        self.metadata: dict[str, MDRef] = {}  # by kind; a second attachment of a kind is under "kind 2"
        self.module: Module | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} @{self.name}>"


class GlobalVariable(GlobalValue):
    """`initializer` is parsed when first asked for (`pending` holds it until then); None: an external variable."""

    __slots__ = ("_initializer", "pending", "constant", "align", "attributes")

    def __init__(
        self, name: str, value_type: Type, initializer: AnyConstant | None, constant: bool = False, type: Type = PTR
    ) -> None:
        super().__init__(name, value_type, type)
        self._initializer, self.constant = initializer, constant
        self.pending: Any = None  # set by ir.parse: a callable that parses the initializer of this variable
        self.align = 0
        self.attributes: tuple[Attribute, ...] = ()

    @property
    def initializer(self) -> AnyConstant | None:
        if self.pending is not None:
            self._initializer = self.pending(self)
            self.pending = None
        return self._initializer

    @initializer.setter
    def initializer(self, value: AnyConstant | None) -> None:
        self._initializer, self.pending = value, None

    @property
    def is_declaration(self) -> bool:
        return self.pending is None and self._initializer is None


class Alias(GlobalValue):
    """`alias` or `ifunc` (`kind`) of `aliasee`."""

    __slots__ = ("aliasee", "kind")

    def __init__(
        self, name: str, value_type: Type, aliasee: AnyConstant, kind: str = "alias", type: Type = PTR
    ) -> None:
        super().__init__(name, value_type, type)
        self.aliasee, self.kind = aliasee, kind


class Function(GlobalValue):
    """A declaration, or a definition whose `blocks` are parsed when first asked for.

    `attributes` of the function, `result_attributes`, and each `Argument.attributes` are resolved from groups.
    """

    __slots__ = (
        "arguments", "attributes", "result_attributes", "calling_convention", "personality", "_blocks", "_body", "tail",
    )  # fmt: skip

    def __init__(self, name: str, type: FunctionType, names: Sequence[str] = ()) -> None:
        super().__init__(name, type)
        names = names or [f"arg{i}" for i in range(len(type.params))]
        self.arguments = [Argument(t, n, i) for i, (t, n) in enumerate(zip(type.params, names, strict=True))]
        self.attributes: tuple[Attribute, ...] = ()
        self.result_attributes: tuple[Attribute, ...] = ()
        self.calling_convention = ""
        self.personality: AnyConstant | None = None
        self.tail = ""  # gc "…", prefix …, prologue … as text
        self._blocks: list[Block] = []
        self._body: Any = None  # set by ir.parse: a callable that parses the body into this function

    @property
    def function_type(self) -> FunctionType:
        assert isinstance(self.value_type, FunctionType)
        return self.value_type

    @property
    def blocks(self) -> list[Block]:
        if self._body is not None:
            body, self._body = self._body, None
            body(self)
        return self._blocks

    @property
    def unread(self) -> str | None:
        """The text of the body, as long as it was not asked for."""
        return getattr(self._body, "text", None)

    @property
    def is_declaration(self) -> bool:
        return self._body is None and not self._blocks

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    def instructions(self) -> Iterator[Instruction]:
        for block in self.blocks:
            yield from block.instructions

    def returned(self) -> list[AnyValue]:
        """The values that it returns."""
        ends = [block.terminator for block in self.blocks]
        return [end.value for end in ends if isinstance(end, Return) and end.value is not None]

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)


class Argument(Value):
    __slots__ = ("index", "attributes")

    def __init__(self, type: Type, name: str, index: int) -> None:
        super().__init__(type, name)
        self.index = index
        self.attributes: tuple[Attribute, ...] = ()

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)


class Block(Value):
    """Phis first, one terminator last; users are the terminators and phis that name it."""

    __slots__ = ("instructions", "function")

    def __init__(self, name: str, function: Function | None = None) -> None:
        super().__init__(LABEL, name)
        self.instructions: list[Instruction] = []
        self.function = function

    @property
    def terminator(self) -> Instruction:
        return self.instructions[-1]

    def phis(self) -> Iterator[Phi]:
        for i in self.instructions:
            if not isinstance(i, Phi):
                return
            yield i

    def successors(self) -> list[Block]:
        """Each target once, in order."""
        return list(dict.fromkeys(self.instructions[-1].targets)) if self.instructions else []

    def append(self, instruction: Instruction) -> None:
        instruction.block = self
        self.instructions.append(instruction)


# --- metadata --------------------------------------------------------------------------------------------------------


class MDRef(Struct, frozen=True):
    """`!7`, looked up with `module.node(ref)`; `text` is set instead for inline metadata (`!DIExpression()`, `!{}`)."""

    id: int
    text: str = ""


class MDNode(Struct):
    """A metadata node. Tuples have `kind == ""` and `operands`; `!DILocation(line: 3, …)` has kind and `fields`.

    An operand or field is an MDRef, an MDString, an int, a str (enumerator, `DIFlagX | DIFlagY`, `null` as None), or a
    Constant/GlobalValue.
    """

    kind: str
    operands: tuple[Any, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    distinct: bool = False
    id: int = -1


class MDString(Struct, frozen=True):
    text: str


# --- instructions ----------------------------------------------------------------------------------------------------


class Instruction(Value):
    """Base of the shapes. `flags` are LLVM's words (`nsw`, `fast`, `volatile`); `debug_records` are kept raw."""

    __slots__ = ("opcode", "operands", "targets", "block", "flags", "metadata", "debug_records")
    __match_args__: tuple[str, ...] = ()

    def __init__(
        self, opcode: str, type: Type, operands: Iterable[AnyValue], name: str = "", targets: Iterable[Block] = ()
    ) -> None:
        super().__init__(type, name)
        self.opcode = opcode
        self.operands: list[AnyValue] = list(operands)
        self.targets: list[Block] = list(targets)
        self.block: Block = None  # type: ignore[assignment]  # set when the instruction enters a block
        self.flags: frozenset[str] = frozenset()
        self.metadata: dict[str, MDRef] = {}
        self.debug_records: tuple[str, ...] = ()  # printed before the instruction
        for v in self.operands:
            v.users.append(self)
        for b in self.targets:
            b.users.append(self)

    def set_operand(self, index: int, value: AnyValue) -> None:
        old = self.operands[index]
        if isinstance(old, Value):
            old.users.remove(self)
        self.operands[index] = value
        value.users.append(self)

    def drop(self) -> None:
        """Forget all operands and leave the block; the instruction must have no users left."""
        for v in [*self.operands, *self.targets, *(self.blocks if isinstance(self, Phi) else [])]:
            if isinstance(v, Value) and self in v.users:
                v.users.remove(self)
        self.operands, self.targets = [], []
        if isinstance(self, Phi):
            self.blocks.clear()
        if self.block is not None:
            self.block.instructions.remove(self)

    @property
    def is_terminator(self) -> bool:
        return self.opcode in TERMINATORS

    def __repr__(self) -> str:
        return f"<{self.opcode} {self.type} %{self.name}>"


TERMINATORS = frozenset(
    (
        "ret", "br", "switch", "indirectbr", "invoke", "callbr", "resume", "unreachable", "cleanupret", "catchret",
        "catchswitch",
    )
)  # fmt: skip


def put_instead(old: Instruction, new: Instruction) -> None:
    """Put `new` where `old` is, for all its users; `old` is dropped. Its debug records stay."""
    new.block = old.block
    new.debug_records = new.debug_records or old.debug_records
    old.block.instructions.insert(old.block.instructions.index(old), new)
    replace_uses(old, new)
    old.drop()


def replace_uses(old: Value, new: AnyValue) -> None:
    """Make every user of `old` use `new`."""
    for user in list(old.users):
        for i, v in enumerate(user.operands):
            if v is old:
                user.operands[i] = new
                new.users.append(user)
        for i, b in enumerate(user.targets):
            if b is old:
                assert isinstance(new, Block)
                user.targets[i] = new
                new.users.append(user)
        if isinstance(user, Phi):
            for i, b in enumerate(user.blocks):
                if b is old:
                    assert isinstance(new, Block)
                    user.blocks[i] = new
                    new.users.append(user)
    old.users.clear()


def _operand(index: int) -> Any:
    return property(lambda self: self.operands[index])


class Unary(Instruction):
    """`fneg`, `freeze`."""

    __slots__ = ()
    __match_args__ = ("opcode", "value")
    value: AnyValue = _operand(0)


class Binary(Instruction):
    """`add` … `xor`, `fadd` … `frem`."""

    __slots__ = ()
    __match_args__ = ("opcode", "lhs", "rhs")
    lhs: AnyValue = _operand(0)
    rhs: AnyValue = _operand(1)


class Cast(Instruction):
    """`trunc` … `addrspacecast`; `type` is the target type."""

    __slots__ = ()
    __match_args__ = ("opcode", "value")
    value: AnyValue = _operand(0)


class Compare(Instruction):
    """`icmp`, `fcmp` with `predicate`."""

    __slots__ = ("predicate",)
    __match_args__ = ("opcode", "predicate", "lhs", "rhs")
    lhs: AnyValue = _operand(0)
    rhs: AnyValue = _operand(1)

    def __init__(
        self, opcode: str, predicate: str, lhs: AnyValue, rhs: AnyValue, type: Type = I1, name: str = ""
    ) -> None:
        super().__init__(opcode, type, [lhs, rhs], name)
        self.predicate = predicate


class Select(Instruction):
    __slots__ = ()
    __match_args__ = ("condition", "if_true", "if_false")
    condition: AnyValue = _operand(0)
    if_true: AnyValue = _operand(1)
    if_false: AnyValue = _operand(2)

    def __init__(self, condition: AnyValue, if_true: AnyValue, if_false: AnyValue, name: str = "") -> None:
        super().__init__("select", if_true.type, [condition, if_true, if_false], name)


class GetElementPtr(Instruction):
    __slots__ = ("source_type", "extra")
    __match_args__ = ("source_type", "pointer", "indices")
    pointer: AnyValue = _operand(0)

    def __init__(
        self, source_type: Type, pointer: AnyValue, indices: Iterable[AnyValue], type: Type = PTR, name: str = ""
    ) -> None:
        super().__init__("getelementptr", type, [pointer, *indices], name)
        self.source_type, self.extra = source_type, ""

    @property
    def indices(self) -> list[AnyValue]:
        return self.operands[1:]


class Load(Instruction):
    """`flags` may hold `volatile`, `atomic`; `ordering` and `syncscope` as text."""

    __slots__ = ("align", "ordering", "syncscope")
    __match_args__ = ("pointer",)
    pointer: AnyValue = _operand(0)

    def __init__(self, type: Type, pointer: AnyValue, align: int = 0, name: str = "") -> None:
        super().__init__("load", type, [pointer], name)
        self.align, self.ordering, self.syncscope = align, "", ""


class Store(Instruction):
    __slots__ = ("align", "ordering", "syncscope")
    __match_args__ = ("value", "pointer")
    value: AnyValue = _operand(0)
    pointer: AnyValue = _operand(1)

    def __init__(self, value: AnyValue, pointer: AnyValue, align: int = 0) -> None:
        super().__init__("store", VOID, [value, pointer])
        self.align, self.ordering, self.syncscope = align, "", ""


class Alloca(Instruction):
    """`count` is the constant 1 unless written."""

    __slots__ = ("allocated_type", "align")
    __match_args__ = ("allocated_type", "count")
    count: AnyValue = _operand(0)

    def __init__(self, allocated_type: Type, count: AnyValue, align: int = 0, type: Type = PTR, name: str = "") -> None:
        super().__init__("alloca", type, [count], name)
        self.allocated_type, self.align = allocated_type, align


class Phi(Instruction):
    """`operands[i]` comes from `blocks[i]`."""

    __slots__ = ("blocks",)

    def __init__(self, type: Type, incoming: Iterable[tuple[AnyValue, Block]] = (), name: str = "") -> None:
        super().__init__("phi", type, [], name)
        self.blocks: list[Block] = []
        for value, block in incoming:
            self.add(value, block)

    def add(self, value: AnyValue, block: Block) -> None:
        self.operands.append(value)
        value.users.append(self)
        self.blocks.append(block)
        block.users.append(self)

    def remove(self, block: Block) -> None:
        """Forget one way from a block."""
        n = self.blocks.index(block)
        value = self.operands.pop(n)
        if isinstance(value, Value):
            value.users.remove(self)
        self.blocks.pop(n).users.remove(self)

    def incoming(self) -> list[tuple[AnyValue, Block]]:
        return list(zip(self.operands, self.blocks, strict=True))

    def incoming_from(self, block: Block) -> AnyValue:
        return self.operands[self.blocks.index(block)]


class Call(Instruction):
    """`call`, `invoke` (targets: normal, unwind), `callbr`. Operands are the arguments, then the callee, then bundles.

    `callee` is a Function, InlineAsm, or any pointer value. `argument_attributes[i]` belong to argument i.
    """

    __slots__ = (
        "function_type", "arity", "tail", "calling_convention",
        "attributes", "result_attributes", "argument_attributes", "bundles",
    )  # fmt: skip
    __match_args__ = ("callee", "arguments")

    def __init__(
        self,
        function_type: FunctionType,
        callee: AnyValue,
        arguments: Sequence[AnyValue],
        name: str = "",
        opcode: str = "call",
        targets: Sequence[Block] = (),
        bundles: Sequence[tuple[str, Sequence[AnyValue]]] = (),
    ) -> None:
        bundled = [v for _, values in bundles for v in values]
        super().__init__(opcode, function_type.result, [*arguments, callee, *bundled], name, targets)
        self.function_type, self.arity = function_type, len(arguments)
        self.tail = ""  # tail, musttail, notail
        self.calling_convention = ""
        self.attributes: tuple[Attribute, ...] = ()
        self.result_attributes: tuple[Attribute, ...] = ()
        self.argument_attributes: list[tuple[Attribute, ...]] = [()] * len(arguments)
        self.bundles: list[tuple[str, int]] = [(tag, len(values)) for tag, values in bundles]

    @property
    def callee(self) -> AnyValue:
        return self.operands[self.arity]

    @property
    def arguments(self) -> list[AnyValue]:
        return self.operands[: self.arity]

    @property
    def called_function(self) -> Function | None:
        """The callee where it is known by name, or by an alias of its name."""
        callee: object = self.callee
        while isinstance(callee, Alias) and callee.kind == "alias":
            callee = callee.aliasee
        return callee if isinstance(callee, Function) else None


class Branch(Instruction):
    """`br`: one target, or condition and (true, false) targets."""

    __slots__ = ()
    __match_args__ = ("condition", "targets")

    def __init__(self, targets: Sequence[Block], condition: AnyValue | None = None) -> None:
        super().__init__("br", VOID, [] if condition is None else [condition], "", targets)

    @property
    def condition(self) -> AnyValue | None:
        return self.operands[0] if self.operands else None


class Switch(Instruction):
    """`targets[0]` is the default, `targets[1 + i]` belongs to `values[i]`."""

    __slots__ = ("values",)
    __match_args__ = ("condition", "values", "targets")
    condition: AnyValue = _operand(0)

    def __init__(self, condition: AnyValue, default: Block, cases: Sequence[tuple[ConstInt, Block]]) -> None:
        super().__init__("switch", VOID, [condition], "", [default, *(b for _, b in cases)])
        self.values = [v for v, _ in cases]


class IndirectBranch(Instruction):
    __slots__ = ()
    __match_args__ = ("address", "targets")
    address: AnyValue = _operand(0)


class Return(Instruction):
    __slots__ = ()
    __match_args__ = ("value",)

    def __init__(self, value: AnyValue | None = None) -> None:
        super().__init__("ret", VOID, [] if value is None else [value])

    @property
    def value(self) -> AnyValue | None:
        return self.operands[0] if self.operands else None


class Unreachable(Instruction):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("unreachable", VOID, [])


class ExtractValue(Instruction):
    __slots__ = ("indices",)
    __match_args__ = ("aggregate", "indices")
    aggregate: AnyValue = _operand(0)

    def __init__(self, type: Type, aggregate: AnyValue, indices: tuple[int, ...], name: str = "") -> None:
        super().__init__("extractvalue", type, [aggregate], name)
        self.indices = indices


class InsertValue(Instruction):
    __slots__ = ("indices",)
    __match_args__ = ("aggregate", "value", "indices")
    aggregate: AnyValue = _operand(0)
    value: AnyValue = _operand(1)

    def __init__(self, aggregate: AnyValue, value: AnyValue, indices: tuple[int, ...], name: str = "") -> None:
        super().__init__("insertvalue", aggregate.type, [aggregate, value], name)
        self.indices = indices


class ExtractElement(Instruction):
    __slots__ = ()
    __match_args__ = ("vector", "index")
    vector: AnyValue = _operand(0)
    index: AnyValue = _operand(1)


class InsertElement(Instruction):
    __slots__ = ()
    __match_args__ = ("vector", "value", "index")
    vector: AnyValue = _operand(0)
    value: AnyValue = _operand(1)
    index: AnyValue = _operand(2)


class ShuffleVector(Instruction):
    """`mask[i]` is an element of the two concatenated vectors, -1 for poison (scalable splats: see `mask_constant`)."""

    __slots__ = ("mask", "mask_constant")
    __match_args__ = ("lhs", "rhs", "mask")
    lhs: AnyValue = _operand(0)
    rhs: AnyValue = _operand(1)

    def __init__(
        self,
        type: Type,
        lhs: AnyValue,
        rhs: AnyValue,
        mask: tuple[int, ...],
        mask_constant: AnyConstant,
        name: str = "",
    ) -> None:
        super().__init__("shufflevector", type, [lhs, rhs], name)
        self.mask, self.mask_constant = mask, mask_constant


class Other(Instruction):
    """The shapes that only the interpreter, the verifier and the writer know.

    `atomicrmw` (pointer, value), `cmpxchg` (pointer, expected, new), `fence`, `va_arg`, `landingpad`, `resume`,
    `cleanuppad`, `catchpad`, `catchswitch`, `cleanupret`, `catchret`. `detail` keeps opcode-specific facts: operation,
    orderings, alignment, clauses; see `ir.parse` for the keys of each.
    """

    __slots__ = ("detail",)

    def __init__(
        self,
        opcode: str,
        type: Type,
        operands: Iterable[AnyValue],
        name: str = "",
        targets: Iterable[Block] = (),
        detail: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(opcode, type, operands, name, targets)
        self.detail: dict[str, Any] = detail or {}


AnyConstant = Constant | GlobalValue
AnyValue = Value | Constant

__all__ = [n for n in dir() if n[0].isupper() or n == "replace_uses"] + ["METADATA", "FloatType", "StructType"]
