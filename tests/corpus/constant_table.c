// Global tables of constants, of doubles, floats and integers.
static const double weight[4] = {0.1, 0.7, -0.3, 1.9};
static const float scale[3] = {1.0f, 0.5f, 2.0f};
static const int order[6] = {3, 1, 4, 0, 5, 2};
double constant_table(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[order[i]] * weight[i % 4] * scale[i % 3] * (s + 1);
    return s;
}
