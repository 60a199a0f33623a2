"""The iteration that a search chooses is run again behind it, so that the search itself needs no derivative.

    for (j = 0; j < k; j++) { s = distance(x, c[j]); if (s < least) least = s; }
    ->
    for (j = 0; j < k; j++) { s = distance(x, c[j]); if (s < least) { least = s; chosen = true; at = j; } }
    if (chosen) least = distance(x, c[at]);

The value is the same: the same instructions read the same memory. Now `least` in the loop is only compared, so no
sweep visits the candidates that lose, and nothing is kept of them; before, each of them took part with an adjoint of
zero. One more iteration is paid for that.

The loop writes nothing and leaves from its latch. Each phi that carries a float is a search: a select, `minnum` or
`maxnum` puts the candidate in its place, and it is only compared besides. Of two equal numbers the first operand is
taken, as rules say. What the candidate is computed from is the same for all iterations, or integers and pointers that
the loop's header carries: these are noted where the candidate is taken. Searches that LLVM would vectorise are left
alone: they are cheaper than what is saved.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from llgrad.analysis.cfg.flow import Flow, Loop, flow, may_go_round
from llgrad.analysis.memory.call_effects import behaviour
from llgrad.ir.build import FALSE, TRUE, Builder, clone
from llgrad.ir.module import Module
from llgrad.ir.rewrite import erase, local_names
from llgrad.ir.types import I1, FloatType, IntType, PointerType, is_float
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
    Select,
    ShuffleVector,
    Switch,
    Unary,
    replace_uses,
)

MOST_INSTRUCTIONS = 300  # of a loop, whose body is written again
_REPLACES = {
    "minnum": ("ugt", "ole"), "minimumnum": ("ugt", "ole"), "maxnum": ("ult", "oge"), "maximumnum": ("ult", "oge"),
}  # fmt: skip
"""How what is carried compares with the candidate where that is taken as second operand; and the other way about."""
_PURE = (
    Binary, Branch, Cast, Compare, ExtractElement, ExtractValue, GetElementPtr, InsertElement, InsertValue, Phi, Select,
    ShuffleVector, Switch, Unary,
)  # fmt: skip


def may_search(text: str) -> bool:
    """May a function have such a loop, by what its text names?"""
    chooses = " = fcmp " in text and " = select " in text or any(f"@llvm.{name}." in text for name in _REPLACES)
    return chooses and " = phi " in text


def with_chosen_iterations(module: Module) -> bool:
    """Run chosen iterations again behind their loops; was there one?"""
    return any([_searches(f) for f in module.concerned(may_search) if may_go_round(f)])


class _Search(Struct, frozen=True):
    """A loop that chooses: `update` is `carried` or `candidate`, which is its operand number `at`.

    `slice`: what the candidate is computed by in an iteration, and the branches there; `starts`: the phis of the
    header that it begins with. `results`: what the exit makes of the update.
    """

    loop: Loop
    exit: Block
    carried: Phi
    update: Select | Call
    candidate: Instruction
    at: int
    slice: frozenset[Instruction]
    starts: tuple[Phi, ...]
    results: tuple[Phi, ...]


def _searches(f: Function) -> bool:
    done = set[Phi]()
    while True:
        control = flow(f)
        found = (s for loop in reversed(control.loops) for s in _chosen(control, loop))  # inner loops first
        one = next((s for s in found if s.carried not in done), None)
        if one is None:
            return bool(done)
        done.add(one.carried)
        _Rerun(f, one).write()


def _chosen(control: Flow, loop: Loop) -> list[_Search]:
    """What a loop chooses, each by itself; nothing if it carries any other float."""
    inside = [i for b in loop.order for i in b.instructions]
    if not loop.is_simplified or loop.latch is None or len(inside) > MOST_INSTRUCTIONS:
        return []
    if [b for b, _ in loop.exits] != [loop.latch] or control.loop_of(loop.exits[0][1]) is not loop.parent:
        return []
    floats = [p for p in loop.header.phis() if not isinstance(p.type, (IntType, PointerType))]
    if not floats or not all(map(_only_computes, inside)):
        return []
    found = [_search(control, loop, loop.latch, p, floats) for p in floats]
    return [s for s in found if s is not None] if None not in found else []


def _search(control: Flow, loop: Loop, latch: Block, carried: Phi, floats: Sequence[Phi]) -> _Search | None:
    exit = loop.exits[0][1]
    update = carried.incoming_from(latch)
    if update not in loop or not isinstance(update, (Select, Call)) or control.loop_of(update.block) is not loop:
        return None
    vectorised = not loop.children and ("fast" in update.flags or {"nnan", "nsz"} <= update.flags)
    if vectorised or isinstance(update, Call) and _chooses(update) is None:
        return None
    sides = (update.if_true, update.if_false) if isinstance(update, Select) else tuple(update.arguments)
    at = 1 if sides[0] is carried else 0
    candidate = sides[at]
    if sides[1 - at] is not carried or not isinstance(candidate, Instruction) or candidate not in loop:
        return None
    if not isinstance(carried.type, FloatType):
        return None
    results = tuple(u for u in update.users if isinstance(u, Phi) and u.block is exit)
    rest = {*carried.users, *update.users} - {carried, update, *results}
    if not results or not all(isinstance(u, Compare) for u in rest):
        return None
    found = _slice(loop, candidate, {update, *floats})
    if found is None or not any(isinstance(i, (Load, Binary, Unary, Call)) and is_float(i.type) for i in found):
        return None
    starts = tuple(p for p in loop.header.phis() if p in found)
    return _Search(loop, exit, carried, update, candidate, at, found, starts, results)


def _chooses(call: Call) -> str | None:
    """`minnum` or its like, if that is what is called."""
    callee = call.called_function
    words = callee.name.split(".") if callee is not None else []
    return words[1] if words[:1] == ["llvm"] and words[1] in _REPLACES else None


def _only_computes(i: Instruction) -> bool:
    if isinstance(i, Call):
        callee = i.called_function
        if i.targets or callee is None or not callee.is_declaration:
            return False
        known = behaviour(i, callee)
        return known.kind == "nothing" or known.kind == "plain" and known.reads == known.writes == "none"
    return isinstance(i, _PURE) or isinstance(i, Load) and not i.ordering and not {"volatile", "atomic"} & i.flags


def _slice(loop: Loop, candidate: Instruction, barred: set[Instruction]) -> frozenset[Instruction] | None:
    """What computes the candidate in an iteration; None where that is what other iterations have chosen."""
    ends = [b.terminator for b in loop.order if b is not loop.latch]
    found, work = set[Instruction](ends), [candidate, *(v for t in ends for v in t.operands)]
    while work:
        v = work.pop()
        if not isinstance(v, Instruction) or v not in loop or v in found:
            continue
        if v in barred:
            return None
        found.add(v)
        if not isinstance(v, Phi) or v.block is not loop.header:
            work += v.operands
    return frozenset(found)


class _Rerun:
    """Writes a search that notes where it found what it took, and that iteration behind it."""

    def __init__(self, f: Function, search: _Search) -> None:
        self.f, self.search, self.names = f, search, local_names(f)
        self.b = Builder(search.exit, self.names)

    def write(self) -> None:
        s = self.search
        takes = self._condition()
        noted = [(FALSE, TRUE), *map(self._ends, s.starts)]
        taken, *places = (self._noted(start, now, takes) for start, now in noted)
        again = {b: self._block(f"{b.name}.chosen") for b in s.loop.order}
        after = self._split()
        self.b.at_end(s.exit)
        self.b.branch_if(taken, again[s.loop.header], after)
        assert s.loop.latch is not None and s.loop.preheader is not None
        values: dict[AnyValue, AnyValue] = dict(zip(s.starts, places, strict=True))
        self._copy(again, values)
        self.b.at_end(again[s.loop.latch]).branch(after)
        start = s.carried.incoming_from(s.loop.preheader)
        made = Phi(s.carried.type, [(start, s.exit), (values[s.candidate], again[s.loop.latch])])
        self.b.at_end(after)
        self.b.at = 0
        self.b.insert(made, f"{s.carried.name}.chosen")
        for result in s.results:
            replace_uses(result, made)
            erase(result)

    def _ends(self, phi: Phi) -> tuple[AnyValue, AnyValue]:
        assert self.search.loop.preheader is not None
        return phi.incoming_from(self.search.loop.preheader), phi

    def _behind(self, i: Instruction) -> Builder:
        self.b.at_end(i.block)
        self.b.at = i.block.instructions.index(i) + 1
        return self.b

    def _condition(self) -> tuple[AnyValue, bool]:
        """What tells whether the candidate is taken, and what it is then."""
        s, update = self.search, self.search.update
        if isinstance(update, Select):
            return update.condition, s.at == 0
        name = _chooses(update)
        assert name is not None
        b = self._behind(update)
        if s.at == 1:
            past = b.fcmp(_REPLACES[name][0], s.carried, s.candidate)
            return b.binary("and", past, b.fcmp("ord", s.candidate, s.candidate), "takes"), True
        past = b.fcmp(_REPLACES[name][1], s.candidate, s.carried)
        return b.binary("or", past, b.fcmp("uno", s.carried, s.carried), "takes"), True

    def _noted(self, start: AnyValue, now: AnyValue, takes: tuple[AnyValue, bool]) -> AnyValue:
        """What `now` was in the iteration that was chosen, `start` where there is none: behind the loop."""
        s = self.search
        assert s.loop.preheader is not None and s.loop.latch is not None
        held = Phi(now.type, [(start, s.loop.preheader)])
        self.b.at_end(s.loop.header)
        self.b.at = 0
        self.b.insert(held, "chosen" if now.type == I1 else f"{s.carried.name}.at")
        condition, when = takes
        behind = s.update if isinstance(s.update, Select) or not isinstance(condition, Instruction) else condition
        sides = (now, held) if when else (held, now)
        next = self._behind(behind).insert(Select(condition, *sides), f"{held.name}.next")
        held.add(next, s.loop.latch)
        self.b.at_end(s.exit)
        self.b.at = 0
        return self.b.insert(Phi(now.type, [(next, s.loop.latch)]), f"{held.name}.lcssa")

    def _block(self, name: str) -> Block:
        block = Block(self.names.fresh(name), self.f)
        self.f._blocks.append(block)
        return block

    def _split(self) -> Block:
        """All but the phis of the exit, in a block of their own, which follows it."""
        exit = self.search.exit
        after = self._block(f"{exit.name}.after")
        phis = len(list(exit.phis()))
        for i in exit.instructions[phis:]:
            i.block = after
        after.instructions, exit.instructions = exit.instructions[phis:], exit.instructions[:phis]
        for phi in (p for target in set(after.successors()) for p in target.phis()):
            for n, block in enumerate(phi.blocks):
                if block is exit:
                    phi.blocks[n] = after
                    exit.users.remove(phi)
                    after.users.append(phi)
        return after

    def _copy(self, again: dict[Block, Block], values: dict[AnyValue, AnyValue]) -> None:
        """The slice, block by block; `values` begins with the phis of the header."""
        s = self.search
        copies: list[tuple[Instruction, Instruction]] = []
        for block, new in again.items():
            for i in block.instructions:
                if i in s.slice and i not in values:
                    made = clone(i)
                    made.metadata = {kind: node for kind, node in i.metadata.items() if kind != "llvm.loop"}
                    name, made.name = i.name, ""
                    self.b.at_end(new).insert(made, name)
                    values[i] = made
                    copies.append((i, made))
        for i, made in copies:
            for v in i.operands:
                w = values.get(v, v)
                made.operands.append(w)
                w.users.append(made)
            ends = [*i.targets, *(i.blocks if isinstance(i, Phi) else ())]
            for target in (again[b] for b in ends):
                (made.blocks if isinstance(made, Phi) else made.targets).append(target)
                target.users.append(made)
