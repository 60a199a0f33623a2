"""Second order, levels of optimisation, the command line, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from llgrad.cli import main
from llgrad.errors import CompilerError, UnsupportedError
from llgrad.gpu.compiling import compile_cuda
from llgrad.gpu.emulator import Emulator
from llgrad.gpu.program import differentiate_device

HEAD = """
#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define ARGUMENTS enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, n
"""
TREE = """
__device__ void f(const double *x, double *y, int n)
{
    __shared__ double s[32];
    s[T] = sin(x[I]) * x[I];
    __syncthreads();
    for (int k = 16; k > 0; k /= 2) {
        if (T < k) s[T] *= 0.5 + s[T + k];
        __syncthreads();
    }
    if (T == 0) y[blockIdx.x] = s[0] * s[0];
}
__device__ void g(const double *x, double *dx, double *y, double *dy, int n)
{
    __enzyme_autodiff((void *)f, ARGUMENTS);
}
extern "C" __global__ void first(const double *x, double *dx, double *y, double *dy, int n) { g(x, dx, y, dy, n); }
extern "C" __global__ void second(const double *x, const double *tx, double *dx, double *tdx, double *y, double *ty,
                                  double *dy, double *tdy, int n)
{
    __enzyme_fwddiff((void *)g, enzyme_dup, x, tx, enzyme_dup, dx, tdx, enzyme_dup, y, ty, enzyme_dup, dy, tdy,
                     enzyme_const, n);
}
"""
ASKS = """
extern "C" __global__ void df(double *x, double *dx, double *y, double *dy, int n)
{
    __enzyme_autodiff((void *)f, ARGUMENTS);
}
"""
DEVICE = "__device__ void f(const double *x, double *y, int n)"


def compiled(folder: Path, code: str) -> bytes:
    path = folder / "k.cu"
    path.write_text(HEAD + code)
    try:
        return compile_cuda(path)
    except CompilerError as error:
        if "does not compile" in str(error):
            raise
        pytest.skip(f"no compiler for kernels: {error}")


@pytest.mark.parametrize("level", [0, 1, 3])
def test_second_order_at_each_level(tmp_path: Path, level: int) -> None:
    emulated = Emulator(differentiate_device(compiled(tmp_path, TREE), level))
    rng, n = np.random.default_rng(0), np.int32(64)
    x, t = rng.uniform(0.5, 1, 64), rng.normal(size=64)

    def gradient(x: Any) -> Any:
        dx = np.zeros(64)
        emulated.launch("first", 2, 32, [x, dx, np.zeros(64), np.ones(64), n])
        return dx

    tdx, h = np.zeros(64), 1e-6
    more = [np.zeros(64), np.zeros(64), np.ones(64), np.zeros(64), n]
    emulated.launch("second", 2, 32, [x.copy(), t.copy(), np.zeros(64), tdx, *more])
    np.testing.assert_allclose(tdx, (gradient(x + h * t) - gradient(x - h * t)) / (2 * h), atol=1e-7)


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("active values in @total, a variable of the GPU's", "__device__ double total[4];" + DEVICE +
         "{ total[I % 4] = x[I]; __syncthreads(); y[I] = total[(I + 1) % 4]; }"),
        ("`atomicrmw` of active memory", DEVICE + "{ y[I + 1] = atomicAdd(&y[0], x[I]); }"),
        ("@dyn needs a shadow", "extern __shared__ double dyn[];" + DEVICE +
         "{ dyn[T] = x[I]; __syncthreads(); y[I] = dyn[n - 1 - T] * x[I]; }"),
        ("the barrier llvm.nvvm.barrier.cta.sync.all", DEVICE + "{ __nvvm_barrier_sync(n); y[I] = x[I] * x[I]; }"),
        ("copy of active memory that threads share", "struct Many { double a[9]; };" + DEVICE +
         "{ ((Many *)y)[I] = ((const Many *)x)[I]; }"),
        ("no derivative for the call of __nv_j2", 'extern "C" __device__ double __nv_j2(double);' + DEVICE +
         "{ y[I] = __nv_j2(x[I]); }"),
        ("", DEVICE + "{ y[I] = x[I] * x[I]; }"),
    ],
)  # fmt: skip
def test_what_has_no_derivative_is_named(tmp_path: Path, what: str, code: str) -> None:
    device = compiled(tmp_path, code + ASKS)
    if not what:
        assert "df(" in differentiate_device(device)
        return
    with pytest.raises(UnsupportedError) as refused:
        differentiate_device(device)
    assert what in str(refused.value) and "k.cu:" in str(refused.value)


def test_opt_writes_assembly_and_ptx(tmp_path: Path) -> None:
    device = tmp_path / "k.bc"
    device.write_bytes(compiled(tmp_path, DEVICE + "{ y[I] = tan(x[I]); }" + ASKS))
    for name, word in (("k.ll", 'target triple = "nvptx64-nvidia-cuda"'), ("k.ptx", ".entry df")):
        done = CliRunner().invoke(main, ["opt", str(device), "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
        assert word in (tmp_path / name).read_text()
    if assembler := shutil.which("ptxas"):
        words = [assembler, "-c", "-arch=sm_80", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.o")]
        assert subprocess.run(words, check=False).returncode == 0


SPLIT = """
template <typename... A> __device__ void *__enzyme_augmentfwd(void *, A...);
template <typename... A> __device__ void __enzyme_reverse(void *, A...);
extern "C" __global__ void split(const double *x, double *dx, double *y, double *dy, int n)
{
    void *tape = __enzyme_augmentfwd((void *)f, ARGUMENTS);
    dy[blockIdx.x] = 1;
    __syncthreads();
    __enzyme_reverse((void *)f, ARGUMENTS, tape);
}
"""


def test_split_derivative(tmp_path: Path) -> None:
    emulated = Emulator(differentiate_device(compiled(tmp_path, TREE + SPLIT)))
    x, n = np.random.default_rng(0).uniform(0.5, 1, 64), np.int32(64)
    whole, split = np.zeros(64), np.zeros(64)
    emulated.launch("first", 2, 32, [x, whole, np.zeros(64), np.ones(64), n])
    emulated.launch("split", 2, 32, [x, split, np.zeros(64), np.zeros(64), n])
    np.testing.assert_allclose(split, whole, rtol=1e-14)
    assert whole.all()
