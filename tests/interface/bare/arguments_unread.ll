; More arguments than the function has names for, which never looks at them.
define internal double @g(double %0, ...) noinline {
  %2 = fmul double %0, %0
  ret double %2
}
define double @f(double %0) {
  %2 = call double (double, ...) @g(double %0, double %0, i32 4)
  %3 = call double (double, ...) @g(double %2)
  ret double %3
}
