@g1 = internal global double 0.0
@g2 = internal global double 0.0
define double @f(double %x) {
entry:
  store double %x, ptr @g1
  %y = fmul double %x, %x
  store double %y, ptr @g2
  br label %h
h:
  %p = phi ptr [ @g1, %entry ], [ %q, %h ]
  %q = phi ptr [ @g2, %entry ], [ %p, %h ]
  %i = phi i32 [ 0, %entry ], [ %i1, %h ]
  %a = load double, ptr %p
  %b = load double, ptr %q
  %c = fmul double %a, %b
  store double %c, ptr %p
  %i1 = add i32 %i, 1
  %d = icmp slt i32 %i1, 4
  br i1 %d, label %h, label %e
e:
  %r = load double, ptr @g1
  %l = call double @llvm.log.f64(double %r)
  ret double %l
}
declare double @llvm.log.f64(double)
