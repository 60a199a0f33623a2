// A mutable static table of pointers to static arrays, and pointers in it that are exchanged.
static double a[3], b[3];
static double *table[2] = {a, b};
static __attribute__((noinline)) void exchange(void) {
    double *t = table[0];
    table[0] = table[1];
    table[1] = t;
}
double global_pointer_table(double *x, int n) {
    table[0] = a;
    table[1] = b;
    for (int i = 0; i < 3; i++) {
        table[i % 2][i] = x[i] * x[0];
        exchange();
        table[i % 2][i] = x[i + 1];
    }
    double s = 0;
    for (int i = 0; i < 3; i++) s += table[0][i] * table[1][i] * (i + 1);
    for (int i = 0; i < 3; i++) a[i] = b[i] = 0;
    return s;
}
