/* ADBench hand tracking: a mesh is posed by 26 numbers, and compared with points that were measured.
 *
 * theta = rotation of the whole hand (3, Rodrigues), its translation (3), then four angles a finger: flexion and
 * abduction of the first joint, flexion of the next two. Bones follow their parents in the arrays; bone 0 is the wrist,
 * the four bones of finger f are 1 + 4 f and on, the first of which does not move. Matrices are 4 x 4 by rows.
 *
 *   absolute_b = absolute_parent(b) relative_b R_b        transform_b = absolute_b inverse_b
 *   vertex_v   = R (sum_b weight_vb transform_b position_v) + t
 */
#include <math.h>

enum { MATRIX = 16, MOST_BONES = 32, FINGERS = 5 };

static void product(const double *restrict a, const double *restrict b, double *restrict out)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double sum = 0.0;
            for (int k = 0; k < 4; k++)
                sum += a[4 * i + k] * b[4 * k + j];
            out[4 * i + j] = sum;
        }
}

/* Rz(z) Ry(y) Rx(x) */
static void euler(double x, double y, double z, double *restrict out)
{
    double sx = sin(x), cx = cos(x), sy = sin(y), cy = cos(y), sz = sin(z), cz = cos(z);
    double r[MATRIX] = {cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz, 0.0,
                        cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz, 0.0,
                        -sy,     sx * cy,                cx * cy,                0.0, 0.0, 0.0, 0.0, 1.0};
    for (int i = 0; i < MATRIX; i++)
        out[i] = r[i];
}

/* Rodrigues' rotation matrix, 3 x 3. */
static void rotation(const double *restrict r, double *restrict out)
{
    double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    if (square < 1e-28) {
        double small[9] = {1.0, -r[2], r[1], r[2], 1.0, -r[0], -r[1], r[0], 1.0};
        for (int i = 0; i < 9; i++)
            out[i] = small[i];
        return;
    }
    double angle = sqrt(square), x = r[0] / angle, y = r[1] / angle, z = r[2] / angle;
    double s = sin(angle), c = cos(angle), d = 1.0 - c;
    double full[9] = {x * x * d + c,     x * y * d - z * s, x * z * d + y * s,
                      x * y * d + z * s, y * y * d + c,     y * z * d - x * s,
                      x * z * d - y * s, y * z * d + x * s, z * z * d + c};
    for (int i = 0; i < 9; i++)
        out[i] = full[i];
}

/* The matrices that move each bone's vertices from the rest pose. */
static void pose(int bones, const int *restrict parents, const double *restrict relatives,
                 const double *restrict inverses, const double *restrict theta, double *restrict transforms)
{
    double absolutes[MOST_BONES * MATRIX], turn[MATRIX], own[MATRIX];
    for (int b = 0; b < bones; b++) {
        int joint = (b - 1) % 4, moves = b > 0 && b <= 4 * FINGERS && joint > 0;
        const double *angles = theta + 6 + 4 * ((b - 1) / 4) + (joint > 1 ? joint : 0);
        double x = moves ? angles[0] : 0.0, z = moves && joint == 1 ? angles[1] : 0.0;
        euler(x, 0.0, z, turn);
        if (parents[b] < 0) {
            product(relatives + MATRIX * b, turn, absolutes + MATRIX * b);
        } else {
            product(relatives + MATRIX * b, turn, own);
            product(absolutes + MATRIX * parents[b], own, absolutes + MATRIX * b);
        }
    }
    for (int b = 0; b < bones; b++)
        product(absolutes + MATRIX * b, inverses + MATRIX * b, transforms + MATRIX * b);
}

/* The mesh: `first` says where each vertex's bones and weights begin. */
static void skin(int bones, const int *restrict parents, const double *restrict relatives,
                 const double *restrict inverses, int vertices, const double *restrict positions,
                 const int *restrict first, const int *restrict bone, const double *restrict weight,
                 const double *restrict theta, double *restrict mesh)
{
    double transforms[MOST_BONES * MATRIX], turn[9];
    pose(bones, parents, relatives, inverses, theta, transforms);
    rotation(theta, turn);
    for (int v = 0; v < vertices; v++) {
        const double *p = positions + 3 * v;
        double at[3] = {0.0, 0.0, 0.0};
        for (int n = first[v]; n < first[v + 1]; n++) {
            const double *t = transforms + MATRIX * bone[n];
            for (int i = 0; i < 3; i++)
                at[i] += weight[n] * (t[4 * i] * p[0] + t[4 * i + 1] * p[1] + t[4 * i + 2] * p[2] + t[4 * i + 3]);
        }
        for (int i = 0; i < 3; i++)
            mesh[3 * v + i] = turn[3 * i] * at[0] + turn[3 * i + 1] * at[1] + turn[3 * i + 2] * at[2] + theta[3 + i];
    }
}

/* Each point minus the vertex that corresponds to it; `mesh` (3 numbers a vertex) is scratch. */
void hand_simple(int bones, const int *restrict parents, const double *restrict relatives,
                 const double *restrict inverses, int vertices, const double *restrict positions,
                 const int *restrict first, const int *restrict bone, const double *restrict weight, int count,
                 const int *restrict chosen, const double *restrict points, const double *restrict theta,
                 double *restrict mesh, double *restrict errors)
{
    skin(bones, parents, relatives, inverses, vertices, positions, first, bone, weight, theta, mesh);
    for (int n = 0; n < count; n++)
        for (int i = 0; i < 3; i++)
            errors[3 * n + i] = points[3 * n + i] - mesh[3 * chosen[n] + i];
}

/* Each point minus a point of the triangle that corresponds to it, u being two of its barycentric coordinates. */
void hand_complicated(int bones, const int *restrict parents, const double *restrict relatives,
                      const double *restrict inverses, int vertices, const double *restrict positions,
                      const int *restrict first, const int *restrict bone, const double *restrict weight, int count,
                      const int *restrict chosen, const int *restrict triangles, const double *restrict points,
                      const double *restrict theta, const double *restrict u, double *restrict mesh,
                      double *restrict errors)
{
    skin(bones, parents, relatives, inverses, vertices, positions, first, bone, weight, theta, mesh);
    for (int n = 0; n < count; n++) {
        const int *corner = triangles + 3 * chosen[n];
        double a = u[2 * n], b = u[2 * n + 1], c = 1.0 - a - b;
        for (int i = 0; i < 3; i++)
            errors[3 * n + i] = points[3 * n + i] - (a * mesh[3 * corner[0] + i] + b * mesh[3 * corner[1] + i] +
                                                     c * mesh[3 * corner[2] + i]);
    }
}
