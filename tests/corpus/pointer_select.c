// The pointer is chosen at run time, for reading and for writing.
// k: 1
void pointer_select(double *x, int n, double *y, int m, int k) {
    double *from = k ? x : y, *to = k ? y : x;
    for (int i = 0; i < m; i++) {
        to[i] += from[i] * from[(i + 1) % m];
        double *p = i & 1 ? x : y;
        p[i] *= 1.5;
    }
}
