// Data-dependent loops of 0, 1, 63, 64, 65, 127, 128 and 129 trips: the ends of the tape's chunks.
double chunk_boundaries(double *x, int n) {
    static const int trips[8] = {0, 1, 63, 64, 65, 127, 128, 129};
    double s = 0.5;
    for (int k = 0; k < 8; k++) {
        int left = trips[k];
        double limit = 1e9;
        while (left > 0 && s < limit) {
            s = 0.9 * s + 0.1 * s * s * x[left % n] + 0.01;
            left--;
        }
    }
    return s;
}
