@a = internal global [4 x double] zeroinitializer
define double @f(double %x) {
  %m = fmul double %x, %x
  store double %m, ptr inttoptr (i64 add (i64 ptrtoint (ptr @a to i64), i64 8) to ptr)
  %p = getelementptr double, ptr @a, i64 1
  %w = load double, ptr %p
  ret double %w
}
