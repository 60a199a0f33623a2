; What metadata says of variables that are not in address space 0.
@w = internal addrspace(1) global [2 x double] zeroinitializer, !enzyme_shadow !0
@dw = internal addrspace(1) global [2 x double] zeroinitializer
@log = internal addrspace(1) global double 0.0, !enzyme_inactive !1
!0 = !{ptr addrspace(1) @dw}
!1 = !{}
declare void @expect(double, double)
declare double @__enzyme_autodiff(ptr, ...)

define double @f(double %x) {
  %w = load double, ptr addrspace(1) getelementptr ([2 x double], ptr addrspace(1) @w, i64 0, i64 1)
  %r = fmul double %w, %x
  store double %r, ptr addrspace(1) @log
  %l = load double, ptr addrspace(1) @log
  %s = fmul double %r, %l
  ret double %s
}

define i32 @main() {
  store double 3.0, ptr addrspace(1) getelementptr ([2 x double], ptr addrspace(1) @w, i64 0, i64 1)
  %d = call double (ptr, ...) @__enzyme_autodiff(ptr @f, double 2.0)
  call void @expect(double %d, double 18.0)
  %s = load double, ptr addrspace(1) getelementptr ([2 x double], ptr addrspace(1) @dw, i64 0, i64 1)
  call void @expect(double %s, double 12.0)
  ret i32 0
}
