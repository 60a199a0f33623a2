/* CUDA without a toolkit: what kernels need, for `clang -x cuda -nocudainc -nocudalib` (llgrad.gpu.compiling includes it).
 *
 * Qualifiers, built-in variables, barriers, atomics and the mathematical functions, which are libdevice's by name. It is
 * for the code of the device; a host part that launches kernels wants the toolkit's own headers.
 */
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define LLGRAD_DEVICE static __device__ __forceinline__ __attribute__((nodebug)) /* errors name the line that calls */

typedef __SIZE_TYPE__ size_t;

#define LLGRAD_REGISTER(variable, name) \
    struct llgrad_##variable { \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
        LLGRAD_DEVICE unsigned get_x() { return __nvvm_read_ptx_sreg_##name##_x(); } \
        LLGRAD_DEVICE unsigned get_y() { return __nvvm_read_ptx_sreg_##name##_y(); } \
        LLGRAD_DEVICE unsigned get_z() { return __nvvm_read_ptx_sreg_##name##_z(); } \
    }; \
    extern const __device__ __attribute__((weak)) llgrad_##variable variable;
LLGRAD_REGISTER(threadIdx, tid)
LLGRAD_REGISTER(blockIdx, ctaid)
LLGRAD_REGISTER(blockDim, ntid)
LLGRAD_REGISTER(gridDim, nctaid)
#undef LLGRAD_REGISTER
static constexpr int warpSize = 32;

LLGRAD_DEVICE void __threadfence() { __nvvm_membar_gl(); }
LLGRAD_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
LLGRAD_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }

#define LLGRAD_SHUFFLE(name, kind, clamp) \
    LLGRAD_DEVICE float name(unsigned mask, float x, int by, int width = 32) \
    { return __nvvm_shfl_sync_##kind##_f32(mask, x, by, (32 - width) << 8 | clamp); } \
    LLGRAD_DEVICE int name(unsigned mask, int x, int by, int width = 32) \
    { return __nvvm_shfl_sync_##kind##_i32(mask, x, by, (32 - width) << 8 | clamp); }
LLGRAD_SHUFFLE(__shfl_sync, idx, 31)
LLGRAD_SHUFFLE(__shfl_up_sync, up, 0)
LLGRAD_SHUFFLE(__shfl_down_sync, down, 31)
LLGRAD_SHUFFLE(__shfl_xor_sync, bfly, 31)
#undef LLGRAD_SHUFFLE
LLGRAD_DEVICE void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }

LLGRAD_DEVICE int atomicAdd(int *p, int v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
LLGRAD_DEVICE unsigned atomicAdd(unsigned *p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
LLGRAD_DEVICE float atomicAdd(float *p, float v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
LLGRAD_DEVICE double atomicAdd(double *p, double v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }

template <typename T> LLGRAD_DEVICE T __ldg(const T *p) { return *p; }
template <typename T> LLGRAD_DEVICE T min(T x, T y) { return y < x ? y : x; }
template <typename T> LLGRAD_DEVICE T max(T x, T y) { return x < y ? y : x; }
LLGRAD_DEVICE int abs(int x) { return x < 0 ? -x : x; }

#define LLGRAD_ONE(name) \
    extern "C" __device__ double __nv_##name(double); \
    extern "C" __device__ float __nv_##name##f(float); \
    LLGRAD_DEVICE double name(double x) { return __nv_##name(x); } \
    LLGRAD_DEVICE float name##f(float x) { return __nv_##name##f(x); } \
    LLGRAD_DEVICE float name(float x) { return __nv_##name##f(x); }
#define LLGRAD_TWO(name) \
    extern "C" __device__ double __nv_##name(double, double); \
    extern "C" __device__ float __nv_##name##f(float, float); \
    LLGRAD_DEVICE double name(double x, double y) { return __nv_##name(x, y); } \
    LLGRAD_DEVICE float name##f(float x, float y) { return __nv_##name##f(x, y); } \
    LLGRAD_DEVICE float name(float x, float y) { return __nv_##name##f(x, y); }
LLGRAD_ONE(acos) LLGRAD_ONE(acosh) LLGRAD_ONE(asin) LLGRAD_ONE(asinh) LLGRAD_ONE(atan) LLGRAD_ONE(atanh) LLGRAD_ONE(cbrt)
LLGRAD_ONE(ceil) LLGRAD_ONE(cos) LLGRAD_ONE(cosh) LLGRAD_ONE(cospi) LLGRAD_ONE(erf) LLGRAD_ONE(erfc) LLGRAD_ONE(erfcx)
LLGRAD_ONE(exp) LLGRAD_ONE(exp10) LLGRAD_ONE(exp2) LLGRAD_ONE(expm1) LLGRAD_ONE(fabs) LLGRAD_ONE(floor) LLGRAD_ONE(lgamma)
LLGRAD_ONE(log) LLGRAD_ONE(log10) LLGRAD_ONE(log1p) LLGRAD_ONE(log2) LLGRAD_ONE(normcdf) LLGRAD_ONE(rcbrt) LLGRAD_ONE(rint)
LLGRAD_ONE(round) LLGRAD_ONE(rsqrt) LLGRAD_ONE(sin) LLGRAD_ONE(sinh) LLGRAD_ONE(sinpi) LLGRAD_ONE(sqrt) LLGRAD_ONE(tan)
LLGRAD_ONE(tanh) LLGRAD_ONE(tgamma) LLGRAD_ONE(trunc)
LLGRAD_TWO(atan2) LLGRAD_TWO(copysign) LLGRAD_TWO(fdim) LLGRAD_TWO(fmax) LLGRAD_TWO(fmin) LLGRAD_TWO(fmod) LLGRAD_TWO(hypot)
LLGRAD_TWO(pow) LLGRAD_TWO(rhypot)
#undef LLGRAD_ONE
#undef LLGRAD_TWO
extern "C" __device__ double __nv_fma(double, double, double);
extern "C" __device__ float __nv_fmaf(float, float, float);
LLGRAD_DEVICE double fma(double x, double y, double z) { return __nv_fma(x, y, z); }
LLGRAD_DEVICE float fmaf(float x, float y, float z) { return __nv_fmaf(x, y, z); }
extern "C" __device__ float __nv_saturatef(float);
LLGRAD_DEVICE float __saturatef(float x) { return __nv_saturatef(x); }
#define LLGRAD_FAST(name) \
    extern "C" __device__ float __nv_fast_##name(float); \
    LLGRAD_DEVICE float __##name(float x) { return __nv_fast_##name(x); }
LLGRAD_FAST(sinf) LLGRAD_FAST(cosf) LLGRAD_FAST(tanf) LLGRAD_FAST(expf) LLGRAD_FAST(exp10f) LLGRAD_FAST(logf)
LLGRAD_FAST(log2f) LLGRAD_FAST(log10f)
#undef LLGRAD_FAST
extern "C" __device__ float __nv_fast_fdividef(float, float);
extern "C" __device__ float __nv_fast_powf(float, float);
LLGRAD_DEVICE float __fdividef(float x, float y) { return __nv_fast_fdividef(x, y); }
LLGRAD_DEVICE float __powf(float x, float y) { return __nv_fast_powf(x, y); }

/* Derivatives within kernels: Enzyme's names. */
extern __device__ int enzyme_const, enzyme_dup, enzyme_dupnoneed, enzyme_out;
template <typename R = void, typename... A> __device__ R __enzyme_autodiff(void *, A...);
template <typename R = void, typename... A> __device__ R __enzyme_fwddiff(void *, A...);
