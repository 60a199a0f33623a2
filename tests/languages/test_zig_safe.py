"""Zig built as Debug and ReleaseSafe: checks, and panics that are errors."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import called, differences

import llgrad
from llgrad.errors import ForeignError
from llgrad.frontends.zig.panics import failing

X = np.array([0.7, 0.4, 1.3, 0.2])
PROGRAM = """
const std = @import("std");
fn halves(a: std.mem.Allocator, x: []const f64) !f64 {
    var kept: std.ArrayList(f64) = .empty;
    defer kept.deinit(a);
    for (x) |v| try kept.append(a, v * v);
    var s: f64 = 0;
    while (kept.pop()) |v| s = s * 0.5 + v;
    return s;
}
export fn listed(n: usize, x: [*]f64) f64 {
    var arena = std.heap.ArenaAllocator.init(std.heap.page_allocator);
    defer arena.deinit();
    return halves(arena.allocator(), x[0..n]) catch 0;
}
const Shape = union(enum) { circle: f64, square: f64, count: u32 };
export fn chosen(n: usize, x: [*]f64) f64 {
    var s: f64 = 0;
    for (x[0..n], 0..) |v, i| {
        const t: Shape = switch (i % 3) {
            0 => .{ .circle = v }, 1 => .{ .square = v }, else => .{ .count = @intCast(i) },
        };
        s += v * switch (t) { .circle => |r| 3 * r, .square => |a| a * a, .count => |c| @as(f64, @floatFromInt(c)) };
    }
    return s;
}
export fn element(n: usize, x: [*]f64, i: usize) f64 {
    if (i == 100) @panic("a hundred is too many");
    return x[0..n][i] * x[0];
}
"""


@pytest.mark.parametrize("mode", ["Debug", "ReleaseSafe"])
def test_builds_with_checks(mode: str, tmp_path: Path) -> None:
    """What prints a panic keeps variables of threads, which were refused, and ended the process."""
    require("a.zig")
    path = tmp_path / "a.zig"
    path.write_text(PROGRAM)
    lib = llgrad.load(path, flags=["-O", mode])
    for f in (lib.listed, lib.chosen):
        truth = differences(called(partial(f, 4)), [X])[0]
        np.testing.assert_allclose(llgrad.grad(f, wrt="x")(4, X), truth, rtol=1e-8)
    derivative = llgrad.grad(lib.element, wrt="x")
    np.testing.assert_allclose(derivative(4, X, 2), [X[2], 0, X[0], 0])
    for call in (lib.element, derivative):
        for i, said in ((4, "out of bounds"), (100, "a hundred is too many")):
            with pytest.raises(ForeignError, match="panicked") as caught:
                call(4, X, i)
            assert caught.value.cause == said


def test_what_only_panics_need_is_left_out() -> None:
    text = (
        "@table = internal unnamed_addr constant { ptr } { ptr @printed }\n"
        "@stage = internal thread_local global i64 0\n"
        "define double @f(double %0) {\n"
        "  call fastcc void @\"debug.FullPanic((function 'defaultPanic')).shlOverflow\"()\n"
        "  unreachable\n}\n"
        "define internal fastcc void @\"debug.FullPanic((function 'defaultPanic')).shlOverflow\"() #0 {\n"
        "  %1 = load ptr, ptr @table\n  unreachable\n}\n"
        "define internal fastcc void @printed() {\n  store i64 1, ptr @stage\n  ret void\n}\n"
        "define internal fastcc void @debug.defaultPanic(ptr nonnull align 1 %0, i64 %1, ptr %2) #0 {\n"
        "  unreachable\n}\n"
    )
    made = failing(text)
    assert "@table" not in made and "@stage" not in made and "@printed" not in made and "defaultPanic(ptr" not in made
    assert 'c"shl overflow\\00"' in made and "call void @llgrad_fail(i32 13, ptr @llgrad.panic.0)" in made
    assert failing("define double @f(double %0) {\n  ret double %0\n}\n").count("define") == 1
