pub const panic = @import("std").debug.no_panic;
const S_FF = extern struct { a: f32, b: f32 };
extern fn OTHER_make_FF(a: f64, b: f64) S_FF; extern fn OTHER_map_FF(s: S_FF, k: f64) S_FF; extern fn OTHER_use_FF(s: S_FF, k: f64) f64;
export fn ME_make_FF(a: f64, b: f64) S_FF { return .{ .a = @floatCast(a * 1.0 + b * b), .b = @floatCast(a * 2.0 + b * b) }; }
export fn ME_map_FF(s: S_FF, k: f64) S_FF { return .{ .a = @floatCast(@as(f64, @floatCast(s.a)) * k + @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.a))), .b = @floatCast(@as(f64, @floatCast(s.b)) * k + @as(f64, @floatCast(s.b)) * @as(f64, @floatCast(s.b))) }; }
export fn ME_use_FF(s: S_FF, k: f64) f64 { return @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.a)) * k * 1.0 + @as(f64, @floatCast(s.b)) * @as(f64, @floatCast(s.b)) * k * 2.0 + @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.b)); }
export fn ME_run_FF(a: f64, b: f64) f64 { var s = OTHER_make_FF(a, b); s = OTHER_map_FF(s, b); return OTHER_use_FF(s, a) * a; }
const S_FD = extern struct { a: f32, b: f64 };
extern fn OTHER_make_FD(a: f64, b: f64) S_FD; extern fn OTHER_map_FD(s: S_FD, k: f64) S_FD; extern fn OTHER_use_FD(s: S_FD, k: f64) f64;
export fn ME_make_FD(a: f64, b: f64) S_FD { return .{ .a = @floatCast(a * 1.0 + b * b), .b = @floatCast(a * 2.0 + b * b) }; }
export fn ME_map_FD(s: S_FD, k: f64) S_FD { return .{ .a = @floatCast(@as(f64, @floatCast(s.a)) * k + @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.a))), .b = @floatCast(@as(f64, @floatCast(s.b)) * k + @as(f64, @floatCast(s.b)) * @as(f64, @floatCast(s.b))) }; }
export fn ME_use_FD(s: S_FD, k: f64) f64 { return @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.a)) * k * 1.0 + @as(f64, @floatCast(s.b)) * @as(f64, @floatCast(s.b)) * k * 2.0 + @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.b)); }
export fn ME_run_FD(a: f64, b: f64) f64 { var s = OTHER_make_FD(a, b); s = OTHER_map_FD(s, b); return OTHER_use_FD(s, a) * a; }
const S_FFI = extern struct { a: f32, b: f32, n: i32 };
extern fn OTHER_make_FFI(a: f64, b: f64) S_FFI; extern fn OTHER_map_FFI(s: S_FFI, k: f64) S_FFI; extern fn OTHER_use_FFI(s: S_FFI, k: f64) f64;
export fn ME_make_FFI(a: f64, b: f64) S_FFI { return .{ .a = @floatCast(a * 1.0 + b * b), .b = @floatCast(a * 2.0 + b * b), .n = 4 }; }
export fn ME_map_FFI(s: S_FFI, k: f64) S_FFI { return .{ .a = @floatCast(@as(f64, @floatCast(s.a)) * k + @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.a))), .b = @floatCast(@as(f64, @floatCast(s.b)) * k + @as(f64, @floatCast(s.b)) * @as(f64, @floatCast(s.b))), .n = s.n + 1 }; }
export fn ME_use_FFI(s: S_FFI, k: f64) f64 { return @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.a)) * k * 1.0 + @as(f64, @floatCast(s.b)) * @as(f64, @floatCast(s.b)) * k * 2.0 + @as(f64, @floatFromInt(s.n)) * k * k + @as(f64, @floatCast(s.a)) * @as(f64, @floatCast(s.b)) * @as(f64, @floatFromInt(s.n)); }
export fn ME_run_FFI(a: f64, b: f64) f64 { var s = OTHER_make_FFI(a, b); s = OTHER_map_FFI(s, b); return OTHER_use_FFI(s, a) * a; }
