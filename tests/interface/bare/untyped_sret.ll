; As LLVM 11 wrote it: pointers have types, so attributes have none.
%whole = type { double, [2 x float] }
define internal void @g(%whole* noalias nocapture sret align 8 %0, %whole* byval align 8 %1, { double, i32 }* byval %2) noinline {
  %4 = getelementptr inbounds %whole, %whole* %1, i32 0, i32 0
  %5 = load double, double* %4
  %6 = getelementptr inbounds { double, i32 }, { double, i32 }* %2, i32 0, i32 0
  %7 = load double, double* %6
  %8 = fmul double %5, %7
  store double 7.0, double* %4
  %9 = getelementptr inbounds %whole, %whole* %0, i32 0, i32 0
  store double %8, double* %9
  ret void
}
define double @f(double %0) {
  %2 = alloca %whole
  %3 = alloca %whole
  %4 = alloca { double, i32 }
  %5 = getelementptr inbounds %whole, %whole* %2, i32 0, i32 0
  store double %0, double* %5
  %6 = getelementptr inbounds { double, i32 }, { double, i32 }* %4, i32 0, i32 0
  store double %0, double* %6
  call void @g(%whole* sret align 8 %3, %whole* byval align 8 %2, { double, i32 }* byval %4)
  %7 = getelementptr inbounds %whole, %whole* %3, i32 0, i32 0
  %8 = load double, double* %7
  %9 = load double, double* %5
  %10 = fmul double %8, %9
  ret double %10
}
