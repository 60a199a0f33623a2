"""Recurrences that the reverse sweep runs again, forwards, instead of taking them from the tape.

The factors of a Fourier transform (`w = w * root`) are made by a short recurrence. Going backwards, it cannot be
computed from what is at hand; but where the reverse sweep enters the loop, it runs the recurrence alone, from the
start, into columns that live until the loop has been left. The tape keeps nothing of all the other times the loop ran.
Where it is the same in all iterations of a loop around, as in the blocks of one stage of the transform, it is run when
the first of these is entered, and again only for one that is longer than all before.

Only innermost loops of one block and of known count, which push nothing on the stack; only a few steps of arithmetic.
A loop of the root that is in no other runs once: its values would be as many.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import Effect, Linear, Memory, Nothing, Partials
from llgrad.ir.types import IntType, is_float
from llgrad.ir.values import AnyValue, Binary, Call, Cast, Function, Instruction, Phi, Unary, Undef

MOST_STEPS = 8
_STEP = 2  # what one costs
_PASSED_ON = 4  # stored and loaded
_ARITHMETIC = frozenset({
    "fadd", "fsub", "fmul", "fneg", "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr",
})  # fmt: skip
SIMPLE = (Nothing, Linear, Partials, Memory)  # effects that push nothing on the tape
_CALLS = ("llvm.fmuladd.", "llvm.fma.", "llvm.fabs.")


class Recurrence(Struct, frozen=True):
    """`phis` go from iteration to iteration, by `steps`, in their order."""

    phis: tuple[Phi, ...]
    steps: tuple[Instruction, ...]

    @property
    def cost(self) -> int:
        """Of one of the phis, in one iteration."""
        return _PASSED_ON + _STEP * len(self.steps) // len(self.phis)

    def inputs(self, loop: Loop) -> list[AnyValue]:
        """What is taken from outside the loop."""
        assert loop.preheader is not None
        found = [phi.incoming_from(loop.preheader) for phi in self.phis]
        used = (v for i in (*self.steps, *self.phis) for v in i.operands)
        return [*found, *(v for v in used if isinstance(v, Instruction) and v not in loop)]


def recurrence(
    facts: Facts, function: Function, flow: Flow, effects: Mapping[Instruction, Effect], phi: Phi
) -> Recurrence | None:
    """How `phi` is run again; None where it is not."""
    loop = flow.loop_of(phi.block)
    if loop is None or loop.header is not phi.block or loop.children or len(loop.order) != 1 or facts.apart:
        return None
    if loop.parent is None and function is facts.memory.root:
        return None
    inside = phi.block.instructions
    pushes = any(not isinstance(effects.get(i, Nothing()), SIMPLE) for i in inside)
    if pushes or facts.loop(function, loop).count is None or loop.preheader is None or loop.latch is None:
        return None
    found: set[Instruction] = {phi}
    work: list[AnyValue] = [phi.incoming_from(loop.latch)]
    while work:
        v = work.pop()
        if not isinstance(v, Instruction) or v not in loop or v in found:
            continue
        if isinstance(v, Phi):
            work.append(v.incoming_from(loop.latch))
        elif _is_step(v):
            work += v.operands[: v.arity] if isinstance(v, Call) else v.operands
        else:
            return None
        found.add(v)
    phis = tuple(i for i in inside if i in found and isinstance(i, Phi))
    steps = tuple(i for i in inside if i in found and not isinstance(i, Phi))
    plain = all(is_float(p.type) or isinstance(p.type, IntType) for p in phis)
    known = not any(isinstance(p.incoming_from(loop.preheader), Undef) for p in phis)
    return Recurrence(phis, steps) if plain and known and len(steps) <= MOST_STEPS else None


def lasting(
    effects: Mapping[Instruction, Effect], loop: Loop, found: Recurrence, around: Collection[Loop],
    pushes: Collection[Loop],
) -> Loop:  # fmt: skip
    """The outermost loop `around`, in all iterations of which the recurrence of `loop` is the same.

    Nothing else may push or pop there; loops that `pushes` names do, at their entries and exits.
    """
    place = loop
    while (outer := place.parent) is not None and outer in around:
        simple = all(isinstance(effects.get(i, Nothing()), SIMPLE) for b in outer.order for i in b.instructions)
        others = any(map(outer.encloses, pushes))
        if not simple or others or any(v in outer for v in found.inputs(loop)):
            break
        place = outer
    return place


def _is_step(i: Instruction) -> bool:
    if isinstance(i, Call):
        return i.called_function is not None and i.called_function.name.startswith(_CALLS)
    return isinstance(i, (Binary, Unary)) and i.opcode in _ARITHMETIC or isinstance(i, Cast)
