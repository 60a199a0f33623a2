// Gates and state of one recurrent cell over time.
// x: 8 -1 1
// n: 8
// y: 2
// m: 2
#include <math.h>
static double sigmoid(double v) { return 1 / (1 + exp(-v)); }
void lstm_cell(const double *x, int n, double *y, int m) {
    for (int t = 0; t < 5; t++) {
        double in = sin(t + 1.0);
        double f = sigmoid(x[0] * in + x[1] * y[0]), i = sigmoid(x[2] * in + x[3] * y[0]);
        double o = sigmoid(x[4] * in + x[5] * y[0]), g = tanh(x[6] * in + x[7] * y[0]);
        y[1] = f * y[1] + i * g;
        y[0] = o * tanh(y[1]);
    }
}
