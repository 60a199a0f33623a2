const std = @import("std");
const Two = extern struct { x: f64, y: f64 };
const Vec = extern struct { x: f64, y: f64, z: f64 };
const Callback = *const fn (*anyopaque, f64) callconv(.c) f64;
const Model = struct { k: f64, w: std.ArrayList(f64) };
const allocator = std.heap.c_allocator;
extern fn OTHER_two(a: Two, k: f64) Two;
extern fn OTHER_vec(a: Vec, k: f64) Vec;
extern fn OTHER_make(k: f64) *anyopaque;
extern fn OTHER_use(h: *anyopaque, v: f64) f64;
extern fn OTHER_drop(h: *anyopaque) void;
extern fn OTHER_apply(f: Callback, c: *anyopaque, n: i64, x: [*]const f64) f64;
export fn ME_two(a: Two, k: f64) Two { return .{ .x = a.x * k, .y = a.y + k }; }
export fn ME_vec(a: Vec, k: f64) Vec { return .{ .x = a.x * k, .y = a.y + k, .z = a.z * a.x }; }
export fn ME_make(k: f64) *Model {
    const m = allocator.create(Model) catch unreachable;
    m.* = .{ .k = k, .w = .empty };
    m.w.append(allocator, k * k) catch unreachable;
    return m;
}
export fn ME_use(m: *Model, v: f64) f64 { m.k += v; return m.k * m.w.items[0] * v; }
export fn ME_drop(m: *Model) void { m.w.deinit(allocator); allocator.destroy(m); }
export fn ME_apply(f: Callback, c: *anyopaque, n: i64, x: [*]const f64) f64 {
    var s: f64 = 0;
    for (x[0..@intCast(n)]) |v| s += f(c, v) * x[0];
    return s;
}
fn callback(c: *anyopaque, v: f64) callconv(.c) f64 {
    const k: *f64 = @ptrCast(@alignCast(c));
    return k.* * v * v;
}
export fn ME_run(n: i64, x: [*]const f64) f64 {
    const t = OTHER_two(.{ .x = x[0], .y = x[1] }, x[2]);
    const v = OTHER_vec(.{ .x = x[1], .y = x[2], .z = x[3] }, x[3]);
    const h = OTHER_make(x[0]);
    var s = t.x * t.y + v.x * v.y * v.z;
    for (x[0..@intCast(n)]) |w| s += OTHER_use(h, w);
    OTHER_drop(h);
    var k = x[3] * x[3];
    return s + OTHER_apply(callback, &k, n, x);
}
