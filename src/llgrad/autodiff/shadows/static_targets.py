"""Shadows of variables whose pointers lead to other variables from before (`llgrad.analysis.statics.known_targets`).

Where such a pointer leads when a derivative is entered, the primal may have changed since the last one. So the root
finds it in the variable, and stores the same place in the target's shadow in the variable's.
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.analysis.memory.call_effects import targets_of
from llgrad.analysis.objects import WORD
from llgrad.autodiff.emit import tape
from llgrad.autodiff.emit.helpers import define
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.shadows.globals import constant_shadow, shadow_name
from llgrad.ir.build import Builder, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I32, PTR, VOID, ArrayType, DataLayout, FloatType, IntType, PointerType, StructType, Type
from llgrad.ir.values import AnyConstant, AnyValue, ConstInt, GlobalVariable

_MOST_RUNS = 16  # of one variable: else all of its words are looked at
# The target's bytes are `reach`, with those `before` it. `pointers`: nothing else is there, and they lead nowhere else.
_LEAD = """
define internal void @llgrad.led(
    ptr %%held, ptr %%shadow, i64 %%count, ptr %%start, i64 %%before, i64 %%reach, ptr %%to, i1 %%pointers
) nounwind {
entry:
  %%from = ptrtoint ptr %%start to i64
  br label %%loop
loop:
  %%n = phi i64 [ 0, %%entry ], [ %%next, %%after ]
  %%place = getelementptr ptr, ptr %%held, i64 %%n
  %%pointer = load ptr, ptr %%place, align 8
  %%at = ptrtoint ptr %%pointer to i64
  %%by = sub i64 %%at, %%from
  %%shifted = add i64 %%by, %%before
  %%inside = icmp ult i64 %%shifted, %%reach
  br i1 %%inside, label %%found, label %%outside
outside:
  %%set = icmp ne ptr %%pointer, null
  %%lost = and i1 %%set, %%pointers
  br i1 %%lost, label %%bad, label %%after
bad:
  call void @%s(i32 %d, ptr null)
  unreachable
found:
  %%other = getelementptr i8, ptr %%to, i64 %%by
  %%kept = getelementptr ptr, ptr %%shadow, i64 %%n
  store ptr %%other, ptr %%kept, align 8
  br label %%after
after:
  %%next = add i64 %%n, 1
  %%more = icmp ult i64 %%next, %%count
  br i1 %%more, label %%loop, label %%done
done:
  ret void
}
"""
Led = dict[tuple[GlobalVariable, int], list[tuple[GlobalVariable, AnyConstant, bool]]]
"""For a variable and a lane: what it may lead to, the shadows of that, and whether anywhere in it."""


def led(facts: Facts, module: Module, width: range) -> Led:
    """Of all variables that have shadows; makes those of what they lead to."""
    found: Led = {}
    while new := [
        (v, lane)
        for v in module.variables
        for lane in width
        if (v, lane) not in found and targets_of(v) is not None and shadow_name(v, lane) in module.globals
    ]:
        for v, lane in new:
            targets = (targets_of(v) or {}).items()
            found[v, lane] = [(g, constant_shadow(facts, module, g, lane), None in at) for g, at in targets]
    return found


def lead(b: Builder, module: Module, found: Led) -> None:
    """At the root's entry, where shadows of variables are zeroed: let them lead where their variables do."""
    if found:
        declare(module, tape.FAIL, VOID, [I32, PTR])
    for (v, lane), targets in found.items():
        shadow, layout = module.globals[shadow_name(v, lane)], module.layout
        runs = list(_runs(v.value_type, layout))
        whole = 0, layout.alloc_size(v.value_type) // WORD, False
        for at, count, pointers in runs if len(runs) <= _MOST_RUNS else [whole]:
            for g, other, anywhere in targets:
                size = layout.alloc_size(g.value_type)
                around = size if anywhere else 0  # of arrays that are counted from one, and ends
                given: list[AnyValue] = [b.offset(v, at), b.offset(shadow, at), i64(count), g, i64(around)]
                given += [i64(size + 2 * around), other, ConstInt(I1, anywhere and pointers)]
                b.call(define(module, "llgrad.led", _LEAD % (tape.FAIL, tape.FAIL_BEFORE)), given)


def _runs(t: Type, layout: DataLayout) -> Iterator[tuple[int, int, bool]]:
    """Where there may be pointers: from which byte, how many words, and whether nothing else is there."""
    match t:
        case FloatType():
            return
        case IntType(bits) if bits < 64:
            return
        case StructType(fields) if fields is not None:
            for at, field in zip(layout.offsets(t), fields, strict=True):
                yield from ((at + inner, count, pointers) for inner, count, pointers in _runs(field, layout))
        case ArrayType(element, count):
            size, each = layout.alloc_size(element), list(_runs(element, layout))
            if element == IntType(8) or (len(each) == 1 and each[0][:2] == (0, size // WORD)):
                yield from [(0, size * count // WORD, bool(each) and each[0][2])] if size * count >= WORD else []
            else:
                for n in range(min(count, _MOST_RUNS + 1)):
                    yield from ((n * size + at, run, pointers) for at, run, pointers in each)
        case _:
            yield 0, layout.alloc_size(t) // WORD, isinstance(t, PointerType)


__all__ = ["Led", "lead", "led"]
