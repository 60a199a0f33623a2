declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare ptr @llvm.ptr.annotation.p0.p0(ptr, ptr, ptr, i32, ptr)
@word = private constant [4 x i8] c"hey\00"
define double @f(double %x) {
  %m = alloca [16 x double], align 8
  %o = getelementptr i8, ptr %m, i64 63
  %k = call ptr @llvm.ptrmask.p0.i64(ptr %o, i64 -64)
  %a = call ptr @llvm.ptr.annotation.p0.p0(ptr %k, ptr @word, ptr @word, i32 1, ptr null)
  store double %x, ptr %a
  %w = load double, ptr %k
  %n = getelementptr double, ptr %k, i64 1
  %first = call ptr @llvm.ptrmask.p0.i64(ptr nonnull align 8 %n, i64 -64)
  %v = load double, ptr %first
  %r = fmul double %w, %v
  ret double %r
}
