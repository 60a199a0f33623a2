; Every instruction with its flags, orderings, bundles and pads.
target triple = "x86_64-pc-windows-msvc"

%pair = type { i32, double }
@g = global i32 0

declare i32 @__CxxFrameHandler3(...)
declare i32 @__gxx_personality_v0(...)
declare void @may_throw()
declare i32 @value(i32)
declare i32 @printf(ptr, ...)
declare void @llvm.assume(i1)
declare double @llvm.fma.f64(double, double, double)
declare i1 @llvm.type.test(ptr, metadata)
declare void @llvm.experimental.noalias.scope.decl(metadata)
declare i64 @llvm.read_register.i64(metadata)
declare double @llvm.experimental.constrained.fadd.f64(double, double, metadata, metadata)
declare token @llvm.call.preallocated.setup(i32)
declare ptr @llvm.call.preallocated.arg(token, i32)
declare void @preallocated(ptr preallocated(i32))
declare void @inalloca(ptr inalloca(i32))
declare void @llvm.lifetime.start.p0(ptr)

define i64 @integers(i64 %a, i64 %b, i8 %c) {
  %1 = add nuw nsw i64 %a, %b
  %2 = sub nsw i64 %1, 1
  %3 = mul nuw i64 %2, %b
  %4 = shl nuw nsw i64 %3, 2
  %5 = udiv exact i64 %4, %b
  %6 = sdiv i64 %5, -3
  %7 = lshr exact i64 %6, 1
  %8 = ashr i64 %7, %a
  %9 = urem i64 %8, 7
  %10 = srem i64 %9, %b
  %11 = and i64 %10, 255
  %12 = or disjoint i64 %11, 256
  %13 = xor i64 %12, -1
  %14 = zext nneg i8 %c to i64
  %15 = sext i8 %c to i64
  %16 = trunc nsw i64 %15 to i16
  %17 = freeze i64 %13
  %18 = icmp samesign ugt i64 %17, %14
  %19 = select i1 %18, i64 %17, i64 %14
  %20 = sext i16 %16 to i64
  %21 = add i64 %19, %20
  ret i64 %21
}

define double @floats(double %a, float %b, i32 %i, half %h) {
  %1 = fneg fast double %a
  %2 = fadd reassoc nnan ninf nsz arcp contract afn double %1, %a
  %3 = fsub nnan ninf double %2, 1.0
  %4 = fmul contract double %3, 0x400921FB54442D18
  %5 = fdiv arcp double %4, %a
  %6 = frem afn double %5, %a
  %7 = fpext nnan float %b to double
  %8 = fptrunc fast double %7 to float
  %9 = fptoui float %8 to i32
  %10 = fptosi double %6 to i64
  %11 = uitofp nneg i32 %i to double
  %12 = sitofp i64 %10 to double
  %13 = fcmp fast olt double %11, %12
  %14 = fcmp uno double %11, 0.0
  %15 = fcmp true double %11, 0.0
  %16 = select fast i1 %13, double %11, double %12
  %17 = call reassoc double @llvm.fma.f64(double %16, double %6, double %11)
  %18 = fpext half %h to fp128
  %19 = fptrunc fp128 %18 to x86_fp80
  %20 = fptrunc x86_fp80 %19 to double
  br i1 %14, label %then, label %join

then:
  br label %join

join:
  %21 = phi nnan nsz double [ %17, %0 ], [ %20, %then ]
  ret double %21
}

define i32 @memory(ptr %p, ptr addrspace(1) %q, i64 %n) {
  %a = alloca i32, align 4
  %b = alloca [4 x %pair], i64 %n, align 16
  %c = alloca i8, i32 3, align 1
  %d = alloca swifterror ptr, align 8
  %l1 = load volatile i32, ptr %p, align 1
  %l2 = load atomic i32, ptr %p acquire, align 4
  %l3 = load atomic volatile i32, ptr %p syncscope("single\22thread") unordered, align 4
  %l4 = load float, ptr addrspace(1) %q, align 4, !nontemporal !0, !invariant.load !1
  store i32 %l1, ptr %a, align 4
  store volatile i32 %l2, ptr %a, align 4
  store atomic i32 %l3, ptr %a syncscope("agent") release, align 4
  store atomic volatile float %l4, ptr addrspace(1) %q seq_cst, align 4
  store %pair { i32 1, double 2.0 }, ptr %b, align 8
  fence syncscope("singlethread") acq_rel
  fence seq_cst
  %r1 = atomicrmw add ptr %p, i32 1 monotonic, align 4
  %r2 = atomicrmw volatile xchg ptr %p, i32 %r1 syncscope("agent") acq_rel, align 4
  %r3 = atomicrmw fadd ptr addrspace(1) %q, float 1.5 seq_cst, align 4
  %r4 = atomicrmw fmaximum ptr addrspace(1) %q, <2 x half> zeroinitializer acquire, align 4
  %r5 = atomicrmw uinc_wrap ptr %p, i32 7 release, align 4
  %r6 = atomicrmw xchg ptr %p, ptr null release, align 8
  %x1 = cmpxchg ptr %p, i32 %r2, i32 3 seq_cst monotonic, align 4
  %x2 = cmpxchg weak volatile ptr %p, ptr null, ptr %p syncscope("agent") acq_rel acquire, align 8
  %x3 = extractvalue { i32, i1 } %x1, 0
  %g1 = getelementptr inbounds nuw %pair, ptr %b, i64 %n, i32 1
  %g2 = getelementptr nusw i8, ptr addrspace(1) %q, i32 -4
  %g3 = getelementptr nuw { i8, [3 x i16] }, ptr %p, i64 1, i32 1, i64 2
  %s = addrspacecast ptr addrspace(1) %g2 to ptr
  %i = ptrtoint ptr %s to i64
  %ia = ptrtoaddr ptr %s to i64
  %j = inttoptr i64 %i to ptr
  %v = va_arg ptr %j, i32
  %agg = insertvalue { i32, { float, [2 x i8] } } poison, i8 3, 1, 1, 0
  %e = extractvalue { i32, { float, [2 x i8] } } %agg, 1
  ret i32 %v, !dbg !12
}

define void @calls(ptr %f, i32 %x, ptr %p, double %d) nounwind {
  %1 = call i32 @value(i32 %x)
  %2 = tail call fastcc signext i32 @value(i32 noundef signext %1) #1
  %3 = notail call i32 (ptr, ...) @printf(ptr nonnull align 8 dereferenceable(8) %p, double %d, i32 inreg %2) nounwind "x"="y"
  %4 = call cc 17 noundef nonnull ptr %f(ptr sret(%pair) align 8 %p, ptr byval([2 x i64]) %p)
  call void asm sideeffect alignstack inteldialect unwind "nop \22\0A$0", "r,~{memory}"(i32 %x) memory(none)
  %5 = call { i32, i32 } asm "", "=r,=r,0"(i32 %x), !srcloc !2
  call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16), "nonnull"(ptr %p), "ignore"() ]
  %m1 = call i1 @llvm.type.test(ptr %p, metadata !"text \22")
  %m2 = call i1 @llvm.type.test(ptr %p, metadata !3)
  %m3 = call i1 @llvm.type.test(ptr %p, metadata i32 7)
  %m4 = call i1 @llvm.type.test(ptr %p, metadata ptr @g)
  %m5 = call i1 @llvm.type.test(ptr %p, metadata ptr %p)
  %m6 = call i1 @llvm.type.test(ptr %p, metadata !DIExpression(DW_OP_deref))
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  %6 = call i64 @llvm.read_register.i64(metadata !5)
  %7 = call double @llvm.experimental.constrained.fadd.f64(double %d, double 1.0, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  %t = call token @llvm.call.preallocated.setup(i32 1)
  %8 = call ptr @llvm.call.preallocated.arg(token %t, i32 0) preallocated(i32)
  call void @preallocated(ptr preallocated(i32) %8) [ "preallocated"(token %t) ]
  %ia = alloca inalloca i32, align 4
  call void @inalloca(ptr inalloca(i32) %ia)
  call void @may_throw() [ "deopt"(i32 1, ptr %p, double 0x3FB999999999999A), "gc-live"(ptr %p, ptr @g) ]
  %9 = call addrspace(0) i32 %f(i32 0), !range !6, !noundef !1
  ret void
}

define i32 @variadic_thunk(ptr %p, ...) {
  %r = musttail call i32 (ptr, ...) @printf(ptr %p, ...)
  ret i32 %r
}

define i32 @branches(i32 %x, ptr %p) {
entry:
  switch i32 %x, label %default [
    i32 -1, label %a
    i32 7, label %b
    i32 8, label %b
  ]

a:
  indirectbr ptr %p, [label %b, label %default]

b:
  %phi = phi i32 [ 1, %entry ], [ 1, %entry ], [ %x, %a ]
  %c = icmp slt i32 %phi, 0
  br i1 %c, label %loop, label %default, !prof !7

loop:
  %i = phi i32 [ 0, %b ], [ %next, %loop ]
  %next = add i32 %i, 1
  %stop = icmp eq i32 %next, %x
  br i1 %stop, label %default, label %loop, !llvm.loop !8

default:
  callbr void asm sideeffect "# $0 ${1:l}", "r,!i,!i,~{dirflag}"(i32 %x)
          to label %direct [label %indirect, label %dead]

direct:
  %out = callbr i32 asm "", "=r,!i"()
          to label %dead [label %indirect]

indirect:
  ret i32 1

dead:
  unreachable

unreached:
  %never = add i32 %later, 1
  %later = add i32 %never, 1
  br label %unreached
}

define i32 @itanium(i32 %x) personality ptr @__gxx_personality_v0 {
  br label %first

later:
  %1 = load ptr, ptr null
  br label %after

first:
  br i1 false, label %later, label %after

after:
  %2 = phi ptr [ %1, %later ], [ null, %first ]
  %3 = invoke fastcc i32 @value(i32 noundef %x) #1
          to label %normal unwind label %pad

normal:
  invoke void %2(i32 %3) [ "deopt"(i32 %3) ]
          to label %normal2 unwind label %filter

normal2:
  ret i32 %3

pad:
  %e = landingpad { ptr, i32 }
          cleanup
          catch ptr @g
          catch ptr null
  resume { ptr, i32 } %e

filter:
  %f = landingpad { ptr, i32 }
          filter [2 x ptr] [ptr @g, ptr null]
  %s = extractvalue { ptr, i32 } %f, 1
  ret i32 %s

}

define void @windows() personality ptr @__CxxFrameHandler3 {
entry:
  invoke void @may_throw()
          to label %exit unwind label %dispatch

dispatch:
  %cs = catchswitch within none [label %handler, label %handler2] unwind label %cleanup

handler:
  %cp = catchpad within %cs [ptr null, i32 64, ptr @g]
  invoke void @may_throw() [ "funclet"(token %cp) ]
          to label %leave unwind label %inner

inner:
  %cs2 = catchswitch within %cp [label %handler3] unwind to caller

handler3:
  %cp3 = catchpad within %cs2 []
  catchret from %cp3 to label %leave

leave:
  catchret from %cp to label %exit

handler2:
  %cp2 = catchpad within %cs [ptr @g, i32 0, ptr null]
  catchret from %cp2 to label %exit

cleanup:
  %cl = cleanuppad within none []
  call void @may_throw() [ "funclet"(token %cl) ]
  cleanupret from %cl unwind label %outer

outer:
  %co = cleanuppad within none [i32 1]
  cleanupret from %co unwind to caller

exit:
  ret void
}

define target("spirv.Image", void, 1, 1, 0, 0, 0, 0, 0) @target_type(target("spirv.Image", void, 1, 1, 0, 0, 0, 0, 0) %t) {
  %s = freeze target("spirv.Image", void, 1, 1, 0, 0, 0, 0, 0) %t
  ret target("spirv.Image", void, 1, 1, 0, 0, 0, 0, 0) %s
}

define void @records(i32 %x, ptr %p) !dbg !10 {
    #dbg_value(i32 %x, !14, !DIExpression(), !12)
  %y = add i32 %x, 1, !dbg !12
    #dbg_value(!DIArgList(i32 %x, i32 %y), !14, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value), !12)
    #dbg_declare(ptr %p, !14, !DIExpression(DW_OP_deref), !12)
    #dbg_value(i32 poison, !14, !DIExpression(), !12)
    #dbg_assign(i32 %y, !14, !DIExpression(), !15, ptr %p, !DIExpression(), !12)
    #dbg_label(!16, !12)
  store i32 %y, ptr %p, align 4, !DIAssignID !15, !tbaa !17, !alias.scope !4, !noalias !4
  ret void, !dbg !12
}

attributes #0 = { nounwind }
attributes #1 = { nounwind memory(read) "call-site" }

!llvm.module.flags = !{!9}
!llvm.dbg.cu = !{!11}
!0 = !{i32 1}
!1 = !{}
!2 = !{i64 123}
!3 = !{!"a", !1}
!4 = !{!20}
!5 = !{!"rsp"}
!6 = !{i32 0, i32 10, i32 20, i32 30}
!7 = !{!"branch_weights", i32 1, i32 99}
!8 = distinct !{!8, !18}
!9 = !{i32 2, !"Debug Info Version", i32 3}
!10 = distinct !DISubprogram(name: "records", scope: !13, file: !13, line: 1, type: !19, spFlags: DISPFlagDefinition, unit: !11)
!11 = distinct !DICompileUnit(language: DW_LANG_C, file: !13, emissionKind: FullDebug)
!12 = !DILocation(line: 3, column: 7, scope: !10)
!13 = !DIFile(filename: "a.c", directory: "")
!14 = !DILocalVariable(name: "x", arg: 1, scope: !10, file: !13, line: 1, type: !22)
!15 = distinct !DIAssignID()
!16 = !DILabel(scope: !10, name: "l", file: !13, line: 4)
!17 = !{!23, !23, i64 0}
!18 = !{!"llvm.loop.mustprogress"}
!19 = !DISubroutineType(types: !1)
!20 = distinct !{!20, !21, !"scope"}
!21 = distinct !{!21, !"domain"}
!22 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!23 = !{!"int", !24, i64 0}
!24 = !{!"root"}
