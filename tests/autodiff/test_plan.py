"""Plans of small functions, pinned: `plans/NAME.c` has the function `f`, `plans/NAME.txt` its plan.

The first line of a source says how: `// LETTERS LEVEL [split] [function]`, the letters as in `deriving.request`.
A changed plan that is right is blessed by LLGRAD_BLESS=1.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from deriving import derivation, prepared

from llgrad.autodiff.plan.plan import Plan
from llgrad.autodiff.requests.request import Mode
from llgrad.llvm import LLVMModule
from llgrad.programs import stages

FOLDER = Path(__file__).parent / "plans"
NAMES = sorted(p.stem for p in FOLDER.glob("*.c"))


def plan(name: str) -> Plan:
    source = (FOLDER / f"{name}.c").read_text()
    letters, level, *rest = source.split("\n")[0].removeprefix("// ").split()
    made = derivation(prepared(source, level=int(level)), Mode.COMBINED, letters)
    functions = [word for word in rest if word != "split"]
    return made.plan(functions[0] if functions else "f", "split" in rest)


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str) -> None:
    found, golden = f"{plan(name)}\n", FOLDER / f"{name}.txt"
    if os.environ.get("LLGRAD_BLESS") == "1":
        golden.write_text(found)
    assert golden.exists(), "no golden plan: bless it with LLGRAD_BLESS=1"
    assert found == golden.read_text()


def test_every_golden_has_a_source() -> None:
    assert sorted(p.stem for p in FOLDER.glob("*.txt")) == NAMES
    assert len(NAMES) >= 8


# What each is about, said without names of values: this must hold whatever else changes.
def columns(p: Plan) -> list[int]:
    """How many columns each tape block has."""
    return [len(n.slots) for n in p.nests.values()]


def depth(p: Plan) -> int:
    """The deepest path from the root of a tape block to the loop of a column."""
    return max(len(n.path(s.loop)) for n in p.nests.values() for s in n.slots if s.loop is not None)


def recomputed(p: Plan, kind: str, opcode: str = "") -> bool:
    return any(k == kind and (not opcode or getattr(of, "opcode", "") == opcode) for k, of in p.recomputed)


def keeps_a_load(p: Plan) -> bool:
    return any(getattr(of, "opcode", "") == "load" for _, of in p.kept)


def kept(p: Plan, kind: str) -> bool:
    return any(k == kind for k, _ in p.kept)


MEANT: dict[str, Callable[[Plan], bool]] = {
    "counted_loop": lambda p: columns(p) == [1] and not any(n.chunked for n in p.nests.values()),
    "rectangular_nest": lambda p: len(p.nests) == 1 and depth(p) == 2 and not kept(p, "count"),
    "triangular_nest": lambda p: len(p.nests) >= 1 and not any(n.chunked for n in p.nests.values()),
    "while_loop": lambda p: [n.chunked for n in p.nests.values()] == [True] and kept(p, "count"),
    "constant_memory": lambda p: recomputed(p, "primal", "load") and not p.nests,
    "overwritten_memory": lambda p: kept(p, "primal") and not recomputed(p, "primal", "load"),
    "induction": lambda p: recomputed(p, "primal", "phi") and not p.nests,
    "members": lambda p: recomputed(p, "primal", "load") and not keeps_a_load(p),
    "choice": lambda p: bool(p.choices) and recomputed(p, "choice") and not kept(p, "choice"),
    "choice_kept": lambda p: bool(p.choices) and kept(p, "choice"),
    "call": lambda p: kept(p, "frame"),
    "carried": lambda p: len(p.carried) == 2 and not p.nests,
    "fused_recurrence": lambda p: len(p.fused) == 1 and not p.replayed and columns(p) == [1],
    "chosen": lambda p: bool(p.choices) and not p.nests and recomputed(p, "primal", "phi"),
}


@pytest.mark.parametrize("name", NAMES)
def test_meaning(name: str) -> None:
    p = plan(name)
    assert MEANT[name](p), str(p)


def test_split_keeps_what_combined_has_at_hand() -> None:
    """Stack memory of a callee whose sweeps are apart lives on the tape."""
    source = """
__attribute__((noinline)) static double g(const double *x) {
    double t[4], s = 1;
    for (int i = 0; i < 4; i++) t[i] = x[i] * x[i];
    for (int i = 0; i < 4; i++) s *= t[i];
    return s;
}
double f(const double *x) { return g(x) * g(x + 1); }
"""
    made = derivation(prepared(source, level=0), Mode.COMBINED, "do")
    combined, split = str(made.plan("g", False)), str(made.plan("g", True))
    assert "(combined)" in combined and "(split)" in split
    assert "primal %t" not in combined and "primal %t:" in split


READS = """
static __attribute__((noinline)) double g(const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}
double f(double *restrict x, int n, double *restrict y) {
    double sum = 0;
    for (int i = 0; i < n; i++) y[i] = x[i] / g(x, n);
    %s
    for (int i = 0; i < n; i++) sum += y[i];
    return sum;
}
"""


@pytest.mark.parametrize(("after", "kept"), [("", False), ("x[2] = 3;", True)])
def test_a_callee_reads_again_what_nobody_writes(after: str, kept: bool) -> None:
    """Both sweeps of a callee run in one call of a combined root; its memory is in nobody else's hands between them."""
    made = derivation(prepared(READS % after, level=2), Mode.COMBINED, "dcdo")
    plan = made.plan("g", True)
    assert bool(plan.nests) == kept, str(plan)


def test_a_split_derivative_keeps_what_its_callees_read() -> None:
    made = derivation(prepared(READS % "", level=2), Mode.AUGMENTED, "dcdo")
    assert made.plan("g", True).nests


TWO_TRIPS = """
define double @f(ptr %x, i64 %n) mustprogress {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %latch ]
  %s = phi double [ 1.0, %entry ], [ %s.next, %latch ]
  br label %inner
inner:
  %more = phi i1 [ true, %outer ], [ false, %inner ]
  %j = phi i64 [ 0, %outer ], [ 1, %inner ]
  %t = phi double [ %s, %outer ], [ %t.next, %inner ]
  %p = getelementptr inbounds double, ptr %x, i64 %j
  %v = load double, ptr %p
  %square = fmul double %t, %t
  %t.next = fmul double %square, %v
  br i1 %more, label %inner, label %latch
latch:
  %s.next = fsub double %t.next, %s
  %i.next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %i.next, %n
  br i1 %again, label %outer, label %exit
exit:
  ret double %s.next
}
"""


def test_loops_of_two_trips_need_no_chunks() -> None:
    """LLVM's IndVarSimplify leaves such a flag where users switch unrolling off."""
    text = stages.prepare(LLVMModule.from_text(TWO_TRIPS), ["f"], 2)
    found = derivation(text, Mode.COMBINED, "dco").plan("f", False)
    assert found.nests and not any(n.chunked for n in found.nests.values()) and depth(found) == 1, str(found)
