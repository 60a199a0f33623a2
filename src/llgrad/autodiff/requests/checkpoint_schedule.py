"""When checkpoints are taken: the binomial schedule (Griewank and Walther, "Algorithm 799: revolve", 2000).

A loop of n steps is cut into *units* of a few steps each; `s` checkpoints are kept at once. With them and with each
unit run at most t times before it is taped, `reach(s, t)` = C(s + t, s) units can be reversed; `reversed` units need
at least t·u − C(s + t, t − 1) runs without a tape, where t is the least with reach(s, t) ≥ u. `split` says how far to
go to the next checkpoint so that this least number is met. With s ≥ u every unit begins with a checkpoint and is run
once without a tape: √n steps a unit is the schedule called "sqrt".

`TEXT` is the same as LLVM assembly: `split` is called as the loop runs, `choose` once before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from llgrad.errors import ArgumentError

SPLIT, CHOOSE = "llgrad_checkpoint.split", "llgrad_checkpoint.choose"
SQRT, REVOLVE, BUDGET = range(3)
REPETITIONS = 3  # of a unit, under "revolve" without a number of checkpoints
UNIT_BYTES, MOST_STEPS = 1 << 14, 1024  # under "revolve": the tape of a unit may be that large (or as a checkpoint)
UNKNOWN = 1 << 40  # tape of a step: a unit is one step
FAIL_BUDGET = 8  # code of `llgrad_fail`; its detail: how many bytes would do
FAIL_RANGE = 9  # a step writes outside of what was found
_MOST = 1 << 62


class How(Struct, frozen=True):
    """What the user says of a loop: `kind` SQRT; REVOLVE with `value` checkpoints (0: as many as it takes for
    REPETITIONS runs); or a BUDGET of `value` bytes."""

    kind: int
    value: int = 0

    @classmethod
    def of(cls, said: str | int) -> How:
        """From "sqrt", "revolve", "revolve:20", a number of bytes, or one as text."""
        m = re.fullmatch(r"(sqrt|revolve|revolve:(\d+)|(\d+))", str(said)) if not isinstance(said, bool) else None
        if m is None or (m[2] or m[3] or "1").strip("0") == "":
            raise ArgumentError(
                f"checkpoint={said!r} is no way to take checkpoints",
                fix='say "sqrt", "revolve", "revolve:20" (checkpoints), or a number of bytes',
            )
        if m[3]:
            return cls(BUDGET, int(m[3]))
        return cls(SQRT) if m[1] == "sqrt" else cls(REVOLVE, int(m[2] or 0))


def said(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`Request.checkpoint` from a command line: "sqrt", "12=revolve", "file.c:12=64000000"."""
    found: dict[str, str] = {}
    for word in words:
        place, _, how = word.rpartition("=")
        How.of(how)
        found[place] = how
    return tuple(found.items())


def reach(s: int, t: int) -> int:
    """C(s + t, s): how many units s checkpoints and t runs reverse."""
    if t < 0:
        return 0
    found = 1
    for i in range(1, min(s, t) + 1):
        found = found * (max(s, t) + i) // i
        if found >= _MOST // 2:
            return _MOST
    return found


def repetitions(units: int, s: int) -> int:
    """The least t with reach(s, t) ≥ units."""
    t = 0
    while reach(s, t) < units:
        t += 1
    return t


def split(units: int, s: int) -> int:
    """How many of `units` lie before the next checkpoint, where `s` can be taken, this one included."""
    t = repetitions(units, s)
    return max(1, min(reach(s, t - 1), units - reach(s - 1, t - 1)))


def least_runs(units: int, s: int) -> int:
    """How many runs of a unit without a tape the best schedule needs."""
    t = repetitions(units, s)
    return t * units - reach(s + 1, t - 1)


TEXT = f"""
define internal i64 @llgrad_checkpoint.reach(i64 %s, i64 %t) nounwind willreturn memory(none) {{
entry:
  %none = icmp slt i64 %t, 0
  %less = icmp slt i64 %s, %t
  %a = select i1 %less, i64 %s, i64 %t
  %b = select i1 %less, i64 %t, i64 %s
  %start = select i1 %none, i64 0, i64 1
  br label %test
test:
  %i = phi i64 [ 1, %entry ], [ %i.next, %step ]
  %r = phi i64 [ %start, %entry ], [ %r.next, %step ]
  %over = icmp sgt i64 %i, %a
  br i1 %over, label %done, label %check
check:
  %f = add i64 %b, %i
  %limit = udiv i64 {_MOST}, %f
  %large = icmp ugt i64 %r, %limit
  br i1 %large, label %most, label %step
step:
  %p = mul i64 %r, %f
  %r.next = udiv i64 %p, %i
  %i.next = add i64 %i, 1
  br label %test
most:
  br label %done
done:
  %found = phi i64 [ %r, %test ], [ {_MOST}, %most ]
  ret i64 %found
}}

define internal i64 @llgrad_checkpoint.repetitions(i64 %units, i64 %s) nounwind willreturn memory(none) {{
entry:
  br label %test
test:
  %t = phi i64 [ 0, %entry ], [ %t.next, %step ]
  %r = phi i64 [ 1, %entry ], [ %r.next, %step ]
  %enough = icmp sge i64 %r, %units
  br i1 %enough, label %done, label %step
step:
  %t.next = add i64 %t, 1
  %f = add i64 %s, %t.next
  %limit = udiv i64 {_MOST}, %f
  %large = icmp ugt i64 %r, %limit
  %p = mul i64 %r, %f
  %q = udiv i64 %p, %t.next
  %r.next = select i1 %large, i64 {_MOST}, i64 %q
  br label %test
done:
  ret i64 %t
}}

define internal i64 @{SPLIT}(i64 %steps, i64 %s, i64 %unit) nounwind willreturn memory(none) {{
  %up = add i64 %unit, -1
  %all = add i64 %steps, %up
  %units = udiv i64 %all, %unit
  %t = call i64 @llgrad_checkpoint.repetitions(i64 %units, i64 %s)
  %t1 = add i64 %t, -1
  %s1 = add i64 %s, -1
  %left = call i64 @llgrad_checkpoint.reach(i64 %s, i64 %t1)
  %right = call i64 @llgrad_checkpoint.reach(i64 %s1, i64 %t1)
  %rest = sub i64 %units, %right
  %less = icmp slt i64 %left, %rest
  %least = select i1 %less, i64 %left, i64 %rest
  %none = icmp slt i64 %least, 1
  %m = select i1 %none, i64 1, i64 %least
  %far = mul i64 %m, %unit
  ret i64 %far
}}
"""

# sigma: bytes of a checkpoint; tau: tape of one step; chunk: what one level of recursion takes beside
CHOOSE_TEXT = f"""
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
define internal {{ i64, i64 }} @{CHOOSE}(i64 %n, i64 %sigma, i64 %tau0, i64 %chunk, i64 %kind, i64 %value) {{
entry:
  %tau = call i64 @llvm.smax.i64(i64 %tau0, i64 1)
  switch i64 %kind, label %budget [ i64 {SQRT}, label %root
                                    i64 {REVOLVE}, label %revolve ]
root:
  %b = phi i64 [ 1, %entry ], [ %b.next, %root ]
  %b.next = add i64 %b, 1
  %square = mul i64 %b, %b
  %more = icmp ult i64 %square, %n
  br i1 %more, label %root, label %chosen
revolve:
  %room = call i64 @llvm.smax.i64(i64 %sigma, i64 {UNIT_BYTES})
  %fit = udiv i64 %room, %tau
  %fit1 = call i64 @llvm.smax.i64(i64 %fit, i64 1)
  %steps = call i64 @llvm.smin.i64(i64 %fit1, i64 {MOST_STEPS})
  %v.up = add i64 %steps, -1
  %v.all = add i64 %n, %v.up
  %v.units = udiv i64 %v.all, %steps
  %given = icmp ne i64 %value, 0
  br i1 %given, label %chosen, label %search
search:
  %s.try = phi i64 [ 1, %revolve ], [ %s.next, %search ]
  %s.next = add i64 %s.try, 1
  %far = call i64 @llgrad_checkpoint.reach(i64 %s.try, i64 {REPETITIONS})
  %enough = icmp sge i64 %far, %v.units
  br i1 %enough, label %chosen, label %search
chosen:
  %unit = phi i64 [ %b, %root ], [ %steps, %revolve ], [ %steps, %search ]
  %want = phi i64 [ %n, %root ], [ %value, %revolve ], [ %s.try, %search ]
  br label %done
budget:
  %pair = call i64 @llvm.smax.i64(i64 %chunk, i64 0)
  %share = lshr i64 %pair, 6
  %each0 = add i64 %sigma, 64
  %each = add i64 %each0, %share
  %most = sub i64 %value, %each0
  br label %next
next:
  %unit.b = phi i64 [ 1, %budget ], [ %unit.next, %tried ]
  %best.unit = phi i64 [ 0, %budget ], [ %best.unit.next, %tried ]
  %best.s = phi i64 [ 0, %budget ], [ %best.s.next, %tried ]
  %best.cost = phi i64 [ {_MOST}, %budget ], [ %best.cost.next, %tried ]
  %taped = mul i64 %unit.b, %tau
  %rest = sub i64 %most, %taped
  %up = add i64 %unit.b, -1
  %all = add i64 %n, %up
  %units = udiv i64 %all, %unit.b
  %possible = icmp sgt i64 %rest, %each
  %small = icmp ule i64 %unit.b, %n
  %try = and i1 %possible, %small
  br i1 %try, label %first, label %over
first:
  %s0 = udiv i64 %rest, %each
  %s1 = call i64 @llvm.smin.i64(i64 %s0, i64 %units)
  br label %attempt
attempt:
  %s3 = phi i64 [ %s1, %first ], [ %fewer, %shrink ]
  %t = call i64 @llgrad_checkpoint.repetitions(i64 %units, i64 %s3)
  %levels = add i64 %t, 2
  %records = mul i64 %levels, %chunk
  %copies = mul i64 %s3, %each
  %sum = add i64 %records, %copies
  %beyond = sub i64 %sum, %rest
  %fits = icmp sle i64 %beyond, 0
  br i1 %fits, label %second, label %shrink
shrink:
  %by = udiv i64 %beyond, %each
  %by1 = call i64 @llvm.smax.i64(i64 %by, i64 1)
  %fewer = sub i64 %s3, %by1
  %some = icmp sgt i64 %fewer, 0
  br i1 %some, label %attempt, label %tried
second:
  %t1 = add i64 %t, -1
  %sp = add i64 %s3, 1
  %saved = call i64 @llgrad_checkpoint.reach(i64 %sp, i64 %t1)
  %runs = mul i64 %t, %units
  %net = sub i64 %runs, %saved
  %cost = mul i64 %net, %unit.b
  %better = icmp slt i64 %cost, %best.cost
  %better.unit = select i1 %better, i64 %unit.b, i64 %best.unit
  %better.s = select i1 %better, i64 %s3, i64 %best.s
  %better.cost = select i1 %better, i64 %cost, i64 %best.cost
  br label %tried
tried:
  %best.unit.next = phi i64 [ %best.unit, %shrink ], [ %better.unit, %second ]
  %best.s.next = phi i64 [ %best.s, %shrink ], [ %better.s, %second ]
  %best.cost.next = phi i64 [ %best.cost, %shrink ], [ %better.cost, %second ]
  %unit.next = mul i64 %unit.b, 2
  br label %next
over:
  %found = icmp ne i64 %best.unit, 0
  br i1 %found, label %done, label %fail
fail:
  %few.t = call i64 @llgrad_checkpoint.repetitions(i64 %n, i64 8)
  %few.levels = add i64 %few.t, 3
  %one = mul i64 %chunk, %few.levels
  %two = mul i64 %each, 10
  %few.sum = add i64 %one, %two
  %need = add i64 %few.sum, %tau
  %detail = inttoptr i64 %need to ptr
  call void @llgrad_fail(i32 {FAIL_BUDGET}, ptr %detail)
  unreachable
done:
  %r.unit = phi i64 [ %unit, %chosen ], [ %best.unit, %over ]
  %r.s = phi i64 [ %want, %chosen ], [ %best.s, %over ]
  %r0 = insertvalue {{ i64, i64 }} undef, i64 %r.s, 0
  %r1 = insertvalue {{ i64, i64 }} %r0, i64 %r.unit, 1
  ret {{ i64, i64 }} %r1
}}
"""
