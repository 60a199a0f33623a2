; The first pointer of an address space is what a function returns; others are chosen, kept and loaded.
define internal ptr addrspace(10) @same(ptr addrspace(10) %0) noinline {
  ret ptr addrspace(10) %0
}
define double @f(double %0) {
  %2 = alloca [2 x double]
  %3 = alloca ptr addrspace(10)
  %4 = addrspacecast ptr %2 to ptr addrspace(10)
  %5 = call ptr addrspace(10) @same(ptr addrspace(10) %4)
  store ptr addrspace(10) %5, ptr %3
  %6 = load ptr addrspace(10), ptr %3
  %7 = addrspacecast ptr addrspace(10) %6 to ptr addrspace(11)
  %8 = getelementptr inbounds double, ptr addrspace(11) %7, i64 1
  store double %0, ptr addrspace(11) %8
  %9 = icmp eq ptr addrspace(11) %8, null
  %10 = select i1 %9, ptr addrspace(11) null, ptr addrspace(11) %8
  %11 = load double, ptr addrspace(11) %10
  %12 = fmul double %11, %0
  ret double %12
}
