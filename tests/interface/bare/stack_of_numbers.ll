; a stack in a std::vector, as clang -O1 writes it: elements are as far apart as a division without remainder says
@program = constant [14 x i8] c"xx*x*xxxx***+\00", align 1
define double @f(double %0) {
  br label %2
2:                                                ; preds = %49, %1
  %3 = phi i8 [ 120, %1 ], [ %53, %49 ]
  %4 = phi i64 [ 0, %1 ], [ %8, %49 ]
  %5 = phi ptr [ null, %1 ], [ %52, %49 ]
  %6 = phi ptr [ null, %1 ], [ %51, %49 ]
  %7 = phi ptr [ null, %1 ], [ %50, %49 ]
  %8 = add nuw nsw i64 %4, 1
  %9 = getelementptr inbounds nuw i8, ptr @program, i64 %8
  %10 = icmp eq i8 %3, 120
  br i1 %10, label %11, label %42
11:                                               ; preds = %2
  %12 = icmp eq ptr %6, %5
  br i1 %12, label %15, label %13
13:                                               ; preds = %11
  store double %0, ptr %6, align 8, !tbaa !9
  %14 = getelementptr inbounds nuw i8, ptr %6, i64 8
  br label %49
15:                                               ; preds = %11
  %16 = ptrtoint ptr %6 to i64
  %17 = ptrtoint ptr %7 to i64
  %18 = sub i64 %16, %17
  %19 = icmp eq i64 %18, 9223372036854775800
  br i1 %19, label %20, label %21
20:                                               ; preds = %15
  tail call void @abort()
  unreachable
21:                                               ; preds = %15
  %22 = ashr exact i64 %18, 3
  %23 = tail call i64 @llvm.umax.i64(i64 %22, i64 1)
  %24 = add nsw i64 %23, %22
  %25 = icmp ult i64 %24, %22
  %26 = tail call i64 @llvm.umin.i64(i64 %24, i64 1152921504606846975)
  %27 = select i1 %25, i64 1152921504606846975, i64 %26
  %28 = icmp ne i64 %27, 0
  tail call void @llvm.assume(i1 %28)
  %29 = shl nuw nsw i64 %27, 3
  %30 = tail call noalias nonnull ptr @malloc(i64 %29)
  %31 = getelementptr inbounds nuw i8, ptr %30, i64 %18
  store double %0, ptr %31, align 8, !tbaa !9
  %32 = icmp sgt i64 %18, 0
  br i1 %32, label %33, label %34
33:                                               ; preds = %21
  tail call void @llvm.memmove.p0.p0.i64(ptr nonnull align 8 %30, ptr align 8 %7, i64 %18, i1 false)
  br label %34
34:                                               ; preds = %33, %21
  %35 = getelementptr inbounds nuw i8, ptr %31, i64 8
  %36 = icmp eq ptr %7, null
  br i1 %36, label %40, label %37
37:                                               ; preds = %34
  %38 = ptrtoint ptr %5 to i64
  %39 = sub i64 %38, %17
  tail call void @free(ptr nonnull %7)
  br label %40
40:                                               ; preds = %37, %34
  %41 = getelementptr inbounds nuw double, ptr %30, i64 %27
  br label %49
42:                                               ; preds = %2
  %43 = getelementptr inbounds i8, ptr %6, i64 -8
  %44 = load double, ptr %43, align 8, !tbaa !9
  %45 = fadd double %44, 1.000000e+00
  %46 = getelementptr inbounds i8, ptr %6, i64 -16
  %47 = load double, ptr %46, align 8, !tbaa !9
  %48 = fmul double %47, %45
  store double %48, ptr %46, align 8, !tbaa !9
  br label %49
49:                                               ; preds = %42, %40, %13
  %50 = phi ptr [ %7, %42 ], [ %30, %40 ], [ %7, %13 ]
  %51 = phi ptr [ %43, %42 ], [ %35, %40 ], [ %14, %13 ]
  %52 = phi ptr [ %5, %42 ], [ %41, %40 ], [ %5, %13 ]
  %53 = load i8, ptr %9, align 1, !tbaa !14
  %54 = icmp eq i64 %8, 13
  br i1 %54, label %55, label %2
55:                                               ; preds = %49
  %56 = getelementptr inbounds i8, ptr %51, i64 -8
  %57 = load double, ptr %56, align 8, !tbaa !9
  %58 = icmp eq ptr %50, null
  br i1 %58, label %63, label %59
59:                                               ; preds = %55
  %60 = ptrtoint ptr %52 to i64
  %61 = ptrtoint ptr %50 to i64
  %62 = sub i64 %60, %61
  tail call void @free(ptr nonnull %50)
  br label %63
63:                                               ; preds = %55, %59
  ret double %57
}
declare void @abort()
declare nonnull ptr @malloc(i64)
declare void @llvm.memmove.p0.p0.i64(ptr writeonly captures(none), ptr readonly captures(none), i64, i1 immarg)
declare void @free(ptr)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.assume(i1)
!7 = !{!"omnipotent char", !8, i64 0}
!8 = !{!"Simple C++ TBAA"}
!9 = !{!10, !10, i64 0}
!10 = !{!"double", !7, i64 0}
!14 = !{!7, !7, i64 0}
