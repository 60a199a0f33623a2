"""One loop made a function of what it carries from step to step.

`Outline` takes a loop apart: `carried` are the phis of its header, `given` the values from before the loop that it
uses. `steps` writes the function that runs a number of whole steps, none of which leaves the loop, and returns what is
carried out of the last; `counter` the one that runs the loop to its end and says how many whole steps there were.

Pointers are not carried, so that shadows need not be: pointers that take turns (double buffers) are known by their
number among those from before the loop, a pointer that is moved by its distance from where it began.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.ir.build import Builder, Names, clone, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I64, FunctionType, IntType, PointerType, StructType, Type, is_float
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Attribute,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    Constant,
    Function,
    GetElementPtr,
    GlobalValue,
    Instruction,
    Phi,
    Select,
    Undef,
)

COUNTERS = ("n", "checkpoints", "unit")  # the first parameters: steps, how many checkpoints, how many steps a unit


class Refused(Exception):
    """The loop cannot be made a function; the message says why, `at` where."""

    def __init__(self, message: str, at: Instruction | None = None) -> None:
        super().__init__(message)
        self.at = at


class Carried(Struct):
    """A phi of the loop's header as a number or float: `turns` are the pointers that take turns in it.

    With one of them (`moved`), the number is a distance from it in bytes.
    """

    phi: Phi
    turns: list[AnyValue] = field(default_factory=list)
    moved: bool = False

    @property
    def type(self) -> Type:
        return I64 if self.turns else self.phi.type

    def coded(self, b: Builder, v: AnyValue, turns: Sequence[AnyValue]) -> AnyValue:
        """What is carried of the value `v`."""
        if not self.turns:
            return v
        if self.moved:
            ends = [b.cast("ptrtoint", p, I64) for p in (v, turns[0])]
            return b.binary("sub", ends[0], ends[1])
        found: AnyValue = i64(len(turns) - 1)
        for n, p in reversed(list(enumerate(turns[:-1]))):
            found = b.select(b.icmp("eq", v, p), i64(n), found)
        return found

    def decoded(self, b: Builder, v: AnyValue, turns: Sequence[AnyValue]) -> AnyValue:
        """The value again."""
        if not self.turns:
            return v
        if self.moved:
            return b.offset(turns[0], v)
        found = turns[-1]
        for n, p in reversed(list(enumerate(turns[:-1]))):
            found = b.select(b.icmp("eq", v, i64(n)), p, found)
        return found


class Outline:
    """A loop of `function`, in LLVM's simplified form. Raises Refused."""

    def __init__(self, module: Module, flow: Flow, loop: Loop) -> None:
        assert loop.preheader is not None and loop.latch is not None
        self.module, self.flow, self.loop, self.function = module, flow, loop, flow.function
        self.preheader, self.latch = loop.preheader, loop.latch
        self.blocks = [*loop.order, *self._ending()]
        self.carried = [self._carried(phi) for phi in loop.header.phis()]
        self.given = self._given()
        self.attributes = (Attribute("nounwind"),) if self.function.attribute("nounwind") is not None else ()
        types = [c.type for c in self.carried]
        self.result = StructType(tuple(types or [I64]))
        self.parameters = [I64, I64, I64, *(v.type for v in self.given), *types]

    def _ending(self) -> list[Block]:
        """Blocks outside that the loop goes to and never returns from: aborts."""
        found: list[Block] = []
        work = [out for _, out in self.loop.exits]
        while work:
            b = work.pop()
            if not self.flow.reaches_return(b) and b not in found and b not in self.loop.blocks:
                found.append(b)
                work += b.successors()
        return found

    def _carried(self, phi: Phi) -> Carried:
        if not isinstance(phi.type, PointerType):
            return Carried(phi)
        start, outside, moved = phi.incoming_from(self.preheader), dict[AnyValue, None](), False
        web: list[Phi | Select] = [phi]
        for p in web:
            values = p.operands if isinstance(p, Phi) else [p.operands[1], p.operands[2]]
            for v in values:
                if isinstance(v, (Phi, Select)) and v in self.loop:
                    web += [v] if v not in web else []
                elif isinstance(v, Instruction) and v in self.loop:
                    root: AnyValue = v
                    while isinstance(root, GetElementPtr) and root in self.loop:
                        root = root.pointer
                    if root is not phi:
                        raise Refused("it carries a pointer from step to step that it finds or makes in a step", v)
                    moved = True
                else:
                    outside[v] = None
        if moved and (len(web) > 1 or list(outside) != [start]):
            raise Refused("it carries a pointer from step to step that is moved and exchanged", phi)
        return Carried(phi, list(outside), moved)

    def _given(self) -> list[AnyValue]:
        """What the loop uses from before; addresses and numbers are computed again, to be seen."""
        found: dict[AnyValue, None] = {}
        work: list[AnyValue] = [v for b in self.blocks for i in b.instructions for v in self._used(i)]
        work += [v for c in self.carried for v in c.turns]
        for v in work:
            if isinstance(v, Instruction) and _is_cheap(v):
                work += v.operands
            elif not isinstance(v, (Constant, Block, GlobalValue)):
                found[v] = None
        return list(found)

    def _used(self, i: Instruction) -> list[AnyValue]:
        inside = set(self.blocks)
        values = [v for v in i.operands if not (isinstance(v, Instruction) and v.block in inside)]
        if isinstance(i, Phi):
            if i.block is self.loop.header:
                return []
            values = [v for v, b in i.incoming() if b in inside and v in values]
        return values

    # --- writing

    def steps(self, name: str) -> Function:
        """`{carried} steps(n, _, _, given…, carried…)`: n steps, of which none is the last."""
        return _Written(self, name, True).function

    def counter(self, name: str) -> Function:
        """`i64 counter(_, _, _, given…, carried…)`: the loop to its end; how often it went back to its header."""
        return _Written(self, name, False).function

    def declare(self, name: str, result: Type, more: Sequence[Type] = ()) -> Function:
        names = Names()
        wishes = [*COUNTERS, *(getattr(v, "name", "") for v in self.given), *(c.phi.name for c in self.carried)]
        wishes += [f"region.{n}" for n in range(len(more))]
        made = Function(name, FunctionType(result, (*self.parameters, *more)), [names.fresh(w or "v") for w in wishes])
        made.linkage = "internal"
        made.attributes = (Attribute("noinline"), *self.attributes)
        self.module.add(made)
        return made

    def values(self, f: Function) -> tuple[dict[AnyValue, AnyValue], list[Argument]]:
        """The arguments of such a function: by the value given, and those carried."""
        end = len(COUNTERS) + len(self.given)
        pairs = zip(self.given, f.arguments[len(COUNTERS) : end], strict=True)
        return dict(pairs), f.arguments[end : end + len(self.carried)]

    def entering(self, b: Builder) -> list[AnyValue]:
        """What is given and carried into the loop, at its preheader."""
        starts = [c.coded(b, c.phi.incoming_from(self.preheader), c.turns) for c in self.carried]
        return [*self.given, *starts]


class _Written:
    """The loop's blocks copied into a function of their own."""

    def __init__(self, outline: Outline, name: str, whole: bool) -> None:
        self.o, self.whole = outline, whole
        o = outline
        self.function = o.declare(name, o.result if whole else I64)
        self.map, carried = o.values(self.function)
        self.names = Names(a.name for a in self.function.arguments)
        entry = self.block("entry")
        self.b = Builder(entry, self.names)
        self.function.personality = o.function.personality
        self.addresses()
        turns = [[self.get(v) for v in c.turns] for c in o.carried]
        starts = [c.decoded(self.b, a, t) for c, a, t in zip(o.carried, carried, turns, strict=True)]
        for block in o.blocks:
            self.map[block] = self.block(block.name)
        self.before, self.again, self.out, self.never = map(self.block, ("before", "again", "out", "never"))
        header = self.map[o.loop.header]
        assert isinstance(header, Block)
        if whole:
            none = self.b.icmp("eq", self.function.arguments[0], i64(0), "none")
            self.b.branch_if(none, self.out, self.before)
        else:
            self.b.branch(self.before)
        self.b.at_end(self.before).branch(header)
        self.b.at_end(header)
        self.count = self.b.phi(I64, [(i64(0), self.before)], "step")
        for c, start in zip(o.carried, starts, strict=True):
            self.map[c.phi] = self.b.phi(c.phi.type, [(start, self.before)], c.phi.name)
        for block in o.blocks:
            self.copy(block)
        self.connect()
        self.finish(entry, carried, header, turns)

    def block(self, name: str) -> Block:
        made = Block(self.names.fresh(name), self.function)
        self.function._blocks.append(made)
        return made

    def get(self, v: AnyValue) -> AnyValue:
        return self.map.get(v, v)

    def addresses(self) -> None:
        """Addresses, and numbers that bound them, are computed again at the entry."""
        wanted = {v for b in self.o.blocks for i in b.instructions for v in self.o._used(i)}
        wanted |= {v for c in self.o.carried for v in c.turns}
        for v in wanted:
            self.address(v)

    def address(self, v: AnyValue) -> AnyValue:
        if isinstance(v, Instruction) and _is_cheap(v) and v not in self.map:
            operands = [self.address(x) for x in v.operands]
            self.map[v] = self.insert(v, operands)
        return self.get(v)

    def insert(self, i: Instruction, operands: Sequence[AnyValue]) -> Instruction:
        new = clone(i)
        for v in operands:
            new.operands.append(v)
            v.users.append(new)
        name, new.name = i.name, ""
        return self.b.insert(new, name)

    def copy(self, block: Block) -> None:
        into = self.map[block]
        assert isinstance(into, Block)
        self.b.at_end(into)
        for i in block.instructions:
            if self.is_lifetime(i):
                continue
            if isinstance(i, Phi):
                if i not in self.map:
                    self.map[i] = self.b.phi(i.type, name=i.name)
                continue
            self.map[i] = self.insert(i, i.operands)

    def is_lifetime(self, i: Instruction) -> bool:
        """Is it about stack memory from before the loop? That is an argument here."""
        f = i.called_function if isinstance(i, Call) else None
        return f is not None and f.name.startswith("llvm.lifetime.") and i.operands[0] not in self.o.loop

    def connect(self) -> None:
        """Operands, targets, and phis of the copy."""
        for block in self.o.blocks:
            for old in block.instructions:
                if self.is_lifetime(old):
                    continue
                new = self.map[old]
                assert isinstance(new, Instruction)
                if isinstance(old, Phi):
                    assert isinstance(new, Phi)
                    for v, b in old.incoming() if block is not self.o.loop.header else ():
                        if isinstance(source := self.map.get(b), Block):
                            new.add(self.get(v), source)
                    continue
                for n, v in enumerate(new.operands):
                    if v in self.map:
                        new.set_operand(n, self.map[v])
                self.targets(old, new)

    def targets(self, old: Instruction, new: Instruction) -> None:
        wanted = [self.target(old.block, t) for t in old.targets]
        if isinstance(old, Branch) and len(wanted) == 2 and self.never in wanted:
            stay = [t for t in wanted if t is not self.never]
            block = new.block
            new.drop()
            block.append(Branch([stay[0]]) if stay else Branch([self.never]))
            return
        for t in wanted:
            new.targets.append(t)
            t.users.append(new)

    def target(self, source: Block, t: Block) -> Block:
        if t is self.o.loop.header:
            return self.again
        found = self.map.get(t)
        if isinstance(found, Block):
            return found
        return self.never if self.whole else self.out

    def finish(self, entry: Block, carried: Sequence[Argument], header: Block, turns: list[list[AnyValue]]) -> None:
        b = self.b.at_end(self.again)
        more = b.binary("add", self.count, i64(1), "step.next")
        latch = self.map[self.o.latch]
        assert isinstance(latch, Block)
        nexts = [self.get(c.phi.incoming_from(self.o.latch)) for c in self.o.carried]
        self.count.add(more, self.again)
        for c, v in zip(self.o.carried, nexts, strict=True):
            phi = self.map[c.phi]
            assert isinstance(phi, Phi)
            phi.add(v, self.again)
        if not self.whole:
            b.branch(header)
            b.at_end(self.out).ret(self.count)
            b.at_end(self.never).unreachable()
            return
        coded = [c.coded(b, v, t) for c, v, t in zip(self.o.carried, nexts, turns, strict=True)]
        on = b.icmp("ne", more, self.function.arguments[0], "goes.on")
        b.branch_if(on, header, self.out)
        b.at_end(self.out)
        ends = [b.phi(v.type, [(a, entry), (v, self.again)]) for a, v in zip(carried, coded, strict=True)]
        whole: AnyValue = Undef(self.o.result, True) if ends else zero(self.o.result)
        for n, v in sorted(enumerate(ends), key=lambda x: is_float(x[1].type)):  # numbers first: no bits are unknown
            whole = b.insert_value(whole, v, n)
        b.ret(whole)
        b.at_end(self.never).unreachable()


def _is_cheap(v: Instruction) -> bool:
    """Is it an address or a number that may be computed twice?"""
    match v:
        case GetElementPtr():
            return True
        case Binary(opcode="add" | "sub" | "mul" | "and" | "or" | "xor" | "shl" | "ashr" | "lshr"):
            return isinstance(v.type, IntType)
        case Cast(opcode="zext" | "sext" | "trunc"):
            return isinstance(v.type, IntType)
        case Compare(opcode="icmp"):
            return v.type == I1
    return False
