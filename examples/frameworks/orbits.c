/* The way of a planet: a mass gm at the origin, leapfrog steps; start and end are x, y, vx, vy. */
#include <math.h>

static void kick(double gm, double dt, double *s)
{
    double r2 = s[0] * s[0] + s[1] * s[1], k = gm * dt / (r2 * sqrt(r2));
    s[2] -= k * s[0];
    s[3] -= k * s[1];
}

void orbit(const double *start, double gm, double duration, int steps, double *end)
{
    double dt = duration / steps, s[4] = {start[0], start[1], start[2], start[3]};
    for (int i = 0; i < steps; i++) {
        kick(gm, dt / 2, s);
        s[0] += dt * s[2];
        s[1] += dt * s[3];
        kick(gm, dt / 2, s);
    }
    for (int j = 0; j < 4; j++)
        end[j] = s[j];
}
