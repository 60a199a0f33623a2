"""Shadows of the buffers that static variables keep from one call to the next (`analysis.keptbuffers`).

When a derivative is entered, such a variable holds what an earlier call, of the primal too, has allocated, and nobody
made a shadow of that. The root makes a zeroed one, as large as the block, and releases it when it returns. What an
earlier call left in the buffer is a constant, as the contents of all static variables are.
"""

from __future__ import annotations

from llgrad.analysis.keptbuffers import Kept
from llgrad.ir.build import Builder, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I8, I64, PTR, VOID
from llgrad.ir.values import AnyValue, ConstNull, GlobalVariable
from llgrad.rules.facts import deallocator_of
from llgrad.rules.routines import BLOCK_SIZE
from llgrad.synthesis.globalshadows import shadow_name
from llgrad.synthesis.support import define

_SHADOW = """
define internal ptr @%(name)s(ptr %%variable, ptr %%shadow, i64 %%at) nounwind {
entry:
  %%from = getelementptr i8, ptr %%variable, i64 %%at
  %%block = load ptr, ptr %%from, align 8
  %%none = icmp eq ptr %%block, null
  br i1 %%none, label %%done, label %%some
some:
  %%size = call i64 @malloc_usable_size(ptr %%block)
  %%made = call ptr @%(allocate)s(i64 %%size)
  call void @llvm.memset.p0.i64(ptr %%made, i8 0, i64 %%size, i1 false)
  %%to = getelementptr i8, ptr %%shadow, i64 %%at
  store ptr %%made, ptr %%to, align 8
  br label %%done
done:
  %%result = phi ptr [ null, %%entry ], [ %%made, %%some ]
  ret ptr %%result
}
"""
_ALLOCATES = {"malloc": "malloc", "new": "_Znwm", "new[]": "_Znam"}
_INNER = """
define internal void @llgrad.kept.inner(ptr %variable, ptr %shadow, ptr %made, i64 %base, i64 %at) nounwind {
entry:
  %none = icmp eq ptr %made, null
  br i1 %none, label %done, label %some
some:
  %from = getelementptr i8, ptr %variable, i64 %base
  %start = load i64, ptr %from, align 8
  %inner = getelementptr i8, ptr %variable, i64 %at
  %there = load i64, ptr %inner, align 8
  %distance = sub i64 %there, %start
  %moved = getelementptr i8, ptr %made, i64 %distance
  %to = getelementptr i8, ptr %shadow, i64 %at
  store ptr %moved, ptr %to, align 8
  br label %done
done:
  ret void
}
"""


def make_shadows(b: Builder, module: Module, kept: Kept, lane: int) -> GlobalVariable | None:
    """At the root's entry, where shadows of variables are null: fill that of this one. It, where there is one."""
    shadow = module.globals.get(shadow_name(kept.variable, lane))
    if not isinstance(shadow, GlobalVariable):
        return None
    allocate = _ALLOCATES[kept.family]
    declare(module, BLOCK_SIZE, I64, [PTR])
    declare(module, allocate, PTR, [I64])
    declare(module, "llvm.memset.p0.i64", VOID, [PTR, I8, I64, I1])
    name = f"llgrad.kept.{allocate}"
    make = define(module, name, _SHADOW % {"name": name, "allocate": allocate})
    made = b.call(make, [kept.variable, shadow, i64(kept.start)], "kept")
    for at in kept.others:
        given: list[AnyValue] = [kept.variable, shadow, made, i64(kept.start), i64(at)]
        b.call(define(module, "llgrad.kept.inner", _INNER), given)
    return shadow


def release(b: Builder, module: Module, kept: Kept, shadow: GlobalVariable) -> None:
    """Where the root returns: the block that is there by then. Nothing leads to what is released."""
    free = declare(module, deallocator_of(kept.family), VOID, [PTR])
    b.call(free, [b.load(PTR, b.offset(shadow, kept.start), "kept", 8)])
    for at in (kept.start, *kept.others):
        b.store(ConstNull(PTR), b.offset(shadow, at), 8)


__all__ = ["make_shadows", "release"]
