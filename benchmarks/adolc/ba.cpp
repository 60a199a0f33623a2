// `programs/ba.c` in ADOL-C's numbers, the sum of all that it writes; the trace is made anew for each gradient.
#include "program.hpp"

enum { CAMERAS = 20, CAMERA = 11 };
static std::vector<double> in, d_in, feats;
static int observations, points;

void setup(int size)
{
    observations = size, points = 1 + size / 8;
    in.resize(CAMERA * CAMERAS + 3 * points + size), d_in.resize(in.size()), feats.resize(2 * size);
    for (size_t i = 0; i < in.size(); i++) in[i] = noise(i);
    for (int i = 0; i < CAMERAS; i++) in[CAMERA * i + 6] += 400;
    for (int i = 0; i < points; i++) in[CAMERA * CAMERAS + 3 * i + 2] += 20;
    for (int i = 0; i < 2 * size; i++) feats[i] = 100 * noise(3 * i);
}

template <class T> static void cross(const T *a, const T *b, T *out)
{
    for (int i = 0; i < 3; i++) out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

template <class T> static T objective(const T *q)
{
    T total = 0, offset[3], axis[3], by[3], turned[3];
    for (int n = 0; n < observations; n++) {
        const T *cam = q + CAMERA * (n % CAMERAS), *x = q + CAMERA * CAMERAS + 3 * (n % points);
        const T &w = q[CAMERA * CAMERAS + 3 * points + n];
        T theta = sqrt(cam[0] * cam[0] + cam[1] * cam[1] + cam[2] * cam[2]), c = cos(theta), s = sin(theta);
        for (int i = 0; i < 3; i++) offset[i] = x[i] - cam[3 + i], axis[i] = cam[i] / theta;
        T along = (axis[0] * offset[0] + axis[1] * offset[1] + axis[2] * offset[2]) * (1 - c);
        cross(axis, offset, by);
        for (int i = 0; i < 3; i++) turned[i] = offset[i] * c + by[i] * s + axis[i] * along;
        T u = turned[0] / turned[2], v = turned[1] / turned[2], r = u * u + v * v;
        T scale = cam[6] * (1 + cam[9] * r + cam[10] * r * r);
        total += w * (scale * u + cam[7] - feats[2 * n]) + w * (scale * v + cam[8] - feats[2 * n + 1]) + 1 - w * w;
    }
    return total;
}

double primal() { return objective(in.data()); }

extern "C" PUBLIC void adjoint(void)
{
    double out;
    trace_on(1);
    std::vector<adouble> q(in.size());
    for (size_t i = 0; i < in.size(); i++) q[i] <<= in[i];
    objective(q.data()) >>= out;
    trace_off();
    gradient(1, in.size(), in.data(), d_in.data());
}

double *derivative(int *count) { return *count = d_in.size(), d_in.data(); }
