"""Shadows of variables whose pointers lead to other variables from before (`llgrad.knowntargets`).

Where such a pointer leads when a derivative is entered, the primal may have changed since the last one. So the root
finds it in the variable, and stores the same place in the target's shadow in the variable's.
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.analysis.known import targets_of
from llgrad.analysis.objects import WORD, initial_pointers
from llgrad.ir.build import Builder, i64
from llgrad.ir.module import Module
from llgrad.ir.types import ArrayType, DataLayout, FloatType, IntType, StructType, Type
from llgrad.ir.values import AnyConstant, GlobalVariable
from llgrad.synthesis.facts import Facts
from llgrad.synthesis.globalshadows import constant_shadow, shadow_name
from llgrad.synthesis.support import define

_MOST_RUNS = 16  # of one variable: else all of its words are looked at
_LEAD = """
define internal void @llgrad.led(ptr %held, ptr %shadow, i64 %count, ptr %start, i64 %size, ptr %to) nounwind {
entry:
  %from = ptrtoint ptr %start to i64
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %after ]
  %place = getelementptr ptr, ptr %held, i64 %n
  %pointer = load ptr, ptr %place, align 8
  %at = ptrtoint ptr %pointer to i64
  %by = sub i64 %at, %from
  %inside = icmp ult i64 %by, %size
  br i1 %inside, label %found, label %after
found:
  %other = getelementptr i8, ptr %to, i64 %by
  %kept = getelementptr ptr, ptr %shadow, i64 %n
  store ptr %other, ptr %kept, align 8
  br label %after
after:
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
Led = dict[tuple[GlobalVariable, int], list[tuple[GlobalVariable, AnyConstant]]]
"""For a variable and a lane: what it may lead to, and the shadows of that."""


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
            table = targets_of(v)
            assert table is not None
            targets = dict.fromkeys(g for _, g, _ in initial_pointers(table, module.layout))
            variables = [g for g in targets if isinstance(g, GlobalVariable)]
            found[v, lane] = [(g, constant_shadow(facts, module, g, lane)) for g in variables]
    return found


def lead(b: Builder, module: Module, found: Led) -> None:
    """At the root's entry, where shadows of variables are zeroed: let them lead where their variables do."""
    for (v, lane), targets in found.items():
        shadow, layout = module.globals[shadow_name(v, lane)], module.layout
        runs = list(_runs(v.value_type, layout))
        for at, count in runs if len(runs) <= _MOST_RUNS else [(0, layout.alloc_size(v.value_type) // WORD)]:
            for g, other in targets:
                size = i64(layout.alloc_size(g.value_type))
                given = [b.offset(v, at), b.offset(shadow, at), i64(count), g, size, other]
                b.call(define(module, "llgrad.led", _LEAD), given)


def _runs(t: Type, layout: DataLayout) -> Iterator[tuple[int, int]]:
    """Where there may be pointers: from which byte, how many words."""
    match t:
        case FloatType():
            return
        case IntType(bits) if bits < 64:
            return
        case StructType(fields) if fields is not None:
            for at, field in zip(layout.offsets(t), fields, strict=True):
                yield from ((at + inner, count) for inner, count in _runs(field, layout))
        case ArrayType(element, count):
            size = layout.alloc_size(element)
            if element == IntType(8) or [*_runs(element, layout)] == [(0, size // WORD)]:
                yield from [(0, size * count // WORD)] if size * count >= WORD else []
            else:
                each = list(_runs(element, layout))
                yield from ((n * size + at, run) for n in range(min(count, _MOST_RUNS + 1)) for at, run in each)
        case _:
            yield 0, layout.alloc_size(t) // WORD


__all__ = ["Led", "lead", "led"]
