// A struct of two floats travels in a vector; half of it is never set, never read, and multiplied all the same.
typedef struct { float x, y; } Pair;
static __attribute__((noinline)) Pair turn(Pair a, float t) { return (Pair){a.x * 2 - a.y * t, a.x * t + a.y * 3}; }
static __attribute__((noinline)) Pair half(float x) { Pair p; p.x = x * x; return p; }
double undefined_lanes(double *x, int n) {
    Pair p = {1, 2};
    double s = 0;
    for (int i = 0; i < n; i++) {
        p = turn(p, (float)x[i]);
        Pair q = half((float)x[i]);
        q.x *= p.y;
        s += (double)p.x * p.y + q.x;
    }
    return s;
}
