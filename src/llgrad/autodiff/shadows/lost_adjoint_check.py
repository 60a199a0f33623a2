"""Gradients that nobody could find: in the shadow of memory of the caller's that the program replaces by other.

A buffer of the caller's that grows is released, and its owner is given one that the program allocates; the owner's
shadow follows. Adjoints of what lay in the old buffer come to its shadow, to which nothing leads any more, and so do
adjoints that the caller has put there. At the end of the reverse sweep there must be none (`tape.watch`).
"""

from __future__ import annotations

from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.ir.build import i64
from llgrad.ir.module import Module
from llgrad.ir.types import I64, ArrayType, FloatType
from llgrad.ir.values import AnyValue, ConstAggregate, GlobalVariable
from llgrad.models.effects import RELEASES, Deallocator

_EXPONENTS = {"double": (6, 0x7FF0), "float": (2, 0x7F80), "half": (0, 0x7C00), "bfloat": (0, 0x7F80)}
_EXPONENTS |= {"x86_fp80": (8, 0x7FFF), "fp128": (14, 0x7FFF)}
"""format → (offset of the two bytes with the exponent, its bits in them)"""


def watched(facts: Facts, module: Module, known: Deallocator, freed: AnyValue) -> GlobalVariable | None:
    """What `tape.watch` is told of memory that is released, where it must be watched: which floats lie there."""
    if known.family not in RELEASES.values() or facts.runtime_activity or not _is_replaced(facts, freed):
        return None
    stride, floats = _floats(facts, freed)
    if not floats:
        return None
    told = [stride, len(floats)]
    for offset, t in floats:
        at, bits = _EXPONENTS[t.name]
        told += [offset + at, bits]
    name = f"llgrad.floats.{'.'.join(map(str, told))}"
    if (made := module.globals.get(name)) is None:
        type = ArrayType(I64, len(told))
        made = GlobalVariable(name, type, ConstAggregate(type, tuple(map(i64, told))), constant=True)
        made.linkage = "internal"
        module.add(made)
    assert isinstance(made, GlobalVariable)
    return made


def _floats(facts: Facts, freed: AnyValue) -> tuple[int, list[tuple[int, FloatType]]]:
    """After how many bytes what lies there repeats, and where floats lie in so many."""
    layout = facts.kinds.memory(freed, None)
    if layout.stride is not None and layout.is_known:
        return layout.stride, [(offset, kind.format) for offset, kind, _ in layout.leaves if kind.format is not None]
    match [*facts.memory.accessed_as(facts.memory.points_to(freed))]:
        case [FloatType() as only]:
            return facts.layout.alloc_size(only), [(0, only)]
    return 0, []


def _is_replaced(facts: Facts, freed: AnyValue) -> bool:
    """May it be a block of the caller's in whose place the program has put one that it allocates, for good?"""
    memory, active = facts.memory, facts.activity.active_objects
    old = {o for o in memory.points_to(freed) & active if o.is_external and o not in facts.kept}
    if not old:
        return False
    owners = [memory.contents(o) for o in memory.objects if o.is_external]
    return any(old & held and any(o.kind == "heap" and o in active for o in held) for held in owners)
