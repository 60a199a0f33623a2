"""The forward sweep of reverse mode: the primal function, which leaves on the tape what the plan keeps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from msgspec.structs import replace

from llgrad.analysis.cfg.flow import Loop
from llgrad.analysis.memory.call_effects import tape_call
from llgrad.autodiff.emit import alias_scopes, helpers, tape
from llgrad.autodiff.emit.alias_scopes import mark
from llgrad.autodiff.emit.sized_release import noted, released
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import Allocate, CallBody, Free, Key, Memory, Partials, reserves
from llgrad.autodiff.plan.plan import CHUNK, Guard, Nest, Plan, Slot
from llgrad.autodiff.recipes.early_frees import at_once
from llgrad.autodiff.recipes.tape_allocations import allocated
from llgrad.autodiff.requests.request import Act, Callee, Request
from llgrad.autodiff.shadows.lost_adjoint_check import watched
from llgrad.autodiff.sweeps.deferred_results import Late
from llgrad.autodiff.sweeps.primal_copy import Sweep
from llgrad.ir.build import FALSE, TRUE, Builder, const_int, declare, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import I8, I64, PTR, VOID, ArrayType, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Block,
    Call,
    ConstNull,
    Function,
    Instruction,
    MDRef,
    Phi,
    Return,
    Store,
    Undef,
)
from llgrad.models.effects import deallocator_of, shadow_deallocator

CHUNK_HEADER = 64
MARK_BYTES = 8  # of a block that keeps nothing: what calls that threw have left on the tape goes with it


class Layout:
    """Where the slots of a plan lie: frame offsets, and column offsets of each nest, for either sweep to compute.

    The slot of a shadow holds one value a lane.
    """

    def __init__(self, facts: Facts, plan: Plan, request: Request) -> None:
        self.facts, self.plan, self.width = facts, plan, request.width
        self.sweeps = f"{request.function} {' '.join(request.arguments)} {request.result} {request.width}"
        self.numbers = {key: n for n, key in enumerate(plan.kept)}
        self.frame: dict[Key, int] = {}
        offset = 0
        for slot in plan.frame:
            size = facts.layout.alloc_size(self.type(slot))
            offset = -(-offset // min(size or 1, 16)) * min(size or 1, 16)
            offset = -(-offset // 8) * 8 if size >= 8 else offset
            self.frame[slot.key] = offset
            offset += size
        self.frame_bytes = offset or (MARK_BYTES if plan.catches else 0)
        self.nests = {slot.key: nest for nest in plan.nests.values() for slot in nest.slots}
        self.longer = {("primal", phi) for phi in plan.handed.values()}  # columns with one element more

    def type(self, slot: Slot) -> Type:
        """What one slot holds."""
        return ArrayType(slot.type, self.width) if self.width > 1 and slot.key[0] == "shadow" else slot.type

    def size(self, slot: Slot) -> int:
        return self.facts.layout.alloc_size(self.type(slot))

    def in_lane(self, b: Builder, slot: Slot, address: AnyValue, lane: int) -> AnyValue:
        """Where the value of one lane is, in the slot at `address`."""
        return b.offset(address, lane * self.facts.layout.alloc_size(slot.type) if slot.key[0] == "shadow" else 0)

    def columns(
        self, b: Builder, nest: Nest, trips: Callable[[Loop], AnyValue]
    ) -> tuple[dict[Key, AnyValue], AnyValue]:
        """Byte offset of each column in the nest's block, and the block's size, as values."""
        if nest.chunked:
            offsets: dict[Key, AnyValue] = {}
            at = CHUNK_HEADER
            for slot in nest.slots:
                offsets[slot.key] = i64(at)
                at += -(-self.size(slot) * (CHUNK + (slot.key in self.longer)) // 64) * 64
            return offsets, i64(at)
        offsets, total = {}, None
        products: dict[tuple[tuple[Loop, ...], bool], AnyValue] = {}
        for slot in nest.slots:
            counted = nest.counted(slot)
            kind = tuple(counted), slot.key in self.longer
            if kind not in products:
                n = self._elements(b, slot, counted[0], trips)
                for inner in counted[1:]:
                    n = b.binary("mul", n, self._elements(b, slot, inner, trips))
                products[kind] = n
            size = b.binary("mul", products[kind], i64(self.size(slot)))
            size = b.binary("and", b.binary("add", size, i64(63)), i64(-64))
            offsets[slot.key] = i64(0) if total is None else total
            total = size if total is None else b.binary("add", total, size)
        assert total is not None
        return offsets, total

    def _elements(self, b: Builder, slot: Slot, loop: Loop, trips: Callable[[Loop], AnyValue]) -> AnyValue:
        """Of a column, for the iterations of `loop`."""
        n = trips(loop)
        return b.binary("add", n, i64(1)) if loop is slot.loop and slot.key in self.longer else n

    def column(self, b: Builder, block: AnyValue, key: Key, offset: AnyValue, name: str = "") -> AnyValue:
        """The start of a column in its nest's block."""
        return tape.column(b, self.facts.module, block, offset, self._number(key), name)

    def in_frame(self, b: Builder, frame: AnyValue) -> dict[Key, AnyValue]:
        """The place of each slot in the frame, which is one column; of integers, a column of one."""
        own = tape.column(b, self.facts.module, frame, i64(0), tape.number(self.sweeps, -1))
        found: dict[Key, AnyValue] = {}
        for key, offset in self.frame.items():
            name = f"{_of(key)}.tape"
            if self._is_integer(self.plan.kept[key]):
                found[key] = tape.column(b, self.facts.module, frame, i64(offset), self._number(key), name)
            else:
                found[key] = b.offset(own, offset, name)
        return found

    def _number(self, key: Key) -> int:
        """The number of a column: see `tape`."""
        slot = self.plan.kept[key]
        number = tape.number(self.sweeps, self.numbers[key])
        return number + (tape.INTEGERS * self.size(slot) if self._is_integer(slot) else 0)

    def _is_integer(self, slot: Slot) -> bool:
        kind, of = slot.key
        return kind in ("choice", "count") or (kind == "primal" and self.facts.is_integer(of))

    def element(
        self,
        b: Builder,
        slot: Slot,
        column: AnyValue,
        index: Callable[[Loop], AnyValue],
        trips: Callable[[Loop], AnyValue],
        next: bool = False,
    ) -> AnyValue:
        """Address of the slot's element for the current iteration, or of the one behind it."""
        nest = self.nests[slot.key]
        if nest.chunked:
            n: AnyValue = b.binary("and", index(nest.root), i64(CHUNK - 1))
        else:
            outermost, *more = nest.counted(slot)
            n = index(outermost)
            for inner in more:
                n = b.binary("add", b.binary("mul", n, self._elements(b, slot, inner, trips)), index(inner))
        n = b.binary("add", n, i64(1)) if next else n
        return b.gep(self.type(slot), column, [n], flags=("inbounds",))


def guarded(b: Builder, guard: Guard, value: Callable[[AnyValue], AnyValue], trips: AnyValue) -> AnyValue:
    """The iterations of a loop that may not be entered; `value` gives the conditions as they are here."""
    for condition, when in guard.tests:
        held = value(condition)
        trips = b.select(held, trips, i64(0)) if when else b.select(held, i64(0), trips)
    return trips


class RecordingSweep(Sweep):
    """Writes the forward sweep into `target`, whose first parameter is the arena."""

    def __init__(
        self, facts: Facts, module: Module, source: Function, target: Function, request: Request, plan: Plan
    ) -> None:
        super().__init__(facts, module, source, target, request)
        self.plan = plan
        self.layout = Layout(facts, plan, request)
        self.arena = target.arguments[0]
        self.index: dict[Loop, Phi] = {}
        self.index_next: dict[Loop, AnyValue] = {}
        self.chunk: dict[Loop, Phi] = {}
        self.chunk_now: dict[Loop, AnyValue] = {}
        self.column: dict[Key, AnyValue] = {}
        self.scopes: dict[Hashable, dict[str, MDRef]] = {}  # of columns
        self.trip: dict[
            tuple[Loop, Loop], AnyValue
        ] = {}  # (nest root, loop) -> iterations, computed at the root's preheader
        self.choice: dict[Block, Phi] = {}
        self.frame: AnyValue | None = None
        self.slots: dict[Key, AnyValue] = {}  # frame slots
        self.skipped, self.checked, self.idle = plan.skipped, plan.checked, plan.idle
        self.late = Late(self, plan) if plan.fused else None
        self.after: Block | None = None  # combined: where control goes instead of returning
        self.returned: AnyValue | None = None
        self.held: dict[AnyValue, AnyValue] = {}  # allocations whose release is their mirror's: where they are held

    def write(self, callee: Callee) -> None:
        self.callee = callee
        self.bind_arguments(self.request.arguments, 1)
        self.b.at_end(self.stack.block)
        self._reserve_frame()
        self.copy_blocks()
        self._complete_own_phis()

    # --- fused loops are left out

    def copied(self) -> Sequence[Block]:
        return [b for b in self.flow.order if b not in self.skipped]

    def make_blocks(self, order: Sequence[Block]) -> None:
        super().make_blocks(order)
        for block, loop in self.skipped.items():
            assert loop.preheader is not None
            self.blocks[block] = self.blocks[loop.preheader]

    def new_targets(self, i: Instruction) -> list[Block]:
        targets = super().new_targets(i)
        for n, t in enumerate(i.targets):
            if t in self.skipped:
                targets[n] = self.blocks[self.plan.fused[self.skipped[t]].exit]
        return targets

    def close(self) -> None:
        """Nothing more goes onto the stack: enter the function."""
        self.stack.branch(self.blocks[self.source.entry])

    def _reserve_frame(self) -> None:
        if not self.plan.split:
            for slot in self.plan.frame:
                self.slots[slot.key] = self.b.alloca(self.layout.type(slot), f"{_of(slot.key)}.tape")
            if self.plan.catches:
                self.frame = self.b.call(tape.reserve(self.module), [self.arena, i64(MARK_BYTES)], "mark")
        elif self.layout.frame_bytes:
            self.frame = self.b.call(tape.reserve(self.module), [self.arena, i64(self.layout.frame_bytes)], "frame")
            self.slots |= self.layout.in_frame(self.b, self.frame)

    # --- loops and choices

    def more_phis(self, block: Block) -> None:
        if block in self.checked:
            return
        if ("choice", block) in self.plan.kept:
            self.choice[block] = self.b.phi(I8, name=f"{block.name}.from")
        loop = self.flow.loop_of(block)
        if loop is not None and loop.header is block and loop in self.plan.loops:
            self.index[loop] = self.b.phi(I64, name=f"{block.name}.i")
            nest = self.plan.nests.get(loop)
            if nest is not None and nest.chunked:
                self.chunk[loop] = self.b.phi(PTR, name=f"{block.name}.chunk")

    def after_phis(self, block: Block) -> None:
        if block in self.checked:
            return
        loop = self.flow.loop_of(block)
        if loop in self.chunk and loop is not None and loop.header is block:
            self._open_chunk(self.plan.nests[loop])
        if block in self.choice:
            self.keep(("choice", block), self.choice[block])
        self._keep_at_exits(block)
        for phi in block.phis():
            self.keep_value(phi)
        if self.late is not None:
            self.late.reached(block)

    def _open_chunk(self, nest: Nest) -> None:
        """One more iteration: the current chunk, or in every CHUNK-th iteration a new one."""
        loop = nest.root
        columns, size = self.layout.columns(self.b, nest, self.trips)
        now = self.b.call(
            helpers.function(self.module, "llgrad.tape.chunk"), [self.arena, self.chunk[loop], self.index[loop], size]
        )
        self.chunk_now[loop] = now
        for key, offset in columns.items():
            self.column[key] = self.layout.column(self.b, now, key, offset)

    def _keep_at_exits(self, block: Block) -> None:
        for loop in self.plan.loops:
            if loop in self.index and any(x is block for _, x in loop.exits):
                if ("count", loop) in self.plan.kept:
                    self.keep(("count", loop), self.index[loop])
                if loop in self.chunk_now:
                    self.keep(("block", loop), self.chunk_now[loop])

    def before_terminator(self, block: Block) -> None:
        if block in self.checked:
            return
        for loop, nest in self.plan.nests.items():
            if loop.preheader is block and not nest.chunked:
                columns, size = self.layout.columns(self.b, nest, lambda x, r=loop: self._trips_at(r, x))  # type: ignore[misc]
                made = self.b.call(tape.reserve(self.module), [self.arena, size], f"{loop.header.name}.block")
                self.scopes |= alias_scopes.columns(self.module, self.b, [slot.key for slot in nest.slots])
                self.keep(("block", loop), made)
                for key, offset in columns.items():
                    self.column[key] = self.layout.column(self.b, made, key, offset, f"{_of(key)}.column")
        for loop in self.plan.loops:
            if (
                loop.preheader is block
                and ("count", loop) in self.plan.kept
                and self.facts.loop(self.source, loop).count is not None
            ):
                count = self.facts.loop(self.source, loop).count
                assert count is not None
                self.keep(("count", loop), count.emit(self.b, [self.value(v) for v in count.operands]))
        for phi in dict.fromkeys(self.plan.handed.values()):
            self._hand_to_first(phi, block)
        loop_ = self.flow.loop_of(block)
        if loop_ is not None and loop_.latch is block and loop_ in self.index:
            index = self.index[loop_]
            self.index_next[loop_] = self.b.binary("add", index, i64(1), f"{index.name}.next")

    def _trips_at(self, root: Loop, loop: Loop) -> AnyValue:
        """Iterations of `loop`, computed at the preheader of `root`."""
        if (root, loop) not in self.trip:
            count = self.facts.loop(self.source, loop).count
            assert count is not None
            taken = count.emit(self.b, [self.value(v) for v in count.operands])
            trips = self.b.binary("add", taken, i64(1), f"{loop.header.name}.trips")
            guard = self.plan.guards.get(loop) if loop is not root else None
            if guard is not None:
                trips = guarded(self.b, guard, self.value, trips)
            self.trip[root, loop] = trips
        return self.trip[root, loop]

    def trips(self, loop: Loop) -> AnyValue:
        raise AssertionError("chunks do not ask for iteration counts")

    def _complete_own_phis(self) -> None:
        for loop, phi in self.index.items():
            assert loop.preheader is not None
            phi.add(i64(0), self.blocks[loop.preheader])
            if loop in self.index_next and loop.latch is not None:
                phi.add(self.index_next[loop], self.exit_of(loop.latch, loop.header))
        for loop, phi in self.chunk.items():
            assert loop.preheader is not None
            phi.add(_null(), self.blocks[loop.preheader])
            if loop in self.index_next and loop.latch is not None:
                phi.add(self.chunk_now[loop], self.exit_of(loop.latch, loop.header))
        if self.late is not None:
            self.late.complete()
        for block, phi in self.choice.items():
            for n, p in enumerate(self.flow.predecessors[block]):
                ways = 0 if (p, block) in self.dropped else p.terminator.targets.count(block)
                for _ in range(ways):  # a switch may reach it in several cases
                    phi.add(const_int(I8, n), self.exit_of(p, block))
            self.prune(phi)

    # --- keeping

    def keep(self, key: Key, value: AnyValue) -> None:
        """Store `value` in its slot, if the plan keeps it."""
        slot = self.plan.kept.get(key)
        if slot is None:
            return
        if slot.loop is None:
            place = self.layout.in_lane(self.b, slot, self.slots[key], self.lane)
            self.b.store(value, place, 1 if self.plan.split else 0)
            return
        if key not in self.layout.longer or self.layout.nests[key].chunked:
            self._into_column(slot, value, self.index.__getitem__)

    def _into_column(
        self, slot: Slot, value: AnyValue, index: Callable[[Loop], AnyValue], next: bool = False
    ) -> None:
        root = self.layout.nests[slot.key].root
        address = self.layout.element(
            self.b, slot, self.column[slot.key], index, lambda x: self.trip[root, x], next
        )
        address = self.layout.in_lane(self.b, slot, address, self.lane)
        stored = self.b.store(value, address)
        mark(self.module, stored, "tape")
        if slot.key in self.scopes:
            alias_scopes.mark_column(self.module, stored, self.scopes[slot.key])

    def _hand_to_first(self, phi: Phi, block: Block) -> None:
        """Where `phi` has a longer column, its first element is stored before the loop, and the others handed on.

        In chunks each iteration stores its own element as well.
        """
        slot = self.plan.kept["primal", phi]
        assert slot.loop is not None
        if slot.loop.preheader is block and not self.layout.nests[slot.key].chunked:
            start = self.value(phi.incoming_from(block))
            self._into_column(slot, start, lambda x: i64(0) if x is slot.loop else self.index[x])

    def keep_value(self, i: Instruction) -> None:
        if i in self.values:
            self.keep(("primal", i), self.values[i])
            if i in self.plan.handed:
                slot = self.plan.kept["primal", self.plan.handed[i]]
                self._into_column(slot, self.values[i], self.index.__getitem__, next=True)
        for _ in self.each_lane():
            if i in self.shadows:
                self.keep(("shadow", i), self.shadows[i])

    # --- instructions

    def instruction(self, i: Instruction) -> None:
        if self._is_apart(i):
            return
        match self.plan.effects.get(i):
            case CallBody(callees):
                assert isinstance(i, Call)
                self.call_body(i, callees)
            case Free():
                self.free(i)
            case Allocate():
                self.allocate(i)
            case Memory(name) if name in ("memcpy", "memmove"):
                super().instruction(i)
                self.copy_shadow_pointers(i)
            case Partials(rule, entry) if entry is not None:
                super().instruction(i)
                for k, out in enumerate(rule.results):
                    if isinstance(out.place, int) and ("result", (i, k)) in self.plan.kept:
                        t = self.facts.rule_result_type(i, out)
                        self.keep(("result", (i, k)), self.b.load(t, self.value(i.operands[out.place])))
            case _ if isinstance(i, Return) and self.plan.last is not None:
                self.leave(i)
                return
            case _:
                super().instruction(i)
                self.hold(i)
        if isinstance(i, Store):
            self.store_shadow_pointers(i)
        if not isinstance(i, Phi):
            self.keep_value(i)

    def _is_apart(self, i: Instruction) -> bool:
        """Has `i` been dealt with: as what waits, as bookkeeping, or as what leads to no reverse sweep?

        Of a fused loop that may end the program only that is run which decides whether it does."""
        if i.block in self.checked:
            if i in self.checked[i.block]:
                self.copy(i)
            return True
        if i in self.idle or self._waits(i) or (isinstance(i, Call) and self.bookkeeping(i)):
            return True
        if i in allocated(self.facts).releases:
            return True
        if self.flow.reaches_return(i.block):
            return False
        self.copy(i)  # on the way to an abort or out by a throw: nobody asks for shadows
        return True

    def _waits(self, i: Instruction) -> bool:
        """Is this late? Then its operands are put aside."""
        if self.late is None or i not in self.late.instructions:
            return False
        self.late.capture(i)
        return True

    def make_shadow(self, i: Instruction) -> None:
        if isinstance(i.type, PointerType) or self.facts.carries_pointer(i):
            super().make_shadow(i)

    def call_body(self, i: Call, functions: tuple[Function, ...]) -> None:
        indirect = i.called_function is None
        request, derivative = self.callee(functions, indirect)
        arguments: list[AnyValue] = [self.value(i.callee), self.arena] if indirect else [self.arena]
        for v, act in zip(i.arguments, request.arguments, strict=True):
            arguments.append(self.value(v))
            if act in (Act.DUP, Act.DUPNONEED):
                pick = self.value if self.facts.shadow_is_primal(i, v) else self.shadow
                arguments += [pick(v) for _ in self.each_lane()]
        made = self.call_derivative(i, derivative, arguments, f"{i.name}.aug")
        self.keep(("frame", i), self.b.extract(made, 0, name=f"{i.name}.frame"))
        if i.type != VOID:
            self.values[i] = self.b.extract(made, 1, name=i.name)
            if request.result.shadowed:
                for lane in self.each_lane():
                    self.shadows[i] = self.b.extract(made, 2 + lane, name=f"{i.name}.shadow")

    def allocate(self, i: Instruction) -> None:
        """On the tape: memory with its shadow, or the shadow alone of what the forward sweep itself releases."""
        if isinstance(i, Alloca):
            self.reserve(i, self.alloca_bytes(i), self.arena)
            return
        assert isinstance(i, Call)
        if (copy := allocated(self.facts).shared.get(i)) is not None:
            self.copy(i)
            for _ in self.each_lane():
                self.shadows[i] = self.shadow(copy.arguments[1])
            self.hold(i)
            return
        if i not in allocated(self.facts).shadows:
            super().instruction(i)
            self.hold(i)
            return
        known = self.facts.effects(i)
        assert known is not None and known.allocator is not None
        size = self.allocated_bytes(i, known.allocator)
        if i not in allocated(self.facts).whole:
            self.copy(i)
            tape.own(self.reserve_shadows(i, size, self.arena))
            self.hold(i)
            return
        tape.own(self.reserve(i, size, self.arena))
        if known.allocator.zeroed:
            self.clear(self.values[i], size)

    def free(self, i: Instruction) -> None:
        """Postpone: to the mirror of the allocation where the two are paired, else to the end. (Or not:
        `early_frees`.)"""
        assert isinstance(i, Call)
        known = self.facts.effects(i)
        assert known is not None and known.deallocator is not None
        sized, freed = known.deallocator.sized, i.arguments[known.deallocator.pointer]
        if sized:
            assert isinstance(i.callee, Function)
            free = released(i.callee)
        else:
            free = declare(self.module, deallocator_of(known.deallocator.family), VOID, [PTR])
        if self.facts.shadowed(freed) and i not in self.plan.paired.values() and self.facts.all_escape(freed):
            for _ in self.each_lane():
                own = self.unless_constant(freed, self.shadow(freed), _null)
                own = self.record(i, own) if sized else own
                self.b.call(tape.defer(self.module), [self.arena, own, free])
        if self.facts.shadowed(freed) and (floats := watched(self.facts, self.module, known.deallocator, freed)):
            later = TRUE if self.facts.apart else FALSE
            for _ in self.each_lane():
                self.b.call(tape.watch(self.module), [self.arena, self.value(freed), self.shadow(freed), floats, later])
        if at_once(self.facts, i):
            self.copy(i)
            return
        block = self.record(i, self.value(freed)) if sized else self.value(freed)
        if i not in self.plan.paired.values():
            self.b.call(tape.defer(self.module), [self.arena, block, free])
        elif i.operands[known.deallocator.pointer] in self.held:
            held = self.held[i.operands[known.deallocator.pointer]]
            self.b.call(tape.arm(self.module), [self.arena, held, block, free])

    def record(self, i: Call, block: AnyValue) -> AnyValue:
        """What a release that takes more than the block is given, for one of a block like its own."""
        known = self.facts.effects(i)
        assert known is not None and known.deallocator is not None and isinstance(i.callee, Function)
        given = [self.value(v) for v in i.arguments]
        given[known.deallocator.pointer] = block
        return noted(self.b, i.callee, given)

    def hold(self, i: Instruction) -> None:
        """What the mirror of an allocation releases is released by a throw, too."""
        if not self.facts.unwinds or not isinstance(i, Call):
            return
        if i in self.plan.paired:
            self.held[i] = self.b.call(tape.hold(self.module), [self.arena, self.value(i), _null()], f"{i.name}.held")
        own = i in self.plan.paired or not self.facts.escapes(i)
        on_tape = reserves(i) or i in allocated(self.facts).shadows or i in allocated(self.facts).shared
        if isinstance(self.plan.effects.get(i), Allocate) and own and not on_tape:
            known = self.facts.effects(i)
            assert known is not None and known.allocator is not None
            free = declare(self.module, shadow_deallocator(known.allocator), VOID, [PTR])
            for _ in self.each_lane():
                self.b.call(tape.hold(self.module), [self.arena, self.shadow(i), free])

    def bookkeeping(self, i: Call) -> bool:
        """Calls about the stack, and about the tape of a derivative that is differentiated again.

        That tape is this sweep's: nothing is dropped before its mirror.
        """
        match tape_call(i):
            case "":
                return _is(i, "llvm.stackrestore")
            case "reserve":
                self.reserve(i, self.value(i.arguments[1]), self.arena)
                self.keep_value(i)
            case "take":
                self.values[i] = self.arena
            case "defer":
                self.b.call(tape.defer(self.module), [self.arena, *(self.value(v) for v in i.arguments[1:])])
            case "watch":
                self.b.call(tape.watch(self.module), [self.arena, *(self.value(v) for v in i.arguments[1:])])
            case "hold" | "arm":
                self.values[i] = i64(0)
                block, free = i.arguments[-2:]
                if not isinstance(free, ConstNull):  # (what is held is released when it is dropped, or at the end)
                    self.b.call(tape.defer(self.module), [self.arena, self.value(block), self.value(free)])
        return True

    def store_shadow_pointers(self, i: Store) -> None:
        """What is a pointer in the stored value is a shadow pointer in shadow memory."""
        if not self.facts.shadowed(i.pointer):
            return
        clears = self.facts.over_pointers(i)
        for _ in self.each_lane():
            self._store_shadow_pointers(i)
            for offset, t in self.facts.float_leaves(i) if clears else ():
                address = self.b.offset(self.where(i.pointer, i.value.type), offset)
                mark(self.module, self.b.store(zero(t), address), "shadow")

    def _store_shadow_pointers(self, i: Store) -> None:
        for offset, type in self.facts.pointer_leaves(i):
            address = self.b.offset(self.where(i.pointer, i.value.type), offset)
            value = (
                self._part(i, self.shadow(i.value), offset)
                if self.facts.shadowed(i.value) or not isinstance(i.value, Instruction) or self.facts.runtime_activity
                else _null()
            )
            if value.type != type:
                value = (
                    self.b.cast("inttoptr", value, type)
                    if isinstance(type, PointerType)
                    else self.b.cast("ptrtoint", value, type)
                )
            mark(self.module, self.b.store(value, address), "shadow")

    def _part(self, i: Store, value: AnyValue, offset: int) -> AnyValue:
        """What lies at an offset of a vector, an array or a struct."""
        layout = self.facts.layout
        match value.type:
            case VectorType(element) if offset % layout.size(element) == 0:
                return self._part(i, self.b.extract_element(value, offset // layout.size(element)), 0)
            case ArrayType(element):
                n, rest = divmod(offset, layout.alloc_size(element))
                return self._part(i, self.b.extract(value, n), rest)
            case StructType(fields) if fields is not None:
                starts = layout.offsets(value.type)
                n = max(k for k, start in enumerate(starts) if start <= offset)
                return self._part(i, self.b.extract(value, n), offset - starts[n])
            case PointerType() | IntType(64) if offset == 0:
                return value
        raise self.facts.refuse(i, f"a store of pointers in a value of type {i.value.type}")

    def copy_shadow_pointers(self, i: Instruction) -> None:
        """A copy of memory copies the shadow pointers in its shadow."""
        assert isinstance(i, Call)
        if not self.facts.shadowed(i.arguments[0]):
            return
        layout = self.facts.copied(i)
        copy = helpers.pointer_copy(self.module, layout)
        if not (self.facts.shadowed(i.arguments[1]) or self.facts.runtime_activity):
            copy = None
        left = replace(layout, words=(), aligned=False) if copy is not None else layout  # what the copy has not written
        clear = helpers.float_clear(self.module, left) if self.facts.over_pointers(i) else None
        for _ in self.each_lane() if copy is not None or clear is not None else ():
            length = self.unless_constant(i.arguments[0], self.to64(self.value(i.arguments[2])), lambda: i64(0))
            if copy is not None:
                self.b.call(copy, [self.shadow(i.arguments[0]), self.shadow(i.arguments[1]), length])
            if clear is not None:
                self.b.call(clear, [self.shadow(i.arguments[0]), length])

    def leave(self, i: Return) -> None:
        """The end of the forward sweep: on to the reverse sweep, or back to the caller."""
        if self.late is not None and self.late.waits_for(i.value):
            self.late.returned = i.value
        else:
            self.returned = None if i.value is None else self.value(i.value)
        if self.after is not None:
            self.b.branch(self.after)
            return
        result: AnyValue = Undef(self.target.function_type.result, True)
        parts: list[AnyValue] = [self.frame if self.frame is not None else _null()]
        if i.value is not None:
            parts.append(self.value(i.value))
            if self.request.result.shadowed:
                parts += [self.shadow(i.value) for _ in self.each_lane()]
        for n, part in enumerate(parts):
            result = self.b.insert_value(result, part, n)
        self.b.ret(result)


def _of(key: Key) -> str:
    of = key[1]
    if isinstance(of, Loop):
        return f"{of.header.name}.{key[0]}"
    name: str = of[0].name if isinstance(of, tuple) else of.name
    return f"{name}.{key[0]}" if key[0] != "primal" else name


def _is(i: Call, prefix: str) -> bool:
    return i.called_function is not None and i.called_function.name.startswith(prefix)


def _null() -> AnyValue:
    return zero(PTR)
