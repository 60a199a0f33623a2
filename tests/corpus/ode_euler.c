// Euler steps of a pendulum.
#include <math.h>
void ode_euler(double *x, int n) {
    double angle = x[0], speed = x[1], h = 0.05;
    for (int i = 0; i < 50; i++) {
        double a = -x[2] * sin(angle) - x[3] * speed;
        angle += h * speed;
        speed += h * a;
    }
    x[4] = angle;
    x[5] = speed;
}
