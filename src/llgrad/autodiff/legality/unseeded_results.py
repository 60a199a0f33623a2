"""Results that no adjoint can be given to: in memory which the function itself allocates and leaves to its caller.

`*y = f(*x)` with a std::vector that is returned by value moves: the caller's `y` gets other memory, and so does its
shadow, when the derivative runs. In one call of both sweeps nobody can have put adjoints there; what the caller had
put into the shadow's memory belongs to numbers that no longer exist. Where all results are of that kind the derivative
would be zero.
"""

from __future__ import annotations

from llgrad.analysis.activity.graph import has_rule
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.requests.request import Mode, Request
from llgrad.errors import SeedError
from llgrad.ir.values import Call, Instruction, Store


def refuse_unseeded(facts: Facts, root: Request) -> bool:
    """Raise a SeedError where the derivative in one call would be zero, whatever the caller seeds.

    Returns whether there is such memory beside other results, or what unoptimised code lets appear as such.
    """
    if root.mode is not Mode.COMBINED or root.result.seeded or root.runtime_activity:
        return False
    new = [o for o in facts.activity.active_objects if o.kind == "heap" and facts.memory.escapes(o)]
    if not new or any(_is_result(facts, i) for f in facts.memory.functions for i in f.instructions()):
        return bool(new)
    site = min(new, key=str).site
    raise SeedError(
        f"all results of {facts.root.name} lie in memory that it allocates itself, and leaves to its caller",
        span=facts.span(site) if isinstance(site, Instruction) else None,
        cause="the shadow of that memory is new, too, when the derivative runs: no adjoint can be put there before",
        fix="copy the results into memory that the caller brings, instead of moving a container into it; "
        "or seed the new shadow between __enzyme_augmentfwd and __enzyme_reverse",
    )


def _is_result(facts: Facts, i: Instruction) -> bool:
    """May it write active floats into memory that the caller brings?"""
    shadowed = facts.activity.shadowed_objects
    if not any(o.is_external for a in facts.memory.writes(i) for o in a.objects & shadowed):
        return False
    if isinstance(i, Store):
        return facts.active(i.value)
    if not isinstance(i, Call):
        return True
    if i.called_function is not None and i.called_function.name.startswith("llvm.memset."):
        return False
    followed = facts.memory.functions
    return any(f is None or f.is_declaration or f not in followed or has_rule(f) for f in facts.memory.callees(i))
