"""Trip counts against loops that are run: all predicates, steps and flags, over small widths, with poison and wrapping.

The runner in `loop_runner` knows LLVM's integers and nothing of the analysis. A run ends at the exit, in undefined
behaviour (a branch on poison), or never. A count must equal the back edges of the first kind, and bound those of the
others wherever something in the loop could leave it early.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from loop_runner import LAYOUT, POISON, Runner, run, signed

from llgrad.analysis.cfg.flow import Loop, flow
from llgrad.analysis.cfg.loops import (
    Count,
    Induction,
    backedge_count,
    constant_count,
    count_operation_cost,
    inductions,
    invariant,
    rectangular,
)
from llgrad.ir.build import Builder, Names
from llgrad.ir.parse import parse
from llgrad.ir.types import IntType
from llgrad.ir.values import (
    Argument,
    Block,
    ConstInt,
    Function,
)


def evaluate(count: Count, arguments: dict[str, int]) -> int:
    """Write the count with the real builder and run what it wrote."""
    block = Block("b")
    r = Runner({v: arguments[v.name] for v in count.operands})  # type: ignore[union-attr]
    result = count.emit(Builder(block, Names()), count.operands)
    assert result.type == IntType(64)
    for i in block.instructions:
        r.values[i] = r.execute(i)
    assert len(block.instructions) == count_operation_cost(count)
    found = r.get(result)
    assert found is not None
    return found


# --- random loops ---------------------------------------------------------------------------------------------------

PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@dataclass(frozen=True)
class Shape:
    """One loop: how it counts and how it is left."""

    bits: int
    increment: str  # computes %next
    subject: str  # computes %x of `width` bits
    width: int
    bound: str  # computes %b
    predicate: str
    swapped: bool = False
    exit_on_true: bool = False
    rotated: bool = False
    side_exit: bool = False
    progress: bool = False

    def text(self) -> str:
        test = f"icmp {self.predicate} i{self.width} " + ("%b, %x" if self.swapped else "%x, %b")
        stay = "latch" if not self.rotated else "head"
        ways = (stay, "exit") if not self.exit_on_true else ("exit", stay)
        branch = f"br i1 %c, label %{ways[0]}, label %{ways[1]}"
        leave = "br i1 %side, label %abort, label %" if self.side_exit else "br label %"
        tail = f"{leave}test\ntest:\n  {branch}" if self.rotated else f"{branch}\nlatch:\n  {leave}head"
        back = "test" if self.rotated else "latch"
        return f"""
define void @f(i{self.bits} %s, i{self.bits} %k, i{self.width} %n, i3 %m, i1 %side){" mustprogress" * self.progress} {{
entry:
  %b = {self.bound}
  br label %head
head:
  %i = phi i{self.bits} [ %s, %entry ], [ %next, %{back} ]
  %next = {self.increment}
  %x = {self.subject}
  %c = {test}
  {tail}
abort:
  unreachable
exit:
  ret void
}}
"""


def flags_of(rng: random.Random) -> str:
    return rng.choice(["", "", "nsw ", "nuw ", "nuw nsw "])


def random_shape(rng: random.Random) -> Shape:
    bits = rng.choice([2, 3, 4, 4, 5])
    step = rng.choice([1, 1, -1, 2, -2, 3, -3, 4, -(1 << (bits - 1)), rng.randrange(1, 1 << bits)])
    constant = signed(step % (1 << bits), bits)
    by = rng.choice([f"{constant}", f"{constant}", f"{constant}", "%k"])
    opcode = rng.choice(["add", "add", "sub"])
    increment = f"{opcode} {flags_of(rng)}i{bits} %i, {by}"
    width, subject = random_subject(rng, bits)
    bound = rng.choice(
        [
            f"add i{width} %n, 0", f"add i{width} %n, 0", f"shl i{width} %n, {rng.randrange(width)}",
            f"mul i{width} %n, 2", f"and i{width} %n, -4",
            f"zext i3 %m to i{width}" if width > 3 else f"add i{width} %n, 1",
            f"sext i3 %m to i{width}" if width > 3 else f"sub i{width} %n, 1",
        ]
    )  # fmt: skip
    odds = [rng.random() < 0.4 for _ in range(5)]
    return Shape(bits, increment, subject, width, bound, rng.choice(PREDICATES), *odds)


def random_subject(rng: random.Random, bits: int) -> tuple[int, str]:
    source = rng.choice(["%i", "%next"])
    number = signed(rng.randrange(1 << bits), bits)
    wide = bits + rng.choice([1, 2])
    choices = [
        (bits, f"add i{bits} {source}, 0"),
        (bits, f"add i{bits} {source}, 0"),
        (bits, f"add {flags_of(rng)}i{bits} {source}, {number}"),
        (bits, f"sub {flags_of(rng)}i{bits} {source}, {number}"),
        (bits, f"sub {flags_of(rng)}i{bits} {number}, {source}"),
        (bits, f"mul {flags_of(rng)}i{bits} {source}, {number}"),
        (bits, f"shl {flags_of(rng)}i{bits} {source}, 1"),
        (bits, f"add {flags_of(rng)}i{bits} {source}, %k"),
        (bits, f"add {flags_of(rng)}i{bits} %i, %next"),
        (bits - 1, f"trunc {flags_of(rng)}i{bits} {source} to i{bits - 1}"),
        (wide, f"zext {rng.choice(['', 'nneg '])}i{bits} {source} to i{wide}"),
        (wide, f"sext i{bits} {source} to i{wide}"),
    ]
    return rng.choice(choices)


def counted(text: str) -> tuple[Function, Loop, Count | None]:
    function = parse(text).function("f")
    f = flow(function)
    (loop,) = f.loops
    return function, loop, backedge_count(f, loop, LAYOUT)


def check(shape: Shape, rng: random.Random, inputs: int = 24) -> bool:
    """Is there a count, and if so, is it right?"""
    function, loop, count = counted(shape.text())
    if count is None:
        return False
    for _ in range(inputs):
        arguments = {
            "s": rng.randrange(1 << shape.bits), "k": rng.randrange(1 << shape.bits),
            "n": rng.randrange(1 << shape.width), "m": rng.randrange(8),
        }  # fmt: skip
        b = Runner({a: arguments.get(a.name, 0) for a in function.arguments}).execute(function.entry.instructions[0])
        if b is None:
            continue
        result = run(function, loop, arguments, 2 << max(shape.width, shape.bits))
        found = evaluate(count, {**arguments, "b": b, "next": 0})
        where = f"{shape.text()}\n{arguments} {count}"
        if result.end == "exit":
            assert found == result.backedges, where
        elif shape.side_exit:
            assert result.end == "undefined" and result.backedges <= found, where
    return True


def test_random_loops() -> None:
    rng = random.Random(20)
    found = [check(random_shape(rng), rng) for _ in range(1600)]
    assert sum(found) > 400


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_all_starts_bounds_and_steps(bits: int) -> None:
    for predicate in PREDICATES:
        for step in range(1, 1 << bits):
            for on_next in (False, True):
                check_exhaustively(bits, predicate, step, on_next)


def check_exhaustively(bits: int, predicate: str, step: int, on_next: bool) -> None:
    subject = f"add i{bits} {'%next' if on_next else '%i'}, 0"
    constant = signed(step, bits)
    shape = Shape(bits, f"add i{bits} %i, {constant}", subject, bits, f"add i{bits} %n, 0", predicate, progress=True)
    function, loop, count = counted(shape.text())
    if count is None:
        assert predicate not in ("eq", "ne") and abs(constant) > 1
        return
    for s in range(1 << bits):
        for n in range(1 << bits):
            result = run(function, loop, {"s": s, "n": n}, 2 << bits)
            if result.end == "exit":
                assert evaluate(count, {"s": s, "n": n, "b": n}) == result.backedges, f"{shape.text()} {s} {n}"


def check_all_inputs(shape: Shape, must_end: bool) -> bool:
    """Is there a count? It is right for all starts and bounds; with `must_end`, it is there only if all runs end."""
    function, loop, count = counted(shape.text())
    ends = set()
    if count is None:
        return False
    for s in range(1 << shape.bits):
        for n in range(1 << shape.width if any(a.users for a in function.arguments[2:4]) else 1):
            result = run(function, loop, {"s": s, "n": n, "m": n % 8}, 4 << max(shape.bits, shape.width))
            ends.add(result.end)
            b = Runner({a: {"n": n, "m": n % 8}.get(a.name, 0) for a in function.arguments})
            bound = b.execute(function.entry.instructions[0])
            if bound is None:
                continue
            found = evaluate(count, {"s": s, "n": n, "m": n % 8, "b": bound})
            exact = result.end == "exit" or not shape.side_exit
            right = found == result.backedges if exact else found >= result.backedges
            assert right or (exact and result.end != "exit"), f"{shape.text()} {s} {n} {count}"
    assert not (must_end and "endless" in ends), shape.text()
    return True


@pytest.mark.parametrize("predicate", PREDICATES[2:])
def test_bounds_that_are_far_enough_from_the_end_of_the_range(predicate: str) -> None:
    found = 0
    bounds = [f"add i4 {n}, 0" for n in range(16)] + ["zext i3 %m to i4", "sext i3 %m to i4"]
    for step in (1, -1, 3, -3, 5, -5):
        for bound in bounds:
            shape = Shape(4, f"add i4 %i, {step}", "add i4 %i, 0", 4, bound, predicate)
            if bound.startswith("add"):
                shape = Folded(*vars(shape).values())
            found += check_all_inputs(shape, must_end=True)
    assert found > 25


SUBJECTS = (
    "mul {}i3 %i, 3", "mul {}i3 %i, -3", "mul {}i3 %i, -1", "shl {}i3 %i, 1", "shl {}i3 %i, 2",
    "sub {}i3 5, %i", "add {}i3 %i, %i", "add {}i3 %next, -6",
)  # fmt: skip


class Folded(Shape):
    """The bound is written as a constant."""

    def text(self) -> str:
        return super().text().replace("%x, %b", "%x, " + self.bound.split()[2].rstrip(","))


@pytest.mark.parametrize(
    "increment", ["add nuw nsw i3 %i, 1", "add nuw nsw i3 %i, 2", "add nsw i3 %i, -1", "sub nuw i3 %i, 3"]
)
def test_what_is_computed_from_exact_counters(increment: str) -> None:
    found = 0
    for flags in ("", "nsw ", "nuw ", "nuw nsw "):
        for subject in SUBJECTS:
            for predicate in ("slt", "sge", "ule", "ugt", "ne"):
                shape = Shape(3, increment, subject.format(flags), 3, "add i3 %n, 0", predicate, side_exit=True)
                found += check_all_inputs(shape, must_end=True)
    assert found > 8


# --- what must be found ---------------------------------------------------------------------------------------------


def shape_of(increment: str, predicate: str, subject: str = "%i", **more: object) -> Shape:
    return Shape(8, increment, f"add i8 {subject}, 0", 8, "add i8 %n, 0", predicate, **more)  # type: ignore[arg-type]


ALWAYS = [
    ("add i8 %i, 1", "slt"), ("add i8 %i, 1", "ult"), ("add i8 %i, 1", "ne"), ("add i8 %i, -1", "ne"),
    ("add i8 %i, -1", "sgt"), ("add i8 %i, -1", "ugt"), ("add i8 %i, -1", "ult"), ("add i8 %i, 3", "ne"),
    ("add nsw i8 %i, 1", "sle"), ("add nuw i8 %i, 1", "ule"), ("add nsw i8 %i, -1", "sge"),
    ("add nsw i8 %i, 7", "slt"), ("add nuw i8 %i, 7", "ult"), ("sub nsw i8 %i, 7", "sge"), ("sub nuw i8 %i, 7", "uge"),
    ("add i8 %i, 6", "eq"),
]  # fmt: skip
ENDING = [
    ("add i8 %i, 1", "sle"), ("add i8 %i, 1", "ule"), ("add i8 %i, -1", "sge"), ("add i8 %i, 4", "slt"),
    ("add i8 %i, 4", "ule"), ("add i8 %i, 4", "ne"), ("add nsw i8 %i, %k", "slt"), ("sub nsw i8 %i, %k", "sgt"),
    ("add nsw i8 %i, %k", "sge"), ("add nuw i8 %i, %k", "ult"),
]  # fmt: skip
NEVER = [("add i8 %i, 3", "slt"), ("add i8 %i, 3", "ult"), ("add i8 %i, %k", "slt"), ("mul i8 %i, 3", "slt"),
         ("add i8 %i, 0", "slt"), ("add i8 %i, -3", "slt"), ("add nsw i8 %i, %k", "ult"),
         ("xor i8 %i, 1", "ne")]  # fmt: skip


@pytest.mark.parametrize(("increment", "predicate"), ALWAYS)
@pytest.mark.parametrize("subject", ["%i", "%next"])
def test_found_even_if_the_loop_can_be_left_in_other_ways(increment: str, predicate: str, subject: str) -> None:
    for side_exit in (False, True):
        assert check(shape_of(increment, predicate, subject, side_exit=side_exit), random.Random(1), 60)


@pytest.mark.parametrize(("increment", "predicate"), ENDING)
def test_found_only_if_the_loop_must_end(increment: str, predicate: str) -> None:
    assert check(shape_of(increment, predicate, progress=True), random.Random(2), 60)
    assert not check(shape_of(increment, predicate), random.Random(2))
    assert not check(shape_of(increment, predicate, progress=True, side_exit=True), random.Random(2))


@pytest.mark.parametrize(("increment", "predicate"), NEVER)
def test_refused(increment: str, predicate: str) -> None:
    assert not check(shape_of(increment, predicate, progress=True), random.Random(3))


def test_even_steps_to_equality_with_flags_need_only_that_nothing_leaves() -> None:
    assert check(shape_of("add nsw i8 %i, 2", "ne"), random.Random(4), 60)
    assert not check(shape_of("add nsw i8 %i, 2", "ne", side_exit=True), random.Random(4))


# --- whole functions ------------------------------------------------------------------------------------------------


def only_loop(text: str) -> tuple[Count | None, int | None]:
    function = parse(text).function("f")
    f = flow(function)
    loop = f.loops[-1]
    return backedge_count(f, loop, LAYOUT), constant_count(f, loop, LAYOUT)


CONSTANT = """
define void @f() {{
entry:
  br label %loop
loop:
  %i = phi i64 [ {start}, %entry ], [ %next, %loop ]
  %next = add {flags} i64 %i, {step}
  %c = icmp {predicate} i64 {subject}, {bound}
  br i1 %c, label %loop, label %exit
exit:
  ret void
}}
"""


@pytest.mark.parametrize(
    ("start", "step", "flags", "predicate", "subject", "bound", "expected"),
    [
        (0, 1, "nuw nsw", "ne", "%next", 10, 9),
        (0, 1, "", "slt", "%i", 10, 10),
        (10, -1, "nsw", "sgt", "%i", 0, 10),
        (0, 3, "", "ult", "%next", 10, 3),
        (0, 4, "", "ne", "%next", 40, 9),
        (5, 1, "", "slt", "%i", 3, 0),
        (0, 1, "", "eq", "%i", 0, 1),
        (3, 1, "", "ult", "%i", 0, 0),
        (0, 3, "", "ne", "%i", 1, 0xAAAAAAAAAAAAAAAB),
        (0, 1, "nuw", "ule", "%i", -1, (1 << 64) - 1),  # 2**64 saturates
    ],
)
def test_constant_counts(
    start: int, step: int, flags: str, predicate: str, subject: str, bound: int, expected: int
) -> None:
    text = CONSTANT.format(start=start, step=step, flags=flags, predicate=predicate, subject=subject, bound=bound)
    count, number = only_loop(text)
    assert number == expected and count is not None and count.operands == () and count_operation_cost(count) == 0


POINTER = """
define void @f(ptr %p, ptr %q, i64 %n) mustprogress {{
entry:
  %end = getelementptr inbounds double, ptr {base}, i64 {last}
  br label %loop
loop:
  %at = phi ptr [ %p, %entry ], [ %next, %test ]
  %next = getelementptr {flags}{element}, ptr %at, i64 {step}
  {body}
test:
  %c = icmp {predicate} ptr {subject}, %end
  br i1 %c, label %loop, label %exit
abort:
  unreachable
exit:
  ret void
}}
"""
STRAIGHT = "br label %test"
LEAVING = "%x = icmp eq ptr %next, %q\n  br i1 %x, label %abort, label %test"


def pointer_loop(
    base: str = "%p", last: str = "%n", flags: str = "inbounds ", element: str = "double", step: str = "1",
    predicate: str = "ne", body: str = STRAIGHT, subject: str = "%next",
) -> Count | None:  # fmt: skip
    fields = {"base": base, "last": last, "flags": flags, "element": element, "step": step, "subject": subject}
    return only_loop(POINTER.format(**fields, predicate=predicate, body=body))[0]


def test_pointers_are_counted_in_bytes() -> None:
    up, down = pointer_loop(), pointer_loop(step="-2")
    assert up is not None and down is not None
    assert evaluate(up, {"p": 4096, "end": 4096 + 8 * 25}) == 24
    assert evaluate(down, {"p": 4096, "end": 4096 - 16 * 25}) == 24
    below = pointer_loop(predicate="ult", step="3")
    assert below is not None
    assert [evaluate(below, {"p": 4096, "end": 4096 + n}) for n in (0, 24, 25, 48, 49)] == [0, 0, 1, 1, 2]


def test_pointers_need_flags_to_be_ordered() -> None:
    assert pointer_loop(predicate="ult", step="3") is not None
    assert pointer_loop(predicate="ult", step="3", flags="nusw ") is not None
    assert pointer_loop(predicate="ult", step="3", flags="nuw ") is not None
    assert pointer_loop(predicate="ult", step="3", flags="") is None
    assert pointer_loop(predicate="ult", step="3", subject="%at") is not None
    assert pointer_loop(predicate="ult", step="3", flags="", subject="%at") is None
    assert pointer_loop(predicate="ugt", step="-3", flags="nuw ") is None
    assert pointer_loop(predicate="slt", step="3") is None


def test_pointers_from_one_base_meet_even_if_the_loop_can_be_left() -> None:
    assert pointer_loop(body=LEAVING) is not None
    assert pointer_loop(body=LEAVING, flags="") is not None
    assert pointer_loop(body=LEAVING, base="%q") is None  # may run past the end until something leaves the loop
    assert pointer_loop(body=LEAVING, step="2") is None
    assert pointer_loop(base="%q") is not None
    assert pointer_loop(body=LEAVING, base="%q", element="i8") is not None  # a step of one byte meets every address
    assert pointer_loop(step="%n") is None


TWO_POINTERS = """
define void @f(ptr %p, ptr %q, ptr %r, i1 %side) {
entry:
  br label %loop
loop:
  %a = phi ptr [ %p, %entry ], [ %a.next, %test ]
  %b = phi ptr [ OTHER, %entry ], [ %b.next, %test ]
  %a.next = getelementptr inbounds i16, ptr %a, i64 3
  %b.next = getelementptr inbounds i16, ptr %b, i64 2
  br i1 %side, label %abort, label %test
test:
  %c = icmp ne ptr %a.next, %b.next
  br i1 %c, label %loop, label %exit
abort:
  unreachable
exit:
  ret void
}
"""


def test_two_pointers_that_meet_start_at_one_base() -> None:
    assert only_loop(TWO_POINTERS.replace("OTHER", "%q"))[0] is None
    assert only_loop(TWO_POINTERS.replace("OTHER", "null"))[0] is None
    same, _ = only_loop(TWO_POINTERS.replace("OTHER", "%p"))  # 2 + 2 * i is 0
    assert same is not None and evaluate(same, {"p": 4096}) == (1 << 63) - 1


NEST = """
define double @f(ptr %a, i32 %rows, i32 %columns) {
entry:
  %any = icmp sgt i32 %rows, 0
  br i1 %any, label %outer, label %done
outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %outer.latch ]
  %i.wide = zext nneg i32 %i to i64
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %s = phi double [ 0.0, %outer ], [ %t, %inner ]
  %p = phi ptr [ %a, %outer ], [ %p.next, %inner ]
  %d = phi i64 [ 100, %outer ], [ %d.next, %inner ]
  %t = fadd double %s, 1.0
  %d.next = sub i64 %d, %i.wide
  %p.next = getelementptr inbounds { double, i32 }, ptr %p, i64 %i.wide
  %j.next = add nuw nsw i64 %j, 1
  %c = icmp ne i64 %j.next, LIMIT
  br i1 %c, label %inner, label %outer.latch
outer.latch:
  %i.next = add nuw nsw i32 %i, 1
  %more = icmp slt i32 %i.next, %rows
  br i1 %more, label %outer, label %done
done:
  ret double 0.0
}
"""


def test_nest() -> None:
    function = parse(NEST.replace("LIMIT", "50")).function("f")
    f = flow(function)
    outer, inner = f.loops
    found = {p.name: i for p, i in inductions(f, inner, LAYOUT).items()}
    assert set(found) == {"j", "p", "d"}
    assert (found["j"].constant_step, found["p"].factor, found["d"].factor) == (1, 16, -1)
    assert found["j"].step == ConstInt(IntType(64), 1) and found["d"].step is None
    wide = outer.header.instructions[1]
    assert found["p"].unit is wide and found["d"].unit is wide
    assert str(found["p"]) == "%p = %a + i * 16 * %i.wide (mod 2**64)"
    assert invariant(inner, wide) and not invariant(outer, wide) and invariant(outer, function.arguments[0])
    assert constant_count(f, inner) == 49
    rows = backedge_count(f, outer)
    assert rows is not None and rows.operands == (function.arguments[1],)
    assert [evaluate(rows, {"rows": n}) for n in (1, 2, 9)] == [0, 1, 8]


def test_rectangular_and_triangular_nests() -> None:
    f = flow(parse(NEST.replace("LIMIT", "%i.wide")).function("f"))
    outer, inner = f.loops
    count = backedge_count(f, inner)
    assert count is not None and [v.name for v in count.operands] == ["i.wide"]  # type: ignore[union-attr]
    assert not rectangular(count, outer) and rectangular(count, inner)
    assert str(count) == "(0 + 1), step 1, while ne %i.wide"


def test_phis_are_what_inductions_say() -> None:
    rng = random.Random(6)
    checked = 0
    for _ in range(300):
        shape = random_shape(rng)
        function, loop, _ = counted(shape.text())
        for phi, induction in inductions(flow(function), loop, LAYOUT).items():
            arguments = {"s": rng.randrange(1 << shape.bits), "k": rng.randrange(1 << shape.bits), "n": 1}
            for i, phis in enumerate(run(function, loop, arguments, 12).phis):
                checked += 1
                assert phis[phi] in (POISON, value_at(induction, i, arguments)), shape.text()
    assert checked > 500


def value_at(induction: Induction, i: int, arguments: dict[str, int]) -> int:
    block = Block("b")
    offset = induction.offset(Builder(block, Names()), ConstInt(IntType(64), i), induction.unit)
    r = Runner({v: arguments[v.name] for v in (induction.start, induction.unit) if isinstance(v, Argument)})
    for x in block.instructions:
        r.values[x] = r.execute(x)
    start, added = r.get(induction.start), r.get(offset)
    assert start is not None and added is not None
    return (start + added) % (1 << induction.bits)


# --- exits ----------------------------------------------------------------------------------------------------------

EXITS = """
declare void @g() ATTRIBUTES
define void @f(i32 %n, i1 %stop) mustprogress {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %next = add i32 %i, 1
  CALL
  br i1 %stop, label %latch, label %OTHER
latch:
  %c = icmp PREDICATE i32 %next, %n
  br i1 %c, label %head, label %exit
early:
  ret void
abort:
  call void @g()
  unreachable
exit:
  ret void
}
"""


def exits(predicate: str, other: str, call: str = "", attributes: str = "nounwind") -> bool:
    fields = {"PREDICATE": predicate, "OTHER": other, "CALL": call, "ATTRIBUTES": attributes}
    text = EXITS
    for name, value in fields.items():
        text = text.replace(name, value)
    return only_loop(text)[0] is not None


def test_exits_that_return_count_and_others_do_not() -> None:
    assert exits("slt", "abort") and not exits("slt", "early") and exits("slt", "latch")


def test_a_loop_that_need_not_end_may_not_be_assumed_to() -> None:
    pure = "nounwind willreturn memory(argmem: readwrite)"
    assert exits("ule", "latch") and not exits("ule", "abort")
    assert exits("ule", "latch", "call void @g()", pure)
    assert not exits("ule", "latch", "call void @g()", "nounwind memory(none)")
    assert not exits("ule", "latch", "call void @g()", "willreturn memory(none)")
    assert not exits("ule", "latch", "call void @g()", "nounwind willreturn")
    assert not exits("ule", "latch", "call void @g()", "nounwind willreturn memory(inaccessiblemem: readwrite)")
    assert exits("slt", "latch", "call void @g()", "")
    assert not exits("ule", "latch", "fence seq_cst")
    assert not exits("ule", "latch", "%v = load volatile i32, ptr null")


def test_progress_may_be_said_of_the_loop_alone() -> None:
    text = EXITS.replace("mustprogress", "").replace("PREDICATE", "ule").replace("OTHER", "latch")
    text = text.replace("CALL", "").replace("ATTRIBUTES", "")
    assert only_loop(text)[0] is None
    marked = text.replace("label %head, label %exit", "label %head, label %exit, !llvm.loop !0")
    assert only_loop(marked + '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.mustprogress"}\n')[0] is not None
    assert only_loop(marked + '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n')[0] is None


def test_tests_that_do_not_run_in_each_iteration_decide_nothing() -> None:
    text = """
define void @f(i32 %n, i1 %x) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %next = add i32 %i, 1
  br i1 %x, label %test, label %latch
test:
  %c = icmp slt i32 %next, %n
  br i1 %c, label %latch, label %exit
latch:
  br label %head
exit:
  ret void
}
"""
    assert only_loop(text)[0] is None


OTHERS = {
    "two counters that meet": ("%j = phi i32 [ %n, %entry ], [ %j.next, %head ]", "icmp ne i32 %next, %j.next", True),
    "two counters compared": ("%j = phi i32 [ %n, %entry ], [ %j.next, %head ]", "icmp slt i32 %next, %j.next", False),
    "loaded bound": ("%j = phi i32 [ 0, %entry ], [ %l, %head ]", "icmp slt i32 %next, %l", False),
    "undef bound": ("%j = phi i32 [ 0, %entry ], [ %l, %head ]", "icmp slt i32 %next, undef", False),
    "bound computed inside": ("%j = phi i32 [ 0, %entry ], [ %l, %head ]", "icmp slt i32 %next, %inside", True),
    "invariant test": ("%j = phi i32 [ 0, %entry ], [ %l, %head ]", "icmp slt i32 %n, 5", False),
    "negated": ("%j = phi i32 [ 0, %entry ], [ %l, %head ]", "icmp sge i32 %next, %n\n  %c = xor i1 %c0, true", True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_tests(name: str) -> None:
    phi, test, expected = OTHERS[name]
    test = f"%c0 = {test}" if "%c0" in test else f"%c = {test}"
    text = f"""
define void @f(i32 %n, ptr %p) {{
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  {phi}
  %next = add i32 %i, 2
  %j.next = add i32 %j, -3
  %l = load i32, ptr %p
  %inside = add i32 %n, 7
  {test.replace("i32 %next", "i32 %i") if "inside" in test else test}
  br i1 %c, label %head, label %exit
exit:
  ret void
}}
"""
    text = text if "meet" in name else text.replace("%i, 2", "%i, 1")
    count = only_loop(text)[0]
    assert (count is not None) == expected
    if "meet" in name:  # i + 2 and n - 3 approach by 5: n = 5k + 5 after k back edges
        assert count is not None and evaluate(count, {"n": 5 * 7 + 5}) == 7


@pytest.mark.parametrize(
    ("first", "then", "stays", "expected"),
    [
        ("true", "false", True, 1),
        ("false", "false", True, 0),
        ("false", "true", False, 1),
        ("true", "true", False, 0),
        ("%x", "false", True, (0, 1)),
        ("%x", "true", False, (1, 0)),
        ("true", "true", True, None),  # goes on for ever
        ("true", "%x", True, None),
        ("undef", "false", True, None),
        ("poison", "false", True, None),
    ],
)
def test_a_flag_that_says_leave_from_the_second_trip_on(
    first: str, then: str, stays: bool, expected: int | tuple[int, int] | None
) -> None:
    ways = "label %head, label %exit" if stays else "label %exit, label %head"
    text = f"""
define i32 @f(i1 %x) {{
entry:
  br label %head
head:
  %more = phi i1 [ {first}, %entry ], [ {then}, %head ]
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  %next = add i32 %i, 1
  br i1 %more, {ways}
exit:
  ret i32 %i
}}
"""
    count, number = only_loop(text)
    if not isinstance(expected, tuple):
        assert number == expected and (count is None) == (expected is None)
        return
    function = parse(text).function("f")
    assert count is not None
    for x, trips in enumerate(expected):
        ran = run(function, flow(function).loops[-1], {"x": x}, 4)
        assert evaluate(count, {"x": x}) == trips == ran.backedges and ran.end == "exit"


def test_vectors_wide_integers_and_switches_are_refused() -> None:
    wide = CONSTANT.replace("i64", "i128")
    fields = {"start": 0, "step": 1, "flags": "", "predicate": "ult", "subject": "%i", "bound": 9}
    assert only_loop(wide.format(**fields))[0] is None
    switch = CONSTANT.replace(
        "br i1 %c, label %loop, label %exit", "switch i64 %next, label %loop [ i64 9, label %exit ]"
    )
    assert only_loop(switch.format(**fields))[0] is None


def test_a_multiple_of_an_address_is_no_multiple() -> None:
    text = """
define void @f(ptr %p, i64 %n, i1 %side) {
entry:
  %even = shl i64 %n, 2
  br label %loop
loop:
  %a = phi ptr [ %p, %entry ], [ %a.next, %test ]
  %a.next = getelementptr inbounds i16, ptr %a, i64 1
  %x = ptrtoint ptr %a to i64
  %y = mul i64 %x, 2
  br i1 %side, label %abort, label %test
test:
  %c = icmp ne i64 %y, %even
  br i1 %c, label %loop, label %exit
abort:
  unreachable
exit:
  ret void
}
"""
    assert only_loop(text)[0] is None
    assert only_loop(text.replace("label %abort, label %test", "label %test, label %test"))[0] is None
    plain, _ = only_loop(text.replace("label %abort, label %test", "label %test, label %test")
                         .replace("i1 %side) {", "i1 %side) mustprogress {"))  # fmt: skip
    assert plain is not None and evaluate(plain, {"p": 6, "even": 24}) == 3


def test_two_ways_into_a_loop_give_no_start() -> None:
    text = """
define void @f(i1 %x) {
entry:
  br i1 %x, label %head, label %other
other:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ FIRST, %other ], [ %next, %head ]
  %next = add i32 %i, 1
  %c = icmp slt i32 %next, 9
  br i1 %c, label %head, label %exit
exit:
  ret void
}
"""
    assert only_loop(text.replace("FIRST", "1"))[1] is None and only_loop(text.replace("FIRST", "0"))[1] == 8


def test_counters_with_different_unknown_steps_do_not_add_up() -> None:
    text = """
define void @f(i32 %k, i32 %m, i32 %n) mustprogress {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %i.next, %head ]
  %j = phi i32 [ 0, %entry ], [ %j.next, %head ]
  %i.next = add nsw i32 %i, %k
  %j.next = add nsw i32 %j, OTHER
  %sum = add nsw i32 %i, %j
  %c = icmp slt i32 SUBJECT, %n
  br i1 %c, label %head, label %exit
exit:
  ret void
}
"""
    assert only_loop(text.replace("OTHER", "%m").replace("SUBJECT", "%sum"))[0] is None
    assert only_loop(text.replace("OTHER", "-2").replace("SUBJECT", "%sum"))[0] is None
    single, _ = only_loop(text.replace("OTHER", "1").replace("SUBJECT", "%i"))
    assert single is not None and evaluate(single, {"k": 7, "n": 22}) == 4


MERGED = """
define void @f(i32 %n, i32 %m, i1 %x) {
entry:
  br label %head
head:
  %i = phi i32 [ START, %entry ], [ %next, %latch ]
  br i1 %x, label %some, label %none
some:
  %a = ONE i32 %i, STEP
  call void @g(i32 %a)
  br label %latch
none:
  %b = OTHER
  br label %latch
latch:
  %next = phi i32 [ %a, %some ], [ %b, %none ]
  %more = icmp PREDICATE i32 %next, %n
  br i1 %more, label %head, label %exit
exit:
  ret void
}
declare void @g(i32) nounwind willreturn
"""


def merged(one: str, other: str, step: str = "1", predicate: str = "ne") -> Count | None:
    fields = {"START": "0", "ONE": one, "OTHER": other, "STEP": step, "PREDICATE": predicate}
    text = MERGED
    for name, value in fields.items():
        text = text.replace(name, value)
    return only_loop(text)[0]


def test_equal_sums_that_are_merged_are_one() -> None:
    count = merged("add nuw nsw", "add nuw i32 %i, 1")
    assert count is not None and [evaluate(count, {"n": n}) for n in (1, 2, 40)] == [0, 1, 39]
    assert merged("add", "add i32 %i, %m", "%m", "slt") is None  # no flag that both have says that it does not wrap
    assert merged("add nsw", "add nuw i32 %i, 3", "3", "slt") is None
    assert merged("add nsw", "add nsw nuw i32 %i, 3", "3", "slt") is not None
    for other in ("add i32 %i, 2", "sub i32 %i, 1", "add i32 %n, 1", "or i32 %i, 1", "add i32 1, %i"):
        assert merged("add", other) is None


def test_an_unknown_step_that_was_compared_with_zero_ends_the_loop() -> None:
    text = """
define void @f(i64 %n, i64 %d, i1 %bad) {
entry:
  %none = icmp eq i64 %d, 0
  br i1 %none, label %abort, label %start
start:
  %few = icmp ugt i64 %d, %n
  br i1 %few, label %exit, label %pre
pre:
  br label %head
head:
  %length = phi i64 [ %n, %pre ], [ %rest, %latch ]
  %rest = sub nuw i64 %length, %d
  br i1 %bad, label %abort, label %latch
latch:
  %c = icmp ugt i64 %d, %rest
  br i1 %c, label %exit, label %head
abort:
  call void @g()
  unreachable
exit:
  ret void
}
declare void @g()
"""
    count = counted(text)[2]
    assert count is not None
    for d in range(1, 5):
        assert all(evaluate(count, {"n": n, "d": d}) == n // d - 1 for n in range(d, 20))
    assert counted(text.replace("%d, 0", "%n, 0"))[2] is None
    assert counted(text.replace("%abort, label %start", "%start, label %abort"))[2] is None
    assert counted(text.replace("sub nuw", "sub nsw"))[2] is None
