"""The example with SciPy: least squares, Newton's method and BDF with sparse Jacobians, to answers that are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import llgrad


def test_scipy_takes_sparse_jacobians() -> None:
    from examples.frameworks import diffusion

    ways: Any = diffusion
    lib = llgrad.load(Path(diffusion.__file__).with_suffix(".c"))
    found, error, _ = ways.steady(lib, 9, 0.06)
    by_newton, left = ways.newton(lib, 9, 0.06)
    np.testing.assert_allclose(found, by_newton, rtol=1e-6)
    assert error < 1e-8 and left[-1] < 1e-13 < left[0]
    waves = ways.waves(lib, 4, 0.5)
    assert waves.success and waves.njev <= 20
