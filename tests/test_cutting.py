"""What is cut out of a program before it is prepared: functions and debug info that nothing needs."""

from __future__ import annotations

import re

from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import without_idle_metadata
from llgrad.transforms.symbols import extraction

PROGRAM = """
@kept = global i32 3
@table = internal constant [1 x ptr] [ptr @named]
%entry = type { i32, ptr, ptr }
@llvm.global_ctors = appending global [1 x %entry] [%entry { i32 65535, ptr @constructor, ptr null }]
@llgrad.registered.inactivefn.0 = global ptr @told
define internal double @root(double %x) {
  %f = load ptr, ptr @table
  %y = call double @used(double %x)
  ret double %y
}
define linkonce_odr double @used(double %x) {
  ret double %x
}
define internal double @named(double %x) {
  ret double %x
}
define double @told(double %x) {
  ret double %x
}
define weak double @weak(double %x) {
  ret double %x
}
define double @idle(double %x) {
  %y = call double @root(double %x)
  ret double %y
}
define internal void @constructor() {
  ret void
}
"""


def linkages(text: str) -> dict[str, str]:
    """The functions that a text defines, and their linkage."""
    found = re.finditer(r"^define ([a-z_ ]*?)(?:double|void) @([\w.]+)\(", text, re.MULTILINE)
    return {m[2]: m[1].replace("dso_local", "").strip() for m in found}


def test_what_a_static_root_reaches_stays_as_it_was() -> None:
    text = extraction.only(LLVMModule.from_text(PROGRAM), ["root"])
    assert linkages(text) == {
        "root": "internal", "used": "linkonce_odr", "named": "internal", "told": "", "weak": "weak"
    }  # fmt: skip
    assert "@kept = global i32 3" in text and "llvm.global_ctors" not in text


def test_a_function_of_another_library_is_not_taken_for_one_of_this() -> None:
    text = PROGRAM.replace("define linkonce_odr double @used", "define available_externally double @used")
    found = extraction.only(LLVMModule.from_text(text), ["root"])
    assert "define available_externally double @used" in found


def test_what_is_said_besides_keeps_what_it_names() -> None:
    said = ["@llgrad.registered.inactivefn.1 = global ptr @idle\n"]
    assert "idle" in linkages(extraction.only(LLVMModule.from_text(PROGRAM), ["root"], said))


def test_the_program_itself_is_left_alone() -> None:
    whole = LLVMModule.from_text(PROGRAM)
    before = whole.text()
    extraction.only(whole, ["root"])
    assert whole.text() == before and "@idle" in before


def test_debug_info_that_code_refers_to_stays() -> None:
    text = """define void @f() !dbg !5 {
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug, retainedTypes: !3, imports: !3)
!1 = !DIFile(filename: "f.cpp", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{!4}
!4 = !DICompositeType(tag: DW_TAG_class_type, name: "idle", file: !1)
!5 = distinct !DISubprogram(name: "f", file: !1, type: !6, unit: !0)
!6 = !DISubroutineType(types: !7)
!7 = !{null, !8}
!8 = !DICompositeType(tag: DW_TAG_class_type, name: "used", file: !1, elements: !10)
!9 = !DILocation(line: 1, scope: !5)
!10 = !{!11, !12}
!11 = !DIDerivedType(tag: DW_TAG_member, name: "x", baseType: !13, size: 64)
!12 = !DISubprogram(name: "method", scope: !8, type: !14, spFlags: 0)
!13 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
!14 = !DISubroutineType(types: !15)
!15 = !{!4}
"""
    cut = without_idle_metadata(text)
    left = {int(i) for i in re.findall(r"^!(\d+) = ", cut, re.MULTILINE)}
    assert left == {0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 13}
    assert "!10 = !{!11}\n" in cut
    LLVMModule.from_text(cut)


TABLES = """
@first = internal constant [1 x ptr] [ptr @one]
@second = internal constant [1 x ptr] [ptr @two]
@llgrad.met.one = global ptr @one
@llgrad.met.two = global ptr @two
define ptr @root() {
  %f = select i1 true, ptr @first, ptr @second
  %g = call ptr @elsewhere(ptr %f)
  ret ptr %g
}
declare ptr @elsewhere(ptr)
define ptr @one(ptr %x) {
  ret ptr %x
}
define ptr @two(ptr %x) {
  ret ptr %x
}
"""


def test_functions_in_several_tables_stay_known_by_their_addresses() -> None:
    """The lines of declarations and tables were joined to one: it was seen as what it began with."""
    text = extraction.only(LLVMModule.from_text(TABLES), ["root"])
    assert "@llgrad.met.one = " in text and "@llgrad.met.two = " in text
