// Conjugate gradients on a small system, a fixed number of steps.
// a: 9 -0.4 0.4
// b: 3
// n: 3
// tolerance: 1e-6
void conjugate_gradient(const double *a, double *b, int n) {
    double x[3] = {0}, r[3], p[3], q[3], rr = 0;
    for (int i = 0; i < n; i++) {
        r[i] = p[i] = b[i];
        rr += r[i] * r[i];
    }
    for (int k = 0; k < 2; k++) {
        double pq = 0, next = 0;
        for (int i = 0; i < n; i++) {
            q[i] = 3 * p[i];
            for (int j = 0; j < n; j++) q[i] += 0.5 * (a[i * n + j] + a[j * n + i]) * p[j];
            pq += p[i] * q[i];
        }
        for (int i = 0; i < n; i++) {
            x[i] += rr / pq * p[i];
            r[i] -= rr / pq * q[i];
            next += r[i] * r[i];
        }
        for (int i = 0; i < n; i++) p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
    for (int i = 0; i < n; i++) b[i] = x[i];
}
