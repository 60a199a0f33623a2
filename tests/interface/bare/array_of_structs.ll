%s = type { i8, double, [3 x { float, double }] }
define double @f(double %x) {
  %a = alloca %s
  %p = getelementptr inbounds %s, ptr %a, i32 0, i32 1
  store double %x, ptr %p
  br label %h
h:
  %i = phi i64 [ 0, %0 ], [ %n, %h ]
  %q = getelementptr %s, ptr %a, i64 0, i32 2, i64 %i, i32 1
  %v = load double, ptr %p
  %w = fmul double %v, %x
  store double %w, ptr %q
  store double %w, ptr %p
  %qf = getelementptr %s, ptr %a, i64 0, i32 2, i64 %i
  %t = fptrunc double %w to float
  store float 1.0, ptr %qf
  %n = add nuw nsw i64 %i, 1
  %c = icmp eq i64 %n, 3
  br i1 %c, label %e, label %h
e:
  %q1 = getelementptr %s, ptr %a, i64 0, i32 2, i64 1, i32 1
  %q2 = getelementptr %s, ptr %a, i64 0, i32 2, i64 2, i32 1
  %l1 = load double, ptr %q1
  %l2 = load double, ptr %q2
  %r = fdiv double %l1, %l2
  %r2 = fadd double %r, %l1
  ret double %r2
}
