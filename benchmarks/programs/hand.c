/* ADBench's hand, complicated: one reverse sweep by theta and u. Size: correspondences; 22 bones, 544 vertices. */
#include "program.h"
#include "../../examples/adbench/hand.c"

enum { BONES = 22, VERTICES = 544, TRIANGLES = 1084, PAIRS = 4 };

static int parents[BONES], first[VERTICES + 1], bone[PAIRS * VERTICES], triangles[3 * TRIANGLES], *chosen, count, inputs;
static double relatives[MATRIX * BONES], inverses[MATRIX * BONES], positions[3 * VERTICES], weight[PAIRS * VERTICES];
static double mesh[3 * VERTICES], d_mesh[3 * VERTICES], *points, *in, *d_in, *out, *seeds;

static void model(void)
{
    for (int b = 0; b < BONES; b++) {
        parents[b] = b == 0 ? -1 : b == BONES - 1 || b % 4 == 1 ? 0 : b - 1;
        euler(noise(b), noise(2 * b), noise(3 * b), relatives + MATRIX * b);
        euler(-noise(b), noise(5 * b), -noise(7 * b), inverses + MATRIX * b);
        for (int i = 0; i < 3; i++) relatives[MATRIX * b + 4 * i + 3] = 0.1 * noise(9 * b + i);
    }
    for (int i = 0; i <= VERTICES; i++) first[i] = PAIRS * i;
    for (int i = 0; i < PAIRS * VERTICES; i++) bone[i] = (int)(BONES * noise(11 * i)), weight[i] = 1.0 / PAIRS;
    for (int i = 0; i < 3 * VERTICES; i++) positions[i] = noise(13 * i);
    for (int i = 0; i < 3 * TRIANGLES; i++) triangles[i] = (int)(VERTICES * noise(17 * i));
}

void setup(int size)
{
    model();
    count = size, inputs = 26 + 2 * size;
    in = realloc(in, inputs * sizeof *in), d_in = fresh(d_in, inputs * sizeof *in);
    points = realloc(points, 3 * size * sizeof *in), chosen = realloc(chosen, size * sizeof *chosen);
    out = realloc(out, 3 * size * sizeof *in), seeds = fresh(seeds, 3 * size * sizeof *in);
    for (int i = 0; i < inputs; i++) in[i] = 0.5 * noise(19 * i);
    for (int i = 0; i < 3 * size; i++) points[i] = noise(23 * i);
    for (int i = 0; i < size; i++) chosen[i] = (int)(TRIANGLES * noise(29 * i));
}

double primal(void)
{
    hand_complicated(BONES, parents, relatives, inverses, VERTICES, positions, first, bone, weight, count, chosen,
                     triangles, points, in, in + 26, mesh, out);
    return out[0];
}

void gradient(void)
{
    memset(d_in, 0, inputs * sizeof *in);
    memset(d_mesh, 0, sizeof d_mesh);
    for (int i = 0; i < 3 * count; i++) seeds[i] = 1;
    __enzyme_autodiff((void *)hand_complicated, enzyme_const, BONES, enzyme_const, parents, enzyme_const, relatives,
                      enzyme_const, inverses, enzyme_const, VERTICES, enzyme_const, positions, enzyme_const, first,
                      enzyme_const, bone, enzyme_const, weight, enzyme_const, count, enzyme_const, chosen, enzyme_const,
                      triangles, enzyme_const, points, enzyme_dup, in, d_in, enzyme_dup, in + 26, d_in + 26, enzyme_dup,
                      mesh, d_mesh, enzyme_dup, out, seeds);
}

double *derivative(int *number) { return *number = inputs, d_in; }
