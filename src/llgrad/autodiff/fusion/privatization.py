"""Memory that each iteration of a loop fills before it reads it: one piece for each iteration would do as well.

Of memory that the caller brings for this (`workspaces`) what the last iteration has stored stays. Its adjoints, which
the caller may bring, too, are those of the last iteration: it must be known which elements every iteration stores.

An array is filled where a loop has stored each of its elements, or a store each has; then any read is of what this
iteration has stored. How long it is tells its allocation; else it is told by the bounds of what is read.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from llgrad.analysis.cfg.add_recurrences import Reader, is_number
from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.memory.mod_ref import Access, MemoryObject
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.ir.types import I64, FloatType, IntType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstInt,
    ConstNull,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
)

MOST_ELEMENTS = 64  # of an array that is filled one by one


def private_memory(facts: Facts, flow: Flow, loop: Loop) -> frozenset[MemoryObject]:
    """Allocations of the function that the loop alone uses, filled in each iteration before they are read."""
    return _Fills(facts, flow, loop).private()


class Filled(Struct, frozen=True):
    """`count` elements from `base` on, which every iteration stores if each condition of `ways` leads the way that is
    said: all of that is computed before the loop."""

    base: AnyValue
    type: FloatType
    count: AnyValue
    ways: tuple[tuple[AnyValue, int], ...]


def workspaces(facts: Facts, flow: Flow, loop: Loop) -> dict[MemoryObject, tuple[Filled, ...]]:
    """Arguments of the root whose memory each iteration fills before it reads it, and all that it writes of it."""
    return _Fills(facts, flow, loop).workspaces()


class _Fills:
    def __init__(self, facts: Facts, flow: Flow, loop: Loop) -> None:
        self.facts, self.flow, self.loop = facts, flow, loop
        self.inside = [i for b in loop.order for i in b.instructions]

    def private(self) -> frozenset[MemoryObject]:
        memory = self.facts.memory
        accesses = [(i, a) for i in self.inside for a in (*memory.reads(i), *memory.writes(i))]
        local = {o for _, a in accesses for o in a.objects if o.kind in ("stack", "heap") and not memory.escapes(o)}
        local = {o for o in local if isinstance(o.site, Instruction) and self.flow.loop_of(o.site.block) is None}
        return frozenset(o for o in local if all(self._is_filled(i, a) for i, a in accesses if o in a.objects))

    def workspaces(self) -> dict[MemoryObject, tuple[Filled, ...]]:
        memory, root = self.facts.memory, self.facts.root
        if memory.callers(root) or memory.called_back(root) or self.loop.header.function is not root:
            return {}
        accesses = [(i, a) for i in self.inside for a in (*memory.reads(i), *memory.writes(i))]
        found = {}
        for o in dict.fromkeys(o for _, a in accesses for o in a.objects if self._is_brought(o)):
            own = [self._refilled(i) if len(a.objects) == 1 else None for i, a in accesses if o in a.objects]
            known = [filled for filled in own if filled is not None]
            if len(known) == len(own):
                found[o] = tuple(dict.fromkeys(known))
        return found

    def _is_brought(self, o: MemoryObject) -> bool:
        site = o.site if o.kind == "argument" else None
        return isinstance(site, Argument) and site not in self.facts.unwanted.arguments and self.facts.shadowed(site)

    def _refilled(self, i: Instruction) -> Filled | None:
        """What every iteration fills, of which `i` reads or writes some; if it reads, before that."""
        touched, end = self._element(i), self._end_of(i)
        if touched is None or end is None:
            return None
        for w in (x for x in self.inside if isinstance(x, Store)):
            written, inner = self._element(w), self.flow.loop_of(w.block)
            if written is None or inner is None or written[:3] != touched[:3]:
                continue
            t = w.value.type
            if not isinstance(t, FloatType) or t.name not in ("float", "double") or inner.preheader is None:
                continue
            if not self._is_whole(w, inner, written[3]):
                continue
            ways = self._ways(inner.preheader)
            before = isinstance(i, Store) or self._is_over(inner, i.block)
            implied = ways.items() <= self._ways(i.block).items()
            if before and implied and self._always(ways, inner.preheader):
                return Filled(touched[0], t, end, tuple(ways.items()))
        return None

    def _always(self, ways: dict[AnyValue, int], block: Block) -> bool:
        """Does every iteration that goes these ways run `block`?"""
        assert self.loop.latch is not None
        return self.flow.dominates(block, self.loop.latch) or not self._avoids(ways, block, self.loop.latch)

    def _is_filled(self, i: Instruction, a: Access) -> bool:
        """If `i` reads: did this iteration write there before?"""
        if isinstance(i, Store) or all(self._is_filled_whole(i, o) for o in a.objects):
            return True
        return self._is_filled_by_loop(i, a) or self._is_filled_one_by_one(i, a)

    def _is_filled_whole(self, i: Instruction, o: MemoryObject) -> bool:
        """After stores to all of an allocation: whatever `i` reads of it, for there is no more."""
        size = self._length(o)
        if size is None:
            return False
        for w in (x for x in self.inside if isinstance(x, Store)):
            written, loop = self._element(w), self.flow.loop_of(w.block)
            if written is None or loop is None or not self._starts(written[0], o):
                continue
            if not self._is_whole(w, loop, written[3]):
                continue
            bound, unit = written[2], written[1]
            if bound is None:
                continue
            filled = (None, bound[1].value * unit) if isinstance(bound[1], ConstInt) else (_fewer(bound), unit)
            if filled == size and self._is_over(loop, i.block):
                return True
        return size[0] is None and self._is_covered(i, o, size[1])

    def _is_covered(self, i: Instruction, o: MemoryObject, size: int) -> bool:
        """Do stores at known places, which come before `i`, cover an allocation?"""
        own = ((place, ws) for place, ws in self.stored.items() if self._starts(place[0], o))
        places = [(at, n) for (_, at, n), ws in own if self._precede(ws, i)]
        reached = 0
        for at, n in sorted(places):
            reached = max(reached, at + n) if at <= reached else reached
        return reached >= size

    def _starts(self, base: AnyValue, o: MemoryObject) -> bool:
        """Is that where an allocation starts, or null?"""
        if isinstance(base, Phi | Select) and base not in self.loop and self.flow.loop_of(base.block) is None:
            chosen = base.operands if isinstance(base, Phi) else (base.if_true, base.if_false)
            return all(isinstance(v, ConstNull) or v is o.site for v in chosen)
        return base is o.site

    def _precede(self, stores: list[Store], i: Instruction) -> bool:
        return any(self.flow.dominates_instruction(w, i) for w in stores)

    def _length(self, o: MemoryObject) -> tuple[_Bound, int] | None:
        """How long an allocation is: so many bytes, or that times a value."""
        match o.site:
            case Alloca(allocated_type=t, count=ConstInt(value=n)):
                return None, n * self.facts.layout.alloc_size(t)
            case Call():
                known = self.facts.effects(o.site)
                if known is None or known.allocator is None:
                    return None
                value: AnyValue | None = None
                number = 1
                for v in (o.site.operands[n] for n in known.allocator.size):
                    factor, times = _product(v)
                    if value is not None and factor is not None:
                        return None
                    value, number = factor if value is None else value, number * times
                return (None if value is None else _either(_apart(value)), number) if number < 1 << 31 else None
        return None

    def _is_whole(self, w: Store, loop: Loop, counter: AnyValue) -> bool:
        """Does each iteration of an inner loop run the store `w`, from index 0 on?"""
        if loop is self.loop or loop.latch is None or loop.preheader is None or not isinstance(counter, Phi):
            return False
        first = counter.block is loop.header and is_number(counter.incoming_from(loop.preheader), 0)
        return first and len(self._left(loop)) == 1 and self.flow.dominates(w.block, loop.latch)

    def _is_over(self, inner: Loop, block: Block) -> bool:
        """Has each iteration that comes to `block` run the whole inner loop before? Conditions that do not change, and
        must hold where `block` is run (there are elements), held before the inner loop too."""
        exit = self._left(inner)[0][1]
        return self.flow.dominates(exit, block) or not self._avoids(self._ways(block), exit, block)

    def _avoids(self, ways: dict[AnyValue, int], block: Block, target: Block) -> bool:
        """May an iteration that goes these ways come to `target` without having run `block`?"""
        work, seen = [self.loop.header], {self.loop.header, block}
        while work:
            end = work.pop().terminator
            if end.block is target:
                return True
            way = ways.get(end.condition) if isinstance(end, Branch) and end.condition is not None else None
            new = [t for t in (end.targets if way is None else end.targets[way : way + 1]) if t not in seen]
            work += [t for t in dict.fromkeys(new) if t in self.loop]
            seen.update(new)
        return False

    def _ways(self, block: Block) -> dict[AnyValue, int]:
        """Where branches on conditions that are computed before the loop go in an iteration that comes to `block`."""
        found: dict[AnyValue, int] = {}
        for b in self.loop.order:
            end = b.terminator
            if isinstance(end, Branch) and end.condition is not None and end.condition not in self.loop:
                for n, t in enumerate(end.targets):
                    if self.flow.predecessors[t] == (b,) and self.flow.dominates(t, block):
                        found[end.condition] = n
        return found

    def _left(self, loop: Loop) -> list[tuple[Block, Block]]:
        """The exits of a loop that lead to the function's end."""
        return [(b, x) for b, x in loop.exits if self.flow.reaches_return(x)]

    def _is_filled_by_loop(self, i: Instruction, a: Access) -> bool:
        """After a whole loop of writes, or of its first one."""
        read = self._element(i)
        if read is None or len(a.objects) != 1:
            return False
        for w in (x for x in self.inside if isinstance(x, Store)):
            written, loop = self._element(w), self.flow.loop_of(w.block)
            if written is None or written[0] is not read[0] or written[1] != read[1] or loop is None:
                continue
            inside = read[2] == written[2] or is_number(read[3], 0)
            known = written[2] is not None and self._is_whole(w, loop, written[3])
            if known and inside and self._is_over(loop, i.block):
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
        stores = (self.stored.get(place, []) for place in places)
        return base not in self.loop and all(self._precede(ws, i) for ws in stores)

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
        """What `index` stays below, in `block`."""
        end = self._end(index, block)
        return None if end is None else _apart(end)

    def _end_of(self, i: Instruction) -> AnyValue | None:
        """What the index of an element of an array stays below, if that has 64 bits."""
        pointer = i.pointer if isinstance(i, (Load, Store)) else None
        return self._end(pointer.indices[-1], i.block) if isinstance(pointer, GetElementPtr) else None

    def _end(self, index: AnyValue, block: Block) -> AnyValue | None:
        """What `index` comes to: it counts up by one in an inner loop that ends then, in which `block` is."""
        if not isinstance(index, Phi) or index.type != I64:
            return None
        loop = self.flow.loop_of(index.block)
        if loop is None or index.block is not loop.header or loop is self.loop or block not in loop.blocks:
            return None
        left = self._left(loop)
        if len(left) != 1 or loop.latch is None:
            return None
        next, branch = index.incoming_from(loop.latch), left[0][0].terminator
        if not isinstance(next, Binary) or next.opcode != "add" or "nuw" not in next.flags:
            return None
        if next.lhs is not index or not is_number(next.rhs, 1):
            return None
        test = branch.condition if isinstance(branch, Branch) else None
        if left[0][0] is not loop.latch or not isinstance(test, Compare) or test.lhs is not next:
            return None
        leaves = branch.targets[0] not in loop.blocks
        return None if test.predicate != ("eq" if leaves else "ne") or test.rhs in self.loop else test.rhs


_Bound = tuple[str, AnyValue] | None


def _apart(v: AnyValue) -> tuple[str, AnyValue]:
    """A value as what it was extended from, and how."""
    if not isinstance(v, Cast):
        return "", v
    return v.opcode, v.value


def _either(bound: _Bound) -> _Bound:
    """Of 32 bits or fewer: extended either way. If they are negative, there is no allocation of so many bytes."""
    match bound:
        case ("sext" | "zext", v) if isinstance(v.type, IntType) and v.type.bits <= 32:
            return "", v
    return bound


def _fewer(bound: tuple[str, AnyValue]) -> _Bound:
    """So many, or fewer."""
    how, v = bound
    called = v.called_function if isinstance(v, Call) else None
    most = isinstance(v, Call) and called is not None and called.name.startswith("llvm.umax.")
    return _either((how, v.arguments[0]) if most and isinstance(v, Call) else bound)


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


def _product(v: AnyValue) -> tuple[AnyValue | None, int]:
    """A size as a value times a number, modulo 2**64."""
    match v:
        case ConstInt():
            return None, v.value
        case Binary(opcode="mul", rhs=ConstInt(value=n)):
            value, times = _product(v.lhs)
            return value, times * n
        case Binary(opcode="shl", rhs=ConstInt(value=n)):
            value, times = _product(v.lhs)
            return value, times << n
    return v, 1
