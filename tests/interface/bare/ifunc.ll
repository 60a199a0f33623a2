@h = ifunc double (double), ptr @resolve
define internal ptr @resolve() {
  ret ptr @k
}
define internal double @k(double %x) {
  %y = fdiv double 1.0, %x
  ret double %y
}
define double @f(double %x) {
  %a = call double @h(double %x)
  ret double %a
}
