; The module's own assembly stays one, also where there are several derivatives.
module asm ".globl a_label_of_the_module"
module asm "a_label_of_the_module:"
declare void @expect(double, double)
declare double @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)

define double @f(double %x) {
  %y = fmul double %x, %x
  ret double %y
}

define i32 @main() {
  %a = call double (ptr, ...) @__enzyme_autodiff(ptr @f, double 2.0)
  call void @expect(double %a, double 4.0)
  %b = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, double 2.0, double 1.0)
  call void @expect(double %b, double 4.0)
  ret i32 0
}
