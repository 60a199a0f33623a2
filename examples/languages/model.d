/// A network's loss, an integrator, and a Cholesky solve, as D has them without its runtime: slices, templates, scope.
module model;

import core.stdc.math : log, sqrt, tanh;
import core.stdc.stdlib : free, malloc;

private double dot(const double[] a, const double[] b)
{
    double sum = 0;
    foreach (i, x; a)
        sum += x * b[i];
    return sum;
}

private double[] make(size_t n)
{
    return (cast(double*) malloc(n * double.sizeof))[0 .. n];
}

/// (w2 . tanh(W1 x + b1) - target)^2, W1 row by row
extern (C) double network(size_t n, size_t m, const(double)* x, const(double)* w1, const(double)* b1,
        const(double)* w2, double target)
{
    double y = 0;
    foreach (i; 0 .. m)
        y += w2[i] * tanh(b1[i] + dot(w1[i * n .. (i + 1) * n], x[0 .. n]));
    return (y - target) ^^ 2;
}

private void slope(const double[] y, double k, double[] s)
{
    const n = y.length;
    foreach (i, ref v; s)
        v = y[(i + n - 1) % n] - 2 * y[i] + y[(i + 1) % n] - k * y[i] * y[i] * y[i];
}

/// The energy of a ring of n cells after some steps of Heun's method
extern (C) double integrate(size_t n, const(double)* start, double k, double dt, int steps)
{
    auto y = make(n), mid = make(n), a = make(n), b = make(n);
    scope (exit)
    {
        free(y.ptr);
        free(mid.ptr);
        free(a.ptr);
        free(b.ptr);
    }
    foreach (i, ref v; y)
        v = start[i];
    foreach (step; 0 .. steps)
    {
        slope(y, k, a);
        foreach (i, ref v; mid)
            v = y[i] + dt * a[i];
        slope(mid, k, b);
        foreach (i, ref v; y)
            v += 0.5 * dt * (a[i] + b[i]);
    }
    return dot(y, y);
}

/// b . A^-1 b + log det A of a symmetric positive definite A
extern (C) double solve(size_t n, const(double)* a, const(double)* b)
{
    auto l = make(n * n), z = make(n);
    scope (exit)
    {
        free(l.ptr);
        free(z.ptr);
    }
    double logdet = 0;
    foreach (j; 0 .. n)
    {
        foreach (i; j .. n)
        {
            const s = a[i * n + j] - dot(l[i * n .. i * n + j], l[j * n .. j * n + j]);
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
        logdet += 2 * log(l[j * n + j]);
    }
    foreach (i; 0 .. n)
        z[i] = (b[i] - dot(l[i * n .. i * n + i], z[0 .. i])) / l[i * n + i];
    return logdet + dot(z, z);
}
