//! A network's loss, an integrator, and a Cholesky solve, as Zig has them: slices, allocators, errors.
const std = @import("std");
const math = std.math;

fn dot(a: []const f64, b: []const f64) f64 {
    var sum: f64 = 0;
    for (a, b) |x, y| sum += x * y;
    return sum;
}

/// (w2 . tanh(W1 x + b1) - target)^2, W1 row by row
export fn network(
    n: usize,
    m: usize,
    x: [*]const f64,
    w1: [*]const f64,
    b1: [*]const f64,
    w2: [*]const f64,
    target: f64,
) f64 {
    var y: f64 = 0;
    for (w2[0..m], b1[0..m], 0..) |weight, bias, i|
        y += weight * math.tanh(bias + dot(w1[i * n ..][0..n], x[0..n]));
    return (y - target) * (y - target);
}

fn slope(y: []const f64, k: f64, out: []f64) void {
    const n = y.len;
    for (out, 0..) |*s, i|
        s.* = y[(i + n - 1) % n] - 2 * y[i] + y[(i + 1) % n] - k * y[i] * y[i] * y[i];
}

fn heun(allocator: std.mem.Allocator, start: []const f64, k: f64, dt: f64, steps: usize) !f64 {
    const y = try allocator.dupe(f64, start);
    defer allocator.free(y);
    const scratch = try allocator.alloc(f64, 3 * y.len);
    defer allocator.free(scratch);
    const mid, const a, const b = .{ scratch[0..y.len], scratch[y.len..][0..y.len], scratch[2 * y.len ..] };
    for (0..steps) |_| {
        slope(y, k, a);
        for (mid, y, a) |*v, u, s| v.* = u + dt * s;
        slope(mid, k, b);
        for (y, a, b) |*v, s, t| v.* += 0.5 * dt * (s + t);
    }
    return dot(y, y);
}

/// The energy of a ring of n cells after some steps of Heun's method
export fn integrate(n: usize, start: [*]const f64, k: f64, dt: f64, steps: usize) f64 {
    return heun(std.heap.c_allocator, start[0..n], k, dt, steps) catch math.nan(f64);
}

const Indefinite = error{Indefinite};

fn cholesky(n: usize, a: []const f64, l: []f64) Indefinite!void {
    for (0..n) |j| {
        for (j..n) |i| {
            const s = a[i * n + j] - dot(l[i * n ..][0..j], l[j * n ..][0..j]);
            if (i > j) {
                l[i * n + j] = s / l[j * n + j];
            } else if (s > 0) {
                l[i * n + i] = @sqrt(s);
            } else return error.Indefinite;
        }
    }
}

fn factored(allocator: std.mem.Allocator, a: []const f64, b: []const f64) !f64 {
    const n = b.len;
    const l = try allocator.alloc(f64, n * n);
    defer allocator.free(l);
    const z = try allocator.alloc(f64, n);
    defer allocator.free(z);
    try cholesky(n, a, l);
    var value: f64 = 0;
    for (0..n) |i| {
        z[i] = (b[i] - dot(l[i * n ..][0..i], z[0..i])) / l[i * n + i];
        value += 2 * @log(l[i * n + i]);
    }
    return value + dot(z, z);
}

/// b . A^-1 b + log det A of a symmetric positive definite A
export fn solve(n: usize, a: [*]const f64, b: [*]const f64) f64 {
    return factored(std.heap.c_allocator, a[0 .. n * n], b[0..n]) catch math.nan(f64);
}
