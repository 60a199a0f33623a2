type
  Two {.bycopy.} = object
    x, y: cdouble
  Vec {.bycopy.} = object
    x, y, z: cdouble
  Model = ref object
    k: cdouble
    w: seq[cdouble]
  Callback = proc (c: pointer, v: cdouble): cdouble {.cdecl.}
proc OTHER_two(a: Two, k: cdouble): Two {.importc, cdecl.}
proc OTHER_vec(a: Vec, k: cdouble): Vec {.importc, cdecl.}
proc OTHER_make(k: cdouble): pointer {.importc, cdecl.}
proc OTHER_use(h: pointer, v: cdouble): cdouble {.importc, cdecl.}
proc OTHER_drop(h: pointer) {.importc, cdecl.}
proc OTHER_apply(f: Callback, c: pointer, n: clong, x: ptr UncheckedArray[cdouble]): cdouble {.importc, cdecl.}
proc ME_two(a: Two, k: cdouble): Two {.exportc, cdecl.} = Two(x: a.x * k, y: a.y + k)
proc ME_vec(a: Vec, k: cdouble): Vec {.exportc, cdecl.} = Vec(x: a.x * k, y: a.y + k, z: a.z * a.x)
proc ME_make(k: cdouble): pointer {.exportc, cdecl.} =
  let m = Model(k: k, w: @[cdouble(k * k)])
  GC_ref(m)
  cast[pointer](m)
proc ME_use(h: pointer, v: cdouble): cdouble {.exportc, cdecl.} =
  let m = cast[Model](h)
  m.k += v
  m.k * m.w[0] * v
proc ME_drop(h: pointer) {.exportc, cdecl.} = GC_unref(cast[Model](h))
proc ME_apply(f: Callback, c: pointer, n: clong, x: ptr UncheckedArray[cdouble]): cdouble {.exportc, cdecl.} =
  for i in 0 ..< n: result += f(c, x[i]) * x[0]
proc callback(c: pointer, v: cdouble): cdouble {.cdecl.} = cast[ptr cdouble](c)[] * v * v
proc ME_run(n: clong, x: ptr UncheckedArray[cdouble]): cdouble {.exportc, cdecl.} =
  let t = OTHER_two(Two(x: x[0], y: x[1]), x[2])
  let v = OTHER_vec(Vec(x: x[1], y: x[2], z: x[3]), x[3])
  let h = OTHER_make(x[0])
  result = t.x * t.y + v.x * v.y * v.z
  for i in 0 ..< n: result += OTHER_use(h, x[i])
  OTHER_drop(h)
  var k: cdouble = x[3] * x[3]
  result += OTHER_apply(callback, addr k, n, x)
