// A network's loss, an integrator, and a Cholesky solve, as Swift has them: arrays, closures, buffers from C.
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// `(w2 · tanh(W1 x + b1) - target)²`, W1 row by row
@_cdecl("network")
public func network(
    _ n: Int, _ m: Int, _ x: UnsafePointer<Double>, _ w1: UnsafePointer<Double>, _ b1: UnsafePointer<Double>,
    _ w2: UnsafePointer<Double>, _ target: Double
) -> Double {
    var y = 0.0
    for i in 0..<m {
        var s = b1[i]
        for j in 0..<n { s += w1[i * n + j] * x[j] }
        y += w2[i] * tanh(s)
    }
    return (y - target) * (y - target)
}

func slope(_ y: [Double], _ k: Double) -> [Double] {
    let n = y.count
    var out = [Double](repeating: 0, count: n)
    for i in 0..<n {
        out[i] = y[(i + n - 1) % n] - 2 * y[i] + y[(i + 1) % n] - k * y[i] * y[i] * y[i]
    }
    return out
}

/// The energy of a ring of cells after `steps` steps of Heun's method
@_cdecl("integrate")
public func integrate(_ n: Int, _ start: UnsafePointer<Double>, _ k: Double, _ dt: Double, _ steps: Int) -> Double {
    var y = Array(UnsafeBufferPointer(start: start, count: n))
    var mid = y
    for _ in 0..<steps {
        let a = slope(y, k)
        for i in 0..<n { mid[i] = y[i] + dt * a[i] }
        let b = slope(mid, k)
        for i in 0..<n { y[i] += 0.5 * dt * (a[i] + b[i]) }
    }
    var energy = 0.0
    for v in y { energy += v * v }
    return energy
}

/// `bᵀ A⁻¹ b + log det A` by a Cholesky factorisation of the lower triangle
@_cdecl("solve")
public func solve(_ n: Int, _ a: UnsafePointer<Double>, _ b: UnsafePointer<Double>) -> Double {
    var l = [Double](repeating: 0, count: n * n)
    var y = [Double](repeating: 0, count: n)
    var total = 0.0
    for i in 0..<n {
        for j in 0...i {
            var s = a[i * n + j]
            for k in 0..<j { s -= l[i * n + k] * l[j * n + k] }
            l[i * n + j] = i == j ? s.squareRoot() : s / l[j * n + j]
        }
        var s = b[i]
        for k in 0..<i { s -= l[i * n + k] * y[k] }
        y[i] = s / l[i * n + i]
        total += y[i] * y[i] + 2 * log(l[i * n + i])
    }
    return total
}
