"""Rust: idioms, signatures, crates, panics, refusals."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import mpmath as mp
import numpy as np
import pytest
from compilers import require
from core import differences

import llgrad
from llgrad.errors import ArgumentError, CompilerError, ForeignError, UnsupportedError
from llgrad.frontends.rust import rustc

HERE = Path(__file__).parent
X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])
MATRIX = np.arange(9.0).reshape(3, 3) / 7


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    require("a.rs")
    return llgrad.load(HERE / "features.rs")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("operators", [X]), ("enums", [X]), pytest.param("sorted", [X], marks=pytest.mark.full),
        ("options", [X, 0.5]), ("queue", [X]),
        ("nested", [X]), ("objects", [X]), ("fixed", [MATRIX, X[:3]]), ("list", [X]), ("locked", [X]), ("errors", [X]),
        ("retained", [X]),
    ],
)  # fmt: skip
def test_idioms(lib: llgrad.Library, name: str, arguments: list[object]) -> None:
    function = lib[name]
    wrt = tuple(n for n, a in enumerate(arguments) if isinstance(a, np.ndarray))
    found = llgrad.grad(function, wrt=wrt)(*arguments)
    truth = differences(lambda v: function(*v), arguments)
    for n, ours in zip(wrt, found, strict=True):
        np.testing.assert_allclose(ours, truth[n], rtol=1e-7, atol=1e-8)


def test_slices_of_arrays_and_references(tmp_path: Path) -> None:
    """A slice has as many elements as there are arrays, not numbers; what a reference is to is there."""
    require("a.rs")
    path = tmp_path / "a.rs"
    path.write_text(
        "pub fn volumes(x: &[[f64; 3]]) -> f64 { x.iter().map(|r| r[0] * r[1] * r[2]).sum() }\n"
        "pub fn first(x: &[f64; 3]) -> f64 { x[0] * x[2] }\n"
        "pub fn square(x: f64, y: &mut f64) { *y = x * x; }\n"
    )
    lib, x = llgrad.load(path), np.arange(1.0, 7.0).reshape(2, 3)
    value, found = llgrad.value_and_grad(lib.volumes)(x)
    assert value == 6 + 120 and found.tolist() == [[6, 3, 2], [30, 24, 20]]
    assert llgrad.grad(lib.first)(x).tolist() == [[3, 0, 1], [0, 0, 0]]
    with pytest.raises(ArgumentError, match="has 0 bytes, less than 24"):
        lib.first(np.zeros(0))
    with pytest.raises(ArgumentError, match="must be a NumPy array, not NoneType"):
        lib.first(None)
    written = np.zeros(6)
    llgrad.vmap(lib.square, over=("x", "y"))(X, written)
    assert written.tolist() == (X * X).tolist()  # each number where it is passed from
    written[:] = 0
    value, found = llgrad.vmap(llgrad.value_and_grad(lib.square, of="y"), over=("x", "y"))(X, written)
    assert written.tolist() == value.tolist() == (X * X).tolist() and found.tolist() == (2 * X).tolist()


def test_an_archive_of_the_standard_library_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's rustc has no shared one: it is made, and has what programs call."""
    require("a.rs")
    compiler = rustc.rustc().path
    there = Path(cast(Any, rustc).answer((compiler, "--print", "target-libdir")).strip())
    for archive in there.glob("*.rlib"):
        (tmp_path / archive.name).symlink_to(archive)
    monkeypatch.setattr(rustc, "answer", lambda command: f"{tmp_path}\n")
    monkeypatch.setenv("LLGRAD_CACHE", str(tmp_path / "cache"))
    (made,) = rustc._linked.__wrapped__(compiler, "")
    assert b"3std2io5stdio6__print" in Path(made).read_bytes()
    assert ctypes.CDLL(made)



UNUSUAL = """
#![no_std]
pub struct P { pub a: f64, pub b: f64, pub c: f64 }
pub fn wide(x: f64) -> i128 { (x * 8.0) as i128 }
pub fn wider(x: u128) -> u128 { x + 1 }
pub fn pair(x: f64) -> (f64, f64) { (x, x) }
pub fn record(x: P) -> P { x }
pub fn text(x: &str) -> &str { x }
pub fn maybe(x: Option<f64>) -> Option<f64> { x }
pub fn called(x: &dyn Fn(f64) -> f64) -> f64 { x(1.0) }
pub fn never(x: f64) -> ! { panic!("{}", x) }
#[inline(never)]
fn tag(x: f64) -> u64 { x.to_bits().rotate_left(12) & 0xfff }
pub fn f(x: f64) -> f64 { x * x + x + tag(x) as f64 }
"""


def test_functions_that_python_cannot_call_do_not_spoil_the_others(tmp_path: Path) -> None:
    """Results of unusual types. Without the standard library `rotate_left` leaves a declared personality routine, whose
    group of attributes is empty once `nonlazybind` is gone."""
    require("a.rs")
    path = tmp_path / "unusual.rs"
    path.write_text(UNUSUAL)
    lib = llgrad.load(path)
    assert lib.f(1.5) == 1026.75 and llgrad.grad(lib.f)(1.5) == 4
    for name in ("wide", "wider", "pair", "record", "text", "maybe", "called"):
        with pytest.raises(UnsupportedError, match=r"unusual.rs:\d+: (.|\n)*cannot be called from Python"):
            lib[name](1)



LIBM = """
#![no_std]
pub mod math {
    pub mod erf { #[inline(never)] pub fn erf(x: f64) -> f64 { f64::from_bits(x.to_bits() ^ 9) } }
    pub mod tgammaf { #[inline(never)] pub fn tgammaf(x: f32) -> f32 { f32::from_bits(x.to_bits() ^ 9) } }
    pub mod pow { #[inline(never)] pub fn pow(x: f64, _y: f64) -> f64 { f64::from_bits(x.to_bits() ^ 9) } }
    pub mod jn { #[inline(never)] pub fn jn(n: i32, x: f64) -> f64 { f64::from_bits(x.to_bits() ^ n as u64) } }
    pub mod frexp { #[inline(never)] pub fn frexp(x: f64) -> (f64, i32) { (f64::from_bits(x.to_bits() ^ 9), 7) } }
    pub mod modff { #[inline(never)] pub fn modff(x: f32) -> (f32, f32) { (f32::from_bits(x.to_bits() ^ 9), 7.0) } }
    pub mod lgamma_r {
        #[inline(never)]
        pub fn lgamma_r(x: f64) -> (f64, i32) { (f64::from_bits(x.to_bits() ^ 9), 7) }
    }
    pub mod sincos { #[inline(never)] pub fn sincos(x: f64) -> (f64, f64) { (f64::from_bits(x.to_bits() ^ 9), 7.0) } }
    pub mod generic { pub mod cbrt { #[inline(never)] pub fn cbrt(x: f64) -> f64 { f64::from_bits(x.to_bits() ^ 9) } } }
    pub mod sqrt {
        #[cfg(target_arch = "x86_64")]
        pub fn sqrt(mut x: f64) -> f64 {
            unsafe { core::arch::asm!("sqrtsd {x}, {x}", x = inout(xmm_reg) x, options(nostack, nomem, pure)) };
            x
        }
        #[cfg(not(target_arch = "x86_64"))]
        pub fn sqrt(x: f64) -> f64 { x }
    }
    pub mod own { #[inline(never)] pub fn erf(x: f64, k: f64) -> f64 { x * k } }
}
use math::*;
pub fn doubles(x: f64) -> f64 {
    let ((m, n), (l, _), (s, c)) = (frexp::frexp(x * 9.0), lgamma_r::lgamma_r(x), sincos::sincos(x));
    erf::erf(x) + pow::pow(x, x) + jn::jn(2, x) + m * n as f64 + l + s * c * c + generic::cbrt::cbrt(x) + sqrt::sqrt(x)
        + own::erf(x, 3.0)
}
pub fn singles(x: f32) -> f32 {
    let (f, w) = modff::modff(x * 5.0);
    tgammaf::tgammaf(x) + f * w
}
"""


@pytest.mark.parametrize("flags", [[], ["-Csymbol-mangling-version=v0"]])
def test_the_crate_libm_is_known_by_name(flags: list[str], tmp_path: Path) -> None:
    """Its functions look at bits: calls of C's stand for them, whatever their bodies are."""
    require("a.rs")
    path = tmp_path / "libm.rs"
    path.write_text(LIBM)
    lib, x = llgrad.load(path, flags=flags), 0.6125

    def doubles(x: mp.mpf) -> mp.mpf:
        m, n = mp.frexp(x * 9)
        rest = mp.besselj(2, x) + m * n + mp.loggamma(x) + mp.sin(x) * mp.cos(x) ** 2
        return mp.erf(x) + x**x + rest + mp.cbrt(x) + mp.sqrt(x) + 3 * x

    value, gradient = llgrad.value_and_grad(lib.doubles)(x)
    np.testing.assert_allclose([value, gradient], [float(doubles(mp.mpf(x))), float(mp.diff(doubles, x))], rtol=1e-13)
    value, gradient = llgrad.value_and_grad(lib.singles)(x)
    whole = float(mp.floor(x * 5))
    wanted = [mp.gamma(x) + (x * 5 - whole) * whole, mp.gamma(x) * mp.digamma(x) + 5 * whole]
    np.testing.assert_allclose([value, gradient], [float(w) for w in wanted], rtol=1e-5)


PANICS = """
pub fn picked(x: &[f64], i: usize) -> f64 {
    let v: Vec<f64> = x.iter().map(|a| a * a).collect();
    let mut w = Vec::new();
    for a in &v { w.push(a * 2.0); }
    w[i] * v[0]
}
"""


@pytest.mark.parametrize("panic", ["abort", "unwind"])
def test_panics_are_exceptions(panic: str, tmp_path: Path) -> None:
    """A derivative with landing pads, and an index out of bounds in it and in the function itself."""
    require("a.rs")
    path = tmp_path / "panics.rs"
    path.write_text(PANICS)
    f = llgrad.load(path, flags=[f"-Cpanic={panic}"]).picked
    df = llgrad.grad(f, wrt="x")
    for _ in range(2):
        np.testing.assert_allclose(df(X, 1), [4 * X[0] * X[1] ** 2, 4 * X[0] ** 2 * X[1], 0, 0, 0, 0], rtol=1e-14)
        for called in (f, df):
            with pytest.raises(ForeignError, match=r"panicked(.|\n)*panics.rs:6:6"):
                called(X, 9)


def test_single_precision(lib: llgrad.Library) -> None:
    x = X.astype(np.float32)
    gradient = llgrad.grad(lib.mixed, wrt="x")(x, 2.0)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, 2.0 * x / np.sqrt(2.0 * (x * x).sum()), rtol=1e-6)


def test_a_mutable_slice_is_an_output(lib: llgrad.Library) -> None:
    weights = np.linspace(0.5, 1.5, len(X))

    def at(v: Sequence[Any]) -> float:
        x = np.array(v[0])
        lib.smooth(x, v[1])
        return float(weights @ x)

    out = X.copy()
    _, (dx, dk) = llgrad.vjp(lib.smooth, wrt=("x", "k"), of="x")(out, 0.3, seed=weights)
    truth = differences(at, [X, 0.3])
    np.testing.assert_allclose(dx, truth[0], rtol=1e-7)
    np.testing.assert_allclose(dk, truth[1], rtol=1e-7)


def test_structs(lib: llgrad.Library) -> None:
    springs = np.zeros(3, lib.springs.signature.parameters[1].type.dtype)
    springs["k"], springs["rest"], springs["bonds"] = [1, 2, 3], [0.1, 0.2, 0.3], [1, 1, 2]
    x = np.array([0.0, 1.0, 1.5, 3.0])
    ds, dx = llgrad.grad(lib.springs, wrt=("s", "x"))(3, springs, x)
    stretch = np.diff(x) - springs["rest"]
    np.testing.assert_allclose(ds["k"], springs["bonds"] * 0.5 * stretch**2, rtol=1e-12)
    np.testing.assert_allclose(ds["rest"], -1.0 * springs["bonds"] * springs["k"] * stretch, rtol=1e-12)
    assert dx.shape == x.shape


def test_signatures_are_rusts(lib: llgrad.Library) -> None:
    assert str(lib.options.signature) == "fn options(x: &[f64], bound: f64) -> f64"
    assert str(lib.smooth.signature) == "fn smooth(x: &mut [f64], k: f64)"
    assert str(lib.springs.signature) == ("fn springs(n: usize, s: *const features::Spring, x: *const f64) -> f64")
    with pytest.raises(ArgumentError, match="float32"):
        lib.sorted(X.astype(np.float32))


def test_the_compilers_words(tmp_path: Path) -> None:
    require("a.rs")
    path = tmp_path / "bad.rs"
    path.write_text("pub fn f(x: f64) -> f64 { y }\n")
    with pytest.raises(CompilerError, match="cannot find value `y`"):
        llgrad.load(path)


def test_a_missing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.rs"
    path.write_text("pub fn f(x: f64) -> f64 { x }\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match="no Rust compiler") as caught:
        llgrad.load(path)
    assert "rustup" in caught.value.fix


def test_a_crate_with_a_dependency(tmp_path: Path) -> None:
    require("a.rs")
    (tmp_path / "model" / "src").mkdir(parents=True)
    (tmp_path / "maths" / "src").mkdir(parents=True)
    manifest = '[package]\nname = "{0}"\nversion = "0.1.0"\nedition = "2021"\n[features]\ntwice = []\n'
    (tmp_path / "maths" / "Cargo.toml").write_text(manifest.format("maths"))
    (tmp_path / "maths" / "src" / "lib.rs").write_text(
        "#[inline(never)]\npub fn square(x: f64) -> f64 { x * x }\n"
        "pub fn total<T: Into<f64> + Copy>(x: &[T]) -> f64 { x.iter().map(|&v| v.into()).sum() }\n"
        "#[inline]\npub fn used(x: f64) -> f64 { 2.0 * x }\n#[inline]\npub fn unused(x: f64) -> f64 { 3.0 * x }\n"
    )
    (tmp_path / "model" / "Cargo.toml").write_text(
        manifest.format("model") + '[dependencies]\nmaths = { path = "../maths" }\n'
    )
    (tmp_path / "model" / "src" / "lib.rs").write_text(
        "mod inner;\npub fn f(x: &[f64]) -> f64 { maths::square(maths::total(x)) * inner::K }\n"
        "#[inline]\nfn half(x: f64) -> f64 { maths::used(x) * 0.25 }\n"
    )
    (tmp_path / "model" / "src" / "inner.rs").write_text(
        '#[cfg(feature = "twice")]\npub const K: f64 = 2.0;\n#[cfg(not(feature = "twice"))]\npub const K: f64 = 1.0;\n'
    )
    for flags, k in ((), 1.0), (("--features=twice",), 2.0):
        crate = llgrad.load(tmp_path / "model" / "Cargo.toml", flags=flags)
        np.testing.assert_allclose(llgrad.grad(crate.f)(X), np.full(len(X), 2 * k * X.sum()), rtol=1e-14)
        assert llgrad.grad(crate.half)(1.0) == 0.5
        assert "unused" not in repr(crate)  # what the package does not use of its dependencies costs nothing


def test_a_crate_with_a_vendored_dependency(tmp_path: Path) -> None:
    """As `cargo vendor` leaves them: the configuration beside the manifest says where."""
    require("a.rs")
    files = {
        "Cargo.toml": '[package]\nname = "model"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ntiny = "1"\n',
        "src/lib.rs": "pub fn f(x: f64) -> f64 { tiny::cube(x.sin()) }\n",
        ".cargo/config.toml": '[source.crates-io]\nreplace-with = "vendored-sources"\n'
        '[source.vendored-sources]\ndirectory = "vendor"\n',
        "vendor/tiny/Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
        "vendor/tiny/.cargo-checksum.json": '{"files": {}, "package": null}\n',
        "vendor/tiny/src/lib.rs": "pub fn cube(x: f64) -> f64 { x * x * x }\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    f = llgrad.load(tmp_path / "Cargo.toml").f
    assert llgrad.grad(f)(0.7) == pytest.approx(3 * np.sin(0.7) ** 2 * np.cos(0.7))
