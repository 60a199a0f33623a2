; Constants and constant expressions of every form.
%pair = type { i32, double }
%packed = type <{ i8, double, [3 x i16] }>
%"quoted name" = type { ptr, %later }
%later = type { [2 x %pair], <2 x float> }
%opaque = type opaque
%0 = type { i64 }

@int = global i32 -7
@wide = global i256 u0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
@odd = global i3 -4
@bool = constant i1 true
@half = global half 0xH7C00
@half2 = global half 1.5
@bfloat = global bfloat 0xR7F80
@float_nan = global float 0x7FF8000000000000
@float_snan = global float 0x7FF4000020000000
@float_tiny = global float 0x36A0000000000000
@float_tenth = global float 0x3FB99999A0000000
@double_nan = global double 0xFFF8000000000123
@double_inf = global double 0xFFF0000000000000
@double_tiny = global double 0x0000000000000001
@double_decimal = global double 1.25e-3
@double_minus_zero = global double -0.0
@fp80 = global x86_fp80 0xK4000C90FDAA22168C235
@fp80_nan = global x86_fp80 0xK7FFFC000000000000001
@fp128 = global fp128 0xL8469898CC51701B84000921FB54442D1
@ppc = global ppc_fp128 0xM400921FB54442D183CA1A62633145C07
@string = constant [9 x i8] c"a\22b\5C\00\FF\0Az\7F"
@bytes = constant [3 x i8] [i8 1, i8 undef, i8 3]
@zeros = global [4 x %pair] zeroinitializer
@struct = global %pair { i32 1, double 2.0 }
@packed = global %packed <{ i8 1, double 2.0, [3 x i16] [i16 1, i16 -1, i16 3] }>
@nested = global %"quoted name" { ptr @int, %later { [2 x %pair] [%pair { i32 1, double 0.1 }, %pair undef], <2 x float> <float 1.0, float poison> } }
@numbered = global %0 { i64 3 }
@literal = global { i8, { ptr, i1 } } { i8 1, { ptr, i1 } { ptr null, i1 false } }
@empty = global {} zeroinitializer
@empty_array = global [0 x i32] zeroinitializer
@vector = global <4 x i32> <i32 1, i32 2, i32 3, i32 4>
@splat = global <8 x double> splat (double 0x3FB999999999999A)
@vector_of_pointers = global <2 x ptr> <ptr @int, ptr null>
@vector_of_i1 = global <3 x i1> <i1 true, i1 false, i1 undef>
@gep = global ptr getelementptr inbounds nuw (%pair, ptr @zeros, i64 2, i32 1)
@gep_range = global ptr getelementptr inbounds inrange(-16, 8) ({ [4 x ptr] }, ptr @vtable, i32 0, i32 0, i32 2)
@gep_i8 = global ptr getelementptr (i8, ptr @string, i64 -3)
@vtable = constant { [4 x ptr] } { [4 x ptr] [ptr null, ptr @f, ptr @f, ptr null] }
@difference = global i32 trunc (i64 sub (i64 ptrtoint (ptr @f to i64), i64 ptrtoint (ptr @difference to i64)) to i32)
@arithmetic = global i64 add nuw (i64 xor (i64 ptrtoint (ptr @int to i64), i64 -1), i64 7)
@inttoptr = global ptr inttoptr (i64 sub nsw (i64 ptrtoint (ptr @int to i64), i64 8) to ptr)
@address = global i64 ptrtoaddr (ptr @int to i64)
@space = addrspace(3) global i32 5
@cast = global ptr addrspacecast (ptr addrspace(3) @space to ptr)
@block = global ptr blockaddress(@labels, %"a label")
@block2 = global ptr blockaddress(@labels, %5)
@equivalent = global ptr dso_local_equivalent @f
@no_cfi = global ptr no_cfi @f
@authenticated = global ptr ptrauth (ptr @f, i32 2, i64 1234, ptr @int)
@authenticated2 = global ptr ptrauth (ptr @f, i32 0)
@external = external global %opaque
@"quoted \22 global" = global ptr @"quoted \22 global"
@1 = private unnamed_addr constant [2 x i8] c"x\00"
@7 = global ptr @1
@"8" = global ptr @7

declare void @f()

define ptr @labels(i32 %0, i32 %"an argument") {
  %3 = add i32 %0, %"an argument"
  %4 = icmp eq i32 %3, 0
  br i1 %4, label %"a label", label %5

"a label":
  ret ptr blockaddress(@labels, %5)

5:
  %"0" = add i32 %3, 1
  %"back\5Cslash" = add i32 %"0", 1
  %-$._minus = add i32 %"back\5Cslash", 1
  %6 = inttoptr i32 %-$._minus to ptr
  indirectbr ptr @block, [label %"a label", label %"tab\09"]

"tab\09":
  %7 = load i64, ptr getelementptr inbounds (i8, ptr @string, i64 4), align 8
  ret ptr %6
}

define <4 x i32> @vectors(<4 x i32> %v, <vscale x 2 x double> %s, ptr %p) {
  %a = add nsw <4 x i32> %v, <i32 0, i32 undef, i32 poison, i32 -1>
  %b = mul <4 x i32> %a, splat (i32 3)
  %c = fadd <vscale x 2 x double> %s, splat (double 1.0)
  %d = shufflevector <vscale x 2 x double> %c, <vscale x 2 x double> poison, <vscale x 2 x i32> zeroinitializer
  %e = shufflevector <vscale x 2 x double> %d, <vscale x 2 x double> poison, <vscale x 2 x i32> poison
  %f = shufflevector <4 x i32> %b, <4 x i32> zeroinitializer, <6 x i32> <i32 0, i32 poison, i32 7, i32 3, i32 4, i32 poison>
  %g = shufflevector <6 x i32> %f, <6 x i32> undef, <4 x i32> zeroinitializer
  %h = getelementptr [4 x double], ptr %p, <4 x i64> <i64 0, i64 1, i64 2, i64 3>, i32 2
  %i = getelementptr double, <4 x ptr> %h, i64 1
  %j = extractelement <4 x ptr> %i, i64 2
  store <vscale x 2 x double> %e, ptr %j, align 16
  %k = insertelement <4 x i32> %g, i32 9, i32 1
  %l = icmp samesign ult <4 x i32> %k, %v
  %m = select nnan i1 true, <2 x float> zeroinitializer, <2 x float> <float -0.0, float 0x7FF0000000000000>
  %n = select <4 x i1> %l, <4 x i32> %k, <4 x i32> %v
  %o = ptrtoint <4 x ptr> %i to <4 x i64>
  %q = bitcast <2 x float> %m to i64
  %r = trunc nuw nsw <4 x i64> %o to <4 x i32>
  ret <4 x i32> %r
}
