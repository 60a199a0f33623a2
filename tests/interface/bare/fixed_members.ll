; Integers in structs of registers that are constants and that nobody looks at; and what no instruction touches.
%pair = type { float, [2 x i32] }
%whole = type { double, %pair }
define internal %whole @made(double %0) noinline {
  %2 = insertvalue %whole undef, double %0, 0
  %3 = insertvalue %whole %2, i32 7, 1, 1, 1
  %4 = insertvalue %whole %3, i32 3, 1, 1, 0
  ret %whole %4
}
define internal [2 x { double, i64 }] @twice(double %0) noinline {
  %2 = fmul double %0, %0
  %3 = insertvalue [2 x { double, i64 }] undef, double %0, 0, 0
  %4 = insertvalue [2 x { double, i64 }] %3, i64 4, 0, 1
  %5 = insertvalue [2 x { double, i64 }] %4, double %2, 1, 0
  %6 = insertvalue [2 x { double, i64 }] %5, i64 5, 1, 1
  ret [2 x { double, i64 }] %6
}
define double @f(double %0) {
  %2 = call %whole @made(double %0)
  %3 = fmul double %0, 2.0
  %4 = call %whole @made(double %3)
  %5 = fcmp ogt double %0, 1.0
  %6 = select i1 %5, %whole %2, %whole %4
  %7 = extractvalue %whole %6, 0
  %8 = extractvalue %whole %6, 1, 1, 1
  %9 = sitofp i32 %8 to double
  %10 = call [2 x { double, i64 }] @twice(double %7)
  %11 = extractvalue [2 x { double, i64 }] %10, 1
  %12 = extractvalue { double, i64 } %11, 0
  %13 = extractvalue [2 x { double, i64 }] %10, 0, 1
  %14 = sitofp i64 %13 to double
  %15 = insertvalue { double, i32 } undef, double %12, 0
  %16 = freeze { double, i32 } %15
  %17 = extractvalue { double, i32 } %16, 0
  %18 = fmul double %17, %9
  %19 = fmul double %18, %14
  ret double %19
}
