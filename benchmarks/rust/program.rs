// What a benchmark program in Rust offers, and the numbers it works on: see `programs/program.h`.
use std::ffi::{c_int, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};

extern "C" {
    fn __enzyme_autodiff(f: *const c_void, ...);
    static enzyme_const: c_int;
    static enzyme_dup: c_int;
    fn lgamma(x: f64) -> f64;
}

fn noise(n: usize) -> f64 {
    let mut n = (n as u64 + 1).wrapping_mul(0x9E3779B97F4A7C15);
    n = (n ^ (n >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94D049BB133111EB);
    (((n ^ (n >> 31)) >> 11) as f64) / 9007199254740992.0
}

/// `count` numbers made by `f`.
fn numbers(count: usize, f: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..count).map(f).collect()
}
