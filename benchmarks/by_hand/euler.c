/* The adjoint of `euler` as one writes it: angle and speed of each step are kept. */
#define gradient gradient_by_tool
#include "../programs/euler.c"
#undef gradient

PUBLIC void gradient(void)
{
    static double *kept;
    static int room;
    if (room < steps) kept = realloc(kept, 2 * (room = steps) * sizeof *kept);
    double angle = p[0], speed = p[1], h = 1e-4;
    for (int i = 0; i < steps; i++) {
        double acceleration = -p[2] * sin(angle) - p[3] * speed;
        kept[2 * i] = angle, kept[2 * i + 1] = speed;
        angle += h * speed;
        speed += h * acceleration;
    }
    double d_angle = 2 * angle, d_speed = speed, d_2 = 0, d_3 = 0;
    for (int i = steps; i-- > 0;) {
        double d = h * d_speed;
        d_2 -= d * sin(kept[2 * i]);
        d_3 -= d * kept[2 * i + 1];
        d_speed += h * d_angle - d * p[3];
        d_angle -= d * p[2] * cos(kept[2 * i]);
    }
    d_p[0] = d_angle, d_p[1] = d_speed, d_p[2] = d_2, d_p[3] = d_3;
}
