"""D, Nim and MLIR: signatures and errors; several languages in one program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import called, differences

import llgrad
from llgrad.errors import ArgumentError, CompilerError, ForeignError, KindError, UnsupportedError
from llgrad.frontends import LANGUAGES
from llgrad.frontends.mlir.mlir import declared, signatures

X = np.array([0.7, -0.4, 1.3])
BROKEN = {
    ".d": ("extern(C) double f(double x) { return y; }\n", "undefined identifier `y`", "ldc"),
    ".nim": ("proc f(x: float): float {.exportc.} = y\n", "undeclared identifier: 'y'", "nim"),
    ".mlir": ("func.func @f(%x: f64) -> f64 { return %y : f64 }\n", "undeclared SSA value name", "mlir-22-tools"),
}


@pytest.mark.parametrize("suffix", BROKEN)
def test_the_compilers_words(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require(f"a{suffix}")
    text, words, package = BROKEN[suffix]
    path = tmp_path / f"bad{suffix}"
    path.write_text(text)
    with pytest.raises(CompilerError, match=words):
        llgrad.load(path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match="there is no") as caught:
        llgrad.load(path)
    assert package in caught.value.fix


def test_d(tmp_path: Path) -> None:
    require("a.d")
    path = tmp_path / "a.d"
    path.write_text(
        "struct P { double x; double y; }\n"
        "private T twice(T)(T v) { return 2 * v; }\n"
        "double f(ref P p, const(double)* v, double k) { return p.x * v[0] * k + twice(p.y) * v[1]; }\n"
    )
    lib = llgrad.load(path)
    assert str(lib.f.signature) == "double f(P * p, const(double)* v, double k)"
    p = np.zeros(1, lib.f.signature.parameters[0].type.dtype)
    p["x"], p["y"] = 3.0, 5.0
    dp, dv, dk = llgrad.grad(lib.f, wrt=("p", "v", "k"))(p, X, 0.5)
    np.testing.assert_allclose([dp["x"][0], dp["y"][0]], [X[0] / 2, 2 * X[1]], rtol=1e-14)
    np.testing.assert_allclose(dv, [1.5, 10.0, 0.0], rtol=1e-14)
    assert dk == pytest.approx(2.1)


def test_slices_as_parameters_in_d(tmp_path: Path) -> None:
    """From Python, and from another file, which knows a slice as one value."""
    require("a.d")
    path, other = tmp_path / "a.d", tmp_path / "b.d"
    path.write_text(
        "double dot(const double[] a, const double[] b) { double s = 0; foreach (i, v; a) s += v * b[i]; return s; }\n"
        "extern(C) double both(double[] x, const double[] y, double k)\n"
        "{ double s = k; foreach (v; x[1 .. $]) s *= v; return s + dot(x[0 .. 2], y[$ - 2 .. $]); }\n"
        "extern(C) void scale(double[] x, float k) { x[] *= k; x[0] += x[1]; }\n"
        "extern(C) double volumes(const(double[3])[] x)\n"
        "{ double s = 0; foreach (r; x) s += r[0] * r[1] * r[2]; return s; }\n"
    )
    other.write_text(
        "extern(C) double both(double[] x, const double[] y, double k);\n"
        "extern(C) double outer(double* p, size_t n) { return both(p[0 .. n], p[0 .. n], 2.0) * p[0]; }\n"
    )
    lib = llgrad.load([path, other])
    assert str(lib.both.signature) == "double both(double[] x, const(double[]) y, double k)"
    y = X * 2 + 1
    truth = differences(lambda v: lib.both(*v), [X, y, 0.5])
    for found, difference in zip(llgrad.grad(lib.both, wrt=("x", "y", "k"))(X, y, 0.5), truth, strict=True):
        np.testing.assert_allclose(found, difference, rtol=1e-7)
    np.testing.assert_allclose(llgrad.grad(lib.dot)(X, y)[0], y)
    _, (dx, dk) = llgrad.vjp(lib.scale, wrt=("x", "k"), of="x")(X.copy(), 0.5, seed=np.ones(len(X)))
    np.testing.assert_allclose(dx, 0.5 + 0.5 * (np.arange(len(X)) == 1))
    assert dk == pytest.approx(X.sum() + X[1], rel=1e-6)
    value, found = llgrad.value_and_grad(lib.volumes, wrt="x")(np.arange(1.0, 7.0).reshape(2, 3))
    assert value == 126 and found.tolist() == [[6, 3, 2], [30, 24, 20]]
    truth = differences(lambda v: lib.outer(v[0], len(X)), [X])[0]
    np.testing.assert_allclose(llgrad.grad(lib.outer, wrt="p")(X, len(X)), truth, rtol=1e-7)


def test_variables_of_modules_in_d(tmp_path: Path) -> None:
    """Each thread has its own: constant where nobody sets them, otherwise refused."""
    require("a.d")
    path = tmp_path / "a.d"
    path.write_text(
        "double scale = 2.0;\ndouble[3] weights = [1.0, 2.0, 3.0];\ndouble set = 1.0;\n"
        "extern(C) double f(const double[] x)\n"
        "{ double s = 0; foreach (i, v; x) s += v * v * scale * weights[i % 3]; return s; }\n"
        "extern(C) double g(double x) { return set * x; }\nextern(C) void put(double v) { set = v; }\n"
    )
    lib = llgrad.load(path)
    gradient = llgrad.grad(lib.f)
    np.testing.assert_allclose(gradient(X), 4 * X * [1, 2, 3], rtol=1e-14)
    assert "thread_local" not in gradient.ir
    with pytest.raises(UnsupportedError, match="thread-local variable"):
        llgrad.grad(lib.g)


def test_upper_halves_of_registers_in_d(tmp_path: Path) -> None:
    """Structs that are handed on as a double, twice, of which only the upper half is looked at."""
    require("a.d")
    path = tmp_path / "a.d"
    path.write_text(
        "struct Two { float a = 0, b = 0; }\nstruct Mixed { double a = 0; float b = 0; }\n"
        "pragma(inline, false) double two(Two s, Two t) { return s.b * t.b; }\n"
        "pragma(inline, false) double mixed(Mixed s, Mixed t) { return s.b * t.b; }\n"
        "extern(C) double f(const double[] x) { Two p = Two(x[0], x[1]); return two(p, p) * x[2]; }\n"
        "extern(C) double g(const double[] x) { Mixed p = Mixed(x[0], x[1]); return mixed(p, p) * x[2]; }\n"
    )
    lib, wanted = llgrad.load(path), [0, 2 * X[1] * X[2], X[1] ** 2]
    for f in (lib.f, lib.g):
        np.testing.assert_allclose(llgrad.grad(f)(X)[:3], wanted, rtol=1e-6)
    with pytest.raises(KindError, match="floats of another format|may be an active float|a part of a float"):
        llgrad.grad(llgrad.load(path, optimize=0).g)  # two such doubles were added, whose bits are floats


def test_copies_of_slices_in_d(tmp_path: Path) -> None:
    require("a.d")
    path = tmp_path / "a.d"
    path.write_text(
        "extern(C) double f(size_t n, const(double)* p) {\n  auto x = p[0 .. n];\n  double[3] a = x[0 .. 3], b;\n"
        "  b[] = a[] * 2 + a[0];\n  a[] = a[] * b[];\n  double[3] c;\n  c[] = a[];\n"
        "  double s = 0;\n  foreach (i, v; c) s += v * (i + 1);\n  return s;\n}\n"
    )
    (tmp_path / "constants.d").write_text("module constants;\nenum k = 2;\n")
    f = llgrad.load([tmp_path / "constants.d", path]).f  # the runtime's bodies are linked after both
    truth = differences(lambda v: f(*v), [3, X])[1]
    np.testing.assert_allclose(llgrad.grad(f, wrt="p")(3, X), truth, rtol=1e-8)


D_PROGRAM = """
import std.math;
import core.stdc.stdlib : free, realloc;
struct Buffer {
  double* p; size_t n, room;
  @disable this(this);
  void put(double v) {
    if (n == room) { room = room ? 2 * room : 2; p = cast(double*) realloc(p, room * 8); }
    p[n++] = v;
  }
  ~this() { free(p); }
}
extern(C) double grown(const double[] x) {
  Buffer b;
  foreach (v; x) { b.put(v * v); if (v > 0) b.put(v); }
  double s = 1;
  foreach (v; b.p[0 .. b.n]) s *= v;
  return s;
}
extern(C) double maths(const double[] x) {
  real r = sin(x[0]) + atan2(x[1], x[2]) + hypot(x[0], x[1]) + pow(x[2], 2.5) + x[0] ^^ 3;
  return r * exp(x[1]) + cbrt(x[2]) + log1p(x[0]) + fmin(x[0], x[1]) + floor(x[2]) + lround(x[0]) + ldexp(x[2], 2)
    + sin(cast(real) x[1]) + abs(x[1]);
}
extern(C) double closures(const double[] x) {
  double k = x[0];
  double delegate(double) scaled() { return (double v) { k += v; return k * v; }; }
  auto f = scaled();
  return f(x[1]) + f(x[2]);
}
"""


def test_methods_mathematics_and_closures_in_d(tmp_path: Path) -> None:
    """`this` is a pointer, not what it points to; Phobos' functions are libm's; closures live on the heap."""
    require("a.d")
    path = tmp_path / "a.d"
    path.write_text(D_PROGRAM)
    lib = llgrad.load(path)
    for name in ("grown", "maths", "closures"):
        f = lib[name]
        truth = differences(called(f), [X])[0]
        np.testing.assert_allclose(llgrad.grad(f, wrt="x")(X), truth, rtol=1e-8, err_msg=name)


def test_nims_open_arrays(tmp_path: Path) -> None:
    """An open array is a pointer and a length."""
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text(
        "proc total(x: openArray[float], k: float): float {.exportc.} =\n  for v in x: result += k * v * v\n"
        "proc scale(x: var openArray[float], k: float) {.exportc.} =\n  for v in x.mitems: v *= k\n"
    )
    lib = llgrad.load(path)
    dx, dk = llgrad.grad(lib.total, wrt=(0, 2))(X, len(X), 0.5)
    np.testing.assert_allclose(dx, X, rtol=1e-14)
    assert dk == pytest.approx((X * X).sum())
    _, (dx, dk) = llgrad.vjp(lib.scale, wrt=(0, 2), of=0)(X.copy(), len(X), 0.5, seed=np.ones(3))
    np.testing.assert_allclose(dx, np.full(3, 0.5), rtol=1e-14)
    assert dk == pytest.approx(X.sum())


NIM = """
import std/[math, sequtils]
type
  Shape = ref object of RootObj
    scale: float
  Disc = ref object of Shape
    r: float
  Box = ref object of Shape
    w, h: float
    held: seq[float]
method area(s: Shape): float {.base.} = 0.0
method area(s: Disc): float = 3.0 * s.r * s.r * s.scale
method area(s: Box): float = s.w * s.h * s.held[0]
let table = @[1.0, 2.0]
proc methods(x: openArray[float]): float {.exportc.} =
  var all: seq[Shape]
  all.add(Disc(scale: x[0], r: x[1]))
  all.add(Box(scale: x[2], w: x[3], h: x[4], held: @[x[5], 1.0]))
  for s in all: result += s.area * table[1]
proc grown(x: openArray[float]): float {.exportc.} =
  var s: seq[float]
  for i in 0 .. 5: s.add(x[i] * x[i])
  for v in x: s.add(v)
  for i, v in s: result += v * x[i mod 3]
proc functional(x: openArray[float]): float {.exportc.} =
  x.toSeq.mapIt(it * it).filterIt(it > 0.5).foldl(a * b)
proc edges(x: openArray[float]): float {.exportc.} =
  var all = newSeq[seq[tuple[cost: float, node: int]]](5)
  for i in 0 ..< 5: all[i].add (cost: exp(x[i mod x.len]), node: i)
  for some in all:
    for (c, n) in some: result += c * float(n)
"""


def test_nims_sequences_and_methods(tmp_path: Path) -> None:
    """What grows by elements; objects whose methods and destructors the program chooses; code at the top level.

    nim's C reads sequences in sequences as two types, which clang may tell apart unless told not to.
    """
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text(NIM)
    lib = llgrad.load(path)
    x = np.array([0.9, 1.3, -0.8, 1.1, 0.4, 1.7])
    assert lib.methods(x, 6) == pytest.approx(2 * (3 * x[1] ** 2 * x[0] + x[3] * x[4] * x[5]))
    assert llgrad.value_and_grad(lib.edges, wrt="x")(x, 6)[0] == pytest.approx(np.exp(x[:5]) @ np.arange(5))
    for name in ("methods", "grown", "functional", "edges"):
        f = lib[name]
        truth = differences(called(f), [x, 6])[0]
        np.testing.assert_allclose(llgrad.grad(f, wrt="x")(x, 6), truth, rtol=1e-8, atol=1e-10, err_msg=name)


LAYERS = """
import std/math
proc layers(x: openArray[float]): float {.exportc.} =
  var all: seq[proc(v: float): float]
  for i in 0 .. 2:
    let k = x[i]
    all.add (if i mod 2 == 0: (proc(v: float): float = tanh(v + k)) else: (proc(v: float): float = v * k))
  result = 1.0
  for layer in all: result = layer(result)
"""


def test_nims_sequences_of_closures(tmp_path: Path) -> None:
    """A closure is called with its environment or without; no function here takes what is passed without."""
    require("a.nim")
    path = tmp_path / "a.nim"
    path.write_text(LAYERS)
    f = llgrad.load(path).layers
    truth = differences(lambda v: f(*v), [X, 3])[0]
    np.testing.assert_allclose(llgrad.grad(f, wrt="x")(X, 3), truth, rtol=1e-8)


def test_memrefs(tmp_path: Path) -> None:
    require("a.mlir")
    path = tmp_path / "a.mlir"
    path.write_text(
        "func.func @f(%x: memref<?xf64, strided<[?], offset: ?>>, %out: memref<1xf64>) {\n"
        "  %c1 = arith.constant 1 : index\n  %c0 = arith.constant 0 : index\n"
        "  %a = memref.load %x[%c1] : memref<?xf64, strided<[?], offset: ?>>\n  %b = arith.mulf %a, %a : f64\n"
        "  memref.store %b, %out[%c0] : memref<1xf64>\n  return\n}\n"
    )
    df = llgrad.value_and_grad(llgrad.load(path).f, wrt="x", of="out")
    for view in (X, X[::-1], X[::2]):
        value, dx = df(view, np.zeros(1))
        assert value == view[1] ** 2
        assert np.array_equal(dx, [0, 2 * view[1], 0][: len(view)])
    with pytest.raises(ArgumentError, match="dimensions"):
        df(np.eye(2), np.zeros(1))


RESULTS = """
func.func @outer(%x: memref<3xf64>, %k: f64) -> (memref<3x3xf64>, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = memref.alloc() : memref<3x3xf64>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c3, %c3) step (%c1, %c1) {
    %a = memref.load %x[%i] : memref<3xf64>
    %b = memref.load %x[%j] : memref<3xf64>
    %p = arith.mulf %a, %b : f64
    %q = arith.mulf %p, %k : f64
    memref.store %q, %m[%i, %j] : memref<3x3xf64>
    scf.reduce
  }
  %s = math.exp %k : f64
  return %m, %s : memref<3x3xf64>, f64
}
func.func @sines(%x: tensor<4xf64>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %r = linalg.map ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) (%a: f64, %b: f64) {
    %s = math.sin %a : f64
    linalg.yield %s : f64
  }
  return %r : tensor<4xf64>
}
func.func @grown(%n: index, %k: f64) -> (memref<?x?xf64>) {
  %m = memref.alloc(%n, %n) : memref<?x?xf64>
  linalg.fill ins(%k : f64) outs(%m : memref<?x?xf64>)
  return %m : memref<?x?xf64>
}
func.func @products(%x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %r = linalg.mul ins(%x, %y : tensor<?xf64>, tensor<?xf64>) outs(%x : tensor<?xf64>) -> tensor<?xf64>
  return %r : tensor<?xf64>
}
func.func @unranked(%n: index) -> memref<*xf64> {
  %m = memref.alloc(%n) : memref<?xf64>
  %u = memref.cast %m : memref<?xf64> to memref<*xf64>
  return %u : memref<*xf64>
}
"""


ELEMENTS = """
func.func @f(%a: tensor<3x4xf64>, %x: tensor<4xf64>) -> f64 {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<3xf64>) -> tensor<3xf64>
  %y = linalg.matvec ins(%a, %x : tensor<3x4xf64>, tensor<4xf64>) outs(%f : tensor<3xf64>) -> tensor<3xf64>
  %t = math.tanh %y : tensor<3xf64>
  %s = arith.mulf %t, %y : tensor<3xf64>
  %g = tensor.empty() : tensor<f64>
  %h = linalg.fill ins(%z : f64) outs(%g : tensor<f64>) -> tensor<f64>
  %q = linalg.dot ins(%s, %t : tensor<3xf64>, tensor<3xf64>) outs(%h : tensor<f64>) -> tensor<f64>
  %r = tensor.extract %q[] : tensor<f64>
  return %r : f64
}
func.func @g(%a: memref<8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f64
  %v = vector.transfer_read %a[%c0], %pad : memref<8xf64>, vector<8xf64>
  %w = vector.shape_cast %v : vector<8xf64> to vector<2x4xf64>
  %t = vector.transpose %w, [1, 0] : vector<2x4xf64> to vector<4x2xf64>
  %e = math.exp %t : vector<4x2xf64>
  %x = vector.extract %e[1] : vector<2xf64> from vector<4x2xf64>
  %y = vector.extract %e[2] : vector<2xf64> from vector<4x2xf64>
  %m = arith.mulf %x, %y : vector<2xf64>
  %r = vector.reduction <add>, %m : vector<2xf64> into f64
  return %r : f64
}
"""


def test_layouts_that_memrefs_fix(tmp_path: Path) -> None:
    """Lengths and strides of the type are constants of the code: an array that has others is no such memref."""
    require("a.mlir")
    path, body = tmp_path / "a.mlir", ""
    for name, t in (("f", "memref<2x3xf64>"), ("g", "memref<?x?xf64, strided<[?, 1]>>")):
        body += (
            f"func.func @{name}(%x: {t}) -> f64 {{\n  %i = arith.constant 1 : index\n  %j = arith.constant 2 : index\n"
            f"  %v = memref.load %x[%i, %j] : {t}\n  %w = arith.mulf %v, %v : f64\n  return %w : f64\n}}\n"
        )
    path.write_text(body)
    lib, whole = llgrad.load(path), np.arange(24.0).reshape(4, 6)
    assert llgrad.value_and_grad(lib.f, wrt="x")(np.arange(6.0).reshape(2, 3))[0] == 25.0
    with pytest.raises(ArgumentError, match="has length 3 along axis 0, not 2"):
        lib.f(np.ones((3, 2)))
    value, found = llgrad.value_and_grad(lib.g, wrt="x")(whole[::2, 1:])
    assert value == whole[2, 3] ** 2 and found.sum() == found[1, 2] == 2 * whole[2, 3]
    for view in (whole[:, ::2], whole.T):
        with pytest.raises(ArgumentError, match="has stride .* along axis 1, not 1"):
            llgrad.grad(lib.g, wrt="x")(view)
    moved = "memref<?xf64, strided<[1], offset: 2>>"
    load = f"  %v = memref.load %x[%i] : {moved}\n  return %v : f64\n"
    path.write_text(f"func.func @f(%x: {moved}, %i: index) -> f64 {{\n{load}}}\n")
    with pytest.raises(ArgumentError, match="f takes 6 arguments"):  # no array begins elsewhere than where it is
        llgrad.load(path).f(np.ones(3), 0)


def test_strides_in_another_process(tmp_path: Path) -> None:
    require("a.mlir")
    path, t = tmp_path / "a.mlir", "memref<?xf64, strided<[?], offset: ?>>"
    path.write_text(
        f"func.func @f(%x: {t}, %y: {t}, %k: index) {{\n  %v = memref.load %x[%k] : {t}\n"
        f"  %w = arith.mulf %v, %v : f64\n  memref.store %w, %y[%k] : {t}\n  return\n}}\n"
    )
    f, whole = llgrad.load(path, isolate=True).f, np.arange(1.0, 10.0)
    for view in (whole[::2], whole[::-1], whole[::-3]):
        y = np.zeros(9)
        _, found = llgrad.vjp(f, wrt="x", of="y")(view, y[8::-2], 1, seed=np.ones(5))
        assert found.tolist() == [2 * v if n == 1 else 0 for n, v in enumerate(view)]
        assert y.tolist() == [0, 0, 0, 0, 0, 0, view[1] ** 2, 0, 0]


def test_mlirs_elements_of_tensors_and_vectors(tmp_path: Path) -> None:
    """`arith` and `math` on whole tensors, and vectors of vectors, which are made of values that are not set."""
    require("a.mlir")
    path = tmp_path / "a.mlir"
    path.write_text(ELEMENTS)
    lib = llgrad.load(path)
    a, x, v = np.linspace(-1, 1, 12).reshape(3, 4), np.linspace(0.2, 1.1, 4), np.linspace(0.1, 0.9, 8)
    da, dx = llgrad.grad(lib.f, wrt=("a", "x"))(a, x)
    truth = differences(lambda v: lib.f(*v), [a, x])
    np.testing.assert_allclose(da, truth[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(dx, truth[1], rtol=1e-7, atol=1e-9)
    terms = np.exp(v[1] + v[2]), np.exp(v[5] + v[6])
    expected = [0, terms[0], terms[0], 0, 0, terms[1], terms[1], 0]
    np.testing.assert_allclose(llgrad.grad(lib.g, wrt="a")(v), expected, rtol=1e-13)


def test_mlirs_results(tmp_path: Path) -> None:
    """Arrays and several results are written to further arguments; shapes that only the program knows are compared."""
    require("a.mlir")
    path = tmp_path / "a.mlir"
    path.write_text(RESULTS)
    lib = llgrad.load(path)
    assert str(lib.outer.signature).endswith("%out0: memref<3x3xf64>, %out1: memref<f64>)")
    product, power, seed = np.zeros((3, 3)), np.zeros(()), np.arange(9.0).reshape(3, 3)
    lib.outer(X, 0.5, product, power)
    np.testing.assert_allclose(product, 0.5 * np.outer(X, X))
    _, (dx, dk) = llgrad.vjp(lib.outer, wrt=("x", "k"), of="out0")(X, 0.5, product, power, seed=seed)
    np.testing.assert_allclose(dx, 0.5 * (seed + seed.T) @ X, rtol=1e-13)
    assert dk == pytest.approx(X @ seed @ X)
    assert llgrad.grad(lib.outer, wrt="k", of="out1")(X, 0.5, product, power) == pytest.approx(np.exp(0.5))
    y = np.linspace(0.1, 1, 4)
    _, dy = llgrad.vjp(lib.sines, wrt="x", of="out0")(y, np.zeros(4), seed=np.ones(4))
    np.testing.assert_allclose(dy, np.cos(y), rtol=1e-14)
    with pytest.raises(UnsupportedError, match="cannot be called from Python"):
        lib.unranked(3)
    _, dk = llgrad.vjp(lib.grown, wrt="k", of="out0")(3, 0.5, product, seed=seed)
    assert dk == seed.sum()
    _, dx = llgrad.vjp(lib.products, wrt="x", of="out0")(X, X, np.zeros(3), seed=np.ones(3))
    np.testing.assert_allclose(dx, X)
    for call in (lib.grown, llgrad.vjp(lib.grown, wrt="k", of="out0")):
        with pytest.raises(ForeignError, match="another shape"):
            call(2, 0.5, product, **({} if call is lib.grown else {"seed": seed}))


def test_tensors_that_a_switch_yields_are_refused(tmp_path: Path) -> None:
    """MLIR 22 puts others into their memory, so that the function itself is wrong."""
    require("a.mlir")
    path = tmp_path / "a.mlir"
    path.write_text(
        "func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>, %i: index) -> tensor<2xf64> {\n"
        "  %r = scf.index_switch %i -> tensor<2xf64>\n  case 0 { scf.yield %x : tensor<2xf64> }\n"
        "  default { scf.yield %y : tensor<2xf64> }\n  return %r : tensor<2xf64>\n}\n"
    )
    with pytest.raises(UnsupportedError, match="index_switch"):
        llgrad.load(path)


def test_signatures_of_mlir() -> None:
    text = "func.func @f(%x: memref<?xf64> {llvm.noalias}, %g: (f64) -> f64, %k: f64) -> f64 {\n}\n"
    assert '!{!"f", !"x", !"memref<?xf64>", !"g", !"(f64) -> f64", !"k", !"f64"}' in signatures(declared(text))
    assert signatures(declared("llvm.func @g()\n")) == ""


def test_one_program_of_several_languages(tmp_path: Path) -> None:
    """Fortran calls C++ calls Rust: linked first, differentiated as one program."""
    require("a.f90", "b.cpp", "c.rs")
    (tmp_path / "a.f90").write_text(
        "module outer\n  use iso_c_binding\n  interface\n    function middle(n, x) bind(c) result(r)\n"
        "      import\n      integer(c_int), value :: n\n      real(c_double), intent(in) :: x(n)\n"
        "      real(c_double) :: r\n    end function\n  end interface\ncontains\n"
        "  function total(x) result(r)\n    real(c_double), intent(in) :: x(:)\n    real(c_double) :: r\n"
        "    r = 2*middle(size(x), x**2)\n  end function\nend module\n"
    )
    (tmp_path / "b.cpp").write_text(
        '#include <vector>\nextern "C" double inner(const double *x, std::size_t n);\n'
        'extern "C" double middle(int n, const double *x) {\n  std::vector<double> v(x, x + n);\n'
        "  for (double &e : v) e = 3 * e;\n  return inner(v.data(), v.size());\n}\n"
    )
    (tmp_path / "c.rs").write_text(
        '#[no_mangle]\npub extern "C" fn inner(x: *const f64, n: usize) -> f64 {\n'
        "    unsafe { std::slice::from_raw_parts(x, n) }.iter().map(|v| v.sin()).sum()\n}\n"
    )
    lib = llgrad.load([tmp_path / n for n in ("a.f90", "b.cpp", "c.rs")], flags={"c++": ["-std=c++17"]})
    np.testing.assert_allclose(llgrad.grad(lib.total, wrt="x")(X), 12 * X * np.cos(3 * X**2), rtol=1e-13)
    with pytest.raises(ArgumentError, match="several languages"):
        llgrad.load([tmp_path / n for n in ("a.f90", "b.cpp", "c.rs")], flags=["-O1"])


def test_every_language_has_a_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "languages.md").read_text()
    for language in LANGUAGES:
        assert all(f"`{suffix}`" in page.lower() for suffix in language.suffixes), language.name


EQUALITY = {
    "a.rs": "pub fn f(x: f64) -> f64 { if x == 3.0 { x * x } else { 0.0 } }\n",
    "a.f90": "function f(x) result(r)\n  real(8), intent(in) :: x\n  real(8) :: r\n  r = 0\n"
    "  if (x == 3.0d0) r = x*x\nend function\n",
    "a.zig": "export fn f(x: f64) f64 { return if (x == 3.0) x * x else 0; }\n",
    "a.d": "extern(C) double f(double x) { return x == 3.0 ? x * x : 0; }\n",
    "a.nim": "proc f(x: float): float {.exportc.} = (if x == 3.0: x * x else: 0.0)\n",
}


@pytest.mark.parametrize("name", EQUALITY)
def test_no_optimiser_puts_constants_in(name: str, tmp_path: Path) -> None:
    """What is differentiated was not optimised by the compiler: the derivative at 3 is that of x * x."""
    require(name)
    path = tmp_path / name
    path.write_text(EQUALITY[name])
    assert llgrad.grad(llgrad.load(path).f, wrt="x")(3.0) == 6.0


TENSORS = """
func.func @scaled(%x: tensor<?xf64>, %k: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<?xf64>) {
    %v = tensor.extract %t[%i] : tensor<?xf64>
    %w = arith.mulf %v, %k : f64
    %u = tensor.insert %w into %t[%i] : tensor<?xf64>
    scf.yield %u : tensor<?xf64>
  }
  %a = tensor.extract %x[%c1] : tensor<?xf64>
  %b = tensor.extract %y[%c1] : tensor<?xf64>
  %r = arith.mulf %a, %b : f64
  return %r : f64
}
func.func @copied(%x: memref<4x3xf64>, %out: memref<2x3xf64>) {
  %sub = memref.subview %x[1, 0] [2, 3] [2, 1] : memref<4x3xf64> to memref<2x3xf64, strided<[6, 1], offset: 3>>
  %t = memref.alloc() : memref<2x3xf64>
  memref.copy %sub, %t : memref<2x3xf64, strided<[6, 1], offset: 3>> to memref<2x3xf64>
  linalg.mul ins(%t, %t : memref<2x3xf64>, memref<2x3xf64>) outs(%out : memref<2x3xf64>)
  memref.dealloc %t : memref<2x3xf64>
  return
}
"""


def test_tensors_from_python(tmp_path: Path) -> None:
    """A tensor is a value: the array passed stays as it is. What the source frees is freed once; views are copied."""
    require("a.mlir")
    path = tmp_path / "a.mlir"
    path.write_text(TENSORS)
    lib = llgrad.load(path)
    x = X.copy()
    dx, dk = llgrad.grad(lib.scaled, wrt=("x", "k"))(x[::-1], 0.5)
    assert np.array_equal(x, X)
    np.testing.assert_allclose(dx, [0.0, X[1], 0.0], rtol=1e-14)
    assert dk == pytest.approx(X[1] ** 2)
    a = np.arange(12.0).reshape(4, 3)
    _, da = llgrad.vjp(lib.copied, wrt="x", of="out")(a, np.zeros((2, 3)), seed=np.ones((2, 3)))
    np.testing.assert_allclose(da, 2 * a * [[0], [1], [0], [1]], rtol=1e-14)
