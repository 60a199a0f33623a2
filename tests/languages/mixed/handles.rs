use std::os::raw::c_void;
#[repr(C)] #[derive(Clone, Copy)] pub struct Two { x: f64, y: f64 }
#[repr(C)] #[derive(Clone, Copy)] pub struct Vec3 { x: f64, y: f64, z: f64 }
type Callback = extern "C" fn(*mut c_void, f64) -> f64;
extern "C" {
    fn OTHER_two(a: Two, k: f64) -> Two;
    fn OTHER_vec(a: Vec3, k: f64) -> Vec3;
    fn OTHER_make(k: f64) -> *mut c_void;
    fn OTHER_use(h: *mut c_void, v: f64) -> f64;
    fn OTHER_drop(h: *mut c_void);
    fn OTHER_apply(f: Callback, c: *mut c_void, n: i64, x: *const f64) -> f64;
}
struct Model { k: f64, w: Vec<f64> }
#[no_mangle] pub extern "C" fn ME_two(a: Two, k: f64) -> Two { Two { x: a.x * k, y: a.y + k } }
#[no_mangle] pub extern "C" fn ME_vec(a: Vec3, k: f64) -> Vec3 { Vec3 { x: a.x * k, y: a.y + k, z: a.z * a.x } }
#[no_mangle] pub extern "C" fn ME_make(k: f64) -> *mut Model { Box::into_raw(Box::new(Model { k, w: vec![k * k] })) }
#[no_mangle] pub unsafe extern "C" fn ME_use(h: *mut Model, v: f64) -> f64 { let m = &mut *h; m.k += v; m.k * m.w[0] * v }
#[no_mangle] pub unsafe extern "C" fn ME_drop(h: *mut Model) { drop(Box::from_raw(h)); }
#[no_mangle] pub unsafe extern "C" fn ME_apply(f: Callback, c: *mut c_void, n: i64, x: *const f64) -> f64 {
    std::slice::from_raw_parts(x, n as usize).iter().map(|v| f(c, *v) * *x).sum()
}
extern "C" fn callback(c: *mut c_void, v: f64) -> f64 { unsafe { *(c as *mut f64) * v * v } }
#[no_mangle] pub unsafe extern "C" fn ME_run(n: i64, x: *const f64) -> f64 {
    let s = std::slice::from_raw_parts(x, n as usize);
    let t = OTHER_two(Two { x: s[0], y: s[1] }, s[2]);
    let v = OTHER_vec(Vec3 { x: s[1], y: s[2], z: s[3] }, s[3]);
    let h = OTHER_make(s[0]);
    let mut sum = t.x * t.y + v.x * v.y * v.z;
    for v in s { sum += OTHER_use(h, *v); }
    OTHER_drop(h);
    let mut k = s[3] * s[3];
    sum + OTHER_apply(callback, &mut k as *mut f64 as *mut c_void, n, x)
}
