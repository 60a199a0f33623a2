// A constant table of pointers into a static array.
static double values[5];
static double *const table[2] = {values, values + 1};
double constant_pointer_table(double *x, int n) {
    for (int i = 0; i < 5; i++) values[i] = x[i];
    double s = table[n & 1][1] * x[0];
    for (int i = 0; i < 5; i++) values[i] = 0;
    return s;
}
