declare double @llvm.fma.f64(double, double, double)
declare double @llvm.fmuladd.f64(double, double, double)
declare double @llvm.minnum.f64(double, double)
declare double @llvm.maximum.f64(double, double)
declare double @llvm.minimumnum.f64(double, double)
declare double @llvm.powi.f64.i32(double, i32)
declare double @llvm.ldexp.f64.i32(double, i32)
declare { double, i32 } @llvm.frexp.f64.i32(double)
declare { double, double } @llvm.sincos.f64(double)
declare { double, double } @llvm.modf.f64(double)
declare double @llvm.copysign.f64(double, double)
declare double @llvm.canonicalize.f64(double)
declare double @llvm.exp10.f64(double)
declare double @llvm.tan.f64(double)
declare double @llvm.atan2.f64(double, double)
declare double @llvm.arithmetic.fence.f64(double)
declare double @llvm.roundeven.f64(double)
define double @f(double %x) {
  %a = call double @llvm.fma.f64(double %x, double %x, double %x)
  %b = call double @llvm.fmuladd.f64(double %a, double %x, double 2.0)
  %c = call double @llvm.minnum.f64(double %b, double 7.0)
  %d = call double @llvm.maximum.f64(double %c, double %x)
  %e = call double @llvm.powi.f64.i32(double %x, i32 -3)
  %g = call double @llvm.ldexp.f64.i32(double %e, i32 2)
  %h = call { double, i32 } @llvm.frexp.f64.i32(double %x)
  %h0 = extractvalue { double, i32 } %h, 0
  %h1 = extractvalue { double, i32 } %h, 1
  %h2 = sitofp i32 %h1 to double
  %i = call { double, double } @llvm.sincos.f64(double %x)
  %i0 = extractvalue { double, double } %i, 0
  %i1 = extractvalue { double, double } %i, 1
  %m = call { double, double } @llvm.modf.f64(double %b)
  %m0 = extractvalue { double, double } %m, 0
  %m1 = extractvalue { double, double } %m, 1
  %j = call double @llvm.copysign.f64(double %g, double %i1)
  %k = call double @llvm.canonicalize.f64(double %j)
  %l = call double @llvm.exp10.f64(double %x)
  %n = call double @llvm.tan.f64(double %x)
  %o = call double @llvm.atan2.f64(double %x, double %l)
  %p = call double @llvm.arithmetic.fence.f64(double %o)
  %q = call double @llvm.roundeven.f64(double %x)
  %mn = call double @llvm.minimumnum.f64(double %n, double %x)
  %s1 = fadd double %d, %k
  %s2 = fmul double %h0, %h2
  %s3 = fmul double %i0, %i1
  %s4 = fmul double %m0, %m1
  %s5 = fadd double %s1, %s2
  %s6 = fadd double %s5, %s3
  %s7 = fadd double %s6, %s4
  %s8 = fadd double %s7, %mn
  %s9 = fmul double %p, %q
  %s10 = fadd double %s8, %s9
  ret double %s10
}
