"""The bodies that `fwdsplit` needs, in LLVM assembly: the log, and for each type its accesses and their rules.

A log is {data, bytes used, bytes of room, where to read next}.
"""

from __future__ import annotations

from llgrad.autodiff.requests.registrations import PREFIX
from llgrad.models.effects import ALLOCATES

ALLOCATOR = f"{ALLOCATES}0$free$llgrad.replay.alloc"  # what derivatives know as an allocator
SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "x86_fp80": 16, "fp128": 16, "ptr": 8}

RUNTIME = """
declare ptr @realloc(ptr, i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llgrad.tape.give(ptr)
declare void @llgrad.tape.finish(ptr)
@llgrad.replay.logged = weak global i1 true
define ptr @llgrad.log.new() {
  %log = call ptr @calloc(i64 1, i64 32)
  ret ptr %log
}
define void @llgrad.log.push(ptr %log, ptr %from, i64 %n) noinline {
  %at = getelementptr i8, ptr %log, i64 8
  %has = getelementptr i8, ptr %log, i64 16
  %used = load i64, ptr %at
  %room = load i64, ptr %has
  %end = add i64 %used, %n
  %full = icmp ugt i64 %end, %room
  br i1 %full, label %grow, label %put
grow:
  %twice = shl i64 %end, 1
  %more = add i64 %twice, 256
  %old = load ptr, ptr %log
  %new = call ptr @realloc(ptr %old, i64 %more)
  store ptr %new, ptr %log
  store i64 %more, ptr %has
  br label %put
put:
  %data = load ptr, ptr %log
  %to = getelementptr i8, ptr %data, i64 %used
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  store i64 %end, ptr %at
  ret void
}
define ptr @llgrad.log.next(ptr %log, i64 %n) noinline {
  %place = getelementptr i8, ptr %log, i64 24
  %at = load i64, ptr %place
  %end = add i64 %at, %n
  store i64 %end, ptr %place
  %data = load ptr, ptr %log
  %from = getelementptr i8, ptr %data, i64 %at
  ret ptr %from
}
define ptr @llgrad.log.open(ptr %tape, i1 %hidden) {
  %log = call ptr @llgrad.log.find(ptr %tape, i1 %hidden)
  %place = getelementptr i8, ptr %log, i64 24
  store i64 0, ptr %place
  ret ptr %log
}
define void @llgrad.log.close(ptr %tape, i1 %hidden) {
  %log = call ptr @llgrad.log.find(ptr %tape, i1 %hidden)
  %data = load ptr, ptr %log
  call void @free(ptr %data)
  call void @free(ptr %log)
  %frame = getelementptr i8, ptr %tape, i64 48
  %memory = load ptr, ptr %frame
  %shared = select i1 %hidden, ptr %memory, ptr null
  call void @free(ptr %shared)
  call void @llgrad.tape.finish(ptr %tape)
  call void @llgrad.tape.give(ptr %tape)
  ret void
}
; behind the memory that the sweeps share, where the function's result is hidden
define internal ptr @llgrad.log.find(ptr %tape, i1 %hidden) {
  %frame = getelementptr i8, ptr %tape, i64 48
  %log = load ptr, ptr %frame
  br i1 %hidden, label %behind, label %found
behind:
  %own = load ptr, ptr %log
  ret ptr %own
found:
  ret ptr %log
}
"""


_PUT = """
define void @llgrad.log.put.{t}(ptr %log, {t} %v) {{
  %m = alloca {t}
  store {t} %v, ptr %m
  call void @llgrad.log.push(ptr %log, ptr %m, i64 {size})
  ret void
}}"""


_GET = """
define weak {t} @llgrad.replay.get.{t}(ptr %p, {t} %v) {{
  ret {t} %v
}}"""
# Analyses see pointers that lie in memory; those from the log are they.
_POINTER = """
define weak ptr @llgrad.replay.get.ptr(ptr %p, i64 %v) {
  %logged = load i1, ptr @llgrad.replay.logged
  br i1 %logged, label %log, label %memory
log:
  %whole = inttoptr i64 %v to ptr
  ret ptr %whole
memory:
  %there = load ptr, ptr %p
  ret ptr %there
}"""
_PUT_NOTHING = """
define weak void @llgrad.replay.put.{t}(ptr %p, {t} %v) {{
  ret void
}}"""
_STORED = """
define weak void @llgrad.replay.put.ptr(ptr %p, ptr %v) {
  %logged = load i1, ptr @llgrad.replay.logged
  br i1 %logged, label %log, label %memory
log:
  ret void
memory:
  store ptr %v, ptr %p
  ret void
}"""


def accesses(t: str) -> str:
    """Loads and stores of a type: written down, replayed, and the rules of the replayed ones.

    What is next in the log is taken once, whatever the width; the rule only adds the tangent.
    """
    size = SIZES.get(t) or max(1, (int(t[1:]) + 7) // 8)
    held = "i64" if t == "ptr" else t
    taken = f"""{_PUT.format(t=t, size=size)}
define weak {held} @llgrad.replay.next.{t}(ptr %log) "enzyme_inactive" {{
  %from = call ptr @llgrad.log.next(ptr %log, i64 {size})
  %v = load {held}, ptr %from, align 1
  ret {held} %v
}}
"""
    if t not in SIZES:
        return taken
    value = f"%whole = {'inttoptr i64 %v to ptr' if t == 'ptr' else f'select i1 true, {t} %v, {t} %v'}"
    more = "" if t == "ptr" else f", {t} %unused"
    return f"""{taken}
{_POINTER if t == "ptr" else _GET.format(t=t)}
define {{ {t}, {t} }} @llgrad.replay.get.{t}.tangent(ptr %p, ptr %dp, {held} %v{more}) {{
  {value}
  %same = icmp eq ptr %p, %dp
  br i1 %same, label %both, label %active
active:
  %d = load {t}, ptr %dp, align 1
  br label %both
both:
  %t = phi {t} [ {'%whole' if t == 'ptr' else 'zeroinitializer'}, %0 ], [ %d, %active ]
  %a = insertvalue {{ {t}, {t} }} poison, {t} %whole, 0
  %b = insertvalue {{ {t}, {t} }} %a, {t} %t, 1
  ret {{ {t}, {t} }} %b
}}
{_STORED if t == "ptr" else _PUT_NOTHING.format(t=t)}
define void @llgrad.replay.put.{t}.tangent(ptr %p, ptr %dp, {t} %v, {t} %dv) {{
  %same = icmp eq ptr %p, %dp
  br i1 %same, label %done, label %active
active:
  store {t} %dv, ptr %dp, align 1
  br label %done
done:
  ret void
}}
{_ruled("get." + t)}
{_ruled("put." + t)}
"""


_COPIES = """
define weak void @llgrad.replay.copy(ptr %to, ptr %from, i64 %n) {
  %logged = load i1, ptr @llgrad.replay.logged
  br i1 %logged, label %log, label %memory
log:
  ret void
memory:
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
define void @llgrad.replay.copy.tangent(ptr %to, ptr %dto, ptr %from, ptr %dfrom, i64 %n) {
  %constant = icmp eq ptr %to, %dto
  br i1 %constant, label %done, label %active
active:
  %cleared = icmp eq ptr %from, %dfrom
  br i1 %cleared, label %clear, label %copy
clear:
  call void @llvm.memset.p0.i64(ptr %dto, i8 0, i64 %n, i1 false)
  br label %done
copy:
  call void @llvm.memmove.p0.p0.i64(ptr %dto, ptr %dfrom, i64 %n, i1 false)
  br label %done
done:
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define weak void @llgrad.replay.fill(ptr %to, i64 %n) {
  ret void
}
define void @llgrad.replay.fill.tangent(ptr %to, ptr %dto, i64 %n) {
  %constant = icmp eq ptr %to, %dto
  %m = select i1 %constant, i64 0, i64 %n
  call void @llvm.memset.p0.i64(ptr %dto, i8 0, i64 %m, i1 false)
  ret void
}
"""


def _ruled(name: str) -> str:
    """The registration of the rule of `llgrad.replay.NAME`."""
    pair = f"ptr @llgrad.replay.{name}, ptr @llgrad.replay.{name}.tangent"
    return f"@{PREFIX}register_derivative.{name} = global [2 x ptr] [{pair}]"


# Addresses are those of the log, and never used: memory is made for shadows only. What the log's run released has an
# address that may be given out again; a shadow must not have that of its primal, or it would be taken for constant.
SHADOW = "llgrad.replay.shadow"
_ALLOC = f"""
declare ptr @{ALLOCATOR}(i64, i64)
define ptr @llgrad.replay.alloc(i64 %n, i64 %v) {{
  %p = inttoptr i64 %v to ptr
  ret ptr %p
}}
define ptr @{SHADOW}(i64 %n, ptr %primal) {{
  %first = call ptr @calloc(i64 1, i64 %n)
  %same = icmp eq ptr %first, %primal
  br i1 %same, label %again, label %done
again:
  %second = call ptr @calloc(i64 1, i64 %n)
  call void @free(ptr %first)
  br label %done
done:
  %shadow = phi ptr [ %first, %0 ], [ %second, %again ]
  ret ptr %shadow
}}
"""
_FREE = """
define weak void @llgrad.replay.free(ptr %p) {
  %logged = load i1, ptr @llgrad.replay.logged
  br i1 %logged, label %log, label %memory
log:
  ret void
memory:
  call void @free(ptr %p)
  ret void
}
define void @llgrad.replay.free.tangent(ptr %p, ptr %dp) {
  %constant = icmp eq ptr %p, %dp
  br i1 %constant, label %done, label %active
active:
  call void @free(ptr %dp)
  br label %done
done:
  ret void
}
"""
ALWAYS = "\n".join([_COPIES, _ALLOC, _FREE, *map(_ruled, ("copy", "fill", "free")), accesses("ptr")])
