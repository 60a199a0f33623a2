"""`__bf16` from Python: numbers, and arrays of what ml_dtypes calls bfloat16, or of their bits."""

from __future__ import annotations

import numpy as np
import pytest

import llgrad
from llgrad.errors import ArgumentError
from llgrad.execution.entry import _brain_bits

SOURCE = """
__bf16 poly(__bf16 x) { return x * x * (__bf16)1.5f + x; }
double mixed(double x) { __bf16 b = (__bf16)x; return (double)(b * b); }
float dot(int n, const __bf16 *x, const __bf16 *y)
{
    float s = 0;
    for (int i = 0; i < n; i++) s += (float)x[i] * (float)y[i];
    return s;
}
void scaled(int n, float a, const __bf16 *x, __bf16 *y)
{
    for (int i = 0; i < n; i++) y[i] = (__bf16)(a * (float)x[i]);
}
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> llgrad.Library:
    path = tmp_path_factory.mktemp("brain") / "brain.c"
    path.write_text(SOURCE)
    return llgrad.load(path)


def test_numbers(lib: llgrad.Library) -> None:
    assert lib.poly(1.5) == 4.875
    assert llgrad.grad(lib.poly)(1.5) == 5.5
    assert llgrad.jvp(lib.poly)(1.5, tangents=2.0) == (4.875, 11.0)
    assert llgrad.value_and_grad(lib.mixed)(1.5) == (2.25, 3.0)


def test_numbers_are_rounded_once() -> None:
    values = [1.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-40, -(1 + 2.0**-8 + 2.0**-40), 2.0**-134 * 1.01]
    assert [_brain_bits(v) for v in values] == [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xBF81, 1]
    huge = [3.3895e38, 3.4e38, 1e300, -np.inf, 0.0, -0.0]
    assert [_brain_bits(v) for v in huge] == [0x7F7F, 0x7F80, 0x7F80, 0xFF80, 0, 0x8000]
    assert _brain_bits(np.nan) & 0x7FFF == 0x7FC0


def test_bits(lib: llgrad.Library) -> None:
    """Bits may be passed, but nobody can say what adding to them means: their derivatives are refused."""
    bits = (np.array([1.0, 2.0, 3.0], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    assert lib.dot(3, bits, bits) == 14.0
    with pytest.raises(ArgumentError, match="uint16, which has no derivative"):
        llgrad.grad(lib.dot, wrt="x")(3, bits, bits)
    out = np.zeros(3, np.uint16)
    lib.scaled(3, 2.0, bits, out)
    assert out.tolist() == [0x4000, 0x4080, 0x40C0]
    for wrong in (np.float32, np.int16, np.float16):
        with pytest.raises(ArgumentError, match="bfloat16"):
            lib.dot(3, bits, np.zeros(3, wrong))


def test_arrays(lib: llgrad.Library) -> None:
    brain = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed: pip install ml_dtypes").bfloat16
    x, y = np.array([1, 2, 3], brain), np.array([0.5, -1, 4], brain)
    dx, dy = llgrad.grad(lib.dot, wrt=("x", "y"))(3, x, y)
    assert dx.dtype == dy.dtype == brain
    assert dx.tolist() == [0.5, -1, 4]
    assert dy.tolist() == [1, 2, 3]
    seed = np.array([1, 0.5, 2], brain)
    out, (da, dx) = llgrad.vjp(lib.scaled, wrt=("a", "x"), of="y")(3, 2.0, x, np.zeros(3, brain), seed=seed)
    assert out.tolist() == [2, 4, 6]
    assert (da, dx.tolist()) == (8.0, [2, 1, 4])
