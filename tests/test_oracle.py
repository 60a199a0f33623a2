"""The instruments themselves: each must notice what it is there to notice."""

from __future__ import annotations

import ctypes
import os
import time

import numpy as np
import pytest
from cases import FOLDER, Memory, read_program
from checks import Findings, judge
from harness import Built, Reference, build, compiled, jacobian
from oracle import disagreement, finite_differences, smoothness
from sandbox import FAILED, Crash, isolated

from llgrad.autodiff.requests.request import Mode
from llgrad.errors import UnsupportedError


def curve(x: np.ndarray) -> np.ndarray:
    return np.array([np.exp(x[0]) * x[1], np.sin(x[1])])


def test_finite_differences_are_good_to_ten_digits() -> None:
    at = np.array([0.7, -1.3])
    exact = np.array([[np.exp(0.7) * -1.3, np.exp(0.7)], [0.0, np.cos(-1.3)]])
    assert np.abs(finite_differences(curve, at) - exact).max() < 1e-10


def test_kinks_and_jumps_are_seen() -> None:
    assert smoothness(curve, np.array([0.3, 0.4])) < 1e-8
    assert smoothness(lambda x: np.abs(x), np.array([1e-5])) > 1e-3
    assert smoothness(lambda x: np.floor(x), np.array([1.0 + 5e-5])) > 1e-3


@pytest.mark.parametrize("change", [1e-6, np.nan, np.inf])
def test_a_wrong_entry_is_a_disagreement(change: float) -> None:
    right = np.array([[1.0, 2.0], [1e-8, 3e-8]])
    for i in np.ndindex(right.shape):
        wrong = right.copy()
        wrong[i] += change
        assert disagreement("x", wrong, right, 1e-9)
    assert not disagreement("x", right * (1 + 1e-12), right, 1e-9)
    assert disagreement("x", right, right[:1], 1e-9)


def test_memory_notices_writes_outside() -> None:
    memory = Memory(read_program(FOLDER / "struct_mixed.c"))
    assert memory.intact()
    ctypes.memset(memory.address("s") - 1, 0, 1)
    assert not memory.intact()


def test_structs_are_laid_out_as_c_does() -> None:
    program = read_program(FOLDER / "struct_mixed.c")
    assert [(offset, kind) for _, offset, kind in program.leaves] == [(8, "f8"), (16, "f4"), (24, "f8")]
    assert len(program.buffers[0].initial) == 32


def test_aliases_share_one_buffer() -> None:
    program = read_program(FOLDER / "aliasing_shifted.c")
    memory = Memory(program)
    assert memory.address("y") == memory.address("x") + 16
    assert program.inputs == program.outputs == 6


def test_a_wrong_derivative_is_found() -> None:
    """The derivative of one program judged against the values of another."""
    right, wrong = read_program(FOLDER / "sum_reduction.c"), read_program(FOLDER / "product_reduction.c")
    whole = compiled([right.path])
    built = build(whole, [right], 1)
    assert not built.errors
    forward, _ = jacobian(built, right, Mode.FORWARD, right.point)
    assert np.array_equal(forward, np.vstack([np.eye(6), np.ones(6)]))
    found = Findings()
    judge(right, [built], _Other(wrong.path, wrong.name), found)
    assert len(found.wrong) == 2 and "against finite differences" in found.wrong[0]


class _Other(Reference):
    """The function of another program with the same signature."""

    def __init__(self, path: object, name: str) -> None:
        super().__init__([path])  # type: ignore[list-item]
        self._library = {"sum_reduction": self._library[name]}  # type: ignore[assignment]


def test_refusals_are_reported() -> None:
    program, found = read_program(FOLDER / "sum_reduction.c"), Findings()
    error = UnsupportedError("no", fix="none")
    built = Built(2, None, {(program.name, mode): error for mode in (Mode.FORWARD, Mode.COMBINED)})
    judge(program, [built], Reference([program.path]), found)
    assert {name for name, _ in found.refused.values()} == {"UnsupportedError"} and len(found.refused) == 2


def crash() -> None:
    ctypes.string_at(8)


def hang() -> None:
    time.sleep(60)


def leave() -> None:
    os._exit(FAILED)


def fail() -> None:
    raise ValueError("seen")


ENDS = [(crash, "SIGSEGV"), (hang, "did not end"), (leave, "llgrad_fail"), (fail, "ValueError: seen")]


@pytest.mark.parametrize(("function", "told"), ENDS)
def test_the_sandbox_tells_how_a_child_ended(function: object, told: str) -> None:
    with pytest.raises(Crash, match=told):
        isolated(function, seconds=1)  # type: ignore[arg-type]
    assert isolated(lambda: 7) == 7
