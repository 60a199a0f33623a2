"""Values that a branch chooses between: the reverse sweep chooses anew, where both sides are cheap.

`m = a * b <= 0 ? 0 : …` leaves a phi where the ways meet. It need not be kept if the condition is known and what the
sides make of values from before the branch is arithmetic that does no harm where it was not asked for. Floats only:
indices and counts that are chosen anew would no longer be one value to LLVM.
"""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Flow
from llgrad.ir.types import FloatType
from llgrad.ir.values import AnyValue, Binary, Block, Branch, Call, Cast, Compare, Instruction, Phi, Select, Unary

MOST_CHOSEN = 8  # instructions of a side that was perhaps not taken
INSTRUCTIONS = tuple(f"llvm.{name}." for name in ("fabs", "copysign", "minnum", "maxnum"))
_INTEGER = tuple(f"llvm.{name}." for name in ("umax", "umin", "smax", "smin", "abs", "ctpop", "ctlz", "cttz"))
_DIVISIONS = frozenset({"fdiv", "frem", "sdiv", "udiv", "srem", "urem"})


def is_integer_instruction(call: Call) -> bool:
    """Is this an instruction on integers, written as a call?"""
    return call.called_function is not None and call.called_function.name.startswith(_INTEGER)


def choice_sides(flow: Flow, block: Block) -> tuple[Block, Block] | None:
    """(predecessor when the dominator's branch was true, predecessor when it was false), where that decides it."""
    preds, dominator = flow.predecessors[block], flow.idom[block]
    if len(preds) != 2 or dominator is None:
        return None
    branch = dominator.terminator
    if (
        not isinstance(branch, Branch)
        or len(dominator.successors()) != 2
        or flow.loop_of(dominator) is not flow.loop_of(block)
    ):
        return None
    sides = []
    for target in branch.targets:
        direct = [p for p in preds if p is dominator and target is block]
        through = [p for p in preds if target is not block and flow.dominates_edge(dominator, target, p)]
        if len(direct + through) != 1:
            return None
        sides += direct + through
    return (sides[0], sides[1]) if sides[0] is not sides[1] else None


def chosen_by(flow: Flow, phi: Phi) -> tuple[AnyValue, AnyValue, AnyValue] | None:
    """The condition that chooses between a phi's two values, and these; None where one may not be computed anyway."""
    if not isinstance(phi.type, FloatType):
        return None
    sides, dominator = choice_sides(flow, phi.block), flow.idom[phi.block]
    if sides is None or dominator is None or not isinstance(branch := dominator.terminator, Branch):
        return None
    values = [phi.incoming_from(side) for side in sides]
    assert branch.condition is not None
    chosen = (branch.condition, values[0], values[1])
    return chosen if all(_may_be_computed(flow, v, phi.block) for v in values) else None


def _may_be_computed(flow: Flow, v: AnyValue, at: Block) -> bool:
    """May `v` be computed for `at` on whatever way that was reached: cheaply, and without harm?"""
    work, steps = [v], 0
    while work:
        v = work.pop()
        if not isinstance(v, Instruction) or flow.dominates(v.block, at):
            continue
        name = v.called_function.name if isinstance(v, Call) and v.called_function is not None else ""
        cheap = isinstance(v, (Binary, Unary, Cast, Compare, Select)) and v.opcode not in _DIVISIONS
        steps += 1
        if steps > MOST_CHOSEN or not (cheap or name.startswith(("llvm.fmuladd.", "llvm.fma.", *INSTRUCTIONS))):
            return False
        work += v.arguments if isinstance(v, Call) else v.operands
    return True
