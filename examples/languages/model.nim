## A network's loss, an integrator, and a Cholesky solve, as Nim has them: sequences, open arrays, iterators.
import std/math

type Doubles = ptr UncheckedArray[float]

func dot(a, b: openArray[float]): float =
  for i, x in a: result += x * b[i]

proc network(n, m: cint, x, w1, b1, w2: Doubles, target: float): float {.exportc, dynlib.} =
  ## (w2 . tanh(W1 x + b1) - target)^2, W1 row by row
  var y = 0.0
  for i in 0 ..< m.int:
    let row = i * n.int
    y += w2[i] * tanh(b1[i] + dot(w1.toOpenArray(row, row + n.int - 1), x.toOpenArray(0, n.int - 1)))
  (y - target) ^ 2

func slope(y: seq[float], k: float, s: var seq[float]) =
  let n = y.len
  for i in 0 ..< n:
    s[i] = y[(i + n - 1) mod n] - 2 * y[i] + y[(i + 1) mod n] - k * y[i] ^ 3

proc integrate(n: cint, start: Doubles, k, dt: float, steps: cint): float {.exportc, dynlib.} =
  ## The energy of a ring of n cells after some steps of Heun's method
  var
    y = @(start.toOpenArray(0, n.int - 1))
    mid, a, b = newSeq[float](y.len)
  for _ in 1 .. steps:
    slope(y, k, a)
    for i, v in y: mid[i] = v + dt * a[i]
    slope(mid, k, b)
    for i in 0 ..< y.len: y[i] += 0.5 * dt * (a[i] + b[i])
  dot(y, y)

proc solve(n: cint, a, b: Doubles): float {.exportc, dynlib.} =
  ## b . A^-1 b + log det A of a symmetric positive definite A
  let n = n.int
  var
    l = newSeq[float](n * n)
    z = newSeq[float](n)
  for j in 0 ..< n:
    for i in j ..< n:
      var s = a[i * n + j]
      for k in 0 ..< j: s -= l[i * n + k] * l[j * n + k]
      l[i * n + j] = if i == j: sqrt(s) else: s / l[j * n + j]
    result += 2 * ln(l[j * n + j])
  for i in 0 ..< n:
    var s = b[i]
    for k in 0 ..< i: s -= l[i * n + k] * z[k]
    z[i] = s / l[i * n + i]
  result += dot(z, z)
