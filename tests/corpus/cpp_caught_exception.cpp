// An exception that is thrown and caught on the way that is taken.
extern "C" double cpp_caught_exception(double *x, int n) {
    double s = x[0];
    try {
        s *= x[1];
        if (n > 3) throw 1;
        s *= x[2];
    } catch (int) {
        s += x[3];
    }
    return s * s;
}
