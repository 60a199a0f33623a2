// `programs/ba.c` in Rust, the way one writes it there: arrays by value.
include!("program.rs");

type V = [f64; 3];
const CAMERAS: usize = 20;
const CAMERA: usize = 11;
const POINT: usize = 3;

fn cross(a: V, b: V) -> V {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: V, b: V) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn rotate(r: V, p: V) -> V {
    let square = dot(r, r);
    if square > 0.0 {
        let theta = square.sqrt();
        let (s, c) = theta.sin_cos();
        let axis = r.map(|v| v / theta);
        let (by, along) = (cross(axis, p), dot(axis, p) * (1.0 - c));
        std::array::from_fn(|i| p[i] * c + by[i] * s + axis[i] * along)
    } else {
        let by = cross(r, p);
        std::array::from_fn(|i| p[i] + by[i])
    }
}

/// A camera: rotation, centre, focal length, principal point, radial distortion.
fn project(cam: &[f64; CAMERA], x: &V, w: f64, feat: &[f64; 2]) -> [f64; 2] {
    let offset = std::array::from_fn(|i| x[i] - cam[3 + i]);
    let p = rotate([cam[0], cam[1], cam[2]], offset);
    let at = [p[0] / p[2], p[1] / p[2]];
    let q = at[0] * at[0] + at[1] * at[1];
    let scale = cam[6] * (1.0 + cam[9] * q + cam[10] * q * q);
    std::array::from_fn(|i| w * (scale * at[i] + cam[7 + i] - feat[i]))
}

#[inline(never)]
extern "C" fn objective(
    points: usize, count: usize, input: *const f64, obs: *const [c_int; 2], feats: *const [f64; 2], errors: *mut [f64; 2],
    w_errors: *mut f64,
) {
    unsafe {
        let cams: &[[f64; CAMERA]] = from_raw_parts(input.cast(), CAMERAS);
        let xs: &[V] = from_raw_parts(input.add(CAMERA * CAMERAS).cast(), points);
        let ws = from_raw_parts(input.add(CAMERA * CAMERAS + POINT * points), count);
        let (obs, feats) = (from_raw_parts(obs, count), from_raw_parts(feats, count));
        let (errors, w_errors) = (from_raw_parts_mut(errors, count), from_raw_parts_mut(w_errors, count));
        for (((error, w), o), feat) in errors.iter_mut().zip(ws).zip(obs).zip(feats) {
            *error = project(&cams[o[0] as usize], &xs[o[1] as usize], *w, feat);
        }
        for (error, w) in w_errors.iter_mut().zip(ws) {
            *error = 1.0 - w * w;
        }
    }
}

static mut POINTS: usize = 0;
static mut IN: Vec<f64> = Vec::new();
static mut D_IN: Vec<f64> = Vec::new();
static mut OBS: Vec<[c_int; 2]> = Vec::new();
static mut FEATS: Vec<f64> = Vec::new();
static mut OUT: Vec<f64> = Vec::new();
static mut SEEDS: Vec<f64> = Vec::new();

#[no_mangle]
pub unsafe extern "C" fn setup(size: c_int) {
    let size = size as usize;
    POINTS = 1 + size / 8;
    IN = numbers(CAMERA * CAMERAS + POINT * POINTS + size, noise);
    (0..CAMERAS).for_each(|i| IN[CAMERA * i + 6] += 400.0);
    (0..POINTS).for_each(|i| IN[CAMERA * CAMERAS + POINT * i + 2] += 20.0);
    D_IN = vec![0.0; IN.len()];
    FEATS = numbers(2 * size, |i| 100.0 * noise(3 * i));
    OBS = (0..size).map(|i| [(i % CAMERAS) as c_int, (i % POINTS) as c_int]).collect();
    OUT = vec![0.0; 3 * size];
    SEEDS = vec![0.0; 3 * size];
}

#[no_mangle]
pub unsafe extern "C" fn primal() -> f64 {
    let out = OUT.as_mut_ptr();
    let count = OBS.len();
    objective(POINTS, count, IN.as_ptr(), OBS.as_ptr(), FEATS.as_ptr().cast(), out.cast(), out.add(2 * count));
    OUT[0]
}

#[cfg(not(primal))]
#[no_mangle]
pub unsafe extern "C" fn gradient() {
    let (out, seeds, count) = (OUT.as_mut_ptr(), SEEDS.as_mut_ptr(), OBS.len());
    D_IN.fill(0.0);
    SEEDS.fill(1.0);
    __enzyme_autodiff(
        objective as *const c_void, enzyme_const, POINTS, enzyme_const, count, enzyme_dup, IN.as_ptr(),
        D_IN.as_mut_ptr(), enzyme_const, OBS.as_ptr(), enzyme_const, FEATS.as_ptr(), enzyme_dup, out, seeds, enzyme_dup,
        out.add(2 * count), seeds.add(2 * count),
    );
}

#[no_mangle]
pub unsafe extern "C" fn derivative(count: &mut c_int) -> *const f64 {
    *count = D_IN.len() as c_int;
    D_IN.as_ptr()
}
