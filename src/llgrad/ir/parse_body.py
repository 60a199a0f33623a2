"""Bodies of functions.

A body is one list of tokens, read in one pass. A local that is used before it is defined stands as a `Forward` until
its definition replaces it, so that the use lists are exact at the end.
"""

from __future__ import annotations

from msgspec.structs import force_setattr

from llgrad.errors import ParseError
from llgrad.ir.parse_instructions import READERS, InstructionReader
from llgrad.ir.parse_types import decode_name
from llgrad.ir.types import (
    VOID,
    Type,
)
from llgrad.ir.values import (
    TERMINATORS,
    AnyValue,
    Block,
    Function,
    Instruction,
    MetadataValue,
    Value,
    replace_uses,
)


class Forward(Value):
    """Stands for a local value until its definition is read."""

    __slots__ = ()


class BodyReader(InstructionReader):
    """Reads one body into `function`, whose arguments the text knows by `names`."""

    def __init__(self, function: Function, text: str, names: tuple[str, ...]) -> None:
        assert function.module is not None
        super().__init__(function.module, text)
        self.function = function
        self.locals: dict[str, Value] = dict(zip(names, function.arguments, strict=True))
        self.forward: dict[str, Forward] = {}
        self.labels: dict[str, Block] = {}
        self.defined: list[Block] = []
        self.next_id = 1 + max((int(name) for name in names if name.isdigit()), default=-1)
        self.late_metadata: list[MetadataValue] = []

    # --- the body ---

    def read(self) -> list[Block]:
        """All blocks, in order."""
        tokens = self.tokens
        instructions: list[Instruction] | None = None
        block: Block | None = None
        records: list[str] = []
        while True:
            token = tokens[self.i]
            if not token:
                break
            if token[-1] == ":":
                self.i += 1
                block = self._open_block(decode_name("%" + token[:-1]))
                instructions = block.instructions
                continue
            if token[:5] == "#dbg_":
                self.i += 1
                records.append(token.rstrip())
                continue
            if token in ("uselistorder", "uselistorder_bb"):
                self._skip_use_list_order()
                continue
            if block is None or instructions is None:
                block = self._open_block(str(self.next_id))
                instructions = block.instructions
            instruction = self._instruction(token)
            instruction.block = block
            instructions.append(instruction)
            if records:
                instruction.debug_records = tuple(records)
                records.clear()
            if instruction.opcode in TERMINATORS:
                block = None
        self._finish()
        return self.defined

    def _skip_use_list_order(self) -> None:
        """`uselistorder i32 %x, { 1, 0 }`: says nothing about what the function does."""
        while self.take() != "}":
            if not self.tokens[self.i]:
                raise self.fail("a use-list order without an end")

    def _open_block(self, name: str) -> Block:
        block = self.label(name)
        if block.function is not None or name in self.locals:
            raise self.fail(f"%{name} is defined twice")
        block.function = self.function
        self.defined.append(block)
        if name.isdigit():
            self.next_id = int(name) + 1
        return block

    def _instruction(self, token: str) -> Instruction:
        """One instruction with its name and its attachments."""
        name = ""
        if token[0] == "%":
            name = token[1:] if token[1] != '"' else decode_name(token)
            self.i += 1
            self.expect("=")
            token = self.tokens[self.i]
        reader = READERS.get(token)
        if reader is None:
            raise self.fail(f"unknown instruction {token!r}")
        self.i += 1
        instruction = reader(self, token)
        if instruction.type is not VOID and instruction.type != VOID:
            self._define(name or str(self.next_id), instruction)
        elif name:
            raise self.fail(f"%{name} names an instruction without a value")
        if self.tokens[self.i] == ",":
            instruction.metadata = self.attachments()
        return instruction

    def _define(self, name: str, instruction: Instruction) -> None:
        instruction.name = name
        if name.isdigit():
            self.next_id = int(name) + 1
        if name in self.locals or name in self.labels:
            raise self.fail(f"%{name} is defined twice")
        waiting = self.forward.pop(name, None)
        if waiting is not None:
            if waiting.type != instruction.type:
                raise self.fail(f"%{name} has type {instruction.type}, but was used as {waiting.type}")
            replace_uses(waiting, instruction)
        self.locals[name] = instruction

    def _finish(self) -> None:
        for late in self.late_metadata:
            force_setattr(late, "value", self.locals.get(late.value.name, late.value))
            if not isinstance(late.value, Forward):
                self.forward.pop(late.value.name, None)
        missing = [*self.forward, *(n for n, b in self.labels.items() if b.function is None)]
        if missing:
            raise ParseError(f"%{missing[0]} is used but not defined")

    # --- names ---

    def local(self, name: str, t: Type) -> AnyValue:
        found = self.locals.get(name)
        if found is None:
            found = self.forward.get(name)
            if found is None:
                found = self.forward[name] = Forward(t, name)
        if found.type is not t and found.type != t:
            raise self.fail(f"%{name} has type {found.type}, but is used as {t}")
        return found

    def label(self, name: str) -> Block:
        block = self.labels.get(name)
        if block is None:
            block = self.labels[name] = Block(name)
        return block

    def metadata_value(self) -> AnyValue:
        value = super().metadata_value()
        if isinstance(value, MetadataValue) and isinstance(value.value, Forward):
            self.late_metadata.append(value)
        return value


class LazyBody:
    """What `Function._body` holds until the body is asked for; `text` is what stands between the braces.

    `names` are those of the arguments in the text, which may have others by then.
    """

    __slots__ = ("text", "names")

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self.text, self.names = text, names

    def __call__(self, function: Function) -> None:
        try:
            function._blocks = BodyReader(function, self.text, self.names).read()
        except ParseError as error:
            function._body = self
            raise ParseError(f"@{function.name}: {error.message}", cause=error.cause, fix=error.fix) from None
