; Operations on some lanes: what is off is divided by zero, has a root of zero, and adds nothing, not a number neither.
declare <4 x double> @llvm.vp.fadd.v4f64(<4 x double>, <4 x double>, <4 x i1>, i32)
declare <4 x double> @llvm.vp.fdiv.v4f64(<4 x double>, <4 x double>, <4 x i1>, i32)
declare <4 x double> @llvm.vp.sqrt.v4f64(<4 x double>, <4 x i1>, i32)
declare <4 x double> @llvm.vp.fma.v4f64(<4 x double>, <4 x double>, <4 x double>, <4 x i1>, i32)
declare <4 x double> @llvm.vp.fneg.v4f64(<4 x double>, <4 x i1>, i32)
declare <4 x double> @llvm.vp.merge.v4f64(<4 x i1>, <4 x double>, <4 x double>, i32)
declare <4 x double> @llvm.vp.select.v4f64(<4 x i1>, <4 x double>, <4 x double>, i32)
declare <4 x double> @llvm.vp.load.v4f64.p0(ptr, <4 x i1>, i32)
declare void @llvm.vp.store.v4f64.p0(<4 x double>, ptr, <4 x i1>, i32)
declare double @llvm.vp.reduce.fadd.v4f64(double, <4 x double>, <4 x i1>, i32)
declare double @llvm.vp.reduce.fmul.v4f64(double, <4 x double>, <4 x i1>, i32)
declare double @llvm.vp.reduce.fmax.v4f64(double, <4 x double>, <4 x i1>, i32)
declare double @llvm.vp.reduce.fmin.v4f64(double, <4 x double>, <4 x i1>, i32)
declare <4 x i1> @llvm.vp.fcmp.v4f64(<4 x double>, <4 x double>, metadata, <4 x i1>, i32)
define double @f(double %x) {
  %m = alloca [4 x double], align 8
  %a = insertelement <4 x double> <double 1.0, double 2.0, double 3.0, double 4.0>, double %x, i64 2
  %z = fsub <4 x double> %a, <double 1.0, double 0.0, double 0.0, double 4.0>
  %zx = insertelement <4 x double> %z, double %x, i64 1
  %x0 = fmul double %x, 0.0
  %zz = insertelement <4 x double> %zx, double %x0, i64 0
  %n = fptosi double %x to i32
  %n2 = sub i32 3, %n
  %n3 = or i32 %n2, 3
  %d = call <4 x double> @llvm.vp.fdiv.v4f64(<4 x double> %a, <4 x double> %zz, <4 x i1> <i1 0, i1 1, i1 1, i1 1>, i32 %n3)
  %s = call <4 x double> @llvm.vp.sqrt.v4f64(<4 x double> %zz, <4 x i1> <i1 0, i1 1, i1 1, i1 1>, i32 %n3)
  call void @llvm.vp.store.v4f64.p0(<4 x double> %s, ptr align 8 %m, <4 x i1> <i1 0, i1 1, i1 1, i1 1>, i32 %n3)
  %l = call <4 x double> @llvm.vp.load.v4f64.p0(ptr align 8 %m, <4 x i1> <i1 0, i1 1, i1 1, i1 1>, i32 %n3)
  %q = call <4 x double> @llvm.vp.fma.v4f64(<4 x double> %l, <4 x double> %l, <4 x double> %d, <4 x i1> <i1 0, i1 1, i1 1, i1 1>, i32 %n3)
  %g = call <4 x double> @llvm.vp.merge.v4f64(<4 x i1> <i1 0, i1 1, i1 1, i1 1>, <4 x double> %q, <4 x double> %a, i32 %n3)
  %c = call <4 x double> @llvm.vp.select.v4f64(<4 x i1> <i1 1, i1 0, i1 1, i1 1>, <4 x double> %g, <4 x double> %a, i32 4)
  %v = call <4 x double> @llvm.vp.fneg.v4f64(<4 x double> %c, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 4)
  %w = call <4 x double> @llvm.vp.fadd.v4f64(<4 x double> %v, <4 x double> %a, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 4)
  %over = call <4 x i1> @llvm.vp.fcmp.v4f64(<4 x double> %a, <4 x double> <double 0.5, double 1.5, double 0.8, double 9.0>, metadata !"ogt", <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 4)
  %r1 = call double @llvm.vp.reduce.fadd.v4f64(double %x, <4 x double> %w, <4 x i1> %over, i32 4)
  %r2 = call double @llvm.vp.reduce.fmul.v4f64(double %x, <4 x double> %g, <4 x i1> <i1 1, i1 0, i1 1, i1 1>, i32 3)
  %r3 = call double @llvm.vp.reduce.fmax.v4f64(double %x, <4 x double> %g, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, i32 3)
  %r4 = call double @llvm.vp.reduce.fmin.v4f64(double 9.0, <4 x double> %g, <4 x i1> <i1 0, i1 1, i1 1, i1 1>, i32 3)
  %t1 = fmul double %r1, %r2
  %t2 = fmul double %r3, %r4
  %r = fadd double %t1, %t2
  ret double %r
}
