declare void @llvm.assume(i1)
declare i1 @llvm.expect.i1(i1, i1)
declare ptr @llvm.launder.invariant.group.p0(ptr)
declare ptr @llvm.invariant.start.p0(i64, ptr)
declare i64 @llvm.objectsize.i64.p0(ptr, i1, i1, i1)
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
declare void @llvm.donothing()
declare void @llvm.sideeffect()
declare i1 @llvm.is.constant.f64(double)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare double @llvm.ssa.copy.f64(double)
define double @f(double %x) {
  %sp = call ptr @llvm.stacksave.p0()
  %n = fptosi double %x to i32
  %n1 = add i32 %n, 2
  %a = alloca double, i32 %n1, align 16
  store double %x, ptr %a
  %l = call ptr @llvm.launder.invariant.group.p0(ptr %a)
  %m = call ptr @llvm.ptrmask.p0.i64(ptr %l, i64 -16)
  call void @llvm.prefetch.p0(ptr %m, i32 0, i32 3, i32 1)
  %v = load double, ptr %m
  %c = fcmp ogt double %v, -100.0
  call void @llvm.assume(i1 %c)
  %e = call i1 @llvm.expect.i1(i1 %c, i1 true)
  %k = call i1 @llvm.is.constant.f64(double %x)
  call void @llvm.donothing()
  call void @llvm.sideeffect()
  %w = select i1 %e, double %v, double 0.0
  %w1 = select i1 %k, double 0.0, double %w
  %w2 = call double @llvm.ssa.copy.f64(double %w1)
  %r = fmul double %w2, %w2
  call void @llvm.stackrestore.p0(ptr %sp)
  ret double %r
}
