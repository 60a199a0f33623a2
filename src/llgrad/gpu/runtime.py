"""What derivatives call on a GPU, as IR: how they fail, what the arena asks of a C library, sums.

The tape's arena lies in the heap of the device (`malloc` within a kernel), where derivatives need one.
`llgrad.gpu.add.float(ptr, float)` adds to memory of any address space (`local_atomics`).
"""

from __future__ import annotations

from msgspec import Struct

from llgrad.ir.module import Module
from llgrad.models.gpu import ADD, TAPE_BEGIN, TAPE_END

_FAIL = """
declare void @llvm.trap()
define internal void @llgrad_fail(i32 %code, ptr %detail) noinline cold noreturn nounwind {
  call void @llvm.trap()
  unreachable
}
"""
_ABORT = """
declare void @llvm.trap()
define internal void @abort() noinline cold noreturn nounwind {
  call void @llvm.trap()
  unreachable
}
"""
_CALLOC = """
declare ptr @malloc(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal ptr @calloc(i64 %count, i64 %bytes) nounwind {
  %size = mul i64 %count, %bytes
  %block = call ptr @malloc(i64 %size)
  %is.null = icmp eq ptr %block, null
  br i1 %is.null, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr align 16 %block, i8 0, i64 %size, i1 false)
  br label %done
done:
  ret ptr %block
}
"""
_ALIGNED = """
declare ptr @malloc(i64)
define internal ptr @aligned_alloc(i64 %alignment, i64 %bytes) nounwind {
  %block = call ptr @malloc(i64 %bytes)
  ret ptr %block
}
"""
_SYSTEM = {
    "write": "define internal i64 @write(i32 %file, ptr %text, i64 %bytes) nounwind {\n  ret i64 0\n}\n",
    "getenv": "define internal ptr @getenv(ptr %name) nounwind {\n  ret ptr null\n}\n",
    "strtoull": "define internal i64 @strtoull(ptr %text, ptr %end, i32 %base) nounwind {\n  ret i64 0\n}\n",
    "madvise": "define internal i32 @madvise(ptr %start, i64 %bytes, i32 %advice) nounwind {\n  ret i32 0\n}\n",
}


def _add(t: str) -> str:
    return f"""
declare i1 @llvm.nvvm.isspacep.local(ptr)
define internal void @{ADD}{t}(ptr %memory, {t} %x) alwaysinline nounwind {{
  %is.own = call i1 @llvm.nvvm.isspacep.local(ptr %memory)
  br i1 %is.own, label %own, label %shared
own:
  %old = load {t}, ptr %memory
  %new = fadd {t} %old, %x
  store {t} %new, ptr %memory
  br label %done
shared:
  %ignored = atomicrmw fadd ptr %memory, {t} %x monotonic
  br label %done
done:
  ret void
}}
"""


_TAPE_BEGIN = f"""
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal ptr @{TAPE_BEGIN}(ptr %block, i64 %bytes) alwaysinline nounwind {{
  call void @llvm.memset.p0.i64(ptr align 8 %block, i8 0, i64 128, i1 false)
  %segment = getelementptr i8, ptr %block, i64 64
  %memory = getelementptr i8, ptr %block, i64 128
  %limit = getelementptr i8, ptr %block, i64 %bytes
  %size = sub i64 %bytes, 64
  store ptr %memory, ptr %block, align 8
  %at.limit = getelementptr i8, ptr %block, i64 8
  store ptr %limit, ptr %at.limit, align 8
  %at.segment = getelementptr i8, ptr %block, i64 16
  store ptr %segment, ptr %at.segment, align 8
  %at.size = getelementptr i8, ptr %block, i64 80
  store i64 %size, ptr %at.size, align 8
  ret ptr %block
}}
"""
_TAPE_END = f"""
declare void @free(ptr)
define internal void @{TAPE_END}(ptr %block) nounwind {{
  %at.held = getelementptr i8, ptr %block, i64 56
  %held = load ptr, ptr %at.held, align 8
  call void @free(ptr %held)
  br label %head
head:
  %segment = phi ptr [ %block, %0 ], [ %next, %body ]
  %offset = phi i64 [ 72, %0 ], [ 8, %body ]
  %at.next = getelementptr i8, ptr %segment, i64 %offset
  %next = load ptr, ptr %at.next, align 8
  %first = icmp eq ptr %segment, %block
  br i1 %first, label %test, label %drop
drop:
  call void @free(ptr %segment)
  br label %test
test:
  %more = icmp ne ptr %next, null
  br i1 %more, label %body, label %done
body:
  br label %head
done:
  ret void
}}
"""
_TEXTS = {
    TAPE_BEGIN: _TAPE_BEGIN, TAPE_END: _TAPE_END,
    f"{ADD}float": _add("float"), f"{ADD}double": _add("double"),
    "llgrad_fail": _FAIL, "abort": _ABORT, "calloc": _CALLOC, "aligned_alloc": _ALIGNED, **_SYSTEM
}  # fmt: skip
OWN = frozenset({TAPE_BEGIN, TAPE_END, f"{ADD}float", f"{ADD}double"})
HEAP = frozenset({"malloc", "free"})
"""What CUDA has for code of the device itself."""


class Bodies(Struct, frozen=True):
    """Functions as text, and the names that this defines."""

    text: str
    defines: frozenset[str]


def bodies(module: Module) -> Bodies:
    """The functions that a module needs of these."""
    needed = [name for name in _TEXTS if name in module.globals]
    if not needed:
        return Bodies("", frozenset())
    lines: dict[str, None] = {}
    texts = []
    for name in needed:
        declared = [line for line in _TEXTS[name].splitlines() if line.startswith("declare ")]
        lines |= dict.fromkeys(line for line in declared if _name(line) not in module.globals)
        texts.append("\n".join(line for line in _TEXTS[name].splitlines() if not line.startswith("declare ")))
    return Bodies("\n".join([*lines, *texts]) + "\n", frozenset(needed))


def _name(line: str) -> str:
    return line.partition("@")[2].partition("(")[0]
