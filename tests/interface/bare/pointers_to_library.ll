; what clang writes with -ffast-math: attributes with operands
declare nofpclass(nan inf) double @sin(double noundef nofpclass(nan inf)) memory(none)
declare nofpclass(nan inf) double @exp(double noundef nofpclass(nan inf)) memory(none)
@table = internal constant [2 x ptr] [ptr @sin, ptr @exp]
define double @f(double %x) {
  %k = fptosi double %x to i64
  %n = and i64 %k, 1
  %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %n
  %g = load ptr, ptr %p
  %y = call nofpclass(nan inf) double %g(double nofpclass(nan inf) %x)
  %z = fmul double %y, %x
  ret double %z
}
