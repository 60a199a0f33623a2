define double @f(double %x) {
entry:
  %c = fcmp ogt double %x, 1.0
  br i1 %c, label %a, label %b
a:
  %pa = phi double [ %x, %entry ], [ %vb, %b ]
  %ia = phi i32 [ 0, %entry ], [ %ib1, %b ]
  %va = fmul double %pa, 1.5
  %ia1 = add i32 %ia, 1
  %ca = icmp sgt i32 %ia1, 6
  br i1 %ca, label %e, label %b
b:
  %pb = phi double [ 2.0, %entry ], [ %va, %a ]
  %ib = phi i32 [ 3, %entry ], [ %ia1, %a ]
  %vb0 = fmul double %pb, %x
  %vb = call double @llvm.sin.f64(double %vb0)
  %ib1 = add i32 %ib, 1
  %cb = icmp sgt i32 %ib1, 7
  br i1 %cb, label %e, label %a
e:
  %r = phi double [ %va, %a ], [ %vb, %b ]
  ret double %r
}
declare double @llvm.sin.f64(double)
