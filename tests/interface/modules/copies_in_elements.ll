; Copies and fills whose elements are atomic, as garbage-collected languages have them; this is their runtime.
declare void @expect(double, double)
declare void @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)
declare void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)
declare void @llvm.memmove.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)
declare void @llvm.memset.element.unordered.atomic.p0.i64(ptr, i8, i64, i32)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @__llvm_memcpy_element_unordered_atomic_8(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
define void @__llvm_memmove_element_unordered_atomic_8(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
define void @__llvm_memset_element_unordered_atomic_8(ptr %to, i8 %c, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %to, i8 %c, i64 %n, i1 false)
  ret void
}

; x y behind a copy that is moved on by one element, and of which the first is cleared: 0 x y, then x (x + y)
define double @f(ptr %x) {
  %a = alloca [3 x double], align 8
  call void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr align 8 %a, ptr align 8 %x, i64 16, i32 8)
  %a1 = getelementptr double, ptr %a, i64 1
  call void @llvm.memmove.element.unordered.atomic.p0.p0.i64(ptr align 8 %a1, ptr align 8 %a, i64 16, i32 8)
  call void @llvm.memset.element.unordered.atomic.p0.i64(ptr align 8 %a, i8 0, i64 8, i32 8)
  %a2 = getelementptr double, ptr %a, i64 2
  %v0 = load double, ptr %a
  %v1 = load double, ptr %a1
  %v2 = load double, ptr %a2
  %s0 = fadd double %v0, %v1
  %s = fadd double %s0, %v2
  %r = fmul double %v1, %s
  ret double %r
}

define i32 @main() {
  %x = alloca [2 x double]
  %g = alloca [2 x double]
  %t = alloca [2 x double]
  store [2 x double] [double 3.0, double 5.0], ptr %x
  store [2 x double] zeroinitializer, ptr %g
  store [2 x double] [double 1.0, double 10.0], ptr %t
  call void (ptr, ...) @__enzyme_autodiff(ptr @f, ptr %x, ptr %g)
  %g1 = getelementptr double, ptr %g, i64 1
  %d0 = load double, ptr %g
  %d1 = load double, ptr %g1
  call void @expect(double %d0, double 11.0)
  call void @expect(double %d1, double 3.0)
  %d = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, ptr %x, ptr %t)
  call void @expect(double %d, double 41.0)
  ret i32 0
}
