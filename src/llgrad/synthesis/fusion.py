"""Loops whose forward and reverse sweep can run together, one iteration after the other: no tape (decision 9).

A *fused* loop does not run in the forward sweep. The reverse sweep runs it where it would have gone back through it, in
the order of the program: each iteration is run, then reversed, and what it keeps is gone when the next begins. That is
the same derivative where

* nothing after the loop needs it: no instruction there reads or writes memory that the loop writes, or writes what it
  reads. What is computed from values of the loop is *late*: it waits until the reverse sweep is done, so it is only
  arithmetic and stores to memory that nothing else touches afterwards; adjoints that need it wait, too (`postponed`);
* its adjoints are known when it begins, whatever the order of its iterations: what one iteration hands to the next has
  no derivative, or is a sum (a *carrier*: each iteration adds to it and does nothing else with it, so its adjoint is
  the same in all iterations); and what one iteration writes no other reads or writes.

All of it is proven from the memory model and from the addresses as sequences; a loop of which it is not stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from llgrad.analysis.flow import Flow, Loop
from llgrad.analysis.memory import Access, MemoryObject
from llgrad.analysis.sequences import Reader, is_number
from llgrad.ir.types import I64, PointerType
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstInt,
    ExtractElement,
    ExtractValue,
    Function,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    Unary,
    Undef,
)
from llgrad.synthesis.facts import Facts
from llgrad.synthesis.needs import Effect, Free, Linear, Memory, Nothing, Partials
from llgrad.synthesis.postponed import Postponed, postponed
from llgrad.synthesis.scopes import SCOPES
from llgrad.synthesis.strides import Strides
from llgrad.synthesis.sweep import DROPPED_CALLS

MOST_ELEMENTS = 64  # of an array that is filled one by one


class Fusion(Struct, frozen=True):
    """A fused loop. `inputs`: what it uses from outside; `late`: what waits for it, using its `results`; `postponed`:
    the adjoints that do."""

    loop: Loop
    exit: Block
    inputs: tuple[Instruction, ...]
    late: frozenset[Instruction]
    results: tuple[Instruction, ...]
    postponed: Postponed


def fused(
    facts: Facts, function: Function, flow: Flow, effects: Mapping[Instruction, Effect], wanted: Collection[Loop],
    barred: Collection[Instruction],
) -> dict[Loop, Fusion]:  # fmt: skip
    """Those of the outermost loops `wanted` that can be fused, in the combined derivative of `function`.

    `barred`: what cannot be reversed later than where it stands.
    """
    found: dict[Loop, Fusion] = {}
    for loop in (x for x in flow.loops if x in wanted and not facts.runtime_activity):
        one = _Candidate(facts, function, flow, effects, loop, barred).fusion()
        others = {i for f in found.values() for i in f.postponed.parts}
        if one is not None and others.isdisjoint(one.postponed.parts):  # what waits for two loops waits for neither
            found[loop] = one
    return found


class _Candidate:
    def __init__(
        self, facts: Facts, function: Function, flow: Flow, effects: Mapping[Instruction, Effect], loop: Loop,
        barred: Collection[Instruction],
    ) -> None:  # fmt: skip
        self.facts, self.function, self.flow, self.effects, self.loop = facts, function, flow, effects, loop
        self.barred = barred
        self.inside = [i for b in loop.order for i in b.instructions]
        exits = {x for _, x in loop.exits}
        self.exit = next(iter(exits)) if len(exits) == 1 else None
        exit = self.exit
        after = [b for b in flow.order if exit is not None and (b is exit or flow.reachable(exit, b))]
        self.after = [i for b in after for i in b.instructions if not _is_dropped(i)]

    def fusion(self) -> Fusion | None:
        loop, facts = self.loop, self.facts
        if self.exit is None or loop.parent is not None or [b for b, _ in loop.exits] != [loop.latch]:
            return None
        if facts.loop(self.function, loop).count is None or not all(map(self._is_simple, self.inside)):
            return None
        late = self._late()
        if late is None or not self._waits(late) or not self._hands_on_sums() or not self._writes_apart():
            return None
        computed = late | set(self.inside)
        waits = postponed(facts, self.flow, self.effects, self.barred, loop, computed, late)
        if waits is None:
            return None
        operands = dict.fromkeys(v for i in self.inside for v in i.operands)
        inputs = tuple(v for v in operands if isinstance(v, Instruction) and v not in loop)
        results = tuple(i for i in self.inside if any(u not in loop for u in i.users))
        return Fusion(loop, self.exit, inputs, late, results, waits)

    def _is_simple(self, i: Instruction) -> bool:
        """Arithmetic, branches, loads and stores: nothing that is allocated, called, thrown or seen by others."""
        if {"volatile", "atomic"} & i.flags or (isinstance(i, (Load, Store)) and i.ordering):
            return False
        if isinstance(i, Store) and (self.facts.carries_pointer(i.value) or self.facts.hides_float(i)):
            return False
        if isinstance(i, Call):
            return _is_dropped(i) or _computes(self.facts, i)
        simple = isinstance(i, (Load, Store, Branch, Switch, GetElementPtr)) or _is_arithmetic(i)
        return simple and isinstance(self.effects.get(i), (Nothing, Linear, Partials, Memory))

    # --- what follows the loop

    def _late(self) -> frozenset[Instruction] | None:
        """All that is computed after the loop from its values; None where some of it cannot wait."""
        found: set[Instruction] = set()
        work = [u for i in self.inside for u in i.users if u not in self.loop]
        while work:
            i = work.pop()
            if i in found or isinstance(i, Return):
                continue
            inner = self.flow.loop_of(i.block) is not None or i.block not in self.flow
            pure = _is_arithmetic(i) or (isinstance(i, Call) and _computes(self.facts, i))
            stored = isinstance(i, Store) and i.pointer not in found and not {"volatile", "atomic"} & i.flags
            if inner or not (pure or stored) or isinstance(i.type, PointerType):
                return None
            found.add(i)
            work += i.users
        if any(isinstance(i, Store) and (i.pointer in found or self.facts.carries_pointer(i.value)) for i in found):
            return None
        return frozenset(found)

    def _waits(self, late: frozenset[Instruction]) -> bool:
        """Is all that comes after the loop right before the loop and what is late have run?"""
        if any(_leaves(i) for i in self.after):
            return False
        memory = self.facts.memory
        reads, writes = self._accesses(self.inside)
        for i in self.after:
            read, written = memory.reads(i), self._changes(i)
            if self._meet(writes, (*read, *written)) or self._meet(reads, written):
                return False
        for i in late:
            stored = memory.writes(i)
            others = [x for x in self.after if x not in late and self.flow.may_follow(i, x)] if stored else []
            if any(self._meet(stored, (*memory.reads(x), *memory.writes(x), *memory.frees(x))) for x in others):
                return False
        return True

    def _changes(self, i: Instruction) -> tuple[Access, ...]:
        """What an instruction after the loop writes or releases before the reverse sweep comes to the loop."""
        postponed = isinstance(self.effects.get(i), Free) and not self.facts.frees_at_once
        return self.facts.memory.writes(i) if postponed else (*self.facts.memory.writes(i), *self.facts.memory.frees(i))

    def _accesses(self, instructions: Sequence[Instruction]) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
        memory = self.facts.memory
        kept = [i for i in instructions if isinstance(i, (Load, Store))]
        return tuple(a for i in kept for a in memory.reads(i)), tuple(a for i in kept for a in memory.writes(i))

    def _meet(self, some: Sequence[Access], others: Sequence[Access]) -> bool:
        return any(self.facts.memory.may_alias(a, b) for a in some for b in others)

    # --- what one iteration hands to the next

    def _hands_on_sums(self) -> bool:
        """Is every active value that an iteration hands on, to the next or out of the loop, a sum?"""
        assert self.loop.latch is not None
        carried: set[Instruction] = set()
        handed: set[AnyValue] = set()
        for phi in self.loop.header.phis():
            if not self.facts.active(phi):
                continue
            if self._is_left_over(phi):
                continue
            own, result = carriers(self.loop, phi), phi.incoming_from(self.loop.latch)
            if own is None or result not in own or not carried.isdisjoint(own):
                return False
            carried |= own
            handed.add(result)
        out = [i for i in self.inside if self.facts.active(i) and any(u not in self.loop for u in i.users)]
        return all(i in handed for i in out)

    def _is_left_over(self, phi: Phi) -> bool:
        """Is `phi` undefined wherever it is used? LLVM carries loads along that only one side of a condition has.

        So it is if, for a condition that does not change in the loop, in the iterations where it holds, and in those
        where it does not, `phi` is not used or nothing else takes its place.
        """
        assert self.loop.preheader is not None
        if not isinstance(phi.incoming_from(self.loop.preheader), Undef):
            return False
        branches = [b.terminator for b in self.loop.order if isinstance(b.terminator, Branch)]
        conditions = dict.fromkeys(x.condition for x in branches if x.condition is not None)
        fixed = [c for c in conditions if isinstance(c, Instruction) and c not in self.loop]
        return any(all(self._idle(phi, self._edges(c, n)) for n in (0, 1)) for c in fixed)

    def _edges(self, condition: AnyValue, way: int) -> set[tuple[Block, Block]]:
        """The edges in an iteration whose branches on `condition` all go one way."""
        found: set[tuple[Block, Block]] = set()
        work, seen = [self.loop.header], {self.loop.header}
        while work:
            block = work.pop()
            branch = block.terminator
            fixed = isinstance(branch, Branch) and branch.condition is condition
            for target in branch.targets[way : way + 1] if fixed else branch.targets:
                if target in self.loop:
                    found.add((block, target))
                    if target not in seen:
                        seen.add(target)
                        work.append(target)
        return found

    def _idle(self, phi: Phi, edges: set[tuple[Block, Block]]) -> bool:
        """In iterations along `edges` alone: is `phi` not used, or is its next value itself?"""
        reached = {self.loop.header, *(b for _, b in edges)}

        def uses(u: Instruction) -> bool:
            if isinstance(u, Phi):
                return u not in self.loop or any(v is phi and (b, u.block) in edges for v, b in u.incoming())
            return u not in self.loop or u.block in reached

        def sources(v: AnyValue, seen: set[AnyValue]) -> set[AnyValue]:
            if v is phi or not isinstance(v, Phi) or v not in self.loop or v.block is self.loop.header or v in seen:
                return {v}
            known = seen | {v}
            return {x for w, b in v.incoming() if (b, v.block) in edges for x in sources(w, known)}

        assert self.loop.latch is not None
        return not any(map(uses, phi.users)) or sources(phi.incoming_from(self.loop.latch), set()) <= {phi}

    def _writes_apart(self) -> bool:
        """Does no iteration read or write active memory that another writes?"""
        touched = [i for i in self.inside if isinstance(self.effects.get(i), Memory)]
        memory, private = self.facts.memory, self._private()
        strides = Strides(self.flow, self.loop, self.facts.layout)
        for i in (i for i in touched if isinstance(i, Store)):
            for other in touched:
                pairs = ((a, b) for a in memory.writes(i) for b in (*memory.reads(other), *memory.writes(other)))
                met = [(a, b) for a, b in pairs if memory.may_alias(a, b) and not a.objects | b.objects <= private]
                if not all(strides.same_iteration(a, b) for a, b in met):
                    return False
        return True

    # --- memory that each iteration fills before it reads it

    def _private(self) -> frozenset[MemoryObject]:
        """Allocations of the function that the loop alone uses, filled in each iteration before they are read."""
        memory = self.facts.memory
        accesses = [(i, a) for i in self.inside for a in (*memory.reads(i), *memory.writes(i))]
        local = {o for _, a in accesses for o in a.objects if o.kind in ("stack", "heap") and not memory.escapes(o)}
        local = {o for o in local if isinstance(o.site, Instruction) and self.flow.loop_of(o.site.block) is None}
        return frozenset(o for o in local if all(self._is_filled(i, a) for i, a in accesses if o in a.objects))

    def _is_filled(self, i: Instruction, a: Access) -> bool:
        """If `i` reads: did this iteration write there before?"""
        return isinstance(i, Store) or self._is_filled_by_loop(i, a) or self._is_filled_one_by_one(i, a)

    def _is_filled_by_loop(self, i: Instruction, a: Access) -> bool:
        """After a whole loop of writes, or of its first one."""
        read = self._element(i)
        if read is None or len(a.objects) != 1:
            return False
        for w in (x for x in self.inside if isinstance(x, Store)):
            written, loop = self._element(w), self.flow.loop_of(w.block)
            if written is None or written[0] is not read[0] or written[1] != read[1] or loop is None:
                continue
            counter = written[3]
            if not isinstance(counter, Phi) or counter.block is not loop.header or loop.preheader is None:
                continue
            whole = written[2] is not None and loop.latch is not None and self.flow.dominates(w.block, loop.latch)
            first = is_number(counter.incoming_from(loop.preheader), 0)
            inside = read[2] == written[2] or is_number(read[3], 0)
            done = len(loop.exits) == 1 and self.flow.dominates(loop.exits[0][1], i.block)
            if loop is not self.loop and whole and first and inside and done:
                return True
        return False

    def _is_filled_one_by_one(self, i: Instruction, a: Access) -> bool:
        """After a store for each element that may be read: of a loop that has been unrolled."""
        if not isinstance(i, Load) or len(a.objects) != 1:
            return False
        size, (base, first), last = self.facts.layout.size(i.type), self._fixed(i.pointer), 1
        if isinstance(base, GetElementPtr):
            split = Reader(self.flow, self.loop, self.facts.layout).split_gep(base)
            if split is None or len(split[1]) != 1 or split[1][0][1] != size:
                return False
            index = split[1][0][0]
            bound = self._bound(index, i.block)
            if bound is None or not isinstance(bound[1], ConstInt) or bound[1].value > MOST_ELEMENTS:
                return False
            base, offset = self._fixed(base.pointer)
            start = _least(self.flow, index)
            first, last = first + split[0] + offset + size * start, bound[1].value - start
        places = ((base, first + n * size, size) for n in range(last))
        stores = (self.stored.get(place, ()) for place in places)
        return base not in self.loop and all(any(self.flow.dominates_instruction(w, i) for w in ws) for ws in stores)

    @cached_property
    def stored(self) -> dict[tuple[AnyValue, int, int], list[Store]]:
        """The stores of the loop by where they write: a value, bytes from there, and how many."""
        found: dict[tuple[AnyValue, int, int], list[Store]] = {}
        for w in (i for i in self.inside if isinstance(i, Store)):
            found.setdefault((*self._fixed(w.pointer), self.facts.layout.size(w.value.type)), []).append(w)
        return found

    def _fixed(self, pointer: AnyValue) -> tuple[AnyValue, int]:
        """The address as another one and the bytes between them."""
        offset, reader = 0, Reader(self.flow, self.loop, self.facts.layout)
        while isinstance(pointer, GetElementPtr):
            split = reader.split_gep(pointer)
            if split is None or split[1]:
                break
            offset, pointer = offset + split[0], pointer.pointer
        return pointer, offset

    def _element(self, i: Instruction) -> tuple[AnyValue, int, _Bound, AnyValue] | None:
        """base, size, bound (None: none known) and index of the element of an array that is read or written."""
        if not isinstance(i, (Load, Store)):
            return None
        pointer, size = i.pointer, self.facts.layout.size(i.value.type if isinstance(i, Store) else i.type)
        if pointer not in self.loop:
            return pointer, size, None, ConstInt(I64, 0)
        if not isinstance(pointer, GetElementPtr) or pointer.pointer in self.loop:
            return None
        split = Reader(self.flow, self.loop, self.facts.layout).split_gep(pointer)
        if split is None or split[0] or len(split[1]) != 1 or split[1][0][1] != size:
            return None
        index = split[1][0][0]
        return pointer.pointer, size, self._bound(index, i.block), index

    def _bound(self, index: AnyValue, block: Block) -> _Bound:
        """What `index` stays below, in `block`: it counts up by one in an inner loop that ends when it comes to it."""
        if not isinstance(index, Phi) or index.type != I64:
            return None
        loop = self.flow.loop_of(index.block)
        if loop is None or index.block is not loop.header or loop is self.loop or block not in loop.blocks:
            return None
        if len(loop.exits) != 1 or loop.latch is None:
            return None
        next, branch = index.incoming_from(loop.latch), loop.exits[0][0].terminator
        if not isinstance(next, Binary) or next.opcode != "add" or "nuw" not in next.flags:
            return None
        if next.lhs is not index or not is_number(next.rhs, 1):
            return None
        test = branch.condition if isinstance(branch, Branch) else None
        if loop.exits[0][0] is not loop.latch or not isinstance(test, Compare) or test.lhs is not next:
            return None
        leaves = branch.targets[0] not in loop.blocks
        if test.predicate != ("eq" if leaves else "ne") or test.rhs in self.loop:
            return None
        bound = test.rhs
        return (bound.opcode, bound.value) if isinstance(bound, Cast) else ("", bound)


_Bound = tuple[str, AnyValue] | None


def _least(flow: Flow, v: AnyValue, depth: int = 4) -> int:
    """What an index is at least, as an unsigned number."""
    match v:
        case ConstInt():
            return v.value
        case Binary(opcode="add", rhs=ConstInt(value=n)) if depth and "nuw" in v.flags:
            return _least(flow, v.lhs, depth - 1) + n
        case Phi() if depth and (loop := flow.loop_of(v.block)) is not None and loop.header is v.block:
            assert loop.preheader is not None and loop.latch is not None
            next = v.incoming_from(loop.latch)
            counts = isinstance(next, Binary) and next.opcode == "add" and next.lhs is v and "nuw" in next.flags
            return _least(flow, v.incoming_from(loop.preheader), depth - 1) if counts else 0
    return 0


def carriers(loop: Loop, phi: Phi) -> set[Instruction] | None:
    """What is `phi` plus something that does not depend on it; None where it is used in any other way."""
    found: set[Instruction] = {phi}
    work: list[Instruction] = [phi]
    while work:
        i = work.pop()
        for u in i.users:
            if u in loop and u is not phi and u not in found:
                found.add(u)
                work.append(u)
    return found if all(i is phi or _passes_on(i, found) for i in found) else None


def _passes_on(i: Instruction, carriers: set[Instruction]) -> bool:
    """Is the derivative of `i` by what it has of `carriers` one?"""
    own = [n for n, v in enumerate(i.operands) if v in carriers]
    match i:
        case Binary(opcode="fadd"):
            return len(own) == 1
        case Binary(opcode="fsub"):
            return own == [0]
        case Phi():
            return len(own) == len(i.operands)
        case Select():
            return own == [1, 2]
        case Call() if i.called_function is not None:
            return i.called_function.name.startswith(("llvm.fmuladd.", "llvm.fma.")) and own == [2]
    return False


def _is_dropped(i: Instruction) -> bool:
    called = i.called_function if isinstance(i, Call) else None
    return called is not None and called.name.startswith((*DROPPED_CALLS, SCOPES))


def _leaves(i: Instruction) -> bool:
    """May control leave the function here, or another thread see what has been written so far?"""
    seen = i.opcode in ("invoke", "callbr", "resume", "fence", "atomicrmw", "cmpxchg")
    return seen or bool({"volatile", "atomic"} & i.flags)


def _is_arithmetic(i: Instruction) -> bool:
    return isinstance(
        i,
        (
            Binary, Unary, Cast, Compare, Select, Phi, ExtractElement, InsertElement, ShuffleVector, ExtractValue,
            InsertValue,
        ),
    )  # fmt: skip


def _computes(facts: Facts, call: Call) -> bool:
    """Is this a function that has a rule, and does nothing but compute a result?"""
    entry = facts.entry(call) if call.opcode == "call" else None
    return entry is not None and "pointer" not in entry.rule.operands and entry.shape != "byval"
