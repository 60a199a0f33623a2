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

from msgspec import Struct

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.memory.access_strides import Strides
from llgrad.analysis.memory.mod_ref import Access, MemoryObject
from llgrad.autodiff.emit.alias_scopes import SCOPES
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import DROPPED_CALLS, Effect, Free, Linear, Memory, Nothing, Partials
from llgrad.autodiff.fusion.deferred_adjoints import Postponed, postponed
from llgrad.autodiff.fusion.privatization import Filled, private_memory, workspaces
from llgrad.autodiff.recipes.selected_values import is_integer_instruction
from llgrad.ir.types import PointerType
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
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


class Fusion(Struct, frozen=True):
    """A fused loop. `inputs`: what it uses from outside; `late`: what waits for it, using its `results`; `postponed`:
    the adjoints that do. `checks`: what the forward sweep runs of it, to see that it does not end the program (None:
    it cannot). `idle`: what puts its results where nobody looks. `filled`: memory of the caller's that is scratch."""

    loop: Loop
    exit: Block
    inputs: tuple[Instruction, ...]
    late: frozenset[Instruction]
    results: tuple[Instruction, ...]
    postponed: Postponed
    checks: frozenset[Instruction] | None
    idle: frozenset[Instruction]
    filled: tuple[Filled, ...] = ()


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
        self.barred, self.idle, self.filled = barred, set[Instruction](), tuple[Filled, ...]()
        self.inside = [i for b in loop.order for i in b.instructions]
        self.left = [(b, x) for b, x in loop.exits if flow.reaches_return(x)]  # the others end the program, or throw
        self.exit = self.left[0][1] if len({x for _, x in self.left}) == 1 else None
        exit = self.exit
        after = [b for b in flow.order if exit is not None and (b is exit or flow.reachable(exit, b))]
        self.after = [i for b in after for i in b.instructions if not _is_dropped(i)]

    def fusion(self) -> Fusion | None:
        loop, facts = self.loop, self.facts
        if self.exit is None or loop.parent is not None or [b for b, _ in self.left] != [loop.latch]:
            return None
        if facts.loop(self.function, loop).count is None or not all(map(self._is_simple, self.inside)):
            return None
        late = self._late()
        if late is None or not self._waits(late) or not self._hands_on_sums() or not self._writes_apart():
            return None
        computed = late | set(self.inside)
        waits = postponed(facts, self.flow, self.effects, self.barred, loop, computed, late)
        checks = self._checks() if len(loop.exits) > 1 else None
        if waits is None or (checks is None and len(loop.exits) > 1):
            return None
        operands = dict.fromkeys(v for i in self.inside for v in i.operands)
        inputs = tuple(v for v in operands if isinstance(v, Instruction) and v not in loop)
        results = tuple(i for i in self.inside if self._used_outside(i))
        return Fusion(loop, self.exit, inputs, late, results, waits, checks, frozenset(self.idle), self.filled)

    def _is_simple(self, i: Instruction) -> bool:
        """Arithmetic, branches, loads and stores: nothing that is allocated, called, thrown or seen by others."""
        if {"volatile", "atomic"} & i.flags or (isinstance(i, (Load, Store)) and i.ordering):
            return False
        if isinstance(i, Store) and (self.facts.carries_pointer(i.value) or self.facts.marked.hides_float(i)):
            return False
        if isinstance(i, Call):
            return _is_dropped(i) or _computes(self.facts, i) or is_integer_instruction(i)
        simple = isinstance(i, (Load, Store, Branch, Switch, GetElementPtr)) or _is_arithmetic(i)
        return simple and isinstance(self.effects.get(i), (Nothing, Linear, Partials, Memory))

    def _used_outside(self, i: Instruction) -> bool:
        """Is it used after the loop (rather than where the program is about to end)?"""
        return any(u not in self.loop and u not in self.idle and self.flow.reaches_return(u.block) for u in i.users)

    def _checks(self) -> frozenset[Instruction] | None:
        """What decides where control goes in the loop, and what is used where the program ends; None if it depends on
        memory that the loop writes, or that is read there."""
        work = [b.terminator for b in self.loop.order]
        ends = [b for b in self.flow.order if b not in self.loop.blocks and not self.flow.reaches_return(b)]
        work += [i for b in ends for i in b.instructions]
        found: set[Instruction] = set()
        while work:
            i = work.pop()
            if i in found:
                continue
            if i in self.loop:
                found.add(i)
            elif not any(v in self.loop for v in i.operands):
                continue
            work += [v for v in i.operands if isinstance(v, Instruction) and v in self.loop]
        written, memory = self._accesses(self.inside)[1], self.facts.memory
        met = any(self._meet(written, memory.reads(i)) for i in found)
        met = met or any(self._meet(self._visible(written, i), memory.reads(i)) for b in ends for i in b.instructions)
        return None if met else frozenset(found)

    def _visible(self, written: Sequence[Access], i: Instruction) -> list[Access]:
        """What of that an instruction may see: code that is not known sees what escapes, and what it is given."""
        memory = self.facts.memory
        if not isinstance(i, Call) or i.called_function is None or not i.called_function.is_declaration:
            return list(written)
        given = {o for v in i.arguments if isinstance(v.type, PointerType) for o in memory.points_to(v)}
        own = {o for a in written for o in a.objects if o.kind in ("stack", "heap") and not memory.escapes(o)}
        return [a for a in written if not a.objects <= own - given]

    # --- what follows the loop

    def _late(self) -> frozenset[Instruction] | None:
        """All that is computed after the loop from its values; None where some of it cannot wait."""
        found: set[Instruction] = set()
        work = [u for i in self.inside for u in i.users if u not in self.loop and self.flow.reaches_return(u.block)]
        while work:
            i = work.pop()
            if i in found or isinstance(i, Return):
                continue
            if isinstance(i, Store) and self._is_dead(i):
                self._leave_out(i)
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
        return frozenset(found - self.idle)

    def _is_dead(self, i: Store) -> bool:
        """Is it a store to memory of the function's own, which nothing reads? (LLVM moves stores behind loops.)"""
        memory = self.facts.memory
        written = memory.writes(i)
        own = all(o.kind in ("stack", "heap") and not memory.escapes(o) for a in written for o in a.objects)
        return own and not any(self._meet(written, memory.reads(x)) for x in self.after if self.flow.may_follow(i, x))

    def _leave_out(self, i: Instruction) -> None:
        self.idle.add(i)
        for v in i.operands:
            if isinstance(v, Phi) and v not in self.loop and self.idle.issuperset(v.users):
                self._leave_out(v)

    def _waits(self, late: frozenset[Instruction]) -> bool:
        """Is all that comes after the loop right before the loop and what is late have run?"""
        if any(_leaves(i) for i in self.after):
            return False
        memory = self.facts.memory
        reads, writes = self._accesses(self.inside)
        gone = late | self.idle
        for i in (i for i in self.after if i not in gone):  # what is late comes after the loop as it did
            read, written = memory.reads(i), self._changes(i)
            if self._meet(writes, (*read, *written)) or self._meet(reads, written):
                return False
        for i in late:
            stored = memory.writes(i)
            others = [x for x in self.after if x not in gone and self.flow.may_follow(i, x)] if stored else []
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
        out = [i for i in self.inside if self.facts.active(i) and self._used_outside(i)]
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
        """Does no iteration read or write active memory that another writes, but for scratch memory?"""
        private = private_memory(self.facts, self.flow, self.loop)
        if self._apart_beside(private):
            return True
        brought = workspaces(self.facts, self.flow, self.loop)
        self.filled = tuple(dict.fromkeys(filled for found in brought.values() for filled in found))
        return bool(brought) and self._apart_beside(private | brought.keys())

    def _apart_beside(self, private: frozenset[MemoryObject]) -> bool:
        touched, memory = [i for i in self.inside if isinstance(self.effects.get(i), Memory)], self.facts.memory
        strides = Strides(self.flow, self.loop, self.facts.layout)
        for i in (i for i in touched if isinstance(i, Store)):
            for other in touched:
                pairs = ((a, b) for a in memory.writes(i) for b in (*memory.reads(other), *memory.writes(other)))
                met = [(a, b) for a, b in pairs if memory.may_alias(a, b) and not a.objects | b.objects <= private]
                if not all(strides.same_iteration(a, b) for a, b in met):
                    return False
        return True


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
