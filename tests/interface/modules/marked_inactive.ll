; Instructions, calls and variables marked inactive, which LLVM would inline and forget; a number for a name.
@kept = global double 0.0 #0
declare void @expect(double, double)
declare double @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)
declare double @llvm.pow.f64(double, double)

define internal double @thrice(double %x) {
  %y = fmul double %x, 3.0
  ret double %y
}

define internal void @put(ptr %p, double %x) {
  store double %x, ptr %p
  ret void
}

define double @f(double %x) {
entry:
  %place = alloca double
  %positive = fcmp ogt double %x, 0.0
  br i1 %positive, label %yes, label %end
yes:
  br label %end
end:
  %same = phi double [ %x, %yes ], [ 0.0, %entry ], !enzyme_inactive !0
  %by.attribute = call double @thrice(double %x) "enzyme_inactive"
  %by.metadata = call double @thrice(double %x), !enzyme_inactive !0
  %square = call double @llvm.pow.f64(double %x, double 2.0) #0
  %sum = fadd double %x, 1.0, !enzyme_inactive !0
  call void @put(ptr %place, double %x), !enzyme_inactive !0
  %kept = load double, ptr %place
  %a = fmul double %same, %by.attribute
  %b = fmul double %a, %by.metadata
  %c = fmul double %b, %square
  %d = fmul double %c, %sum
  %e = fmul double %d, %kept
  %r = fmul double %e, %x
  ret double %r
}

define double @through(double %x) {
  store double %x, ptr @kept
  %v = load double, ptr @kept
  %r = fmul double %v, %x
  ret double %r
}

define internal double @0(double %x) {
  %y = fmul double %x, %x
  ret double %y
}

define i32 @main() {
  %a = call double (ptr, ...) @__enzyme_autodiff(ptr @f, double 2.0)
  call void @expect(double %a, double 1728.0)
  %b = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, double 2.0, double 1.0)
  call void @expect(double %b, double 1728.0)
  %c = call double (ptr, ...) @__enzyme_autodiff(ptr @0, double 3.0)
  call void @expect(double %c, double 6.0)
  %d = call double (ptr, ...) @__enzyme_autodiff(ptr @through, double 3.0)
  call void @expect(double %d, double 3.0)
  ret i32 0
}

attributes #0 = { "enzyme_inactive" }
!0 = !{}
