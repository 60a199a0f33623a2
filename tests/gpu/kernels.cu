// Kernels whose gradients tests/gpu/test_kernels.py checks. Each is a device function f(x, y, n): n numbers from x, the
// results in y, both of 64 elements; two blocks of 32 threads. ALL(f) makes its kernels: f_p, f_r (reverse), f_f (forward).

#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define ALL(f, real) \
    extern "C" __global__ void f##_p(real *x, real *y, int n) { f(x, y, n); } \
    extern "C" __global__ void f##_r(real *x, real *dx, real *y, real *dy, int n) \
    { __enzyme_autodiff((void *)f, enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, n); } \
    extern "C" __global__ void f##_f(real *x, real *dx, real *y, real *dy, int n) \
    { __enzyme_fwddiff((void *)f, enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, n); }

// Element by element, with a guard
__device__ void element(const double *x, double *y, int n) { if (I < n) y[I] = sin(x[I]) * exp(x[I]); }
ALL(element, double)
__device__ void elementf(const float *x, float *y, int n) { if (I < n) y[I] = tanhf(x[I]) + sqrtf(x[I]) * logf(x[I]); }
ALL(elementf, float)
__device__ void inplace(double *x, double *y, int n) { x[I] = x[I] * x[I]; x[I] = cos(x[I]); y[I] = x[I] * x[I]; }
ALL(inplace, double)
// libdevice: what libm lacks, and the fast ones
__device__ void special(const double *x, double *y, int n)
{
    double v = x[I];
    y[I] = rsqrt(v) + rcbrt(v) + sinpi(v) * cospi(v) + erfcx(v) + normcdf(v) + rhypot(v, 2 - v) + pow(v, 1.5) + erf(v);
}
ALL(special, double)
__device__ void fastf(const float *x, float *y, int n)
{
    float v = x[I];
    y[I] = __expf(v) + __sinf(v) * __cosf(v) + __logf(v) + __fdividef(v, 1 + v) + __powf(v, 2.5f) + __saturatef(v - 0.5f);
}
ALL(fastf, float)
// A grid-stride loop; a stencil that gathers from neighbours; gathers with overlap
__device__ void stride(const double *x, double *y, int n)
{
    for (int i = I; i < n; i += blockDim.x * gridDim.x / 2) if (i % 64 == I) y[i] = exp(x[i]) * x[i];
}
ALL(stride, double)
__device__ void stencil(const double *x, double *y, int n)
{
    int i = I;
    if (i > 0 && i + 1 < n) y[i] = (x[i - 1] - 2 * x[i] + x[i + 1]) * x[i];
}
ALL(stencil, double)
__device__ void gather(const double *x, double *y, int n) { y[I] = x[I / 7] * x[I * I % 5] + x[0]; }
ALL(gather, double)
// Loops: of a length that is known, of one that is not, with local arrays, nested
__device__ void newton(const double *x, double *y, int n)
{
    double v = 1;
    for (int k = 0; k < 6; k++) v = (v + x[I] / v) / 2;
    y[I] = v;
}
ALL(newton, double)
__device__ void until(const double *x, double *y, int n)
{
    double v = x[I];
    while (v < 3) v = v * 1.25 + sin(v) * 0.125;
    y[I] = v * v;
}
ALL(until, double)
__device__ void locals(const double *x, double *y, int n)
{
    double a[8];
    for (int k = 0; k < 8; k++) a[k] = x[(I + k) % n] * k;
    for (int s = 0; s < 3; s++) for (int k = 1; k < 8; k++) a[k] = sin(a[k]) * a[k - 1] + a[(k * k) % 8];
    y[I] = a[7];
}
ALL(locals, double)
// Calls of other device functions, also with results by pointer
__device__ __noinline__ void polar(double x, double y, double *r, double *phi) { *r = hypot(x, y); *phi = atan2(y, x); }
__device__ void calls(const double *x, double *y, int n)
{
    double r, phi;
    polar(x[I], x[(I + 1) % n], &r, &phi);
    y[I] = r * phi;
}
ALL(calls, double)
// Shared memory: a tree of sums, a scan, a tile, a scalar, places written anew, a neighbour at a constant distance
__device__ void sumtree(const double *x, double *y, int n)
{
    __shared__ double s[32];
    s[T] = x[I] * x[I];
    __syncthreads();
    for (int k = 16; k > 0; k /= 2) {
        if (T < k) s[T] += s[T + k];
        __syncthreads();
    }
    if (T == 0) y[blockIdx.x] = s[0] * s[0];
}
ALL(sumtree, double)
__device__ void scan(const double *x, double *y, int n)
{
    __shared__ double s[2][32];
    int now = 0;
    s[0][T] = x[I];
    __syncthreads();
    for (int k = 1; k < 32; k *= 2, now = 1 - now) {
        s[1 - now][T] = T >= k ? s[now][T] * s[now][T - k] + 0.5 * s[now][T] : s[now][T];
        __syncthreads();
    }
    y[I] = s[now][T];
}
ALL(scan, double)
__device__ void tile(const double *x, double *y, int n)
{
    __shared__ double a[8][4], b[4][8];
    int r = T / 4, c = T % 4;
    a[r][c] = x[I];
    b[c][r] = x[(I + 5) % n];
    __syncthreads();
    double sum = 0;
    for (int k = 0; k < 4; k++) sum += a[r][k] * b[k][(r + c) % 8];
    y[I] = sum;
}
ALL(tile, double)
__device__ void scalar(const double *x, double *y, int n)
{
    __shared__ double s;
    if (T == 3) s = x[I] * x[0];
    __syncthreads();
    y[I] = s * x[I];
}
ALL(scalar, double)
__device__ void moved(const double *x, double *y, int n)
{
    __shared__ double s[33];
    s[T] = x[I];
    if (T == 0) s[32] = 1;
    __syncthreads();
    double v = s[T + 1] * x[I];
    __syncthreads();
    s[T + 1] = sin(v);
    __syncthreads();
    y[I] = s[T] * s[T];
}
ALL(moved, double)
__device__ void softmaxf(const float *x, float *y, int n)
{
    __shared__ float s[32];
    float largest = x[blockIdx.x * 32];
    for (int k = 1; k < 32; k++) largest = fmaxf(largest, x[blockIdx.x * 32 + k]);
    s[T] = __expf(x[I] - largest);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 32; k++) sum += s[k];
    y[I] = s[T] / sum;
}
ALL(softmaxf, float)
// Steps in global memory, each behind a barrier
__device__ void steps(double *x, double *y, int n)
{
    int at = blockIdx.x * 32;
    for (int k = 0; k < n / 16; k++) {
        double v = x[at + (T + 1) % 32] * x[I];
        __syncthreads();
        x[I] = sin(v) + 0.5;
        __syncthreads();
    }
    y[I] = x[I];
}
ALL(steps, double)
// A barrier within a function that is called
__device__ __noinline__ void exchange(double *s, double v) { __syncthreads(); s[T] = v; __syncthreads(); }
__device__ void within(const double *x, double *y, int n)
{
    __shared__ double s[32];
    s[T] = x[I];
    __syncthreads();
    double v = s[31 - T] * s[T];
    exchange(s, v * v);
    y[I] = s[(T + 7) % 32] * v;
}
ALL(within, double)
// Atomic additions, to global and to shared memory
__device__ void atomics(const double *x, double *y, int n) { atomicAdd(&y[I % 3], sin(x[I]) * x[I]); }
ALL(atomics, double)
__device__ void histogramf(const float *x, float *y, int n)
{
    __shared__ float s[4];
    if (T < 4) s[T] = 0;
    __syncthreads();
    atomicAdd(&s[T * T % 4], x[I] * x[I]);
    __syncthreads();
    y[I] = s[T % 4] * x[I];
}
ALL(histogramf, float)
// Vectors of several numbers, loaded and stored at once
struct __attribute__((aligned(16))) Two { double x, y; };
__device__ void pairs(const double *x, double *y, int n)
{
    Two v = ((const Two *)x)[I / 2], w = ((const Two *)x)[(I / 2 + 9) % 32];
    y[I] = v.x * w.y + sin(v.y * w.x);
}
ALL(pairs, double)
// A derivative within one thread, of its own variables
__device__ double energy(const double *v, double k)
{
    double sum = 0;
    for (int n = 0; n < 3; n++) sum += k * v[n] * v[n] * v[(n + 1) % 3];
    return sum;
}
extern "C" __global__ void own(const double *x, double *y)
{
    double v[3], dv[3] = {0, 0, 0}, dk = 0;
    for (int n = 0; n < 3; n++) v[n] = x[3 * I + n];
    __enzyme_autodiff((void *)energy, enzyme_dup, v, dv, enzyme_const, 0.5);
    for (int n = 0; n < 3; n++) y[3 * I + n] = dv[n] + dk;
}
// Barriers that ask something, and those of a warp
__device__ void asking(const double *x, double *y, int n)
{
    __shared__ double s[32];
    s[T] = x[I];
    int some = __nvvm_bar0_or(x[I] > 0.9), many = __nvvm_bar0_popc(x[I] > 1);
    double v = s[31 - T] * (some + many);
    __nvvm_bar_warp_sync(-1);
    s[T] = sin(v);
    __nvvm_bar_warp_sync(-1);
    y[I] = s[(T + 3) % 32] * v;
}
ALL(asking, double)
// Shuffles within a warp: a sum, a scan, a rotation by lane, segments of 8 lanes
__device__ void warpsumf(const float *x, float *y, int n)
{
    float v = x[I] * x[I];
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);
    if (T == 0) y[blockIdx.x] = v * v / 100;
}
ALL(warpsumf, float)
__device__ void lanesf(const float *x, float *y, int n)
{
    float v = x[I], up = __shfl_up_sync(0xffffffff, v, 3), across = __shfl_xor_sync(0xffffffff, v * up, 5, 8);
    y[I] = __shfl_sync(0xffffffff, across, T * T + 1) * v + __shfl_sync(0xffffffff, up, 2, 8) * across;
}
ALL(lanesf, float)
// A tape that does not fit into the memory of the thread: it goes on in the heap
__device__ void longer(const double *x, double *y, int n)
{
    double v = x[I];
    for (int k = 0; k < 5 * n; k++) v = sin(v * x[(I + k) % n]) + 0.5;
    y[I] = v;
}
ALL(longer, double)
// What a thread has read in a loop is overwritten by its neighbour, behind a barrier
__device__ void neighbour(const double *x, double *y, int n)
{
    __shared__ double s[8 * 33];
    int rows = n / 8;
    for (int k = 0; k < rows; k++) s[k * 33 + T] = x[(I + k) % n];
    __syncthreads();
    double v = 1;
    for (int k = 0; k < rows; k++) v += sin(s[k * 33 + T]) * v * 0.1;
    __syncthreads();
    s[T + 1] = x[I] * 2;
    __syncthreads();
    y[I] = v * s[T + 1];
}
ALL(neighbour, double)
