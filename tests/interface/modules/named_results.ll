; Structs with a name as results, and arrays by value as arguments, without markers.
declare void @expect(double, double)
%pair = type { double, %inner }
%inner = type { double }
declare %pair @__enzyme_fwddiff(ptr, ...)
declare { %pair, %pair } @__enzyme_fwddiff_both(ptr, ...)
declare [2 x double] @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff_of_array(ptr, ...)

define %pair @powers(double %x) {
  %square = fmul double %x, %x
  %cube = fmul double %square, %x
  %a = insertvalue %pair poison, double %square, 0
  %b = insertvalue %pair %a, double %cube, 1, 0
  ret %pair %b
}

define double @product([2 x double] %p) {
  %a = extractvalue [2 x double] %p, 0
  %b = extractvalue [2 x double] %p, 1
  %r = fmul double %a, %b
  ret double %r
}

define i32 @main() {
  %t = call %pair (ptr, ...) @__enzyme_fwddiff(ptr @powers, double 2.0, double 1.0)
  %t0 = extractvalue %pair %t, 0
  %t1 = extractvalue %pair %t, 1, 0
  call void @expect(double %t0, double 4.0)
  call void @expect(double %t1, double 12.0)
  %both = call { %pair, %pair } (ptr, ...) @__enzyme_fwddiff_both(ptr @powers, metadata !"enzyme_primal_return", double 2.0, double 1.0)
  %value = extractvalue { %pair, %pair } %both, 0, 1, 0
  %slope = extractvalue { %pair, %pair } %both, 1, 1, 0
  call void @expect(double %value, double 8.0)
  call void @expect(double %slope, double 12.0)
  %g = call [2 x double] (ptr, ...) @__enzyme_autodiff(ptr @product, [2 x double] [ double 2.0, double 3.0 ])
  %g0 = extractvalue [2 x double] %g, 0
  %g1 = extractvalue [2 x double] %g, 1
  call void @expect(double %g0, double 3.0)
  call void @expect(double %g1, double 2.0)
  %d = call double (ptr, ...) @__enzyme_fwddiff_of_array(ptr @product, [2 x double] [ double 2.0, double 3.0 ], [2 x double] [ double 1.0, double 1.0 ])
  call void @expect(double %d, double 5.0)
  ret i32 0
}
