// Reductions of vectors: sums, products, the largest and the smallest lane.
typedef double v4 __attribute__((vector_size(32)));
double vector_reductions(double *x, int n) {
    v4 a = {x[0], x[1], x[2], x[3]}, b = {x[4], x[5], x[0], x[1]};
    v4 c = a * b + a;
    double s = __builtin_reduce_max(c) + __builtin_reduce_min(a * a) * 2;
    s += __builtin_reduce_maximum(b) * __builtin_reduce_minimum(c + b);
    return s;
}
