"""The reverse sweep: adjoints flow from users to operands, blocks run backwards (Griewank and Walther, ch. 3.2).

The adjoint of each active value is a stack cell `%x.adj`, cleared when it is consumed at the value's definition, so that loops
need nothing special; LLVM turns the cells into registers. Every value and every memory access is a list of *leaves*
(byte offset, float type, adjoint), so that scalars, vectors, structs and integers that hold floats are one case.

Forward values are looked up by `needs.Key`: at hand, kept on the tape, or recomputed where they are asked for; what
is constant in a loop is made at the reverse loop's only entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from llgrad.analysis.flow import Loop
from llgrad.ir.build import FALSE, Builder, Names, const_int, declare, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import (
    I1,
    I8,
    I64,
    PTR,
    VOID,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Block,
    Branch,
    Call,
    Cast,
    ConstExpr,
    ConstFloat,
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
    Select,
    ShuffleVector,
    Store,
    Switch,
    Undef,
    Unreachable,
)
from llgrad.rules.expression import Const, Expr, evaluate
from llgrad.synthesis import support, tape
from llgrad.synthesis.emit import EmitAlgebra
from llgrad.synthesis.facts import Facts
from llgrad.synthesis.forward import _Lazy
from llgrad.synthesis.needs import Allocate, CallBody, Key, Linear, Memory, Partials, key_of, operand_parts
from llgrad.synthesis.plan import Plan, choice_sides, show
from llgrad.synthesis.record import Layout, RecordingSweep
from llgrad.synthesis.request import Act, Request
from llgrad.synthesis.sweep import DEALLOCATOR_OF, clone, constant_shadow

Leaf = tuple[int, Type, AnyValue]
ADJOINT_FLAGS = frozenset({"nsz", "reassoc", "contract"})


@dataclass(slots=True)
class Place:
    """Where instructions go, and whose loop's iteration is current there."""

    block: Block
    loop: Loop | None


class ReverseSweep:
    """Writes the reverse sweep of `source` into `target`, after the recording sweep there (combined) or alone (split)."""

    def __init__(self, facts: Facts, module: Module, source: Function, target: Function, plan: Plan, names: Names) -> None:
        self.facts, self.module, self.source, self.target, self.plan = facts, module, source, target, plan
        self.flow, self.names = plan.flow, names
        self.layout = Layout(facts, plan)
        self.b = Builder(Block(""), names)
        self.arena: AnyValue = target.arguments[0]
        self.arguments: dict[AnyValue, AnyValue] = {}
        self.argument_shadows: dict[AnyValue, AnyValue] = {}
        self.slots: dict[Key, AnyValue] = {}
        self.recording: RecordingSweep | None = None
        self.adjoints: dict[AnyValue, AnyValue] = {}
        self.blocks: dict[Block, Block] = {}
        self.index: dict[Loop, AnyValue] = {}
        self.chunk: dict[Loop, AnyValue] = {}
        self.entries: dict[Loop, Block] = {}
        self.memo: dict[tuple[Block, Key], AnyValue] = {}
        self.column: dict[tuple[Block, Key], AnyValue] = {}
        self.place = Place(Block(""), None)

    # --- the whole

    def write(
        self,
        request: Request,
        callee: Callable[[Function], tuple[Request, Function]],
        cells: Block,
        start: Block,
        seed: AnyValue | None,
        finish: Callable[[Builder, ReverseSweep], None],
    ) -> None:
        """`cells` is the target's entry block, still open, for stack cells; `start` where the sweep begins."""
        self.request, self.callee, self.cells, self.start = request, callee, Builder(cells, self.names), start
        self.finish = finish
        last = self.plan.last
        assert last is not None
        visited = self._visit_order(last)
        for loop in self.plan.loops:
            self.index[loop] = self.cells.alloca(I64, f"{loop.header.name}.i.rev")
            nest = self.plan.nests.get(loop)
            if nest is not None and nest.chunked:
                self.chunk[loop] = self.cells.alloca(PTR, f"{loop.header.name}.chunk.rev")
        self._find_entries(visited)
        self.at(start, None)
        returned = last.terminator.operands[0] if last.terminator.operands else None
        if seed is not None and returned is not None and self.facts.active(returned):
            self.add(returned, self._leaves_of_value(seed))
        self.goto(None, last)
        for block in visited:
            self.at(self.blocks[block], self.flow.loop_of(block))
            for i in reversed(block.instructions):
                if not isinstance(i, Phi):
                    self.instruction(i)
            self.leave(block)

    def at(self, block: Block, loop: Loop | None) -> None:
        self.place = Place(block, loop)
        self.b.at_end(block)

    def new_block(self, name: str) -> Block:
        block = Block(self.names.fresh(name), self.target)
        self.target._blocks.append(block)
        return block

    def _visit_order(self, last: Block) -> list[Block]:
        order: list[Block] = []
        work = [self.plan.back(last)]
        while work:
            block = work.pop()
            if block in self.blocks:
                continue
            self.blocks[block] = self.new_block(f"{block.name}.rev")
            order.append(block)
            work += self.plan.predecessors(block)
        return order

    def _find_entries(self, visited: list[Block]) -> None:
        """Loops that the reverse sweep enters in one place only get an entry block for what is constant in them."""
        ways: dict[Loop, int] = {}
        last = self.plan.back(self.plan.last) if self.plan.last else None
        edges = [(b, p) for b in visited for p in self.plan.predecessors(b)]
        for source, target in [(None, last), *edges]:
            for loop in self._entered(source, target):
                ways[loop] = ways.get(loop, 0) + 1
        self.single_entry = {loop for loop, n in ways.items() if n == 1}

    def _entered(self, source: Block | None, target: Block | None) -> list[Loop]:
        """The loops that the reverse sweep enters when it goes from `source` to `target`, outermost first."""
        found: list[Loop] = []
        loop = self.flow.loop_of(target) if target is not None else None
        while loop is not None:
            if source is None or source not in loop.blocks:
                found.insert(0, loop)
            loop = loop.parent
        return found

    # --- edges

    def goto(self, source: Block | None, target: Block) -> None:
        """Leave the current block for the reverse of `target`, entering loops at their last iteration."""
        entered = self._entered(source, target)
        for loop in entered:
            if loop in self.single_entry:
                self.entries[loop] = self.place.block
        for loop in entered:
            self.b.store(self.lookup(("count", loop)), self.index[loop], 8)
            if loop in self.chunk:
                self.b.store(self.lookup(("block", loop)), self.chunk[loop], 8)
            self.place = Place(self.place.block, loop)
        self.b.branch(self.blocks[target])

    def leave(self, block: Block) -> None:
        """The end of a reverse block: phis hand their adjoints to the predecessors' values, control goes back."""
        loop = self.flow.loop_of(block)
        taken = [(phi, self.take(phi)) for phi in block.phis() if self.facts.active(phi)]
        if block is self.source.entry:
            self.finish(self.b, self)
            return
        preds = self.flow.predecessors[block]
        if loop is not None and loop.header is block:
            self._leave_header(block, loop, taken)
        elif len(preds) == 1:
            self._edge(block, preds[0], taken)
        elif block in self.plan.choices:
            self._leave_choice(block, preds, taken)
        else:
            self.goto(block, self.plan.predecessors(block)[0])

    def _edge(self, block: Block, pred: Block, taken: list[tuple[Phi, list[Leaf]]]) -> None:
        for phi, leaves in taken:
            v = phi.incoming_from(pred)
            if self.facts.active(v):
                self.add(v, leaves)
        self.goto(block, self.plan.back(pred))

    def _leave_header(self, block: Block, loop: Loop, taken: list[tuple[Phi, list[Leaf]]]) -> None:
        assert loop.preheader is not None and loop.latch is not None
        index = self.b.load(I64, self.index[loop], f"{block.name}.i", 8)
        if loop in self.chunk:
            chunk = self.b.load(PTR, self.chunk[loop], "", 8)
            older = self.b.call(support.function(self.module, "llgrad.tape.unchunk"), [self.arena, chunk, index])
            self.b.store(older, self.chunk[loop], 8)
        first = self.b.icmp("eq", index, i64(0), f"{block.name}.first")
        out, again = self.new_block(f"{block.name}.out.rev"), self.new_block(f"{block.name}.again.rev")
        nest = self.plan.nests.get(loop)
        held = self.lookup(("block", loop)) if nest is not None and not nest.chunked else None
        self.b.branch_if(first, out, again)
        self.at(out, loop)
        if held is not None:
            self.b.call(tape.release(self.module), [self.arena, held])
        self.place = Place(out, loop.parent)
        self._edge(block, loop.preheader, taken)
        self.at(again, loop)
        self.b.store(self.b.binary("sub", index, i64(1)), self.index[loop], 8)
        self._edge(block, loop.latch, taken)

    def _leave_choice(self, block: Block, preds: Iterable[Block], taken: list[tuple[Phi, list[Leaf]]]) -> None:
        choice = self.lookup(("choice", block))
        edges = [(p, self.new_block(f"{p.name}.to.{block.name}.rev")) for p in preds]
        if isinstance(choice.type, IntType) and choice.type == I1:
            sides = choice_sides(self.flow, block)
            assert sides is not None
            table = dict(edges)
            self.b.branch_if(choice, table[sides[0]], table[sides[1]])
        else:
            cases = [(const_int(I8, n), e) for n, (_, e) in enumerate(edges)]
            self.b.insert(Switch(choice, edges[0][1], cases[1:]))  # type: ignore[arg-type]
        loop = self.flow.loop_of(block)
        for pred, edge in edges:
            self.at(edge, loop)
            self._edge(block, pred, taken)

    # --- adjoint cells

    def cell(self, v: AnyValue) -> tuple[AnyValue, Type]:
        """The stack cell of the adjoint of `v`, and its type."""
        type = self.facts.adjoint_type(v)
        if v not in self.adjoints:
            assert isinstance(v, (Instruction, Argument))
            self.adjoints[v] = self.cells.alloca(type, f"{v.name}.adj")
            self.cells.store(zero(type), self.adjoints[v], 0)
        return self.adjoints[v], type

    def leaves_of(self, t: Type, offset: int = 0) -> list[tuple[int, Type]]:
        """The floats in a value of type `t`: (byte offset, type)."""
        match t:
            case FloatType():
                return [(offset, t)]
            case VectorType(element) if isinstance(element, FloatType):
                return [(offset, t)]
            case StructType(fields) if fields is not None:
                at = self.facts.layout.offsets(t)
                return [leaf for f, o in zip(fields, at, strict=True) for leaf in self.leaves_of(f, offset + o)]
            case ArrayType(element, count):
                size = self.facts.layout.alloc_size(element)
                return [x for n in range(count) for x in self.leaves_of(element, offset + n * size)]
        return []

    def take(self, v: AnyValue) -> list[Leaf]:
        """The adjoint of `v`, which is clear from now on."""
        cell, type = self.cell(v)
        found = []
        for offset, t in self.leaves_of(type):
            address = self.b.offset(cell, offset)
            found.append((offset, t, self.b.load(t, address, f"{getattr(v, 'name', 'x')}.adj", 1)))
            self.b.store(zero(t), address)
        return found

    def add(self, v: AnyValue, leaves: list[Leaf]) -> None:
        """Add to the adjoint of `v`."""
        cell, _ = self.cell(v)
        for offset, t, value in leaves:
            self.accumulate(self.b.offset(cell, offset), t, value)

    def accumulate(self, address: AnyValue, t: Type, value: AnyValue) -> None:
        old = self.b.load(t, address)
        self.b.store(self.adjoint_op("fadd", old, value), address)

    def adjoint_op(self, op: str, a: AnyValue, b: AnyValue) -> AnyValue:
        self.b.fast = ADJOINT_FLAGS
        made = self.b.binary(op, a, b)
        self.b.fast = frozenset()
        return made

    # --- forward values

    def get(self, v: AnyValue) -> AnyValue:
        """The primal value of `v` as it was when the instruction being reversed ran."""
        if isinstance(v, Argument):
            return self.arguments[v]
        key = key_of(v)
        return v if key is None else self.lookup(key)

    def get_shadow(self, v: AnyValue) -> AnyValue:
        """The shadow pointer of `v`."""
        if isinstance(v, Argument):
            return self.argument_shadows[v]
        key = key_of(v, "shadow")
        if key is not None:
            return self.lookup(key)
        return constant_shadow(self.facts, self.module, v)

    def lookup(self, key: Key) -> AnyValue:
        """A forward value, made at the outermost place where the iteration it belongs to is current."""
        kind, of = key
        if isinstance(of, Alloca) and key not in self.plan.kept and self.recording is not None:
            table = self.recording.values if kind == "primal" else self.recording.shadows
            if of in table and of.block is self.source.entry:
                return table[of]
        home = self._home(key)
        if (home.block, key) not in self.memo:
            with self._moved(home):
                self.memo[home.block, key] = self._load(key) if key in self.plan.kept else self._recompute(key)
        return self.memo[home.block, key]

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
        own = self._loop_of(key)
        loop = self.place.loop
        home = self.place
        while loop is not None and loop is not own:
            if loop in self.entries and loop in self.single_entry:
                home = Place(self.entries[loop], loop.parent)
            elif home.block is not self.place.block:
                break
            loop = loop.parent
        return home

    def _loop_of(self, key: Key) -> Loop | None:
        kind, of = key
        match of:
            case Loop():
                return of.parent
            case Block():
                return self.flow.loop_of(of)
            case (call, _):
                return self.flow.loop_of(call.block)
        return self.flow.loop_of(of.block)

    def _load(self, key: Key) -> AnyValue:
        """A kept value, from the frame or from its column."""
        slot = self.plan.kept[key]
        if slot.loop is None:
            return self.b.load(slot.type, self.slots[key], _name(key), 1 if self.plan.split else 0)
        nest = self.layout.nests[key]
        if nest.chunked:
            chunk = self.b.load(PTR, self.chunk[nest.root], "", 8)
            offsets, _ = self.layout.columns(self.b, nest, self._trips)
            column = self.b.offset(chunk, offsets[key])
        else:
            column = self._column(nest.root, key)
        address = self.layout.element(self.b, slot, column, self._index, self._trips)
        return self.b.load(slot.type, address, _name(key))

    def _column(self, root: Loop, key: Key) -> AnyValue:
        """Start of the column, made at the entry of the nest where there is one."""
        block = self.lookup(("block", root))
        inside = root in self.entries and root in self.single_entry
        where = Place(self.entries[root], root.parent) if inside else self.place
        if (where.block, key) not in self.column:
            with self._moved(where):
                offsets, _ = self.layout.columns(self.b, self.plan.nests[root], self._trips)
                for k, offset in offsets.items():
                    self.column[where.block, k] = self.b.offset(block, offset, f"{_name(k)}.column")
        return self.column[where.block, key]

    def _index(self, loop: Loop) -> AnyValue:
        return self.b.load(I64, self.index[loop], "", 8)

    def _trips(self, loop: Loop) -> AnyValue:
        return self.b.binary("add", self.count_now(loop), i64(1))

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

    def _recompute(self, key: Key) -> AnyValue:
        kind, of = key
        assert key in self.plan.recomputed, f"{show(key)} was not planned"
        match kind:
            case "count":
                count = self.facts.loop(self.source, of).count
                assert count is not None
                return count.emit(self.b, [self.get(v) for v in count.operands])
            case "choice":
                branch = self.flow.idom[of].terminator  # type: ignore[union-attr]
                assert isinstance(branch, Branch) and branch.condition is not None
                return self.get(branch.condition)
            case "primal" | "shadow":
                return self._recompute_value(of, kind)
        raise AssertionError(show(key))

    def _recompute_value(self, i: Instruction, kind: str) -> AnyValue:
        pick = self.get if kind == "primal" else self.get_shadow
        name = f"{i.name}.again" if kind == "primal" else f"{i.name}.shadow"
        match i:
            case Phi():
                return self._induction(i, pick, name)
            case Load():
                made = Load(i.type, pick(i.pointer), i.align)
                if kind == "primal":
                    made.metadata = {k: v for k, v in i.metadata.items() if k == "tbaa"}
                return self.b.insert(made, name)
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

    # --- instructions

    def instruction(self, i: Instruction) -> None:
        if i in self.plan.paired:
            self.release_primal(i)
        match self.plan.effects.get(i):
            case Partials():
                self.partials(i)
            case Linear():
                self.linear(i)
            case Memory(name):
                self.memory(i, name)
            case CallBody(callees):
                assert isinstance(i, Call)
                self.call_body(i, callees[0])
            case Allocate():
                self.unallocate(i)

    def partials(self, i: Instruction) -> None:
        shape = self.plan.effects[i]
        assert isinstance(shape, Partials)
        rule, entry = shape.rule, shape.entry
        parts = operand_parts(i, rule, entry)
        operands = _Lazy(len(parts), lambda n: self.part(self.get(parts[n][0]), parts[n][1]))
        results = _Lazy(len(rule.results), lambda r: self.result(i, r, rule.results[r].place, rule.results[r].field))
        seeds = self.seeds(i, shape)
        memo: dict[Expr, AnyValue] = {}
        for k, (v, lane) in enumerate(parts):
            if rule.operands[k] != "float" or not self.facts.active(v):
                continue
            total: AnyValue | None = None
            for r, out in enumerate(rule.results):
                partial, seed = rule.partials[r][k], seeds.get(r)
                if partial is None or seed is None:
                    continue
                term = self.term(partial, seed, operands, results, memo)
                total = term if total is None else self.adjoint_op("fadd", total, term)
            if total is not None:
                size = self.facts.layout.size(total.type) if lane is not None else 0
                self.add(v, [(size * (lane or 0), total.type, total)])

    def term(
        self, partial: Expr, seed: AnyValue, operands: list[AnyValue], results: list[AnyValue], memo: dict[Expr, AnyValue]
    ) -> AnyValue:
        """partial × seed."""
        if isinstance(partial, Const) and partial.value in (1, -1):
            return seed if partial.value == 1 else self.b.unary("fneg", seed)
        factor = evaluate(partial, operands, results, EmitAlgebra(self.b, self.module, seed.type), memo)
        return self.adjoint_op("fmul", factor, seed)

    def seeds(self, i: Instruction, shape: Partials) -> dict[int, AnyValue]:
        """The adjoint of each float result of a rule; output memory is cleared."""
        found: dict[int, AnyValue] = {}
        leaves = self.take(i) if self.facts.active(i) else []
        for r, out in enumerate(shape.rule.results):
            if isinstance(out.place, int):
                target = i.operands[out.place]
                if out.kind == "float" and self.facts.shadowed(target):
                    t = self.facts.rule_result_type(i, out)
                    address = self.get_shadow(target)
                    found[r] = self.b.load(t, address)
                    self.b.store(zero(t), address)
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
        if isinstance(i, Phi):
            return
        leaves = self.take(i)
        size = self.facts.layout.size
        match i:
            case Select(condition=c, if_true=a, if_false=b):
                condition = self.get(c)
                for v, yes in ((a, True), (b, False)):
                    if self.facts.active(v):
                        self.add(v, [(o, t, self._where(condition, x, yes)) for o, t, x in leaves])
            case Cast(opcode="fpext" | "fptrunc" as op, value=v):
                back = "fptrunc" if op == "fpext" else "fpext"
                self.add(v, [(0, v.type, self.b.cast(back, leaves[0][2], v.type))])
            case ExtractValue(aggregate=v, indices=path):
                at = self._path_offset(v.type, path)
                self.add(v, [(at + o, t, x) for o, t, x in leaves])
            case InsertValue(aggregate=whole, value=v, indices=path):
                at = self._path_offset(whole.type, path)
                end = at + self.facts.layout.alloc_size(v.type)
                if self.facts.active(v):
                    self.add(v, [(o - at, t, x) for o, t, x in leaves if at <= o < end])
                if self.facts.active(whole):
                    self.add(whole, [leaf for leaf in leaves if not at <= leaf[0] < end])
            case ExtractElement(vector=v, index=n):
                cell, _ = self.cell(v)
                self.accumulate(self.b.gep(i.type, cell, [self.get(n)]), i.type, leaves[0][2])
            case InsertElement(vector=whole, value=v, index=n):
                lane = self.get(n)
                if self.facts.active(v):
                    self.add(v, [(0, v.type, self.b.extract_element(leaves[0][2], lane))])
                if self.facts.active(whole):
                    rest = self.b.insert_element(leaves[0][2], zero(v.type), lane)
                    self.add(whole, [(0, whole.type, rest)])
            case ShuffleVector(lhs=a, rhs=b, mask=mask):
                assert isinstance(a.type, VectorType)
                for n_lane, source in enumerate(mask):
                    v, at = (a, source) if source < a.type.count else (b, source - a.type.count)
                    if source >= 0 and self.facts.active(v):
                        one = self.b.extract_element(leaves[0][2], n_lane)
                        self.add(v, [(at * size(one.type), one.type, one)])
            case _:  # freeze, casts that keep the bits
                v = i.operands[0]
                if [leaf[:2] for leaf in leaves] != self.leaves_of(self.facts.adjoint_type(v)):
                    raise self.facts.refuse(i, "a cast that splits an active float")
                self.add(v, leaves)

    def _where(self, condition: AnyValue, x: AnyValue, yes: bool) -> AnyValue:
        return self.b.select(condition, x, zero(x.type)) if yes else self.b.select(condition, zero(x.type), x)

    def _path_offset(self, t: Type, path: tuple[int, ...]) -> int:
        offset = 0
        for n in path:
            if isinstance(t, StructType):
                offset += self.facts.layout.offsets(t)[n]
                t = (t.fields or ())[n]
            else:
                t = t.element  # type: ignore[attr-defined]
                offset += n * self.facts.layout.alloc_size(t)
        return offset

    # --- memory

    def memory(self, i: Instruction, name: str) -> None:
        match i:
            case Load(pointer=p):
                leaves = self.take(i)
                if leaves:
                    shadow = self.get_shadow(p)
                    for offset, t, value in leaves:
                        self.accumulate(self.b.offset(shadow, offset), t, value)
            case Store(value=v, pointer=p):
                self.store(i, v, p)
            case Call():
                self.copy(i, name)

    def store(self, i: Store, v: AnyValue, p: AnyValue) -> None:
        """Take the adjoint out of memory: what was there before the store does not influence what comes after."""
        leaves: list[Leaf] = []
        for offset, t in self.facts.float_leaves(i):
            address = self.b.offset(self.get_shadow(p), offset)
            leaves.append((offset, t, self.b.load(t, address)))
            self.b.store(zero(t), address)
        if leaves and self.facts.active(v):
            self.add(v, leaves)

    def copy(self, i: Call, name: str) -> None:
        target, length = self.get_shadow(i.arguments[0]), self.get(i.arguments[2])
        if length.type != I64:
            length = self.b.cast("zext", length, I64)
        if name == "memset":
            self._clear(target, length)
            return
        layout = self.facts.copied(i)
        if not self.facts.shadowed(i.arguments[1]):
            clear = support.float_clear(self.module, layout)
            if clear is not None:
                self.b.call(clear, [target, length])
            return
        move = support.float_copy_adjoint(self.module, layout, overlap=name == "memmove")
        if move is not None:
            source = self.get_shadow(i.arguments[1])
            self.b.call(move, [self.arena, target, source, length] if name == "memmove" else [target, source, length])

    def _clear(self, pointer: AnyValue, length: AnyValue) -> None:
        memset = declare(self.module, "llvm.memset.p0.i64", VOID, [PTR, I8, I64, I1])
        self.b.call(memset, [pointer, const_int(I8, 0), length, FALSE])

    def unallocate(self, i: Instruction) -> None:
        if isinstance(i, Alloca):
            self.b.call(tape.release(self.module), [self.arena, self.lookup(("primal", i))])
        elif not self.facts.escapes(i):
            self._free(i, self.lookup(("shadow", i)))

    def release_primal(self, i: Instruction) -> None:
        """The mirror of an allocation whose release was postponed to here."""
        self._free(i, self.lookup(("primal", i)))

    def _free(self, i: Instruction, pointer: AnyValue) -> None:
        assert isinstance(i, Call)
        known = self.facts.effects(i)
        assert known is not None and known.allocator is not None
        self.b.call(declare(self.module, DEALLOCATOR_OF[known.allocator.family], VOID, [PTR]), [pointer])

    # --- calls

    def call_body(self, i: Call, function: Function) -> None:
        request, derivative = self.callee(function)
        arguments: list[AnyValue] = [self.arena]
        for v, act in zip(i.arguments, request.arguments, strict=True):
            arguments.append(self.get(v))
            if act in (Act.DUP, Act.DUPNONEED):
                arguments.append(self.get_shadow(v))
        if request.result is Act.OUT:
            arguments.append(self._whole(i))
        arguments.append(self.lookup(("frame", i)))
        made = self.b.call(derivative, arguments, f"{i.name}.rev")
        n = 0
        for v, act in zip(i.arguments, request.arguments, strict=True):
            if act is Act.OUT:
                if self.facts.active(v):
                    part = self.b.extract(made, n)
                    self.add(v, self._leaves_of_value(part))
                n += 1

    def _whole(self, i: Call) -> AnyValue:
        """The adjoint of a call's result as one value."""
        if not self.facts.active(i):
            return zero(i.type)
        cell, type = self.cell(i)
        whole = self.b.load(type, cell, f"{i.name}.adj", 1)
        self.b.store(zero(type), cell)
        return whole

    def _leaves_of_value(self, v: AnyValue) -> list[Leaf]:
        if not isinstance(v.type, StructType):
            return [(0, v.type, v)]
        cell = self.cells.alloca(v.type, "parts")
        self.b.store(v, cell, 0)
        return [(o, t, self.b.load(t, self.b.offset(cell, o))) for o, t in self.leaves_of(v.type)]


def _carries(i: Instruction, n: int) -> bool:
    """Does operand `n` of a pointer computation carry the pointer?"""
    match i:
        case GetElementPtr():
            return n == 0
        case Select():
            return n > 0
    return True


def _name(key: Key) -> str:
    kind, of = key
    base = of.header.name if isinstance(of, Loop) else of[0].name if isinstance(of, tuple) else of.name
    return f"{base}.{kind}" if kind != "primal" else f"{base}.tape"


__all__ = ["ADJOINT_FLAGS", "ConstExpr", "ConstFloat", "ConstInt", "Leaf", "ReverseSweep", "Undef", "Unreachable"]
