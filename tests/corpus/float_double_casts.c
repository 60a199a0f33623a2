// Values go from double to float and back.
double float_double_casts(double *x, int n) {
    float s = 0;
    double t = 1;
    for (int i = 0; i < n; i++) {
        s += (float)(x[i] * t);
        t = t * 0.5 + s;
    }
    return s * t;
}
