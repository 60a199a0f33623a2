// Masked loads and stores, expanding and compressing.
typedef double v4 __attribute__((ext_vector_type(4)));
typedef _Bool b4 __attribute__((ext_vector_type(4)));
double vector_masked(double *x, int n, int k) {
    b4 some = {1, k > 2, 0, 1}, others = {0, 1, 1, k < 2};
    v4 a = __builtin_masked_load(some, x), c = __builtin_masked_expand_load(some, x + 1);
    v4 d = some ? a * c : (v4){2, 2, x[4], x[5]};
    __builtin_masked_store(others, d * d, x + 1);
    __builtin_masked_compress_store(some, d * d[2], x + 2);
    return d[0] * d[1] + d[3] * d[2];
}
