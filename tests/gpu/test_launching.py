"""Kernels as Python launches them: `llgrad.load("k.cu")`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import llgrad
from llgrad.errors import ArgumentError, CompilerError, LlgradError, UnknownNameError

CODE = """
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <cmath>
__global__ void scaled(float a, const float *x, float *y, int n)
{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) y[i] = a * std::sin(x[i]) * x[i];
}
namespace inner { __global__ void stuck(double *x) { if (threadIdx.x) { __syncthreads(); } x[threadIdx.x] = 1; } }
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("kernels") / "k.cu"
    path.write_text(CODE)
    try:
        return llgrad.load(path)
    except CompilerError as error:
        pytest.skip(f"no compiler for kernels: {error}")


def test_a_kernel_and_its_derivatives(lib: Any) -> None:
    assert dir(lib) == ["scaled", "stuck"]
    x, y, n, a = np.linspace(0, 2, 100, dtype=np.float32), np.zeros(100, np.float32), np.int32(100), 1.5
    lib.scaled[3, 16](a, x, y, n)
    np.testing.assert_allclose(y, a * np.sin(x) * x, rtol=1e-6)
    slope = a * (np.cos(x) * x + np.sin(x))
    d_x, d_y = np.ones_like(x), np.full_like(x, 2)
    lib.scaled.vjp[3, 8]((a, x, y, n), (None, d_x, d_y, None))
    np.testing.assert_allclose(d_x, 1 + 2 * slope, rtol=1e-5)
    t_y = np.zeros_like(x)
    lib.scaled.jvp[2, 32]((a, x, y, n), (None, np.full_like(x, 3), t_y, None))
    np.testing.assert_allclose(t_y, 3 * slope, rtol=1e-5)


def test_what_is_wrong_is_said(lib: Any) -> None:
    x, n = np.zeros(100, np.float32), np.int32(100)
    with pytest.raises(UnknownNameError, match="no kernel nothing"):
        _ = lib.nothing
    with pytest.raises(ArgumentError, match="4 arguments"):
        lib.scaled[1, 32](x)
    with pytest.raises(ArgumentError, match="2048 threads"):
        lib.scaled[1, 2048](1, x, x, n)
    with pytest.raises(ArgumentError, match="argument 0 is a number"):
        lib.scaled.vjp[1, 32]((1, x, x, n), (x, x, x, None))
    with pytest.raises(ArgumentError, match="dtype or shape"):
        lib.scaled.vjp[1, 32]((1, x, x, n), (None, x[:3], x, None))
    with pytest.raises(LlgradError, match="waited at a barrier"):
        lib.stuck[1, 4](np.zeros(4))
