"""Kernels' gradients: in the emulator against finite differences and forward mode, and as PTX through ptxas."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llgrad.errors import CompilerError
from llgrad.gpu.compiling import compile_cuda
from llgrad.gpu.emulator import Emulator
from llgrad.gpu.program import differentiate_device
from llgrad.llvm.gpu import ptx

SOURCE = Path(__file__).with_name("kernels.cu")
N, BLOCK = 64, 32


def names(source: Path) -> list[str]:
    lines = [line for line in source.read_text().splitlines() if line.startswith("ALL(")]
    return [line.removeprefix("ALL(").partition(",")[0] for line in lines]


@cache
def differentiated() -> str:
    try:
        device = compile_cuda(SOURCE)
    except CompilerError as error:
        pytest.skip(f"no compiler for kernels: {error}")
    return differentiate_device(device)


@pytest.fixture(scope="module")
def kernels() -> Iterator[Emulator]:
    yield Emulator(differentiated())


@pytest.mark.parametrize("name", names(SOURCE))
def test_gradient(kernels: Emulator, name: str) -> None:
    single = name.endswith("f")
    dtype: Any = np.float32 if single else np.float64
    h, forward, differences = (1e-2, 1e-4, 2e-2) if single else (1e-6, 1e-10, 1e-6)
    rng = np.random.default_rng(len(name))
    x = rng.uniform(0.6, 1.4, N).astype(dtype)
    t, w = rng.normal(size=N).astype(dtype), rng.normal(size=N).astype(dtype)
    n = np.int32(N)

    def primal(x: Any) -> Any:
        x, y = x.copy(), np.zeros(N, dtype)
        kernels.launch(f"{name}_p", N // BLOCK, BLOCK, [x, y, n])
        return y.astype(np.float64)

    wanted = w @ (primal(x + dtype(h) * t) - primal(x - dtype(h) * t)) / (2 * h)
    assert wanted != 0
    y, dx, dy = np.zeros(N, dtype), np.zeros(N, dtype), w.copy()
    kernels.launch(f"{name}_r", N // BLOCK, BLOCK, [x.copy(), dx, y, dy, n])
    np.testing.assert_array_equal(y, primal(x).astype(dtype))
    again = np.zeros(N, dtype)  # a barrier that is missing shows where threads run in another order
    kernels.launch(f"{name}_r", N // BLOCK, BLOCK, [x.copy(), again, np.zeros(N, dtype), w.copy(), n], last_first=True)
    np.testing.assert_allclose(again, dx, rtol=1e-4 if single else 1e-10, atol=1e-4 if single else 1e-10)
    ty = np.zeros(N, dtype)
    kernels.launch(f"{name}_f", N // BLOCK, BLOCK, [x.copy(), t.copy(), np.zeros(N, dtype), ty, n])
    size = np.abs(dx) @ np.abs(t)
    assert abs(dx @ t - w @ ty) < forward * size
    assert abs(dx @ t - wanted) < differences * size


def test_ptx_assembles(tmp_path: Path) -> None:
    text = ptx(differentiated())
    assert ".entry sumtree_r" in text and "atom.shared.add.f64" in text or "red.shared.add.f64" in text
    assert all(f"{name}" not in text for name in ("llvm.", " sin,", " cos,"))
    if (assembler := shutil.which("ptxas")) is None:
        pytest.skip("ptxas is not at hand")
    path = tmp_path / "kernels.ptx"
    path.write_text(text)
    for cpu in ("sm_80", "sm_90"):
        words = [assembler, "-c", f"-arch={cpu}", str(path), "-o", str(tmp_path / "k.o")]
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("name", ["gather", "stencil", "steps", "pairs"])
def test_threads_add_atomically(kernels: Emulator, name: str) -> None:
    """The emulator's threads do not run at once: what adds to memory is looked for in the code.

    (`%old` and `%new` are of `llgrad.gpu.add`: memory of the thread's own, which was asked.)
    """
    lines = differentiated().partition(f"@{name}_r(")[2].partition("\n}")[0].splitlines()
    made = {line.split(" = ")[0].strip(): line for line in lines if " = " in line}
    loads = {v for v, line in made.items() if "= load double" in line and "shadow" in line}
    stored = {line.split("double ")[1].split(",")[0] for line in lines if line.strip().startswith("store double ")}
    sums = {v: line for v, line in made.items() if " fadd " in line and v in stored and not v.startswith("%new")}
    assert not [v for v, line in sums.items() if any(u in line for u in loads)]
    assert any("atomicrmw fadd" in line for line in lines)


def test_memory_of_a_thread_needs_no_atomics(kernels: Emulator) -> None:
    x, y = np.random.default_rng(0).normal(size=(8, 3)), np.zeros((8, 3))
    kernels.launch("own", 2, 4, [x, y])
    np.testing.assert_allclose(y, x * np.roll(x, -1, 1) + np.roll(x, 1, 1) ** 2 / 2, rtol=1e-12)
    body = differentiated().partition("@own(")[2].partition("\n}")[0]
    assert "atomicrmw" not in body and "isspacep" not in body
