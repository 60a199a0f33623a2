"""Fortran as scientists have it: COMMON blocks that several files see differently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad

HERE = Path(__file__).parent


@pytest.mark.parametrize("level", [0, 2])
def test_blocks_are_what_all_files_declare_in_them(level: int) -> None:
    """As in ODEPACK: arrays in a COMMON block are walked to bounds that are not known, beside integers that are only
    handed on; one file saves and restores the block under other names, and BLOCK DATA has the block itself."""
    require("a.f")
    lib = llgrad.load([HERE / "blocks" / "steps.f", HERE / "blocks" / "order.f"], optimize=level)
    x = np.array([0.7, 1.2, 0.5, 0.9])
    truth = differences(lambda v: lib.steps(4, v[0]), [x])[0]
    np.testing.assert_allclose(llgrad.grad(lib.steps, wrt="x")(4, x), truth, rtol=1e-9)
    _, tangent = llgrad.jvp(lib.steps, wrt="x")(4, x, tangents=np.ones(4))
    np.testing.assert_allclose(tangent, truth.sum(), rtol=1e-9)


SHIFTED = """
function shifted(n, x) result(r)
  integer :: n
  real(8) :: x(n), y(n), r
  y = -(x - cshift(x, -1))*x(1)
  r = sum(y*y*[1, 2, 3, 4])
end function
"""


def test_shifts_by_negative_numbers_are_within_the_array(tmp_path: Path) -> None:
    """flang 22 says of the number of places that it is no negative sum, which LLVM believes: y(1) was made of x(0)."""
    require("a.f90")
    (tmp_path / "shifted.f90").write_text(SHIFTED)
    lib = llgrad.load(tmp_path / "shifted.f90")
    x = np.array([0.7, 1.2, 0.5, 0.9])

    def shifted(v: np.ndarray) -> float:
        return float((((np.roll(v, 1) - v) * v[0]) ** 2 * [1, 2, 3, 4]).sum())

    np.testing.assert_allclose(lib.shifted(4, x), shifted(x), rtol=1e-14)
    np.testing.assert_allclose(
        llgrad.grad(lib.shifted, wrt="x")(4, x), differences(lambda v: shifted(v[0]), [x])[0], rtol=1e-9
    )
