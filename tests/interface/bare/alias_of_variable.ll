@a = internal global [4 x double] zeroinitializer
@second = internal alias double, getelementptr inbounds ([4 x double], ptr @a, i64 0, i64 1)
@b = global double 0.0
@shown = alias double, ptr @b
define double @f(double %x) {
  store double %x, ptr @second
  store double %x, ptr @shown
  %p = getelementptr double, ptr @a, i64 1
  %v = load double, ptr %p
  %w = load double, ptr @b
  %y = fmul double %v, %w
  store double %y, ptr %p
  %r = load double, ptr @second
  ret double %r
}
