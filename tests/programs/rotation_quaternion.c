/* A unit quaternion turns a vector. */
#include "selfcheck.h"
typedef struct { double w, x, y, z; } quaternion;
static quaternion times(quaternion a, quaternion b)
{
    quaternion c = {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                    a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
    return c;
}
static double f(const double *x, int n)
{
    double r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    quaternion q = {x[0] / r, x[1] / r, x[2] / r, x[3] / r}, v = {0, 1, 2, 3}, c = {q.w, -q.x, -q.y, -q.z};
    quaternion t = times(times(q, v), c);
    return t.x * t.y + n * t.z;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
