type TFF* {.bycopy.} = object
  a: cfloat
  b: cfloat
proc OTHER_make_FF(a, b: cdouble): TFF {.importc, cdecl.}
proc OTHER_map_FF(s: TFF, k: cdouble): TFF {.importc, cdecl.}
proc OTHER_use_FF(s: TFF, k: cdouble): cdouble {.importc, cdecl.}
proc ME_make_FF(a, b: cdouble): TFF {.exportc, cdecl.} =
  result.a = cfloat(a * 1.0 + b * b); result.b = cfloat(a * 2.0 + b * b)
proc ME_map_FF(s: TFF, k: cdouble): TFF {.exportc, cdecl.} =
  result.a = cfloat(cdouble(s.a) * k + cdouble(s.a) * cdouble(s.a)); result.b = cfloat(cdouble(s.b) * k + cdouble(s.b) * cdouble(s.b))
proc ME_use_FF(s: TFF, k: cdouble): cdouble {.exportc, cdecl.} = cdouble(s.a) * cdouble(s.a) * k * 1.0 + cdouble(s.b) * cdouble(s.b) * k * 2.0 + cdouble(s.a) * cdouble(s.b)
proc ME_run_FF(a, b: cdouble): cdouble {.exportc, cdecl.} =
  var s = OTHER_make_FF(a, b)
  s = OTHER_map_FF(s, b)
  OTHER_use_FF(s, a) * a
type TFD* {.bycopy.} = object
  a: cfloat
  b: cdouble
proc OTHER_make_FD(a, b: cdouble): TFD {.importc, cdecl.}
proc OTHER_map_FD(s: TFD, k: cdouble): TFD {.importc, cdecl.}
proc OTHER_use_FD(s: TFD, k: cdouble): cdouble {.importc, cdecl.}
proc ME_make_FD(a, b: cdouble): TFD {.exportc, cdecl.} =
  result.a = cfloat(a * 1.0 + b * b); result.b = cdouble(a * 2.0 + b * b)
proc ME_map_FD(s: TFD, k: cdouble): TFD {.exportc, cdecl.} =
  result.a = cfloat(cdouble(s.a) * k + cdouble(s.a) * cdouble(s.a)); result.b = cdouble(cdouble(s.b) * k + cdouble(s.b) * cdouble(s.b))
proc ME_use_FD(s: TFD, k: cdouble): cdouble {.exportc, cdecl.} = cdouble(s.a) * cdouble(s.a) * k * 1.0 + cdouble(s.b) * cdouble(s.b) * k * 2.0 + cdouble(s.a) * cdouble(s.b)
proc ME_run_FD(a, b: cdouble): cdouble {.exportc, cdecl.} =
  var s = OTHER_make_FD(a, b)
  s = OTHER_map_FD(s, b)
  OTHER_use_FD(s, a) * a
type TFFI* {.bycopy.} = object
  a: cfloat
  b: cfloat
  n: cint
proc OTHER_make_FFI(a, b: cdouble): TFFI {.importc, cdecl.}
proc OTHER_map_FFI(s: TFFI, k: cdouble): TFFI {.importc, cdecl.}
proc OTHER_use_FFI(s: TFFI, k: cdouble): cdouble {.importc, cdecl.}
proc ME_make_FFI(a, b: cdouble): TFFI {.exportc, cdecl.} =
  result.a = cfloat(a * 1.0 + b * b); result.b = cfloat(a * 2.0 + b * b); result.n = cint(4)
proc ME_map_FFI(s: TFFI, k: cdouble): TFFI {.exportc, cdecl.} =
  result.a = cfloat(cdouble(s.a) * k + cdouble(s.a) * cdouble(s.a)); result.b = cfloat(cdouble(s.b) * k + cdouble(s.b) * cdouble(s.b)); result.n = s.n + 1
proc ME_use_FFI(s: TFFI, k: cdouble): cdouble {.exportc, cdecl.} = cdouble(s.a) * cdouble(s.a) * k * 1.0 + cdouble(s.b) * cdouble(s.b) * k * 2.0 + cdouble(s.n) * k * k + cdouble(s.a) * cdouble(s.b) * cdouble(s.n)
proc ME_run_FFI(a, b: cdouble): cdouble {.exportc, cdecl.} =
  var s = OTHER_make_FFI(a, b)
  s = OTHER_map_FFI(s, b)
  OTHER_use_FFI(s, a) * a
