"""Zig's `f16`, `f80`, `f128` and `c_longdouble`: as locals, in memory, in `std.math`, between Zig and C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import called, differences

import llgrad
from llgrad.errors import ArgumentError, LlgradError, UnsupportedError

EXPRESSIONS = {
    "arithmetic": "a * b + a / b - @sqrt(a)",
    "functions": "@sin(a) * @cos(b) + @tan(a) + @exp(a) * @exp2(b) + @log(a) + @log2(b) * @log10(b)",
    "steps": "@floor(b * 1.5) * a + @ceil(a) * b + @round(a) * b + @trunc(b) * a + @abs(a) * b",
    "choices": "@min(a, b) * @max(a, 2 * b) + @mulAdd(@TypeOf(a), a, b, a) + m.clamp(a * b, 0.1, 5)",
    "remainders": "@rem(a, b) * a + @mod(a * 3, b) + m.modf(a).fpart * b + m.lerp(a, b, 0.25)",
    "signs": "m.copysign(a, -b) * b + m.sign(a) * b + if (m.signbit(a)) b else a * a",
    "lengths": "m.hypot(a, b) * m.degreesToRadians(a)",
}
BITS = "m.frexp(a).significand * b + m.ldexp(a, 3) + m.nextAfter(@TypeOf(a), a * b, b)"
X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])
STORED = """
fn stored(comptime T: type, n: usize, x: [*]const f64) f64 {
    const Node = struct { k: u32, v: T, next: ?*@This() };
    var list: std.ArrayList(T) = .empty;
    defer list.deinit(std.heap.c_allocator);
    var head: ?*Node = null;
    for (x[0..n], 0..) |v, i| {
        list.append(std.heap.c_allocator, @floatCast(v)) catch unreachable;
        const node = std.heap.c_allocator.create(Node) catch unreachable;
        node.* = .{ .k = @intCast(i), .v = @floatCast(v * v), .next = head };
        head = node;
    }
    if (n > 1) std.mem.swap(T, &list.items[0], &list.items[n - 1]);
    var v: @Vector(2, T) = .{ list.items[0], list.items[1] };
    v = v * v + v;
    var s: T = @reduce(.Add, v);
    for (list.items, 0..) |w, i| s += w * w * @as(T, @floatFromInt(i));
    while (head) |h| : (head = h.next) s = s * h.v + @as(T, @floatFromInt(h.k));
    return @floatCast(s);
}
"""


@pytest.mark.parametrize(("mode", "level"), [("ReleaseFast", 2), ("ReleaseFast", 0), ("Debug", 0)])
@pytest.mark.parametrize("t", ["f16", "f80", "f128", "c_longdouble"])
def test_locals_and_memory(t: str, mode: str, level: int, tmp_path: Path) -> None:
    require("a.zig")
    more = {} if t in ("f16", "c_longdouble") else {"bits": BITS}
    path = tmp_path / "a.zig"
    path.write_text(
        'const std = @import("std");\nconst m = std.math;\n' + STORED
        + f"export fn in_memory(n: usize, x: [*]const f64) f64 {{ return stored({t}, n, x); }}\n"
        + "".join(
            f"export fn {name}(x: f64, y: f64) f64 {{\n    const a: {t} = @floatCast(x);\n"
            f"    const b: {t} = @floatCast(y);\n    return @floatCast({e});\n}}\n"
            for name, e in (EXPRESSIONS | more).items() if not (t == "c_longdouble" and "m." in e)
        )
    )  # fmt: skip
    lib = llgrad.load(path, optimize=level, flags=["-O", mode])
    short = t == "f16"
    for name in EXPRESSIONS | more:
        if t == "c_longdouble" and "m." in EXPRESSIONS[name]:
            continue
        found = llgrad.grad(lib[name])(0.73, 1.31)
        wide = _doubles(tmp_path)[name] if short else lib[name]  # eleven bits are no use to differences
        truth = differences(called(wide), [0.73, 1.31])
        np.testing.assert_allclose(found, truth, rtol=0.02 if short else 1e-8, atol=0.01 if short else 0)
    wide = _doubles(tmp_path).in_memory if short else lib.in_memory
    truth = differences(lambda v: wide(len(X), v[0]), [X])[0]
    found = llgrad.grad(lib.in_memory)(len(X), X)
    np.testing.assert_allclose(found, truth, rtol=0.02 if short else 1e-8, atol=0.02 if short else 0)


def _doubles(folder: Path) -> llgrad.Library:
    """The same with `f64`."""
    path = folder / "doubles.zig"
    path.write_text((folder / "a.zig").read_text().replace("f16", "f64"))
    return llgrad.load(path)


ZIG = """
export fn z_long(a: f80, b: c_longdouble) f80 { return a * b + @sqrt(a); }
export fn z_quad(a: f128, b: f128) f128 { return a * b + a / b; }
export fn z_half(a: f16) f16 { return a * a; }
export fn halves(n: usize, x: [*]const f16) f64 { var s: f64 = 0; for (x[0..n]) |v| s += @as(f64, v) * v; return s; }
export fn longs(n: usize, x: [*]const f80) f80 { var s: f80 = 0; for (x[0..n]) |v| s += v * v; return s; }
export fn quads(n: usize, x: [*]const f128) f64 { var s: f128 = 0; for (x[0..n]) |v| s += v * v; return @floatCast(s); }
extern fn from_long(k: c_int, a: f80, b: *const f80) f80;
extern fn from_quad(a: f128) f128;
export fn from_c(x: f64) f64 {
    const a: f80 = @floatCast(x);
    return @floatCast(from_long(3, a, &a) * from_long(2, a * a, &a));
}
export fn quad_from_c(x: f64) f64 { return @floatCast(from_quad(@floatCast(x))); }
"""
C = """
long double z_long(long double, long double);
__float128 z_quad(__float128, __float128);
_Float16 z_half(_Float16);
long double from_long(int k, long double a, const long double *b) { return k * a * *b; }
__float128 from_quad(__float128 a) { return a * a * a; }
double from_zig(double x, double y) { return z_long(x, y) + z_long(y, x * y); }
double quad_from_zig(double x, double y) { return z_quad(x, y); }
double half_from_zig(double x) { return z_half(x); }
"""


@pytest.mark.parametrize(("mode", "level"), [("ReleaseFast", 2), ("Debug", 0)])
def test_between_languages(mode: str, level: int, tmp_path: Path) -> None:
    """An `f80` that Zig passes `byval` and C as a value was a derivative of zero, or ended the process."""
    require("a.zig", "a.c")
    (tmp_path / "a.zig").write_text(ZIG)
    (tmp_path / "b.c").write_text(C)
    lib = llgrad.load([tmp_path / "a.zig", tmp_path / "b.c"], optimize=level, flags={"zig": ["-O", mode]})
    for name, arguments in (
        ("from_zig", (0.7, 1.3)),
        ("quad_from_zig", (0.7, 1.3)),
        ("from_c", (0.7,)),
        ("quad_from_c", (0.7,)),
    ):
        truth = differences(called(lib[name]), list(arguments))
        np.testing.assert_allclose(llgrad.grad(lib[name], wrt=range(len(truth)))(*arguments), truth, rtol=1e-8)
    if level:
        assert llgrad.grad(lib.half_from_zig)(0.7) == 2 * np.float16(0.7)
    else:
        with pytest.raises(LlgradError):  # zig passes it within a double
            llgrad.grad(lib.half_from_zig)(0.7)


def test_from_python(tmp_path: Path) -> None:
    """NumPy's `longdouble` is no `f128`, whose bits it was taken for."""
    require("a.zig")
    (tmp_path / "a.zig").write_text(ZIG.partition("extern")[0])
    lib = llgrad.load(tmp_path / "a.zig")
    x, y = np.longdouble(1) / 3, np.longdouble(2) / 7
    da, db = llgrad.grad(lib.z_long)(x, y)
    assert abs(da - (y + 1 / (2 * np.sqrt(x)))) < 1e-18 and db == x
    np.testing.assert_array_equal(llgrad.grad(lib.longs)(2, np.array([x, y])), [2 * x, 2 * y])
    np.testing.assert_array_equal(llgrad.grad(lib.halves)(2, np.array([0.5, 3], np.float16)), [1, 6])
    with pytest.raises(ArgumentError, match="NumPy has none for f128"):
        lib.quads(2, np.array([x, y]))
    assert lib.quads(0, np.zeros(32, np.uint8)) == 0
    with pytest.raises(UnsupportedError, match=r"a\.zig:3: fn z_quad\(a: f128"):
        llgrad.grad(lib.z_quad)(0.5, 0.5)
    with pytest.raises(UnsupportedError, match=r"a\.zig:4: fn z_half\(a: f16"):
        llgrad.grad(lib.z_half)(0.5)
