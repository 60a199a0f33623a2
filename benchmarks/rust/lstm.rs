// `programs/lstm.c` in Rust, the way one writes it there: slices and iterators.
include!("program.rs");

const L: usize = 2;
const B: usize = 14;
const MAIN: usize = 8 * L * B;
const PARAMETERS: usize = MAIN + 3 * B;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// One layer, one step: `weights` are 4 gates of B weights, then of B biases.
fn layer(weights: &[f64; 8 * B], input: &[f64; B], hidden: &mut [f64; B], cell: &mut [f64; B]) {
    for i in 0..B {
        let gate = |n: usize, x: f64| x * weights[n * B + i] + weights[(4 + n) * B + i];
        let forget = sigmoid(gate(0, input[i]));
        let ingate = sigmoid(gate(1, hidden[i]));
        let outgate = sigmoid(gate(2, input[i]));
        let change = gate(3, hidden[i]).tanh();
        cell[i] = cell[i] * forget + ingate * change;
        hidden[i] = outgate * cell[i].tanh();
    }
}

fn loss(p: &[f64; PARAMETERS], state: &[f64; 2 * L * B], sequence: &[f64]) -> f64 {
    let (main, extra) = p.split_at(MAIN);
    let mut hidden: [[f64; B]; L] = std::array::from_fn(|j| std::array::from_fn(|i| state[2 * B * j + i]));
    let mut cell: [[f64; B]; L] = std::array::from_fn(|j| std::array::from_fn(|i| state[2 * B * j + B + i]));
    let characters = sequence.len() / B;
    let mut total = 0.0;
    for (now, next) in sequence.chunks_exact(B).zip(sequence[B..].chunks_exact(B)) {
        let mut input: [f64; B] = std::array::from_fn(|i| now[i] * extra[i]);
        for (j, weights) in main.chunks_exact(8 * B).enumerate() {
            layer(weights.try_into().unwrap(), &input, &mut hidden[j], &mut cell[j]);
            input = hidden[j];
        }
        let prediction: [f64; B] = std::array::from_fn(|i| input[i] * extra[B + i] + extra[2 * B + i]);
        let lse = (2.0 + prediction.iter().map(|p| p.exp()).sum::<f64>()).ln();
        for (next, p) in next.iter().zip(&prediction) {
            total += next * (p - lse);
        }
    }
    -total / (B * (characters - 1)) as f64
}

#[inline(never)]
extern "C" fn objective(count: usize, p: *const f64, state: *const f64, sequence: *const f64, out: *mut f64) {
    unsafe {
        *out = loss(&*p.cast(), &*state.cast(), from_raw_parts(sequence, count * B));
    }
}

static mut P: [f64; PARAMETERS] = [0.0; PARAMETERS];
static mut D_P: [f64; PARAMETERS] = [0.0; PARAMETERS];
static mut STATE: [f64; 2 * L * B] = [0.0; 2 * L * B];
static mut SEQUENCE: Vec<f64> = Vec::new();

#[no_mangle]
pub unsafe extern "C" fn setup(size: c_int) {
    P = std::array::from_fn(|i| 2.0 * noise(i) - 1.0);
    STATE = std::array::from_fn(|i| noise(3 * i) - 0.5);
    SEQUENCE = numbers(size as usize * B, |i| if noise(7 * i) < 0.5 { 1.0 } else { 0.0 });
}

#[no_mangle]
pub unsafe extern "C" fn primal() -> f64 {
    let mut out = 0.0;
    objective(SEQUENCE.len() / B, P.as_ptr(), STATE.as_ptr(), SEQUENCE.as_ptr(), &mut out);
    out
}

#[cfg(not(primal))]
#[no_mangle]
pub unsafe extern "C" fn gradient() {
    let (mut out, mut seed) = (0.0, 1.0);
    D_P.fill(0.0);
    __enzyme_autodiff(
        objective as *const c_void, enzyme_const, SEQUENCE.len() / B, enzyme_dup, P.as_ptr(), D_P.as_mut_ptr(),
        enzyme_const, STATE.as_ptr(), enzyme_const, SEQUENCE.as_ptr(), enzyme_dup, &mut out as *mut f64,
        &mut seed as *mut f64,
    );
}

#[no_mangle]
pub unsafe extern "C" fn derivative(count: &mut c_int) -> *const f64 {
    *count = PARAMETERS as c_int;
    D_P.as_ptr()
}
