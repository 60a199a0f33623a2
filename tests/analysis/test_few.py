"""Integers that take few values: all that they may be, or no answer."""

from __future__ import annotations

import pytest

from llgrad.analysis.cfg.value_sets import Few
from llgrad.ir.parse import parse

TWICE = """
define void @f(ptr %p, i1 %c, i64 %n) {{
entry:
  br label %around
around:
  %from = phi i64 [ 0, %entry ], [ {handed_on}, %next ]
  br label %loop
loop:
  %first = phi i1 [ true, %around ], [ false, %latch ]
  %i = phi i64 [ 0, %around ], [ 1, %latch ]
  %k = phi i64 [ {start}, %around ], [ %k2, %latch ]
  br i1 %c, label %more, label %latch
more:
  %k1 = add i64 %k, {step}
  br label %latch
latch:
  %k2 = phi i64 [ %k, %loop ], [ %k1, %more ]
  br i1 {test}, label %loop, label %left
left:
  %last = phi i64 [ %k2, %latch ]
  %again = icmp slt i64 %last, %n
  br i1 %again, label %next, label %end
next:
  br label %around
end:
  %both = add i64 %last, %i
  %narrow = trunc i64 %last to i32
  %wide = zext i32 %narrow to i64
  %or = select i1 %c, i64 7, i64 %wide
  %masked = and i64 %n, 1
  %left_over = urem i64 %n, 3
  %signed = srem i64 %n, 3
  ret void
}}
"""


@pytest.mark.parametrize(
    "changes, name, wanted",
    [
        ({}, "i", {0, 1}),
        ({}, "k", {0, 1}),
        ({}, "last", {0, 1, 2}),
        ({}, "both", {0, 1, 2, 3}),
        ({}, "or", {0, 1, 2, 7}),
        ({"start": "-1"}, "last", {-1, 0, 1}),
        ({"start": "-1"}, "wide", None),  # of a negative number
        ({"step": "%k"}, "last", {0}),
        ({"start": "1", "step": "%k"}, "last", {1, 2, 3, 4}),
        ({"step": "%n"}, "last", None),
        ({"start": "%n"}, "k", None),
        ({"test": "%c"}, "k", None),  # any number of iterations
        ({"start": "%from"}, "k", None),  # goes on counting in each iteration of the loop around
        ({"start": "%from", "handed_on": "0"}, "k", None),  # of which nothing is known
        ({"start": "9223372036854775807"}, "last", None),  # wraps around
        ({"step": "%n"}, "masked", {0, 1}),
        ({"step": "%n"}, "left_over", {0, 1, 2}),
        ({"step": "%n"}, "signed", None),
    ],
)
def test_values(changes: dict[str, str], name: str, wanted: set[int] | None) -> None:
    text = TWICE.format(**{"handed_on": "%last", "start": "0", "step": "1", "test": "%first", **changes})
    function = parse(text).functions[0]
    found = Few().values(next(i for i in function.instructions() if i.name == name))
    assert found == wanted


NESTED = """
define void @f(ptr %p, i1 %c) {
entry:
  br label %outer
outer:
  %first = phi i1 [ true, %entry ], [ false, %left ]
  %a = phi i64 [ 0, %entry ], [ %b2, %left ]
  br label %inner
inner:
  %one = phi i1 [ true, %outer ], [ false, %latch ]
  %b = phi i64 [ %a, %outer ], [ %b2, %latch ]
  %d = phi i64 [ 0, %outer ], [ %a, %latch ]
  br label %latch
latch:
  %b1 = add i64 %b, 1
  %b2 = select i1 %c, i64 %b1, i64 %b
  br i1 %one, label %inner, label %left
left:
  br i1 %first, label %outer, label %end
end:
  ret void
}
"""


def test_nested_loops() -> None:
    """Four times at most: `b` is 3 at most before it is counted once more, which would be one value too many."""
    values = {i.name: Few().values(i) for i in parse(NESTED).functions[0].instructions()}
    assert set(values["a"] or ()) == {0, 1, 2}
    assert set(values["b"] or ()) == {0, 1, 2, 3}
    assert set(values["d"] or ()) == {0, 1, 2}
    assert values["b2"] is None
