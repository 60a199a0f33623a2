"""LLVM's optimiser before differentiation: short loops unrolled, borders of stencils peeled, tests of loops whole."""

from __future__ import annotations

from llgrad.analysis.memory.call_effects import MET
from llgrad.llvm import LLVMModule, strip_attributes
from llgrad.transforms.canonical.lowering import unshared
from llgrad.transforms.contexts import Preparation
from llgrad.transforms.floatbits.undo_pre import has_split_tests
from llgrad.transforms.loops import peel
from llgrad.transforms.loops.unroll import are_simplified, in_form, mark_short_loops
from llgrad.transforms.pass_manager import Unit

SIZE_FIRST = ("optsize", "minsize")


def for_speed(text: str) -> str:
    """What is differentiated loses -Os and -Oz, under which LLVM leaves loops as they are written.

    define void @f(ptr %x) optsize   ->    define void @f(ptr %x)
    """
    return strip_attributes(text, SIZE_FIRST) if any(name in text for name in SIZE_FIRST) else text


def note_form(unit: Unit, c: Preparation) -> bool:
    """Note the text in which loops have their form (`unroll.LOOP_FORM`)."""
    c.formed = unit.text()
    return False


def optimise(unit: Unit, c: Preparation) -> bool:
    """LLVM's optimiser, short loops unrolled; again where atomic operations became ordinary ones."""
    work, simplified = _optimised(unit.llvm(), c.level, unit.text() == c.formed)
    if unshared(work):
        work, simplified = _optimised(work, c.level)
    c.formed = work.text() if simplified and work.is_printed else ""
    return unit.put(work)


def _optimised(work: LLVMModule, level: int, formed: bool = False) -> tuple[LLVMModule, bool]:
    """`work` optimised for differentiation, and whether its loops have their form (`unroll.LOOP_FORM`) then.

    No `switch` becomes a table of functions, which would be a derivative's. `formed`: they have it already.
    """
    tables = MET not in work.text()
    if not tables:
        work.without_switch_tables()
    work, simplified = _optimised_in_loops(work, level, formed and tables)
    if not tables:
        work.strip_attributes(["no-jump-tables"])
    return work, simplified


def _optimised_in_loops(work: LLVMModule, level: int, formed: bool) -> tuple[LLVMModule, bool]:
    """… short loops unrolled, borders of stencils peeled, tests of loops whole."""
    mark_short_loops(work, in_form(work, formed))
    before = work.clone()
    work.optimise(level, vectorize=False, unroll=False)
    module = in_form(work)
    if whole := has_split_tests(module):
        work = before.clone()
        work.optimise(level, vectorize=False, unroll=False, tests_whole=True)
        module = in_form(work)
    stencils = peel.has_borders(module)
    if stencils and peel.peel_borders(before, peel.EARLY):
        work = before
        work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
    if stencils and peel.peel_borders(work, peel.LATE):
        work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
    module = in_form(work) if stencils else module
    if mark_short_loops(work, module):
        work.optimise(level, vectorize=False, unroll=False, loads_apart=stencils, tests_whole=whole)
        return work, False
    return work, are_simplified(module)
