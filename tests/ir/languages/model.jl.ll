; What code_llvm(f, types; raw=true, dump_module=true, optimize=false) prints of Julia 1.12, written by hand after its
; documentation: the functions of this source.
;
;   function decay(x::Vector{Float64}, k::Float64)          # sum of squares, decayed
;       s = 0.0
;       for v in x; s = s * k + v * v; end
;       return s
;   end
;   function scaled(x::Vector{Float64}, k::Float64)          # an array made, filled, handed to another function
;       y = Vector{Float64}(undef, length(x))
;       for i in eachindex(x); y[i] = k * x[i]; end
;       return decay(y, k) + y[1]
;   end
;   bilinear(a::Matrix{Float64}, i::Int64, j::Int64) = a[i, j] * a[j, i]
;   struct Spring; k::Float64; rest::Float64; end
;   energy(s::Spring, x::Float64) = 0.5 * s.k * (x - s.rest)^2
;   spring(x::Ptr{Float64}) = energy(Spring(unsafe_load(x, 1), unsafe_load(x, 2)), unsafe_load(x, 3))
source_filename = "scaled"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13"
target triple = "x86_64-unknown-linux-gnu"

@"+Core.GenericMemory#101.jit" = private alias ptr, inttoptr (i64 139712345678912 to ptr)
@"+Core.Array#102.jit" = private alias ptr, inttoptr (i64 139712345679000 to ptr)
@"jl_global#103.jit" = private alias ptr, inttoptr (i64 139712345680000 to ptr)

; Function Signature: decay(Array{Float64, 1}, Float64)
; Function Attrs: noinline optnone
define swiftcc double @julia_decay_201(ptr nonnull swiftself %pgcstack, ptr addrspace(10) noundef nonnull align 8 dereferenceable(24) %"x::Array", double %"k::Float64") #0 {
top:
  %ptls_field = getelementptr inbounds i8, ptr %pgcstack, i64 16
  %ptls_load = load ptr, ptr %ptls_field, align 8
  %0 = getelementptr inbounds i8, ptr %ptls_load, i64 16
  %safepoint = load ptr, ptr %0, align 8
  fence syncscope("singlethread") seq_cst
  %1 = load volatile i64, ptr %safepoint, align 8
  fence syncscope("singlethread") seq_cst
  %2 = addrspacecast ptr addrspace(10) %"x::Array" to ptr addrspace(11)
  %"x::Array.size_ptr" = getelementptr inbounds i8, ptr addrspace(11) %2, i64 16
  %"x::Array.size.0.copyload" = load i64, ptr addrspace(11) %"x::Array.size_ptr", align 8
  %3 = icmp slt i64 %"x::Array.size.0.copyload", 1
  br i1 %3, label %L50, label %L15

L15:
  %value_phi = phi i64 [ %10, %L40 ], [ 1, %top ]
  %value_phi1 = phi double [ %9, %L40 ], [ 0.000000e+00, %top ]
  %4 = add i64 %value_phi, -1
  %5 = icmp ult i64 %4, %"x::Array.size.0.copyload"
  br i1 %5, label %L40, label %L32

L32:
  call swiftcc void @j_throw_boundserror_205(ptr nonnull swiftself %pgcstack, ptr addrspace(10) %"x::Array", i64 signext %value_phi)
  unreachable

L40:
  %memoryref_data = load ptr, ptr addrspace(11) %2, align 8
  %memoryref_mem_ptr = getelementptr inbounds i8, ptr addrspace(11) %2, i64 8
  %memoryref_mem = load ptr addrspace(10), ptr addrspace(11) %memoryref_mem_ptr, align 8
  %6 = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %memoryref_mem, ptr %memoryref_data)
  %memoryref_byteoffset = shl i64 %4, 3
  %"memoryref_data.i" = getelementptr inbounds i8, ptr addrspace(13) %6, i64 %memoryref_byteoffset
  %7 = load double, ptr addrspace(13) %"memoryref_data.i", align 8
  %8 = fmul double %value_phi1, %"k::Float64"
  %square = fmul double %7, %7
  %9 = fadd double %8, %square
  %10 = add i64 %value_phi, 1
  %.not = icmp eq i64 %value_phi, %"x::Array.size.0.copyload"
  br i1 %.not, label %L50, label %L15

L50:
  %value_phi2 = phi double [ 0.000000e+00, %top ], [ %9, %L40 ]
  ret double %value_phi2
}

; Function Signature: scaled(Array{Float64, 1}, Float64)
define swiftcc double @julia_scaled_202(ptr nonnull swiftself %pgcstack, ptr addrspace(10) noundef nonnull align 8 dereferenceable(24) %"x::Array", double %"k::Float64") #0 {
top:
  %ptls_field = getelementptr inbounds i8, ptr %pgcstack, i64 16
  %ptls_load = load ptr, ptr %ptls_field, align 8
  %0 = addrspacecast ptr addrspace(10) %"x::Array" to ptr addrspace(11)
  %size_ptr = getelementptr inbounds i8, ptr addrspace(11) %0, i64 16
  %size = load i64, ptr addrspace(11) %size_ptr, align 8
  %1 = icmp eq i64 %size, 0
  br i1 %1, label %emptymem, label %nonemptymem

emptymem:
  br label %retval

nonemptymem:
  %2 = icmp ult i64 %size, 1152921504606846975
  br i1 %2, label %pass, label %fail

fail:
  call void @ijl_throw(ptr addrspace(12) addrspacecast (ptr addrspace(10) null to ptr addrspace(12)))
  unreachable

pass:
  %3 = shl i64 %size, 3
  %"Memory{Float64}[]" = call noalias nonnull ptr addrspace(10) @jl_alloc_genericmemory_unchecked(ptr %ptls_load, i64 %3, ptr addrspace(10) addrspacecast (ptr @"+Core.GenericMemory#101.jit" to ptr addrspace(10)))
  %4 = addrspacecast ptr addrspace(10) %"Memory{Float64}[]" to ptr addrspace(11)
  store i64 %size, ptr addrspace(11) %4, align 8
  br label %retval

retval:
  %5 = phi ptr addrspace(10) [ addrspacecast (ptr @"jl_global#103.jit" to ptr addrspace(10)), %emptymem ], [ %"Memory{Float64}[]", %pass ]
  %6 = addrspacecast ptr addrspace(10) %5 to ptr addrspace(11)
  %memory_data_ptr = getelementptr inbounds i8, ptr addrspace(11) %6, i64 8
  %memory_data = load ptr, ptr addrspace(11) %memory_data_ptr, align 8
  %"new::Array" = call noalias nonnull dereferenceable(24) ptr addrspace(10) @julia.gc_alloc_obj(ptr %ptls_load, i64 24, ptr addrspace(10) addrspacecast (ptr @"+Core.Array#102.jit" to ptr addrspace(10)))
  %7 = addrspacecast ptr addrspace(10) %"new::Array" to ptr addrspace(11)
  store ptr %memory_data, ptr addrspace(11) %7, align 8
  %8 = getelementptr inbounds i8, ptr addrspace(11) %7, i64 8
  store ptr addrspace(10) %5, ptr addrspace(11) %8, align 8
  call void (ptr addrspace(10), ...) @julia.write_barrier(ptr addrspace(10) %"new::Array", ptr addrspace(10) %5)
  %9 = getelementptr inbounds i8, ptr addrspace(11) %7, i64 16
  store i64 %size, ptr addrspace(11) %9, align 8
  %tok = call token (...) @llvm.julia.gc_preserve_begin(ptr addrspace(10) %"new::Array")
  %10 = icmp slt i64 %size, 1
  br i1 %10, label %L60, label %L20

L20:
  %value_phi = phi i64 [ %16, %L20 ], [ 0, %retval ]
  %memoryref_data = load ptr, ptr addrspace(11) %0, align 8
  %mem_ptr = getelementptr inbounds i8, ptr addrspace(11) %0, i64 8
  %mem = load ptr addrspace(10), ptr addrspace(11) %mem_ptr, align 8
  %11 = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %mem, ptr %memoryref_data)
  %12 = getelementptr inbounds double, ptr addrspace(13) %11, i64 %value_phi
  %13 = load double, ptr addrspace(13) %12, align 8
  %14 = fmul double %13, %"k::Float64"
  %15 = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %5, ptr %memory_data)
  %elt = getelementptr inbounds double, ptr addrspace(13) %15, i64 %value_phi
  store double %14, ptr addrspace(13) %elt, align 8
  %16 = add i64 %value_phi, 1
  %.not = icmp eq i64 %16, %size
  br i1 %.not, label %L60, label %L20

L60:
  call void @llvm.julia.gc_preserve_end(token %tok)
  %17 = call swiftcc double @j_decay_210(ptr nonnull swiftself %pgcstack, ptr addrspace(10) nonnull %"new::Array", double %"k::Float64")
  br i1 %1, label %oob, label %idxend

oob:
  %idx = alloca i64, align 8
  store i64 1, ptr %idx, align 8
  %18 = addrspacecast ptr addrspace(10) %"new::Array" to ptr addrspace(12)
  call void @ijl_bounds_error_ints(ptr addrspace(12) %18, ptr nonnull %idx, i64 1)
  unreachable

idxend:
  %19 = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %5, ptr %memory_data)
  %20 = load double, ptr addrspace(13) %19, align 8
  %21 = fadd double %17, %20
  ret double %21
}

; Function Signature: bilinear(Array{Float64, 2}, Int64, Int64)
define swiftcc double @julia_bilinear_203(ptr nonnull swiftself %pgcstack, ptr addrspace(10) noundef nonnull align 8 dereferenceable(32) %"a::Array", i64 signext %"i::Int64", i64 signext %"j::Int64") #0 {
top:
  %0 = addrspacecast ptr addrspace(10) %"a::Array" to ptr addrspace(11)
  %size_ptr = getelementptr inbounds i8, ptr addrspace(11) %0, i64 16
  %rows = load i64, ptr addrspace(11) %size_ptr, align 8
  %1 = add i64 %"i::Int64", -1
  %2 = add i64 %"j::Int64", -1
  %3 = icmp ult i64 %1, %rows
  %4 = icmp ult i64 %2, %rows
  %5 = and i1 %3, %4
  br i1 %5, label %L10, label %L5

L5:
  call swiftcc void @j_throw_boundserror_206(ptr nonnull swiftself %pgcstack, ptr addrspace(10) %"a::Array")
  unreachable

L10:
  %data = load ptr, ptr addrspace(11) %0, align 8
  %mem_ptr = getelementptr inbounds i8, ptr addrspace(11) %0, i64 8
  %mem = load ptr addrspace(10), ptr addrspace(11) %mem_ptr, align 8
  %6 = call ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10) %mem, ptr %data)
  %7 = mul i64 %2, %rows
  %8 = add i64 %7, %1
  %9 = getelementptr inbounds double, ptr addrspace(13) %6, i64 %8
  %10 = load double, ptr addrspace(13) %9, align 8
  %11 = mul i64 %1, %rows
  %12 = add i64 %11, %2
  %13 = getelementptr inbounds double, ptr addrspace(13) %6, i64 %12
  %14 = load double, ptr addrspace(13) %13, align 8
  %15 = fmul double %10, %14
  ret double %15
}

; Function Signature: energy(Main.Spring, Float64)
define swiftcc void @julia_energy_211(ptr noalias nocapture noundef nonnull sret([1 x double]) align 8 dereferenceable(8) %sret_return, ptr nonnull swiftself %pgcstack, ptr nocapture noundef nonnull readonly align 8 dereferenceable(16) %"s::Spring", double %"x::Float64") #0 {
top:
  %k = load double, ptr %"s::Spring", align 8
  %rest_ptr = getelementptr inbounds i8, ptr %"s::Spring", i64 8
  %rest = load double, ptr %rest_ptr, align 8
  %0 = fsub double %"x::Float64", %rest
  %1 = fmul double %0, %0
  %2 = fmul double %k, 5.000000e-01
  %3 = fmul double %2, %1
  %box = call ptr addrspace(10) @ijl_box_float64(double %3)
  %4 = addrspacecast ptr addrspace(10) %box to ptr addrspace(11)
  %5 = load double, ptr addrspace(11) %4, align 8
  store double %5, ptr %sret_return, align 8
  ret void
}

; Function Signature: spring(Ptr{Float64})
define swiftcc double @julia_spring_212(ptr nonnull swiftself %pgcstack, ptr %"x::Ptr") #0 {
top:
  %sret = alloca [1 x double], align 8
  %spring = alloca [2 x i64], align 8
  %0 = load i64, ptr %"x::Ptr", align 1
  %1 = getelementptr i8, ptr %"x::Ptr", i64 8
  %2 = load i64, ptr %1, align 1
  store i64 %0, ptr %spring, align 8
  %3 = getelementptr i8, ptr %spring, i64 8
  store i64 %2, ptr %3, align 8
  %4 = getelementptr i8, ptr %"x::Ptr", i64 16
  %5 = load double, ptr %4, align 1
  call swiftcc void @j_energy_213(ptr noalias nocapture noundef nonnull sret([1 x double]) %sret, ptr nonnull swiftself %pgcstack, ptr nocapture nonnull readonly %spring, double %5)
  %6 = load double, ptr %sret, align 8
  ret double %6
}

declare ptr addrspace(13) @julia.gc_loaded(ptr addrspace(10), ptr)
declare noalias nonnull ptr addrspace(10) @julia.gc_alloc_obj(ptr, i64, ptr addrspace(10))
declare void @julia.write_barrier(ptr addrspace(10), ...)
declare token @llvm.julia.gc_preserve_begin(...)
declare void @llvm.julia.gc_preserve_end(token)
declare noalias nonnull ptr addrspace(10) @jl_alloc_genericmemory_unchecked(ptr, i64, ptr addrspace(10))
declare ptr addrspace(10) @ijl_box_float64(double)
declare void @ijl_throw(ptr addrspace(12)) #1
declare void @ijl_bounds_error_ints(ptr addrspace(12), ptr, i64) #1
declare swiftcc void @j_throw_boundserror_205(ptr nonnull swiftself, ptr addrspace(10), i64 signext) #1
declare swiftcc void @j_throw_boundserror_206(ptr nonnull swiftself, ptr addrspace(10)) #1
declare swiftcc double @j_decay_210(ptr nonnull swiftself, ptr addrspace(10), double)
declare swiftcc void @j_energy_213(ptr, ptr nonnull swiftself, ptr, double)

attributes #0 = { noinline optnone "frame-pointer"="all" "julia.fsig" "probe-stack"="inline-asm" }
attributes #1 = { noreturn }
