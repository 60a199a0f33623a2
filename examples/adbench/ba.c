/* ADBench BA: bundle adjustment. Reprojection errors of points seen by cameras, and a term for each weight.
 *
 * A camera is 11 numbers: rotation r (Rodrigues vector), centre C, focal length f, principal point u0 v0, and
 * radial distortion k1 k2. A point X becomes p = R(r) (X - C), (x, y) = p.xy / p.z, q = x^2 + y^2, and
 * projects to f (1 + k1 q + k2 q^2) (x, y) + (u0, v0).
 */
#include <math.h>

enum { ROTATION = 0, CENTRE = 3, FOCAL = 6, PRINCIPAL = 7, RADIAL = 9, CAMERA = 11, POINT = 3 };

static void cross(const double *restrict a, const double *restrict b, double *restrict out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Rotates `p` by the Rodrigues vector `r`; to first order at r = 0, which keeps the derivative there. */
static void rotate(const double *restrict r, const double *restrict p, double *restrict out)
{
    const double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    double by[3];
    if (square > 0.0) {
        const double theta = sqrt(square);
        const double c = cos(theta), s = sin(theta), inverse = 1.0 / theta;
        const double axis[3] = {r[0] * inverse, r[1] * inverse, r[2] * inverse};
        const double along = (axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2]) * (1.0 - c);
        cross(axis, p, by);
        for (int i = 0; i < 3; i++)
            out[i] = p[i] * c + by[i] * s + axis[i] * along;
    } else {
        cross(r, p, by);
        for (int i = 0; i < 3; i++)
            out[i] = p[i] + by[i];
    }
}

/* cam[11], X[3], weight w, feat[2]; writes the 2 weighted errors of this observation. */
void ba_reproj(const double *restrict cam, const double *restrict X, double w, const double *restrict feat,
               double *restrict err)
{
    double offset[3], p[3];
    for (int i = 0; i < 3; i++)
        offset[i] = X[i] - cam[CENTRE + i];
    rotate(cam + ROTATION, offset, p);
    const double x = p[0] / p[2], y = p[1] / p[2];
    const double q = x * x + y * y;
    const double scale = cam[FOCAL] * (1.0 + cam[RADIAL] * q + cam[RADIAL + 1] * q * q);
    err[0] = w * (scale * x + cam[PRINCIPAL] - feat[0]);
    err[1] = w * (scale * y + cam[PRINCIPAL + 1] - feat[1]);
}

/* The error of one weight. */
double ba_weight(double w)
{
    return 1.0 - w * w;
}

/* The errors of p weights; writes w_err[p]. */
void ba_weights(int p, const double *restrict w, double *restrict w_err)
{
    for (int i = 0; i < p; i++)
        w_err[i] = ba_weight(w[i]);
}

/* All errors of an instance: n cams[n][11], m X[m][3], p weights w[p] and features feats[p][2], obs[p][2] holds
 * camera and point of each observation; writes reproj_err[p][2] and w_err[p]. */
void ba_objective(int n, int m, int p, const double *restrict cams, const double *restrict X,
                  const double *restrict w, const int *restrict obs, const double *restrict feats,
                  double *restrict reproj_err, double *restrict w_err)
{
    (void)n;
    (void)m;
    for (int i = 0; i < p; i++)
        ba_reproj(cams + CAMERA * obs[2 * i], X + POINT * obs[2 * i + 1], w[i], feats + 2 * i, reproj_err + 2 * i);
    ba_weights(p, w, w_err);
}
