"""The reverse of each instruction: its adjoint is taken, and handed on to its operands or to shadow memory.

The adjoint of an active value is a stack cell `%x.adj`, cleared when it is consumed at the value's definition, so
that loops need nothing special; LLVM turns the cells into registers. Every value and every memory access is a list of
*leaves* (byte offset, float type, adjoint), so that scalars, vectors, structs and integers that hold floats are one
case.
"""

from __future__ import annotations

from abc import abstractmethod

from llgrad.analysis.bits.byte_moves import Moves, moves
from llgrad.analysis.cfg.flow import Loop
from llgrad.autodiff.emit import float_checks, helpers, non_finite, tape
from llgrad.autodiff.emit.alias_scopes import mark
from llgrad.autodiff.emit.atomic_sums import add_atomically
from llgrad.autodiff.emit.expressions import EmitAlgebra, is_choice, of_choice
from llgrad.autodiff.emit.team_calls import barrier, mirror
from llgrad.autodiff.facts.reverse_uses import (
    Allocate,
    Barrier,
    CallBody,
    Linear,
    Memory,
    Mirror,
    Number,
    Partials,
    operand_parts,
    reserves,
    sizes,
)
from llgrad.autodiff.recipes.speculated import Cut
from llgrad.autodiff.recipes.tape_allocations import allocated
from llgrad.autodiff.requests.request import Act, ReverseCallee
from llgrad.autodiff.sweeps.forward_mode import Lazy
from llgrad.autodiff.sweeps.use_notes import Used, either
from llgrad.ir.build import FALSE, TRUE, const_int, declare, i64, zero
from llgrad.ir.types import (
    I1,
    I8,
    I64,
    PTR,
    VOID,
    FloatType,
    IntType,
    StructType,
    Type,
    VectorType,
    is_float,
)
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Block,
    Call,
    Cast,
    ExtractElement,
    Function,
    InsertElement,
    Instruction,
    Load,
    Other,
    Phi,
    Select,
    Store,
)
from llgrad.models.effects import shadow_deallocator
from llgrad.rules.expression import Const, Expr, evaluate

Leaf = tuple[int, Type, AnyValue]
Paths = tuple[tuple[tuple[AnyValue, bool], ...], ...]
Waiting = tuple[int, AnyValue, Paths]  # lane, value, when it counts
ADJOINT_FLAGS = frozenset({"nsz", "reassoc", "contract"})


def summed(t: Type) -> Type:
    """The type in which the adjoint of a value of type `t` is summed: many terms are lost in 16 bits."""
    return FloatType("float") if isinstance(t, FloatType) and t.name in ("half", "bfloat") else t


class Adjoints(Used):
    """Writes the reverse of instructions at the current place."""

    adjoints: dict[tuple[int, AnyValue], AnyValue]  # (lane, value) -> stack cell
    callee: ReverseCallee
    columns: dict[Load, list[AnyValue]]  # one a lane, of adjoints that are added later
    strips: dict[Loop, tuple[AnyValue, AnyValue]]  # cells: the last and the first iteration of the current strip
    ahead: dict[Instruction | tuple[Instruction, int, int], AnyValue]  # columns of what is computed ahead
    rehearsals: dict[Loop, Block]  # where strips of what is computed ahead begin
    replays: dict[Loop, AnyValue]  # cells: the block of what is run again for a loop
    replay_columns: dict[Phi, AnyValue]  # cells: where its columns are
    rehearsing: bool  # is it written what is computed ahead?
    cut: Cut | None  # of the instruction that is reversed
    reversed: Instruction | None = None
    aside: dict[Waiting, AnyValue]  # cells of what is added to the adjoint of a value only if it was chosen
    waiting: dict[Waiting, dict[tuple[int, Type], None]]  # the leaves that are there
    nowhere: dict[Type, AnyValue]  # under runtime activity: what the adjoints of constant memory are added to
    zeros: dict[Type, AnyValue]  # and where they are taken from

    # --- adjoint cells

    def cell(self, v: AnyValue) -> AnyValue:
        """The stack cell of the adjoint of `v`: the floats of the adjoint lie where those of the value do."""
        place = self.lane, v
        if place not in self.adjoints:
            assert isinstance(v, (Instruction, Argument))
            self.adjoints[place] = self.cells.alloca(summed(v.type), f"{v.name}.adj")
            self.cells.store(zero(summed(v.type)), self.adjoints[place], 0)
        return self.adjoints[place]

    def take(self, v: AnyValue) -> list[Leaf]:
        """The adjoint of `v`, which is clear from now on."""
        cell, wide = self.cell(v), summed(v.type)
        if wide != v.type:
            return [(0, v.type, self.b.cast("fptrunc", self._taken(cell, 0, wide, getattr(v, "name", "x"))[2], v.type))]
        return [self._taken(cell, o, t, getattr(v, "name", "x")) for o, t in self.facts.float_parts(v)]

    def sum(self, v: Instruction | Argument) -> AnyValue:
        """The adjoint of `v`, as one value."""
        found = self.b.load(summed(v.type), self.cell(v), f"{v.name}.adj", 1)
        return found if found.type == v.type else self.b.cast("fptrunc", found, v.type)

    def _taken(self, cell: AnyValue, offset: int, t: Type, name: str) -> Leaf:
        address = self.b.offset(cell, offset)
        found = self.b.load(t, address, f"{name}.adj", 1)
        self.b.store(zero(t), address)
        return offset, t, found

    def add(self, v: AnyValue, leaves: list[Leaf]) -> None:
        """Add to the adjoint of `v`: at the end of the block if it counts only where it was chosen."""
        cell, wide = self.cell(v), summed(v.type)
        self.note(v)
        if self.cut is not None and v in self.cut.operands:
            if wide == v.type:
                cell = self._waiting(v, leaves, self.cut)
            else:
                leaves = [(o, t, self._if_chosen(self.cut.paths, x)) for o, t, x in leaves]
        for offset, t, value in leaves:
            if self.reversed is not None:
                non_finite.note(value, self.reversed)
            if wide != v.type:
                t, value = wide, self.b.cast("fpext", value, wide)
            self.accumulate(self.b.offset(cell, offset), t, value)

    def _waiting(self, v: AnyValue, leaves: list[Leaf], cut: Cut) -> AnyValue:
        """The stack cell of what waits to be added to the adjoint of `v`."""
        place = self.lane, v, cut.paths
        if place not in self.aside:
            self.aside[place] = self.cells.alloca(v.type, f"{getattr(v, 'name', 'x')}.cut")
            self.cells.store(zero(v.type), self.aside[place], 0)
        self.waiting.setdefault(place, {}).update({(offset, t): None for offset, t, _ in leaves})
        return self.aside[place]

    def settle(self, v: AnyValue | None = None) -> None:
        """Add what waits: for `v`, or for all values, at the end of a block."""
        self.use = FALSE  # it was noted before
        for place in [p for p in self.waiting if v is None or p[1] is v]:
            lane, of, paths = place
            before, self.lane = self.lane, lane
            taken = [self._taken(self.aside[place], o, t, getattr(of, "name", "x")) for o, t in self.waiting.pop(place)]
            self.add(of, [(o, t, self._if_chosen(paths, x)) for o, t, x in taken])
            self.lane = before
        self.use = None

    def _if_chosen(self, paths: Paths, x: AnyValue) -> AnyValue:
        """An adjoint where the conditions of one of the paths hold, else zero."""
        if len(paths) == 1:
            for c, side in paths[0]:
                x = self.b.select(self.get(c), *((x, zero(x.type)) if side else (zero(x.type), x)))
            return x
        total: AnyValue = zero(x.type)
        for path in paths:
            one = x
            for c, side in path:
                one = self.b.select(self.get(c), *((one, total) if side else (total, one)))
            total = one
        return total

    def add_active(self, v: AnyValue, leaves: list[Leaf]) -> None:
        """Add to the adjoint of `v`, if it has one."""
        if self.facts.active(v):
            self.add(v, leaves)

    def accumulate(self, address: AnyValue, t: Type, value: AnyValue, shadow: bool = False, align: int = 1) -> None:
        """Add to an adjoint: a stack cell, or `shadow` memory."""
        old = Load(t, address, align)
        self.b.insert(old)
        new = self.b.store(self.adjoint_op("fadd", old, value), address, align)
        if shadow:
            mark(self.module, old, "shadow")
            mark(self.module, new, "shadow")

    def _align(self, i: Load | Store, offset: int, shared: bool = False) -> int:
        """The alignment of a shadow: that of the primal on a GPU, where less is slow, and of what threads add to
        atomically; else none is asked for."""
        asked = shared or self.facts.device.any
        return 1 if not asked else min(i.align, offset & -offset) if offset else i.align

    def take_memory(self, address: AnyValue, t: Type, align: int = 1) -> AnyValue:
        """The adjoint in shadow memory, which is clear from now on."""
        old = Load(t, address, align)
        mark(self.module, old, "shadow")
        self.b.insert(old)
        mark(self.module, self.b.store(zero(t), address, align), "shadow")
        return old

    def adjoint_op(self, op: str, a: AnyValue, b: AnyValue) -> AnyValue:
        self.b.fast = frozenset() if self.request.strict else ADJOINT_FLAGS
        made = self.b.binary(op, a, b)
        self.b.fast = frozenset()
        return made

    @abstractmethod
    def collect(self, i: Load, leaf: Leaf) -> None:
        """Put the adjoint of a load into its column, to be added to shadow memory later (see
        `adjoint_columns_writer`)."""

    @abstractmethod
    def is_due(self, i: Instruction, k: int) -> bool:
        """Is the adjoint of operand `k` of a rule to be written here (see `deferred_adjoints`)?"""

    # --- instructions

    def instruction(self, i: Instruction) -> None:
        if i in self.plan.paired and not self.facts.unwinds:
            self.release_primal(i)
        elif i in self.plan.paired and not self.request.repeatable:
            self.b.call(tape.drop(self.module), [self.arena, self.lookup(("primal", i))])
        self.settle(i)
        self.cut, self.reversed = self.plan.cuts.get(i), i
        self._instruction(i)
        self.cut = self.use = self.reversed = None

    def _instruction(self, i: Instruction) -> None:
        match self.plan.effects.get(i):
            case Partials() as shape:
                values = RuleValues(self, i, shape)
                for _ in self.each_lane():
                    self.partials(i, values)
            case Linear():
                for _ in self.each_lane():
                    self.linear(i)
            case Memory(name):
                for _ in self.each_lane():
                    self.memory(i, name)
            case CallBody(callees):
                assert isinstance(i, Call)
                self.call_body(i, callees)
            case Allocate():
                self.unallocate(i)
            case Mirror() | Barrier() as shape:
                self.wait(i, shape)
            case Number():
                for _ in self.each_lane():
                    self.mark_number(i)

    def wait(self, i: Instruction, shape: Mirror | Barrier) -> None:
        """Wait for other threads, as the forward sweep did."""
        if isinstance(shape, Barrier):
            barrier(self.b, self.module, shape.name, i.operands[:-1])
            return
        given = [*i.operands[:-1], *([i] if i.type == I64 else [])]
        mirror(self.b, self.module, shape.name, [self.get(v) for v in given])

    def test_floats(self, leaves: list[Leaf]) -> None:
        """Fail where the adjoint of a float is what is handed back by those who took it for a number."""
        for _, t, adjoint in leaves:
            if isinstance(t, FloatType) and t.name in float_checks.MARKS:
                self.b.call(float_checks.test_float(self.module, t), [self.b.cast("bitcast", adjoint, IntType(t.bits))])

    def mark_number(self, i: Instruction) -> None:
        """What was taken for a number hands back a mark, if it was chosen. (Shadow pointers stay as they are.)"""
        taken = float_checks.if_chosen(self.b, i, self.get)
        for v, at, t in self.facts.marked.tested(i):
            wanted = const_int(IntType(t.bits), float_checks.MARKS[t.name])
            address = self.b.offset(self.where(v, t, self.nowhere), at) if isinstance(i, Load) else self.cell(v)
            old = Load(wanted.type, address, 1)
            self.b.insert(old)
            pointer = self.b.icmp(
                "ult", self.b.binary("sub", old, const_int(old.type, 1)), float_checks.last_address(t)
            )
            kept = self.b.binary("or", pointer, self.b.binary("xor", taken, TRUE))
            new = self.b.store(self.b.select(kept, old, wanted), address)
            for access in (old, new) if isinstance(i, Load) else ():
                mark(self.module, access, "shadow")

    def partials(self, i: Instruction, values: RuleValues) -> None:
        rule, seeds = values.shape.rule, self.seeds(i, values.shape)
        self.use = use = self.take_note(i, [*seeds.values()])
        for k, (v, lane) in enumerate(values.parts):
            if rule.operands[k] != "float" or not self.facts.active(v) or not self.is_due(i, k):
                continue
            total: AnyValue | None = None
            for r in range(len(rule.results)):
                partial, seed = rule.partials[r][k], seeds.get(r)
                if partial is None or seed is None:
                    continue
                self.use = use
                term = self.term((i, r, k), partial, seed, values)
                total = term if total is None else self.adjoint_op("fadd", total, term)
            if total is not None:
                size = self.facts.layout.size(total.type) if lane is not None else 0
                self.add(v, [(size * (lane or 0), total.type, total)])

    def term(
        self, place: tuple[Instruction, int, int], partial: Expr, seed: AnyValue, values: RuleValues
    ) -> AnyValue:
        """partial × seed; zero where the seed is for a reason that counts, whatever the partial.

        `place`: it is the partial of which instruction's which result by which operand.
        """
        if isinstance(partial, Const) and partial.value in (1, -1):
            return seed if partial.value == 1 else self.b.unary("fneg", seed)
        factor = self.factor(place, partial, seed.type, values)
        if is_choice(partial):
            self.use = self.where_taken(factor)
            return of_choice(self.b, partial, factor, seed)
        product = self.adjoint_op("fmul", factor, seed)
        return product if isinstance(partial, Const) else self.product(place[0], factor, seed, product)

    def factor(
        self, place: tuple[Instruction, int, int], partial: Expr, t: Type, values: RuleValues
    ) -> AnyValue:
        """The value of a partial derivative, of type `t`."""
        return evaluate(partial, values.operands, values.results, EmitAlgebra(self.b, self.module, t), values.memo)

    def seeds(self, i: Instruction, shape: Partials) -> dict[int, AnyValue]:
        """The adjoint of each float result of a rule; output memory is cleared."""
        found: dict[int, AnyValue] = {}
        leaves = self.take(i) if self.facts.active(i) else []
        for r, out in enumerate(shape.rule.results):
            if isinstance(out.place, int):
                target = i.operands[out.place]
                if out.kind == "float" and self.facts.shadowed(target):
                    t = self.facts.rule_result_type(i, out)
                    address = self.where(target, t, self.zeros)
                    found[r] = self.take_memory(address, t)
            elif out.kind == "float" and leaves:
                if out.field is None:
                    found[r] = leaves[0][2]
                elif isinstance(i.type, StructType):
                    offset = self.facts.layout.offsets(i.type)[out.field]
                    found[r] = next(value for o, _, value in leaves if o == offset)
                else:
                    found[r] = self.b.extract_element(leaves[0][2], out.field)
        return found

    def part(self, v: AnyValue, lane: int | None) -> AnyValue:
        return v if lane is None else self.b.extract_element(v, lane)

    def result(self, i: Instruction, r: int, place: str | int, field: int | None) -> AnyValue:
        if isinstance(place, int):
            return self.lookup(("result", (i, r)))
        whole = self.get(i)
        if field is None:
            return whole
        return self.b.extract(whole, field) if isinstance(i.type, StructType) else self.b.extract_element(whole, field)

    def linear(self, i: Instruction) -> None:
        """Hand the adjoint of `i` on to what its value came from."""
        if isinstance(i, Phi):
            return
        self.use = self._use_of_linear(i)
        found = moves(i, self.facts.layout)
        if found is not None:
            leaves = self.take(i)
            if isinstance(i, Cast) and self.facts.marked.is_sure_float(i.value):
                self.test_floats(leaves)
            self._move_back(found, leaves)
            return
        match i:
            case InsertElement(vector=whole, value=v, index=n):
                place = self.b.gep(v.type, self.cell(i), [self.get(n)])
                own = [self._taken(place, o, t, i.name) for o, t in self._lane_parts(i, v.type)]
                self.add_active(v, own)
                self.add_active(whole, self.take(i))
            case ExtractElement(vector=v, index=n):
                place = self.b.gep(i.type, self.cell(v), [self.get(n)])
                for offset, t, value in self.take(i):
                    self.accumulate(self.b.offset(place, offset), t, value)
            case Select(condition=c, if_true=a, if_false=b):
                condition, leaves, use = self.get(c), self.take(i), self.use
                for v, yes in ((a, True), (b, False)):
                    if v in self.plan.unused.tracked:
                        self.use = self.where_chosen(use, condition, yes, i.type)
                    self.add_active(v, [(x[0], x[1], self._where(condition, i.type, x, yes)) for x in leaves])
            case Cast(opcode="fpext" | "fptrunc" as op, value=v):
                back = "fptrunc" if op == "fpext" else "fpext"
                self.add(v, [(0, v.type, self.b.cast(back, x, v.type)) for _, _, x in self.take(i)])
            case _:
                raise AssertionError(i.opcode)

    def _use_of_linear(self, i: Instruction) -> AnyValue | None:
        """Is it used? (See `used`.)"""
        looks = i in self.plan.unused.candidates and is_float(i.type) and summed(i.type) == i.type
        return self.take_note(i, [self.sum(i)] if looks and i not in self.plan.unused.tracked else [])

    def _move_back(self, found: Moves, leaves: list[Leaf]) -> None:
        """The reverse of moving bits about: each window's adjoints go back to where its bytes came from."""
        for w in found.windows:
            if not self.facts.active(w.source):
                continue
            lanes = not is_float(w.source.type)
            inside = [leaf for whole in leaves for leaf in self._cut(whole, w.to, w.to + w.size, lanes)]
            back = [(o - w.to + w.at, t, x) for o, t, x in inside]
            self.add(w.source, [leaf for leaf in back if self.facts.holds_float(w.source, leaf[0], leaf[1])])

    def _cut(self, leaf: Leaf, start: int, end: int, lanes: bool) -> list[Leaf]:
        """The part of a leaf in bytes [start, end): itself (its `lanes` one by one), some lanes, or nothing."""
        offset, t, value = leaf
        size = self.facts.layout.size(t)
        if start <= offset and offset + size <= end and not (lanes and isinstance(t, VectorType)):
            return [leaf]
        if not isinstance(t, VectorType) or offset >= end or offset + size <= start:
            return []
        lane = self.facts.layout.size(t.element)
        places = [(n, offset + n * lane) for n in range(t.count)]
        return [(o, t.element, self.b.extract_element(value, n)) for n, o in places if start <= o and o + lane <= end]

    def _lane_parts(self, i: Instruction, lane: Type) -> list[tuple[int, Type]]:
        """The floats in one lane of a vector whose lanes all hold the same."""
        if is_float(lane):
            return [(0, lane)]
        size = self.facts.layout.size(lane)
        return [(o, t) for o, t in self.facts.float_parts(i) if o < size]

    def _where(self, condition: AnyValue, whole: Type, leaf: Leaf, yes: bool) -> AnyValue:
        """The leaf's adjoint where the condition (or that of its lane) is as `yes` says, else zero."""
        offset, t, x = leaf
        if isinstance(condition.type, VectorType) and not isinstance(t, VectorType):
            assert isinstance(whole, VectorType)
            condition = self.b.extract_element(condition, offset // self.facts.layout.size(whole.element))
        return self.b.select(condition, x, zero(t)) if yes else self.b.select(condition, zero(t), x)

    # --- memory

    def where(self, p: AnyValue, type: Type, other: dict[Type, AnyValue]) -> AnyValue:
        """The adjoint of a `type` that `p` points to; the cell in `other` if that turns out to be constant memory."""
        if not self.facts.may_be_constant(p):
            return self.get_shadow(p)
        if type not in other:
            other[type] = self.cells.alloca(type, "nowhere" if other is self.nowhere else "zeros")
            self.cells.store(zero(type), other[type])
        return self.b.select(self.is_constant(p), other[type], self.get_shadow(p))

    def is_constant(self, p: AnyValue) -> AnyValue:
        """Does `p` point to constant memory?"""
        return self.b.icmp("eq", self.get(p), self.get_shadow(p)) if self.facts.may_be_constant(p) else FALSE

    def memory(self, i: Instruction, name: str) -> None:
        match i:
            case Load(pointer=p):
                self.use = self.take_note(i)
                self.note(p)
                leaves = self.take(i)
                if self.cut is not None:
                    leaves = [(o, t, self._if_chosen(self.cut.paths, x)) for o, t, x in leaves]
                if leaves and i in self.columns:
                    self.collect(i, leaves[0])
                elif leaves:
                    shadow = self.where(p, i.type, self.nowhere)
                    shared = self.facts.adds_with_others(i, p)
                    for offset, t, value in leaves:
                        place, align = self.b.offset(shadow, offset), self._align(i, offset, shared)
                        if shared:
                            add_atomically(self.b, place, t, value, align, self.facts.span(i))
                        else:
                            self.accumulate(place, t, value, shadow=True, align=align)
            case Store(value=v, pointer=p):
                self.store(i, v, p)
            case Call():
                self.copy(i, name)
            case Other(operands=[p, v]):  # an atomic addition: memory keeps its adjoint
                t = v.type
                found = self.b.load(t, self.where(p, t, self.zeros), "", self.facts.layout.align(t))
                self.add_active(v, [(0, t, found)])

    def store(self, i: Store, v: AnyValue, p: AnyValue) -> None:
        """Take the adjoint out of memory: what was there before the store does not influence what comes after."""
        leaves: list[Leaf] = []
        self.use = self.cleared(p)
        for offset, t in self.facts.float_leaves(i):
            address = self.b.offset(self.where(p, v.type, self.zeros), offset)
            taken = self.take_memory(address, t, self._align(i, offset))
            leaves.append((offset, t, taken))
        if self.facts.marked.is_sure_float(v) and self.facts.marked.may_be_written(i):
            self.test_floats(leaves)
        if leaves and self.facts.active(v):
            self.note_given(i, v, leaves[0][2])
            self.add(v, leaves)
        if (place := self.facts.marked.part_overwritten(i)) is not None:
            at, t = place
            address = self.b.offset(self.where(p, t, self.nowhere), at)
            old = Load(IntType(t.bits), address, 1)
            mark(self.module, self.b.insert(old), "shadow")
            mark(self.module, self.b.store(float_checks.torn_adjoint(self.b, t, old), address), "shadow")
        elif not leaves and self.facts.marked.hides_float(i):  # floats made of these bits have no derivative
            self.b.store(zero(v.type), self.where(p, v.type, self.nowhere))
        if self.facts.over_floats(i):
            for offset, t in self.facts.pointer_leaves(i):
                address = self.b.offset(self.where(p, v.type, self.nowhere), offset)
                mark(self.module, self.b.store(zero(t), address), "shadow")

    def copy(self, i: Call, name: str) -> None:
        if i in allocated(self.facts).copies:
            return
        target, length = self.get_shadow(i.arguments[0]), self.get(i.arguments[2])
        if length.type != I64:
            length = self.b.cast("zext", length, I64)
        length = self._if(self.is_constant(i.arguments[0]), i64(0), length)
        if name == "memset":
            if self.facts.clears_shadow(i):
                self._clear(target, length)
            return
        if self.facts.is_text(i):
            self._clear(target, length)
            return
        layout = self.facts.copied(i)
        constant = self.is_constant(i.arguments[1]) if self.facts.shadowed(i.arguments[1]) else TRUE
        clear, move = helpers.float_clear(self.module, layout) if constant is not FALSE else None, None
        if clear is not None:
            self.b.call(clear, [target, self._if(constant, length, i64(0))])
        if constant is not TRUE:
            move = helpers.float_copy_adjoint(self.module, layout, overlap=name == "memmove")
        if move is not None:
            given = [target, self.get_shadow(i.arguments[1]), self._if(constant, i64(0), length)]
            self.b.call(move, [self.arena, *given] if name == "memmove" else given)
        if self.facts.over_floats(i) and (clear := helpers.pointer_clear(self.module, layout)) is not None:
            self.b.call(clear, [target, length])

    def _if(self, condition: AnyValue, a: AnyValue, b: AnyValue) -> AnyValue:
        return a if condition is TRUE else b if condition is FALSE else self.b.select(condition, a, b)

    def _clear(self, pointer: AnyValue, length: AnyValue) -> None:
        memset = declare(self.module, "llvm.memset.p0.i64", VOID, [PTR, I8, I64, I1])
        self.b.call(memset, [pointer, const_int(I8, 0), length, FALSE])

    def unallocate(self, i: Instruction) -> None:
        if self.request.repeatable:
            self._clear_shadows(i)
        elif reserves(i):
            self.b.call(tape.release(self.module), [self.arena, self.lookup(("primal", i))])
        elif i in allocated(self.facts).shared:
            return
        elif i in allocated(self.facts).shadows:
            if i in allocated(self.facts).whole:
                block = self.lookup(("primal", i))
            else:
                block = [self.lookup(("shadow", i)) for _ in self.each_lane()][0]
            tape.own(self.b.call(tape.release(self.module), [self.arena, block]))
        elif i in self.plan.paired or not self.facts.escapes(i):
            for _ in self.each_lane():
                if not self.facts.unwinds:
                    self._free(i, self.lookup(("shadow", i)))
                elif self.lane == 0 and i not in self.plan.paired:
                    self.b.call(tape.drop(self.module), [self.arena, self.lookup(("shadow", i))])

    def _clear_shadows(self, i: Instruction) -> None:
        """Instead of releasing them: the reverse sweep may be run again."""
        left = not isinstance(i, Alloca) and i not in self.plan.paired and self.facts.escapes(i)
        if left or not self.facts.shadowed(i):
            return
        unit = self.facts.layout.alloc_size(i.allocated_type) if isinstance(i, Alloca) else 1
        size: AnyValue = i64(unit)
        for v in (self.get(v) for v in sizes(self.facts, i)):
            size = self.b.binary("mul", size, v if v.type == I64 else self.b.cast("zext", v, I64))
        if not reserves(i):
            for _ in self.each_lane():
                self._clear(self.lookup(("shadow", i)), size)
            return
        size = self.b.binary("and", self.b.binary("add", size, i64(63)), i64(-64))
        shadows = self.b.offset(self.lookup(("primal", i)), size)
        self._clear(shadows, self.b.binary("mul", size, i64(self.width)))

    def release_primal(self, i: Instruction) -> None:
        """The mirror of an allocation whose release was postponed to here."""
        if self.request.repeatable:
            return
        self._free(i, self.lookup(("primal", i)))

    def _free(self, i: Instruction, pointer: AnyValue) -> None:
        assert isinstance(i, Call)
        known = self.facts.effects(i)
        assert known is not None and known.allocator is not None
        self.b.call(declare(self.module, shadow_deallocator(known.allocator), VOID, [PTR]), [pointer])

    # --- calls

    def call_body(self, i: Call, functions: tuple[Function, ...]) -> None:
        indirect = i.called_function is None
        given = not self.facts.active(i) or i in self.plan.unused.given[self.request.made]
        request, derivative = self.callee(functions, indirect, not given)
        arguments: list[AnyValue] = [self.get(i.callee), self.arena] if indirect else [self.arena]
        for v, act in zip(i.arguments, request.arguments, strict=True):
            arguments.append(self.get(v))
            if act in (Act.DUP, Act.DUPNONEED):
                pick = self.get if self.facts.shadow_is_primal(i, v) else self.get_shadow
                arguments += [pick(v) for _ in self.each_lane()]
        if request.result.seeded:
            arguments += [self._whole(i) for _ in self.each_lane()]
        arguments.append(self.lookup(("frame", i)))
        used = self._used_call(i)
        if used is not None and not given:
            _, other = self.callee(functions, indirect, False)
            derivative, arguments = either(self.module, derivative, other), [used, *arguments]
        made = self.b.call(derivative, arguments, f"{i.name}.rev")
        use = used if not self.facts.memory.writes(i) else None
        n = 0
        note = self.width * sum(act is Act.OUT for act in request.arguments)
        for v, act in zip(i.arguments, request.arguments, strict=True):
            told = request.notes and isinstance(v.type, FloatType)
            for _ in self.each_lane() if act is Act.OUT else ():
                if self.facts.active(v):
                    self.use, adjoint = use, self.b.extract(made, n)
                    self.note_given(i, v, adjoint)
                    if told and v in self.plan.unused.tracked:
                        used_there = self.b.extract(made, note)
                        self.use = used_there if self.use is None else self.b.binary("and", self.use, used_there)
                    self.add_whole(v, adjoint)
                n, note = n + 1, note + told

    def _used_call(self, i: Call) -> AnyValue | None:
        """Is the result used in one of the lanes? None: yes."""
        notes = [self.take_note(i) for _ in self.each_lane()]
        used = notes[0]
        for note in notes[1:]:
            used = self.b.binary("or", used, note) if used is not None and note is not None else None
        return used if used is None or used.type == I1 else None

    def _whole(self, i: Call) -> AnyValue:
        """The adjoint of a call's result as one value."""
        if not self.facts.active(i):
            return zero(i.type)
        whole = self.sum(i)
        self.b.store(zero(summed(i.type)), self.cell(i))
        return whole

    def add_whole(self, v: AnyValue, whole: AnyValue) -> None:
        """Add an adjoint that is one value of the type of `v`, taken apart into the floats that `v` holds."""
        parts = self.facts.float_parts(v)
        if parts == [(0, whole.type)]:
            self.add(v, [(0, whole.type, whole)])
            return
        cell = self.cells.alloca(whole.type, "parts")
        self.b.store(whole, cell, 0)
        self.add(v, [(o, t, self.b.load(t, self.b.offset(cell, o))) for o, t in parts])


class RuleValues:
    """What is primal in the derivative of a rule, written once for all lanes, when it is first asked for."""

    def __init__(self, sweep: Adjoints, i: Instruction, shape: Partials) -> None:
        self.shape, self.parts = shape, operand_parts(i, shape.rule, shape.entry)
        results = shape.rule.results
        self.operands = Lazy(len(self.parts), lambda n: sweep.part(sweep.get(self.parts[n][0]), self.parts[n][1]))
        self.results = Lazy(len(results), lambda r: sweep.result(i, r, results[r].place, results[r].field))
        self.memo: dict[Expr, AnyValue] = {}
