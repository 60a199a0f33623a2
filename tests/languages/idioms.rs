//! What Rust users write beside the mathematics: records that are cloned, errors made of text, text made of numbers.

/// Vectors in a vector's records, cloned: vectors of records and of numbers grow by the same code.
#[derive(Clone)]
struct Series {
    values: Vec<f64>,
}

pub fn cloned(x: &[f64]) -> f64 {
    let mut all: Vec<Series> = Vec::new();
    for k in 0..2 {
        all.push(Series { values: x.iter().map(|v| v * (1 + k) as f64).collect() });
    }
    let copy = all.clone();
    copy.iter().map(|s| s.values.iter().map(|v| v * v).sum::<f64>()).sum()
}

/// Records as text, for debugging: what formats them is called from within the library.
#[derive(Debug, Clone)]
struct Sample {
    values: Vec<f64>,
    name: String,
    weight: Option<f64>,
    at: (f64, i32),
}

pub fn shown(x: &[f64]) -> f64 {
    let s = Sample { values: x.to_vec(), name: "s".into(), weight: Some(x[1]), at: (x[0], 2) };
    let text = format!("{:?} {:#?} {:?}", s, s.clone(), x);
    s.values[0] * s.weight.unwrap() * s.at.0 * text.matches("name").count() as f64
}

/// Errors of any type, made of text, handed on by `?`.
fn root(v: f64) -> Result<f64, Box<dyn std::error::Error>> {
    if v < -5.0 {
        return Err(format!("{:.1} has no root", v).into());
    }
    if v < -4.0 {
        return Err("too small".into());
    }
    Ok((v + 6.0).sqrt())
}

fn both(v: f64, w: f64) -> Result<f64, Box<dyn std::error::Error>> {
    Ok(root(v)? * root(w)? + root(v * w)?)
}

pub fn failures(x: &[f64]) -> f64 {
    x.windows(2)
        .map(|p| match both(p[0] * 5.0, p[1]) {
            Ok(v) => v,
            Err(e) => e.to_string().len() as f64 * p[1],
        })
        .sum()
}

/// What is written where values go out of scope.
struct Guard<'a> {
    log: &'a std::cell::RefCell<Vec<f64>>,
    value: f64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.log.borrow_mut().push(self.value * self.value);
    }
}

pub fn dropped(x: &[f64]) -> f64 {
    let log = std::cell::RefCell::new(Vec::new());
    {
        let _first = Guard { log: &log, value: x[0] };
        drop(Guard { log: &log, value: x[1] });
        let _all: Vec<Guard> = x[2..].iter().map(|v| Guard { log: &log, value: v.sin() }).collect();
    }
    let log = log.into_inner();
    log.iter().enumerate().map(|(i, v)| v * (i + 1) as f64).sum()
}

/// Errors without contents lie where a vector has its pointer, whose first byte is then loaded by itself.
pub enum SolveError {
    NotSquare,
    Singular,
}

#[inline(never)]
fn ratios(a: &[f64], b: &[f64]) -> Result<Vec<f64>, SolveError> {
    if a.len() != b.len() {
        return Err(SolveError::NotSquare);
    }
    if b.iter().any(|v| v.abs() < 1e-12) {
        return Err(SolveError::Singular);
    }
    Ok(a.iter().zip(b).map(|(x, y)| x / y).collect())
}

fn twice(a: &[f64], b: &[f64]) -> Result<f64, SolveError> {
    let x = ratios(a, b)?;
    let y = ratios(a, &x)?;
    Ok(y.iter().zip(b).map(|(p, q)| p * q).sum())
}

pub fn solved(x: &[f64]) -> f64 {
    twice(&x[..3], &x[3..]).unwrap_or(f64::NAN)
}

/// A number that is formatted and parsed again: refused.
pub fn read_back(x: &[f64]) -> f64 {
    let v: f64 = x[0].to_string().parse().unwrap();
    v * x[1]
}

/// A number that changes where it is shown: refused.
struct Counter {
    value: f64,
    sum: std::cell::Cell<f64>,
}

impl std::fmt::Display for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.sum.set(self.sum.get() + self.value * self.value);
        f.pad("counter")
    }
}

pub fn counted(x: &[f64]) -> f64 {
    let c = Counter { value: x[0], sum: std::cell::Cell::new(x[1]) };
    println!("{c}");
    c.sum.get()
}

/// A tree of expressions: an exponent lies where other members have nothing, and a clone copies both.
#[derive(Clone)]
enum Expression {
    Constant(f64),
    Variable(usize),
    Sum(Box<Expression>, Box<Expression>),
    Power(Box<Expression>, i32),
    Call(fn(f64) -> f64, Box<Expression>),
}

use Expression::*;

impl Expression {
    fn value(&self, x: &[f64]) -> f64 {
        match self {
            Constant(c) => *c,
            Variable(i) => x[*i],
            Sum(a, b) => a.value(x) + b.value(x),
            Power(a, n) => a.value(x).powi(*n),
            Call(f, a) => f(a.value(x)),
        }
    }
}

pub fn expressions(x: &[f64]) -> f64 {
    let called = Call(f64::sin, Box::new(Constant(x[1])));
    let inner = Sum(Box::new(Variable(2)), Box::new(called));
    let e = Sum(Box::new(Variable(0)), Box::new(Power(Box::new(inner), 3)));
    let d = e.clone();
    e.value(x) * d.value(&x[1..])
}
