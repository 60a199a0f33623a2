// `programs/gmm.c` in Rust, the way one writes it there: slices and iterators.
include!("program.rs");

const K: usize = 25;
const N: usize = 500;

fn log_sum_exp(x: &[f64]) -> f64 {
    let mut top = x[0];
    for &v in x {
        if v > top {
            top = v;
        }
    }
    top + x.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

fn log_gamma_d(a: f64, d: usize) -> f64 {
    let start = 0.25 * (d * (d - 1)) as f64 * std::f64::consts::PI.ln();
    (1..=d).fold(start, |sum, j| sum + unsafe { lgamma(a + 0.5 * (1.0 - j as f64)) })
}

fn mahalanobis(diagonal: &[f64], mut lower: &[f64], y: &[f64], q: &mut [f64]) -> f64 {
    for ((q, l), y) in q.iter_mut().zip(diagonal).zip(y) {
        *q = l * y;
    }
    for (j, y) in y.iter().enumerate() {
        let below = &mut q[j + 1..];
        let (column, rest) = lower.split_at(below.len());
        for (q, l) in below.iter_mut().zip(column) {
            *q += l * y;
        }
        lower = rest;
    }
    q.iter().map(|v| v * v).sum()
}

fn wishart_prior(d: usize, icf: &[f64], diagonal: &[f64], sums: &[f64], gamma: f64, m: usize) -> f64 {
    let n = (d + m + 1) as f64;
    let constant = n * d as f64 * (gamma.ln() - 0.5 * 2f64.ln()) - log_gamma_d(0.5 * n, d);
    let mut prior = 0.0;
    for ((row, diagonal), sum) in icf.chunks_exact(d * (d + 1) / 2).zip(diagonal.chunks_exact(d)).zip(sums) {
        let squares: f64 = diagonal.iter().chain(&row[d..]).map(|v| v * v).sum();
        prior += 0.5 * gamma * gamma * squares - m as f64 * sum;
    }
    prior - sums.len() as f64 * constant
}

fn gmm(d: usize, alphas: &[f64], means: &[f64], icf: &[f64], x: &[f64], gamma: f64, m: usize) -> f64 {
    let (k, row) = (alphas.len(), d * (d + 1) / 2);
    let sums: Vec<f64> = icf.chunks_exact(row).map(|r| r[..d].iter().sum()).collect();
    let mut diagonal = vec![0.0; k * d];
    for (to, from) in diagonal.chunks_exact_mut(d).zip(icf.chunks_exact(row)) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.exp();
        }
    }
    let (mut terms, mut centred, mut q) = (vec![0.0; k], vec![0.0; d], vec![0.0; d]);
    let mut total = 0.0;
    for point in x.chunks_exact(d) {
        for c in 0..k {
            for ((to, x), mean) in centred.iter_mut().zip(point).zip(&means[c * d..(c + 1) * d]) {
                *to = x - mean;
            }
            let (own, lower) = (&diagonal[c * d..(c + 1) * d], &icf[c * row + d..(c + 1) * row]);
            terms[c] = alphas[c] + sums[c] - 0.5 * mahalanobis(own, lower, &centred, &mut q);
        }
        total += log_sum_exp(&terms);
    }
    let n = (x.len() / d) as f64;
    -0.5 * n * d as f64 * (2.0 * std::f64::consts::PI).ln() + total - n * log_sum_exp(alphas)
        + wishart_prior(d, icf, &diagonal, &sums, gamma, m)
}

#[inline(never)]
extern "C" fn objective(d: usize, p: *const f64, x: *const f64, out: *mut f64) {
    unsafe {
        let (alphas, means) = (from_raw_parts(p, K), from_raw_parts(p.add(K), K * d));
        let icf = from_raw_parts(p.add(K * (1 + d)), K * d * (d + 1) / 2);
        *out = gmm(d, alphas, means, icf, from_raw_parts(x, N * d), 1.0, 0);
    }
}

static mut D: usize = 0;
static mut P: Vec<f64> = Vec::new();
static mut D_P: Vec<f64> = Vec::new();
static mut X: Vec<f64> = Vec::new();

#[no_mangle]
pub unsafe extern "C" fn setup(size: c_int) {
    D = size as usize;
    P = numbers(K * (1 + D + D * (D + 1) / 2), noise);
    D_P = vec![0.0; P.len()];
    X = numbers(N * D, |i| noise(5 * i));
}

#[no_mangle]
pub unsafe extern "C" fn primal() -> f64 {
    let mut out = 0.0;
    objective(D, P.as_ptr(), X.as_ptr(), &mut out);
    out
}

#[cfg(not(primal))]
#[no_mangle]
pub unsafe extern "C" fn gradient() {
    let (mut out, mut seed) = (0.0, 1.0);
    D_P.fill(0.0);
    __enzyme_autodiff(
        objective as *const c_void, enzyme_const, D, enzyme_dup, P.as_ptr(), D_P.as_mut_ptr(), enzyme_const, X.as_ptr(),
        enzyme_dup, &mut out as *mut f64, &mut seed as *mut f64,
    );
}

#[no_mangle]
pub unsafe extern "C" fn derivative(count: &mut c_int) -> *const f64 {
    *count = D_P.len() as c_int;
    D_P.as_ptr()
}
