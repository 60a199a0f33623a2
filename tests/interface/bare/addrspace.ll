@g = addrspace(1) global [4 x double] zeroinitializer
define double @f(double %x) {
  %a = addrspacecast ptr addrspace(1) @g to ptr
  store double %x, ptr addrspace(1) @g
  %y = load double, ptr %a
  %z = fmul double %y, %x
  ret double %z
}
