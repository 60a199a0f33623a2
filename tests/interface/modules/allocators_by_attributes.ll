; Memory from functions that are not here, of which attributes say what they do: shadows come from there, too.
declare void @expect(double, double)
declare double @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)
declare noalias ptr @pool_get(ptr, i64) allockind("alloc,uninitialized") allocsize(1) "alloc-family"="pool"
declare void @pool_release(ptr allocptr) allockind("free") "alloc-family"="pool"
declare i64 @pool_left()

define void @square(ptr %p) noinline {
  %v = load double, ptr %p
  %w = fmul double %v, %v
  store double %w, ptr %p
  ret void
}

define double @f(double %x) {
  %p = call ptr @pool_get(ptr null, i64 16)
  %q = getelementptr double, ptr %p, i64 1
  store double %x, ptr %p
  store double %x, ptr %q
  call void @square(ptr %p)
  call void @square(ptr %p)
  %a = load double, ptr %p
  %b = load double, ptr %q
  %r = fmul double %a, %b
  call void @pool_release(ptr %p)
  ret double %r
}

define i32 @main() {
  %d = call double (ptr, ...) @__enzyme_autodiff(ptr @f, double 2.0)
  call void @expect(double %d, double 80.0)
  %t = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, double 2.0, double 1.0)
  call void @expect(double %t, double 80.0)
  %n = call i64 @pool_left()
  %m = sitofp i64 %n to double
  call void @expect(double %m, double 0.0)
  ret i32 0
}
