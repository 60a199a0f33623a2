; What is said of memory of several kinds: a float or a double first, then an integer or another float.
declare void @expect(double, double)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @__enzyme_autodiff(ptr, ...)
declare void @__enzyme_double(ptr, i64)
declare void @__enzyme_integer(ptr, i64)

define void @by.attribute(ptr "enzyme_type"="{[-1]:Pointer, [-1,0]:Float@double, [-1,8]:Integer}" %x, ptr %y) {
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 16, i1 false)
  ret void
}

define void @by.calls(ptr %x, ptr %y) {
  call void @__enzyme_double(ptr %x, i64 8)
  %p = getelementptr i8, ptr %x, i64 8
  call void @__enzyme_integer(ptr %p, i64 8)
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 16, i1 false)
  ret void
}

define void @two.floats(ptr "enzyme_type"="{[-1]:Pointer, [-1,0]:Float@double, [-1,8]:Float@float, [-1,12]:Float@float}" %x, ptr %y) {
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 16, i1 false)
  ret void
}

define i32 @main() {
  %x = alloca { double, i64 }
  %dx = alloca { double, i64 }
  %y = alloca { double, i64 }
  %dy = alloca { double, i64 }
  store { double, i64 } { double 2.0, i64 7 }, ptr %x
  store { double, i64 } zeroinitializer, ptr %dx
  store { double, i64 } { double 3.0, i64 0 }, ptr %dy
  call void (ptr, ...) @__enzyme_autodiff(ptr @by.attribute, ptr %x, ptr %dx, ptr %y, ptr %dy)
  %a = load double, ptr %dx
  call void @expect(double %a, double 3.0)
  %q = getelementptr i8, ptr %y, i64 8
  %n = load i64, ptr %q
  %b = sitofp i64 %n to double
  call void @expect(double %b, double 7.0)
  store { double, i64 } { double 5.0, i64 0 }, ptr %dy
  call void (ptr, ...) @__enzyme_autodiff(ptr @by.calls, ptr %x, ptr %dx, ptr %y, ptr %dy)
  %c = load double, ptr %dx
  call void @expect(double %c, double 8.0)
  %u = alloca { double, float, float }
  %du = alloca { double, float, float }
  %v = alloca { double, float, float }
  %dv = alloca { double, float, float }
  store { double, float, float } { double 2.0, float 3.0, float 4.0 }, ptr %u
  store { double, float, float } zeroinitializer, ptr %du
  store { double, float, float } { double 5.0, float 6.0, float 7.0 }, ptr %dv
  call void (ptr, ...) @__enzyme_autodiff(ptr @two.floats, ptr %u, ptr %du, ptr %v, ptr %dv)
  %w = load { double, float, float }, ptr %du
  %d = extractvalue { double, float, float } %w, 0
  %e = extractvalue { double, float, float } %w, 2
  %f = fpext float %e to double
  call void @expect(double %d, double 5.0)
  call void @expect(double %f, double 7.0)
  ret i32 0
}
