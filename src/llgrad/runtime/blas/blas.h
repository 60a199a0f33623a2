/* The rules for one type: `T` is its name, `F(name)` that of a routine. Included by blas.c. */

T F(dot)(long, const T *, long, const T *, long);
T F(nrm2)(long, const T *, long);
T F(asum)(long, const T *, long);
void F(axpy)(long, T, const T *, long, T *, long);
void F(scal)(long, T, T *, long);
void F(copy)(long, const T *, long, T *, long);
void F(swap)(long, T *, long, T *, long);
void F(rot)(long, T *, long, T *, long, T, T);
void F(gemv)(int, long, long, T, const T *, long, const T *, long, T, T *, long);
void F(ger)(long, long, T, const T *, long, const T *, long, T *, long);
void F(symv)(int, long, T, const T *, long, const T *, long, T, T *, long);
void F(syr)(int, long, T, const T *, long, T *, long);
void F(syr2)(int, long, T, const T *, long, const T *, long, T *, long);
void F(trmv)(int, int, int, long, const T *, long, T *, long);
void F(trsv)(int, int, int, long, const T *, long, T *, long);
void F(gemm)(int, int, long, long, long, T, const T *, long, const T *, long, T, T *, long);
void F(symm)(int, int, long, long, T, const T *, long, const T *, long, T, T *, long);
void F(syrk)(int, int, long, long, T, const T *, long, T, T *, long);
void F(syr2k)(int, int, long, long, T, const T *, long, const T *, long, T, T *, long);
void F(trmm)(int, int, int, int, long, long, T, const T *, long, T *, long);
void F(trsm)(int, int, int, int, long, long, T, const T *, long, T *, long);

/* --- what the rules share */

#define RULE(name, word) F(name##_##word)
#define SCRATCH(count) malloc(sizeof(T) * (unsigned long)((count) > 0 ? (count) : 1))
/* What a routine read: kept in place n of `k`, without gaps, or still where it was. */
#define OLD(n, p) (k.at[n] < 0 ? (p) : block + k.at[n])
#define STEP(n, inc) (k.at[n] < 0 ? (inc) : 1)
#define LEAD(n, ld, rows) (k.at[n] < 0 ? (ld) : (rows))

static inline void F(fill)(long n, T a, T *x, long inc) {
    long step = inc < 0 ? -inc : inc;
    for (long i = 0; i < n; i++) x[i * step] = a;
}

/* x *= a, of which a = 0 forgets what was there. Increments may be negative. */
static inline void F(rescale)(long n, T a, T *x, long inc) {
    if (a == 0) F(fill)(n, 0, x, inc);
    else if (a != 1) F(scal)(n, a, x, inc < 0 ? -inc : inc);
}

static inline void F(pack)(int part, int unit, long m, long n, const T *a, long lda, T *b, long ldb) {
    EACH(i, j, part, unit, m, n) b[i + j * ldb] = a[i + j * lda];
}
/* y += a x */
static inline void F(madd)(int part, int unit, long m, long n, T a, const T *x, long ldx, T *y, long ldy) {
    EACH(i, j, part, unit, m, n) y[i + j * ldy] += a * x[i + j * ldx];
}
static inline void F(mscale)(int part, long m, long n, T a, T *x, long ldx) {
    if (a == 1) return;
    if (a == 0) EACH(i, j, part, 0, m, n) x[i + j * ldx] = 0;
    else EACH(i, j, part, 0, m, n) x[i + j * ldx] *= a;
}
static inline T F(mdot)(int part, int unit, long m, long n, const T *x, long ldx, const T *y, long ldy) {
    T sum = 0;
    EACH(i, j, part, unit, m, n) sum += x[i + j * ldx] * y[i + j * ldy];
    return sum;
}
/* The triangle of a += s u v' */
static inline void F(outer)(int part, int unit, long n, T s, const T *u, const T *v, T *a, long lda) {
    EACH(i, j, part, unit, n, n) a[i + j * lda] += s * u[i] * v[j];
}

/* --- vectors */

#define DOT long n, const T *x, T *dx, long incx, const T *y, T *dy, long incy
#define PLAN layout(CHANGES(0) && dy != y, n, CHANGES(1) && dx != x, n, 0, 0)
long RULE(dot, size)(DOT, long flags) { return PLAN.size; }
void RULE(dot, keep)(DOT, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(copy)(n, x, incx, block + k.at[0], 1);
    if (k.at[1] >= 0) F(copy)(n, y, incy, block + k.at[1], 1);
}
void RULE(dot, reverse)(DOT, long flags, const T *block, T seed) {
    places k = PLAN;
    if (dx != x) F(axpy)(n, seed, OLD(1, y), STEP(1, incy), dx, incx);
    if (dy != y) F(axpy)(n, seed, OLD(0, x), STEP(0, incx), dy, incy);
}
T RULE(dot, after)(DOT, T r) {
    T tangent = 0;
    if (dx != x) tangent += F(dot)(n, dx, incx, y, incy);
    if (dy != y) tangent += F(dot)(n, x, incx, dy, incy);
    return tangent;
}
#undef PLAN

#define ONE long n, const T *x, T *dx, long incx
#define PLAN layout(CHANGES(0) && dx != x, n, 0, 0, 0, 0)
long RULE(nrm2, size)(ONE, long flags) { return PLAN.size; }
void RULE(nrm2, keep)(ONE, long flags, T *block) { if (PLAN.size) F(copy)(n, x, incx, block, 1); }
void RULE(nrm2, reverse)(ONE, long flags, const T *block, T seed) {
    places k = PLAN;
    if (dx == x) return;
    T r = F(nrm2)(n, OLD(0, x), STEP(0, incx));
    if (r != 0) F(axpy)(n, seed / r, OLD(0, x), STEP(0, incx), dx, incx);
}
T RULE(nrm2, after)(ONE, T r) { return dx != x && r != 0 ? F(dot)(n, x, incx, dx, incx) / r : 0; }

long RULE(asum, size)(ONE, long flags) { return PLAN.size; }
void RULE(asum, keep)(ONE, long flags, T *block) { if (PLAN.size) F(copy)(n, x, incx, block, 1); }
void RULE(asum, reverse)(ONE, long flags, const T *block, T seed) {
    places k = PLAN;
    if (dx == x || incx <= 0) return;
    const T *old = OLD(0, x);
    long step = STEP(0, incx);
    for (long i = 0; i < n; i++) dx[i * incx] += old[i * step] > 0 ? seed : old[i * step] < 0 ? -seed : 0;
}
T RULE(asum, after)(ONE, T r) {
    T tangent = 0;
    if (dx == x || incx <= 0) return 0;
    for (long i = 0; i < n; i++) tangent += x[i * incx] > 0 ? dx[i * incx] : x[i * incx] < 0 ? -dx[i * incx] : 0;
    return tangent;
}
#undef PLAN

#define AXPY long n, T alpha, T *dalpha, const T *x, T *dx, long incx, T *y, T *dy, long incy
#define PLAN layout(CHANGES(0) && dalpha, n, 0, 0, 0, 0)
long RULE(axpy, size)(AXPY, long flags) { return PLAN.size; }
void RULE(axpy, keep)(AXPY, long flags, T *block) { if (PLAN.size) F(copy)(n, x, incx, block, 1); }
void RULE(axpy, reverse)(AXPY, long flags, const T *block) {
    places k = PLAN;
    if (dy == y) return;
    if (dalpha) *dalpha += F(dot)(n, OLD(0, x), STEP(0, incx), dy, incy);
    if (dx != x) F(axpy)(n, alpha, dy, incy, dx, incx);
}
void RULE(axpy, before)(AXPY) {
    if (dy == y) return;
    if (dx != x) F(axpy)(n, alpha, dx, incx, dy, incy);
    if (dalpha) F(axpy)(n, *dalpha, x, incx, dy, incy);
}
#undef PLAN

#define SCAL long n, T alpha, T *dalpha, T *x, T *dx, long incx
#define PLAN layout(dx != x && dalpha && incx > 0, n, 0, 0, 0, 0)
long RULE(scal, size)(SCAL, long flags) { return PLAN.size; }
void RULE(scal, keep)(SCAL, long flags, T *block) { if (PLAN.size) F(copy)(n, x, incx, block, 1); }
void RULE(scal, reverse)(SCAL, long flags, const T *block) {
    if (dx == x) return;
    if (dalpha && incx > 0) *dalpha += F(dot)(n, block, 1, dx, incx);
    F(scal)(n, alpha, dx, incx);
}
void RULE(scal, before)(SCAL) {
    if (dx == x) return;
    F(scal)(n, alpha, dx, incx);
    if (dalpha && incx > 0) F(axpy)(n, *dalpha, x, incx, dx, incx);
}
#undef PLAN

#define COPY long n, const T *x, T *dx, long incx, T *y, T *dy, long incy
void RULE(copy, reverse)(COPY, long flags, const T *block) {
    if (dy == y || (dx == dy && incx == incy)) return; /* onto itself */
    if (dx != x) F(axpy)(n, 1, dy, incy, dx, incx);
    F(fill)(n, 0, dy, incy);
}
void RULE(copy, before)(COPY) {
    if (dy == y) return;
    if (dx != x) F(copy)(n, dx, incx, dy, incy);
    else F(fill)(n, 0, dy, incy);
}

#define SWAP long n, T *x, T *dx, long incx, T *y, T *dy, long incy
void RULE(swap, reverse)(SWAP, long flags, const T *block) {
    if (dx != x && dy != y) F(swap)(n, dx, incx, dy, incy);
    else if (dx != x) F(fill)(n, 0, dx, incx);
    else if (dy != y) F(fill)(n, 0, dy, incy);
}
void RULE(swap, before)(SWAP) { RULE(swap, reverse)(n, x, dx, incx, y, dy, incy, 0, 0); }

#define ROT long n, T *x, T *dx, long incx, T *y, T *dy, long incy, T c, T *dc, T s, T *ds
#define PLAN layout(dc || ds, n, dc || ds, n, 0, 0)
long RULE(rot, size)(ROT, long flags) { return PLAN.size; }
void RULE(rot, keep)(ROT, long flags, T *block) {
    places k = PLAN;
    if (!k.size) return;
    F(copy)(n, x, incx, block + k.at[0], 1);
    F(copy)(n, y, incy, block + k.at[1], 1);
}
void RULE(rot, reverse)(ROT, long flags, const T *block) {
    places k = PLAN;
    const T *a = block + k.at[0], *b = block + k.at[1];
    if (dx != x && dc) *dc += F(dot)(n, a, 1, dx, incx);
    if (dy != y && dc) *dc += F(dot)(n, b, 1, dy, incy);
    if (dx != x && ds) *ds += F(dot)(n, b, 1, dx, incx);
    if (dy != y && ds) *ds -= F(dot)(n, a, 1, dy, incy);
    if (dx != x && dy != y) F(rot)(n, dx, incx, dy, incy, c, -s);
    else if (dx != x) F(rescale)(n, c, dx, incx);
    else if (dy != y) F(rescale)(n, c, dy, incy);
}
void RULE(rot, before)(ROT) {
    if (dx != x && dy != y) F(rot)(n, dx, incx, dy, incy, c, s);
    else if (dx != x) F(rescale)(n, c, dx, incx);
    else if (dy != y) F(rescale)(n, c, dy, incy);
    if (dx != x && dc) F(axpy)(n, *dc, x, incx, dx, incx);
    if (dx != x && ds) F(axpy)(n, *ds, y, incy, dx, incx);
    if (dy != y && dc) F(axpy)(n, *dc, y, incy, dy, incy);
    if (dy != y && ds) F(axpy)(n, -*ds, x, incx, dy, incy);
}
#undef PLAN

/* --- matrices and vectors */

#define GEMV int t, long m, long n, T alpha, T *dalpha, const T *a, T *da, long lda, const T *x, T *dx, long incx, \
             T beta, T *dbeta, T *y, T *dy, long incy
#define IDLE (dy == y || m <= 0 || n <= 0)
#define PLAN layout(!IDLE && CHANGES(0) && (dx != x || dalpha), times(m, n), \
                    !IDLE && CHANGES(1) && (da != a || dalpha), t ? m : n, !IDLE && dbeta, t ? n : m)
long RULE(gemv, size)(GEMV, long flags) { return PLAN.size; }
void RULE(gemv, keep)(GEMV, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(WHOLE, 0, m, n, a, lda, block + k.at[0], m);
    if (k.at[1] >= 0) F(copy)(t ? m : n, x, incx, block + k.at[1], 1);
    if (k.at[2] >= 0) F(copy)(t ? n : m, y, incy, block + k.at[2], 1);
}
void RULE(gemv, reverse)(GEMV, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    const T *A = OLD(0, a), *X = OLD(1, x);
    long la = LEAD(0, lda, m), ix = STEP(1, incx), rows = t ? n : m;
    if (dalpha) {
        T *value = SCRATCH(rows);
        F(gemv)(t, m, n, 1, A, la, X, ix, 0, value, 1);
        *dalpha += F(dot)(rows, value, 1, dy, incy);
        free(value);
    }
    if (dbeta) *dbeta += F(dot)(rows, block + k.at[2], 1, dy, incy);
    if (da != a && t) F(ger)(m, n, alpha, X, ix, dy, incy, da, lda);
    if (da != a && !t) F(ger)(m, n, alpha, dy, incy, X, ix, da, lda);
    if (dx != x) F(gemv)(!t, m, n, alpha, A, la, dy, incy, 1, dx, incx);
    F(rescale)(rows, beta, dy, incy);
}
void RULE(gemv, before)(GEMV) {
    if (IDLE) return;
    F(rescale)(t ? n : m, beta, dy, incy);
    if (dbeta) F(axpy)(t ? n : m, *dbeta, y, incy, dy, incy);
    if (dx != x) F(gemv)(t, m, n, alpha, a, lda, dx, incx, 1, dy, incy);
    if (da != a) F(gemv)(t, m, n, alpha, da, lda, x, incx, 1, dy, incy);
    if (dalpha) F(gemv)(t, m, n, *dalpha, a, lda, x, incx, 1, dy, incy);
}
#undef IDLE
#undef PLAN

#define GER long m, long n, T alpha, T *dalpha, const T *x, T *dx, long incx, const T *y, T *dy, long incy, \
            T *a, T *da, long lda
#define IDLE (da == a || m <= 0 || n <= 0)
#define PLAN layout(!IDLE && CHANGES(0) && (dy != y || dalpha), m, !IDLE && CHANGES(1) && (dx != x || dalpha), n, 0, 0)
long RULE(ger, size)(GER, long flags) { return PLAN.size; }
void RULE(ger, keep)(GER, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(copy)(m, x, incx, block + k.at[0], 1);
    if (k.at[1] >= 0) F(copy)(n, y, incy, block + k.at[1], 1);
}
void RULE(ger, reverse)(GER, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    const T *X = OLD(0, x), *Y = OLD(1, y);
    long ix = STEP(0, incx), iy = STEP(1, incy);
    if (dalpha) {
        T *value = SCRATCH(m);
        F(gemv)(0, m, n, 1, da, lda, Y, iy, 0, value, 1);
        *dalpha += F(dot)(m, X, ix, value, 1);
        free(value);
    }
    if (dx != x) F(gemv)(0, m, n, alpha, da, lda, Y, iy, 1, dx, incx);
    if (dy != y) F(gemv)(1, m, n, alpha, da, lda, X, ix, 1, dy, incy);
}
void RULE(ger, before)(GER) {
    if (IDLE) return;
    if (dx != x) F(ger)(m, n, alpha, dx, incx, y, incy, da, lda);
    if (dy != y) F(ger)(m, n, alpha, x, incx, dy, incy, da, lda);
    if (dalpha) F(ger)(m, n, *dalpha, x, incx, y, incy, da, lda);
}
#undef IDLE
#undef PLAN

#define SYMV int up, long n, T alpha, T *dalpha, const T *a, T *da, long lda, const T *x, T *dx, long incx, \
             T beta, T *dbeta, T *y, T *dy, long incy
#define PLAN layout(dy != y && CHANGES(0) && (dx != x || dalpha), times(n, n), \
                    dy != y && CHANGES(1) && (da != a || dalpha), n, dy != y && dbeta, n)
long RULE(symv, size)(SYMV, long flags) { return PLAN.size; }
void RULE(symv, keep)(SYMV, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(up, 0, n, n, a, lda, block + k.at[0], n);
    if (k.at[1] >= 0) F(copy)(n, x, incx, block + k.at[1], 1);
    if (k.at[2] >= 0) F(copy)(n, y, incy, block + k.at[2], 1);
}
void RULE(symv, reverse)(SYMV, long flags, const T *block) {
    places k = PLAN;
    if (dy == y) return;
    const T *A = OLD(0, a), *X = OLD(1, x);
    long la = LEAD(0, lda, n), ix = STEP(1, incx);
    if (dalpha) {
        T *value = SCRATCH(n);
        F(symv)(up, n, 1, A, la, X, ix, 0, value, 1);
        *dalpha += F(dot)(n, value, 1, dy, incy);
        free(value);
    }
    if (dbeta) *dbeta += F(dot)(n, block + k.at[2], 1, dy, incy);
    if (da != a) {
        F(syr2)(up, n, alpha, X, ix, dy, incy, da, lda);
        for (long i = 0; i < n; i++) da[i + i * lda] -= alpha * X[at(i, n, ix)] * dy[at(i, n, incy)];
    }
    if (dx != x) F(symv)(up, n, alpha, A, la, dy, incy, 1, dx, incx);
    F(rescale)(n, beta, dy, incy);
}
void RULE(symv, before)(SYMV) {
    if (dy == y) return;
    F(rescale)(n, beta, dy, incy);
    if (dbeta) F(axpy)(n, *dbeta, y, incy, dy, incy);
    if (dx != x) F(symv)(up, n, alpha, a, lda, dx, incx, 1, dy, incy);
    if (da != a) F(symv)(up, n, alpha, da, lda, x, incx, 1, dy, incy);
    if (dalpha) F(symv)(up, n, *dalpha, a, lda, x, incx, 1, dy, incy);
}
#undef PLAN

/* value = (S + D) x: the matrix S that a triangle stands for, and its diagonal once more */
static inline void F(doubled)(int up, long n, const T *a, long lda, const T *x, long incx, T *value) {
    F(symv)(up, n, 1, a, lda, x, incx, 0, value, 1);
    for (long i = 0; i < n; i++) value[i] += a[i + i * lda] * x[at(i, n, incx)];
}

#define SYR int up, long n, T alpha, T *dalpha, const T *x, T *dx, long incx, T *a, T *da, long lda
#define PLAN layout(da != a && CHANGES(0) && (dx != x || dalpha), n, 0, 0, 0, 0)
long RULE(syr, size)(SYR, long flags) { return PLAN.size; }
void RULE(syr, keep)(SYR, long flags, T *block) { if (PLAN.size) F(copy)(n, x, incx, block, 1); }
void RULE(syr, reverse)(SYR, long flags, const T *block) {
    places k = PLAN;
    if (da == a || n <= 0 || (dx == x && !dalpha)) return;
    T *value = SCRATCH(n);
    F(doubled)(up, n, da, lda, OLD(0, x), STEP(0, incx), value);
    if (dalpha) *dalpha += F(dot)(n, OLD(0, x), STEP(0, incx), value, 1) / 2;
    if (dx != x) F(axpy)(n, alpha, value, 1, dx, incx);
    free(value);
}
void RULE(syr, before)(SYR) {
    if (da == a) return;
    if (dx != x) F(syr2)(up, n, alpha, x, incx, dx, incx, da, lda);
    if (dalpha) F(syr)(up, n, *dalpha, x, incx, da, lda);
}
#undef PLAN

#define SYR2 int up, long n, T alpha, T *dalpha, const T *x, T *dx, long incx, const T *y, T *dy, long incy, \
             T *a, T *da, long lda
#define PLAN layout(da != a && CHANGES(0) && (dy != y || dalpha), n, da != a && CHANGES(1) && (dx != x || dalpha), n, 0, 0)
long RULE(syr2, size)(SYR2, long flags) { return PLAN.size; }
void RULE(syr2, keep)(SYR2, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(copy)(n, x, incx, block + k.at[0], 1);
    if (k.at[1] >= 0) F(copy)(n, y, incy, block + k.at[1], 1);
}
void RULE(syr2, reverse)(SYR2, long flags, const T *block) {
    places k = PLAN;
    if (da == a || n <= 0) return;
    T *value = SCRATCH(n);
    if (dx != x || dalpha) F(doubled)(up, n, da, lda, OLD(1, y), STEP(1, incy), value);
    if (dalpha) *dalpha += F(dot)(n, OLD(0, x), STEP(0, incx), value, 1);
    if (dx != x) F(axpy)(n, alpha, value, 1, dx, incx);
    if (dy != y) F(doubled)(up, n, da, lda, OLD(0, x), STEP(0, incx), value);
    if (dy != y) F(axpy)(n, alpha, value, 1, dy, incy);
    free(value);
}
void RULE(syr2, before)(SYR2) {
    if (da == a) return;
    if (dx != x) F(syr2)(up, n, alpha, dx, incx, y, incy, da, lda);
    if (dy != y) F(syr2)(up, n, alpha, x, incx, dy, incy, da, lda);
    if (dalpha) F(syr2)(up, n, *dalpha, x, incx, y, incy, da, lda);
}
#undef PLAN

#define TRIV int up, int t, int unit, long n, const T *a, T *da, long lda, T *x, T *dx, long incx
#define PLAN layout(dx != x && CHANGES(0), times(n, n), dx != x && da != a, n, 0, 0)
long RULE(trmv, size)(TRIV, long flags) { return PLAN.size; }
void RULE(trmv, keep)(TRIV, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(up, unit, n, n, a, lda, block + k.at[0], n);
    if (k.at[1] >= 0) F(copy)(n, x, incx, block + k.at[1], 1);
}
void RULE(trmv, reverse)(TRIV, long flags, const T *block) {
    places k = PLAN;
    if (dx == x) return;
    if (da != a) {
        T *adjoint = SCRATCH(n);
        F(copy)(n, dx, incx, adjoint, 1);
        const T *old = block + k.at[1];
        F(outer)(up, unit, n, 1, t ? old : adjoint, t ? adjoint : old, da, lda);
        free(adjoint);
    }
    F(trmv)(up, !t, unit, n, OLD(0, a), LEAD(0, lda, n), dx, incx);
}
/* the triangle of da, times x, without a unit diagonal */
static inline T *F(triangle)(int up, int t, int unit, long n, const T *da, long lda, const T *x, long incx) {
    T *value = SCRATCH(n);
    F(copy)(n, x, incx, value, 1);
    F(trmv)(up, t, unit, n, da, lda, value, 1);
    if (unit) F(axpy)(n, -1, x, incx, value, 1);
    return value;
}
void RULE(trmv, before)(TRIV) {
    if (dx == x) return;
    F(trmv)(up, t, unit, n, a, lda, dx, incx);
    if (da == a) return;
    T *value = F(triangle)(up, t, unit, n, da, lda, x, incx);
    F(axpy)(n, 1, value, 1, dx, incx);
    free(value);
}

long RULE(trsv, size)(TRIV, long flags) { return PLAN.size; }
void RULE(trsv, keep)(TRIV, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(up, unit, n, n, a, lda, block + k.at[0], n);
}
void RULE(trsv, kept)(TRIV, long flags, T *block) {
    places k = PLAN;
    if (k.at[1] >= 0) F(copy)(n, x, incx, block + k.at[1], 1);
}
void RULE(trsv, reverse)(TRIV, long flags, const T *block) {
    places k = PLAN;
    if (dx == x) return;
    F(trsv)(up, !t, unit, n, OLD(0, a), LEAD(0, lda, n), dx, incx);
    if (da == a) return;
    T *adjoint = SCRATCH(n);
    F(copy)(n, dx, incx, adjoint, 1);
    const T *solved = block + k.at[1];
    F(outer)(up, unit, n, -1, t ? solved : adjoint, t ? adjoint : solved, da, lda);
    free(adjoint);
}
void RULE(trsv, after)(TRIV) {
    if (dx == x) return;
    if (da != a) {
        T *value = F(triangle)(up, t, unit, n, da, lda, x, incx);
        F(axpy)(n, -1, value, 1, dx, incx);
        free(value);
    }
    F(trsv)(up, t, unit, n, a, lda, dx, incx);
}
#undef PLAN

/* --- matrices */

#define GEMM int ta, int tb, long m, long n, long l, T alpha, T *dalpha, const T *a, T *da, long lda, \
             const T *b, T *db, long ldb, T beta, T *dbeta, T *c, T *dc, long ldc
#define IDLE (dc == c || m <= 0 || n <= 0)
#define PLAN layout(!IDLE && CHANGES(0) && (db != b || dalpha), times(m, l), \
                    !IDLE && CHANGES(1) && (da != a || dalpha), times(l, n), !IDLE && dbeta, times(m, n))
long RULE(gemm, size)(GEMM, long flags) { return PLAN.size; }
void RULE(gemm, keep)(GEMM, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(WHOLE, 0, ta ? l : m, ta ? m : l, a, lda, block + k.at[0], ta ? l : m);
    if (k.at[1] >= 0) F(pack)(WHOLE, 0, tb ? n : l, tb ? l : n, b, ldb, block + k.at[1], tb ? n : l);
    if (k.at[2] >= 0) F(pack)(WHOLE, 0, m, n, c, ldc, block + k.at[2], m);
}
void RULE(gemm, reverse)(GEMM, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    const T *A = OLD(0, a), *B = OLD(1, b);
    long la = LEAD(0, lda, ta ? l : m), lb = LEAD(1, ldb, tb ? n : l);
    if (k.at[0] >= 0 && la < 1) la = 1;
    if (k.at[1] >= 0 && lb < 1) lb = 1;
    if (dalpha) {
        T *value = SCRATCH(times(m, n));
        F(gemm)(ta, tb, m, n, l, 1, A, la, B, lb, 0, value, m);
        *dalpha += F(mdot)(WHOLE, 0, m, n, value, m, dc, ldc);
        free(value);
    }
    if (dbeta) *dbeta += F(mdot)(WHOLE, 0, m, n, block + k.at[2], m, dc, ldc);
    if (da != a && ta) F(gemm)(tb, 1, l, m, n, alpha, B, lb, dc, ldc, 1, da, lda);
    if (da != a && !ta) F(gemm)(0, !tb, m, l, n, alpha, dc, ldc, B, lb, 1, da, lda);
    if (db != b && tb) F(gemm)(1, ta, n, l, m, alpha, dc, ldc, A, la, 1, db, ldb);
    if (db != b && !tb) F(gemm)(!ta, 0, l, n, m, alpha, A, la, dc, ldc, 1, db, ldb);
    F(mscale)(WHOLE, m, n, beta, dc, ldc);
}
void RULE(gemm, before)(GEMM) {
    if (IDLE) return;
    F(mscale)(WHOLE, m, n, beta, dc, ldc);
    if (dbeta) F(madd)(WHOLE, 0, m, n, *dbeta, c, ldc, dc, ldc);
    if (da != a) F(gemm)(ta, tb, m, n, l, alpha, da, lda, b, ldb, 1, dc, ldc);
    if (db != b) F(gemm)(ta, tb, m, n, l, alpha, a, lda, db, ldb, 1, dc, ldc);
    if (dalpha) F(gemm)(ta, tb, m, n, l, *dalpha, a, lda, b, ldb, 1, dc, ldc);
}
#undef PLAN

#define SYMM int left, int up, long m, long n, T alpha, T *dalpha, const T *a, T *da, long lda, \
             const T *b, T *db, long ldb, T beta, T *dbeta, T *c, T *dc, long ldc
#define ORDER (left ? m : n)
#define PLAN layout(!IDLE && CHANGES(0) && (db != b || dalpha), times(ORDER, ORDER), \
                    !IDLE && CHANGES(1) && (da != a || dalpha), times(m, n), !IDLE && dbeta, times(m, n))
long RULE(symm, size)(SYMM, long flags) { return PLAN.size; }
void RULE(symm, keep)(SYMM, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(up, 0, ORDER, ORDER, a, lda, block + k.at[0], ORDER);
    if (k.at[1] >= 0) F(pack)(WHOLE, 0, m, n, b, ldb, block + k.at[1], m);
    if (k.at[2] >= 0) F(pack)(WHOLE, 0, m, n, c, ldc, block + k.at[2], m);
}
void RULE(symm, reverse)(SYMM, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    const T *A = OLD(0, a), *B = OLD(1, b);
    long la = LEAD(0, lda, ORDER), lb = LEAD(1, ldb, m);
    if (dalpha) {
        T *value = SCRATCH(times(m, n));
        F(symm)(left, up, m, n, 1, A, la, B, lb, 0, value, m);
        *dalpha += F(mdot)(WHOLE, 0, m, n, value, m, dc, ldc);
        free(value);
    }
    if (dbeta) *dbeta += F(mdot)(WHOLE, 0, m, n, block + k.at[2], m, dc, ldc);
    if (da != a) {
        F(syr2k)(up, !left, ORDER, left ? n : m, alpha, dc, ldc, B, lb, 1, da, lda);
        for (long i = 0; i < ORDER; i++)
            da[i + i * lda] -= alpha * (left ? F(dot)(n, dc + i, ldc, B + i, lb)
                                             : F(dot)(m, dc + i * ldc, 1, B + i * lb, 1));
    }
    if (db != b) F(symm)(left, up, m, n, alpha, A, la, dc, ldc, 1, db, ldb);
    F(mscale)(WHOLE, m, n, beta, dc, ldc);
}
void RULE(symm, before)(SYMM) {
    if (IDLE) return;
    F(mscale)(WHOLE, m, n, beta, dc, ldc);
    if (dbeta) F(madd)(WHOLE, 0, m, n, *dbeta, c, ldc, dc, ldc);
    if (da != a) F(symm)(left, up, m, n, alpha, da, lda, b, ldb, 1, dc, ldc);
    if (db != b) F(symm)(left, up, m, n, alpha, a, lda, db, ldb, 1, dc, ldc);
    if (dalpha) F(symm)(left, up, m, n, *dalpha, a, lda, b, ldb, 1, dc, ldc);
}
#undef PLAN
#undef IDLE

/* value += alpha (S + D) x, or alpha x (S + D) if t: S is what the triangle c stands for, D its diagonal once more */
static inline void F(widened)(int up, int t, long n, long l, T alpha, const T *c, long ldc, const T *x, long ldx,
                              T *value, long ldv) {
    F(symm)(!t, up, t ? l : n, t ? n : l, alpha, c, ldc, x, ldx, 1, value, ldv);
    for (long i = 0; i < n; i++) {
        T factor = alpha * c[i + i * ldc];
        if (t) F(axpy)(l, factor, x + i * ldx, 1, value + i * ldv, 1);
        else F(axpy)(l, factor, x + i, ldx, value + i, ldv);
    }
}
#define ROWS (t ? l : n)
#define COLUMNS (t ? n : l)
/* the sum of x ∘ (S + D) y */
static inline T F(widened_dot)(int up, int t, long n, long l, const T *c, long ldc, const T *x, long ldx,
                               const T *y, long ldy) {
    T *value = SCRATCH(times(n, l));
    for (long i = 0; i < times(n, l); i++) value[i] = 0;
    F(widened)(up, t, n, l, 1, c, ldc, y, ldy, value, ROWS);
    T sum = F(mdot)(WHOLE, 0, ROWS, COLUMNS, x, ldx, value, ROWS);
    free(value);
    return sum;
}

#define SYRK int up, int t, long n, long l, T alpha, T *dalpha, const T *a, T *da, long lda, \
             T beta, T *dbeta, T *c, T *dc, long ldc
#define IDLE (dc == c || n <= 0)
#define PLAN layout(!IDLE && CHANGES(0) && (da != a || dalpha), times(n, l), !IDLE && dbeta, times(n, n), 0, 0)
long RULE(syrk, size)(SYRK, long flags) { return PLAN.size; }
void RULE(syrk, keep)(SYRK, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(WHOLE, 0, ROWS, COLUMNS, a, lda, block + k.at[0], ROWS);
    if (k.at[1] >= 0) F(pack)(up, 0, n, n, c, ldc, block + k.at[1], n);
}
void RULE(syrk, reverse)(SYRK, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    const T *A = OLD(0, a);
    long la = LEAD(0, lda, ROWS);
    if (l > 0 && dalpha) *dalpha += F(widened_dot)(up, t, n, l, dc, ldc, A, la, A, la) / 2;
    if (dbeta) *dbeta += F(mdot)(up, 0, n, n, block + k.at[1], n, dc, ldc);
    if (l > 0 && da != a) F(widened)(up, t, n, l, alpha, dc, ldc, A, la, da, lda);
    F(mscale)(up, n, n, beta, dc, ldc);
}
void RULE(syrk, before)(SYRK) {
    if (IDLE) return;
    F(mscale)(up, n, n, beta, dc, ldc);
    if (dbeta) F(madd)(up, 0, n, n, *dbeta, c, ldc, dc, ldc);
    if (da != a) F(syr2k)(up, t, n, l, alpha, a, lda, da, lda, 1, dc, ldc);
    if (dalpha) F(syrk)(up, t, n, l, *dalpha, a, lda, 1, dc, ldc);
}
#undef PLAN

#define SYR2K int up, int t, long n, long l, T alpha, T *dalpha, const T *a, T *da, long lda, \
              const T *b, T *db, long ldb, T beta, T *dbeta, T *c, T *dc, long ldc
#define PLAN layout(!IDLE && CHANGES(0) && (db != b || dalpha), times(n, l), \
                    !IDLE && CHANGES(1) && (da != a || dalpha), times(n, l), !IDLE && dbeta, times(n, n))
long RULE(syr2k, size)(SYR2K, long flags) { return PLAN.size; }
void RULE(syr2k, keep)(SYR2K, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(WHOLE, 0, ROWS, COLUMNS, a, lda, block + k.at[0], ROWS);
    if (k.at[1] >= 0) F(pack)(WHOLE, 0, ROWS, COLUMNS, b, ldb, block + k.at[1], ROWS);
    if (k.at[2] >= 0) F(pack)(up, 0, n, n, c, ldc, block + k.at[2], n);
}
void RULE(syr2k, reverse)(SYR2K, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    const T *A = OLD(0, a), *B = OLD(1, b);
    long la = LEAD(0, lda, ROWS), lb = LEAD(1, ldb, ROWS);
    if (l > 0 && dalpha) *dalpha += F(widened_dot)(up, t, n, l, dc, ldc, A, la, B, lb);
    if (dbeta) *dbeta += F(mdot)(up, 0, n, n, block + k.at[2], n, dc, ldc);
    if (l > 0 && da != a) F(widened)(up, t, n, l, alpha, dc, ldc, B, lb, da, lda);
    if (l > 0 && db != b) F(widened)(up, t, n, l, alpha, dc, ldc, A, la, db, ldb);
    F(mscale)(up, n, n, beta, dc, ldc);
}
void RULE(syr2k, before)(SYR2K) {
    if (IDLE) return;
    F(mscale)(up, n, n, beta, dc, ldc);
    if (dbeta) F(madd)(up, 0, n, n, *dbeta, c, ldc, dc, ldc);
    if (da != a) F(syr2k)(up, t, n, l, alpha, da, lda, b, ldb, 1, dc, ldc);
    if (db != b) F(syr2k)(up, t, n, l, alpha, a, lda, db, ldb, 1, dc, ldc);
    if (dalpha) F(syr2k)(up, t, n, l, *dalpha, a, lda, b, ldb, 1, dc, ldc);
}
#undef PLAN
#undef IDLE
#undef ROWS
#undef COLUMNS

/* b = alpha op(a) b, or alpha b op(a); or with the inverse of op(a) */
#define TRIM int left, int up, int t, int unit, long m, long n, T alpha, T *dalpha, const T *a, T *da, long lda, \
             T *b, T *db, long ldb
#define IDLE (db == b || m <= 0 || n <= 0)
/* What the adjoint of a triangle is cut from: new old' where a is on the left, old' new on the right; transposed if t. */
static inline T *F(square)(int left, int t, long m, long n, const T *new, long ldn, const T *old) {
    T *value = SCRATCH(times(ORDER, ORDER));
    if (left && !t) F(gemm)(0, 1, m, m, n, 1, new, ldn, old, m, 0, value, m);
    else if (left) F(gemm)(0, 1, m, m, n, 1, old, m, new, ldn, 0, value, m);
    else if (!t) F(gemm)(1, 0, n, n, m, 1, old, m, new, ldn, 0, value, n);
    else F(gemm)(1, 0, n, n, m, 1, new, ldn, old, m, 0, value, n);
    return value;
}
/* alpha times the triangle of da, times x, without a unit diagonal */
static inline T *F(triangles)(int left, int up, int t, int unit, long m, long n, T alpha, const T *da, long lda,
                              const T *x, long ldx) {
    T *value = SCRATCH(times(m, n));
    F(pack)(WHOLE, 0, m, n, x, ldx, value, m);
    F(trmm)(left, up, t, unit, m, n, alpha, da, lda, value, m);
    if (unit) F(madd)(WHOLE, 0, m, n, -alpha, x, ldx, value, m);
    return value;
}

#define PLAN layout(!IDLE && (CHANGES(0) || dalpha), times(ORDER, ORDER), !IDLE && (da != a || dalpha), times(m, n), 0, 0)
long RULE(trmm, size)(TRIM, long flags) { return PLAN.size; }
void RULE(trmm, keep)(TRIM, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(up, unit, ORDER, ORDER, a, lda, block + k.at[0], ORDER);
    if (k.at[1] >= 0) F(pack)(WHOLE, 0, m, n, b, ldb, block + k.at[1], m);
}
void RULE(trmm, reverse)(TRIM, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    const T *A = OLD(0, a);
    long la = LEAD(0, lda, ORDER);
    if (da != a || dalpha) {
        T *value = F(square)(left, t, m, n, db, ldb, block + k.at[1]);
        if (dalpha) *dalpha += F(mdot)(up, unit, ORDER, ORDER, value, ORDER, A, la);
        if (dalpha && unit)
            for (long i = 0; i < ORDER; i++) *dalpha += value[i + i * ORDER];
        if (da != a) F(madd)(up, unit, ORDER, ORDER, alpha, value, ORDER, da, lda);
        free(value);
    }
    F(trmm)(left, up, !t, unit, m, n, alpha, A, la, db, ldb);
}
void RULE(trmm, before)(TRIM) {
    if (IDLE) return;
    F(trmm)(left, up, t, unit, m, n, alpha, a, lda, db, ldb);
    if (da != a) {
        T *value = F(triangles)(left, up, t, unit, m, n, alpha, da, lda, b, ldb);
        F(madd)(WHOLE, 0, m, n, 1, value, m, db, ldb);
        free(value);
    }
    if (dalpha) {
        T *value = SCRATCH(times(m, n));
        F(pack)(WHOLE, 0, m, n, b, ldb, value, m);
        F(trmm)(left, up, t, unit, m, n, *dalpha, a, lda, value, m);
        F(madd)(WHOLE, 0, m, n, 1, value, m, db, ldb);
        free(value);
    }
}
#undef PLAN

#define PLAN layout(!IDLE && CHANGES(0), times(ORDER, ORDER), !IDLE && da != a, times(m, n), !IDLE && dalpha, times(m, n))
long RULE(trsm, size)(TRIM, long flags) { return PLAN.size; }
void RULE(trsm, keep)(TRIM, long flags, T *block) {
    places k = PLAN;
    if (k.at[0] >= 0) F(pack)(up, unit, ORDER, ORDER, a, lda, block + k.at[0], ORDER);
    if (k.at[2] >= 0) F(pack)(WHOLE, 0, m, n, b, ldb, block + k.at[2], m);
}
void RULE(trsm, kept)(TRIM, long flags, T *block) {
    places k = PLAN;
    if (k.at[1] >= 0) F(pack)(WHOLE, 0, m, n, b, ldb, block + k.at[1], m);
}
void RULE(trsm, reverse)(TRIM, long flags, const T *block) {
    places k = PLAN;
    if (IDLE) return;
    F(trsm)(left, up, !t, unit, m, n, 1, OLD(0, a), LEAD(0, lda, ORDER), db, ldb);
    if (da != a) {
        T *value = F(square)(left, t, m, n, db, ldb, block + k.at[1]);
        F(madd)(up, unit, ORDER, ORDER, -1, value, ORDER, da, lda);
        free(value);
    }
    if (dalpha) *dalpha += F(mdot)(WHOLE, 0, m, n, block + k.at[2], m, db, ldb);
    F(mscale)(WHOLE, m, n, alpha, db, ldb);
}
void RULE(trsm, before)(TRIM) {
    if (IDLE) return;
    F(mscale)(WHOLE, m, n, alpha, db, ldb);
    if (dalpha) F(madd)(WHOLE, 0, m, n, *dalpha, b, ldb, db, ldb);
}
void RULE(trsm, after)(TRIM) {
    if (IDLE) return;
    if (da != a) {
        T *value = F(triangles)(left, up, t, unit, m, n, 1, da, lda, b, ldb);
        F(madd)(WHOLE, 0, m, n, -1, value, m, db, ldb);
        free(value);
    }
    F(trsm)(left, up, t, unit, m, n, 1, a, lda, db, ldb);
}
#undef PLAN
#undef IDLE
#undef ORDER
#undef RULE
#undef SCRATCH
#undef OLD
#undef STEP
#undef LEAD
#undef DOT
#undef ONE
#undef AXPY
#undef SCAL
#undef COPY
#undef SWAP
#undef ROT
#undef GEMV
#undef GER
#undef SYMV
#undef SYR
#undef SYR2
#undef TRIV
#undef GEMM
#undef SYMM
#undef SYRK
#undef SYR2K
#undef TRIM
