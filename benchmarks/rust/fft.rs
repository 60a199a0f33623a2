// `programs/fft.c` in Rust, the way one writes it there: chunks, split in halves.
include!("program.rs");

fn transform(re: &mut [f64], im: &mut [f64]) {
    let n = re.len();
    let mut j = 0;
    for i in 1..n {
        let mut bit = n >> 1;
        while j & bit != 0 {
            j ^= bit;
            bit >>= 1;
        }
        j ^= bit;
        if i < j {
            re.swap(i, j);
            im.swap(i, j);
        }
    }
    let mut length = 2;
    while length <= n {
        let step = -2.0 * std::f64::consts::PI / length as f64;
        let (s, c) = step.sin_cos();
        for (re, im) in re.chunks_exact_mut(length).zip(im.chunks_exact_mut(length)) {
            let ((re, re_far), (im, im_far)) = (re.split_at_mut(length / 2), im.split_at_mut(length / 2));
            let (mut wr, mut wi) = (1.0, 0.0);
            for ((re, re_far), (im, im_far)) in re.iter_mut().zip(re_far).zip(im.iter_mut().zip(im_far)) {
                let (a, b) = (*re_far * wr - *im_far * wi, *re_far * wi + *im_far * wr);
                (*re_far, *im_far) = (*re - a, *im - b);
                *re += a;
                *im += b;
                (wr, wi) = (wr * c - wi * s, wr * s + wi * c);
            }
        }
        length <<= 1;
    }
}

#[inline(never)]
extern "C" fn objective(n: usize, re: *mut f64, im: *mut f64, out: *mut f64) {
    unsafe {
        let (re, im) = (from_raw_parts_mut(re, n), from_raw_parts_mut(im, n));
        transform(re, im);
        let mut sum = 0.0;
        for (i, (re, im)) in re.iter().zip(im.iter()).enumerate() {
            sum += (re * re + im * im) * (1.0 + 0.5 * (i % 7) as f64) + re;
        }
        *out = sum / n as f64;
    }
}

static mut X: Vec<f64> = Vec::new();
static mut WORK: Vec<f64> = Vec::new();
static mut D_X: Vec<f64> = Vec::new();

#[no_mangle]
pub unsafe extern "C" fn setup(size: c_int) {
    X = numbers(2 * size as usize, |i| noise(i) - 0.5);
    WORK = vec![0.0; X.len()];
    D_X = vec![0.0; X.len()];
}

#[no_mangle]
pub unsafe extern "C" fn primal() -> f64 {
    let (n, mut out) = (X.len() / 2, 0.0);
    WORK.copy_from_slice(&X);
    objective(n, WORK.as_mut_ptr(), WORK.as_mut_ptr().add(n), &mut out);
    out
}

#[cfg(not(primal))]
#[no_mangle]
pub unsafe extern "C" fn gradient() {
    let (n, mut out, mut seed) = (X.len() / 2, 0.0, 1.0);
    WORK.copy_from_slice(&X);
    D_X.fill(0.0);
    let (work, d_x) = (WORK.as_mut_ptr(), D_X.as_mut_ptr());
    __enzyme_autodiff(
        objective as *const c_void, enzyme_const, n, enzyme_dup, work, d_x, enzyme_dup, work.add(n), d_x.add(n),
        enzyme_dup, &mut out as *mut f64, &mut seed as *mut f64,
    );
}

#[no_mangle]
pub unsafe extern "C" fn derivative(count: &mut c_int) -> *const f64 {
    *count = D_X.len() as c_int;
    D_X.as_ptr()
}
