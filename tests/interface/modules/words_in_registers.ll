; Words that are a double and a pointer, moved in registers that are frozen, or become integers before they are stored.
declare void @expect(double, double)
declare void @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)

define internal void @frozen(ptr %to, ptr %from, i64 %n) noinline {
  %tm = getelementptr i8, ptr %to, i64 8
  %fm = getelementptr i8, ptr %from, i64 8
  %a = load double, ptr %from
  %A = freeze double %a
  %b = load double, ptr %fm
  %B = freeze double %b
  store double %B, ptr %to
  store double %A, ptr %tm
  ret void
}

define double @frozen.f(ptr %x) {
  %from = alloca [2 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  call void @frozen(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @frozen.pointers(ptr %to, ptr %from, i64 %n) noinline {
  %tm = getelementptr i8, ptr %to, i64 8
  %fm = getelementptr i8, ptr %from, i64 8
  %a = load ptr, ptr %from
  %A = freeze ptr %a
  %b = load ptr, ptr %fm
  %B = freeze ptr %b
  store ptr %B, ptr %to
  store ptr %A, ptr %tm
  ret void
}

define double @frozen.pointers.f(ptr %x) {
  %from = alloca [2 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  call void @frozen.pointers(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @frozen.lanes(ptr %to, ptr %from, i64 %n) noinline {
  %tm = getelementptr i8, ptr %to, i64 8
  %fm = getelementptr i8, ptr %from, i64 8
  %a = load <2 x double>, ptr %from, align 8
  %A = freeze <2 x double> %a
  %C = shufflevector <2 x double> %A, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  store <2 x double> %C, ptr %to, align 8
  ret void
}

define double @frozen.lanes.f(ptr %x) {
  %from = alloca [2 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  call void @frozen.lanes(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @as.integers(ptr %to, ptr %from, i64 %n) noinline {
  %tm = getelementptr i8, ptr %to, i64 8
  %fm = getelementptr i8, ptr %from, i64 8
  %a = load double, ptr %from
  %A = bitcast double %a to i64
  %b = load double, ptr %fm
  %B = bitcast double %b to i64
  store i64 %B, ptr %to
  store i64 %A, ptr %tm
  ret void
}

define double @as.integers.f(ptr %x) {
  %from = alloca [2 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  call void @as.integers(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @addresses.as.integers(ptr %to, ptr %from, i64 %n) noinline {
  %tm = getelementptr i8, ptr %to, i64 8
  %fm = getelementptr i8, ptr %from, i64 8
  %a = load ptr, ptr %from
  %A = ptrtoint ptr %a to i64
  %b = load ptr, ptr %fm
  %B = ptrtoint ptr %b to i64
  store i64 %B, ptr %to
  store i64 %A, ptr %tm
  ret void
}

define double @addresses.as.integers.f(ptr %x) {
  %from = alloca [2 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  call void @addresses.as.integers(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @chosen.lanes(ptr %to, ptr %from, i64 %n) noinline {
  %tm = getelementptr i8, ptr %to, i64 8
  %fm = getelementptr i8, ptr %from, i64 8
  %i = sub i64 3, %n
  %j = add i64 %i, 1
  %a = load <2 x double>, ptr %from, align 8
  %b = extractelement <2 x double> %a, i64 %i
  %c = extractelement <2 x double> %a, i64 %j
  store double %c, ptr %to
  store double %b, ptr %tm
  ret void
}

define double @chosen.lanes.f(ptr %x) {
  %from = alloca [2 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  call void @chosen.lanes(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

; of x0 x0 x1 at (2, 3)
define void @both(ptr %g) {
  %g0 = load double, ptr %g
  %p1 = getelementptr double, ptr %g, i64 1
  %g1 = load double, ptr %p1
  call void @expect(double %g0, double 12.0)
  call void @expect(double %g1, double 4.0)
  ret void
}

define i32 @main() {
  %x = alloca [2 x double]
  %g = alloca [2 x double]
  %t = alloca [2 x double]
  store [2 x double] [double 2.0, double 3.0], ptr %x
  store [2 x double] [double 1.0, double 1.0], ptr %t
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @frozen.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %frozen.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @frozen.f, ptr %x, ptr %t)
  call void @expect(double %frozen.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @frozen.pointers.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %frozen.pointers.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @frozen.pointers.f, ptr %x, ptr %t)
  call void @expect(double %frozen.pointers.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @frozen.lanes.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %frozen.lanes.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @frozen.lanes.f, ptr %x, ptr %t)
  call void @expect(double %frozen.lanes.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @as.integers.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %as.integers.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @as.integers.f, ptr %x, ptr %t)
  call void @expect(double %as.integers.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @addresses.as.integers.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %addresses.as.integers.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @addresses.as.integers.f, ptr %x, ptr %t)
  call void @expect(double %addresses.as.integers.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @chosen.lanes.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %chosen.lanes.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @chosen.lanes.f, ptr %x, ptr %t)
  call void @expect(double %chosen.lanes.t, double 16.0)
  ret i32 0
}
