const std = @import("std");
const Rec = extern struct { k: f64, sum: f64, count: i64 };
extern fn OTHER_leaf(v: f64, r: *const Rec) f64;
extern fn OTHER_inner(r: *Rec, n: i64, x: [*]const f64, y: [*]f64) void;
export fn ME_leaf(v: f64, r: *const Rec) f64 {
    return v * v * r.k + r.sum;
}
export fn ME_inner(r: *Rec, n: i64, x: [*]const f64, y: [*]f64) void {
    for (0..@intCast(n)) |i| {
        y[i] = r.k * OTHER_leaf(x[i], r);
        r.sum += y[i] * x[i];
        r.count += 1;
    }
}
export fn ME_run(n: i64, x: [*]const f64) f64 {
    var r: Rec = .{ .k = x[0], .sum = x[1], .count = 0 };
    const y = std.heap.c_allocator.alloc(f64, @intCast(n)) catch return 0;
    defer std.heap.c_allocator.free(y);
    OTHER_inner(&r, n, x, y.ptr);
    var s: f64 = 0;
    for (y) |v| s += v * v * @as(f64, @floatFromInt(r.count));
    return s + r.sum;
}
