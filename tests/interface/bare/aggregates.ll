%p = type { double, { i32, [2 x double] } }
define internal %p @mk(double %x, i32 %k) {
  %a = insertvalue %p poison, double %x, 0
  %b = insertvalue %p %a, i32 %k, 1, 0
  %x2 = fmul double %x, %x
  %c = insertvalue %p %b, double %x2, 1, 1, 0
  %d = insertvalue %p %c, double 4.0, 1, 1, 1
  ret %p %d
}
define double @f(double %x) {
  %s = call %p @mk(double %x, i32 3)
  %arr = extractvalue %p %s, 1, 1
  %m = alloca [2 x double]
  store [2 x double] %arr, ptr %m
  %l = load %p, ptr @g
  %q = getelementptr [2 x double], ptr %m, i64 0, i64 1
  %y = load double, ptr %q
  %z = load double, ptr %m
  %k = extractvalue %p %s, 1, 0
  %kf = sitofp i32 %k to double
  %w = extractvalue %p %s, 0
  %t = fmul double %y, %z
  %t1 = fmul double %t, %kf
  %t2 = fadd double %t1, %w
  %lv = extractvalue %p %l, 0
  %t3 = fmul double %t2, %lv
  ret double %t3
}
@g = global %p { double 5.0, { i32, [2 x double] } { i32 1, [2 x double] [ double 1.0, double 2.0 ] } }
