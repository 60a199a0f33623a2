"""LLVM's optimiser before differentiation: short loops unrolled, borders of stencils peeled, tests of loops whole."""

from __future__ import annotations

from llgrad.analysis.memory.call_effects import MET
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.llvm import LLVMModule, strip_attributes
from llgrad.llvm.text import without_switch_tables
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

    No `switch` becomes a table of functions, which would be a derivative's. `formed`: loops have their form already.
    """
    tables = MET not in (text := put_in_form(work, formed))
    marked = mark_short_loops(parse(text)) if may_have_short_loops(text) else ""
    if marked or not tables:
        work.replace_text((marked or text) if tables else without_switch_tables(marked or text))
    work, module = _optimised_in_loops(work, level)
    if not tables:
        work.strip_attributes(["no-jump-tables"])
        module = None
    return work, module


def _optimised_in_loops(work: LLVMModule, level: int) -> tuple[LLVMModule, Module | None]:
    """… borders of stencils peeled, tests of loops whole, short loops unrolled that show only now."""
    before = work.as_part()
    work.optimise(level, vectorize=False, unroll=False)
    module = parse(put_in_form(work))
    if whole := has_split_tests(module):
        work = LLVMModule.of_part(before)
        work.optimise(level, vectorize=False, unroll=False, tests_whole=True)
        module = parse(put_in_form(work))
    if stencils := peel.has_borders(module):
        early = LLVMModule.of_part(before)
        if peel.peel_borders(early, peel.EARLY):
            work = early
            work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
        if peel.peel_borders(work, peel.LATE):
            work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
        module = parse(put_in_form(work))
    if marked := mark_short_loops(module):
        work.replace_text(marked)
        work.optimise(level, vectorize=False, unroll=False, loads_apart=stencils, tests_whole=whole)
        return work, None
    return work, module
