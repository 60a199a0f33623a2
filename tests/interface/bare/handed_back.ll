define weak double @w1(double %x, double %y) {
  ret double %y
}
define weak double @w2(ptr %p, double %y, i1 %c) {
  br i1 %c, label %a, label %b
a:
  br label %e
b:
  br label %e
e:
  %r = phi double [ 2.0, %a ], [ %y, %b ]
  ret double %r
}
define weak ptr @w3(ptr %p) {
  ret ptr %p
}
define weak {double, i32} @w4(double %x) {
  %a = insertvalue {double, i32} { double poison, i32 3 }, double %x, 0
  ret {double, i32} %a
}
define double @f(double %x) {
  %a = call double @w1(double 1.0, double %x)
  %b = fmul double %a, %x
  %m = alloca double
  store double %b, ptr %m
  %c = call double @w2(ptr %m, double %b, i1 false)
  %q = call ptr @w3(ptr %m)
  %u = load double, ptr %q
  %v = fmul double %u, %c
  %s = call {double, i32} @w4(double %v)
  %s0 = extractvalue {double, i32} %s, 0
  %s1 = extractvalue {double, i32} %s, 1
  %k = sitofp i32 %s1 to double
  %r = fmul double %s0, %k
  ret double %r
}
