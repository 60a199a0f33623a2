%mixed = type { ptr, i64, double }
define internal %mixed @make(ptr %p, double %x) noinline {
  %a = insertvalue %mixed poison, ptr %p, 0
  %b = insertvalue %mixed %a, i64 1, 1
  %c = insertvalue %mixed %b, double %x, 2
  ret %mixed %c
}
define internal double @use(%mixed %t) noinline {
  %p = extractvalue %mixed %t, 0
  %i = extractvalue %mixed %t, 1
  %x = extractvalue %mixed %t, 2
  %q = getelementptr double, ptr %p, i64 %i
  %v = load double, ptr %q
  %r = fmul double %v, %x
  store double %r, ptr %q
  ret double %r
}
define double @f(double %x) {
  %m = alloca [2 x double]
  %n = getelementptr double, ptr %m, i64 1
  store double %x, ptr %n
  %t = call %mixed @make(ptr %m, double %x)
  %a = call double @use(%mixed %t)
  %b = call double @use(%mixed %t)
  %r = fadd double %a, %b
  ret double %r
}
