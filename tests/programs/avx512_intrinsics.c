/* Intrinsics of AVX-512 whose lanes a mask switches, and those of FMA that subtract and add in turn. */
#include "selfcheck.h"
#ifdef __x86_64__
#include <immintrin.h>
#define OF(t) __attribute__((target(t))) static double
#define WIDE "avx512f,avx512dq,avx512vl"
OF("avx2,fma") in_turn(const double *x, int n)
{
    (void)n;
    __m256d a = _mm256_loadu_pd(x), b = _mm256_loadu_pd(x + 2);
    __m256d c = _mm256_fmsubadd_pd(_mm256_fmaddsub_pd(a, b, a), b, a);
    __m128 f = _mm_insert_ps(_mm256_cvtpd_ps(c), _mm256_cvtpd_ps(a), 0x42);
    double o[4];
    _mm256_storeu_pd(o, c);
    return o[0] * o[1] + o[2] * o[3] + 0 * _mm_cvtss_f32(f);
}
OF(WIDE) packed(const double *x, int n)
{
    (void)n;
    __m512d a = _mm512_loadu_pd(x), b = _mm512_mul_pd(a, a);
    __mmask8 small = _mm512_cmp_pd_mask(a, _mm512_set1_pd(0.9), _CMP_LT_OQ);
    __m512d c = _mm512_mask_compress_pd(b, small, a), d = _mm512_maskz_expand_pd(small, b);
    c = _mm512_mask_add_pd(c, 0x5a, c, d);
    double o[8] = {0};
    _mm512_mask_compressstoreu_pd(o, small, c);
    c = _mm512_mask_expandloadu_pd(c, 0x3c, x);
    __m256d e = _mm256_maskz_compress_pd(5, _mm512_castpd512_pd256(a));
    return _mm512_reduce_add_pd(_mm512_mul_pd(c, a)) + o[0] * o[1] + _mm256_cvtsd_f64(e);
}
OF(WIDE) scattered(const double *x, int n)
{
    (void)n;
    __m512i at = _mm512_setr_epi64(3, 1, 4, 1, 5, 0, 2, 6);
    __m512d a = _mm512_i64gather_pd(at, x, 8), b = _mm512_mask_i64gather_pd(a, 0x5b, at, x + 1, 8);
    double o[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    _mm512_i64scatter_pd(o, at, _mm512_mul_pd(a, b), 8);
    _mm512_mask_i32scatter_pd(o, 0x21, _mm256_setr_epi32(7, 7, 7, 7, 7, 2, 7, 7), a, 8);
    double s = 1;
    for (int i = 0; i < 8; i++)
        s = s * 0.5 + o[i] * (i + 1);
    return s;
}
OF(WIDE) scaled(const double *x, int n)
{
    (void)n;
    __m512d a = _mm512_loadu_pd(x), e = _mm512_getexp_pd(a), m = _mm512_getmant_pd(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    __m512d back = _mm512_scalef_pd(_mm512_mul_pd(m, m), e), r = _mm512_rcp14_pd(_mm512_rsqrt14_pd(back));
    __m128d s = _mm_maskz_div_sd(1, _mm512_castpd512_pd128(a), _mm_set_sd(3));
    s = _mm_mask_sqrt_sd(s, 1, s, _mm_mask_mul_sd(s, 1, s, s));
    s = _mm_fmadd_round_sd(s, s, s, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_reduce_add_pd(_mm512_mul_pd(r, back)) + _mm_cvtsd_f64(s);
}
static double all_scaled(const double *x)
{
    double s = x[0] / 3 * (x[0] / 3) + x[0] / 3;
    for (int i = 0; i < 8; i++) {
        double power = exp2(floor(log2(x[i]))), back = x[i] / power * (x[i] / power) * power;
        s += sqrt(back) * back;
    }
    return s;
}
int main(void)
{
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        CHECK_GRADIENT(in_turn, 6);
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return failures();
    CHECK_GRADIENT(packed, 8);
    CHECK_GRADIENT(scattered, 8);
    double x[8], d[8] = {0};
    sample(x, 8);
    __enzyme_autodiff_void((void *)scaled, enzyme_dup, x, d, enzyme_const, 8);
    for (int i = 0; i < 8; i++) {
        double given = x[i], h = 1e-6;
        x[i] = given + h;
        double above = all_scaled(x);
        x[i] = given - h;
        double below = all_scaled(x);
        x[i] = given;
        expect_within("scaled", i, d[i], (above - below) / (2 * h), 1e-4);
    }
    return failures();
}
#else
int main(void) { return 0; }
#endif
