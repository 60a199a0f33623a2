define internal swiftcc void @g(ptr swiftself %s, ptr swifterror %e, double %x) noinline {
  %v = load double, ptr %s
  %w = fmul double %v, %x
  store double %w, ptr %s
  ret void
}
define double @f(double %x) {
  %e = alloca swifterror ptr
  store ptr null, ptr %e
  %m = alloca double
  store double %x, ptr %m
  call swiftcc void @g(ptr swiftself %m, ptr swifterror %e, double %x)
  %r = load double, ptr %m
  ret double %r
}
