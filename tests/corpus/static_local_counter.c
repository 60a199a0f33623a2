// A static local integer that is set anew by each call.
double static_local_counter(double *x, int n) {
    static int calls;
    calls = 0;
    double s = 0;
    for (int i = 0; i < n; i++) {
        calls++;
        s += x[i] * calls * s + x[i];
    }
    return s;
}
