// Floats of 32 bits, down to the first; the sum of all is kept beside.
// x: 12
// n: 12
// y: 12
float collected_floats(const float *restrict x, int n, float *restrict y) {
    float sum = 0;
    for (int i = n - 2; i > 0; i--) {
        y[i] = x[i - 1] * x[i] * x[i + 1];
        sum += y[i] * x[i + 1];
    }
    return sum;
}
