#[repr(C)]
pub struct Rec { k: f64, sum: f64, count: i64 }
extern "C" {
    fn OTHER_leaf(v: f64, r: *const Rec) -> f64;
    fn OTHER_inner(r: *mut Rec, n: i64, x: *const f64, y: *mut f64);
}
#[no_mangle]
pub extern "C" fn ME_leaf(v: f64, r: &Rec) -> f64 { v * v * r.k + r.sum }
#[no_mangle]
pub unsafe extern "C" fn ME_inner(r: &mut Rec, n: i64, x: *const f64, y: *mut f64) {
    let (x, y) = (std::slice::from_raw_parts(x, n as usize), std::slice::from_raw_parts_mut(y, n as usize));
    for (a, b) in x.iter().zip(y.iter_mut()) {
        *b = r.k * OTHER_leaf(*a, r);
        r.sum += *b * *a;
        r.count += 1;
    }
}
#[no_mangle]
pub unsafe extern "C" fn ME_run(n: i64, x: *const f64) -> f64 {
    let mut r = Rec { k: *x, sum: *x.add(1), count: 0 };
    let mut y = vec![0.0; n as usize];
    OTHER_inner(&mut r, n, x, y.as_mut_ptr());
    y.iter().map(|v| v * v * r.count as f64).sum::<f64>() + r.sum
}
