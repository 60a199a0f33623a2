//! Hash maps: control bytes and buckets in one allocation, at places that only the program knows; cloned text.

use std::collections::{BTreeMap, HashMap};

pub fn hash_u64(x: &[f64]) -> f64 {
    let mut m: HashMap<u64, f64> = HashMap::new();
    for (i, v) in x.iter().enumerate() { m.insert(i as u64, v * v); }
    for (i, v) in x.iter().enumerate() { *m.entry((i % 3) as u64).or_insert(0.0) += v.sin(); }
    let mut s = 0.0;
    for i in 0..x.len() { s += m[&(i as u64)] * (i as f64 + 1.0); }
    s
}

pub fn hash_iter(x: &[f64]) -> f64 {
    let mut m: HashMap<usize, f64> = HashMap::new();
    for (i, v) in x.iter().enumerate() { *m.entry(i % 4).or_insert(1.0) *= v; }
    m.values().map(|v| v * v).sum()
}

pub fn hash_string(x: &[f64]) -> f64 {
    let mut m: HashMap<String, f64> = HashMap::new();
    for (i, v) in x.iter().enumerate() { m.insert(format!("k{}", i % 4), v * v); }
    let mut s = 0.0;
    for (k, v) in &m { s += v * k.len() as f64; }
    s + m.get("k1").copied().unwrap_or(0.0).exp()
}

pub fn hash_str(x: &[f64]) -> f64 {
    let mut m: HashMap<&str, f64> = HashMap::new();
    m.insert("a", x[0]); m.insert("b", x[1] * x[2]); m.insert("c", x[3].sin());
    m["a"] * m["b"] + m["c"]
}

pub fn hash_vec(x: &[f64]) -> f64 {
    let mut m: HashMap<u64, Vec<f64>> = HashMap::new();
    for (i, v) in x.iter().enumerate() { m.entry((i % 3) as u64).or_default().push(*v); }
    m.values().map(|g| g.iter().product::<f64>()).sum()
}

#[derive(Clone)]
struct Named {
    name: String,
    value: f64,
    scale: f64,
}

/// Tombstones, and hashing again in place.
pub fn hash_removed(x: &[f64]) -> f64 {
    let mut m: HashMap<u64, f64> = HashMap::with_capacity(4);
    let mut s = 0.0;
    for round in 0..40u64 {
        let v = x[round as usize % x.len()];
        m.insert(round, v * v);
        if round >= 3 {
            s += m.remove(&(round - 3)).unwrap() * (round as f64);
        }
    }
    s + m.values().sum::<f64>()
}

pub fn named(x: &[f64]) -> f64 {
    let mut v: Vec<Named> = Vec::new();
    for (i, a) in x.iter().enumerate() {
        v.push(Named { name: format!("n{}", i), value: *a, scale: i as f64 });
    }
    let w: Vec<Named> = v.iter().filter(|n| n.name != "n2").cloned().collect();
    w.iter().map(|n| n.value * n.value * n.scale + n.name.len() as f64).sum()
}

pub fn tree_u64(x: &[f64]) -> f64 {
    let mut m: BTreeMap<u64, f64> = BTreeMap::new();
    for i in 0..40 { *m.entry((i * 17) % 23).or_insert(0.1) += x[i as usize % x.len()]; }
    let low: f64 = m.range(..9).map(|(k, v)| v * v * *k as f64).sum();
    low + m.get(&20).copied().unwrap_or(0.0) * m.values().next_back().unwrap().sin()
}

pub fn named_map(x: &[f64]) -> f64 {
    let mut m: HashMap<String, Named> = HashMap::new();
    for (i, a) in x.iter().enumerate() {
        let n = Named { name: format!("n{}", i), value: *a, scale: i as f64 };
        m.insert(n.name.clone(), n);
    }
    m["n1"].value * m["n2"].value * m["n2"].scale
}

/// A sparse matrix: entries without pointers, which control bytes may meet at every eighth byte.
pub fn sparse(x: &[f64]) -> f64 {
    let n = x.len();
    let mut m: HashMap<(usize, usize), f64> = HashMap::new();
    for i in 0..n {
        m.insert((i, i), 2.0 + x[i]);
        if i + 1 < n {
            *m.entry((i, i + 1)).or_insert(1.0) -= x[i];
        }
    }
    let mut y = vec![0.0; n];
    for (&(i, j), v) in &m { y[i] += v * x[j]; }
    y.iter().map(|v| v * v).sum()
}

/// The table is copied, thinned out and filled again; it hashes again in place.
pub fn churned(x: &[f64]) -> f64 {
    let mut m: HashMap<(usize, usize), f64> = HashMap::new();
    let mut s = 0.0;
    for i in 0..60usize {
        m.insert((i, i + 1), x[i % x.len()] * x[(i + 1) % x.len()]);
        if i >= 5 { s += m.remove(&(i - 5, i - 4)).unwrap() * i as f64; }
    }
    let mut c = m.clone();
    c.retain(|k, v| { *v *= 2.0; k.0 % 2 == 0 });
    for v in m.values_mut() { *v = v.sin(); }
    s + c.values().sum::<f64>() * m[&(57, 58)] + m.into_iter().map(|(_, v)| v * v).sum::<f64>()
}

pub fn word_count(x: &[f64]) -> f64 {
    let mut m: HashMap<String, f64> = HashMap::new();
    for (i, w) in "the cat sat on the mat".split_whitespace().enumerate() {
        *m.entry(w.to_string()).or_insert(0.0) += x[i % x.len()];
    }
    m["the"] * m["cat"] + m.values().map(|v| v * v).sum::<f64>()
}

pub fn table_of_closures(x: &[f64]) -> f64 {
    let mut m: HashMap<&str, Box<dyn Fn(f64) -> f64>> = HashMap::new();
    let k = x[3];
    m.insert("sin", Box::new(|v| v.sin()));
    m.insert("scale", Box::new(move |v| v * k));
    m.insert("square", Box::new(|v| v * v));
    ["sin", "scale", "square"].iter().filter_map(|n| m.get(n)).map(|f| f(x[0]) * x[1]).sum()
}

/// Nodes of trees: keys of fewer bytes than the values, lengths behind both, and copies of parts of each.
pub fn tree_i32(x: &[f64]) -> f64 {
    let mut m: BTreeMap<i32, f64> = BTreeMap::new();
    for i in 0..40 { *m.entry((i * 17) % 23).or_insert(0.1) += x[i as usize % x.len()] * x[0]; }
    m.iter().map(|(k, v)| *k as f64 * v.sin()).sum::<f64>() + m[&1] * m[&2]
}

pub fn tree_str(x: &[f64]) -> f64 {
    let mut m: BTreeMap<&str, f64> = BTreeMap::new();
    for (i, w) in ["a", "bb", "c", "a", "dd", "c"].iter().enumerate() { *m.entry(w).or_insert(0.0) += x[i] * x[i]; }
    m.iter().map(|(k, v)| k.len() as f64 * v.sin()).sum::<f64>() + m["a"] * m["bb"]
}

pub fn tree_string(x: &[f64]) -> f64 {
    let mut m: BTreeMap<String, f64> = BTreeMap::new();
    for (i, v) in x.iter().enumerate() { m.insert(format!("k{}", i % 4), v * v); }
    m.iter().map(|(k, v)| k.len() as f64 * v.sin()).sum::<f64>() + m["k1"] * m["k2"]
}

pub fn tree_removed(x: &[f64]) -> f64 {
    let mut m: BTreeMap<u64, f64> = BTreeMap::new();
    for i in 0..30u64 { m.insert(i, x[i as usize % x.len()] * i as f64); }
    let mut gone = 0.0;
    for i in (0..30u64).step_by(3) { gone += m.remove(&i).unwrap_or(0.0).sin(); }
    m.values().map(|v| v * v).sum::<f64>() * gone
}

/// Vectors of numbers and of keys of eight bytes grow; the keys are sorted.
pub fn groups(x: &[f64]) -> f64 {
    let mut m: HashMap<(i32, bool), Vec<f64>> = HashMap::new();
    for (i, v) in x.iter().enumerate() { m.entry((i as i32 / 2, i % 2 == 0)).or_default().push(*v); }
    let mut keys: Vec<_> = m.keys().cloned().collect();
    keys.sort();
    keys.iter().enumerate().map(|(n, k)| (n + 1) as f64 * m[k].iter().map(|v| v * v).sum::<f64>()).sum()
}
