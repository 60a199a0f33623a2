/* An arm of two links, moved in a given time with the least effort: direct transcription by Hermite and Simpson
 * (compressed form). A point has 4 states (angles and their velocities) and 2 controls (torques).
 * `defects` has 4 equations an interval; `effort` is the integral of the squared torques, by Simpson's rule;
 * `lagrangian` is their sum with multipliers. */
#include <math.h>

enum { STATES = 4, CONTROLS = 2, ALL = STATES + CONTROLS };

static void motion(const double *z, double *f) {
    const double m = 1, l = 1, inertia = 1.0 / 12, gravity = 9.81;
    double c = cos(z[1]), s = sin(z[1]), a = z[2], b = z[3];
    double m11 = 2 * inertia + m * l * l * (1.5 + c), m12 = inertia + m * l * l * (0.25 + 0.5 * c),
           m22 = inertia + 0.25 * m * l * l, h = 0.5 * m * l * l * s;
    double g1 = m * gravity * l * (1.5 * cos(z[0]) + 0.5 * cos(z[0] + z[1])), g2 = 0.5 * m * gravity * l * cos(z[0] + z[1]);
    double t1 = z[4] + h * (2 * a * b + b * b) - g1, t2 = z[5] - h * a * a - g2, det = m11 * m22 - m12 * m12;
    f[0] = a;
    f[1] = b;
    f[2] = (m22 * t1 - m12 * t2) / det;
    f[3] = (m11 * t2 - m12 * t1) / det;
}

static void interval(const double *z, double h, double *defect) {
    double f0[STATES], f1[STATES], middle[ALL], f[STATES];
    motion(z, f0);
    motion(z + ALL, f1);
    for (int k = 0; k < STATES; k++) middle[k] = 0.5 * (z[k] + z[ALL + k]) + 0.125 * h * (f0[k] - f1[k]);
    for (int k = STATES; k < ALL; k++) middle[k] = 0.5 * (z[k] + z[ALL + k]);
    motion(middle, f);
    for (int k = 0; k < STATES; k++) defect[k] = z[ALL + k] - z[k] - h / 6 * (f0[k] + 4 * f[k] + f1[k]);
}

void defects(const double *z, long intervals, double h, double *c) {
    for (long i = 0; i < intervals; i++) interval(z + ALL * i, h, c + STATES * i);
}

double lagrangian(const double *z, const double *multipliers, long intervals, double h) {
    double sum = 0;
    for (long i = 0; i < intervals; i++) {
        double defect[STATES];
        const double *p = z + ALL * i;
        interval(p, h, defect);
        for (int k = 0; k < STATES; k++) sum += multipliers[STATES * i + k] * defect[k];
        for (int k = STATES; k < ALL; k++) {
            double middle = 0.5 * (p[k] + p[ALL + k]);
            sum += h / 6 * (p[k] * p[k] + 4 * middle * middle + p[ALL + k] * p[ALL + k]);
        }
    }
    return sum;
}
