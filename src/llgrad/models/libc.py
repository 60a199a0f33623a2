"""Functions of the C library that move active data or call back, written out as LLVM IR: code like any other.

Blocks that move become new blocks: `realloc` allocates, copies and frees (decision 5 of the design), so that the
reverse sweep finds the old block as it was. How large that was, `malloc_usable_size` tells. Copies of text may lie
where other pointers have shadows, and so have one. `qsort` sorts a permutation by the comparator, stably as glibc does,
and applies it: only the application has a derivative. `bsearch` probes as glibc does.
"""

from __future__ import annotations

from msgspec import Struct

PREFIX = "llgrad.routine."
BLOCK_SIZE = "malloc_usable_size"


class Routine(Struct, frozen=True):
    """`type` is the function's as LLVM prints it; `body` defines `@llgrad.routine.NAME`; `uses` are other routines."""

    type: str
    body: str
    uses: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        result, parameters = self.type.split(" ", 1)
        return f"define internal {result} @{PREFIX}{name}{parameters} alwaysinline {{\n{self.body}}}\n"


_REALLOC = """
entry:
  %new = call ptr @malloc(i64 %size)
  %made = icmp ne ptr %new, null
  br i1 %made, label %move, label %done
move:
  %had = call i64 @malloc_usable_size(ptr %old)
  %shrinks = icmp ult i64 %size, %had
  %kept = select i1 %shrinks, i64 %size, i64 %had
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %kept, i1 false)
  call void @free(ptr %old)
  br label %done
done:
  ret ptr %new
"""
_REALLOCARRAY = """
entry:
  %both = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %size)
  %wraps = extractvalue { i64, i1 } %both, 1
  br i1 %wraps, label %fail, label %go
fail:
  ret ptr null
go:
  %bytes = extractvalue { i64, i1 } %both, 0
  %new = call ptr @llgrad.routine.realloc(ptr %old, i64 %bytes)
  ret ptr %new
"""
_POSIX_MEMALIGN = """
  %new = call ptr @aligned_alloc(i64 %alignment, i64 %size)
  store ptr %new, ptr %place, align 8
  %failed = icmp eq ptr %new, null
  %code = select i1 %failed, i32 12, i32 0
  ret i32 %code
"""
_STRDUP = """
entry:
  %length = call i64 {length}
  %size = add i64 %length, 1
  %new = call ptr @malloc(i64 %size)
  %made = icmp ne ptr %new, null
  br i1 %made, label %copy, label %done
copy:
  call ptr @strncpy(ptr %new, ptr %text, i64 %length)
  %end = getelementptr i8, ptr %new, i64 %length
  store i8 0, ptr %end
  br label %done
done:
  ret ptr %new
"""
_STRTOK_R = """
entry:
  %goes.on = icmp eq ptr %text, null
  br i1 %goes.on, label %again, label %look
again:
  %kept = load ptr, ptr %place, align 8
  br label %look
look:
  %from = phi ptr [ %text, %entry ], [ %kept, %again ]
  %none = icmp eq ptr %from, null
  br i1 %none, label %nothing, label %skip
skip:
  %before = call i64 @strspn(ptr %from, ptr %between)
  %start = getelementptr i8, ptr %from, i64 %before
  %length = call i64 @strcspn(ptr %start, ptr %between)
  %end = getelementptr i8, ptr %start, i64 %length
  %last = load i8, ptr %end, align 1
  %more = icmp ne i8 %last, 0
  br i1 %more, label %cut, label %keep
cut:
  store i8 0, ptr %end, align 1
  %after = getelementptr i8, ptr %end, i64 1
  br label %keep
keep:
  %next = phi ptr [ %after, %cut ], [ %end, %skip ]
  store ptr %next, ptr %place, align 8
  %empty = icmp eq i64 %length, 0
  br i1 %empty, label %nothing, label %found
found:
  ret ptr %start
nothing:
  ret ptr null
"""
_QSORT = """
entry:
  %bytes = mul i64 %count, %size
  %order = call ptr @llgrad.routine.order(ptr %base, i64 %count, i64 %size, ptr %compare{given})
  %sorted = call ptr @malloc(i64 %bytes)
  %none = icmp eq i64 %count, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr i64, ptr %order, i64 %i
  %which = load i64, ptr %place, align 8
  %from = mul i64 %which, %size
  %source = getelementptr i8, ptr %base, i64 %from
  %to = mul i64 %i, %size
  %target = getelementptr i8, ptr %sorted, i64 %to
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %size, i1 false)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  call void @llvm.memcpy.p0.p0.i64(ptr %base, ptr %sorted, i64 %bytes, i1 false)
  call void @free(ptr %sorted)
  call void @free(ptr %order)
  ret void
"""
# Bottom-up merge sort of the indices 0 … count - 1; the second half of the memory is scratch.
_ORDER = """
entry:
  %half = shl i64 %count, 3
  %bytes = shl i64 %count, 4
  %all = call ptr @malloc(i64 %bytes)
  %other = getelementptr i64, ptr %all, i64 %count
  %none = icmp eq i64 %count, 0
  br i1 %none, label %end, label %fill
fill:
  %n = phi i64 [ 0, %entry ], [ %n.next, %fill ]
  %cell = getelementptr i64, ptr %all, i64 %n
  store i64 %n, ptr %cell, align 8
  %n.next = add i64 %n, 1
  %n.more = icmp ult i64 %n.next, %count
  br i1 %n.more, label %fill, label %pass
pass:
  %width = phi i64 [ 1, %fill ], [ %double, %passed ]
  %from = phi ptr [ %all, %fill ], [ %to, %passed ]
  %to = phi ptr [ %other, %fill ], [ %from, %passed ]
  %again = icmp ult i64 %width, %count
  br i1 %again, label %merge, label %copy
merge:
  %low = phi i64 [ 0, %pass ], [ %high, %merged ]
  %left = add i64 %low, %width
  %middle = call i64 @llvm.umin.i64(i64 %left, i64 %count)
  %right = add i64 %middle, %width
  %high = call i64 @llvm.umin.i64(i64 %right, i64 %count)
  br label %step
step:
  %k = phi i64 [ %low, %merge ], [ %k.next, %stepped ]
  %a = phi i64 [ %low, %merge ], [ %a.next, %stepped ]
  %b = phi i64 [ %middle, %merge ], [ %b.next, %stepped ]
  %a.cell = getelementptr i64, ptr %from, i64 %a
  %b.cell = getelementptr i64, ptr %from, i64 %b
  %a.left = icmp ult i64 %a, %middle
  br i1 %a.left, label %b.left, label %take.b
b.left:
  %b.some = icmp ult i64 %b, %high
  br i1 %b.some, label %both, label %take.a
both:
  %a.which = load i64, ptr %a.cell, align 8
  %a.at = mul i64 %a.which, %size
  %a.element = getelementptr i8, ptr %base, i64 %a.at
  %b.which = load i64, ptr %b.cell, align 8
  %b.at = mul i64 %b.which, %size
  %b.element = getelementptr i8, ptr %base, i64 %b.at
  %sign = call i32 %compare(ptr %a.element, ptr %b.element{given})
  %first = icmp sle i32 %sign, 0
  br i1 %first, label %take.a, label %take.b
take.a:
  %a.taken = add i64 %a, 1
  br label %stepped
take.b:
  %b.taken = add i64 %b, 1
  br label %stepped
stepped:
  %cell.taken = phi ptr [ %a.cell, %take.a ], [ %b.cell, %take.b ]
  %a.next = phi i64 [ %a.taken, %take.a ], [ %a, %take.b ]
  %b.next = phi i64 [ %b, %take.a ], [ %b.taken, %take.b ]
  %taken = load i64, ptr %cell.taken, align 8
  %k.cell = getelementptr i64, ptr %to, i64 %k
  store i64 %taken, ptr %k.cell, align 8
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %high
  br i1 %k.more, label %step, label %merged
merged:
  %more = icmp ult i64 %high, %count
  br i1 %more, label %merge, label %passed
passed:
  %double = shl i64 %width, 1
  br label %pass
copy:
  call void @llvm.memmove.p0.p0.i64(ptr %all, ptr %from, i64 %half, i1 false)
  br label %end
end:
  ret ptr %all
"""
_BSEARCH = """
entry:
  br label %probe
probe:
  %low = phi i64 [ 0, %entry ], [ %low.next, %other ]
  %high = phi i64 [ %count, %entry ], [ %high.next, %other ]
  %some = icmp ult i64 %low, %high
  br i1 %some, label %look, label %nothing
look:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %at = mul i64 %middle, %size
  %element = getelementptr i8, ptr %base, i64 %at
  %sign = call i32 %compare(ptr %key, ptr %element)
  %found = icmp eq i32 %sign, 0
  br i1 %found, label %done, label %other
other:
  %below = icmp slt i32 %sign, 0
  %after = add i64 %middle, 1
  %low.next = select i1 %below, i64 %low, i64 %after
  %high.next = select i1 %below, i64 %middle, i64 %high
  br label %probe
done:
  ret ptr %element
nothing:
  ret ptr null
"""


def _checked(name: str, from_: str, of: str, returned: str = "%to") -> Routine:
    """What `-D_FORTIFY_SOURCE` calls to copy or fill: the last argument is the room that there is."""
    low = "  %low = trunc i32 %byte to i8" if "%low" in of else ""
    body = f"""
{low}
  %fits = icmp ule i64 %size, %room
  br i1 %fits, label %go, label %over
over:
  call void @__chk_fail()
  unreachable
go:
  call void @llvm.{name}(ptr %to, {of}, i64 %size, i1 false)
  %end = getelementptr i8, ptr %to, i64 %size
  ret ptr {returned}
"""
    return Routine(f"ptr (ptr %to, {from_}, i64 %size, i64 %room)", body)


def _unchecked(name: str, from_: str, given: str, returned: str = "ptr %to", unit: int = 1) -> Routine:
    """What is called to copy or fill where `-fno-builtin` keeps it from being an intrinsic."""
    low = "  %low = trunc i32 %byte to i8" if "%low" in given else ""
    body = f"""
{low}
  %size = mul i64 %count, {unit}
  call void @llvm.{name}(ptr %to, {given}, i64 %size, i1 false)
  %end = getelementptr i8, ptr %to, i64 %size
  ret {returned}
"""
    return Routine(f"{returned.split()[0]} ({from_}, i64 %count)", body)


def _sorting(name: str, parameter: str, given: str) -> dict[str, Routine]:
    """`qsort` or `qsort_r`, and the function that finds the permutation (not inlined: nothing in it is active)."""
    order = f"{name}.order"
    parameters = f"(ptr %base, i64 %count, i64 %size, ptr %compare{parameter})"
    sort = _QSORT.replace("{given}", given).replace("@llgrad.routine.order", f"@{PREFIX}{order}")
    return {
        name: Routine(f"void {parameters}", sort, (order,)),
        order: Routine(f"ptr {parameters}", _ORDER.replace("{given}", given)),
    }


_UNITS, _TO_FROM = {"": 1, "w": 4}, "ptr %to, ptr %from"  # bytes, wide characters
ROUTINES: dict[str, Routine] = {
    "realloc": Routine("ptr (ptr %old, i64 %size)", _REALLOC),
    "reallocarray": Routine("ptr (ptr %old, i64 %count, i64 %size)", _REALLOCARRAY, ("realloc",)),
    "posix_memalign": Routine("i32 (ptr %place, i64 %alignment, i64 %size)", _POSIX_MEMALIGN),
    "strdup": Routine("ptr (ptr %text)", _STRDUP.replace("{length}", "@strlen(ptr %text)")),
    "strndup": Routine("ptr (ptr %text, i64 %most)", _STRDUP.replace("{length}", "@strnlen(ptr %text, i64 %most)")),
    **dict.fromkeys(("strtok_r", "__strtok_r"), Routine("ptr (ptr %text, ptr %between, ptr %place)", _STRTOK_R)),
    "bsearch": Routine("ptr (ptr %key, ptr %base, i64 %count, i64 %size, ptr %compare)", _BSEARCH),
    **{f"{w}memcpy": _unchecked("memcpy.p0.p0.i64", _TO_FROM, "ptr %from", unit=u) for w, u in _UNITS.items()},
    **{f"{w}memmove": _unchecked("memmove.p0.p0.i64", _TO_FROM, "ptr %from", unit=u) for w, u in _UNITS.items()},
    **{f"{w}mempcpy": _unchecked("memcpy.p0.p0.i64", _TO_FROM, "ptr %from", "ptr %end", u) for w, u in _UNITS.items()},
    "memset": _unchecked("memset.p0.i64", "ptr %to, i32 %byte", "i8 %low"),
    "bcopy": _unchecked("memmove.p0.p0.i64", "ptr %from, ptr %to", "ptr %from", "void"),
    "bzero": _unchecked("memset.p0.i64", "ptr %to", "i8 0", "void"),
    "__memcpy_chk": _checked("memcpy.p0.p0.i64", "ptr %from", "ptr %from"),
    "__memmove_chk": _checked("memmove.p0.p0.i64", "ptr %from", "ptr %from"),
    "__mempcpy_chk": _checked("memcpy.p0.p0.i64", "ptr %from", "ptr %from", "%end"),
    "__memset_chk": _checked("memset.p0.i64", "i32 %byte", "i8 %low"),
    **_sorting("qsort", "", ""),
    **_sorting("qsort_r", ", ptr %context", ", ptr %context"),
}
DECLARATIONS = (
    "declare noalias ptr @malloc(i64)",
    "declare noalias ptr @aligned_alloc(i64 allocalign, i64)",
    "declare void @free(ptr)",
    f"declare i64 @{BLOCK_SIZE}(ptr) nounwind",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "declare void @__chk_fail() noreturn",
    "declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)",
    "declare i64 @llvm.umin.i64(i64, i64)",
    "declare i64 @strlen(ptr)",
    "declare i64 @strnlen(ptr, i64)",
    "declare ptr @strncpy(ptr, ptr, i64)",
    "declare i64 @strspn(ptr, ptr)",
    "declare i64 @strcspn(ptr, ptr)",
)


def needed(names: set[str]) -> dict[str, str]:
    """The definitions of those of `names` that are routines, and of what they use: by name."""
    wanted = [n for n in ROUTINES if n in names]
    for n in wanted:
        wanted += [u for u in ROUTINES[n].uses if u not in wanted]
    return {n: ROUTINES[n].text(n) for n in wanted}
