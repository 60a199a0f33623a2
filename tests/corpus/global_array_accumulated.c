// A global table with contents that is changed and put back.
static double table[4] = {1.0, 2.0, 3.0, 4.0};
double global_array_accumulated(double *x, int n) {
    double old[4], s = 0;
    for (int i = 0; i < 4; i++) old[i] = table[i];
    for (int i = 0; i < n; i++) table[i % 4] *= x[i];
    for (int i = 0; i < 4; i++) s += table[i] * table[(i + 1) % 4];
    for (int i = 0; i < 4; i++) table[i] = old[i];
    return s;
}
