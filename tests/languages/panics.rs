//! Panics that the program catches itself, and what runs on the way there (`-Cpanic=unwind`).
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

/// A destructor that a panic runs.
struct Guard<'a>(&'a Cell<f64>, f64);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + self.1 * self.1);
    }
}

pub fn caught(x: &[f64]) -> f64 {
    let s = Cell::new(0.0);
    let r = panic::catch_unwind(AssertUnwindSafe(|| {
        let _guard = Guard(&s, x[0]);
        if x[1] < 0.0 {
            panic!("negative");
        }
        x[1] * x[2]
    }));
    s.get() + r.unwrap_or(x[3] * x[3])
}

/// Indices out of bounds.
pub fn bounds(x: &[f64]) -> f64 {
    (0..8).map(|i| panic::catch_unwind(|| x[i] * x[i] * i as f64).unwrap_or(x[0] * x[1])).sum()
}

/// A value that is thrown, and found again: refused.
struct Found(f64);

pub fn payload(x: &[f64]) -> f64 {
    let r = panic::catch_unwind(|| -> f64 {
        if x[0] > 0.0 {
            panic::panic_any(Found(x[0] * x[1]))
        }
        x[2]
    });
    match r {
        Ok(v) => v,
        Err(e) => e.downcast::<Found>().map_or(0.0, |found| found.0 * found.0),
    }
}

/// A panic that nobody catches, in a program that catches others.
pub fn escaped(x: &[f64]) -> f64 {
    if x[0] > 0.5 {
        panic!("too large");
    }
    x[0] * x[1]
}
