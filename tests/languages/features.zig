//! What Zig programs are made of: what the tests of the languages differentiate.
const std = @import("std");
const m = std.math;

export fn elementary(x: f64) f64 {
    return m.tanh(x) + m.sinh(x) + m.cosh(x) + m.tan(x) + m.asin(x) + m.acos(x) + m.atan(x) + m.exp(x) +
        m.expm1(x) + m.log1p(x) + m.pow(f64, x, 1.5) + m.atan2(x, 2.0) + m.hypot(x, 2.0) + m.cbrt(x) +
        m.asinh(x) + m.atanh(x) + m.acosh(x + 1) + m.gamma(f64, x) + m.lgamma(f64, x) + @sqrt(x) + @exp(x) +
        @log(x) + m.log10(x) + @mod(x, 2.0) + @rem(x, 1.0) + m.exp2(x) + m.log2(x);
}

export fn single(x: f32) f32 {
    return m.tanh(x) * m.log1p(x) + m.pow(f32, x, 1.5);
}

/// Vectors of the language.
export fn vectors(n: usize, x: [*]const f64) f64 {
    var sum: @Vector(4, f64) = @splat(0);
    var i: usize = 0;
    while (i + 4 <= n) : (i += 4) {
        const v: @Vector(4, f64) = x[i..][0..4].*;
        sum += v * v * @as(@Vector(4, f64), @splat(0.5)) + @sin(v);
    }
    var s = sum[0] + sum[1] + sum[2] + sum[3];
    while (i < n) : (i += 1) s += x[i];
    return s;
}

const Point = struct {
    x: f64,
    y: f64,

    fn dist(self: Point, other: Point) f64 {
        return m.hypot(self.x - other.x, self.y - other.y);
    }
};

fn nearest(points: []const Point, to: Point) ?Point {
    var best: ?Point = null;
    for (points) |p| {
        if (best) |b| {
            if (p.dist(to) < b.dist(to)) best = p;
        } else best = p;
    }
    return best;
}

/// Structs, optionals, a list that grows.
export fn optionals(n: usize, x: [*]const f64) f64 {
    const allocator = std.heap.c_allocator;
    var points: std.ArrayList(Point) = .empty;
    defer points.deinit(allocator);
    var i: usize = 0;
    while (i + 1 < n) : (i += 2) points.append(allocator, .{ .x = x[i], .y = x[i + 1] }) catch return 0;
    const found = nearest(points.items, .{ .x = 0, .y = 0 }) orelse return 0;
    return found.x * found.x * found.y;
}

const Shape = union(enum) { disc: f64, box: [2]f64, nothing };

fn area(s: Shape) f64 {
    return switch (s) {
        .disc => |r| 3 * r * r,
        .box => |sides| sides[0] * sides[1],
        .nothing => 1,
    };
}

/// Tagged unions.
export fn unions(x: f64, y: f64) f64 {
    const shapes = [_]Shape{ .{ .disc = x }, .{ .box = .{ x, y } }, .nothing };
    var sum: f64 = 0;
    for (shapes) |s| sum += area(s) * y;
    return sum;
}

/// Written in place.
export fn smooth(n: usize, x: [*]f64, k: f64) void {
    for (1..n) |i| x[i] = k * x[i] + (1 - k) * x[i - 1] * x[i];
}
