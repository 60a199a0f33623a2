define internal double @odd(double %x, i32 %n) {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %a, label %b
a:
  ret double %x
b:
  %y = fmul double %x, %x
  %m = sub i32 %n, 1
  %r = musttail call double @even(double %y, i32 %m)
  ret double %r
}
define internal double @even(double %x, i32 %n) {
  %z = icmp eq i32 %n, 0
  br i1 %z, label %a, label %b
a:
  ret double %x
b:
  %y = fadd double %x, 0.25
  %m = sub i32 %n, 1
  %r = musttail call double @odd(double %y, i32 %m)
  ret double %r
}
define double @f(double %x) {
  %r = tail call double @even(double %x, i32 5)
  ret double %r
}
