"""First and last iterations of stencils, apart before differentiation: where they are, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import FOLDER, read_program
from harness import compiled, prepared

from llgrad.ir.parse import parse
from llgrad.ir.values import Select
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.transforms.loops.peel import LATE, has_borders, peel_borders
from llgrad.transforms.loops.unroll import mark_short_loops, may_have_short_loops, put_in_form
from llgrad.transforms.optimise.normal_form import NORMAL_FORM

LOOP = """
define double @f(ptr %x, i64 %n, i64 %m) {{
entry:
  %before = add i64 %n, -1
  br label %loop
loop:
  %i = phi i64 [ {start}, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %more, %loop ]
  %next = add {flags} i64 %i, 1
  %c = icmp {c}
  %at = select i1 %c, i64 %m, i64 %i
  %p = getelementptr double, ptr %x, i64 %at
  %v = load double, ptr %p
  {call}
  %more = fadd double %sum, %v
  %go = icmp {go}
  br i1 %go, label %loop, label %end
end:
  ret double %more
}}
declare void @g() {attributes}
"""
USUAL = {
    "start": "0", "c": "eq i64 %i, 0", "flags": "nuw nsw", "go": "ne i64 %next, %n", "call": "",
    "attributes": "nounwind",
}  # fmt: skip
PEELED = {
    "first": {},
    "first, counted down": {"c": "ult i64 %i, 1"},
    "first of any": {"start": "%m", "c": "ne i64 %m, %i"},
    "last": {"c": "eq i64 %next, %n"},
    "last, signed": {"c": "slt i64 %next, %n", "go": "slt i64 %next, %n"},
    "last, before": {"c": "sge i64 %i, %before"},
    "harmless call": {"call": "call void @g()", "attributes": "nounwind willreturn"},
}
LEFT = {
    "second": {"c": "eq i64 %i, 1"},
    "may wrap": {"flags": ""},
    "last, may wrap": {"c": "ult i64 %next, %n", "flags": "nsw"},
    "any": {"c": "eq i64 %i, %m"},
    "start of another": {"start": "%n", "c": "eq i64 %i, %m"},
    "beyond": {"c": "ugt i64 %i, 0", "start": "1"},
    "may not return": {"call": "call void @g()"},
}


def loop(words: dict[str, str]) -> LLVMModule:
    return LLVMModule.from_text(LOOP.format(**(USUAL | words)))


@pytest.mark.parametrize("name", PEELED)
def test_peeled(name: str) -> None:
    assert has_borders(parse(put_in_form(loop(PEELED[name]))))


@pytest.mark.parametrize("name", LEFT)
def test_left(name: str) -> None:
    assert not has_borders(parse(put_in_form(loop(LEFT[name]))))


def test_nothing_to_peel_changes_nothing() -> None:
    work = loop(LEFT["second"])
    assert not peel_borders(work, LATE)


@pytest.mark.parametrize("name", ["peeled_rings", "peeled_clamped", "peeled_late", "collected_stencil"])
def test_inner_loops_choose_no_address(name: str) -> None:
    program = read_program(FOLDER / f"{name}.c")
    work = LLVMModule.from_text(prepared(compiled([program.path]), [program], 2))
    work.run(NORMAL_FORM)
    assert not has_borders(parse(put_in_form(work)))
    module = parse(work.text())
    blocks = [b for f in module.functions if not f.is_declaration for b in f.blocks if b in b.successors()]
    assert not [i for b in blocks for i in b.instructions if isinstance(i, Select)], write(module)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.c"))[::12], ids=lambda p: p.stem)
def test_short_loops_are_where_the_text_says_that_they_may_be(path: Path) -> None:
    work = compiled([path])
    work.run(["sroa", "sccp", "dce"])
    text = put_in_form(work)
    assert may_have_short_loops(text) or not mark_short_loops(parse(text))


def test_a_loop_to_a_number_that_is_not_known_is_not_looked_at() -> None:
    counted = "  %i = phi i32 [ 0, %entry ], [ %next, %body ]\n  %c = icmp slt i32 %i, {}, !dbg !3\n}}\n"
    assert may_have_short_loops(counted.format("3"))
    assert not may_have_short_loops(counted.format("%n"))
