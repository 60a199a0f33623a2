"""What every derivative function is made of: the primal function's instructions, copied, with shadows beside them.

`Sweep` copies a function block by block into a new one. For each pointer into active memory it makes the shadow
pointer, named `%x.shadow`: the same address computation over the shadow base. Subclasses say what else to write at
each instruction. The primal is never changed. Nothing is inherited but what is true of the copied instruction itself
(wrap flags, fast-math flags, TBAA, alias scopes with their declarations): no debug locations, ranges or tail calls
(decision 3 of the design).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llgrad.analysis.memory.call_effects import is_column
from llgrad.autodiff.emit import tape
from llgrad.autodiff.emit.alias_scopes import mark
from llgrad.autodiff.emit.float_checks import WIDEST
from llgrad.autodiff.emit.lanes import Lanes
from llgrad.autodiff.emit.sized_release import NOTED
from llgrad.autodiff.enzyme.fwdsplit_bodies import ALLOCATOR, SHADOW
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import DROPPED_CALLS
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.autodiff.shadows.globals import constant_shadow
from llgrad.errors import UnsupportedError
from llgrad.ir.build import Builder, Names, clone, const_int, declare, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I8, I32, I64, PTR, VOID, ArrayType, IntType, PointerType, Type
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Attribute,
    Binary,
    Block,
    Call,
    Cast,
    ConstExpr,
    ConstInt,
    ConstNull,
    ExtractElement,
    ExtractValue,
    Function,
    GetElementPtr,
    GlobalVariable,
    IndirectBranch,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    MDRef,
    MetadataValue,
    Phi,
    Select,
    ShuffleVector,
    Store,
    Unary,
    Undef,
    replace_uses,
)
from llgrad.models.effects import Allocator, Effects
from llgrad.models.libc import BLOCK_SIZE

_KEPT_METADATA = frozenset({"tbaa", "alias.scope", "noalias"})


class Sweep(Lanes):
    """Copies `source` into `target`; see the module."""

    def __init__(self, facts: Facts, module: Module, source: Function, target: Function, request: Request) -> None:
        super().__init__(request.width)
        self.facts, self.module, self.source, self.target = facts, module, source, target
        self.request = request
        self.flow = facts.flow(source)
        self.names = Names(a.name for a in target.arguments)
        self.values: dict[AnyValue, AnyValue] = {}
        self.nowhere: dict[Type, AnyValue] = {}
        self.blocks: dict[Block, Block] = {}
        self.dropped: set[tuple[Block, Block]] = set()  # edges of the source that the copy does not have
        self.continued: dict[Block, Block] = {}  # where the copy of a block goes on that ends with an `invoke`
        self.stack = Builder(self.new_block("stack"), self.names)  # static allocas; left open until the end
        self.b: Builder = Builder(Block(""), self.names)

    # --- blocks

    def new_block(self, name: str) -> Block:
        block = Block(self.names.fresh(name), self.target)
        self.target._blocks.append(block)
        return block

    def copy_blocks(self) -> None:
        """Copy every reachable block, then complete the phis."""
        order = self.copied()
        self.make_blocks(order)
        for block in order:
            self.b.at_end(self.blocks[block])
            phis = list(block.phis())
            for phi in phis:
                self.instruction(phi)
            self.more_phis(block)
            first = len(phis) + (block.instructions[len(phis)].opcode == "landingpad")
            for i in block.instructions[len(phis) : first]:
                self.instruction(i)
            self.after_phis(block)
            for i in block.instructions[first:-1]:
                self.instruction(i)
            self.before_terminator(block)
            self.terminator(block)
        for block in order:
            for phi in block.phis():
                self.complete_phi(phi)

    def make_blocks(self, order: Sequence[Block]) -> None:
        for block in order:
            self.blocks[block] = self.new_block(block.name)

    def copied(self) -> Sequence[Block]:
        """The blocks of the source that are copied, in order."""
        return self.flow.order

    def terminator(self, block: Block) -> None:
        """Copy the end of a block. What is thrown cleans up as it does in the primal, and leaves the derivative."""
        i = block.terminator
        self.instruction(i)
        if block in self.continued:
            self.b.branch(self.blocks[i.targets[0]])
        elif i.opcode == "invoke":  # of what is not called here
            self.b.branch(self.blocks[i.targets[0]])
            self.dropped.add((block, i.targets[1]))

    def more_phis(self, block: Block) -> None:
        """Hook: the copy of `block` has its phis; more may be added."""

    def after_phis(self, block: Block) -> None:
        """Hook: the copy of `block` has all its phis, and its landing pad."""

    def before_terminator(self, block: Block) -> None:
        """Hook: the copy of `block` lacks only its terminator."""

    def instruction(self, i: Instruction) -> None:
        """Copy one instruction and write its shadow."""
        self.copy(i)
        if self.facts.shadowed(i):
            for _ in self.each_lane():
                self.make_shadow(i)

    def complete_phi(self, phi: Phi) -> None:
        """Fill in the copies of a phi and of its shadow, once all values exist."""
        self.complete(phi, self.values, self.value)
        for _ in self.each_lane():
            self.complete(phi, self.shadows, self.shadow)

    def complete(self, phi: Phi, table: dict[AnyValue, AnyValue], get: Callable[[AnyValue], AnyValue]) -> None:
        new = table.get(phi)
        if isinstance(new, Phi) and not new.operands:
            for value, block in phi.incoming():
                if block in self.blocks and (block, phi.block) not in self.dropped:
                    new.add(get(value), self.exit_of(block, phi.block))
            if self.prune(new):
                table[phi] = Undef(phi.type, True)

    def prune(self, phi: Phi) -> bool:
        """A phi of a block that is not reached any more is poison: true if this one was."""
        if phi.operands:
            return False
        replace_uses(phi, Undef(phi.type, True))
        phi.drop()
        return True

    def exit_of(self, block: Block, into: Block) -> Block:
        """The new block at whose end control leaves the copy of `block` for that of `into`."""
        normal = block in self.continued and into is block.terminator.targets[0]
        return self.continued[block] if normal else self.blocks[block]

    # --- primal values

    def value(self, v: AnyValue) -> AnyValue:
        """The copy of a primal value."""
        if isinstance(v, MetadataValue) and v.value is not None:
            raise UnsupportedError("metadata that wraps a local value cannot be copied")
        return self.values[v] if isinstance(v, (Instruction, Argument)) else v

    def copy(self, i: Instruction) -> Instruction | None:
        """Append the copy of `i`; markers that would not stay true are dropped."""
        if isinstance(i, Call) and i.called_function is not None and i.called_function.name.startswith(DROPPED_CALLS):
            return None
        if self.facts.unwanted.may_drop(i):
            if i.type != VOID:  # libc's memcpy returns where it wrote
                self.values[i] = self.value(i.operands[0])
            return None
        if isinstance(i, IndirectBranch):
            raise UnsupportedError(
                "a computed goto is not differentiated", span=self.facts.span(i),
                cause="its targets are addresses of labels that are not known", fix="use a switch",
            )  # fmt: skip
        new = clone(i)
        new.metadata = self._kept_metadata(i)
        if isinstance(new, (Load, Store)):
            mark(self.module, new, "primal")
        if isinstance(new, Call):
            self.fail_if_nowhere(i)
            new.tail = ""
        if not isinstance(i, Phi):
            for v in i.operands:
                new.operands.append(self.value(v))
                self.value(v).users.append(new)
        new.targets = self.new_targets(i)
        for t in new.targets:
            t.users.append(new)
        if i.type != VOID:
            new.name = ""
            (self.stack if static_alloca(i) else self.b).insert(new, i.name)
            self.values[i] = self.block_size(i, new) if is_block_size(i) else new
        else:
            self.b.insert(new)
        if i.block in self.continued:
            self.b.at_end(self.continued[i.block])
        return new

    def _kept_metadata(self, i: Instruction) -> dict[str, MDRef]:
        """What stays true of the copy. Bits of floats that are moved as integers are floats to others: of any type."""
        kept = {k: v for k, v in i.metadata.items() if k in _KEPT_METADATA}
        moved = i.value if isinstance(i, Store) else i
        if "tbaa" in kept and isinstance(moved.type, IntType) and self.facts.kinds.may_hold_float(moved):
            del kept["tbaa"]
        return kept

    def fail_if_nowhere(self, i: Instruction) -> None:
        """A call through a pointer that the program never sets is an error where it is reached."""
        if isinstance(i, Call) and self.facts.leads_nowhere(i):
            fail = declare(self.module, tape.FAIL, VOID, [I32, PTR])
            self.b.call(fail, [const_int(I32, tape.FAIL_TARGET), self.value(i.callee)])

    def new_targets(self, i: Instruction) -> list[Block]:
        """The targets of a copy. What follows an `invoke` goes into a block of its own."""
        targets = [self.blocks[t] for t in i.targets]
        if i.opcode == "invoke":
            self.continued[i.block] = targets[0] = self.new_block(f"{i.block.name}.called")
        return targets

    def call_derivative(self, i: Call, derivative: Function, arguments: list[AnyValue], name: str) -> AnyValue:
        """Call a derivative in place of `i`, under the same handler."""
        if i.opcode != "invoke":
            return self.b.call(derivative, arguments, name)
        made = Call(derivative.function_type, derivative, arguments, "", "invoke", self.new_targets(i))
        self.b.insert(made, name)
        self.b.at_end(self.continued[i.block])
        return made

    def block_size(self, i: Instruction, size: AnyValue) -> AnyValue:
        """How much of a block can be copied: the allocator may have made its shadows a little smaller."""
        pointer = i.operands[0]
        assert isinstance(i, Call) and isinstance(i.callee, Function)
        for _ in self.each_lane() if self.facts.shadowed(pointer) else ():
            shadow = self.shadow(pointer)
            other = self.b.call(i.callee, [shadow])
            least = self.b.select(self.b.icmp("ult", other, size), other, size)
            size = self.b.select(self.b.icmp("eq", shadow, zero(PTR)), size, least)
        return size

    # --- shadows

    def shadow(self, v: AnyValue) -> AnyValue:
        """The shadow of a pointer (or of a value that carries one). Raises ActivityError where there is none."""
        if v in self.shadows:
            return self.shadows[v]
        if isinstance(v, (Instruction, Argument)) and not self.facts.shadowed(v):
            # inactive memory: an access that may reach it through a shadow is refused (decision 6), or guarded
            return self.value(v) if self.facts.runtime_activity else zero(v.type)
        return constant_shadow(self.facts, self.module, v, self.lane)

    def where(self, p: AnyValue, type: Type) -> AnyValue:
        """Where the derivative of a `type` that `p` points to is written: not into constant memory."""
        return self.unless_constant(p, self.shadow(p), lambda: self._nowhere(type))

    def _nowhere(self, type: Type) -> AnyValue:
        if type not in self.nowhere:
            self.nowhere[type] = self.stack.alloca(type, "nowhere", 64)
        return self.nowhere[type]

    def unless_constant(self, p: AnyValue, wanted: AnyValue, other: Callable[[], AnyValue]) -> AnyValue:
        """`wanted`, or `other` if `p` turns out to point to constant memory: under runtime activity alone."""
        if not self.facts.may_be_constant(p):
            return wanted
        return self.b.select(self.b.icmp("eq", self.value(p), self.shadow(p)), other(), wanted)

    def make_shadow(self, i: Instruction) -> None:
        """Write the shadow of `i`, a pointer into active memory or something that carries one."""
        name = f"{i.name}.shadow"
        match i:
            case Phi():
                self.shadows[i] = self.b.phi(i.type, name=name)
            case Alloca():
                self.shadows[i] = self.shadow_alloca(i, name)
            case Load():
                new = Load(i.type, self.shadow(i.pointer), i.align)
                mark(self.module, new, "shadow")
                self.shadows[i] = self.b.insert(new, name)
            case Call() if not is_column(i):
                self.shadows[i] = self.shadow_call(i, name)
            case (
                GetElementPtr() | Cast() | Select() | ExtractValue() | InsertValue()
                | ExtractElement() | InsertElement() | ShuffleVector() | Unary(opcode="freeze")
                | Binary(opcode="add" | "sub" | "and" | "or") | Call()
            ):  # fmt: skip
                self.shadows[i] = self.same_on_shadows(i, name)
            case _:
                raise UnsupportedError(
                    f"no shadow for a pointer made by `{i.opcode}`", span=self.facts.span(i),
                    cause="a pointer to active memory is computed in a way that is not understood",
                )  # fmt: skip

    def same_on_shadows(self, i: Instruction, name: str) -> AnyValue:
        """The same operation with shadows for the operands that carry pointers."""
        new = clone(i)
        for v in i.operands:
            w = self.shadow(v) if self.carries_pointer(v, i) else self.value(v)
            new.operands.append(w)
            w.users.append(new)
        new.flags = i.flags - {"inbounds", "nuw", "nusw", "nsw"} if isinstance(i, Binary) else i.flags
        return self.b.insert(new, name)

    def carries_pointer(self, v: AnyValue, user: Instruction) -> bool:
        if (
            isinstance(user, (Select, ExtractElement, InsertElement))
            and v is user.operands[0 if isinstance(user, Select) else -1]
        ):
            return False
        return (
            self.facts.shadowed(v)
            or isinstance(v, (GlobalVariable, ConstExpr, ConstNull))
            and isinstance(v.type, PointerType)
        )

    def shadow_alloca(self, i: Alloca, name: str) -> AnyValue:
        new, size = Alloca(i.allocated_type, self.value(i.count), i.align, i.type), self.alloca_bytes(i)
        if (room := self.with_room(i, size)) is not size:
            new, size = Alloca(I8, room, i.align, i.type), room
        shadow = (self.stack if static_alloca(i) else self.b).insert(new, name)
        self.clear(shadow, size)
        return shadow

    def with_room(self, i: Instruction, size: AnyValue) -> AnyValue:
        """The size of a shadow of `i`: a multiple of a mark's, where there may be some
        (`autodiff.emit.float_checks`)."""
        if not self.facts.marked.may_hold(i) or (isinstance(size, ConstInt) and size.value % WIDEST == 0):
            return size
        if isinstance(size, ConstInt):
            return const_int(size.type, -(-size.value // WIDEST) * WIDEST)
        more = self.b.binary("add", size, const_int(size.type, WIDEST - 1))
        return self.b.binary("and", more, const_int(size.type, -WIDEST))

    def reserve(self, i: Instruction, size: AnyValue, arena: AnyValue) -> Call:
        """One block of the tape for `i` and its shadows, so that one release drops all (decision 2 of the design)."""
        reserve = tape.reserve(self.module)
        if not self.facts.shadowed(i):
            self.values[i] = block = self.b.call(reserve, [arena, size], i.name)
            return block
        size = self._whole_lines(size)
        whole = self.b.binary("mul", size, i64(1 + self.width))
        self.values[i] = block = self.b.call(reserve, [arena, whole], i.name)
        self._shadows_in(i, block, size, size)
        return block

    def reserve_shadows(self, i: Instruction, size: AnyValue, arena: AnyValue) -> Call:
        """One block of the tape for the shadows of `i` alone."""
        size = self._whole_lines(size)
        whole = self.b.binary("mul", size, i64(self.width))
        block = self.b.call(tape.reserve(self.module), [arena, whole], f"{i.name}.shadow")
        self._shadows_in(i, block, i64(0), size)
        return block

    def _whole_lines(self, size: AnyValue) -> AnyValue:
        return self.b.binary("and", self.b.binary("add", size, i64(63)), i64(-64))

    def _shadows_in(self, i: Instruction, block: AnyValue, at: AnyValue, size: AnyValue) -> None:
        for lane in self.each_lane():
            offset = self.b.binary("add", at, self.b.binary("mul", size, i64(lane)))
            shadow = tape.column(self.b, self.module, block, offset, tape.SHADOW + lane, f"{i.name}.shadow")
            self.shadows[i] = shadow
            if self.facts.reverse or self.facts.written_without_tangents(i):  # (others are written first)
                self.clear(shadow, size)

    def allocated_bytes(self, i: Call, a: Allocator) -> AnyValue:
        """How much an allocator is asked for; what is more than there is stays so, however many shadows it gets."""
        parts = [self.to64(v) if v.type != I64 else v for v in (self.value(i.arguments[n]) for n in a.size)]
        size = parts[0]
        for part in parts[1:]:
            size = self.b.binary("mul", size, part)
        if isinstance(size, ConstInt):
            return size
        return self.b.select(self.b.icmp("ult", size, i64(_MOST_BYTES)), size, i64(_MOST_BYTES))

    def alloca_bytes(self, i: Alloca) -> AnyValue:
        size = self.facts.layout.alloc_size(i.allocated_type)
        if isinstance(i.count, ConstInt):
            return i64(size * i.count.value)
        count = self.value(i.count)
        assert isinstance(count.type, IntType)
        if count.type.bits < 64:
            count = self.b.cast("zext", count, I64)
        return self.b.binary("mul", count, i64(size))

    def shadow_call(self, i: Call, name: str) -> AnyValue:
        """The shadow of a call's result: an allocation's twin, cleared; or as far behind that of the first argument."""
        known = self.facts.effects(i)
        if known is not None and known.within_first:
            first, found = self.value(i.arguments[0]), self.value(i)
            by = self.b.binary("sub", self.b.cast("ptrtoint", found, I64), self.b.cast("ptrtoint", first, I64))
            there = self.b.offset(self.shadow(i.arguments[0]), by)
            return self.b.select(self.b.icmp("eq", found, ConstNull(PTR)), ConstNull(PTR), there, name)
        if NOTED in self._callee_name(i):
            raise UnsupportedError(
                "a release that takes a size, in a derivative that is differentiated again",
                span=self.facts.span(i),
                cause="the inner derivative postpones it, with its size",
                fix="register a release that takes the memory alone",
            )
        if known is None or known.allocator is None:
            raise UnsupportedError(
                f"the pointer that {self._callee_name(i)} returns has no shadow", span=self.facts.span(i),
                cause="the function has no body here, and is not a known allocator",
            )  # fmt: skip
        return self.shadow_allocation(i, known, name)

    def shadow_allocation(self, i: Call, known: Effects, name: str) -> AnyValue:
        assert known.allocator is not None
        a = known.allocator
        arguments = [self.value(v) for v in i.arguments]
        size = arguments[a.size[0]]
        for n in a.size[1:]:
            size = self.b.binary("mul", size, arguments[n])
        if (room := self.with_room(i, size)) is not size:
            size = room
            for n in a.size:
                arguments[n] = size if n == a.size[0] else const_int(size.type, 1)
        if i.called_function is not None and i.called_function.name == ALLOCATOR:
            return self.b.call(declare(self.module, SHADOW, PTR, [I64, PTR]), [size, self.value(i)], name)
        own = a.sized and self.request.mode is not Mode.FORWARD and not self.facts.escapes(i)
        if own or (a.family == "malloc" and a.alignment is None):
            calloc = declare(self.module, "calloc", PTR, [I64, I64])
            call = self.b.call(calloc, [i64(1), size], name)
            call.result_attributes = (Attribute("noalias"),)
            return call
        assert isinstance(i.callee, Function)
        call = self.b.call(i.callee, arguments, name)
        self.clear(call, size)
        return call

    def clear(self, pointer: AnyValue, size: AnyValue) -> None:
        memset = declare(self.module, "llvm.memset.p0.i64", VOID, [PTR, I8, I64, I1])
        if isinstance(size.type, IntType) and size.type.bits < 64:
            size = self.b.cast("zext", size, I64)
        self.b.call(memset, [pointer, const_int(I8, 0), size, const_int(I1, 0)])

    def to64(self, v: AnyValue) -> AnyValue:
        return self.b.cast("zext", v, I64)

    def _callee_name(self, i: Call) -> str:
        return i.called_function.name if i.called_function is not None else "a function pointer"

    # --- arguments

    def bind_arguments(self, acts: tuple[Act, ...], first: int) -> int:
        """Map the source's arguments to the target's, from position `first` on; the position after them."""
        n = first
        for a, act in zip(self.source.arguments, acts, strict=True):
            self.values[a] = self.target.arguments[n]
            if self.source is self.facts.root and a in self.facts.unwanted.scratch:
                self.values[a] = self.scratch(self.target.arguments[n], self.facts.unwanted.scratch[a])
            n += 1
            if takes_shadow(act):
                for _ in self.each_lane():
                    self.shadows[a] = self.target.arguments[n]
                    n += 1
        return n

    def scratch(self, given: AnyValue, size: int) -> AnyValue:
        """Memory of our own for an argument that may be null, with its contents."""
        made = self.stack.alloca(ArrayType(I8, size), "scratch", 16)
        copy = declare(self.module, "llvm.memcpy.p0.p0.i64", VOID, [PTR, PTR, I64, I1])
        known = self.stack.icmp("ne", given, ConstNull(PTR))
        self.stack.call(copy, [made, self.stack.select(known, given, made), i64(size), const_int(I1, 0)])
        return made


_MOST_BYTES = 1 << 48  # more than any memory has


def static_alloca(i: Instruction) -> bool:
    """Stack memory of constant size, made once a call."""
    return isinstance(i, Alloca) and isinstance(i.count, ConstInt) and i.block is i.block.function.entry  # type: ignore[union-attr]


def is_block_size(i: Instruction) -> bool:
    """Does it ask the allocator how large a block is?"""
    return isinstance(i, Call) and i.called_function is not None and i.called_function.name == BLOCK_SIZE


def takes_shadow(act: Act) -> bool:
    """Is this argument followed by a shadow (pointers) or a tangent (floats in forward mode)?"""
    return act in (Act.DUP, Act.DUPNONEED)
