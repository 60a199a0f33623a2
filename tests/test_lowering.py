"""Lowering: what becomes simpler before a program is analysed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.frontends import compile_sources
from llgrad.llvm import LLVMModule
from llgrad.llvm.text import strip_debug
from llgrad.models import libc
from llgrad.transforms.canonical.lowering import LOWER
from llgrad.transforms.contexts import Lowering
from llgrad.transforms.pass_manager import Unit, run_passes


def lowered(text: str) -> str:
    return run_passes(Unit(LLVMModule.from_text(text)), LOWER, Lowering([])).text()


def test_every_routine_is_valid_alone() -> None:
    for name in libc.ROUTINES:
        definitions = libc.needed({name})
        text = "\n".join([*libc.DECLARATIONS, *definitions.values()])
        assert f"@{libc.PREFIX}{name}(" in LLVMModule.from_text(text).text()


def test_realloc_allocates_copies_and_frees() -> None:
    text = lowered("""
declare ptr @realloc(ptr, i64)
define ptr @grow(ptr %p, i64 %n) {
  %q = call ptr @realloc(ptr %p, i64 %n)
  ret ptr %q
}
""")
    body = text[text.index("define ptr @grow") :].partition("\n}")[0]
    assert [w for w in ("@malloc(", "@llvm.memcpy", "@free(") if w in body] == ["@malloc(", "@llvm.memcpy", "@free("]
    assert "@realloc" not in text and "@llgrad.routine" not in text


TREES = """
declare void @_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(i1, ptr, ptr, ptr)
declare ptr @_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(ptr)
define linkonce_odr void @_ZNSt3__118__tree_left_rotateB8ne220108IPNS_16__tree_node_baseIPvEEEEvT_(ptr %x) #0 {
  store ptr null, ptr %x
  ret void
}
define ptr @of_floats(ptr %x, ptr %head) {
  call void @_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(i1 true, ptr %x, ptr %head, ptr %head)
  %next = call ptr @_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(ptr %x)
  ret ptr %next
}
define void @of_text(ptr %x, ptr %head) {
  call void @_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(i1 true, ptr %x, ptr %head, ptr %head)
  call void @_ZNSt3__118__tree_left_rotateB8ne220108IPNS_16__tree_node_baseIPvEEEEvT_(ptr %x)
  ret void
}
attributes #0 = { noinline }
"""


def test_what_links_the_nodes_of_all_trees_links_those_of_one_in_each_place() -> None:
    text = lowered(TREES)
    assert not [line for line in text.splitlines() if " call " in line and ("tree" in line or "@rotate" in line)]


def test_assembly_that_does_nothing_goes_and_what_gives_new_values_stays() -> None:
    text = lowered("""
define double @tied(double %x, ptr %p, i32 %n) {
  %two = call { double, i32 } asm sideeffect "", "=x,=r,0,1,~{memory}"(double %x, i32 %n)
  call void asm sideeffect "", "~{memory}"()
  call void asm sideeffect "#begin kernel", "~{dirflag},~{fpsr},~{flags}"()
  call void asm sideeffect "", "=*r|m,0,~{memory}"(ptr elementtype(double) %p, double %x)
  call void asm "", "=*m,*m"(ptr elementtype(double) %p, ptr elementtype(double) %p)
  %y = extractvalue { double, i32 } %two, 0
  ret double %y
}
define double @untied(double %x) {
  %y = call double asm "", "=x,x"(double %x)
  ret double %y
}
define void @unset(ptr %p) {
  call void asm "", "=*m"(ptr elementtype(double) %p)
  ret void
}
""")
    tied, untied, unset = (text[text.index(f"@{name}(") :].partition("\n}")[0] for name in ("tied", "untied", "unset"))
    assert "asm" not in tied and "store double %x, ptr %p" in tied
    assert "asm" in untied and "asm" in unset


def test_counts_for_coverage_need_no_debug_info(source: Callable[..., Path]) -> None:
    modules = compile_sources([source("double f(double x) { return x * x; }")], ["--coverage"]).modules
    text = LLVMModule.read(modules[0]).text()
    assert "!llvm.gcov" in text
    assert "!llvm.gcov" not in LLVMModule.from_text(strip_debug(text)).text()


BYVAL = """
%S = type { [4 x double] }
declare double @outside(ptr byval(%S) align 8)
define internal double @inside(ptr noundef byval(%S) align 8 %s) {
start:
  store double 1.0, ptr %s
  ret double 2.0
}
define double @f(ptr %s, i1 %c) {
  %a = call double @inside(ptr byval(%S) align 8 %s)
  %b = call double @outside(ptr byval(%S) align 8 %s)
  ret double %a
}
"""
POINTED = """
define double @g(ptr %s, i1 %c) {
  %f = select i1 %c, ptr @inside, ptr @outside
  %a = call double %f(ptr byval(%S) align 8 %s)
  ret double %a
}
"""


def test_types_of_what_is_allocated_go_with_debug_info() -> None:
    text = """declare ptr @_Znwm(i64)
    define ptr @f() {
      %p = call ptr @_Znwm(i64 8), !heapallocsite !0
      ret ptr %p
    }
    !llvm.dbg.cu = !{!1}
    !llvm.module.flags = !{!3}
    !0 = !DICompositeType(tag: DW_TAG_class_type, name: "c", scope: !1, file: !2, size: 64)
    !1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !2, emissionKind: FullDebug)
    !2 = !DIFile(filename: "a.cpp", directory: "")
    !3 = !{i32 2, !"Debug Info Version", i32 3}
    """.replace("\n    ", "\n")
    assert "DICompileUnit" not in LLVMModule.from_text(strip_debug(text)).text()


def test_places_of_loops_with_hints_go_with_debug_info() -> None:
    text = """define void @f(i1 %c) !dbg !4 {
      br label %l
    l:
      br i1 %c, label %l, label %e, !llvm.loop !6
    e:
      ret void
    }
    !llvm.dbg.cu = !{!0}
    !llvm.module.flags = !{!3}
    !0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)
    !1 = !DIFile(filename: "a, b}.c", directory: "")
    !2 = !DISubroutineType(types: !{null})
    !3 = !{i32 2, !"Debug Info Version", i32 3}
    !4 = distinct !DISubprogram(name: "f", file: !1, type: !2, unit: !0, spFlags: DISPFlagDefinition)
    !5 = !DILocation(line: 4, scope: !4)
    !6 = distinct !{!6, !5, !7}
    !7 = !{!"llvm.loop.vectorize.followup_all", !5, !8}
    !8 = !{!"llvm.loop.unroll.count", i32 3}
    """.replace("\n    ", "\n")
    bare = LLVMModule.from_text(strip_debug(text)).text()
    assert "DICompileUnit" not in bare and "followup_all" in bare and "unroll.count" in bare


def test_a_function_copies_what_it_is_passed_by_value() -> None:
    text = lowered(BYVAL)
    assert text.count("byval(") == 2  # of the function that is elsewhere
    assert "%s = alloca %S, align 8" in text and "memcpy.p0.p0.i64(ptr %s, ptr %s.byval, i64 32" in text


def test_what_llvm_says_of_a_parameter_may_hold_commas() -> None:
    said = "captures(address, read_provenance) initializes((0, 8), (16, 24)) "
    text = lowered(BYVAL.replace("noundef byval(%S) align 8 ", f"noundef byval(%S) align 8 {said}"))
    assert "define internal double @inside(ptr %s.byval)" in text and text.count("byval(") == 2


def test_calls_that_may_reach_other_code_pass_by_value_as_before() -> None:
    assert lowered(BYVAL + POINTED).count("byval(") == 5


def test_a_struct_by_value_is_no_address_in_a_tail_call() -> None:
    """What is copied before a tail call may be of its caller's stack; an address may not."""
    text = lowered(BYVAL.replace("call double @inside", "tail call double @inside"))
    assert "tail call double @inside" not in text and "call double @inside(" in text


@pytest.mark.parametrize(("call", "inlined"), [("@malloc(i64 %n)", True), ("@make(i64 %n)", False)])
def test_small_functions_that_allocate_are_inlined_unless_recursive(call: str, inlined: bool) -> None:
    text = lowered(f"""
declare noalias ptr @malloc(i64)
define internal ptr @make(i64 %n) #0 {{
  %more = call ptr @malloc(i64 8)
  %p = call ptr {call}
  ret ptr %p
}}
define ptr @f(i64 %n) {{
  %p = call ptr @make(i64 %n)
  ret ptr %p
}}
attributes #0 = {{ noinline }}
""")
    body = text[text.index("define ptr @f") :].partition("\n}")[0]
    assert ("@make(" in body) is not inlined


def test_functions_that_something_is_said_of_are_not_inlined() -> None:
    text = lowered("""
declare noalias ptr @malloc(i64)
define internal ptr @make(i64 %n) #0 {
  %p = call ptr @malloc(i64 %n)
  ret ptr %p
}
define ptr @f(i64 %n) {
  %p = call ptr @make(i64 %n)
  ret ptr %p
}
attributes #0 = { noinline "enzyme_inactive" }
""")
    assert "@make(i64 %n)" in text[text.index("define ptr @f") :]


def test_library_functions_in_tables_have_bodies() -> None:
    text = lowered("""
@table = internal constant [2 x ptr] [ptr @sin, ptr @g]
declare double @sin(double)
define internal double @g(double %x) {
  %y = call double @sin(double %x)
  ret double %y
}
define double @f(i64 %n, double %x) {
  %p = getelementptr ptr, ptr @table, i64 %n
  %h = load ptr, ptr %p
  %y = call double %h(double %x)
  ret double %y
}
""")
    assert "[ptr @llgrad.called.sin, ptr @g]" in text and "define internal double @llgrad.called.sin(double" in text


def test_thread_local_variables_are_used_directly() -> None:
    text = lowered("""
@state = internal thread_local global double 0.0
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull)
define double @f(double %x) {
  %1 = call align 8 ptr @llvm.threadlocal.address.p0(ptr align 8 @state)
  %2 = load double, ptr %1
  store double %x, ptr %1
  ret double %2
}
""")
    assert "load double, ptr @state" in text and "ptr @state, align" in text and "call" not in text


_STRUCTS = """
declare {{ {0}, {1} }} @llvm.frexp.{2}.{3}({0})
declare {{ {0}, {0} }} @llvm.modf.{2}({0})
declare {{ {0}, {0} }} @llvm.sincos.{2}({0})
declare double @llvm.ldexp.f64.i32(double, i32)
declare <2 x double> @llvm.ldexp.v2f64.v2i32(<2 x double>, <2 x i32>)
define {0} @all({0} %x) {{
  %a = call {{ {0}, {1} }} @llvm.frexp.{2}.{3}({0} %x)
  %m = extractvalue {{ {0}, {1} }} %a, 0
  %e = extractvalue {{ {0}, {1} }} %a, 1
  %y = call {0} @llvm.ldexp.{2}.{3}({0} %m, {1} %e)
  %b = call {{ {0}, {0} }} @llvm.modf.{2}({0} %x)
  %f = extractvalue {{ {0}, {0} }} %b, 0
  %n = extractvalue {{ {0}, {0} }} %b, 1
  %c = call {{ {0}, {0} }} @llvm.sincos.{2}({0} %x)
  %s = extractvalue {{ {0}, {0} }} %c, 0
  %t = extractvalue {{ {0}, {0} }} %c, 1
  %p = fmul {0} %m, %y
  %q = fmul {0} %f, %n
  %r = fmul {0} %s, %t
  %u = fadd {0} %p, %q
  %v = fadd {0} %u, %r
  ret {0} %v
}}
"""


@pytest.mark.parametrize("lanes", [1, 2])
def test_intrinsics_that_return_structs(lanes: int, tmp_path: Path) -> None:
    """mantissa × value, fraction × whole number, sin × cos."""
    types = ("double", "i32", "f64", "i32") if lanes == 1 else ("<2 x double>", "<2 x i32>", "v2f64", "v2i32")
    text = _STRUCTS.format(*types)
    call = (
        "  %r = call double @all(double %x)"
        if lanes == 1
        else (
            "  %w = insertelement <2 x double> <double 1.5, double 3.0>, double %x, i64 0\n"
            "  %z = call <2 x double> @all(<2 x double> %w)\n  %r = extractelement <2 x double> %z, i64 0"
        )
    )
    path = tmp_path / "structs.ll"
    path.write_text(f"{text}\ndefine double @f(double %x) {{\n{call}\n  ret double %r\n}}\n")
    df = llgrad.grad(llgrad.load(path).f)
    for x in (2.3, -5.4, 0.3):
        mantissa, _ = math.frexp(x)
        assert df(x) == pytest.approx(2 * mantissa + math.trunc(x) + math.cos(2 * x), rel=1e-14)


WORDS = """
define double @f(ptr noundef %x, i64 noundef %tag, i1 noundef %other) {{
entry:
  %word = {made}
  %v = load double, ptr %x, align 8
  switch i64 %tag, label %float [
    i64 0, label %pointer
    i64 1, label %number
  ]
pointer:
  %second = getelementptr i8, ptr %x, i64 8
  store ptr %second, ptr %word, align 8
  br label %read
number:
  store i64 2, ptr %word, align 8
  br label %read
float:
  %square = fmul double %v, %v
  store double %square, ptr %word, align 8
  br label %read
read:
  %p = load ptr, ptr %word, align 8, !noundef !0
  {moved}
  switch i64 %tag, label %is.float [
    i64 0, label %is.pointer
    i64 1, label %is.number
  ]
is.pointer:
  %behind = load double, ptr %p, align 8
  br label %end
is.number:
  %at = getelementptr double, ptr %x, i64 %i
  %found = load double, ptr %at, align 8
  br label %end
is.float:
  %float.of = bitcast i64 %i to double
  br label %end
end:
  %r = phi double [ %behind, %is.pointer ], [ %found, %is.number ], [ %float.of, %is.float ]
  %s = fmul double %r, %v
  ret double %s
}}
declare noalias ptr @malloc(i64)
!0 = !{{}}
"""


@pytest.mark.parametrize("made", ["call ptr @malloc(i64 8)", "alloca [8 x i8], align 8"])
def test_words_that_are_floats_pointers_and_numbers_by_turns(made: str, tmp_path: Path) -> None:
    """As compilers copy unions, what is loaded as a pointer, and chosen from such, may be a float."""
    path, x = tmp_path / "words.ll", np.array([0.7, -0.4, 1.3])
    chosen = "%q = select i1 %other, ptr %x, ptr %p\n  %i = ptrtoint ptr %q to i64"
    for moved in ("%i = ptrtoint ptr %p to i64", chosen):
        path.write_text(WORDS.format(made=made, moved=moved))
        f = llgrad.load(path, optimize=0).f
        for tag, truth in enumerate(([x[1], x[0], 0], [x[2], 0, x[0]], [3 * x[0] ** 2, 0, 0])):
            np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x, tag, 0), truth, rtol=1e-14, atol=0)


def test_words_that_are_kept_as_pointers_and_read_as_floats(tmp_path: Path) -> None:
    """What passes of LLVM leave at O1 of a union that is copied: a variable of pointer type, read as a float."""
    path = tmp_path / "kept.ll"
    moved = "%i = ptrtoint ptr %p to i64\n  store ptr %p, ptr %kept, align 8"
    text = WORDS.format(made="call ptr @malloc(i64 8)\n  %kept = alloca ptr, align 8", moved=moved)
    path.write_text(text.replace("bitcast i64 %i to double", "load double, ptr %kept, align 8"))
    x, f = np.array([0.7, -0.4, 1.3]), llgrad.load(path, optimize=0).f
    for tag, truth in enumerate(([x[1], x[0], 0], [x[2], 0, x[0]], [3 * x[0] ** 2, 0, 0])):
        np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x, tag, 0), truth, rtol=1e-14, atol=0)
