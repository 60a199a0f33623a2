"""Julia and Swift, whose compilers are not here: their IR as they print it, stored; gradients against closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.errors import CompilerError, ForeignError, UnsupportedError
from llgrad.frontends import language_of
from llgrad.frontends.common.tools import stopping
from llgrad.frontends.julia import julia

STORED = Path(__file__).parents[1] / "ir" / "languages"
X = np.array([0.7, -0.4, 1.3])
K = 0.5


@pytest.fixture(scope="module")
def of_julia() -> llgrad.Library:
    return llgrad.load(STORED / "model.jl.ll")


@pytest.fixture(scope="module")
def of_swift() -> llgrad.Library:
    return llgrad.load(STORED / "model.swift.ll")


def test_julias_arrays(of_julia: llgrad.Library) -> None:
    """Address spaces, safepoints, bounds checks; the twin takes a NumPy array."""
    assert str(of_julia.decay.signature) == "decay(x::Array{Float64, 1}, k::Float64)::Float64"
    value, (dx, dk) = llgrad.value_and_grad(of_julia.decay, wrt=("x", "k"))(X, K)
    powers = np.arange(len(X))[::-1]
    assert value == pytest.approx((K**powers * X**2).sum(), rel=1e-14)
    np.testing.assert_allclose(dx, 2 * K**powers * X, rtol=1e-14)
    assert dk == pytest.approx((powers * K ** (powers - 1.0) * X**2).sum(), rel=1e-14)


def test_julias_allocations_and_calls(of_julia: llgrad.Library) -> None:
    """GenericMemory, an array's wrapper, the collector's intrinsics, a call of another function."""
    value, (dx, dk) = llgrad.value_and_grad(of_julia.scaled, wrt=("x", "k"))(X, K)
    powers = np.arange(len(X))[::-1]
    assert value == pytest.approx((K ** (powers + 2) * X**2).sum() + K * X[0], rel=1e-14)
    np.testing.assert_allclose(dx, 2 * K ** (powers + 2) * X + K * np.eye(3)[0], rtol=1e-14)
    assert dk == pytest.approx(((powers + 2) * K ** (powers + 1) * X**2).sum() + X[0], rel=1e-14)


def test_julias_matrices_structs_and_boxes(of_julia: llgrad.Library) -> None:
    a = np.asfortranarray(np.arange(9.0).reshape(3, 3))
    da = llgrad.grad(of_julia.bilinear, wrt="a")(a, 1, 3)
    assert (da[0, 2], da[2, 0], int(np.count_nonzero(da))) == (a[2, 0], a[0, 2], 2)
    k, rest, x = 2.0, 1.0, 4.0
    ds = llgrad.grad(of_julia.spring, wrt="x")(np.array([k, rest, x]))
    np.testing.assert_allclose(ds, [0.5 * (x - rest) ** 2, -k * (x - rest), k * (x - rest)], rtol=1e-14)


def test_what_julia_throws(of_julia: llgrad.Library) -> None:
    a = np.zeros((3, 3), order="F")
    for f in (of_julia.bilinear, llgrad.grad(of_julia.bilinear, wrt="a")):
        with pytest.raises(ForeignError, match="raised an exception"):
            f(a, 1, 4)
    with pytest.raises(ForeignError, match="raised an exception"):
        llgrad.grad(of_julia.scaled, wrt="x")(X[:0], K)


def test_objects_of_julias_session_are_refused(tmp_path: Path) -> None:
    text = (STORED / "model.jl.ll").read_text()
    read = text.replace("load ptr, ptr %0, align 8", "load ptr, ptr inttoptr (i64 140 to ptr), align 8")
    with pytest.raises(UnsupportedError, match="by address"):
        julia.finished([read])
    path = tmp_path / "constant.ll"
    made = 'nonnull %"new::Array", double'
    constant = 'addrspacecast (ptr @"jl_global#104.jit" to ptr addrspace(10)), double'
    alias = '@"jl_global#104.jit" = private alias ptr, inttoptr (i64 139712345690000 to ptr)\n\n; Function'
    path.write_text(text.replace(made, constant).replace("\n; Function", "\n" + alias, 1))
    lib = llgrad.load(path)
    with pytest.raises(ForeignError, match="jl_global"):
        llgrad.grad(lib.scaled, wrt="x")(X, K)


def test_swifts_array_buffers(of_swift: llgrad.Library) -> None:
    """Header and elements in one block, reference counts, uniqueness, capacity: 1 + f = Π (1 + k x²)."""
    factors = 1 + K * X**2
    value, (dx, dk) = llgrad.value_and_grad(of_swift.smoothed, wrt=(0, 2))(X, len(X), K)
    assert value == pytest.approx(factors.prod() - 1, rel=1e-14)
    np.testing.assert_allclose(dx, 2 * K * X * factors.prod() / factors, rtol=1e-13)
    assert dk == pytest.approx((X**2 / factors).sum() * factors.prod(), rel=1e-13)
    assert llgrad.value_and_grad(of_swift.smoothed, wrt=2)(X, 0, K) == (0.0, 0.0)


def test_swifts_self_and_error(of_swift: llgrad.Library) -> None:
    df = llgrad.grad(of_swift.spring)
    np.testing.assert_allclose(df(2.0, 1.0, 4.0), [4.5, -6.0, 6.0], rtol=1e-14)
    np.testing.assert_array_equal(df(2.0, 1.0, -4.0), [1.0, 0.0, 0.0])


def test_swifts_lazy_globals_and_traps(of_swift: llgrad.Library) -> None:
    assert llgrad.grad(of_swift.scaled)(2.0) == 12.0
    for f in (of_swift.smoothed, llgrad.grad(of_swift.smoothed, wrt=2)):
        with pytest.raises(ForeignError, match="trapped"):
            f(X, -1, K)
    assert not [name for name in dir(of_swift) if name.startswith("swift_")]


@pytest.mark.parametrize(("name", "package"), [("a.jl", "julialang.org"), ("a.swift", "swift.org")])
def test_missing_compilers(name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_text("f(x::Float64) = x\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match="there is no") as caught:
        llgrad.load(tmp_path / name)
    assert package in caught.value.fix
    assert language_of(tmp_path / name).name in ("julia", "swift")


def test_only_what_never_returns_is_taken_to_stop() -> None:
    text = "declare void @f(ptr)\ndeclare void @g(ptr)\n  call void @f(ptr %p)\n  unreachable\n"
    text += "  call void @g(ptr %p)\n  ret void\n"
    made = stopping(text)
    assert "define internal void @f(ptr) noreturn" in made and "declare void @g(ptr)" in made
