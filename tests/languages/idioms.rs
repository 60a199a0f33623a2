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
