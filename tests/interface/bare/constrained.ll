declare double @llvm.experimental.constrained.fadd.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.fmul.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.fdiv.f64(double, double, metadata, metadata)
declare double @llvm.experimental.constrained.sin.f64(double, metadata, metadata)
declare double @llvm.experimental.constrained.sqrt.f64(double, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmp.f64(double, double, metadata, metadata)
declare float @llvm.experimental.constrained.fptrunc.f32.f64(double, metadata, metadata)
declare double @llvm.experimental.constrained.fpext.f64.f32(float, metadata)
declare double @llvm.experimental.constrained.sitofp.f64.i32(i32, metadata, metadata)
define double @f(double %x) strictfp {
  %a = call double @llvm.experimental.constrained.fadd.f64(double %x, double 1.0, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %b = call double @llvm.experimental.constrained.fmul.f64(double %a, double %x, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %c = call double @llvm.experimental.constrained.sin.f64(double %b, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %d = call double @llvm.experimental.constrained.sqrt.f64(double %b, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %e = call double @llvm.experimental.constrained.fdiv.f64(double %c, double %d, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %g = call i1 @llvm.experimental.constrained.fcmp.f64(double %e, double 0.0, metadata !"olt", metadata !"fpexcept.strict") strictfp
  %h = select i1 %g, double %e, double %d
  ret double %h
}
