// Slices, enums, traits, closures, panics, checked arithmetic, iterators.
#![crate_type = "lib"]

pub enum Shape { Circle(f64), Rect { w: f64, h: f64 }, Empty }
pub trait Area { fn area(&self) -> f64; fn twice(&self) -> f64 { 2.0 * self.area() } }
impl Area for Shape {
    fn area(&self) -> f64 { match self { Shape::Circle(r) => r * r * 3.0, Shape::Rect { w, h } => w * h, Shape::Empty => 0.0 } }
}
#[no_mangle] pub fn total(v: &[Shape]) -> f64 { v.iter().map(|s| s.twice()).sum() }
#[no_mangle] pub fn dynamic(a: &dyn Area, b: Box<dyn Area>) -> f64 { a.area() + b.twice() }
#[no_mangle] pub fn dot(a: &[f64], b: &[f64]) -> f64 { let mut s = 0.0; for i in 0..a.len() { s += a[i] * b[i]; } s }
#[no_mangle] pub fn parse(s: &str) -> Option<i32> { s.trim().parse::<i32>().ok().and_then(|x| x.checked_mul(3)) }
#[no_mangle] pub fn strings(n: u32) -> String { let mut s = String::from("n = "); s.push_str(&n.to_string()); format!("{s}!{:?}", (n, 1.5f32)) }
#[no_mangle] pub fn collect(n: usize) -> Vec<u128> { (0..n as u128).filter(|x| x % 3 == 1).map(|x| x << 65).collect() }
#[no_mangle] pub extern "C" fn divide(a: i64, b: i64) -> i64 { if b == 0 { panic!("zero") } a.wrapping_div(b) }
#[no_mangle] pub fn sort(v: &mut Vec<f64>) { v.sort_by(|a, b| a.partial_cmp(b).unwrap()) }
pub fn compose(f: impl Fn(f64) -> f64, x: f64) -> f64 { f(f(x)) }
pub fn uses(x: f64) -> f64 { let k = x.sin(); compose(move |y| y * k + x.powi(3), x) }
pub static TABLE: [&str; 3] = ["a", "beta\u{e9}", ""];
pub static mut COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(3);
#[no_mangle] pub fn bump() -> usize { unsafe { (*(&raw mut COUNT)).fetch_add(1, std::sync::atomic::Ordering::SeqCst) } }
#[no_mangle] pub fn caught(f: fn() -> i32) -> i32 { std::panic::catch_unwind(f).unwrap_or(-1) }
