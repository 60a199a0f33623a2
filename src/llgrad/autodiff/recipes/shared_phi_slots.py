"""Values that one iteration hands to the next, and both need: kept once.

The reverse of an integrator's step needs the state at its beginning, a phi of the loop's header, and often the one at
its end, which the latch hands to the phi. Where the minimum cut would keep both, the phi's column gets one element
more: the first is stored before the loop; each iteration stores what it hands on as the next, and reads it there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.autodiff.facts.reverse_uses import Key
from llgrad.autodiff.recipes.min_cut import Choice
from llgrad.ir.values import Instruction, Phi


def handed_on(
    flow: Flow, loops: Iterable[Loop], kept: Collection[Key], nodes: Mapping[Key, Choice]
) -> dict[Instruction, Phi]:
    """What is handed on in `loops`, and the phis it becomes, which nothing but a column can give."""
    found: dict[Instruction, Phi] = {}
    for loop in loops:
        keys = ((phi, ("primal", phi)) for phi in loop.header.phis())
        phis = [phi for phi, key in keys if key in kept and nodes[key].recompute is None]
        for phi in phis:
            assert loop.latch is not None
            v = phi.incoming_from(loop.latch)
            inside = isinstance(v, Instruction) and flow.loop_of(v.block) is loop and not v.is_terminator
            if isinstance(v, Instruction) and inside and v not in phis and ("primal", v) in kept:
                found.setdefault(v, phi)
    return found
