"""Which static variables hold blocks of their own alone, in the whole program."""

from __future__ import annotations

import pytest

from llgrad.ownbuffers import own_buffers

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
_MALLOC = "  %p = call ptr @malloc(i64 8)\n  store ptr %p, ptr @work, align 8\n"


@pytest.mark.parametrize("more", [
    "  store ptr null, ptr @work, align 8",
    "  %p = call ptr @realloc(ptr null, i64 8)\n  %c1 = icmp eq ptr %p, null\n  store ptr %p, ptr @work, align 8",
    _WORK + "  store ptr %p, ptr %slot, align 8\n  %q = load ptr, ptr %slot, align 8\n  call double @sum(ptr %q)",
    _WORK + "  %q = call ptr @realloc(ptr %p, i64 %n)\n  store ptr %q, ptr @work, align 8",
    _GET + "  %at = getelementptr double, ptr %p, i64 %n\n  call double @sum(ptr %at)\n  store double 1.0, ptr %p",
    _GET + "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %x, i64 %n, i1 false)",
    "  %p = call ptr @fresh(i64 %n)\n  store ptr %p, ptr @work, align 8\n  store double 2.0, ptr %p, align 8",
    "  %p = load ptr, ptr @pair\n  %e = load ptr, ptr getelementptr (i8, ptr @pair, i64 8)\n"
    "  %a = ptrtoint ptr %p to i64\n  %b = ptrtoint ptr %e to i64\n  %d = sub i64 %b, %a\n  call void @number(i64 %d)",
])  # fmt: skip
def test_holds_its_own_blocks(more: str) -> None:
    assert own_buffers(_PROGRAM.format(more=more)) >= {"work", "pair"}


@pytest.mark.parametrize("more", [
    "  store ptr %x, ptr @work, align 8",  # what a caller gave
    "  %p = call ptr @find(i64 8)\n  store ptr %p, ptr @work, align 8",
    _MALLOC + "  store ptr %p, ptr @other, align 8",
    _MALLOC + "  store ptr %p, ptr %s, align 8",
    _MALLOC + "  call void @keep(ptr %p)",
    _WORK + "  store ptr %p, ptr %s, align 8",
    _WORK + "  call void @keep(ptr %p)",
    _GET + "  call void @keep(ptr %p)",
    _GET + "  store ptr %p, ptr %s",
    "  store ptr @get, ptr %s",  # anybody may call it
    _WORK + "  call void @use(ptr %p)",
    _WORK + "  %q = getelementptr i8, ptr %p, i64 8\n  store ptr %q, ptr @table, align 8",
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
    assert "work" not in own_buffers(_PROGRAM.format(more=more))


def test_what_a_table_of_functions_returns_is_anybodys() -> None:
    """And so is what a function that others may call returns."""
    assert "other" not in own_buffers(_PROGRAM.format(more=""))
    text = _PROGRAM.format(more="")
    assert "work" in own_buffers(text)
    assert "work" not in own_buffers(text.replace("define internal ptr @get", "define ptr @get"))
