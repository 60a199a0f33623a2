declare <4 x double> @llvm.masked.load.v4f64.p0(ptr, i32, <4 x i1>, <4 x double>)
declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr, i32, <4 x i1>)
declare <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x double>)
define double @f(double %x) {
  %m = alloca [8 x double]
  br label %h
h:
  %i = phi i64 [ 0, %0 ], [ %i1, %h ]
  %v = phi double [ %x, %0 ], [ %v1, %h ]
  %p = getelementptr double, ptr %m, i64 %i
  store double %v, ptr %p
  %v1 = fmul double %v, %x
  %i1 = add i64 %i, 1
  %c = icmp ult i64 %i1, 8
  br i1 %c, label %h, label %e
e:
  %q = getelementptr double, ptr %m, i64 2
  %l = call <4 x double> @llvm.masked.load.v4f64.p0(ptr %q, i32 8, <4 x i1> <i1 1, i1 0, i1 1, i1 1>, <4 x double> <double 1.0, double 2.0, double 3.0, double 4.0>)
  %l2 = fmul <4 x double> %l, %l
  call void @llvm.masked.store.v4f64.p0(<4 x double> %l2, ptr %m, i32 8, <4 x i1> <i1 0, i1 1, i1 1, i1 0>)
  %g = getelementptr double, ptr %m, <4 x i64> <i64 0, i64 2, i64 1, i64 2>
  %gg = call <4 x double> @llvm.masked.gather.v4f64.v4p0(<4 x ptr> %g, i32 8, <4 x i1> <i1 1, i1 1, i1 1, i1 1>, <4 x double> poison)
  %e0 = extractelement <4 x double> %gg, i32 0
  %e1 = extractelement <4 x double> %gg, i32 1
  %e2 = extractelement <4 x double> %gg, i32 2
  %e3 = extractelement <4 x double> %gg, i32 3
  %s = fadd double %e0, %e1
  %s1 = fmul double %s, %e2
  %s2 = fadd double %s1, %e3
  ret double %s2
}
