"""The forward values a reverse sweep asks for: at hand, kept on the tape, or recomputed where they are asked for.

A value that is constant in a loop is made at the reverse loop's only entry, so that the loop does not make it again;
what it is made from follows the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from llgrad.analysis.cfg.flow import Loop
from llgrad.analysis.memory.call_effects import is_column, tape_call
from llgrad.autodiff.emit.alias_scopes import mark
from llgrad.autodiff.emit.lanes import Lanes
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import Key, key_of
from llgrad.autodiff.plan.plan import Plan, loop_of, show
from llgrad.autodiff.recipes.carried_loads import Carried
from llgrad.autodiff.recipes.selected_values import chosen_by
from llgrad.autodiff.requests.request import Request
from llgrad.autodiff.shadows.globals import constant_shadow
from llgrad.autodiff.sweeps.augmented_sweep import Layout, RecordingSweep, guarded
from llgrad.ir.build import Builder, Names, clone, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import (
    I8,
    I64,
    PTR,
    PointerType,
    Type,
)
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Block,
    Branch,
    Call,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
)


class Place(Struct):
    """Where instructions go, and whose loop's iteration is current there."""

    block: Block
    loop: Loop | None


class ForwardValues(Lanes):
    """Looks up `reverse_uses.Key`s while the reverse of `source` is written into `target`; shadows in the current
    lane."""

    def __init__(
        self, facts: Facts, module: Module, source: Function, target: Function, request: Request, plan: Plan,
        names: Names,
    ) -> None:  # fmt: skip
        super().__init__(request.width)
        self.facts, self.module, self.source, self.target, self.plan = facts, module, source, target, plan
        self.request = request
        self.flow, self.names = plan.flow, names
        self.layout = Layout(facts, plan, request)
        self.b = Builder(Block(""), names)
        self.arena: AnyValue = target.arguments[0]
        self.arguments: dict[AnyValue, AnyValue] = {}
        self.slots: dict[Key, AnyValue] = {}
        self.recording: RecordingSweep | None = None
        self.blocks: dict[Block, Block] = {}
        self.index: dict[Loop, AnyValue] = {}
        self.chunk: dict[Loop, AnyValue] = {}
        self.entries: dict[Loop, Block] = {}
        self.single_entry: set[Loop] = set()
        self.memo: dict[tuple[Block, Key, int], AnyValue] = {}
        self.column: dict[tuple[Block, Key], AnyValue] = {}
        self.place = Place(Block(""), None)

    # --- the whole

    def at(self, block: Block, loop: Loop | None) -> None:
        self.place = Place(block, loop)
        self.b.at_end(block)

    def new_block(self, name: str) -> Block:
        block = Block(self.names.fresh(name), self.target)
        self.target._blocks.append(block)
        return block

    def get(self, v: AnyValue) -> AnyValue:
        """The primal value of `v` as it was when the instruction being reversed ran."""
        if isinstance(v, Argument):
            return self.arguments[v]
        key = key_of(v)
        return v if key is None else self.lookup(key)

    def get_shadow(self, v: AnyValue) -> AnyValue:
        """The shadow pointer of `v`."""
        if isinstance(v, (Instruction, Argument)) and not self.facts.shadowed(v):
            return self.get(v) if self.facts.runtime_activity else zero(v.type)
        if isinstance(v, Argument):
            return self.shadows[v]
        key = key_of(v, "shadow")
        if key is not None:
            return self.lookup(key)
        return constant_shadow(self.facts, self.module, v, self.lane)

    def lookup(self, key: Key) -> AnyValue:
        """A forward value, made at the outermost place where the iteration it belongs to is current."""
        kind, of = key
        if isinstance(of, Call) and tape_call(of) == "take":
            return self.arena
        if isinstance(of, Alloca) and key not in self.plan.kept and self.recording is not None:
            table = self.recording.values if kind == "primal" else self.recording.shadows_of[self.lane]
            if of in table and of.block is self.source.entry:
                return table[of]
        late = self.recording.late if self.recording is not None else None
        if late is not None and of in late.instructions:
            return self.b.load(of.type, late.cell(of), _name(key), 0)
        home = self._home(key)
        place = home.block, key, self.lane if kind == "shadow" else 0
        if place not in self.memo:
            with self._moved(home):
                self.memo[place] = self._load(key) if key in self.plan.kept else self.recompute(key)
        return self.memo[place]

    @contextmanager
    def _moved(self, home: Place) -> Iterator[None]:
        """Write at `home`, before its terminator where it has one; then go on where we were."""
        here, block, at = self.place, self.b.block, self.b.at
        if home.block is here.block:
            yield
            return
        self.place, self.b.block = home, home.block
        closed = bool(home.block.instructions) and home.block.instructions[-1].is_terminator
        self.b.at = len(home.block.instructions) - 1 if closed else None
        yield
        self.place, self.b.block, self.b.at = here, block, at

    def _home(self, key: Key) -> Place:
        own = loop_of(self.flow, key)
        loop = self.place.loop
        home = self.place
        while loop is not None and loop is not own:
            if loop in self.entries and loop in self.single_entry:
                home = Place(self.entries[loop], loop.parent)
            elif home.block is not self.place.block:
                break
            loop = loop.parent
        return home

    def _load(self, key: Key, next: bool = False) -> AnyValue:
        """A kept value, from the frame or from its column; or that of the next iteration."""
        slot = self.plan.kept[key]
        if slot.loop is None:
            place = self.layout.in_lane(self.b, slot, self.slots[key], self.lane)
            return self.b.load(slot.type, place, _name(key), 1 if self.plan.split else 0)
        nest = self.layout.nests[key]
        if nest.chunked:
            chunk = self.b.load(PTR, self.chunk[nest.root], "", 8)
            offsets, _ = self.layout.columns(self.b, nest, self._trips)
            column = self.layout.column(self.b, chunk, key, offsets[key])
        else:
            column = self._column(nest.root, key)
        address = self.layout.element(self.b, slot, column, self._index, self._trips, next)
        made = Load(slot.type, self.layout.in_lane(self.b, slot, address, self.lane), 1)
        mark(self.module, made, "tape")
        return self.b.insert(made, _name(key))

    def _column(self, root: Loop, key: Key) -> AnyValue:
        """Start of the column, made at the entry of the nest where there is one."""
        block = self.lookup(("block", root))
        inside = root in self.entries and root in self.single_entry
        where = Place(self.entries[root], root.parent) if inside else self.place
        if (where.block, key) not in self.column:
            with self._moved(where):
                offsets, _ = self.layout.columns(self.b, self.plan.nests[root], self._trips)
                for k, offset in offsets.items():
                    self.column[where.block, k] = self.layout.column(self.b, block, k, offset, f"{_name(k)}.column")
        return self.column[where.block, key]

    def _index(self, loop: Loop) -> AnyValue:
        return self.b.load(I64, self.index[loop], "", 8)

    def _trips(self, loop: Loop) -> AnyValue:
        trips = self.b.binary("add", self.count_now(loop), i64(1))
        guard = self.plan.guards.get(loop)
        return trips if guard is None else guarded(self.b, guard, self.get, trips)

    def count_now(self, loop: Loop) -> AnyValue:
        """Back edges taken by `loop`, from values known at its nest's entry."""
        if ("count", loop) in self.plan.kept and self._reachable_home(loop):
            return self.lookup(("count", loop))
        count = self.facts.loop(self.source, loop).count
        assert count is not None
        return count.emit(self.b, [self.get(v) for v in count.operands])

    def _reachable_home(self, loop: Loop) -> bool:
        """Is the current place inside an iteration of the loop around `loop`?"""
        return loop.parent is None or loop.parent.encloses(self.place.loop)

    def recompute(self, key: Key) -> AnyValue:
        """A value that is not kept, made here."""
        kind, of = key
        assert key in self.plan.recomputed, f"{show(key)} was not planned"
        match kind:
            case "primal" if of in self.plan.handed:
                return self._load(("primal", self.plan.handed[of]), next=True)
            case "count":
                count = self.facts.loop(self.source, of).count
                assert count is not None
                return count.emit(self.b, [self.get(v) for v in count.operands])
            case "choice":
                branch = self.flow.idom[of].terminator  # type: ignore[union-attr]
                assert isinstance(branch, Branch) and branch.condition is not None
                return self.get(branch.condition)
            case "shadow" if self._by_distance(of):
                return self._shadow_by_distance(of)
            case "primal" | "shadow":
                return self._recompute_value(of, kind)
        raise AssertionError(show(key))

    def _by_distance(self, v: Instruction) -> bool:
        if v in self.plan.distant:
            return True
        return not self.plan.split and ("primal", v) in self.plan.kept and self.facts.argument_of(v) is not None

    def _shadow_by_distance(self, v: Instruction) -> AnyValue:
        """An address in an argument's memory is as far from its shadow as the argument is from its own."""
        base = self.facts.argument_of(v)
        assert base is not None
        here, there = (self.b.cast("ptrtoint", p, I64) for p in (self.get(v), self.get(base)))
        return self.b.offset(self.get_shadow(base), self.b.binary("sub", here, there), f"{v.name}.shadow")

    def _recompute_value(self, i: Instruction, kind: str) -> AnyValue:
        pick = self.get if kind == "primal" else self.get_shadow
        name = f"{i.name}.again" if kind == "primal" else f"{i.name}.shadow"
        if kind == "primal" and i in self.plan.stored:
            return self._read(i.type, self.plan.stored[i], kind, name)
        match i:
            case Phi() if kind == "primal" and i in self.plan.carried:
                return self._carried(i, self.plan.carried[i], name)
            case Phi() if (chosen := chosen_by(self.flow, i)) is not None:
                condition, if_true, if_false = (self.get(v) for v in chosen)
                return self.b.select(condition, if_true, if_false, name)
            case Phi():
                return self._induction(i, pick, name)
            case Load():
                return self._read(i.type, i, kind, name)
        new = clone(i)
        new.metadata = {}
        for n, v in enumerate(i.operands):
            follows = kind == "primal" or _carries(i, n)
            w = (pick(v) if follows else self.get(v)) if not (isinstance(i, Call) and n >= i.arity) else v
            new.operands.append(w)
            w.users.append(new)
        if isinstance(new, Call):
            new.tail = ""
        return self.b.insert(new, name)

    def _carried(self, phi: Phi, there: Carried, name: str) -> AnyValue:
        """What an iteration before has loaded, from where that was."""
        made = Load(phi.type, self.b.offset(self.get(there.load.pointer), -there.back), there.align)
        mark(self.module, made, "primal")
        return self.b.insert(made, name)

    def _read(self, t: Type, there: Load | Store, kind: str, name: str) -> AnyValue:
        """What is in memory where the primal loads or has stored, or in its shadow."""
        pick = self.get if kind == "primal" else self.get_shadow
        made = Load(t, pick(there.pointer), there.align)
        if kind == "primal":
            made.metadata = {k: v for k, v in there.metadata.items() if k == "tbaa"}
        mark(self.module, made, kind)
        return self.b.insert(made, name)

    def _induction(self, phi: Phi, pick: Callable[[AnyValue], AnyValue], name: str) -> AnyValue:
        """start + iteration · step, in the phi's own wrap-around arithmetic."""
        loop = self.flow.loop_of(phi.block)
        assert loop is not None
        found = self.facts.loop(self.source, loop).inductions[phi]
        start = pick(found.start)
        unit = None if found.unit is None else self.get(found.unit)
        offset = found.offset(self.b, self._index(loop), unit)
        if isinstance(phi.type, PointerType):
            return self.b.gep(I8, start, [offset], name)
        return self.b.binary("add", start, offset, name)


def _carries(i: Instruction, n: int) -> bool:
    """Does operand `n` of a pointer computation carry the pointer?"""
    match i:
        case GetElementPtr():
            return n == 0
        case Call() if is_column(i):
            return n == 0
        case Select():
            return n > 0
    return True


def _name(key: Key) -> str:
    kind, of = key
    base = of.header.name if isinstance(of, Loop) else of[0].name if isinstance(of, tuple) else of.name
    return f"{base}.{kind}" if kind != "primal" else f"{base}.tape"
