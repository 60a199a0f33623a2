"""Releases that take more than the block, postponed: the arena knows functions of one pointer only.

A program's own `give(p, n)` is `llgrad.free.0$give(ptr, i64)` while a derivative is made (`models.effects`). Where the
forward sweep postpones it, `noted` keeps what it was given in a record, and `released` is the function that the arena
calls with that record:

    call void @"llgrad.free.0$give"(ptr %p, i64 %n)
    ->
    %record = call ptr @"llgrad.noted.0$give"(i64 ptrtoint (%p), i64 %n)
    call void @llgrad.tape.defer(ptr %arena, ptr %record, ptr @"llgrad.released.0$give")

A record of no block is null. A derivative with records is not differentiated again (`primal_copy.shadow_call`).
"""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.autodiff.emit.helpers import define
from llgrad.ir.build import Builder
from llgrad.ir.module import Module
from llgrad.ir.types import I64, PTR, VOID
from llgrad.ir.values import AnyValue, Function
from llgrad.llvm.assembly import spelt
from llgrad.models.effects import FREES

NOTED, RELEASED = "llgrad.noted.", "llgrad.released."


def noted(b: Builder, release: Function, given: Sequence[AnyValue]) -> AnyValue:
    """The record of a call of `release`."""
    module = release.module
    assert module is not None
    numbers = [b.cast("ptrtoint", v, I64) if v.type == PTR else v for v in given]
    return b.call(_function(module, release, "noted"), numbers, "record")


def released(release: Function) -> Function:
    """The function that releases what a record names, and the record."""
    module = release.module
    assert module is not None
    return _function(module, release, "released")


def _function(module: Module, release: Function, what: str) -> Function:
    name = release.name.removeprefix(FREES)
    return define(
        module,
        f"{NOTED if what == 'noted' else RELEASED}{name}",
        (_noted if what == "noted" else _released)(release, name),
    )


def _noted(release: Function, name: str) -> str:
    types = [I64 if t == PTR else t for t in release.function_type.params]
    given = ", ".join(f"{t} %x{n}" for n, t in enumerate(types))
    stores = "\n".join(
        f"  %at{n} = getelementptr i8, ptr %record, i64 {8 * n}\n  store {t} %x{n}, ptr %at{n}"
        for n, t in enumerate(types)
    )
    return f"""
declare ptr @malloc(i64)

define internal ptr @{spelt(NOTED + name)}({given}) noinline nounwind "enzyme_inactive" {{
entry:
  %none = icmp eq i64 %x{release.function_type.params.index(PTR)}, 0
  br i1 %none, label %nothing, label %some
nothing:
  ret ptr null
some:
  %record = call ptr @malloc(i64 {8 * len(types)})
{stores}
  ret ptr %record
}}
"""


def _released(release: Function, name: str) -> str:
    types = release.function_type.params
    loads = "\n".join(
        f"  %at{n} = getelementptr i8, ptr %record, i64 {8 * n}\n  %x{n} = load {t}, ptr %at{n}"
        for n, t in enumerate(types)
    )
    given = ", ".join(f"{t} %x{n}" for n, t in enumerate(types))
    result = release.function_type.result
    return f"""
declare void @free(ptr)
declare {result} @{spelt(release.name)}({", ".join(map(str, types))})

define internal void @{spelt(RELEASED + name)}(ptr %record) noinline nounwind "enzyme_inactive" {{
entry:
  %none = icmp eq ptr %record, null
  br i1 %none, label %done, label %some
some:
{loads}
  call void @free(ptr %record)
  {"" if result == VOID else "%r = "}call {result} @{spelt(release.name)}({given})
  br label %done
done:
  ret void
}}
"""
