// Maps of the standard library with floats as values, and a queue.
const std = @import("std");
pub const panic = std.debug.no_panic;

export fn hashed(n: usize, x: [*]const f64) f64 {
    var m = std.AutoHashMap(u64, f64).init(std.heap.c_allocator);
    defer m.deinit();
    for (0..n) |i| m.put(i * 3 + 1, x[i] * x[0]) catch return -1;
    _ = m.remove(4);
    const found = m.getOrPut(7) catch return -1;
    found.value_ptr.* *= 2;
    var names = std.StringHashMap(f64).init(std.heap.c_allocator);
    defer names.deinit();
    names.put("a", x[1]) catch return -1;
    names.put("b", x[2]) catch return -1;
    if (names.getPtr("a")) |p| p.* *= x[3];
    var s: f64 = 0;
    var it = m.iterator();
    while (it.next()) |e| s += e.value_ptr.* * @as(f64, @floatFromInt(e.key_ptr.*));
    return s * (names.get("a") orelse 0) + (names.get("b") orelse 0);
}

export fn ordered(n: usize, x: [*]const f64) f64 {
    const gpa = std.heap.c_allocator;
    var m: std.array_hash_map.Auto(u64, f64) = .empty;
    defer m.deinit(gpa);
    for (0..n) |i| m.put(gpa, i * 7, x[i] * x[i]) catch return -1;
    var s: f64 = 0;
    for (m.keys(), m.values()) |k, v| s += @as(f64, @floatFromInt(k)) * v * v;
    return s;
}

fn order(_: void, p: f64, q: f64) std.math.Order {
    return std.math.order(p, q);
}

export fn queued(n: usize, x: [*]const f64) f64 {
    var q: std.PriorityQueue(f64, void, order) = .empty;
    defer q.deinit(std.heap.c_allocator);
    for (0..n) |i| q.push(std.heap.c_allocator, x[i] * x[0]) catch return -1;
    var s: f64 = 0;
    while (q.pop()) |v| s = s * 0.5 + v * v;
    return s;
}
