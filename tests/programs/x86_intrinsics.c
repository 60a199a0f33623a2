/* What immintrin.h leaves of SSE and AVX when clang is done, in functions compiled for other processors too. */
#include "selfcheck.h"
#ifdef __x86_64__
#include <immintrin.h>
#define OF(t) __attribute__((target(t))) static double
OF("sse4.1") masks(const double *x, int n)
{
    __m128d s = _mm_setzero_pd(), one = _mm_set1_pd(1), sign = _mm_set1_pd(-0.0);
    for (int i = 0; i + 2 <= n; i += 2) {
        __m128d v = _mm_loadu_pd(x + i), less = _mm_cmplt_pd(v, one), d = _mm_sub_pd(v, one);
        s = _mm_add_pd(s, _mm_or_pd(_mm_and_pd(less, _mm_mul_pd(v, v)), _mm_andnot_pd(less, v)));
        s = _mm_add_sd(_mm_mul_pd(s, _mm_max_pd(v, one)), _mm_min_sd(v, one));
        s = _mm_add_pd(s, _mm_mul_pd(_mm_andnot_pd(sign, d), _mm_xor_pd(sign, v)));
        if (_mm_movemask_pd(less) == 3 || _mm_comilt_sd(v, one))
            s = _mm_mul_pd(s, _mm_add_pd(v, _mm_floor_pd(v)));
    }
    double o[2];
    _mm_storeu_pd(o, s);
    return o[0] * 2 + o[1] * o[1];
}
OF("avx2,fma") lanes(const double *x, int n)
{
    __m256d s = _mm256_setzero_pd();
    for (int i = 0; i < n; i += 4) {
        int left = n - i;
        __m256i on = _mm256_setr_epi64x(-(left > 0), -(left > 1), -(left > 2), -(left > 3));
        __m256d v = _mm256_maskload_pd(x + i, on);
        __m256d g = _mm256_i32gather_pd(x, _mm_setr_epi32(0, i, (i + 1) % n, 2), 8);
        s = _mm256_fmadd_pd(v, g, s);
        s = _mm256_add_pd(s, _mm256_hadd_pd(v, _mm256_permutevar_pd(g, on)));
        s = _mm256_addsub_pd(s, _mm256_mul_pd(v, v));
        s = _mm256_blendv_pd(s, _mm256_mul_pd(s, v), _mm256_cmp_pd(v, g, _CMP_LT_OQ));
    }
    double o[4];
    _mm256_maskstore_pd(o, _mm256_set1_epi64x(-1), s);
    return o[0] + 2 * o[1] + 3 * o[2] + o[3] * o[0];
}
OF("sse2") reciprocals(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        __m128 v = _mm_set1_ps((float)x[i]), c = _mm_rcp_ss(v);
        s += x[i] * _mm_cvtss_f32(_mm_mul_ss(c, v)) + _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set1_pd(3), _mm_set1_pd(x[i])));
    }
    return s;
}
int main(void)
{
    CHECK_GRADIENT(masks, 6);
    CHECK_GRADIENT(lanes, 6);
    double x[3], d[3] = {0};
    sample(x, 3);
    __enzyme_autodiff_void((void *)reciprocals, enzyme_dup, x, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect_within("reciprocals", i, d[i], 1 + 0.5 / sqrt(x[i]), 1e-5);
    return failures();
}
#else
int main(void) { return 0; }
#endif
