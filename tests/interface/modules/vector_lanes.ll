; Vectors whose ends are joined, counted from either side, and powers of all lanes by one integer.
declare void @expect(double, double)
declare void @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)
declare <4 x double> @llvm.vector.splice.v4f64(<4 x double>, <4 x double>, i32)
declare <4 x double> @llvm.powi.v4f64.i32(<4 x double>, i32)
declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)

; the last three of x and the first of its cubes, times 1000, 100, 10 and 1
define double @last(ptr %p) {
  %x = load <4 x double>, ptr %p, align 8
  %cubes = call <4 x double> @llvm.powi.v4f64.i32(<4 x double> %x, i32 3)
  %s = call <4 x double> @llvm.vector.splice.v4f64(<4 x double> %x, <4 x double> %cubes, i32 -3)
  %w = fmul <4 x double> %s, <double 1000.0, double 100.0, double 10.0, double 1.0>
  %r = call double @llvm.vector.reduce.fadd.v4f64(double 0.0, <4 x double> %w)
  ret double %r
}

; the last of x and the first three of its cubes
define double @first(ptr %p) {
  %x = load <4 x double>, ptr %p, align 8
  %cubes = call <4 x double> @llvm.powi.v4f64.i32(<4 x double> %x, i32 3)
  %s = call <4 x double> @llvm.vector.splice.v4f64(<4 x double> %x, <4 x double> %cubes, i32 3)
  %w = fmul <4 x double> %s, <double 1000.0, double 100.0, double 10.0, double 1.0>
  %r = call double @llvm.vector.reduce.fadd.v4f64(double 0.0, <4 x double> %w)
  ret double %r
}

define void @all(ptr %g, double %a, double %b, double %c, double %d) {
  %p1 = getelementptr double, ptr %g, i64 1
  %p2 = getelementptr double, ptr %g, i64 2
  %p3 = getelementptr double, ptr %g, i64 3
  %g0 = load double, ptr %g
  %g1 = load double, ptr %p1
  %g2 = load double, ptr %p2
  %g3 = load double, ptr %p3
  call void @expect(double %g0, double %a)
  call void @expect(double %g1, double %b)
  call void @expect(double %g2, double %c)
  call void @expect(double %g3, double %d)
  ret void
}

define i32 @main() {
  %x = alloca [4 x double]
  %g = alloca [4 x double]
  %h = alloca [4 x double]
  %t = alloca [4 x double]
  store [4 x double] [double 2.0, double 3.0, double 4.0, double 5.0], ptr %x
  store [4 x double] zeroinitializer, ptr %g
  store [4 x double] zeroinitializer, ptr %h
  store [4 x double] [double 1.0, double 1.0, double 1.0, double 1.0], ptr %t
  call void (ptr, ...) @__enzyme_autodiff(ptr @last, ptr %x, ptr %g)
  call void @all(ptr %g, double 12.0, double 1000.0, double 100.0, double 10.0)
  call void (ptr, ...) @__enzyme_autodiff(ptr @first, ptr %x, ptr %h)
  call void @all(ptr %h, double 1200.0, double 270.0, double 48.0, double 1000.0)
  %a = call double (ptr, ...) @__enzyme_fwddiff(ptr @last, ptr %x, ptr %t)
  call void @expect(double %a, double 1122.0)
  %b = call double (ptr, ...) @__enzyme_fwddiff(ptr @first, ptr %x, ptr %t)
  call void @expect(double %b, double 2518.0)
  ret i32 0
}
