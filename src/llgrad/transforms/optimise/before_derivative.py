"""LLVM's optimiser before differentiation: short loops unrolled, borders of stencils peeled, tests of loops whole."""

from __future__ import annotations

from llgrad.analysis.memory.call_effects import MET
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.llvm import LLVMModule, strip_attributes
from llgrad.transforms.canonical.lowering import unshared
from llgrad.transforms.contexts import Preparation
from llgrad.transforms.floatbits.undo_pre import has_split_tests
from llgrad.transforms.loops import peel
from llgrad.transforms.loops.unroll import are_simplified, mark_short_loops, may_have_short_loops, put_in_form
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
    work, module = _optimised(unit.llvm(), c.level, unit.text() == c.formed)
    if unshared(work):
        work, module = _optimised(work, c.level)
    if module is None or not work.is_printed:
        c.formed = ""
        return unit.put(work)
    c.formed = work.text() if are_simplified(module) else ""
    return unit.put_all(work, module)


def _optimised(work: LLVMModule, level: int, formed: bool = False) -> tuple[LLVMModule, Module | None]:
    """`work` optimised for differentiation, and it as our module where that is known.

    No `switch` becomes a table of functions, which would be a derivative's. `formed`: they have it already.
    """
    tables = MET not in work.text()
    if not tables:
        work.without_switch_tables()
    work, module = _optimised_in_loops(work, level, formed and tables)
    if not tables:
        work.strip_attributes(["no-jump-tables"])
        module = None
    return work, module


def _optimised_in_loops(work: LLVMModule, level: int, formed: bool) -> tuple[LLVMModule, Module | None]:
    """… short loops unrolled, borders of stencils peeled, tests of loops whole."""
    if may_have_short_loops(text := put_in_form(work, formed)):
        mark_short_loops(work, parse(text))
    before = work.clone()
    work.optimise(level, vectorize=False, unroll=False)
    module = parse(put_in_form(work))
    if whole := has_split_tests(module):
        work = before.clone()
        work.optimise(level, vectorize=False, unroll=False, tests_whole=True)
        module = parse(put_in_form(work))
    stencils = peel.has_borders(module)
    if stencils and peel.peel_borders(before, peel.EARLY):
        work = before
        work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
    if stencils and peel.peel_borders(work, peel.LATE):
        work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
    module = parse(put_in_form(work)) if stencils else module
    if mark_short_loops(work, module):
        work.optimise(level, vectorize=False, unroll=False, loads_apart=stencils, tests_whole=whole)
        return work, None
    return work, module
