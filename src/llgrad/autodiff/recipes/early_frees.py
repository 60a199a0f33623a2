"""Memory that the forward sweep releases where the primal does: what no reverse sweep reads again.

Releases are postponed as a rule, so that the reverse sweep may load again what was there. Which memory it may read is
found before any plan is made: by the loads in the backward slices, along SSA values, of all that a reverse sweep may
ask for (`reverse_uses`), and of all conditions. What the memory of a released block is taken for next is another
object.
"""

from __future__ import annotations

from llgrad.analysis.activity.graph import declares_inactive, has_rule
from llgrad.analysis.memory.mod_ref import MemoryObject
from llgrad.analysis.solver import reach
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import CallBody, effect, needs
from llgrad.ir.values import Call, Function, Instruction, Load, Store
from llgrad.models.effects import TAPE


def at_once(facts: Facts, i: Instruction) -> bool:
    """May the forward sweep release what `i` releases? (Addresses that are used again mean other memory.)"""
    known = facts.effects(i) if isinstance(i, Call) else None
    if facts.runtime_activity or known is None or known.deallocator is None or known.deallocator.family == TAPE:
        return False
    objects = facts.memory.points_to(i.operands[known.deallocator.pointer])
    if facts.checkpointed and any(_of_root(facts, o) for o in objects):
        return False
    return bool(objects) and all(o.kind == "heap" for o in objects) and objects.isdisjoint(_read_back(facts))


def _of_root(facts: Facts, o: MemoryObject) -> bool:
    """Is it memory that steps which are run again may use? Not what a step allocates."""
    return not isinstance(o.site, Instruction) or o.site.block.function is facts.root


def _read_back(facts: Facts) -> frozenset[MemoryObject]:
    """What a reverse sweep may read, or what a fused loop, which runs then, may touch."""
    if facts.read_back is None:
        found: set[MemoryObject] = set()
        for f in facts.memory.functions:
            if not f.is_declaration and _has_derivative(facts, f):
                found |= _read_by(facts, f)
        for i in facts.root.instructions() if not facts.root.is_declaration and not facts.apart else ():
            if isinstance(i, (Load, Store)) and facts.flow(facts.root).loop_of(i.block) is not None:
                found |= {o for a in (*facts.memory.reads(i), *facts.memory.writes(i)) for o in a.objects}
        facts.read_back = frozenset(found)
    return facts.read_back


def _has_derivative(facts: Facts, f: Function) -> bool:
    if declares_inactive(f.attributes) or has_rule(f):
        return False
    calls = (i for i in f.instructions() if isinstance(i, Call))
    if any(map(facts.shadowed, f.arguments)) or any(map(facts.activity.active_call, calls)):
        return True
    return any(facts.active(i) or any(map(facts.shadowed, (i, *i.operands))) for i in f.instructions())


def _read_by(facts: Facts, f: Function) -> set[MemoryObject]:
    """What the reverse sweep of `f` may read, and user's rules that it calls."""
    flow, asked, found = facts.flow(f), list[Instruction](), set[MemoryObject]()
    for i in (i for b in flow.order if flow.reaches_return(b) for i in b.instructions):
        e = effect(facts, i, f is not facts.root or facts.apart)
        of = (key[1][0] if isinstance(key[1], tuple) else key[1] for key in needs(facts, i, e))
        asked += [v for v in of if isinstance(v, Instruction)]
        if isinstance(e, CallBody) and any(map(has_rule, e.callees)):
            given = {o for v in i.operands for o in facts.memory.points_to(v)}
            found |= set(reach(given, facts.memory.contents))
        if i.is_terminator and i.opcode != "ret":
            asked += [v for v in i.operands if isinstance(v, Instruction)]
    for i in reach(asked, lambda x: [v for v in x.operands if isinstance(v, Instruction)]):
        if isinstance(i, Load):
            found |= {o for a in facts.memory.reads(i) for o in a.objects}
    return found
