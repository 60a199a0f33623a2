declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
define internal double @g(i32 %n, ...) {
  %list = alloca [24 x i8], align 16
  call void @llvm.va_start.p0(ptr %list)
  %a = va_arg ptr %list, double
  %k = va_arg ptr %list, i32
  %p = va_arg ptr %list, ptr
  call void @llvm.va_end.p0(ptr %list)
  %b = load double, ptr %p
  %c = sitofp i32 %k to double
  %ab = fmul double %a, %b
  %cd = fmul double %c, %b
  %r = fadd double %ab, %cd
  ret double %r
}
define double @f(double %x) {
  %y = fmul double %x, %x
  %m = alloca double
  store double %y, ptr %m
  %r = call double (i32, ...) @g(i32 1, double %x, i32 3, ptr %m)
  ret double %r
}
