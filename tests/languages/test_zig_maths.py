"""Zig's `std.math`, in both precisions and all of its optimisation modes: values and derivatives against mpmath's."""

from __future__ import annotations

from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from compilers import require

import llgrad

REAL = "sinh cosh tanh tan asinh atanh expm1 log1p exp sqrt cbrt"
COMPLEX = "exp log sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh conj"
FUNCTIONS = {  # in Zig, of x of type T, and in mpmath
    **{f"m.{n}(x)": getattr(mp, n) for n in REAL.split()},
    "m.asin(x)": mp.asin, "m.acos(x)": mp.acos, "m.atan(x)": mp.atan, "m.acosh(x + 1)": lambda x: mp.acosh(x + 1),
    "m.exp2(x)": lambda x: 2**x, "m.log2(x)": lambda x: mp.log(x, 2), "m.log10(x)": mp.log10,
    "m.log(T, 3, x)": lambda x: mp.log(x, 3), "m.gamma(T, x)": mp.gamma, "m.lgamma(T, x)": mp.loggamma,
    "m.pow(T, x, 2.5)": lambda x: x**2.5, "m.pow(T, x, x)": lambda x: x**x, "m.pow(T, -x, 3)": lambda x: -(x**3),
    "m.atan2(x, 2)": lambda x: mp.atan2(x, 2), "m.atan2(x * x, x)": lambda x: mp.atan(x),
    "m.hypot(x, 2)": lambda x: mp.hypot(x, 2), "m.hypot(x * x, x)": lambda x: mp.hypot(x * x, x),
    "m.modf(x * 5).fpart * x": lambda x: mp.frac(x * 5) * x, "m.modf(x * 5).ipart * x": lambda x: mp.floor(x * 5) * x,
    "m.frexp(x * 9).significand * x": lambda x: mp.frexp(x * 9)[0] * x,
    "@as(T, @floatFromInt(m.frexp(x / 9).exponent)) * x": lambda x: mp.frexp(x / 9)[1] * x,
    "m.ldexp(x * x, 3)": lambda x: 8 * x * x, "m.scalbn(x, -2 - @as(i32, @intFromFloat(x)))": lambda x: x / 4,
    "@as(T, @floatFromInt(m.ilogb(x * 9))) * x": lambda x: (mp.frexp(x * 9)[1] - 1) * x,
    "m.nextAfter(T, x * x, 9)": lambda x: x * x, "m.copysign(x * x, -x)": lambda x: -x * x,
    "m.complex.abs(z)": mp.fabs, "m.complex.arg(z)": mp.arg,
    **{f"c(m.complex.{n}(z))": (lambda z, n=n: getattr(mp, n)(z)) for n in COMPLEX.split()},
    "c(m.complex.pow(z, @TypeOf(z).init(1.5, 0.5)))": lambda z: z ** mp.mpc(1.5, 0.5),
    "c(z.mul(.init(x, 1)).div(.init(2, x)))": lambda z: z * mp.mpc(z.real, 1) / mp.mpc(2, z.real),
}  # fmt: skip
HEAD = """
const std = @import("std");
const m = std.math;
fn c(z: anytype) @TypeOf(z.re) {
    return z.re * 1.5 + z.im;
}
fn all(comptime T: type, x: T, out: [*]T) void {
    const z: m.Complex(T) = .init(x, 1.5 * x);
"""
TAIL = """}
export fn doubles(x: f64, out: [*]f64) void { all(f64, x, out); }
export fn singles(x: f32, out: [*]f32) void { all(f32, x, out); }
"""


def _truth(source: str, x: mp.mpf) -> mp.mpf:
    """The function in mpmath; that of a complex number gives what `c` makes of it."""
    if "z" not in source:
        return FUNCTIONS[source](x)
    w = FUNCTIONS[source](mp.mpc(x, 1.5 * x))
    return w.real * 1.5 + w.imag if source.startswith("c(") else w


@pytest.mark.parametrize("mode", ["ReleaseFast", "ReleaseSmall", "ReleaseSafe", "Debug"])
def test_functions(mode: str, tmp_path: Path) -> None:
    require("a.zig")
    path = tmp_path / "a.zig"
    path.write_text(HEAD + "".join(f"    out[{n}] = {f};\n" for n, f in enumerate(FUNCTIONS)) + TAIL)
    lib = llgrad.load(path, flags=["-O", mode])
    names, x = list(FUNCTIONS), 0.37
    values = [float(_truth(f, mp.mpf(x))) for f in names]
    slopes = [float(mp.diff(lambda v, f=f: _truth(f, v), x)) for f in names]
    for function, t, near in ((lib.doubles, np.float64, 1e-11), (lib.singles, np.float32, 5e-5)):
        out = np.zeros(len(names), t)
        function(x, out)
        _, tangent = llgrad.jvp(function, wrt="x", of="out")(x, out, tangents=1.0)
        pairs = [(out, values), (tangent, slopes)]
        if t is np.float64:
            reverse = llgrad.vjp(function, wrt="x", of="out")
            pairs.append(([reverse(x, out, seed=row)[1] for row in np.eye(len(names))], slopes))
        for found, truth in pairs:
            errors = np.abs(np.array(found) - truth) / np.maximum(1, np.abs(truth))
            assert not {names[n]: (found[n], truth[n]) for n, error in enumerate(errors) if not error < near}


def test_a_programs_own_functions_of_such_names(tmp_path: Path) -> None:
    """Zig calls them as the library's, which had libm's `pow` run in place of a program's, and its derivative."""
    require("a.zig")
    (tmp_path / "math.zig").write_text(
        "pub const own = struct {\n"
        "    pub fn pow(a: f64, b: f64) f64 { return a * b + 1; }\n"
        "    pub fn gamma(x: f64) f64 { return x * x * x; }\n};\n"
    )
    (tmp_path / "mem.zig").write_text(
        "pub fn swap(comptime T: type, a: *T, b: *T) void { a.* = 3 * b.*; b.* += a.*; }\n"
    )
    (tmp_path / "a.zig").write_text(
        'const own = @import("math.zig").own;\nconst swap = @import("mem.zig").swap;\nconst m = @import("std").math;\n'
        "export fn f(a: f64, b: f64) f64 { return own.pow(a, b) * own.gamma(a) + m.gamma(f64, b); }\n"
        "export fn g(a: f64, b: f64) f64 { var x = a; var y = b; swap(f64, &x, &y); return x * y; }\n"
    )
    lib = llgrad.load(tmp_path / "a.zig")
    assert lib.f(2.0, 3.0) == pytest.approx(58) and lib.g(2.0, 3.0) == pytest.approx(108)
    assert llgrad.grad(lib.f)(2.0, 3.0) == pytest.approx((108, 16 + 2 * float(mp.digamma(3))))
    assert llgrad.grad(lib.g)(2.0, 3.0) == pytest.approx((0, 72))
