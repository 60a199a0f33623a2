/* ADBench's bundle adjustment: one reverse sweep for given seeds. Size: observations; 1/8 as many points, 20 cameras. */
#include "program.h"
#include "../../examples/adbench/ba.c"

enum { CAMERAS = 20 };

static double *in, *d_in, *feats, *out, *seeds;
static int *obs, observations, points, inputs;

void setup(int size)
{
    observations = size, points = 1 + size / 8, inputs = CAMERA * CAMERAS + POINT * points + size;
    in = realloc(in, inputs * sizeof *in), d_in = fresh(d_in, inputs * sizeof *in);
    feats = realloc(feats, 2 * size * sizeof *in), obs = realloc(obs, 2 * size * sizeof *obs);
    out = realloc(out, 3 * size * sizeof *in), seeds = fresh(seeds, 3 * size * sizeof *in);
    for (int i = 0; i < inputs; i++) in[i] = noise(i);
    for (int i = 0; i < CAMERAS; i++) in[CAMERA * i + 6] += 400;
    for (int i = 0; i < points; i++) in[CAMERA * CAMERAS + POINT * i + 2] += 20;
    for (int i = 0; i < 2 * size; i++) feats[i] = 100 * noise(3 * i);
    for (int i = 0; i < size; i++) obs[2 * i] = i % CAMERAS, obs[2 * i + 1] = i % points;
}

static void clear(void)
{
    memset(d_in, 0, inputs * sizeof *in);
    for (int i = 0; i < 3 * observations; i++) seeds[i] = 1;
}

#define CAMS in
#define POINTS (in + CAMERA * CAMERAS)
#define WEIGHTS (in + CAMERA * CAMERAS + POINT * points)

double primal(void)
{
    ba_objective(CAMERAS, points, observations, CAMS, POINTS, WEIGHTS, obs, feats, out, out + 2 * observations);
    return out[0];
}

void gradient(void)
{
    clear();
    __enzyme_autodiff((void *)ba_objective, enzyme_const, CAMERAS, enzyme_const, points, enzyme_const, observations,
                      enzyme_dup, CAMS, d_in, enzyme_dup, POINTS, d_in + (POINTS - in), enzyme_dup, WEIGHTS,
                      d_in + (WEIGHTS - in), enzyme_const, obs, enzyme_const, feats, enzyme_dup, out, seeds, enzyme_dup,
                      out + 2 * observations, seeds + 2 * observations);
}

double *derivative(int *count) { return *count = inputs, d_in; }
