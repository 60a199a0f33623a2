; Linkage, visibility, storage, sections, comdats, aliases, ifuncs, module assembly, named metadata, attributes.
source_filename = "dir\5Cname \22x\22.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
module asm ".globl marker"
module asm "marker: .ascii \22quoted \5C backslash\22"

$any = comdat any
$exact = comdat exactmatch
$"largest one" = comdat largest
$nodup = comdat nodeduplicate
$same = comdat samesize

@any = global i32 0, comdat
@b = linkonce_odr global i32 0, comdat($exact), align 4
@c = weak_odr hidden global i32 0, comdat($"largest one")
@d = internal unnamed_addr constant i32 0, section "sec tion", comdat($nodup), align 16
@e = private local_unnamed_addr global i32 0, section ".s", partition "part", align 1
@f = thread_local(initialexec) global i32 4
@g = internal thread_local global i32 4
@h = external thread_local(localdynamic) global i32
@i = extern_weak global ptr
@j = available_externally dso_local global i32 3
@k = common protected global i32 0, align 4
@l = dso_local externally_initialized global i32 0
@m = addrspace(1) externally_initialized global i32 0, align 4
@n = external hidden addrspace(2) constant [2 x i32]
@o = global i32 1, code_model "large", align 8
@p = global i32 1, no_sanitize_address, sanitize_memtag
@q = global i32 2, align 4, !type !0, !type !1, !dbg !10
@r = global i32 2 #5
@s = appending global [1 x ptr] [ptr @any]
@llvm.used = appending global [2 x ptr] [ptr @any, ptr @fun], section "llvm.metadata"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @ctor, ptr null }]

@alias = alias i32, ptr @any
@alias_weak = weak hidden unnamed_addr alias i32, getelementptr (i8, ptr @o, i64 2)
@alias_fun = internal alias void (), ptr @ctor
@alias_tls = thread_local alias i32, ptr @f
@alias_part = alias i32, ptr @any, partition "p"
@resolver_of = ifunc i32 (i32), ptr @resolve

declare !type !0 extern_weak i32 @weak(i32, ...) local_unnamed_addr #0
declare hidden fastcc noundef nonnull align 16 dereferenceable(32) ptr @attrs(ptr noalias noundef readonly byval(i32) align 8 captures(none), i32 zeroext range(i32 -3, 17) %x, float nofpclass(nan inf) %y, ptr captures(address, read_provenance) initializes((0, 8), (16, 24)) %z, i8 signext inreg, ptr nest %n) #1
declare i64 @more(ptr byref([3 x i8]) %a, ptr inalloca(i64) %b)
declare ptr @allocator(i64 allocalign, i64) #2
declare i8 @same(i8 returned)
declare cc 99 void @numbered()
declare x86_stdcallcc void @stdcall(i32 inreg)
declare swiftcc void @swift(ptr swiftself, ptr swifterror, ptr swiftasync)
declare void @structure(ptr sret({ i32, [2 x double] }) align 8 dead_on_unwind writable)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg)
declare void @elementtype(ptr)
declare amdgpu_kernel void @kernel(ptr addrspace(1) align 4)

define internal void @ctor() {
  ret void
}

define internal ptr @resolve() {
  ret ptr @fun
}

define linkonce_odr dso_local i32 @fun(i32 %x) unnamed_addr #3 section "text" comdat($any) align 32 gc "statepoint-example" prefix i32 123 prologue i8 7 personality ptr @__gxx_personality_v0 !type !0 !type !1 {
entry:
  ret i32 %x
}

define void @spaced() addrspace(0) nounwind "a"="b \22 c" "flag" alignstack(32) {
  ret void
}

declare i32 @__gxx_personality_v0(...)

attributes #0 = { nounwind willreturn memory(argmem: readwrite, inaccessiblemem: read, errnomem: none) "k"="v" "only" }
attributes #1 = { uwtable(sync) alignstack=16 vscale_range(1,16) memory(none) noinline optnone }
attributes #2 = { allockind("alloc,zeroed,aligned") allocsize(0,1) "alloc-family"="malloc" mustprogress nofree }
attributes #3 = { uwtable "target-cpu"="x86-64" "target-features"="+avx,+fma" "frame-pointer"="all" null_pointer_is_valid }
attributes #5 = { "bss-section"="x" }

!named = !{!0, !1}
!name.with\20space = !{}
!llvm.module.flags = !{!2}
!llvm.dbg.cu = !{!3}
!0 = !{i64 0, !"type \22 name"}
!1 = !{i64 8, !4}
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DICompileUnit(language: DW_LANG_C11, file: !5, producer: "p", isOptimized: true, flags: "-x \22y\22", runtimeVersion: 0, emissionKind: FullDebug, enums: !6, globals: !6, splitDebugInlining: false, nameTableKind: None)
!4 = distinct !{}
!5 = !DIFile(filename: "f.c", directory: "/d", checksumkind: CSK_MD5, checksum: "00000000000000000000000000000000", source: "int x;\0A")
!6 = !{}
!7 = !{ptr @fun, null, double 1.5, !"s", i1 true, <2 x i32> <i32 1, i32 2>, !DIExpression()}
!8 = !DIGlobalVariable(name: "q", scope: !3, file: !5, line: 3, type: !9, isLocal: false, isDefinition: true)
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed, flags: DIFlagArtificial | DIFlagVector)
!10 = !DIGlobalVariableExpression(var: !8, expr: !DIExpression(DW_OP_plus_uconst, 4, DW_OP_LLVM_fragment, 0, 16))
!11 = !DIEnumerator(name: "minus", value: -5)
!12 = !DITemplateValueParameter(name: "N", type: !9, value: i32 3)
!13 = !GenericDINode(tag: DW_TAG_member, header: "h", operands: {!0, null, !"x"})
!14 = !DISubrange(count: !10, lowerBound: -2)
!extra = !{!7, !11, !12, !13}
