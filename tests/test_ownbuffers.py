"""Which static pointers hold blocks of their own alone, read off a program's text."""

from __future__ import annotations

import pytest

from llgrad.ownbuffers import own_buffers

_PROGRAM = """
@work = internal global ptr null, align 8
@other = internal global ptr null, align 8
@table = internal global [2 x ptr] zeroinitializer, align 8

define void @ensure(i64 %n) {{
  %old = load ptr, ptr @work, align 8
  call void @free(ptr %old)
  %p = call noalias ptr @malloc(i64 %n)
  store ptr %p, ptr @work, align 8
  ret void
}}

define void @asks(ptr %p) {{
  call void (ptr, ...) @__enzyme_autodiff(ptr @ensure, ptr %p, ptr %p)
  ret void
}}

define void @more(ptr %x, ptr %s) {{
  %slot = alloca ptr, align 8
{more}
  ret void
}}
"""


@pytest.mark.parametrize("more", [
    "  store ptr null, ptr @work, align 8",
    "  %p = call ptr @realloc(ptr null, i64 8)\n  %c = icmp eq ptr %p, null\n  store ptr %p, ptr @work, align 8",
    "  %p = load ptr, ptr @work, align 8\n  store ptr %p, ptr %slot, align 8\n  %q = load ptr, ptr %slot, align 8\n"
    "  call void @sum(ptr %q)",
])  # fmt: skip
def test_holds_its_own_blocks(more: str) -> None:
    assert own_buffers(_PROGRAM.format(more=more)) == {"work"}


@pytest.mark.parametrize("more", [
    "  store ptr %x, ptr @work, align 8",  # what a caller gave
    "  %p = call ptr @find(i64 8)\n  store ptr %p, ptr @work, align 8",
    "  %p = call ptr @malloc(i64 8)\n  store ptr %p, ptr @work, align 8\n  store ptr %p, ptr @other, align 8",
    "  %p = call ptr @malloc(i64 8)\n  store ptr %p, ptr @work, align 8\n  store ptr %p, ptr %s, align 8",
    "  %p = load ptr, ptr @work, align 8\n  store ptr %p, ptr %s, align 8",
    "  %p = load ptr, ptr @work, align 8\n  %q = getelementptr i8, ptr %p, i64 8\n  store ptr %q, ptr @table, align 8",
    "  %p = load ptr, ptr @work, align 8\n  store ptr %p, ptr %slot, align 8\n  %q = load ptr, ptr %slot, align 8\n"
    "  call void (ptr, ...) @__enzyme_autodiff(ptr @f, ptr %q, ptr %x)",
    "  %p = load ptr, ptr @work, align 8\n  call void @asks(ptr %p)",
    "  %p = load ptr, ptr @work, align 8\n  call void %s(ptr %p)",
    "  store ptr @work, ptr %s, align 8",  # anybody may write there
    "  call void @set(ptr @work)",
    "  %p = load ptr, ptr getelementptr (i8, ptr @work, i64 0), align 8",
])  # fmt: skip
def test_may_hold_what_others_have(more: str) -> None:
    assert "work" not in own_buffers(_PROGRAM.format(more=more))
