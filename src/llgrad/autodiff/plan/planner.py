"""How a plan is made: facts turned into decisions. What is kept and what is computed again is a minimum cut
(`min_cut`)."""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.analysis.cfg.flow import Loop
from llgrad.analysis.memory.call_effects import is_column, tape_call
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import (
    NOTHING,
    Allocate,
    Effect,
    Free,
    Key,
    Nothing,
    effect,
    key_of,
    needs,
    on_tape,
)
from llgrad.autodiff.fusion.adjoint_columns import scattered
from llgrad.autodiff.fusion.fusion import Fusion, fused
from llgrad.autodiff.fusion.precompute import COST, ahead, recurrences
from llgrad.autodiff.plan.plan import Guard, Nest, Plan, Slot, loop_of, show
from llgrad.autodiff.recipes.carried_loads import carried
from llgrad.autodiff.recipes.early_frees import at_once
from llgrad.autodiff.recipes.loop_invariants import Steady
from llgrad.autodiff.recipes.min_cut import Choice, minimum_cut
from llgrad.autodiff.recipes.recurrences import Recurrence, lasting, recurrence
from llgrad.autodiff.recipes.selected_values import INSTRUCTIONS, choice_sides, chosen_by, is_integer_instruction
from llgrad.autodiff.recipes.shared_phi_slots import handed_on
from llgrad.autodiff.recipes.speculated import cuts, unused
from llgrad.autodiff.recipes.stored_values import stored
from llgrad.autodiff.recipes.tape_allocations import allocated
from llgrad.errors import UnsupportedError
from llgrad.ir.types import I8, I64, PTR, VOID, PointerType, Type
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
    Unary,
)
from llgrad.models.effects import TAPE

MOST_TESTS = 4  # before a loop is entered
_ADDRESS, _CHEAP, _LOAD, _DIVIDE, _CALL, _KEEP = 1, 2, 6, 11, 80, 12  # rough costs: an addition is 2
_MASKED = 6  # more, where some iterations only make the value; bytes under masks cost as much again as kept
_KEEP_STEADY = 8  # where many iterations share an element
_RESERVE = 80  # of a tape block of its own each time a loop is entered


class Planner:
    """Makes a plan; `make_plan` is the way in."""

    def __init__(self, facts: Facts, function: Function, split: bool) -> None:
        self.facts, self.function, self.split = facts, function, split
        self.flow = facts.flow(function)
        self.guards: dict[Loop, Guard] = {}
        self.fused: dict[Loop, Fusion] = {}
        self.late: frozenset[Instruction] = frozenset()
        self.recurrences: frozenset[Loop] = frozenset()
        self.steady = Steady(facts, self.flow)
        self.replays: dict[Phi, Recurrence] = {}
        self.places = {i: n for n, i in enumerate(function.instructions())}
        self.blocks = [b for b in self.flow.order if self.flow.reaches_return(b)]

    def make(self) -> Plan:
        for loop in self.flow.loops:
            if not loop.is_simplified:
                raise UnsupportedError(f"loop at %{loop.header.name} of {self.function.name} is not in simplified form")
        effects = {i: effect(self.facts, i, self.split) for b in self.blocks for i in b.instructions}
        paired = self._paired_frees(effects)
        relevant = frozenset(
            b for b in self.blocks if any(i in paired or self._matters(i, effects[i]) for i in b.instructions)
        )
        loops = dict.fromkeys(loop for loop in self.flow.loops if not relevant.isdisjoint(loop.blocks))
        visited = [b for b in self.blocks if (own := self.flow.loop_of(b)) is None or own in loops]
        choices = frozenset(b for b in visited if self._choice_matters(b, relevant))
        returns = [b for b in self.blocks if isinstance(b.terminator, Return)]
        if len(returns) > 1:
            raise UnsupportedError(f"{self.function.name} returns from more than one block: unify them first")
        plan = Plan(
            self.function, self.split, self.flow, returns[0] if returns else None, effects, relevant, loops, choices,
            frozenset(), {}, {}, self.guards, paired, frozenset(), unused(self.facts, self.flow, effects),
            cuts(self.facts, self.flow, effects),
        )  # fmt: skip
        plan.catches = any(self.facts.is_caught(i) and not isinstance(e, Nothing) for i, e in effects.items())
        self.recurrences = recurrences(self.facts, self.function, self.flow, loops)
        self._decide(plan)
        if not self.split and not self.facts.device.orders(self.function):
            wanted = self._worth_fusing(plan)
            plan.fused = fused(self.facts, self.function, self.flow, plan.effects, wanted, plan.cuts)
        if plan.fused:
            plan.effects.update(dict.fromkeys(plan.idle, NOTHING))
            self.recurrences = frozenset(x for x in self.recurrences if not any(f.encloses(x) for f in plan.fused))
            self.guards.clear()
            self._decide(plan)
        plan.scattered = scattered(self.facts, self.function, self.flow, plan.effects, self._worth_collecting(plan))
        plan.replayed = self._replayed(plan)
        around = {x for x in plan.loops if x not in plan.fused}
        for loop, again in plan.replayed.items():
            pushes = [*plan.nests, *(x for x in plan.replayed if x is not loop)]
            plan.replayed_at[loop] = lasting(plan.effects, loop, again, around, pushes)
        chunked = {nest.root for nest in plan.nests.values() if nest.chunked}
        for loop in loops:
            barred = loop in plan.scattered or loop in plan.fused or loop in chunked
            found = None if barred else ahead(self.facts, plan.effects, plan.recomputed, plan.handed, loop)
            if loop in self.recurrences and found is not None:
                plan.ahead[loop] = found
        return plan

    def _replayed(self, plan: Plan) -> dict[Loop, Recurrence]:
        """What the recomputed phis take, loop by loop."""
        found: dict[Loop, list[Recurrence]] = {}
        for phi, one in self.replays.items():
            loop = self.flow.loop_of(phi.block)
            if ("primal", phi) in plan.recomputed and loop is not None:
                found.setdefault(loop, []).append(one)
        joined = {}
        for loop, some in found.items():
            wanted = {i for one in some for i in (*one.phis, *one.steps)}
            inside = [i for i in loop.header.instructions if i in wanted]
            phis = tuple(i for i in inside if isinstance(i, Phi))
            joined[loop] = Recurrence(phis, tuple(i for i in inside if not isinstance(i, Phi)))
        return joined

    def _worth_collecting(self, plan: Plan) -> list[Loop]:
        """Loops whose iterations are counted: the columns of collected adjoints have an element for each."""
        if self.facts.device.any:  # threads add to the same places
            return []
        chunked = {nest.root for nest in plan.nests.values() if nest.chunked}
        if self.function in self.facts.teams.functions:  # whose threads add to the same places
            return []
        counted = [x for x in plan.loops if self.facts.loop(self.function, x).count is not None]
        return [x for x in counted if x not in plan.fused and x not in chunked]

    def _worth_fusing(self, plan: Plan) -> list[Loop]:
        """Outermost loops that keep something.

        A sum in an innermost loop keeps that from being vectorised, which the reverse sweep alone would be; a sum that
        nobody looks at is not computed. Where adjoints can be collected, that gains more.
        """
        kept = {slot.loop for slot in plan.kept.values()}
        outermost = [x for x in plan.loops if x.parent is None and any(x.encloses(y) for y in kept if y is not None)]
        sums = [x for x in outermost if not x.children and any(map(self.facts.active, x.header.phis()))]
        collected = scattered(self.facts, self.function, self.flow, plan.effects, sums)
        barred = {x for x in sums if x in collected or self._is_looked_at(x)}
        return [x for x in outermost if x not in barred]

    def _is_looked_at(self, loop: Loop) -> bool:
        """Does the caller get, or does anything but arithmetic use, what a loop of the root has computed?"""
        returned = self.function is not self.facts.root or self.facts.returns_primal
        seen: set[Instruction] = set()
        work = [i for b in loop.order for i in b.instructions]
        while work:
            for u in (u for u in work.pop().users if u not in loop and u not in seen):
                seen.add(u)
                if isinstance(u, Return) and not returned or self.facts.unwanted.may_drop(u):
                    continue
                if u.type == VOID or isinstance(u, Call) and not self.facts.is_pure(u):
                    return True
                work.append(u)
        return False

    # --- where the reverse sweep goes

    def _matters(self, i: Instruction, e: Effect) -> bool:
        if isinstance(i, Phi):
            return self.facts.active(i)
        return not isinstance(e, (Nothing, Free)) and i.opcode != "ret"

    def _choice_matters(self, block: Block, relevant: frozenset[Block]) -> bool:
        preds = self.flow.predecessors[block]
        loop = self.flow.loop_of(block)
        if len(preds) < 2 or (loop is not None and loop.header is block):
            return False
        if any(self.facts.active(p) for p in block.phis()):
            return True
        dominator, seen, work = self.flow.idom[block], {block}, list(preds)
        if dominator is not None and self.facts.is_caught(dominator.terminator):
            return True
        while work:
            b = work.pop()
            if b is dominator or b in seen:
                continue
            seen.add(b)
            if b in relevant:
                return True
            work += self.flow.predecessors[b]
        return False

    def _paired_frees(self, effects: dict[Instruction, Effect]) -> dict[Instruction, Instruction]:
        """Releases that happen exactly once for each execution of their allocation, in the same iteration."""
        found: dict[Instruction, Instruction] = {}
        for i in effects:
            known = self.facts.effects(i) if isinstance(i, Call) else None
            if known is None or known.deallocator is None or known.deallocator.family == TAPE or at_once(self.facts, i):
                continue
            if known.deallocator.sized:  # what it takes is known here, and not at the mirror of the allocation
                continue
            if i in allocated(self.facts).releases:
                continue
            made = i.operands[known.deallocator.pointer]
            if (
                not isinstance(made, Call)
                or made in found
                or self.flow.loop_of(made.block) is not self.flow.loop_of(i.block)
            ):
                continue
            allocator = self.facts.effects(made)
            if (
                allocator is not None
                and allocator.allocator is not None
                and self.flow.dominates_instruction(made, i)
                and self.flow.postdominates(i.block, made.block)
            ):
                found[made] = i
        return found

    # --- what is kept

    def _decide(self, plan: Plan) -> None:
        self.fused, self.late = plan.fused, plan.late
        wanted = set(self._wanted(plan))
        nodes: dict[Key, Choice] = {}
        handed: dict[Instruction, Phi] = {}
        loops = [x for x in plan.loops if x not in self.fused]
        while True:
            self._collect(plan, wanted, nodes)
            kept, recomputed = minimum_cut(nodes, sorted(wanted, key=self.order))
            plan.kept = {k: self._slot(k) for k in sorted(kept, key=self.order)}
            self._lay_out(plan)
            more = set(self._wanted_by_nests(plan)) - wanted
            twice = {v: p for v, p in handed_on(self.flow, loops, plan.kept, nodes).items() if v not in handed}
            if not more and not twice:
                break
            wanted |= more
            handed |= twice
            for v, phi in twice.items():
                weight = self.iterations(self.flow.loop_of(phi.block))
                nodes["primal", v] = Choice(nodes["primal", v].keep, _LOAD * weight, [("primal", phi)])
        plan.recomputed, plan.wanted = frozenset(recomputed), frozenset(wanted)
        plan.handed = {v: phi for v, phi in handed.items() if ("primal", v) in recomputed}

    def order(self, key: Key) -> tuple[str, int]:
        """By name; calls without a name as they stand in the function."""
        of = key[1][0] if isinstance(key[1], tuple) else key[1]
        return show(key), self.places.get(of, 0)

    def _wanted(self, plan: Plan) -> Iterator[Key]:
        for i, e in plan.effects.items():
            if isinstance(e, Allocate) and i in allocated(self.facts).whole:
                yield ("primal", i)  # the block, which holds the shadow too
            else:
                yield from (k for k in needs(self.facts, i, e) if not self.at_hand(k))
        yield from (("count", loop) for loop in plan.loops)
        yield from (("choice", block) for block in plan.choices)
        for made in plan.paired:
            yield ("primal", made)
        for v in (v for f in plan.fused.values() for v in f.inputs):
            ways = ("primal", "shadow") if self.facts.shadowed(v) else ("primal",)
            yield from (key for key in ((way, v) for way in ways) if not self.at_hand(key))

    def _wanted_by_nests(self, plan: Plan) -> Iterator[Key]:
        """Where the tape blocks are, and what the sizes of their columns are computed from."""
        for nest in plan.nests.values():
            yield ("block", nest.root)
            for loop in {x for slot in nest.slots for x in nest.counted(slot)}:
                count = self.facts.loop(self.function, loop).count
                operands = () if count is None or nest.chunked else count.operands
                if loop in self.guards and not nest.chunked:
                    operands = (*operands, *self.guards[loop].conditions)
                yield from (k for k in map(key_of, operands) if k is not None and not self.at_hand(k))

    def _collect(self, plan: Plan, wanted: set[Key], nodes: dict[Key, Choice]) -> None:
        work = [k for k in wanted if k not in nodes]
        while work:
            key = work.pop()
            if key in nodes:
                continue
            found = self.recipe(plan, key)
            weight = self.iterations(loop_of(self.flow, key))
            each = _KEEP_STEADY if self._steady_around(key) else _KEEP
            keep = each * weight * max(1, self.facts.layout.alloc_size(self.type_of(key)) // 8)
            keep += self._reserving(loop_of(self.flow, key)) + self._under_condition(key) * weight
            if loop_of(self.flow, key) in self.fused:
                keep = weight  # at hand, from the same iteration
            if found is None:
                nodes[key] = Choice(keep, None)
                continue
            cost, depends = found
            nodes[key] = Choice(keep, max(1, cost * weight), depends)
            work += depends

    def _under_condition(self, key: Key) -> int:
        """What it costs more to keep a value that is made in some iterations only: stores under a mask."""
        loop, of = loop_of(self.flow, key), key[1]
        if not isinstance(of, Instruction) or loop is None or loop.latch is None or self._always(of.block, loop):
            return 0
        return _KEEP if self.facts.layout.alloc_size(self.type_of(key)) < 8 else _MASKED

    def _reserving(self, loop: Loop | None) -> int:
        """What a tape block of its own costs a loop that has none."""
        if loop is None or loop in self.fused:
            return 0
        root = self._root(loop)
        return _RESERVE * self.iterations(root.parent) if root.parent is not None else 0

    def at_hand(self, key: Key) -> bool:
        """Static stack memory of a combined derivative, whose address is known to the whole function; what is late."""
        kind, of = key
        if of in self.late:
            return True
        if kind == "primal" and isinstance(of, Call) and tape_call(of) == "take":
            return True  # the arena of this derivative
        return kind in ("primal", "shadow") and isinstance(of, Alloca) and not on_tape(of, self.split)

    def recipe(self, plan: Plan, key: Key) -> tuple[int, list[Key]] | None:
        """How to recompute `key`: cost and what it depends on; None where that cannot be."""
        kind, of = key
        match kind:
            case "primal" | "shadow":
                found = self._value_recipe(of, kind)
                if kind == "primal" and found is None and isinstance(of, Phi):
                    found = self._carried_recipe(plan, of) or self._replay_recipe(plan, of)
                if kind == "primal" and (store := self._read_back(of, found)) is not None:
                    plan.stored[of] = store
                    found = _LOAD, [key_of(store.pointer)]
                if found is None and kind == "shadow" and self.shadow_base(of) is not None:
                    plan.distant.add(of)
                    found = 2, [key_of(of)]
            case "count":
                count = self.facts.loop(self.function, of).count
                found = None if count is None else (2, [key_of(v) for v in count.operands])
            case "choice":
                found = self._choice_recipe(of)
            case _:
                return None
        if found is None:
            return None
        return found[0], [k for k in dict.fromkeys(found[1]) if k is not None and not self.at_hand(k)]

    def _carried_recipe(self, plan: Plan, phi: Phi) -> tuple[int, list[Key | None]] | None:
        def changes(load: Load) -> bool:
            return self.facts.overwritten(load, self.function, self.split)

        found = carried(self.facts, self.function, self.flow, phi, changes)
        if found is None:
            return None
        plan.carried[phi] = found
        return _LOAD, [key_of(found.load.pointer)]

    def _replay_recipe(self, plan: Plan, phi: Phi) -> tuple[int, list[Key | None]] | None:
        """Not of a loop that runs once in an iteration of a fused one: what it would keep takes no more memory."""
        loop = self.flow.loop_of(phi.block)
        found = recurrence(self.facts, self.function, self.flow, plan.effects, phi)
        if found is None or loop is None or loop in self.fused or loop.parent in self.fused:
            return None
        self.replays[phi] = found
        return found.cost, [("count", loop), *(key_of(v) for v in found.inputs(loop))]

    def _read_back(self, v: Instruction, found: tuple[int, list[Key | None]] | None) -> Store | None:
        """Where the program has stored `v`, if reading it there costs less than computing it again."""
        if isinstance(v, Load) or self.split or found is not None and found[0] + _LOAD * len(found[1]) <= 2 * _LOAD:
            return None
        return stored(self.facts, self.function, self.flow, v)

    def shadow_base(self, v: Instruction) -> Argument | None:
        """The argument of which `v` is an address, so that `v`'s shadow is as far from the argument's shadow."""
        if self.split or not isinstance(v.type, PointerType):
            return None
        return self.facts.argument_of(v)

    def _value_recipe(self, i: Instruction, kind: str) -> tuple[int, list[Key | None]] | None:
        match i:
            case Phi():
                loop = self.flow.loop_of(i.block)
                if loop is None or loop.header is not i.block:
                    chosen = chosen_by(self.flow, i) if kind == "primal" else None
                    return None if chosen is None else (_CHEAP, [key_of(v) for v in chosen])
                induction = self.facts.loop(self.function, loop).inductions.get(i)
                if induction is None:
                    return None
                return 2, [self._key(induction.start, kind), None if induction.unit is None else key_of(induction.unit)]
            case GetElementPtr() | Call() if not isinstance(i, Call) or is_column(i):
                return _ADDRESS, [self._key(i.operands[0], kind), *(key_of(v) for v in i.operands[1:])]
            case Load():
                changed = i.flags or self.facts.overwritten(i, self.function, self.split)
                if changed or (kind == "shadow" and self.facts.apart):  # repeated, a sweep clears shadow pointers too
                    return None
                return _LOAD, [self._key(i.pointer, kind)]
            case Select():
                return _CHEAP, [key_of(i.condition), self._key(i.if_true, kind), self._key(i.if_false, kind)]
            case Binary(opcode="fdiv" | "frem" | "sdiv" | "udiv" | "srem" | "urem"):
                cost = 2 * _CHEAP if isinstance(i.rhs, ConstInt) else _DIVIDE
                return (cost, [key_of(v) for v in i.operands]) if kind == "primal" else None
            case Cast():
                return _ADDRESS, [self._key(i.value, kind)]
            case (
                Binary()
                | Unary()
                | Compare()
                | ExtractElement()
                | InsertElement()
                | ShuffleVector()
                | ExtractValue()
                | InsertValue()
            ):
                return (_CHEAP, [key_of(v) for v in i.operands]) if kind == "primal" else None
            case Call() if kind == "primal" and (is_integer_instruction(i) or self.facts.is_pure(i)):
                cost = _cost(i) if self.flow.loop_of(i.block) not in self.recurrences else min(_cost(i), COST)
                return cost, [key_of(v) for v in i.arguments]
        return None

    def _key(self, v: AnyValue, kind: str) -> Key | None:
        """The key of `v`; a pointer into inactive memory has the null shadow, or itself under runtime activity."""
        if kind == "shadow" and not self.facts.shadowed(v):
            return key_of(v) if self.facts.runtime_activity else None
        return key_of(v, kind)

    def _choice_recipe(self, block: Block) -> tuple[int, list[Key | None]] | None:
        sides = choice_sides(self.flow, block)
        if sides is None:
            return None
        dominator = self.flow.idom[block]
        assert dominator is not None and isinstance(dominator.terminator, Branch)
        condition = dominator.terminator.condition
        assert condition is not None
        return _CHEAP, [key_of(condition)]

    def type_of(self, key: Key) -> Type:
        kind, of = key
        match kind:
            case "primal" | "shadow":
                found: Type = of.type
                return found
            case "result":
                return self.facts.result_type(*of)
            case "choice":
                return I8
            case "count":
                return I64
        return PTR

    def kept_in(self, key: Key) -> Loop | None:
        """The loop each iteration of which has an element of its own; a fused one has one for all."""
        loop = loop_of(self.flow, key)
        return None if loop in self.fused else loop

    def _slot(self, key: Key) -> Slot:
        return Slot(key, self.type_of(key), self.kept_in(key), self._steady_around(key))

    def _steady_around(self, key: Key) -> frozenset[Loop]:
        kind, of = key
        return self.steady.around(of) if kind == "primal" else frozenset()

    def iterations(self, loop: Loop | None) -> int:
        """A guess of how often the body of `loop` runs, for the cut's weights."""
        weight = 1
        while loop is not None:
            constant = self.facts.loop(self.function, loop).constant
            weight *= 16 if constant is None else max(1, min(constant + 1, 64))
            loop = loop.parent
        return min(weight, 100_000)

    # --- where it is kept

    def _lay_out(self, plan: Plan) -> None:
        plan.nests = {}
        for slot in plan.kept.values():
            if slot.loop is None:
                continue
            root = self._root(slot.loop)
            if root not in plan.nests:
                plan.nests[root] = Nest(root, self.facts.loop(self.function, root).count is None)
            plan.nests[root].slots.append(slot)

    def _root(self, loop: Loop) -> Loop:
        """The outermost loop whose preheader knows all counts down to `loop`, and whether `loop` is reached."""
        root = loop
        while root.parent is not None and root.parent not in self.fused:
            outer = root.parent
            path = Nest(root, False).path(loop)
            counts = [self.facts.loop(self.function, x).count for x in (outer, *path)]
            known = all(c is not None and all(self._outside(v, outer) for v in c.operands) for c in counts)
            if not known or not self._entered(root, outer, path):
                break
            root = outer
        return root

    def _entered(self, loop: Loop, outer: Loop, path: list[Loop]) -> bool:
        """Is `loop` entered in every iteration of `outer`, or in every one if a condition known before holds?"""
        assert loop.preheader is not None
        tests: list[tuple[AnyValue, bool]] = []
        block = loop.preheader
        while not self._always(block, outer):
            controls = [(b, edge) for b, edge in self.flow.controls(block) if b in outer.blocks]
            if len(controls) != 1 or len(tests) == MOST_TESTS:
                return False
            block, edge = controls[0]
            branch = block.terminator
            if not isinstance(branch, Branch) or branch.condition is None or len(set(branch.targets)) != 2:
                return False
            if not self._outside(branch.condition, outer):
                return False
            tests.append((branch.condition, edge == 0))
        if tests:
            self.guards[loop] = Guard(tuple(tests))
        return all(self._outside(v, outer) for x in path if x in self.guards for v in self.guards[x].conditions)

    def _always(self, block: Block, loop: Loop) -> bool:
        """Does every iteration of `loop` run `block`, the last one too?"""
        assert loop.latch is not None
        return all(self.flow.dominates(block, end) for end in (loop.latch, *(e for e, _ in loop.exits)))

    def _outside(self, v: AnyValue, loop: Loop) -> bool:
        return not isinstance(v, Instruction) or v.block not in loop.blocks


def _cost(call: Call) -> int:
    """What it costs to call a function that has a rule: some are instructions."""
    name = call.called_function.name if call.called_function is not None else ""
    if name.startswith(("llvm.fmuladd.", "llvm.fma.")):
        return 2 * _CHEAP
    if is_integer_instruction(call):
        return _CHEAP
    return _CHEAP if name.startswith(INSTRUCTIONS) else _DIVIDE if name.startswith("llvm.sqrt.") else _CALL


def make_plan(facts: Facts, function: Function, split: bool) -> Plan:
    """The plan for the reverse mode of `function`. Raises UnsupportedError and its kin, with source spans."""
    return Planner(facts, function, split).make()
