#![allow(improper_ctypes, improper_ctypes_definitions, non_snake_case)]
#[repr(C)] #[derive(Clone, Copy)] pub struct S_FF { a: f32, b: f32 }
extern "C" { fn OTHER_make_FF(a: f64, b: f64) -> S_FF; fn OTHER_map_FF(s: S_FF, k: f64) -> S_FF; fn OTHER_use_FF(s: S_FF, k: f64) -> f64; }
#[no_mangle] pub extern "C" fn ME_make_FF(a: f64, b: f64) -> S_FF { S_FF { a: ((a * 1.0 + b * b) as f32), b: ((a * 2.0 + b * b) as f32) } }
#[inline(never)] #[no_mangle] pub extern "C" fn ME_map_FF(s: S_FF, k: f64) -> S_FF { S_FF { a: ((((s.a) as f64) * k + ((s.a) as f64) * ((s.a) as f64)) as f32), b: ((((s.b) as f64) * k + ((s.b) as f64) * ((s.b) as f64)) as f32) } }
#[no_mangle] pub extern "C" fn ME_use_FF(s: S_FF, k: f64) -> f64 { ((s.a) as f64) * ((s.a) as f64) * k * 1.0 + ((s.b) as f64) * ((s.b) as f64) * k * 2.0 + ((s.a) as f64) * ((s.b) as f64) }
#[no_mangle] pub unsafe extern "C" fn ME_run_FF(a: f64, b: f64) -> f64 { let mut s = OTHER_make_FF(a, b); s = OTHER_map_FF(s, b); OTHER_use_FF(s, a) * a }
#[repr(C)] #[derive(Clone, Copy)] pub struct S_FD { a: f32, b: f64 }
extern "C" { fn OTHER_make_FD(a: f64, b: f64) -> S_FD; fn OTHER_map_FD(s: S_FD, k: f64) -> S_FD; fn OTHER_use_FD(s: S_FD, k: f64) -> f64; }
#[no_mangle] pub extern "C" fn ME_make_FD(a: f64, b: f64) -> S_FD { S_FD { a: ((a * 1.0 + b * b) as f32), b: ((a * 2.0 + b * b) as f64) } }
#[inline(never)] #[no_mangle] pub extern "C" fn ME_map_FD(s: S_FD, k: f64) -> S_FD { S_FD { a: ((((s.a) as f64) * k + ((s.a) as f64) * ((s.a) as f64)) as f32), b: ((((s.b) as f64) * k + ((s.b) as f64) * ((s.b) as f64)) as f64) } }
#[no_mangle] pub extern "C" fn ME_use_FD(s: S_FD, k: f64) -> f64 { ((s.a) as f64) * ((s.a) as f64) * k * 1.0 + ((s.b) as f64) * ((s.b) as f64) * k * 2.0 + ((s.a) as f64) * ((s.b) as f64) }
#[no_mangle] pub unsafe extern "C" fn ME_run_FD(a: f64, b: f64) -> f64 { let mut s = OTHER_make_FD(a, b); s = OTHER_map_FD(s, b); OTHER_use_FD(s, a) * a }
#[repr(C)] #[derive(Clone, Copy)] pub struct S_FFI { a: f32, b: f32, n: i32 }
extern "C" { fn OTHER_make_FFI(a: f64, b: f64) -> S_FFI; fn OTHER_map_FFI(s: S_FFI, k: f64) -> S_FFI; fn OTHER_use_FFI(s: S_FFI, k: f64) -> f64; }
#[no_mangle] pub extern "C" fn ME_make_FFI(a: f64, b: f64) -> S_FFI { S_FFI { a: ((a * 1.0 + b * b) as f32), b: ((a * 2.0 + b * b) as f32), n: ((4) as i32) } }
#[inline(never)] #[no_mangle] pub extern "C" fn ME_map_FFI(s: S_FFI, k: f64) -> S_FFI { S_FFI { a: ((((s.a) as f64) * k + ((s.a) as f64) * ((s.a) as f64)) as f32), b: ((((s.b) as f64) * k + ((s.b) as f64) * ((s.b) as f64)) as f32), n: s.n + 1 } }
#[no_mangle] pub extern "C" fn ME_use_FFI(s: S_FFI, k: f64) -> f64 { ((s.a) as f64) * ((s.a) as f64) * k * 1.0 + ((s.b) as f64) * ((s.b) as f64) * k * 2.0 + ((s.n) as f64) * k * k + ((s.a) as f64) * ((s.b) as f64) * ((s.n) as f64) }
#[no_mangle] pub unsafe extern "C" fn ME_run_FFI(a: f64, b: f64) -> f64 { let mut s = OTHER_make_FFI(a, b); s = OTHER_map_FFI(s, b); OTHER_use_FFI(s, a) * a }
