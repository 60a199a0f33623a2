"""First and last iterations of stencils, taken out of their loops before differentiation.

    left = j ? j - 1 : n - 1;    right = j + 1 < n ? j + 1 : 0;

A periodic or clamped neighbour has a regular address in all iterations but the first or the last. Where a comparison
that chooses an address is known to have one outcome in all other iterations, these run apart: what remains is a loop
whose addresses are regular, in the primal, in both sweeps, and where adjoints are added. LLVM peels such loops too, but
behind the vectoriser, and first iterations only.

The loop has one block (LLVM has turned its conditions into selects), and one test, `next < bound` say, that ends it:

    first, if it is not the last: rest { … until the next is the last }, last
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from llgrad.analysis.cfg.add_recurrences import Reader, is_number
from llgrad.analysis.cfg.flow import Flow, Loop, flow, may_go_round
from llgrad.analysis.cfg.loops import OPPOSITE, SWAPPED
from llgrad.ir.build import FALSE, TRUE, Builder, Names, clone, const_int
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import IntType, Type, is_float
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstInt,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Value,
    replace_uses,
)
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

MOST_INSTRUCTIONS = 300  # of a loop: its body is written up to three times
EARLY = (
    "simplify_cfg", "instruction_combine", "loop_simplify", "lcssa", "loop_rotate", "simplify_cfg", "new_gvn",
    "loop_simplify", "lcssa", "instruction_namer",
)  # fmt: skip


LATE = ("loop_simplify", "lcssa", "instruction_namer")


def has_borders(module: Module) -> bool:
    """Is there a loop to peel?"""
    return any(_borders(module, f) for f in module.functions if may_go_round(f))


def peel_borders(work: LLVMModule, passes: Sequence[str]) -> bool:
    """Peel the loops of `work` where that makes addresses regular; False where there are none. `passes` come first.

    EARLY before `work` is optimised: then integers of 32 bits have not been widened yet, and that they do not wrap has
    not been forgotten. LATE sees what is inlined.
    """
    work.run(passes)
    module = parse(work.text())
    found = [_peel(module, f) for f in module.functions if may_go_round(f)]
    if any(found):
        work.replace_text(write(module))
    return any(found)


def _borders(module: Module, f: Function) -> list[Border]:
    control = flow(f)
    return [b for b in (_border(module, control, loop) for loop in control.loops) if b is not None]


def _peel(module: Module, f: Function) -> bool:
    for loop in flow(f).loops:
        _hoist(loop)
    borders = _borders(module, f)
    if borders:
        names = Names([b.name for b in f.blocks] + [v.name for v in (*f.arguments, *f.instructions())])
        for border in borders:
            _widen(border.loop, names)
            _Peeled(f, border, names).write()
    return bool(borders)


def _hoist(loop: Loop) -> None:
    """What does not change in a loop of one block is computed before it."""
    before = loop.preheader
    if before is None or loop.order != (loop.header,):
        return
    for i in list(loop.header.instructions):
        simple = isinstance(i, Cast) or (isinstance(i, Binary) and i.opcode in ("add", "sub", "mul", "shl"))
        if simple and not any(v in loop for v in i.operands):
            loop.header.instructions.remove(i)
            i.block = before
            before.instructions.insert(-1, i)


def _widen(loop: Loop, names: Names) -> None:
    """Sums that do not wrap are widened term by term: LLVM puts their terms into another order, and forgets that."""
    for i in list(loop.header.instructions):
        if isinstance(i, Cast) and i.opcode == "sext" and _splits(i.value, loop):
            b = Builder(loop.header, names)
            b.at = loop.header.instructions.index(i)
            replace_uses(i, _wide(b, loop, i.value, i.type))


def _splits(v: AnyValue, loop: Loop) -> bool:
    return v in loop and isinstance(v, Binary) and v.opcode in ("add", "sub", "mul") and "nsw" in v.flags


def _wide(b: Builder, loop: Loop, v: AnyValue, t: Type) -> AnyValue:
    if isinstance(v, ConstInt):
        return const_int(t, v.signed)
    if not _splits(v, loop):
        return b.cast("sext", v, t)
    assert isinstance(v, Binary)
    made = Binary(v.opcode, t, [_wide(b, loop, x, t) for x in v.operands])
    made.flags = frozenset({"nsw"})
    return b.insert(made, v.name)


class Border(Struct, frozen=True):
    """`first` and `last`: the comparisons that have the given outcome in all iterations but that one."""

    loop: Loop
    next: Binary  # another iteration follows where `next goes_on bound`, as `test` finds
    bound: AnyValue
    goes_on: str
    test: Compare
    exit: Block
    first: Mapping[Compare, bool]
    last: Mapping[Compare, bool]


def _border(module: Module, control: Flow, loop: Loop) -> Border | None:
    """How to peel `loop`; None where that is not possible, or gains nothing."""
    block = loop.header
    if loop.order != (block,) or not loop.is_simplified or len(block.instructions) > MOST_INSTRUCTIONS:
        return None
    branch = block.terminator
    test = branch.condition if isinstance(branch, Branch) else None
    if not isinstance(test, Compare) or test.opcode != "icmp" or test not in loop or len(set(branch.targets)) != 2:
        return None
    next = test.lhs if test.lhs in loop else test.rhs
    bound = test.rhs if test.lhs in loop else test.lhs
    stay = branch.targets[0] is block
    goes_on = test.predicate if stay else OPPOSITE[test.predicate]
    goes_on = goes_on if test.lhs in loop else SWAPPED[goes_on]
    if bound in loop or not isinstance(next, Binary) or next.opcode != "add" or not is_number(next.rhs, 1):
        return None
    phi, kept = next.lhs, {"ne": next.flags, "slt": {"nsw"}, "ult": {"nuw"}}.get(goes_on, set())
    if not isinstance(phi, Phi) or phi.block is not block or phi.incoming_from(block) is not next:
        return None
    if not (kept & next.flags and all(map(_may_be_repeated, block.instructions))):
        return None
    reader = Reader(control, loop, module.layout)
    found = [c for c in block.instructions if isinstance(c, Compare) and _chooses_address(c, loop)]
    first = {c: known for c in found if c is not test and (known := _but_first(reader, c)) is not None}
    last = {c: known for c in found if c not in first and (known := _but_last(loop, c, next, bound)) is not None}
    if test in found:
        last[test] = stay
    if not (first or last):
        return None
    exit = branch.targets[1] if stay else branch.targets[0]
    return Border(loop, next, bound, goes_on, test, exit, first, last)


def _may_be_repeated(i: Instruction) -> bool:
    """May `i` be written twice, and does control go on behind it?"""
    if {"volatile", "atomic"} & i.flags or i.opcode in ("fence", "cmpxchg", "atomicrmw"):
        return False
    if not isinstance(i, Call):
        return True
    called = i.called_function
    if called is None or called.name.startswith("llvm.experimental.noalias.scope"):
        return False
    words = {a.name for a in (*i.attributes, *called.attributes)}
    return {"nounwind", "willreturn"} <= words and not {"noduplicate", "convergent"} & words


def _chooses_address(c: Compare, loop: Loop) -> bool:
    """Does a select on `c`, or `c` as a number, go into the address of a float that is loaded?"""
    chosen = [u for u in c.users if isinstance(u, Cast) or (isinstance(u, Select) and u.condition is c)]
    work: list[Instruction] = [u for u in chosen if u in loop]
    seen = set(work)
    while work:
        i = work.pop()
        for u in i.users:
            if u in seen or u not in loop:
                continue
            if isinstance(u, Load) and is_float(u.type):
                return True
            if isinstance(u, (Binary, Cast, GetElementPtr, Select)) and not is_float(u.type):
                seen.add(u)
                work.append(u)
    return False


# --- what a comparison is in all iterations but one ------------------------------------------------------------------


def _but_first(reader: Reader, c: Compare) -> bool | None:
    """The outcome of `c` in all iterations but the first, where it is another one there."""
    a, b, predicate = reader.read(c.lhs), reader.read(c.rhs), c.predicate
    if a is None or b is None:
        return None
    if not a.step:
        a, b, predicate = b, a, SWAPPED[predicate]
    if b.step or a.step <= 0 or a.unit is not None:
        return None
    start = _start(reader, c.lhs if c.lhs in reader.loop else c.rhs)
    if predicate in ("eq", "ne"):
        same = start is not None and b.value is not None and _same(start, b.value)
        return predicate == "ne" if same and (a.signed or a.unsigned) else None
    signed = predicate[0] == "s"
    if not isinstance(start, ConstInt) or not isinstance(b.value, ConstInt) or not a.exact(signed):
        return None
    here, other = (v.signed if signed else v.value for v in (start, b.value))
    strict, less = not predicate.endswith("e"), predicate[1] == "l"
    below = here < other if strict == less else here <= other
    later = here + a.step < other if strict == less else here + a.step <= other
    return (not less) if below and not later else None


def _start(reader: Reader, v: AnyValue) -> AnyValue | None:
    """The value of `v` in the first iteration, where it has a name."""
    match v:
        case Phi() if v.block is reader.loop.header and reader.loop.preheader is not None:
            return v.incoming_from(reader.loop.preheader)
        case Cast(opcode="trunc" | "zext" | "sext", value=inner) if isinstance(v.type, IntType):
            start = _start(reader, inner)
            if isinstance(start, ConstInt):
                n = start.signed if v.opcode == "sext" else start.value
                return ConstInt(v.type, n & ((1 << v.type.bits) - 1))
    return None


def _but_last(loop: Loop, c: Compare, next: Binary, bound: AnyValue) -> bool | None:
    """The outcome of `c` in all iterations but the last: those that come before `next` is `bound`."""
    lhs, rhs, predicate = c.lhs, c.rhs, c.predicate
    if lhs not in loop:
        lhs, rhs, predicate = rhs, lhs, SWAPPED[predicate]
    if rhs in loop:
        return None
    now = lhs is next.lhs and isinstance(rhs, Binary) and rhs.opcode == "add" and is_minus_one(rhs.rhs)
    compared = rhs.lhs if now and isinstance(rhs, Binary) else rhs
    if not (now or lhs is next) or not _same(compared, bound):
        return None
    if predicate in ("eq", "ne"):
        return predicate == "ne"
    # the sequence grows by one and does not wrap, as `next` says, until it comes to the bound
    if ("nsw" if predicate[0] == "s" else "nuw") not in next.flags:
        return None
    return {"lt": True, "ge": False}.get(predicate[1:])


def is_minus_one(v: AnyValue) -> bool:
    return isinstance(v, ConstInt) and v.signed == -1


def _same(a: AnyValue, b: AnyValue, depth: int = 4) -> bool:
    """Are these the same value, or computed alike?"""
    if a is b or (isinstance(a, ConstInt) and a == b):
        return True
    if depth == 0 or type(a) is not type(b) or not isinstance(a, (Binary, Cast)) or not isinstance(b, (Binary, Cast)):
        return False
    if a.opcode != b.opcode or a.type != b.type:
        return False
    return all(_same(x, y, depth - 1) for x, y in zip(a.operands, b.operands, strict=True))


# --- writing ---------------------------------------------------------------------------------------------------------


class _Peeled:
    """Writes the first and the last iteration of a loop apart; the loop keeps its block."""

    def __init__(self, f: Function, border: Border, names: Names) -> None:
        self.f, self.border, self.names = f, border, names
        self.block = border.loop.header
        preheader = border.loop.preheader
        assert preheader is not None
        self.before = preheader  # what enters the loop
        self.entering: dict[AnyValue, AnyValue] = {phi: phi.incoming_from(preheader) for phi in self.block.phis()}
        self.b = Builder(self.block, names)

    def write(self) -> None:
        if self.border.first:
            self._write_first()
        if self.border.last:
            self._write_last()
        known = {c: TRUE if yes else FALSE for c, yes in (*self.border.first.items(), *self.border.last.items())}
        for c, outcome in known.items():
            replace_uses(c, outcome)

    def _new_block(self, name: str, before: Block) -> Block:
        block = Block(self.names.fresh(f"{self.block.name}.{name}"), self.f)
        self.f._blocks.insert(self.f._blocks.index(before), block)
        return block

    def _copy(self, into: Block, values: dict[AnyValue, AnyValue]) -> None:
        """The body but for phis and terminator."""
        for i in self.block.instructions[:-1]:
            if isinstance(i, Phi):
                continue
            new = clone(i)
            for v in i.operands:
                w = values.get(v, v)
                new.operands.append(w)
                w.users.append(new)
            name = i.name
            new.name = ""
            self.b.at_end(into).insert(new, name)
            values.setdefault(i, new)

    def _enter_from(self, source: Block, values: dict[AnyValue, AnyValue]) -> None:
        """The loop is entered from `source` now, with `values` for those of the iteration before."""
        for phi in self.block.phis():
            at = phi.blocks.index(self.before)
            phi.set_operand(at, values.get(phi, self.entering[phi]))
            self.before.users.remove(phi)
            phi.blocks[at] = source
            source.users.append(phi)
        self.entering = {phi: phi.incoming_from(source) for phi in self.block.phis()}
        self.before = source

    def _retarget(self, source: Block, to: Block) -> None:
        """The edge from `source` to the loop goes to `to`."""
        end = source.terminator
        for n, target in enumerate(end.targets):
            if target is self.block:
                end.targets[n] = to
                self.block.users.remove(end)
                to.users.append(end)

    def _leave(self, source: Block, values: Mapping[AnyValue, AnyValue]) -> None:
        """The exit is entered from `source`, too."""
        for phi in self.border.exit.phis():
            v = phi.incoming_from(self.block)
            phi.add(values.get(v, v), source)

    def _write_first(self) -> None:
        first = self._new_block("first", self.block)
        values: dict[AnyValue, AnyValue] = dict(self.entering)
        self._copy(first, values)
        targets = [t if t is self.border.exit else self.block for t in self.block.terminator.targets]
        first.append(Branch(targets, values[self.border.test]))
        self._retarget(self.before, first)
        self._leave(first, values)
        back = {phi: phi.incoming_from(self.block) for phi in self.block.phis()}
        self._enter_from(first, {phi: values.get(v, v) for phi, v in back.items()})

    def _write_last(self) -> None:
        counter = self.border.next.lhs
        guard, last = self._new_block("rest", self.block), self._new_block("last", self.border.exit)
        self._retarget(self.before, guard)
        entering = dict(self.entering)
        self._enter_from(guard, entering)
        self._test(guard, entering[counter], last)
        back = {phi: phi.incoming_from(self.block) for phi in self.block.phis()}
        values: dict[AnyValue, AnyValue] = {}
        for phi in self.block.phis():
            made = Phi(phi.type, [(entering[phi], guard), (back[phi], self.block)])
            made.metadata = dict(phi.metadata)
            self.b.at_end(last).insert(made, phi.name)
            values[phi] = made
        for c, yes in self.border.first.items():
            values[c] = TRUE if yes else FALSE
        self._copy(last, values)
        last.append(Branch([self.border.exit]))
        self._leave(last, values)
        for phi in self.border.exit.phis():
            self._forget(phi, phi.blocks.index(self.block))
        old = self.block.terminator
        loop = old.metadata
        old.drop()
        self._test(self.block, self.border.next, last)
        self.block.terminator.metadata = loop

    def _forget(self, phi: Phi, at: int) -> None:
        """Take an edge out of a phi."""
        v = phi.operands.pop(at)
        if isinstance(v, Value):
            v.users.remove(phi)
        phi.blocks.pop(at).users.remove(phi)

    def _test(self, block: Block, now: AnyValue, last: Block) -> None:
        """To the last iteration if the one that begins with `now` is that, else into the loop."""
        after = self.b.at_end(block).insert(Binary("add", now.type, [now, self.border.next.rhs]), "after")
        after.flags = self.border.next.flags  # that iteration runs, and computes this, and tests it
        goes_on = self.b.icmp(self.border.goes_on, after, self.border.bound, "goes.on")
        block.append(Branch([self.block, last], goes_on))
