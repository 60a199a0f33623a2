"""What derivatives call on a GPU, as IR: how they fail, what the arena asks of a C library, shared shadows cleared.

The tape's arena lies in the heap of the device (`malloc` within a kernel), where derivatives need one.
`llgrad.gpu.clear.shared(ptr, i64)` clears memory of a block by all of its threads, between two barriers.
"""

from __future__ import annotations

from msgspec import Struct

from llgrad.ir.module import Module
from llgrad.models.gpu import ADD, CLEAR

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
_INDEX = "\n".join(
    f"declare i32 @llvm.nvvm.read.ptx.sreg.{register}.{axis}()" for register in ("tid", "ntid") for axis in "xyz"
)
_CLEAR = f"""
{_INDEX}
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal void @{CLEAR}(ptr %memory, i64 %bytes) convergent noinline nounwind {{
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) convergent
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %nz = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  %row = mul i32 %z, %ny
  %rows = add i32 %row, %y
  %before = mul i32 %rows, %nx
  %own = add i32 %before, %x
  %plane = mul i32 %nx, %ny
  %threads = mul i32 %plane, %nz
  %first = zext i32 %own to i64
  %step = zext i32 %threads to i64
  br label %head
head:
  %n = phi i64 [ %first, %0 ], [ %next, %body ]
  %more = icmp ult i64 %n, %bytes
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i8, ptr %memory, i64 %n
  store i8 0, ptr %at, align 1
  %next = add i64 %n, %step
  br label %head
done:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) convergent
  ret void
}}
"""
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


_TEXTS = {
    f"{ADD}float": _add("float"), f"{ADD}double": _add("double"),
    "llgrad_fail": _FAIL, "abort": _ABORT, "calloc": _CALLOC, "aligned_alloc": _ALIGNED, CLEAR: _CLEAR, **_SYSTEM
}  # fmt: skip
OWN = frozenset({CLEAR, f"{ADD}float", f"{ADD}double"})
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
