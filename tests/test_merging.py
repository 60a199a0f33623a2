"""Equal expressions on all ways to a block become one there, and only those; tests that end loops stay one."""

from __future__ import annotations

import ctypes

import pytest
from cases import FOLDER, read_program
from harness import compiled, prepared

from llgrad.analysis.memory.access_ranges import extents
from llgrad.execution.entry import Code
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.llvm.codegen import emit_jit_object
from llgrad.transforms.floatbits.undo_pre import has_equal_ways, has_split_tests
from llgrad.transforms.floatbits.undo_pre import merged as merge

WAYS = """
define i64 @f(i64 %a, i64 %b, ptr %p) {{
entry:
  %c = icmp sgt i64 %a, %b
  br i1 %c, label %left, label %right

left:
  %x = {left}
  %u = mul i64 %x, 3
  br label %end

right:
  %own = sub i64 %a, %b
  %y = {right}
  br label %end

end:
  %z = phi {type} [ %x, %left ], [ %y, %right ]
  %w = phi i64 [ %u, %left ], [ 5, %right ]
  {number}
  %r = add i64 %n, %w
  ret i64 %r
}}
"""
NUMBER, POINTER = "%n = add i64 %z, 0", "%n = ptrtoint ptr %z to i64"
SAME = {
    "sums": ("add nsw i64 %a, 1", "add nuw nsw i64 %a, 1", "add nsw i64 %a, 1"),
    "products": ("mul nuw i64 %a, %b", "mul nsw i64 %a, %b", "mul i64 %a, %b"),
    "of parts": ("or disjoint i64 %a, 1", "or i64 %a, 1", "or i64 %a, 1"),
}
OTHER = {
    "another operand": ("add i64 %a, 1", "add i64 %b, 1"),
    "another operation": ("add i64 %a, 1", "sub i64 %a, 1"),
    "of what one way makes": ("add i64 %a, 1", "add i64 %own, 1"),
    "what may trap": ("sdiv i64 %a, %b", "sdiv i64 %a, %b"),
    "what may change": ("load i64, ptr %p", "load i64, ptr %p"),
    "flags in names": ("mul i64 %b, %a", "mul nsw i64 %a, %b"),
}


def text(left: str, right: str, type: str = "i64", number: str = NUMBER) -> str:
    return WAYS.format(left=left, right=right, type=type, number=number)


def outcomes(source: str) -> list[int]:
    work = LLVMModule.from_text(source)
    code = Code(emit_jit_object(work))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(code.addresses["f"])
    return [function(a, b, None) for a, b in ((1, 2), (2, 1), (-7, 3), (4, 4))]


def merged(text: str) -> str:
    """What LLVM prints of what becomes of the text."""
    module = parse(LLVMModule.from_text(text).text())
    changed = merge(module)
    assert changed is has_equal_ways(text)
    return LLVMModule.from_text(write(module)).text() if changed else text


@pytest.mark.parametrize("name", SAME)
def test_equal(name: str) -> None:
    left, right, both = SAME[name]
    before = text(left, right)
    after = merged(before)
    assert f"  %z = {both}\n" in after
    assert outcomes(before) == outcomes(after)


def test_addresses() -> None:
    way = "getelementptr inbounds double, ptr %p, i64 %a"
    before = text(way, way.replace("inbounds ", ""), "ptr", POINTER).replace("mul i64 %x, 3", "mul i64 %b, 3")
    after = merged(before)
    assert "  %z = getelementptr double, ptr %p, i64 %a\n" in after
    LLVMModule.from_text(after)


@pytest.mark.parametrize("name", OTHER)
def test_others(name: str) -> None:
    before = text(*OTHER[name])
    LLVMModule.from_text(before)
    assert merged(before) == before


def test_phis_stay_first_and_chains_end() -> None:
    before = text("add i64 %a, 1", "add i64 %a, 1").replace("[ 5, %right ]", "[ %v, %right ]")
    before = before.replace("%y = add i64 %a, 1\n", "%y = add i64 %a, 1\n  %v = mul i64 %y, 3\n")
    after = merged(before)
    assert after.count(" = phi ") == 1  # the products are of different names
    assert after.index(" = phi ") < after.index("%z = add")
    assert outcomes(before) == outcomes(after)


def test_bounds_are_known() -> None:
    """Where the accesses of a trajectory lie is known at its function's entry."""
    program = read_program(FOLDER / "rows_of_history.c")
    module = parse(prepared(compiled([program.path]), [program], 2))
    root = module.function(program.name)
    assert len(extents(module, root).touched) == 2


def test_loops_end_at_one_place() -> None:
    """Layers are counted although a sum over as many elements follows them."""
    program = read_program(FOLDER / "layers_then_sum.c")
    work = compiled([program.path]).clone()
    work.optimise(2)
    assert has_split_tests(parse(work.text()))
    module = parse(prepared(compiled([program.path]), [program], 2))
    assert not has_split_tests(module)
    assert len(extents(module, module.function(program.name)).touched) == 1


def test_behind_what_catches() -> None:
    """A block that catches begins with phis and a `landingpad`."""
    code = """
declare void @may_throw()
declare i32 @__gxx_personality_v0(...)
define i64 @f(i64 %a, i64 %b) personality ptr @__gxx_personality_v0 {
entry:
  %c = icmp sgt i64 %a, %b
  br i1 %c, label %left, label %right

left:
  %x = add i64 %a, 1
  invoke void @may_throw() to label %end unwind label %caught

right:
  %y = add i64 %a, 1
  invoke void @may_throw() to label %end unwind label %caught

end:
  ret i64 %b

caught:
  %z = phi i64 [ %x, %left ], [ %y, %right ]
  %pad = landingpad { ptr, i32 }
          cleanup
          catch ptr null
  ret i64 %z
}
"""
    found = merged(LLVMModule.from_text(code).text())
    LLVMModule.from_text(found).verify()
    assert found.index("catch ptr null") < found.index("%z = add i64 %a, 1")
