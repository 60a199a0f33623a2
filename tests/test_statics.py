"""What pointers in static variables may lead to, by what the whole program does."""

from __future__ import annotations

import re

import pytest

from llgrad.analysis.statics.statics import emptied, static_pointers


def owners(text: str) -> set[str]:
    return {owner.name for owner in static_pointers(text).own}


_PROGRAM = """
%buffer = type {{ ptr, ptr, i32 }}
@work = internal global ptr null, align 8
@pair = internal global %buffer zeroinitializer, align 8
@other = internal global ptr null, align 8
@table = internal global [2 x ptr] zeroinitializer, align 8
@names = global [1 x ptr] [ptr @named]

define void @ensure(i64 %n) {{
  %old = load ptr, ptr @work, align 8
  call void @free(ptr %old)
  %p = call noalias ptr @malloc(i64 %n)
  store ptr %p, ptr @work, align 8
  %q = call noalias ptr @malloc(i64 %n)
  store ptr %q, ptr @pair, align 8
  %end = getelementptr i8, ptr %q, i64 %n
  store ptr %end, ptr getelementptr (i8, ptr @pair, i64 8), align 8
  ret void
}}

define internal ptr @get() {{
  %p = load ptr, ptr @work, align 8
  ret ptr %p
}}

define internal ptr @named() {{
  %p = load ptr, ptr @other, align 8
  ret ptr %p
}}

define internal double @sum(ptr %p) noinline {{
  %v = load double, ptr %p, align 8
  ret double %v
}}

define internal void @keep(ptr %p) noinline {{
  store ptr %p, ptr @other, align 8
  ret void
}}

define internal ptr @fresh(i64 %n) noinline {{
  %slot = alloca ptr, align 8
  %p = call ptr @calloc(i64 %n, i64 8)
  store ptr %p, ptr %slot, align 8
  %q = load ptr, ptr %slot, align 8
  ret ptr %q
}}

define void @asks(ptr %p) noinline {{
  call void (ptr, ...) @__enzyme_autodiff(ptr @ensure, ptr %p, ptr %p)
  ret void
}}

define double @more(ptr %x, ptr %s, i64 %n, i1 %c) {{
  %slot = alloca ptr, align 8
{more}
  ret double 0.0
}}

declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare ptr @find(i64)
declare void @use(ptr)
declare void @number(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @__enzyme_autodiff(ptr, ...)
"""
_WORK = "  %p = load ptr, ptr @work, align 8\n"
_GET = "  %p = call ptr @get()\n"
_MERGED = _WORK + "  %f = call ptr @malloc(i64 8)\n  %q = select i1 %c, ptr %p, ptr %f\n"
_MALLOC = "  %p = call ptr @malloc(i64 8)\n  store ptr %p, ptr @work, align 8\n"


@pytest.mark.parametrize("more", [
    "  store ptr null, ptr @work, align 8",
    "  %p = call ptr @realloc(ptr null, i64 8)\n  %c1 = icmp eq ptr %p, null\n  store ptr %p, ptr @work, align 8",
    _WORK + "  store ptr %p, ptr %slot, align 8\n  %q = load ptr, ptr %slot, align 8\n  call double @sum(ptr %q)",
    _WORK + "  %q = call ptr @realloc(ptr %p, i64 %n)\n  store ptr %q, ptr @work, align 8",
    _GET + "  %at = getelementptr double, ptr %p, i64 %n\n  call double @sum(ptr %at)\n  store double 1.0, ptr %p",
    _GET + "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %x, i64 %n, i1 false)",
    "  %p = call ptr @fresh(i64 %n)\n  store ptr %p, ptr @work, align 8\n  store double 2.0, ptr %p, align 8",
    _WORK + "  %q = getelementptr i8, ptr %p, i64 8\n  store ptr %q, ptr @table, align 8",  # they have it in common
    _MERGED + "  store double 1.0, ptr %q\n",
    "  %p = load ptr, ptr @pair\n  %e = load ptr, ptr getelementptr (i8, ptr @pair, i64 8)\n"
    "  %a = ptrtoint ptr %p to i64\n  %b = ptrtoint ptr %e to i64\n  %d = sub i64 %b, %a\n  call void @number(i64 %d)",
])  # fmt: skip
def test_holds_its_own_blocks(more: str) -> None:
    assert owners(_PROGRAM.format(more=more)) >= {"work", "pair"}


@pytest.mark.parametrize("more", [
    "  store ptr %x, ptr @work, align 8",  # what a caller gave
    "  %p = call ptr @find(i64 8)\n  store ptr %p, ptr @work, align 8",
    _MALLOC + "  store ptr %p, ptr @other, align 8",
    _MALLOC + "  store ptr %p, ptr %s, align 8",
    _MALLOC + "  call void @keep(ptr %p)",
    _WORK + "  store ptr %p, ptr %s, align 8",
    _MERGED + "  store ptr %f, ptr %s\n  store ptr %q, ptr @work",
    _MERGED + "  store ptr %q, ptr %s",
    _WORK + "  call void @keep(ptr %p)",
    _GET + "  call void @keep(ptr %p)",
    _GET + "  store ptr %p, ptr %s",
    "  store ptr @get, ptr %s",  # anybody may call it
    _WORK + "  call void @use(ptr %p)",
    _WORK + "  %q = select i1 %c, ptr %p, ptr %x\n  store ptr %q, ptr @work, align 8",
    _WORK + "  %a = ptrtoint ptr %p to i64\n  call void @number(i64 %a)",
    _WORK + "  %a = ptrtoint ptr %p to i64\n  store i64 %a, ptr %s",
    "  %a = load i64, ptr @work\n  store i64 %a, ptr %s",
    "  %a = load i64, ptr %s\n  store i64 %a, ptr @work",
    _WORK + "  store ptr %p, ptr %slot, align 8\n  %q = load ptr, ptr %slot, align 8\n"
    "  call void (ptr, ...) @__enzyme_autodiff(ptr @ensure, ptr %q, ptr %x)",
    _WORK + "  call void @asks(ptr %p)",
    _WORK + "  call void %s(ptr %p)",
    "  call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr @work, i64 8, i1 false)",
    "  store ptr @work, ptr %s, align 8",  # anybody may write there
    "  call void @use(ptr @work)",
    "  %p = load ptr, ptr getelementptr (i8, ptr @work, i64 0), align 8\n  store ptr %p, ptr %s",
])  # fmt: skip
def test_may_hold_what_others_have(more: str) -> None:
    assert "work" not in owners(_PROGRAM.format(more=more))


def test_what_a_table_of_functions_returns_is_anybodys() -> None:
    """And so is what a function that others may call returns."""
    assert "other" not in owners(_PROGRAM.format(more=""))
    text = _PROGRAM.format(more="")
    assert "work" in owners(text)
    assert "work" not in owners(text.replace("define internal ptr @get", "define ptr @get"))


_ELSEWHERE = {
    "bits": """
define internal i64 @bits() noinline {
  %p = load ptr, ptr @work, align 8
  %a = ptrtoint ptr %p to i64
  ret i64 %a
}
define void @share() {
  %a = call i64 @bits()
  %p = inttoptr i64 %a to ptr
  store ptr %p, ptr @other, align 8
  ret void
}
""",
    "setter": """
define internal void @set(ptr %to, ptr %p) noinline {
  store ptr %p, ptr %to, align 8
  ret void
}
define void @give(ptr %x) {
  call void @set(ptr @work, ptr %x)
  ret void
}
""",
    "flag": """
@flag = internal global i32 0
define void @give(ptr %x) {
  %set = load i32, ptr @flag
  %c = icmp ne i32 %set, 0
  br i1 %c, label %given, label %end
given:
  store ptr %x, ptr @work, align 8
  br label %end
end:
  ret void
}
define void @raise(i32 %n) {
  store i32 %n, ptr @flag
  ret void
}
""",
    "weak": """
define weak ptr @get() noinline {
  %p = call ptr @malloc(i64 8)
  ret ptr %p
}
define void @give() {
  %p = call ptr @get()
  store ptr %p, ptr @work, align 8
  ret void
}
""",
    "bytes": """
define internal void @copy(ptr %to, ptr %from) noinline {
entry:
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a = getelementptr i8, ptr %to, i64 %n
  %b = getelementptr i8, ptr %from, i64 %n
  %v = load i8, ptr %b
  store volatile i8 %v, ptr %a
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, 8
  br i1 %more, label %loop, label %end
end:
  ret void
}
define void @give(ptr %x) {
  call void @copy(ptr @work, ptr %x)
  ret void
}
""",
}


@pytest.mark.parametrize("way", _ELSEWHERE)
def test_what_other_functions_do_to_it(way: str) -> None:
    """One that returns a pointer's bits; one that gets the variable's address, always the same; one that does as a flag
    says, which another sets; one that may be replaced; one that moves bytes."""
    text = _PROGRAM.format(more="").replace("define internal ptr @get()", "define internal ptr @first()")
    assert "work" in owners(text)
    assert "work" not in owners(text + _ELSEWHERE[way])


def test_a_weak_function_is_what_it_is_in_a_whole_program() -> None:
    text = _PROGRAM.format(more="").replace("define internal ptr @get()", "define internal ptr @first()")
    assert "work" in {owner.name for owner in static_pointers(text + _ELSEWHERE["weak"], closed=True).own}


@pytest.mark.parametrize("more", [
    "  store i8 1, ptr getelementptr (i8, ptr @pair, i64 16)\n  store i32 7, ptr getelementptr (i8, ptr @pair, i64 16)",
    "  %v = load i8, ptr %x\n  store i8 %v, ptr getelementptr (i8, ptr @pair, i64 17)",
    "  %at = getelementptr i8, ptr @pair, i64 %n\n  %v = load i8, ptr %at\n  %w = add i8 %v, 1\n  store i8 %w, ptr %at",
])  # fmt: skip
def test_small_numbers_beside_pointers(more: str) -> None:
    assert "pair" in owners(_PROGRAM.format(more=more))


@pytest.mark.parametrize("more", [
    "  %v = load i8, ptr %x\n  store i8 %v, ptr getelementptr (i8, ptr @pair, i64 9)",
    "  %v = load i32, ptr %x\n  store i32 %v, ptr getelementptr (i8, ptr @pair, i64 4)",
    "  %v = load double, ptr %x\n  store double %v, ptr @pair",
    "  %at = getelementptr i8, ptr @pair, i64 %n\n  %v = load i8, ptr %at\n  store i8 %v, ptr %x",
])  # fmt: skip
def test_pieces_of_pointers(more: str) -> None:
    assert "pair" not in owners(_PROGRAM.format(more=more))


_HELD = """
@one = internal global [8 x double] zeroinitializer
@two = internal global [8 x double] zeroinitializer
@now = internal global ptr null
@next = internal global ptr @two
@any = internal global ptr null

define void @set() {{
  store ptr @one, ptr @now
  store ptr getelementptr (i8, ptr @two, i64 16), ptr @next
  ret void
}}

define void @exchange() {{
  %a = load ptr, ptr @now
  %b = load ptr, ptr @next
  store ptr %b, ptr @now
  store ptr %a, ptr @next
  ret void
}}

declare void @unknown(ptr)

define void @more(ptr %p, i64 %n, i1 %c) {{
{more}
  ret void
}}

define ptr @look() {{
  %a = load ptr, ptr @any
  ret ptr %a
}}
"""
_BOTH = {"now", "next"}


def targets(more: str) -> dict[str, tuple[tuple[str, int | None], ...]]:
    return static_pointers(_HELD.format(more=more)).targets


@pytest.mark.parametrize(("more", "also"), [
    ("", []),
    ("  %s = select i1 %c, ptr @one, ptr @two\n  store ptr %s, ptr @now", []),
    ("  store ptr getelementptr (i8, ptr @one, i64 24), ptr @next", [("one", 24)]),
    ("  %a = load i64, ptr @next\n  store i64 %a, ptr @now", []),
    ("  call void @llvm.memcpy.p0.p0.i64(ptr @now, ptr @next, i64 8, i1 false)", []),
    ("  %a = load ptr, ptr @now\n  call void @unknown(ptr %a)", []),  # what is read may go anywhere
    ("  %v = load ptr, ptr @now\n  store double 1.0, ptr %v", []),
])  # fmt: skip
def test_targets_are_known(more: str, also: list[tuple[str, int]]) -> None:
    known = targets(more)
    expected = tuple(sorted([("one", 0), ("two", 0), ("two", 16), *also]))
    assert {name: known.get(name) for name in _BOTH} == dict.fromkeys(_BOTH, expected)


@pytest.mark.parametrize(("more", "where"), [
    ("  %q = getelementptr double, ptr @one, i64 %n\n  store ptr %q, ptr @any", [None]),
    ("  store ptr getelementptr (i8, ptr @one, i64 64), ptr @any", [None]),  # its end
    ("  store ptr getelementptr (i8, ptr @one, i64 -8), ptr @any", [None]),  # counted from one
    ("  %a = load ptr, ptr @any\n  %q = getelementptr double, ptr %a, i64 1\n"
     "  %s = select i1 %c, ptr %q, ptr @one\n  store ptr %s, ptr @any", [0, None]),
    ("  %b = sub i64 %n, 8\n  %q = getelementptr i8, ptr @one, i64 %b\n  %s = select i1 %c, ptr %q, ptr null\n"
     "  %t = getelementptr i8, ptr %s, i64 16\n  store ptr %t, ptr @any", [None]),
    ("  %b = ptrtoint ptr %p to i64\n  %q = getelementptr i8, ptr @one, i64 %b\n  store ptr %q, ptr @any", []),
    ("  %b = ptrtoint ptr @two to i64\n  %d = sub i64 %n, %b\n  %q = getelementptr i8, ptr @one, i64 %d\n"
     "  store ptr %q, ptr @any", []),  # a distance of addresses leads elsewhere
    ("  %q = getelementptr i8, ptr @one, i64 %n\n  %s = select i1 %c, ptr %q, ptr @two\n  store ptr %s, ptr @any", []),
    ("  %q = getelementptr i8, ptr %p, i64 %n\n  store ptr %q, ptr @any", []),
])  # fmt: skip
def test_computed_pointers_lead_into_one_variable(more: str, where: list[int | None]) -> None:
    assert targets(more).get("any", ()) == tuple(("one", at) for at in where)


@pytest.mark.parametrize("more", [
    "  store ptr %p, ptr @now",
    "  store ptr getelementptr (i8, ptr @one, i64 64), ptr @now",  # its end is another's start
    "  %q = getelementptr double, ptr @one, i64 %n\n  store ptr %q, ptr @now",
    "  %m = call ptr @malloc(i64 8)\n  store ptr %m, ptr @next",
    "  call void @unknown(ptr @now)",
    "  store ptr @now, ptr %p",
    "  call void @llvm.memcpy.p0.p0.i64(ptr @now, ptr %p, i64 8, i1 false)",
    "  store i64 %n, ptr @next",
    "  %a = load ptr, ptr @any\n  store ptr %a, ptr @now\n  store ptr %p, ptr @any",
    "  %s = select i1 %c, ptr @now, ptr @any\n  store ptr %p, ptr %s",
    "  store ptr @set, ptr @next",
])  # fmt: skip
def test_targets_are_not_known(more: str) -> None:
    """Of neither: what one holds is given to the other."""
    declared = "declare ptr @malloc(i64)\n" if "@malloc" in more else ""
    known = static_pointers(declared + _HELD.format(more=more)).targets
    assert not known.keys() & _BOTH


def test_starts_of_blocks() -> None:
    found = {owner.name: owner for owner in static_pointers(_PROGRAM.format(more="")).own}
    assert (found["work"].starts, found["work"].others) == ((0,), ())
    assert (found["pair"].starts, found["pair"].others) == ((0,), (8,))
    assert found["work"].group != found["pair"].group
    copied = "  %k = load ptr, ptr @work, align 8\n  store ptr %k, ptr @pair, align 8"
    found = {owner.name: owner for owner in static_pointers(_PROGRAM.format(more=copied)).own}
    assert found["work"].group == found["pair"].group
    moved = "  %p = call ptr @malloc(i64 8)\n  %k = getelementptr i8, ptr %p, i64 8\n  store ptr %k, ptr @work, align 8"
    assert "work" not in owners(_PROGRAM.format(more=moved))


def test_a_flag_that_another_function_sets() -> None:
    text = _HELD.format(more="""
  %f = load i32, ptr @flag
  %on = icmp ne i32 %f, 0
  br i1 %on, label %set, label %end
set:
  store ptr %p, ptr @now
  br label %end
end:""")
    text += "@flag = internal global i32 0\ndefine void @raise(i32 %n) {\n  store i32 %n, ptr @flag\n  ret void\n}\n"
    assert not static_pointers(text).targets.keys() & _BOTH


def test_they_hold_null_once_released() -> None:
    """Each word that leads to the start of a block, behind all that releases one."""
    more = _WORK + "  call void @free(ptr %p)\n  tail call void @free(ptr noundef %x)\n  call void @number(i64 1)"
    text = _PROGRAM.format(more=more)
    edited = emptied(text)
    assert re.findall(r"free\(ptr (?:noundef )?(%\w)\)\n  call void @llgrad\.emptied\(ptr (%\w)\)", edited) == [
        ("%p", "%p"), ("%x", "%x"),
    ]  # fmt: skip
    made = edited[edited.index("define internal void @llgrad.emptied(") :]
    assert set(re.findall(r"store ptr null, ptr getelementptr \(i8, ptr (@\w+)", made)) == {"@work", "@pair"}
    assert owners(edited) == owners(text)
    assert emptied("@work = internal global ptr null\n") == "@work = internal global ptr null\n"


def test_module_assembly_may_name_anything() -> None:
    text = _HELD.format(more="")
    assert static_pointers(text).targets
    assert not static_pointers('source_filename = "a.c"\nmodule asm ".globl now"\n' + text).targets


_POOL = """
%node = type {{ double, ptr }}
@pool = internal global [8 x %node] zeroinitializer
@unused = internal global ptr @pool
@outer = global ptr null

define internal void @put(ptr %q) noinline {{
  %place = getelementptr %node, ptr %q, i64 0, i32 1
  %head = load ptr, ptr @unused
  store ptr %head, ptr %place
  store ptr %q, ptr @unused
  ret void
}}

define internal ptr @get() noinline {{
  %q = load ptr, ptr @unused
  %place = getelementptr %node, ptr %q, i64 0, i32 1
  %next = load ptr, ptr %place
  store ptr %next, ptr @unused
  ret ptr %q
}}

define internal ptr @last(ptr %q) noinline {{
  %place = getelementptr %node, ptr %q, i64 0, i32 1
  %next = load ptr, ptr %place
  %end = icmp eq ptr %next, null
  br i1 %end, label %here, label %on
here:
  ret ptr %q
on:
  %found = call ptr @last(ptr %next)
  ret ptr %found
}}

define internal void @link(ptr %a, ptr %b) noinline {{
  %place = getelementptr %node, ptr %a, i64 0, i32 1
  store ptr %b, ptr %place
  ret void
}}

define void @set(i64 %n) {{
  %q = getelementptr %node, ptr @pool, i64 %n
  call void @put(ptr %q)
  %p = call ptr @get()
  %e = call ptr @last(ptr %p)
  call void @link(ptr %e, ptr %q)
  ret void
}}

declare void @unknown(ptr)
declare ptr @malloc(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @__enzyme_autodiff(ptr, ...)

define void @more(ptr %x, i64 %n, i1 %c) {{
  %p = call ptr @get()
{more}
  ret void
}}
"""


@pytest.mark.parametrize("more", [
    "  call void @put(ptr %p)",
    "  %q = select i1 %c, ptr %p, ptr null\n  store ptr %q, ptr @unused",
    "  %e = call ptr @last(ptr %p)\n  store ptr %e, ptr @unused",
    "  call void @link(ptr %p, ptr null)",
    "  %v = load double, ptr %x\n  store double %v, ptr %p",
    "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr @pool, i64 16, i1 false)",
    "  %q = call ptr @malloc(i64 16)\n  call void @link(ptr %q, ptr %x)",  # of no concern to the pool
])  # fmt: skip
def test_a_pool_leads_into_itself(more: str) -> None:
    found = static_pointers(_POOL.format(more=more)).targets
    assert (found.get("pool"), found.get("unused")) == ((("pool", None),), (("pool", None),))


@pytest.mark.parametrize("more", [
    "  call void @put(ptr %x)",  # what a caller gave
    "  %q = call ptr @malloc(i64 16)\n  call void @put(ptr %q)",
    "  call void @link(ptr %p, ptr %x)",
    "  call void @link(ptr %x, ptr %p)",
    "  store ptr %p, ptr %x",
    "  store ptr %p, ptr @outer",
    "  call void @unknown(ptr %p)",
    "  store ptr @put, ptr %x",  # anybody may call it
    "  call void (ptr, ...) @__enzyme_autodiff(ptr @put, ptr %x, ptr %x)",
    "  %q = select i1 %c, ptr %p, ptr %x\n  store double 1.0, ptr %q",
    "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %x, i64 16, i1 false)",
    "  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %p, i64 16, i1 false)",
    "  %a = ptrtoint ptr %p to i64\n  store i64 %a, ptr %x",
    "  %v = load i64, ptr %x\n  store i64 %v, ptr %p",
    "  %a = ptrtoint ptr %x to i64\n  %q = getelementptr i8, ptr %p, i64 %a\n  store ptr %q, ptr @unused",
])  # fmt: skip
def test_a_pool_that_others_lead_into_or_that_leads_elsewhere(more: str) -> None:
    assert "pool" not in static_pointers(_POOL.format(more=more)).targets


def test_a_pool_that_another_variable_names() -> None:
    text = _POOL.format(more="")
    assert "pool" in static_pointers(text).targets
    assert "pool" not in static_pointers(text + "@known = global ptr @pool\n").targets
    assert "pool" not in static_pointers(text.replace("@pool = internal", "@pool = internal thread_local")).targets
    assert "pool" not in static_pointers(text.replace("define internal void @put", "define void @put")).targets
