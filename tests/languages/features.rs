//! What Rust programs are made of, one function each: what the tests of the languages differentiate.
use std::collections::VecDeque;
use std::ops::{Add, Mul};
use std::rc::Rc;

#[derive(Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, o: Complex) -> Complex {
        Complex { re: self.re + o.re, im: self.im + o.im }
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, o: Complex) -> Complex {
        Complex { re: self.re * o.re - self.im * o.im, im: self.re * o.im + self.im * o.re }
    }
}

/// Copy types behind operators, passed in registers.
pub fn operators(x: &[f64]) -> f64 {
    let mut z = Complex { re: 0.0, im: 0.0 };
    for pair in x.windows(2) {
        z = z * z + Complex { re: pair[0], im: pair[1] };
    }
    z.re * z.re + z.im * z.im
}

enum Shape {
    Disc { r: f64 },
    Box(f64, f64),
    Nothing,
}

/// Enums with data, in a vector.
pub fn enums(x: &[f64]) -> f64 {
    let shapes: Vec<Shape> = x
        .iter()
        .enumerate()
        .map(|(i, &v)| match i % 3 {
            0 => Shape::Disc { r: v },
            1 => Shape::Box(v, 2.0 * v),
            _ => Shape::Nothing,
        })
        .collect();
    shapes
        .iter()
        .map(|s| match s {
            Shape::Disc { r } => 3.0 * r * r,
            Shape::Box(a, b) => a * b,
            Shape::Nothing => 1.0,
        })
        .sum()
}

trait Unit {
    fn run(&self, x: f64) -> f64;
}

struct Scale(f64);
struct Shift {
    by: f64,
    times: u32,
}

impl Unit for Scale {
    fn run(&self, x: f64) -> f64 {
        self.0 * x
    }
}

impl Unit for Shift {
    fn run(&self, x: f64) -> f64 {
        x.powi(self.times as i32) + self.by
    }
}

/// Trait objects behind boxes.
pub fn objects(x: &[f64]) -> f64 {
    let mut units: Vec<Box<dyn Unit>> = Vec::new();
    for (i, &v) in x.iter().enumerate() {
        if i % 2 == 0 {
            units.push(Box::new(Scale(v)));
        } else {
            units.push(Box::new(Shift { by: v, times: 2 }));
        }
    }
    units.iter().fold(1.0, |acc, u| u.run(acc))
}

/// Written in place, through a mutable slice.
pub fn smooth(x: &mut [f64], k: f64) {
    for i in 1..x.len() {
        x[i] = k * x[i] + (1.0 - k) * x[i - 1] * x[i];
    }
}

/// Sorting with a comparison closure.
pub fn sorted(x: &[f64]) -> f64 {
    let mut v = x.to_vec();
    v.sort_by(|a, b| a.partial_cmp(b).unwrap());
    v.iter().enumerate().map(|(i, y)| (i as f64 + 1.0) * y * y).sum()
}

/// Options, early returns and `?`.
fn first_above(x: &[f64], bound: f64) -> Option<f64> {
    let found = x.iter().find(|v| **v > bound)?;
    Some(found * found)
}

pub fn options(x: &[f64], bound: f64) -> f64 {
    first_above(x, bound).unwrap_or(-1.0) + x.first().copied().unwrap_or(0.0)
}

/// A ring buffer of the standard library.
pub fn queue(x: &[f64]) -> f64 {
    let mut q: VecDeque<f64> = VecDeque::new();
    let mut sum = 0.0;
    for &v in x {
        q.push_back(v);
        if q.len() > 2 {
            sum += q.pop_front().unwrap() * v;
        }
    }
    sum
}

/// Nested vectors, indices checked.
pub fn nested(x: &[f64]) -> f64 {
    let n = x.len();
    let table: Vec<Vec<f64>> = (0..n).map(|i| (0..=i).map(|j| x[i] * x[j]).collect()).collect();
    (0..n).map(|i| table[i][i / 2].sin()).sum()
}

/// Single precision, and conversions.
pub fn mixed(x: &[f32], scale: f64) -> f64 {
    x.iter().map(|&v| scale * f64::from(v * v)).sum::<f64>().sqrt()
}

/// Arrays of a fixed size, by reference.
pub fn fixed(a: &[[f64; 3]; 3], v: &[f64; 3]) -> f64 {
    let mut out = [0.0; 3];
    for (o, row) in out.iter_mut().zip(a) {
        *o = row.iter().zip(v).map(|(p, q)| p * q).sum();
    }
    out.iter().zip(v).map(|(p, q)| p * q).sum()
}

#[repr(C)]
pub struct Spring {
    pub k: f64,
    pub rest: f64,
    pub bonds: u32,
}

/// Memory of structs, the C way.
#[no_mangle]
pub extern "C" fn springs(n: usize, s: *const Spring, x: *const f64) -> f64 {
    let (s, x) = unsafe { (std::slice::from_raw_parts(s, n), std::slice::from_raw_parts(x, n + 1)) };
    s.iter().zip(x.windows(2)).map(|(s, w)| f64::from(s.bonds) * 0.5 * s.k * (w[1] - w[0] - s.rest).powi(2)).sum()
}

/// Recursion over boxes.
struct Node {
    value: f64,
    next: Option<Box<Node>>,
}

fn walk(node: &Option<Box<Node>>) -> f64 {
    node.as_ref().map_or(0.0, |n| n.value * n.value + 0.5 * n.value * walk(&n.next))
}

pub fn list(x: &[f64]) -> f64 {
    let mut head = None;
    for &v in x {
        head = Some(Box::new(Node { value: v, next: head }));
    }
    walk(&head)
}

/// Shared memory behind a lock.
pub fn locked(x: &[f64]) -> f64 {
    let sums = std::sync::Arc::new(std::sync::Mutex::new(vec![0.0; 2]));
    for (i, v) in x.iter().enumerate() {
        sums.lock().unwrap()[i % 2] += v * v;
    }
    let found = sums.lock().unwrap();
    found[0] * found[1]
}

/// Errors with text, made of numbers, that are handed on through recursion; vectors of shared nodes that grow.
fn descent(x: &[f64], depth: usize) -> Result<f64, String> {
    if depth == 0 {
        return Ok(x[0]);
    }
    if x.len() < 2 {
        return Err(format!("{} levels short of {:.1}", depth, x[0]));
    }
    Ok(descent(&x[1..], depth - 1)? * x[0].sin())
}

struct Layer {
    weights: Vec<f64>,
    before: Option<Rc<Layer>>,
}

pub fn errors(x: &[f64]) -> f64 {
    let mut layers: Vec<Rc<Layer>> = Vec::new();
    for depth in [2, 4, 9] {
        let found = match descent(x, depth) {
            Ok(v) => v * v,
            Err(text) => text.len() as f64 * x[1] + if text.starts_with('4') { x[2] } else { 0.0 },
        };
        println!("{depth}: {found:.3}");
        let before = layers.last().cloned();
        layers.push(Rc::new(Layer { weights: vec![found, x[0]], before }));
    }
    let mut sum = 0.0;
    let mut layer = layers.last().cloned();
    while let Some(some) = layer {
        sum = sum * some.weights[1] + some.weights[0];
        layer = some.before.clone();
    }
    sum
}

struct Particle {
    at: [f64; 2],
    alive: bool,
    mass: Option<f64>,
}

/// Records with options in them, of which some stay.
pub fn retained(x: &[f64]) -> f64 {
    let mass = |i: usize| if i == 0 { Some(x[0]) } else { None };
    let pairs = x.chunks(2).enumerate();
    let mut all: Vec<Particle> =
        pairs.map(|(i, c)| Particle { at: [c[0], c[1]], alive: i != 1, mass: mass(i) }).collect();
    all.retain(|p| p.alive);
    all.iter().map(|p| p.at[0] * p.at[1] * p.mass.unwrap_or(1.5)).sum()
}
