/* The adjoint of `ba` as one writes it: an observation forth and back at once, sine and cosine taken once. With axis a,
   angle t, and g the adjoint of the rotated p: (a x p) . g = p . (g x a) = a . (p x g). */
#define gradient gradient_by_tool
#include "../programs/ba.c"
#undef gradient

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* The adjoints of p and r, for p rotated by r by the angle theta, of cosine c and sine s. */
static void turn_back(const double *restrict r, const double *restrict p, const double *restrict g, double c, double s,
                      double theta, double *restrict d_r, double *restrict d_p)
{
    double by[3], ahead[3], a[3], d_a[3];
    if (theta == 0) {
        cross(p, g, d_r), cross(g, r, by);
        for (int i = 0; i < 3; i++) d_p[i] = g[i] + by[i];
        return;
    }
    for (int i = 0; i < 3; i++) a[i] = r[i] / theta;
    double ap = dot(a, p), ag = dot(a, g);
    cross(p, g, ahead), cross(g, a, by);
    double d_theta = c * dot(a, ahead) - s * (dot(p, g) - ap * ag);
    for (int i = 0; i < 3; i++) {
        d_p[i] = c * g[i] + s * by[i] + (1 - c) * ag * a[i];
        d_a[i] = s * ahead[i] + (1 - c) * (ap * g[i] + ag * p[i]);
    }
    double along = dot(a, d_a);
    for (int i = 0; i < 3; i++) d_r[i] = (d_a[i] - along * a[i]) / theta + d_theta * a[i];
}

static void observe(const double *restrict cam, const double *restrict X, double w, const double *restrict feat,
                    const double *restrict seed, double *restrict err, double *restrict d_cam, double *restrict d_X,
                    double *restrict d_w)
{
    double off[3], by[3], q[3], d_r[3], d_off[3];
    for (int i = 0; i < 3; i++) off[i] = X[i] - cam[CENTRE + i];
    double theta = sqrt(dot(cam, cam)), c = cos(theta), s = sin(theta);
    cross(cam, off, by);
    double over = theta > 0 ? s / theta : 1, along = theta > 0 ? dot(cam, off) * (1 - c) / (theta * theta) : 0;
    for (int i = 0; i < 3; i++) q[i] = off[i] * c + by[i] * over + cam[i] * along;
    double z = 1 / q[2], x = q[0] * z, y = q[1] * z, square = x * x + y * y, f = cam[FOCAL];
    double far = 1 + cam[RADIAL] * square + cam[RADIAL + 1] * square * square, scale = f * far;
    double e0 = scale * x + cam[PRINCIPAL] - feat[0], e1 = scale * y + cam[PRINCIPAL + 1] - feat[1];
    err[0] = w * e0, err[1] = w * e1;

    double g0 = seed[0] * w, g1 = seed[1] * w, d_scale = g0 * x + g1 * y, d_far = d_scale * f;
    double d_square = 2 * d_far * (cam[RADIAL] + 2 * cam[RADIAL + 1] * square);
    double d_x = g0 * scale + d_square * x, d_y = g1 * scale + d_square * y;
    double g[3] = {d_x * z, d_y * z, -z * (d_x * x + d_y * y)};
    *d_w += seed[0] * e0 + seed[1] * e1;
    d_cam[FOCAL] += d_scale * far;
    d_cam[PRINCIPAL] += g0, d_cam[PRINCIPAL + 1] += g1;
    d_cam[RADIAL] += d_far * square, d_cam[RADIAL + 1] += d_far * square * square;
    turn_back(cam, off, g, c, s, theta, d_r, d_off);
    for (int i = 0; i < 3; i++) d_cam[i] += d_r[i], d_cam[CENTRE + i] -= d_off[i], d_X[i] += d_off[i];
}

PUBLIC void gradient(void)
{
    int at_points = CAMERA * CAMERAS, at_weights = at_points + POINT * points;
    clear();
    for (int i = 0; i < observations; i++) {
        int cam = CAMERA * obs[2 * i], point = at_points + POINT * obs[2 * i + 1];
        double *w = in + at_weights + i, *d_w = d_in + at_weights + i;
        observe(in + cam, in + point, *w, feats + 2 * i, seeds + 2 * i, out + 2 * i, d_in + cam, d_in + point, d_w);
        out[2 * observations + i] = 1 - *w * *w;
        *d_w -= 2 * *w * seeds[2 * observations + i];
    }
}
