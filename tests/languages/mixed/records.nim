type Rec {.bycopy.} = object
  k, sum: cdouble
  count: clong
proc OTHER_leaf(v: cdouble, r: ptr Rec): cdouble {.importc, cdecl.}
proc OTHER_inner(r: ptr Rec, n: clong, x, y: ptr UncheckedArray[cdouble]) {.importc, cdecl.}
proc ME_leaf(v: cdouble, r: ptr Rec): cdouble {.exportc, cdecl.} = v * v * r.k + r.sum
proc ME_inner(r: ptr Rec, n: clong, x, y: ptr UncheckedArray[cdouble]) {.exportc, cdecl.} =
  for i in 0 ..< n:
    y[i] = r.k * OTHER_leaf(x[i], r)
    r.sum += y[i] * x[i]
    inc r.count
proc ME_run(n: clong, x: ptr UncheckedArray[cdouble]): cdouble {.exportc, cdecl.} =
  var r = Rec(k: x[0], sum: x[1])
  var y = newSeq[cdouble](n)
  OTHER_inner(addr r, n, x, cast[ptr UncheckedArray[cdouble]](addr y[0]))
  for v in y: result += v * v * cdouble(r.count)
  result += r.sum
