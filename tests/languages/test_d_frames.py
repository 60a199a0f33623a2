"""D: variables that nested functions use lie in one frame, arrays among them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import called, differences

import llgrad
from llgrad.frontends.d.nested_frames import with_arrays_apart

X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9, 0.5])
PROGRAM = """
import std.algorithm, std.range, std.math;
extern(C) double sums(const double[] x) {
  double s = 0; foreach (w; x.chunks(4)) s += w.sum * w[0];
  return s + x.map!(v => exp(v)).sum; }
extern(C) double around(const double[] x) {
  double[4] kept = 0; size_t at = 0; double scale = x[1];
  void put(double v) { kept[at] += v * scale; at = (at + 1) % 4; }
  foreach (v; x) put(v * v);
  double s = 0; foreach (i, v; kept) s += v * v * i + at; return s; }
extern(C) double within(const double[] x) {
  double[3][2] grid = 0; int n = 0;
  void outer(double v) {
    double[2] mine = 0; int m = 0;
    void inner(double w) { mine[m] += w; grid[m][n] += w * mine[0]; m = 1 - m; }
    inner(v); inner(v * v); inner(1.0);
    n = (n + 1) % 3; }
  foreach (v; x) outer(v);
  double s = 0; foreach (ref r; grid) foreach (i, v; r) s += v * v * (i + 1); return s; }
"""


@pytest.mark.parametrize("flags", [(), ("-O0",)], ids=["optimised", "-O0"])
def test_arrays_of_frames(flags: tuple[str, ...], tmp_path: Path) -> None:
    """The element at an index that only the program knows was taken for the number behind the array."""
    require("a.d")
    path = tmp_path / "a.d"
    path.write_text(PROGRAM)
    lib = llgrad.load(path, flags=list(flags))
    for f in (lib.sums, lib.around, lib.within):
        gradient = llgrad.grad(f, wrt="x")(X)
        np.testing.assert_allclose(gradient, differences(called(f), [X])[0], rtol=1e-7)
        assert llgrad.jvp(f, wrt="x")(X, tangents=X)[1] == pytest.approx(gradient @ X, rel=1e-12)


FRAME = """%nest.f = type {{ i64, [4 x double] }}
define void @f() {{
  %.frame = {made}
  %a = getelementptr inbounds %nest.f, {pointer} %.frame, i32 0, i32 1 ; its uses
  ret void
}}
"""


@pytest.mark.parametrize(("pointer", "byte"), [("%nest.f*", "i8*"), ("ptr", "ptr")])
def test_frames_of_closures_stay(pointer: str, byte: str) -> None:
    """A frame on the heap outlives the function, and so would have to do its arrays."""
    made = with_arrays_apart(FRAME.format(made="alloca %nest.f, align 8", pointer=pointer))
    assert f"%nest.f = type {{ i64, {byte} }}" in made and "alloca [4 x double]" in made and "%llgrad.at.a.raw" in made
    cast = "call ptr @_d_allocmemory(i64 40)" if byte == "ptr" else "bitcast i8* %.gc_mem to %nest.f*"
    closure = FRAME.format(made=cast, pointer=pointer)
    assert with_arrays_apart(closure) == closure
