//! A network's loss, an integrator, and a Cholesky solve, as Rust has them: slices, iterators, traits, `Vec`.

trait Activation {
    fn apply(&self, s: f64) -> f64;
}

struct Tanh;

impl Activation for Tanh {
    fn apply(&self, s: f64) -> f64 {
        s.tanh()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `(w2 · tanh(W1 x + b1) - target)²`, W1 row by row
pub fn network(x: &[f64], w1: &[f64], b1: &[f64], w2: &[f64], target: f64) -> f64 {
    let activation: Box<dyn Activation> = Box::new(Tanh);
    let hidden: Vec<f64> = w1
        .chunks_exact(x.len())
        .zip(b1)
        .map(|(row, bias)| activation.apply(bias + dot(row, x)))
        .collect();
    (dot(w2, &hidden) - target).powi(2)
}

fn heun(mut y: Vec<f64>, dt: f64, steps: usize, system: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    for _ in 0..steps {
        let a = system(&y);
        let mid: Vec<f64> = y.iter().zip(&a).map(|(v, s)| v + dt * s).collect();
        let b = system(&mid);
        for i in 0..y.len() {
            y[i] += 0.5 * dt * (a[i] + b[i]);
        }
    }
    y
}

/// The energy of a ring of cells after `steps` steps of Heun's method
pub fn integrate(start: &[f64], k: f64, dt: f64, steps: usize) -> f64 {
    let ring = |y: &[f64]| {
        let n = y.len();
        (0..n)
            .map(|i| y[(i + n - 1) % n] - 2.0 * y[i] + y[(i + 1) % n] - k * y[i].powi(3))
            .collect()
    };
    let y = heun(start.to_vec(), dt, steps, ring);
    dot(&y, &y)
}

enum Factor {
    Definite(Vec<f64>),
    Indefinite(usize),
}

fn cholesky(n: usize, a: &[f64]) -> Factor {
    let mut l = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            let s = a[i * n + j] - dot(&l[i * n..i * n + j], &l[j * n..j * n + j]);
            if i > j {
                l[i * n + j] = s / l[j * n + j];
            } else if s > 0.0 {
                l[i * n + i] = s.sqrt();
            } else {
                return Factor::Indefinite(i);
            }
        }
    }
    Factor::Definite(l)
}

/// `b · A⁻¹ b + log det A` of a symmetric positive definite A
pub fn solve(a: &[f64], b: &[f64]) -> f64 {
    let n = b.len();
    match cholesky(n, a) {
        Factor::Indefinite(i) => panic!("the leading minor {i} is not positive definite"),
        Factor::Definite(l) => {
            let mut z: Vec<f64> = Vec::with_capacity(n);
            for (i, row) in l.chunks_exact(n).enumerate() {
                let s = b[i] - dot(&row[..i], &z);
                z.push(s / row[i]);
            }
            let logdet: f64 = (0..n).map(|i| 2.0 * l[i * n + i].ln()).sum();
            dot(&z, &z) + logdet
        }
    }
}
