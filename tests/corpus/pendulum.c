// Recurrences that take sines and powers, in several runs of various lengths, one of them with a call that has no partial.
// x: 5 0.2 0.9
// n: 5
// y: 2
// m: 2
#include <math.h>
void pendulum(const double *x, int n, double *y, int m) {
    double sum = 0;
    for (int run = 0; run < n + 2; run++) {
        double angle = x[0] + 0.1 * run, speed = x[1], h = 0.1 * x[4];
        for (int i = 0; i < 3 * run; i++) {
            double a = -x[2] * sin(angle) - x[3] * speed * fabs(speed);
            angle += h * speed;
            speed += h * (a + floor(10 * x[0]) * pow(x[1], angle));
        }
        sum += angle * speed;
        double z = x[run % n];
        for (int i = 0; i < run; i++) z = exp(-z) + x[i % n] * z;
        y[run % m] += z * y[run % m] + sum;
    }
}
