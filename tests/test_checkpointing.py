"""Checkpoints: gradients are those without, memory is left as the function leaves it, the tape stays in its budget."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import FOLDER

import llgrad
from llgrad.autodiff.requests import checkpoint_schedule
from llgrad.errors import ArgumentError, CheckpointError, ForeignError, LlgradError
from llgrad.llvm import Engine, LLVMModule

PROGRAMS = FOLDER.parent / "checkpoints"
WAYS = ("sqrt", "revolve:2")
N, F = 12, np.float64


def grid(low: float, high: float, n: int, t: type = F) -> np.ndarray:
    return np.linspace(low, high, n).astype(t)


# By which parameters, what is given, and a budget that is less than the tape without checkpoints
CASES: dict[str, tuple[Sequence[str], Callable[[], tuple[Any, ...]], int]] = {
    "heat": (("x",), lambda: (50, 300, np.sin(grid(0, 9, 50)), np.zeros(50), np.zeros(50)), 40_000),
    "rk4": (("h", "a", "b"), lambda: (2000, 0.01, 1.0, 0.5), 20_000),
    "adaptive": (("y0", "k"), lambda: (40.0, 1.0, 2.0), 20_000),
    "early": (("a", "u"), lambda: (N, 0.5, grid(1, 2, N, np.float32)), 12_000),
    "waves": (("c", "u0"), lambda: (N, 200, np.full(N, 0.2), 0.1 * np.sin(grid(0, N, N))), 20_000),
    "later": (("k", "u"), lambda: (N, 200, grid(0.1, 1, N), grid(1, 2, N)), 15_000),
    "brusselator": (
        ("A", "B", "u0"),
        lambda: (5, 150, 3.4, 1.0, grid(1, 2, 50), np.zeros(25), np.zeros(25), np.zeros(25), np.zeros(25)), 30_000,
    ),
    "lstm": (("W", "x"), lambda: (7, 150, np.sin(grid(0, 16, 16)), np.cos(grid(0, 7, 7))), 0),
    "scratch": (("u",), lambda: (N, 100, grid(0, 1, N)), 0),
    "chosen": (("u",), lambda: (N, 500, grid(0, 1, N), np.zeros(N)), 24_000),
    "bordered": (("u", "v"), lambda: (N, 200, 7, grid(1, 2, N), grid(1, 1, 1)), 0),
    "table": (("u",), lambda: (120, np.arange(120, dtype=np.int32) * 7 % 6, grid(0, 1, 6)), 0),
    "grown": (("u",), lambda: (N, 100, grid(0, 1, N)), 0),
    "moved": (("f", "a"), lambda: (5, 400, np.cos(grid(0, 2000, 2000)), 0.4), 0),
    "trajectory": (("a",), lambda: (200, 0.3, np.zeros(200)), 0),
    "called": (("u",), lambda: (N, 120, grid(0, 1, N)), 14_000),
}  # fmt: skip


def line_of(name: str) -> int:
    """Where the loop in time of a function is."""
    lines = (PROGRAMS / "loops.c").read_text().split("\n")
    first = next(n for n, text in enumerate(lines, 1) if f" {name}(" in text)
    return next(n for n, text in enumerate(lines, 1) if n > first and "t < steps" in text)


@pytest.fixture(scope="module")
def library() -> Any:
    return llgrad.load(PROGRAMS / "loops.c")


def gradient(library: Any, name: str, checkpoint: Any = None, wrt: Sequence[str] = ()) -> tuple[np.ndarray, int]:
    """Value, gradients and what is left in memory, as one array; and the peak of the tape."""
    names, given, _ = CASES[name]
    derivative = llgrad.value_and_grad(library[name], wrt=tuple(wrt) or tuple(names), checkpoint=checkpoint)
    arguments = given()
    value, parts = derivative(*arguments)
    memory = [a for a in arguments if isinstance(a, np.ndarray)]
    return np.concatenate([np.ravel(x) for x in (value, *parts, *memory)]), derivative.tape_bytes


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_without_checkpoints(library: Any, name: str) -> None:
    plain, tape = gradient(library, name)
    budget = CASES[name][2]
    for how in (*WAYS, *([budget] if budget else [])):
        found, peak = gradient(library, name, how)
        close = 1e-5 if name == "early" else 1e-13
        np.testing.assert_allclose(found, plain, rtol=close, atol=close * np.abs(plain).max(), err_msg=str(how))
        if how == budget:
            assert peak <= budget and (budget < tape or name in ("rk4", "adaptive", "lstm"))


def test_a_gradient_is_the_difference_quotient(library: Any) -> None:
    x, e = np.sin(grid(0, 9, 50)), 1e-6
    found, _ = gradient(library, "heat", "revolve:2")
    for n in (0, 20, 49):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[n] += sign * e
            ends.append(library.heat(50, 300, moved, np.zeros(50), np.zeros(50)))
        assert found[1 + n] == pytest.approx((ends[0] - ends[1]) / (2 * e), rel=1e-6)


def test_loops_by_line(library: Any) -> None:
    lines = (PROGRAMS / "loops.c").read_text().split("\n")
    outer, inner = (next(n for n, x in enumerate(lines, 1) if mark in x) for mark in ("/* OUTER */", "/* INNER */"))
    function = library.nested
    given = (20, 30, 0.3, 1.2)
    plain = llgrad.value_and_grad(function, wrt=("a", "b"))(*given)
    ways: tuple[Any, ...] = ({outer: "sqrt"}, {f"loops.c:{inner}": "revolve:3"}, {inner: "sqrt", outer: "revolve:2"})
    for said in ways:
        found = llgrad.value_and_grad(function, wrt=("a", "b"), checkpoint=said)(*given)
        np.testing.assert_allclose(np.hstack(found), np.hstack(plain), rtol=1e-13)
    with pytest.raises(CheckpointError, match="no loop at 1"):
        llgrad.value_and_grad(function, wrt="a", checkpoint={1: "sqrt"})


def test_what_is_computed_ahead_of_a_condition() -> None:
    function = llgrad.load(FOLDER / "speculated.c").speculated
    line = 1 + (FOLDER / "speculated.c").read_text().split("\n").index("    for (int i = 0; i < n; i++) {")
    plain, found = (
        llgrad.grad(function, wrt="x", checkpoint=how)(grid(0.3, 1.3, 6), 6) for how in (None, {line: "revolve:2"})
    )
    assert np.isfinite(plain).all()
    np.testing.assert_allclose(found, plain, rtol=1e-13)


def test_several_directions_in_one_sweep(library: Any) -> None:
    given = (9, 60, grid(0, 1, 9), np.zeros(9))
    results = []
    for how in (None, "revolve:2"):
        jacobian = llgrad.jacobian(library.outputs, wrt="u", of="out", checkpoint=how)
        results.append(jacobian(*[a.copy() if isinstance(a, np.ndarray) else a for a in given]))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-13, atol=1e-15)


REFUSED = {
    "scattered": "at places, that are not known",
    "rows": "pointers in memory",
    "printed": "it calls puts",
    "logged": "it uses the variable",
    "kept": "finds or makes in a step",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(library: Any, name: str) -> None:
    line = line_of(name)
    with pytest.raises(CheckpointError, match=REFUSED[name]) as raised:
        llgrad.grad(library[name], wrt="u", checkpoint={line: "sqrt"})
    assert raised.value.span is not None and str(raised.value.span).endswith(f"loops.c:{line}")


def test_a_write_outside_of_what_was_found_ends_the_derivative(library: Any) -> None:
    derivative = llgrad.grad(library.outside, wrt="u", checkpoint="sqrt")
    derivative(8, 20, 8, grid(0, 1, 9))
    with pytest.raises(ForeignError, match="writes where it was not known to"):
        derivative(8, 20, 9, grid(0, 1, 9))


def test_a_budget_for_a_step_that_allocates(library: Any) -> None:
    with pytest.raises(CheckpointError, match="allocates memory, and a budget is given"):
        llgrad.grad(library.scratch, wrt="u", checkpoint=100_000)


def test_a_budget_that_is_too_small(library: Any) -> None:
    with pytest.raises(ForeignError, match="do not fit"):
        gradient(library, "heat", 3000)


def test_ways_that_do_not_exist(library: Any) -> None:
    ways: tuple[Any, ...] = ("", "square", "revolve:0", 0, -5, True, {12: "often"}, 1.5)
    for said in ways:
        with pytest.raises(ArgumentError):
            llgrad.grad(library.rk4, wrt="a", checkpoint=said)
    with pytest.raises(LlgradError):
        llgrad.vjp(library.rk4, wrt="a", checkpoint="squares")


def test_hessians(library: Any) -> None:
    given = (50, np.sin(grid(0, 9, 6)), np.zeros(6), np.zeros(6))
    plain, found = (
        llgrad.hessian(library.heat, wrt="x", checkpoint=how)(6, *(a.copy() if i else a for i, a in enumerate(given)))
        for how in (None, {f"loops.c:{line_of('heat')}": "revolve:2"})
    )
    np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("said", "status"), [("revolve:3", 0), ("60000", 0), ("900", -6)])
def test_programs(tmp_path: Path, said: str, status: int) -> None:
    results = []
    for more in ([], ["--checkpoint", said]):
        program = str(tmp_path / "program")
        command = [sys.executable, "-m", "llgrad", "cc", str(PROGRAMS / "program.c"), "-O2", "-o", program, "-lm"]
        subprocess.run([*command, *more], check=True)
        results.append(subprocess.run([program], capture_output=True, text=True, check=False))
    assert results[1].returncode == status
    assert (results[1].stdout == results[0].stdout) == (status == 0)
    assert ("do not fit" in results[1].stderr) == (status != 0)


# --- the schedule ----------------------------------------------------------------------------------------------------


def runs(units: int, s: int, split: Callable[[int, int], int]) -> tuple[int, int]:
    """How many units are run without a tape, and how many checkpoints are held at once."""
    done = most = held = 0
    work: list[tuple[str, int, int]] = [("run", units, s)]
    while work:
        what, n, s = work.pop()
        if what == "back":  # the copy is dropped before its segment is reversed
            held -= 1
            work.append(("run", n, s))
            continue
        while n > 1:
            m = split(n, s)
            assert 1 <= m < n and s >= 1
            done, held = done + m, held + 1
            most = max(most, held)
            work.append(("back", m, s))
            n, s = n - m, s - 1
    return done, most


def test_the_schedule_is_optimal() -> None:
    for units in (1, 2, 3, 4, 5, 10, 17, 100, 231, 1000):
        for s in (1, 2, 3, 5, 10, 1000):
            if s == 1 and units > 100:
                continue
            done, most = runs(units, s, checkpoint_schedule.split)
            assert done == (checkpoint_schedule.least_runs(units, s) if units > 1 else 0) and most <= s


def test_the_schedule_as_it_is_compiled() -> None:
    text = checkpoint_schedule.TEXT.replace("define internal", "define")
    module = LLVMModule.from_text(text)
    engine = Engine([module])
    for units in (2, 3, 7, 100, 231, 10**6, 10**9):
        for s in (1, 2, 3, 20, 180, 10**6):
            if s == 1 and units > 10**6:
                continue
            assert called(engine, checkpoint_schedule.SPLIT, 5 * units - 2, s, 5) == 5 * checkpoint_schedule.split(
                units, s
            )


def called(engine: Any, name: str, *args: int) -> int:
    import ctypes

    f = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(args))(engine.address(name))
    return int(f(*args))
