; Words that are a double and a pointer, moved in lanes of vectors of either type, or of integers: shuffled, chosen, round loops, one by one.
declare void @expect(double, double)
declare void @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)

define internal void @shuffled.double(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x double>, ptr %from, align 8
  %s = shufflevector <2 x double> %v, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  store <2 x double> %s, ptr %to, align 8
  ret void
}

define double @shuffled.double.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @shuffled.double(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @chosen.double(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %more = getelementptr i8, ptr %from, i64 8
  %v = load <2 x double>, ptr %from, align 8
  %w = load <2 x double>, ptr %more, align 8
  %c = icmp eq i64 %n, 3
  %x = select i1 %c, <2 x double> %w, <2 x double> %v
  %s = shufflevector <2 x double> %v, <2 x double> %x, <2 x i32> <i32 2, i32 0>
  store <2 x double> %s, ptr %to, align 8
  ret void
}

define double @chosen.double.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @chosen.double(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @one_by_one.double(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x double>, ptr %from, align 8
  %a = extractelement <2 x double> %v, i64 0
  %b = extractelement <2 x double> %v, i64 1
  %s = insertelement <2 x double> poison, double %b, i64 0
  %t = insertelement <2 x double> %s, double %a, i64 1
  store <2 x double> %t, ptr %to, align 8
  ret void
}

define double @one_by_one.double.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @one_by_one.double(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @apart.double(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x double>, ptr %from, align 8
  %a = extractelement <2 x double> %v, i64 0
  %b = extractelement <2 x double> %v, i64 1
  store double %b, ptr %to, align 8
  %more = getelementptr i8, ptr %to, i64 8
  store double %a, ptr %more, align 8
  ret void
}

define double @apart.double.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @apart.double(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @round.double(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x double>, ptr %from, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi <2 x double> [ %v, %entry ], [ %t, %loop ]
  %t = shufflevector <2 x double> %s, <2 x double> poison, <2 x i32> <i32 1, i32 0>
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  store <2 x double> %t, ptr %to, align 8
  ret void
}

define double @round.double.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @round.double(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @shuffled.ptr(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x ptr>, ptr %from, align 8
  %s = shufflevector <2 x ptr> %v, <2 x ptr> poison, <2 x i32> <i32 1, i32 0>
  store <2 x ptr> %s, ptr %to, align 8
  ret void
}

define double @shuffled.ptr.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @shuffled.ptr(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @chosen.ptr(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %more = getelementptr i8, ptr %from, i64 8
  %v = load <2 x ptr>, ptr %from, align 8
  %w = load <2 x ptr>, ptr %more, align 8
  %c = icmp eq i64 %n, 3
  %x = select i1 %c, <2 x ptr> %w, <2 x ptr> %v
  %s = shufflevector <2 x ptr> %v, <2 x ptr> %x, <2 x i32> <i32 2, i32 0>
  store <2 x ptr> %s, ptr %to, align 8
  ret void
}

define double @chosen.ptr.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @chosen.ptr(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @one_by_one.ptr(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x ptr>, ptr %from, align 8
  %a = extractelement <2 x ptr> %v, i64 0
  %b = extractelement <2 x ptr> %v, i64 1
  %s = insertelement <2 x ptr> poison, ptr %b, i64 0
  %t = insertelement <2 x ptr> %s, ptr %a, i64 1
  store <2 x ptr> %t, ptr %to, align 8
  ret void
}

define double @one_by_one.ptr.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @one_by_one.ptr(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @apart.ptr(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x ptr>, ptr %from, align 8
  %a = extractelement <2 x ptr> %v, i64 0
  %b = extractelement <2 x ptr> %v, i64 1
  store ptr %b, ptr %to, align 8
  %more = getelementptr i8, ptr %to, i64 8
  store ptr %a, ptr %more, align 8
  ret void
}

define double @apart.ptr.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @apart.ptr(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @round.ptr(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x ptr>, ptr %from, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi <2 x ptr> [ %v, %entry ], [ %t, %loop ]
  %t = shufflevector <2 x ptr> %s, <2 x ptr> poison, <2 x i32> <i32 1, i32 0>
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  store <2 x ptr> %t, ptr %to, align 8
  ret void
}

define double @round.ptr.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @round.ptr(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @shuffled.i64(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x i64>, ptr %from, align 8
  %s = shufflevector <2 x i64> %v, <2 x i64> poison, <2 x i32> <i32 1, i32 0>
  store <2 x i64> %s, ptr %to, align 8
  ret void
}

define double @shuffled.i64.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @shuffled.i64(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @chosen.i64(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %more = getelementptr i8, ptr %from, i64 8
  %v = load <2 x i64>, ptr %from, align 8
  %w = load <2 x i64>, ptr %more, align 8
  %c = icmp eq i64 %n, 3
  %x = select i1 %c, <2 x i64> %w, <2 x i64> %v
  %s = shufflevector <2 x i64> %v, <2 x i64> %x, <2 x i32> <i32 2, i32 0>
  store <2 x i64> %s, ptr %to, align 8
  ret void
}

define double @chosen.i64.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @chosen.i64(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @one_by_one.i64(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x i64>, ptr %from, align 8
  %a = extractelement <2 x i64> %v, i64 0
  %b = extractelement <2 x i64> %v, i64 1
  %s = insertelement <2 x i64> poison, i64 %b, i64 0
  %t = insertelement <2 x i64> %s, i64 %a, i64 1
  store <2 x i64> %t, ptr %to, align 8
  ret void
}

define double @one_by_one.i64.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @one_by_one.i64(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @apart.i64(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x i64>, ptr %from, align 8
  %a = extractelement <2 x i64> %v, i64 0
  %b = extractelement <2 x i64> %v, i64 1
  store i64 %b, ptr %to, align 8
  %more = getelementptr i8, ptr %to, i64 8
  store i64 %a, ptr %more, align 8
  ret void
}

define double @apart.i64.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @apart.i64(ptr %to, ptr %from, i64 3)
  %p = load ptr, ptr %to
  %at = getelementptr i8, ptr %to, i64 8
  %d = load double, ptr %at
  %e = load double, ptr %p
  %r = fmul double %d, %e
  ret double %r
}

define internal void @round.i64(ptr %to, ptr %from, i64 %n) noinline {
entry:
  %v = load <2 x i64>, ptr %from, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi <2 x i64> [ %v, %entry ], [ %t, %loop ]
  %t = shufflevector <2 x i64> %s, <2 x i64> poison, <2 x i32> <i32 1, i32 0>
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  store <2 x i64> %t, ptr %to, align 8
  ret void
}

define double @round.i64.f(ptr %x) {
  %from = alloca [4 x i64], align 8
  %to = alloca [2 x i64], align 8
  %second = getelementptr i8, ptr %from, i64 8
  %third = getelementptr i8, ptr %from, i64 16
  %x0 = load double, ptr %x
  %square = fmul double %x0, %x0
  store double %square, ptr %from
  %x1 = getelementptr double, ptr %x, i64 1
  store ptr %x1, ptr %second
  store double %square, ptr %third
  call void @round.i64(ptr %to, ptr %from, i64 3)
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
  call void (ptr, ...) @__enzyme_autodiff(ptr @shuffled.double.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %shuffled.double.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @shuffled.double.f, ptr %x, ptr %t)
  call void @expect(double %shuffled.double.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @chosen.double.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %chosen.double.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @chosen.double.f, ptr %x, ptr %t)
  call void @expect(double %chosen.double.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @one_by_one.double.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %one_by_one.double.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @one_by_one.double.f, ptr %x, ptr %t)
  call void @expect(double %one_by_one.double.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @apart.double.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %apart.double.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @apart.double.f, ptr %x, ptr %t)
  call void @expect(double %apart.double.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @round.double.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %round.double.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @round.double.f, ptr %x, ptr %t)
  call void @expect(double %round.double.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @shuffled.ptr.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %shuffled.ptr.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @shuffled.ptr.f, ptr %x, ptr %t)
  call void @expect(double %shuffled.ptr.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @chosen.ptr.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %chosen.ptr.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @chosen.ptr.f, ptr %x, ptr %t)
  call void @expect(double %chosen.ptr.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @one_by_one.ptr.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %one_by_one.ptr.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @one_by_one.ptr.f, ptr %x, ptr %t)
  call void @expect(double %one_by_one.ptr.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @apart.ptr.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %apart.ptr.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @apart.ptr.f, ptr %x, ptr %t)
  call void @expect(double %apart.ptr.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @round.ptr.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %round.ptr.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @round.ptr.f, ptr %x, ptr %t)
  call void @expect(double %round.ptr.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @shuffled.i64.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %shuffled.i64.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @shuffled.i64.f, ptr %x, ptr %t)
  call void @expect(double %shuffled.i64.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @chosen.i64.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %chosen.i64.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @chosen.i64.f, ptr %x, ptr %t)
  call void @expect(double %chosen.i64.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @one_by_one.i64.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %one_by_one.i64.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @one_by_one.i64.f, ptr %x, ptr %t)
  call void @expect(double %one_by_one.i64.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @apart.i64.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %apart.i64.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @apart.i64.f, ptr %x, ptr %t)
  call void @expect(double %apart.i64.t, double 16.0)
  store [2 x double] zeroinitializer, ptr %g
  call void (ptr, ...) @__enzyme_autodiff(ptr @round.i64.f, ptr %x, ptr %g)
  call void @both(ptr %g)
  %round.i64.t = call double (ptr, ...) @__enzyme_fwddiff(ptr @round.i64.f, ptr %x, ptr %t)
  call void @expect(double %round.i64.t, double 16.0)
  ret i32 0
}
