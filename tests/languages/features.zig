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

fn weighed(values: []const f64) f64 {
    var s: f64 = 0;
    for (values, 0..) |v, i| s += v * v * @as(f64, @floatFromInt(i));
    return s;
}

const Keyed = struct { key: f64, id: u32 };

fn before(_: void, a: Keyed, b: Keyed) bool {
    return a.key > b.key;
}

/// Sorting of numbers and records, and what else exchanges elements.
export fn sorted(n: usize, x: [*]const f64) f64 {
    var b: [16]f64 = undefined;
    @memcpy(b[0..n], x[0..n]);
    std.sort.heap(f64, b[0..n], {}, std.sort.desc(f64));
    var s = weighed(b[0..n]);
    std.mem.reverse(f64, b[0 .. n - 1]);
    s *= weighed(b[0..n]);
    var records: [16]Keyed = undefined;
    for (0..n) |i| records[i] = .{ .key = x[i], .id = @intCast(i) };
    std.sort.insertion(Keyed, records[0..n], {}, before);
    for (records[0..n], 0..) |r, i| s += r.key * r.key * @as(f64, @floatFromInt(i * r.id));
    return s;
}

const Op = union(enum) { add: f64, mul: f64, pow: u8, nop };

/// A union of floats and numbers.
export fn operations(n: usize, x: [*]const f64) f64 {
    var ops: [16]Op = undefined;
    for (x[0..n], 0..) |v, i| ops[i] = switch (i % 4) {
        0 => .{ .add = v },
        1 => .{ .mul = v },
        2 => .{ .pow = 2 },
        else => .nop,
    };
    var r: f64 = 1;
    for (ops[0..n]) |o| r = switch (o) {
        .add => |k| r + k,
        .mul => |k| r * k,
        .pow => |p| m.pow(f64, r, @floatFromInt(p)),
        .nop => r,
    };
    return r;
}

const Link = struct { v: f64, id: u32, next: ?*Link };

fn linked(allocator: std.mem.Allocator, x: []const f64) !f64 {
    var arena: std.heap.ArenaAllocator = .init(allocator);
    defer arena.deinit();
    var list: std.ArrayList(f64) = .empty;
    for (x) |v| try list.append(arena.allocator(), v * v);
    var head: ?*Link = null;
    for (list.items, 0..) |v, i| {
        const p = try arena.allocator().create(Link);
        p.* = .{ .v = v, .id = @intCast(i), .next = head };
        head = p;
    }
    var s: f64 = 0;
    while (head) |p| : (head = p.next) s = 0.7 * s + p.v * x[p.id];
    return s;
}

/// An arena over pages.
export fn arenas(n: usize, x: [*]const f64) f64 {
    return linked(std.heap.page_allocator, x[0..n]) catch 0;
}

const Tree = union(enum) {
    variable: usize,
    constant: f64,
    product: [2]*const Tree,

    fn made(tree: Tree) !*const Tree {
        const p = try std.heap.c_allocator.create(Tree);
        p.* = tree;
        return p;
    }

    fn value(tree: *const Tree, x: []const f64) f64 {
        return switch (tree.*) {
            .variable => |i| x[i],
            .constant => |c| c,
            .product => |p| p[0].value(x) * p[1].value(x),
        };
    }
};

fn product(x: []const f64) !f64 {
    const first = try Tree.made(.{ .variable = 0 });
    const second = try Tree.made(.{ .constant = x[1] * x[2] });
    return (try Tree.made(.{ .product = .{ first, second } })).value(x);
}

/// A union of a number, a float and pointers, copied whole.
export fn trees(n: usize, x: [*]const f64) f64 {
    return product(x[0..n]) catch 0;
}
