%o = type { ptr, double }
@vt = internal constant [1 x ptr] [ptr @m]
define internal double @m(ptr %this) {
  %p = getelementptr i8, ptr %this, i64 8
  %v = load double, ptr %p
  %w = fmul double %v, %v
  ret double %w
}
define double @f(double %x) {
  %a = alloca %o
  store ptr @vt, ptr %a, !invariant.group !0
  %p = getelementptr i8, ptr %a, i64 8
  store double %x, ptr %p
  %l = tail call noundef nonnull align 8 ptr @llvm.launder.invariant.group.p0(ptr noundef nonnull align 8 %a)
  %s = call ptr @llvm.strip.invariant.group.p0(ptr nonnull %l)
  %t = load ptr, ptr %s, !invariant.group !0
  %g = load ptr, ptr %t
  %r = call double %g(ptr %s)
  ret double %r
}
declare ptr @llvm.launder.invariant.group.p0(ptr)
declare ptr @llvm.strip.invariant.group.p0(ptr)
!0 = !{}
