// C += A B with flat indices.
// n: 3
// a: 9
// b: 9
// c: 9
void matrix_multiply(const double *a, const double *b, double *c, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] += s;
        }
}
