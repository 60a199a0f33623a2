// Recursion that stops by active data.
static double g(double v, const double *x) { return v > 4 ? v * x[1] : 1 + g(v * (1 + x[0]), x) * x[2]; }
double recursion_data_dependent(double *x, int n) { return g(x[3], x); }
