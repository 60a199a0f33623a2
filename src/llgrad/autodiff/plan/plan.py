"""The plan of a reverse-mode derivative: facts turned into decisions, a value one can print.

For one function it says which blocks the reverse sweep visits and how it finds its way back, and for everything it
asks for (`reverse_uses.Key`) whether it is at hand, recomputed, or kept: kept values of no loop live in the frame,
those of a loop in a column of a nest's tape block. A nest is rooted at the outermost loop from which on the iteration
counts are known at entry; its block is reserved there, once. A loop of unknown count is its own root, and reserves
chunks.

The reverse sweep of block B continues
* at a relevant loop's header: with the latch, or in the first iteration with the preheader;
* with its only predecessor;
* with the predecessor it was entered from, where something relevant lies between B and its dominator (a *choice*);
* else with its immediate dominator, skipping what has no derivative. Loops without relevant blocks are skipped whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.autodiff.facts.reverse_uses import Effect, Key
from llgrad.autodiff.fusion.adjoint_columns import Collected
from llgrad.autodiff.fusion.fusion import Fusion
from llgrad.autodiff.fusion.precompute import Ahead
from llgrad.autodiff.recipes.carried_loads import Carried
from llgrad.autodiff.recipes.recurrences import Recurrence
from llgrad.autodiff.recipes.speculated import Cut, Unused
from llgrad.ir.types import Type
from llgrad.ir.values import (
    AnyValue,
    Block,
    Function,
    Instruction,
    Phi,
    Store,
)

CHUNK = 64  # iterations per tape block of a loop whose count is not known


class Slot(Struct, frozen=True):
    """Where a kept value lives: in the frame (`loop` is None), or a column with an element per iteration of `loop`, but
    one for all iterations of a loop in `steady`."""

    key: Key
    type: Type
    loop: Loop | None
    steady: frozenset[Loop] = frozenset()


class Guard(Struct, frozen=True):
    """In every iteration of the loop around it, a loop is entered if and only if each condition is as is said."""

    tests: tuple[tuple[AnyValue, bool], ...]

    @property
    def conditions(self) -> tuple[AnyValue, ...]:
        return tuple(condition for condition, _ in self.tests)


class Nest(Struct):
    """The tape block of `root`; `path(loop)` is the loops from the root down to one that has slots."""

    root: Loop
    chunked: bool
    slots: list[Slot] = field(default_factory=list)

    def path(self, loop: Loop) -> list[Loop]:
        found = [loop]
        while found[0] is not self.root:
            assert found[0].parent is not None
            found.insert(0, found[0].parent)
        return found

    def counted(self, slot: Slot) -> list[Loop]:
        """The loops each iteration of which has elements of its own in a column, outermost first."""
        assert slot.loop is not None
        return [loop for loop in self.path(slot.loop) if self.chunked or loop not in slot.steady]


class Plan(Struct):
    """See the module. `split`: forward and reverse sweep are functions of their own, and the frame is a tape block."""

    function: Function
    split: bool
    flow: Flow
    last: Block | None  # the block that returns
    effects: dict[Instruction, Effect]
    relevant: frozenset[Block]
    loops: dict[Loop, None]  # those the reverse sweep goes through, outermost first
    choices: frozenset[Block]
    recomputed: frozenset[Key]
    kept: dict[Key, Slot]
    nests: dict[Loop, Nest]
    guards: dict[Loop, Guard]  # inner loops of nests that are only entered under a condition
    paired: dict[Instruction, Instruction]  # allocation -> the release that always follows it
    wanted: frozenset[Key]
    unused: Unused  # what contributes nothing where it is not used
    cuts: Mapping[Instruction, Cut]  # what counts only where it was chosen
    fused: dict[Loop, Fusion] = field(default_factory=dict)  # loops that the reverse sweep alone runs
    scattered: dict[Loop, tuple[Collected, ...]] = field(default_factory=dict)  # loads whose adjoints are collected
    ahead: dict[Loop, Ahead] = field(default_factory=dict)  # what is computed before a strip of a loop goes back
    replayed: dict[Loop, Recurrence] = field(default_factory=dict)  # what is run again before a loop goes back
    replayed_at: dict[Loop, Loop] = field(default_factory=dict)  # the loop until whose end that is of use
    stored: dict[Instruction, Store] = field(default_factory=dict)  # values that are read again where these put them
    handed: dict[Instruction, Phi] = field(default_factory=dict)  # values that are the next elements of phis' columns
    carried: dict[Phi, Carried] = field(default_factory=dict)  # phis that are read again where a load finds them
    catches: bool = False  # do handlers go on after calls that may have left blocks on the tape?
    distant: set[Instruction] = field(default_factory=set)  # whose shadows only their distances from arguments tell

    @property
    def late(self) -> frozenset[Instruction]:
        """What is computed when the reverse sweep is done, from what fused loops have computed."""
        return frozenset(i for f in self.fused.values() for i in f.late)

    @property
    def idle(self) -> frozenset[Instruction]:
        """What puts results of fused loops where nobody looks: it is left out."""
        return frozenset(i for f in self.fused.values() for i in f.idle)

    @property
    def postponed(self) -> dict[Instruction, frozenset[int] | None]:
        """Instructions whose reverse, or the parts of it for these operands, wait for a fused loop."""
        return {i: parts for f in self.fused.values() for i, parts in f.postponed.parts.items()}

    @property
    def skipped(self) -> dict[Block, Loop]:
        """The blocks of fused loops, which the forward sweep leaves out."""
        return {b: loop for loop, f in self.fused.items() if f.checks is None for b in loop.order}

    @property
    def checked(self) -> dict[Block, frozenset[Instruction]]:
        """The blocks of fused loops that may end the program, and what the forward sweep runs to see if they do."""
        return {b: f.checks for loop, f in self.fused.items() if f.checks is not None for b in loop.order}

    def nest_of(self, slot: Slot) -> Nest:
        assert slot.loop is not None
        return next(n for n in self.nests.values() if slot in n.slots)

    @property
    def frame(self) -> list[Slot]:
        return [s for s in self.kept.values() if s.loop is None]

    def back(self, block: Block) -> Block:
        """Where the reverse sweep really goes when it goes to `block`: irrelevant loops are skipped whole."""
        loop, outermost = self.flow.loop_of(block), None
        while loop is not None:
            outermost = loop if loop not in self.loops else outermost
            loop = loop.parent
        if outermost is None:
            return block
        assert outermost.preheader is not None
        return self.back(outermost.preheader)

    def predecessors(self, block: Block) -> list[Block]:
        """Where the reverse sweep continues after `block`."""
        preds = self.flow.predecessors[block]
        loop = self.flow.loop_of(block)
        if loop is not None and loop.header is block:
            assert loop.preheader is not None and loop.latch is not None
            return [self.back(loop.preheader), self.back(loop.latch)]
        if len(preds) <= 1 or block in self.choices:
            return [self.back(p) for p in preds]
        dominator = self.flow.idom[block]
        assert dominator is not None
        return [self.back(dominator)]

    def __str__(self) -> str:
        out = [f"plan of {self.function.name} ({'split' if self.split else 'combined'})"]
        out += [f"  goes back through loops {[loop.header.name for loop in self.flow.loops if loop in self.loops]}"]
        out += [f"  choice kept or recomputed at %{b.name}" for b in self.flow.order if b in self.choices]
        out += [f"  fused, both sweeps together: loop %{loop.header.name}" for loop in self.fused]
        out += [f"  reversed after that: {', '.join(f'%{i.name}' for i in self.postponed)}"] if self.postponed else []
        for loop, loads in self.scattered.items():
            names = ", ".join(map(str, loads))
            out.append(f"  adjoints collected before they are added: loop %{loop.header.name}: {names}")
        for loop, found in self.ahead.items():
            out.append(f"  computed ahead in strips: loop %{loop.header.name}: {found}")
        for loop, again in self.replayed.items():
            names = ", ".join(f"%{p.name}" for p in again.phis)
            once = "" if (x := self.replayed_at[loop]) is loop else f", once for all of %{x.header.name}"
            out.append(f"  run again: loop %{loop.header.name}: {names}{once}")
        out += [f"  handed on, and kept once: %{v.name}, the next %{phi.name}" for v, phi in self.handed.items()]
        for nest in self.nests.values():
            out.append(f"  tape block at loop %{nest.root.header.name}{' in chunks' if nest.chunked else ''}")
            for s in nest.slots:
                per = " in ".join(f"%{x.header.name}" for x in reversed(nest.counted(s)))
                out.append(f"    column {show(s.key)}: {s.type}, per iteration of {per}")
        out += [f"  kept in the frame: {show(s.key)}: {s.type}" for s in self.frame]
        out += [f"  recomputed: {text}" for text in sorted(show(k) for k in self.recomputed)]
        return "\n".join(out)


def show(key: Key) -> str:
    """`primal %x`, `count %loop`, …"""
    kind, of = key
    match of:
        case Loop():
            return f"{kind} %{of.header.name}"
        case (Instruction() as call, int(k)):
            return f"{kind} {k} of %{call.name}"
        case _:
            return f"{kind} %{of.name}"


def loop_of(flow: Flow, key: Key) -> Loop | None:
    """The innermost loop each iteration of which has its own value of `key`."""
    match key[1]:
        case Loop() as loop:
            return loop.parent
        case Block() as block:
            return flow.loop_of(block)
        case (call, _):
            return flow.loop_of(call.block)
        case instruction:
            return flow.loop_of(instruction.block)
