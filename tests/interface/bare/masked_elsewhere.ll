; Masked accesses, and vectors of addresses, in another address space.
declare <2 x double> @llvm.masked.gather.v2f64.v2p1(<2 x ptr addrspace(1)>, i32, <2 x i1>, <2 x double>)
declare void @llvm.masked.scatter.v2f64.v2p1(<2 x double>, <2 x ptr addrspace(1)>, i32, <2 x i1>)
declare <2 x double> @llvm.masked.load.v2f64.p1(ptr addrspace(1), i32, <2 x i1>, <2 x double>)
declare void @llvm.masked.store.v2f64.p1(<2 x double>, ptr addrspace(1), i32, <2 x i1>)
define double @f(double %0) {
  %2 = alloca [4 x double]
  store [4 x double] [double 1.0, double 3.0, double 5.0, double 7.0], ptr %2
  store double %0, ptr %2
  %3 = addrspacecast ptr %2 to ptr addrspace(1)
  %4 = getelementptr double, ptr addrspace(1) %3, <2 x i64> <i64 1, i64 0>
  %5 = fcmp ogt double %0, 1.0
  %6 = insertelement <2 x i1> <i1 true, i1 true>, i1 %5, i32 0
  %7 = insertelement <2 x double> <double 2.0, double 9.0>, double %0, i32 0
  %8 = call <2 x double> @llvm.masked.gather.v2f64.v2p1(<2 x ptr addrspace(1)> %4, i32 8, <2 x i1> %6, <2 x double> %7)
  %9 = call <2 x double> @llvm.masked.load.v2f64.p1(ptr addrspace(1) %3, i32 8, <2 x i1> <i1 1, i1 0>, <2 x double> %7)
  %10 = fmul <2 x double> %8, %9
  %11 = getelementptr i8, <2 x ptr addrspace(1)> %4, i64 16
  call void @llvm.masked.scatter.v2f64.v2p1(<2 x double> %10, <2 x ptr addrspace(1)> %11, i32 8, <2 x i1> %6)
  call void @llvm.masked.store.v2f64.p1(<2 x double> %10, ptr addrspace(1) %3, i32 8, <2 x i1> <i1 0, i1 1>)
  %12 = load <4 x double>, ptr %2, align 8
  %13 = fmul <4 x double> %12, %12
  %14 = extractelement <4 x double> %13, i32 1
  %15 = extractelement <4 x double> %13, i32 2
  %16 = extractelement <4 x double> %13, i32 3
  %17 = fmul double %14, %15
  %18 = fadd double %17, %16
  ret double %18
}
