"""Instructions of LLVM assembly, one method a shape (LangRef: Instruction Reference).

Keys of `Other.detail`: atomicrmw `operation`, `ordering`, `syncscope`, `align`; cmpxchg `success`, `failure`,
`syncscope`, `align`; fence `ordering`, `syncscope`; landingpad `cleanup` (bool) and `clauses` (a list of "catch" or
"filter", one an operand); catchswitch, cleanupret `unwind` (bool: the last target is the unwind block, else it unwinds
to the caller). Operand 0 of pads and of catchswitch is the parent pad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llgrad.ir import opcodes
from llgrad.ir.module import Module
from llgrad.ir.opcodes import FLAGS, OPCODES
from llgrad.ir.parse_types import decode_name, unescape
from llgrad.ir.parse_values import ValueReader, flag_set, gep_type
from llgrad.ir.types import (
    I1,
    I32,
    METADATA,
    TOKEN,
    VOID,
    ArrayType,
    FunctionType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from llgrad.ir.values import (
    Alloca,
    AnyConstant,
    AnyValue,
    Attribute,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstAggregate,
    ConstInt,
    ExtractElement,
    ExtractValue,
    GetElementPtr,
    IndirectBranch,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    MDRef,
    Other,
    Phi,
    RawConstant,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    Unary,
    Undef,
    Unreachable,
)

_NO_FLAGS: frozenset[str] = frozenset()
_ONE = ConstInt(I32, 1)
_TAILS = frozenset(("tail", "musttail", "notail"))


class InstructionReader(ValueReader):
    """Reads the instruction that starts at the current token; a subclass knows the names of the body."""

    def __init__(self, module: Module, text: str) -> None:
        super().__init__(module, text)
        self.shared_attributes: dict[tuple[str, ...], tuple[Attribute, ...]] = {}

    def label(self, name: str) -> Block:
        raise self.fail(f"%{name}: a block outside a function")

    def target(self) -> Block:
        """`label %x`"""
        self.expect("label")
        return self.label(decode_name(self.take()))

    # --- pieces ---

    def attachments(self) -> dict[str, MDRef]:
        """`, !dbg !4, !tbaa !7`; the second attachment of a kind is entered as "kind 2"."""
        found: dict[str, MDRef] = {}
        while self.accept(","):
            self.attachment(found)
        return found

    def flags(self) -> frozenset[str]:
        """The flags that stand here."""
        if self.tokens[self.i] not in FLAGS:
            return _NO_FLAGS
        start = self.i
        while self.tokens[self.i] in FLAGS:
            self.i += 1
        return flag_set(*self.tokens[start : self.i])

    def more(self) -> bool:
        """Steps over a comma that another operand follows (and not an attachment)."""
        if self.tokens[self.i] == "," and self.tokens[self.i + 1][:1] != "!":
            self.i += 1
            return True
        return False

    def alignment(self) -> int:
        """`, align 8`, 0 where there is none."""
        if self.tokens[self.i] == "," and self.tokens[self.i + 1] == "align":
            self.i += 3
            return int(self.tokens[self.i - 1])
        return 0

    def syncscope(self) -> str:
        if not self.accept("syncscope"):
            return ""
        self.expect("(")
        scope = self.take()[1:-1]
        self.expect(")")
        return scope

    def ordering(self) -> str:
        if self.tokens[self.i] in opcodes.ORDERINGS:
            return self.take()
        raise self.fail(f"expected an ordering, found {self.tokens[self.i]!r}")

    def address_space(self) -> int:
        """`addrspace(3)`, 0 where there is none."""
        if not self.accept("addrspace"):
            return 0
        self.expect("(")
        space = self.integer()
        self.expect(")")
        return space

    def parameter_attributes(self) -> tuple[Attribute, ...]:
        """Attributes before a value; equal runs of tokens share one tuple."""
        start = self.i
        first = self.tokens[start][:1]
        if first in "%@-!" or first.isdigit():
            return ()
        found = self.attributes()
        if not found:
            return ()
        return self.shared_attributes.setdefault(tuple(self.tokens[start : self.i]), found)

    # --- instructions, by shape ---

    def _unary(self, opcode: str) -> Instruction:
        flags = self.flags()
        t = self.type()
        instruction = Unary(opcode, t, [self.value(t)])
        instruction.flags = flags
        return instruction

    def _binary(self, opcode: str) -> Instruction:
        flags = self.flags()
        t = self.type()
        lhs = self.value(t)
        self.expect(",")
        instruction = Binary(opcode, t, [lhs, self.value(t)])
        instruction.flags = flags
        return instruction

    def _cast(self, opcode: str) -> Instruction:
        flags = self.flags()
        value = self.typed()
        self.expect("to")
        instruction = Cast(opcode, self.type(), [value])
        instruction.flags = flags
        return instruction

    def _compare(self, opcode: str) -> Instruction:
        flags = self.flags()
        predicate = self.take()
        t = self.type()
        lhs = self.value(t)
        self.expect(",")
        result = VectorType(I1, t.count, t.scalable) if isinstance(t, VectorType) else I1
        instruction = Compare(opcode, predicate, lhs, self.value(t), result)
        instruction.flags = flags
        return instruction

    def _select(self, opcode: str) -> Instruction:
        flags = self.flags()
        condition = self.typed()
        self.expect(",")
        if_true = self.typed()
        self.expect(",")
        instruction = Select(condition, if_true, self.typed())
        instruction.flags = flags
        return instruction

    def _gep(self, opcode: str) -> Instruction:
        flags = self.flags()
        source = self.type()
        self.expect(",")
        pointer = self.typed()
        indices: list[AnyValue] = []
        while self.more():
            indices.append(self.typed())
        instruction = GetElementPtr(source, pointer, indices, gep_type(pointer, indices))
        instruction.flags = flags
        return instruction

    def _load(self, opcode: str) -> Instruction:
        flags = self.flags()
        t = self.type()
        self.expect(",")
        instruction = Load(t, self.typed())
        instruction.flags = flags
        self._memory_access(instruction)
        return instruction

    def _store(self, opcode: str) -> Instruction:
        flags = self.flags()
        value = self.typed()
        self.expect(",")
        instruction = Store(value, self.typed())
        instruction.flags = flags
        self._memory_access(instruction)
        return instruction

    def _memory_access(self, instruction: Load | Store) -> None:
        if "atomic" in instruction.flags:
            instruction.syncscope = self.syncscope()
            instruction.ordering = self.ordering()
        instruction.align = self.alignment()

    def _alloca(self, opcode: str) -> Instruction:
        flags = self.flags()
        allocated = self.type()
        count: AnyValue = _ONE
        align, space = 0, 0
        while self.more():
            if self.accept("align"):
                align = self.integer()
            elif self.tokens[self.i] == "addrspace":
                space = self.address_space()
            else:
                count = self.typed()
        instruction = Alloca(allocated, count, align, PointerType(space))
        instruction.flags = flags
        return instruction

    def _phi(self, opcode: str) -> Instruction:
        flags = self.flags()
        t = self.type()
        instruction = Phi(t)
        instruction.flags = flags
        if self.tokens[self.i] != "[":
            return instruction
        while True:
            self.expect("[")
            value = self.value(t)
            self.expect(",")
            instruction.add(value, self.label(decode_name(self.take())))
            self.expect("]")
            if not self.more():
                return instruction

    # --- calls ---

    def _tail_call(self, opcode: str) -> Instruction:
        self.expect("call")
        instruction = self._call("call")
        instruction.tail = opcode
        return instruction

    def _call(self, opcode: str) -> Call:
        flags = self.flags()
        convention = self.calling_convention()
        result_attributes = self.attributes()
        space = self.address_space()
        t = self.type()
        function_type = self.function_type(t) if self.tokens[self.i] == "(" else None
        if self.tokens[self.i] == "asm":
            callee: AnyValue = self.inline_asm()
        else:
            callee = self.value(PointerType(space))
        arguments, attributes = self._arguments()
        if function_type is None:
            function_type = FunctionType(t, tuple(v.type for v in arguments))
        own = self._call_attributes()
        bundles = self._bundles()
        targets = self._call_targets(opcode)
        call = Call(function_type, callee, arguments, "", opcode, targets, bundles)
        call.flags, call.calling_convention = flags, convention
        call.attributes, call.result_attributes, call.argument_attributes = own, result_attributes, attributes
        return call

    def _arguments(self) -> tuple[list[AnyValue], list[tuple[Attribute, ...]]]:
        self.expect("(")
        arguments: list[AnyValue] = []
        attributes: list[tuple[Attribute, ...]] = []
        tokens = self.tokens
        while tokens[self.i] != ")":
            if tokens[self.i] == "...":  # musttail in a variadic thunk
                self.i += 1
                break
            t = self.type()
            attributes.append(self.parameter_attributes() if t is not METADATA else ())
            arguments.append(self.value(t))
            if tokens[self.i] == ",":
                self.i += 1
        self.expect(")")
        return arguments, attributes

    def _call_attributes(self) -> tuple[Attribute, ...]:
        found: tuple[Attribute, ...] = ()
        while True:
            token = self.tokens[self.i]
            first = token[:1]
            if first == "#" and token[1:].isdigit():
                self.i += 1
                found += self.group(token)
            elif (first == '"' or ("a" <= first <= "z" and token not in _AFTER_CALL)) and token[-1] != ":":
                found += (self.attribute(),)
            else:
                return found

    def _bundles(self) -> list[tuple[str, list[AnyValue]]]:
        bundles: list[tuple[str, list[AnyValue]]] = []
        if not self.accept("["):
            return bundles
        while not self.accept("]"):
            tag = unescape(self.take()[1:-1])
            bundles.append((tag, self._arguments()[0]))
            if self.tokens[self.i] != "]":
                self.expect(",")
        return bundles

    def _call_targets(self, opcode: str) -> list[Block]:
        if opcode == "call":
            return []
        self.expect("to")
        targets = [self.target()]
        if opcode == "invoke":
            self.expect("unwind")
            return [*targets, self.target()]
        return targets + self._target_list()

    def _target_list(self) -> list[Block]:
        """`[label %a, label %b]`"""
        self.expect("[")
        targets: list[Block] = []
        while not self.accept("]"):
            targets.append(self.target())
            if self.tokens[self.i] != "]":
                self.expect(",")
        return targets

    # --- terminators ---

    def _br(self, opcode: str) -> Instruction:
        if self.tokens[self.i] == "label":
            return Branch([self.target()])
        condition = self.typed()
        self.expect(",")
        if_true = self.target()
        self.expect(",")
        return Branch([if_true, self.target()], condition)

    def _switch(self, opcode: str) -> Instruction:
        condition = self.typed()
        self.expect(",")
        default = self.target()
        self.expect("[")
        cases: list[tuple[ConstInt, Block]] = []
        while not self.accept("]"):
            value = self.typed()
            if not isinstance(value, ConstInt):
                raise self.fail("a case of a switch must be an integer")
            self.expect(",")
            cases.append((value, self.target()))
        return Switch(condition, default, cases)

    def _indirectbr(self, opcode: str) -> Instruction:
        address = self.typed()
        self.expect(",")
        return IndirectBranch("indirectbr", VOID, [address], "", self._target_list())

    def _ret(self, opcode: str) -> Instruction:
        t = self.type()
        return Return() if t == VOID else Return(self.value(t))

    def _unreachable(self, opcode: str) -> Instruction:
        return Unreachable()

    # --- aggregates and vectors ---

    def _extractvalue(self, opcode: str) -> Instruction:
        aggregate = self.typed()
        indices = self._indices()
        return ExtractValue(self.member(aggregate.type, indices), aggregate, indices)

    def _insertvalue(self, opcode: str) -> Instruction:
        aggregate = self.typed()
        self.expect(",")
        value = self.typed()
        return InsertValue(aggregate, value, self._indices())

    def _indices(self) -> tuple[int, ...]:
        indices: list[int] = []
        while self.more():
            indices.append(self.integer())
        return tuple(indices)

    def member(self, t: Type, indices: tuple[int, ...]) -> Type:
        for i in indices:
            if isinstance(t, ArrayType):
                t = t.element
            elif isinstance(t, StructType) and t.fields is not None and i < len(t.fields):
                t = t.fields[i]
            else:
                raise self.fail(f"index {i} into {t}")
        return t

    def _extractelement(self, opcode: str) -> Instruction:
        vector = self.typed()
        self.expect(",")
        if not isinstance(vector.type, VectorType):
            raise self.fail(f"extractelement from {vector.type}")
        return ExtractElement(opcode, vector.type.element, [vector, self.typed()])

    def _insertelement(self, opcode: str) -> Instruction:
        vector = self.typed()
        self.expect(",")
        value = self.typed()
        self.expect(",")
        return InsertElement(opcode, vector.type, [vector, value, self.typed()])

    def _shufflevector(self, opcode: str) -> Instruction:
        lhs = self.typed()
        self.expect(",")
        rhs = self.typed()
        self.expect(",")
        mask = self.typed_constant()
        if not isinstance(lhs.type, VectorType) or not isinstance(mask.type, VectorType):
            raise self.fail("shufflevector of something that is no vector")
        result = VectorType(lhs.type.element, mask.type.count, mask.type.scalable)
        return ShuffleVector(result, lhs, rhs, self._mask(mask), mask)

    def _mask(self, mask: AnyConstant) -> tuple[int, ...]:
        assert isinstance(mask.type, VectorType)
        if isinstance(mask, ConstAggregate):
            return tuple(e.value if isinstance(e, ConstInt) else -1 for e in mask.elements)
        return (-1 if isinstance(mask, Undef) else 0,) * mask.type.count

    # --- the rest ---

    def _atomicrmw(self, opcode: str) -> Instruction:
        flags = self.flags()
        operation = self.take()
        pointer = self.typed()
        self.expect(",")
        value = self.typed()
        detail = {"operation": operation, "syncscope": self.syncscope(), "ordering": self.ordering()}
        instruction = Other(opcode, value.type, [pointer, value], detail={**detail, "align": self.alignment()})
        instruction.flags = flags
        return instruction

    def _cmpxchg(self, opcode: str) -> Instruction:
        flags = self.flags()
        pointer = self.typed()
        self.expect(",")
        expected = self.typed()
        self.expect(",")
        new = self.typed()
        detail: dict[str, Any] = {"syncscope": self.syncscope(), "success": self.ordering(), "failure": self.ordering()}
        detail["align"] = self.alignment()
        result = StructType((expected.type, I1))
        instruction = Other(opcode, result, [pointer, expected, new], detail=detail)
        instruction.flags = flags
        return instruction

    def _fence(self, opcode: str) -> Instruction:
        return Other(opcode, VOID, [], detail={"syncscope": self.syncscope(), "ordering": self.ordering()})

    def _va_arg(self, opcode: str) -> Instruction:
        pointer = self.typed()
        self.expect(",")
        return Other(opcode, self.type(), [pointer])

    def _landingpad(self, opcode: str) -> Instruction:
        t = self.type()
        cleanup = self.accept("cleanup")
        clauses: list[str] = []
        operands: list[AnyValue] = []
        while self.tokens[self.i] in ("catch", "filter"):
            clauses.append(self.take())
            operands.append(self.typed())
        return Other(opcode, t, operands, detail={"cleanup": cleanup, "clauses": clauses})

    def _resume(self, opcode: str) -> Instruction:
        return Other(opcode, VOID, [self.typed()])

    def _pad(self, opcode: str) -> Instruction:
        self.expect("within")
        parent = self._parent_pad()
        self.expect("[")
        operands: list[AnyValue] = [parent]
        while not self.accept("]"):
            operands.append(self.typed())
            if self.tokens[self.i] != "]":
                self.expect(",")
        return Other(opcode, TOKEN, operands)

    def _parent_pad(self) -> AnyValue:
        if self.accept("none"):
            return RawConstant(TOKEN, "none")
        return self.value(TOKEN)

    def _catchswitch(self, opcode: str) -> Instruction:
        self.expect("within")
        parent = self._parent_pad()
        targets = self._target_list()
        unwind = self._unwind()
        return Other(opcode, TOKEN, [parent], targets=[*targets, *unwind], detail={"unwind": bool(unwind)})

    def _unwind(self) -> list[Block]:
        """`unwind to caller` or `unwind label %x`"""
        self.expect("unwind")
        if self.accept("to"):
            self.expect("caller")
            return []
        return [self.target()]

    def _cleanupret(self, opcode: str) -> Instruction:
        self.expect("from")
        pad = self.value(TOKEN)
        unwind = self._unwind()
        return Other(opcode, VOID, [pad], targets=unwind, detail={"unwind": bool(unwind)})

    def _catchret(self, opcode: str) -> Instruction:
        self.expect("from")
        pad = self.value(TOKEN)
        self.expect("to")
        return Other(opcode, VOID, [pad], targets=[self.target()])


_AFTER_CALL = frozenset(["to", "unwind", *OPCODES, *_TAILS])

Reader = Callable[[InstructionReader, str], Instruction]
READERS: dict[str, Reader] = {
    name: getattr(InstructionReader, "_pad" if row.shape in ("cleanuppad", "catchpad") else f"_{row.shape}")
    for name, row in OPCODES.items()
} | {tail: InstructionReader._tail_call for tail in _TAILS}
