; Vectors and structs that are constants and hold addresses of variables: their shadows hold those of the shadows.
@a = internal global double 4.0
@b = internal global double 5.0
@t = internal global <2 x ptr> zeroinitializer
define internal void @into(<2 x ptr> %0, { ptr, [1 x ptr] } %1, double %2) noinline {
  %4 = extractelement <2 x ptr> %0, i32 0
  store double %2, ptr %4
  %5 = extractvalue { ptr, [1 x ptr] } %1, 1, 0
  %6 = fmul double %2, %2
  store double %6, ptr %5
  ret void
}
define internal double @square(ptr %0) noinline {
  %2 = load double, ptr %0
  %3 = fmul double %2, %2
  ret double %3
}
define internal double @same(ptr %0) noinline {
  %2 = load double, ptr %0
  ret double %2
}
define double @f(double %x) {
  store double 4.0, ptr @a
  store double 5.0, ptr @b
  %n = fptosi double %x to i64
  %one = and i64 %n, 1
  %p = extractelement <2 x ptr> <ptr @a, ptr @b>, i64 %one
  store double %x, ptr %p
  %v1 = load double, ptr @a
  %v2 = load double, ptr @b
  %v = fmul double %v1, %v2
  %c = fcmp ogt double %x, 1.0
  br i1 %c, label %yes, label %no
yes:
  br label %no
no:
  %s = phi { ptr, i64 } [ { ptr @a, i64 3 }, %0 ], [ { ptr @b, i64 4 }, %yes ]
  %q = phi <2 x ptr> [ <ptr @a, ptr @b>, %0 ], [ <ptr @b, ptr @a>, %yes ]
  %h = phi { ptr, ptr } [ { ptr @square, ptr @a }, %0 ], [ { ptr @same, ptr @b }, %yes ]
  %i = phi i64 [ ptrtoint (ptr @a to i64), %0 ], [ ptrtoint (ptr @b to i64), %yes ]
  %s0 = extractvalue { ptr, i64 } %s, 0
  %s1 = extractvalue { ptr, i64 } %s, 1
  %q1 = extractelement <2 x ptr> %q, i64 1
  %h0 = extractvalue { ptr, ptr } %h, 0
  %h1 = extractvalue { ptr, ptr } %h, 1
  %ip = inttoptr i64 %i to ptr
  %l = load double, ptr %s0
  %m = sitofp i64 %s1 to double
  %lm = fmul double %l, %m
  store double %lm, ptr %q1
  %w = call double %h0(ptr %h1)
  %u = load double, ptr %ip
  %wu = fmul double %w, %u
  call void @into(<2 x ptr> <ptr @a, ptr @b>, { ptr, [1 x ptr] } { ptr null, [1 x ptr] [ptr @b] }, double %x)
  %k1 = load double, ptr @a
  %k2 = load double, ptr @b
  %k = fmul double %k1, %k2
  store <2 x ptr> <ptr @b, ptr @a>, ptr @t
  %tp = getelementptr ptr, ptr @t, i64 %one
  %t1 = load ptr, ptr %tp
  %t2 = load double, ptr %t1
  %r1 = fadd double %v, %wu
  %r2 = fadd double %r1, %k
  %r = fmul double %r2, %t2
  ret double %r
}
