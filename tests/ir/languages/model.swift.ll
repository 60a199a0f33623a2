; What swiftc -O -emit-irgen prints, written by hand after the documentation of its ABI: the functions of this source.
;
;   @_cdecl("smoothed") public func smoothed(_ x: UnsafePointer<Double>, _ n: Int, _ k: Double) -> Double {
;       var y = [Double](repeating: 0, count: n)       // a buffer: header of 32 bytes, then the elements
;       for i in 0..<n { y[i] = k * x[i] * x[i] }      // each store makes sure that the buffer is nobody else's
;       return total(y)
;   }
;   func total(_ y: [Double]) -> Double { var s = 0.0; for v in y { s += v * s + v }; return s }
;   struct Spring { var k: Double; var rest: Double
;       func energy(_ x: Double) throws -> Double { if x < 0 { throw Bad.negative }; return 0.5 * k * (x - rest) * (x - rest) } }
;   @_cdecl("spring") public func spring(_ k: Double, _ rest: Double, _ x: Double) -> Double {
;       do { return try Spring(k: k, rest: rest).energy(x) } catch { return k } }
;   let scale = 3.0 * Double(CommandLine.argc > 0 ? 1 : 1)          // made when it is first used
;   @_cdecl("scaled") public func scaled(_ x: Double) -> Double { return scale * x * x }
source_filename = "<swift-imported-modules>"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%swift.refcounted = type { ptr, i64 }
%swift.type = type { i64 }
%swift.metadata_response = type { ptr, i64 }
%TSd = type <{ double }>
%TSi = type <{ i64 }>
%T5model6SpringV = type <{ %TSd, %TSd }>

@"$ss23_ContiguousArrayStorageCySdGMD" = linkonce_odr hidden global { i32, i32 } zeroinitializer, align 8
@"$s5model3BadON" = external hidden global %swift.type, align 8
@_swiftEmptyArrayStorage = external global %swift.refcounted, align 8
@"$s5model5scaleSdvp" = hidden global %TSd zeroinitializer, align 8
@"$s5model5scale_Wz" = internal global i64 0, align 8
@"\01l__swift5_reflection_descriptor" = private constant { i32 } { i32 1 }
@llvm.used = appending global [1 x ptr] [ptr @"\01l__swift5_reflection_descriptor"], section "llvm.metadata"

define linkonce_odr hidden ptr @__swift_instantiateConcreteTypeFromMangledName(ptr %0) #1 {
entry:
  %1 = load atomic i64, ptr %0 monotonic, align 8
  %2 = icmp slt i64 %1, 0
  br i1 %2, label %4, label %3

3:
  %5 = inttoptr i64 %1 to ptr
  ret ptr %5

4:
  %6 = call swiftcc ptr @swift_getTypeByMangledNameInContext2(ptr %0, i64 1, ptr null, ptr null)
  ret ptr %6
}

define protected double @smoothed(ptr noundef %0, i64 %1, double %2) #0 {
entry:
  %access-scratch = alloca [24 x i8], align 8
  %3 = icmp slt i64 %1, 0
  br i1 %3, label %trap, label %4

4:
  %5 = icmp eq i64 %1, 0
  br i1 %5, label %empty, label %6

6:
  %7 = call ptr @__swift_instantiateConcreteTypeFromMangledName(ptr @"$ss23_ContiguousArrayStorageCySdGMD") #5
  %8 = shl i64 %1, 3
  %9 = add i64 %8, 32
  %10 = call noalias ptr @swift_allocObject(ptr %7, i64 %9, i64 7) #4
  %11 = call i64 @_swift_stdlib_malloc_size(ptr %10)
  %12 = sub i64 %11, 32
  %13 = sdiv i64 %12, 8
  %14 = shl nsw i64 %13, 1
  %15 = getelementptr inbounds i8, ptr %10, i64 16
  store i64 %1, ptr %15, align 8
  %16 = getelementptr inbounds i8, ptr %10, i64 24
  store i64 %14, ptr %16, align 8
  %17 = getelementptr inbounds i8, ptr %10, i64 32
  br label %zero

zero:
  %18 = phi i64 [ 0, %6 ], [ %20, %zero ]
  %19 = getelementptr inbounds %TSd, ptr %17, i64 %18
  store double 0.000000e+00, ptr %19, align 8
  %20 = add nuw nsw i64 %18, 1
  %21 = icmp eq i64 %20, %1
  br i1 %21, label %fill, label %zero

empty:
  br label %done

fill:
  %22 = phi i64 [ 0, %zero ], [ %35, %store ]
  %23 = phi ptr [ %10, %zero ], [ %30, %store ]
  %24 = getelementptr inbounds %TSd, ptr %0, i64 %22
  %25 = load double, ptr %24, align 8
  %26 = fmul double %25, %2
  %27 = fmul double %26, %25
  call void @swift_beginAccess(ptr %access-scratch, ptr nonnull %access-scratch, i64 33, ptr null) #2
  %28 = call zeroext i1 @swift_isUniquelyReferenced_nonNull_native(ptr %23) #6
  br i1 %28, label %unique, label %shared

shared:
  %29 = call swiftcc ptr @"$ss12_ArrayBufferV20_consumeAndCreateNewAByxGyFSd_Tg5"(ptr %23)
  br label %unique

unique:
  %30 = phi ptr [ %23, %fill ], [ %29, %shared ]
  %31 = getelementptr inbounds i8, ptr %30, i64 16
  %32 = load i64, ptr %31, align 8
  %.not = icmp ult i64 %22, %32
  br i1 %.not, label %store, label %trap

store:
  %33 = getelementptr inbounds i8, ptr %30, i64 32
  %34 = getelementptr inbounds %TSd, ptr %33, i64 %22
  store double %27, ptr %34, align 8
  call void @swift_endAccess(ptr %access-scratch) #2
  %35 = add nuw nsw i64 %22, 1
  %36 = icmp eq i64 %35, %1
  br i1 %36, label %done, label %fill

done:
  %37 = phi ptr [ @_swiftEmptyArrayStorage, %empty ], [ %30, %store ]
  %38 = call ptr @swift_retain(ptr returned %37) #2
  %39 = call swiftcc double @"$s5model5totalySdSaySdGF"(ptr %37)
  call void @swift_release(ptr %37) #2
  call void @swift_release(ptr %37) #2
  ret double %39

trap:
  call void @llvm.trap()
  unreachable
}

define hidden swiftcc double @"$s5model5totalySdSaySdGF"(ptr %0) #0 {
entry:
  %1 = getelementptr inbounds i8, ptr %0, i64 16
  %2 = load i64, ptr %1, align 8
  %3 = icmp eq i64 %2, 0
  br i1 %3, label %12, label %4

4:
  %5 = phi i64 [ 0, %entry ], [ %9, %4 ]
  %6 = phi double [ 0.000000e+00, %entry ], [ %11, %4 ]
  %tailaddr = getelementptr inbounds i8, ptr %0, i64 32
  %7 = getelementptr inbounds %TSd, ptr %tailaddr, i64 %5
  %._value = getelementptr inbounds %TSd, ptr %7, i32 0, i32 0
  %8 = load double, ptr %._value, align 8
  %9 = add nuw i64 %5, 1
  %10 = fmul double %8, %6
  %sum = fadd double %10, %8
  %11 = fadd double %6, %sum
  %more = icmp ult i64 %9, %2
  br i1 %more, label %4, label %12

12:
  %13 = phi double [ 0.000000e+00, %entry ], [ %11, %4 ]
  ret double %13
}

define linkonce_odr hidden swiftcc ptr @"$ss12_ArrayBufferV20_consumeAndCreateNewAByxGyFSd_Tg5"(ptr %0) #0 {
entry:
  %1 = getelementptr inbounds i8, ptr %0, i64 16
  %2 = load i64, ptr %1, align 8
  %3 = call ptr @__swift_instantiateConcreteTypeFromMangledName(ptr @"$ss23_ContiguousArrayStorageCySdGMD") #5
  %4 = shl i64 %2, 3
  %5 = add i64 %4, 32
  %6 = call noalias ptr @swift_allocObject(ptr %3, i64 %5, i64 7) #4
  %7 = getelementptr inbounds i8, ptr %6, i64 16
  store i64 %2, ptr %7, align 8
  %8 = getelementptr inbounds i8, ptr %6, i64 24
  %9 = shl i64 %2, 1
  store i64 %9, ptr %8, align 8
  %10 = getelementptr inbounds i8, ptr %6, i64 32
  %11 = getelementptr inbounds i8, ptr %0, i64 32
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %10, ptr align 8 %11, i64 %4, i1 false)
  call void @swift_release(ptr %0) #2
  ret ptr %6
}

define protected double @spring(double %0, double %1, double %2) #0 {
entry:
  %swifterror = alloca swifterror ptr, align 8
  store ptr null, ptr %swifterror, align 8
  %3 = alloca %T5model6SpringV, align 8
  call void @llvm.lifetime.start.p0(i64 16, ptr %3)
  %.k = getelementptr inbounds %T5model6SpringV, ptr %3, i32 0, i32 0
  %.k._value = getelementptr inbounds %TSd, ptr %.k, i32 0, i32 0
  store double %0, ptr %.k._value, align 8
  %.rest = getelementptr inbounds %T5model6SpringV, ptr %3, i32 0, i32 1
  %.rest._value = getelementptr inbounds %TSd, ptr %.rest, i32 0, i32 0
  store double %1, ptr %.rest._value, align 8
  %4 = call swiftcc double @"$s5model6SpringV6energyyS2dKF"(double %2, ptr swiftself %3, ptr noalias nocapture swifterror dereferenceable(8) %swifterror)
  %5 = load ptr, ptr %swifterror, align 8
  %6 = icmp ne ptr %5, null
  br i1 %6, label %8, label %7

7:
  ret double %4

8:
  call void @swift_release(ptr %5) #2
  ret double %0
}

define hidden swiftcc double @"$s5model6SpringV6energyyS2dKF"(double %0, ptr noalias nocapture swiftself dereferenceable(16) %1, ptr noalias nocapture swifterror dereferenceable(8) %2) #0 {
entry:
  %3 = fcmp olt double %0, 0.000000e+00
  br i1 %3, label %4, label %7

4:
  %5 = call swiftcc ptr @swift_allocObject(ptr @"$s5model3BadON", i64 16, i64 7)
  store ptr %5, ptr %2, align 8
  br label %6

6:
  ret double undef

7:
  %8 = load double, ptr %1, align 8
  %.rest = getelementptr inbounds %T5model6SpringV, ptr %1, i32 0, i32 1
  %9 = load double, ptr %.rest, align 8
  %10 = fsub double %0, %9
  %11 = fmul double %10, %10
  %12 = fmul double %8, 5.000000e-01
  %13 = fmul double %12, %11
  ret double %13
}

define internal void @"$s5model5scale_WZ"(ptr %0) #0 {
entry:
  store double 3.000000e+00, ptr @"$s5model5scaleSdvp", align 8
  ret void
}

define protected double @scaled(double %0) #0 {
entry:
  %1 = load i64, ptr @"$s5model5scale_Wz", align 8
  %2 = icmp eq i64 %1, -1
  br i1 %2, label %once_done, label %once_not_done

once_not_done:
  call void @swift_once(ptr @"$s5model5scale_Wz", ptr @"$s5model5scale_WZ", ptr undef)
  br label %once_done

once_done:
  %3 = load double, ptr @"$s5model5scaleSdvp", align 8
  %4 = fmul double %3, %0
  %5 = fmul double %4, %0
  ret double %5
}

declare ptr @swift_allocObject(ptr, i64, i64) #4
declare ptr @swift_retain(ptr returned) #2
declare void @swift_release(ptr) #2
declare void @swift_beginAccess(ptr, ptr, i64, ptr) #2
declare void @swift_endAccess(ptr) #2
declare void @swift_once(ptr, ptr, ptr)
declare zeroext i1 @swift_isUniquelyReferenced_nonNull_native(ptr) #6
declare i64 @_swift_stdlib_malloc_size(ptr)
declare swiftcc ptr @swift_getTypeByMangledNameInContext2(ptr, i64, ptr, ptr)
declare void @llvm.trap() #3
declare void @llvm.lifetime.start.p0(i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg)

attributes #0 = { "frame-pointer"="all" "no-trapping-math"="true" "target-cpu"="x86-64" }
attributes #1 = { noinline nounwind }
attributes #2 = { nounwind }
attributes #3 = { cold noreturn nounwind }
attributes #4 = { nounwind }
attributes #5 = { nounwind memory(none) }
attributes #6 = { nounwind }
