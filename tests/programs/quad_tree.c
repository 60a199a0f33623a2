/* Barnes and Hut's tree: cells with an array of children in the middle, walked by a variable, between floats, a count and
 * a pointer to bodies. */
#include "selfcheck.h"
struct body { double x, y, mass, ax, ay; struct body *next; };
struct cell {
    double centre_x, centre_y, half, mass, moment_x, moment_y;
    struct cell *child[4];
    struct body *bodies;
    int count;
};
static struct cell *make(double x, double y, double half)
{
    struct cell *c = (struct cell *)calloc(1, sizeof *c);
    c->centre_x = x;
    c->centre_y = y;
    c->half = half;
    return c;
}
static void insert(struct cell *c, struct body *b, int depth)
{
    if (c->count++ == 0 || depth > 8) {
        b->next = c->bodies;
        c->bodies = b;
    } else {
        struct body *down[2] = {c->bodies, b};
        c->bodies = NULL;
        for (int k = 0; k < 2; k++)
            if (down[k]) {
                int n = (down[k]->x > c->centre_x) + 2 * (down[k]->y > c->centre_y);
                double h = c->half / 2;
                if (!c->child[n])
                    c->child[n] = make(c->centre_x + (n & 1 ? h : -h), c->centre_y + (n & 2 ? h : -h), h);
                down[k]->next = NULL;
                insert(c->child[n], down[k], depth + 1);
            }
    }
    c->mass += b->mass;
    c->moment_x += b->mass * b->x;
    c->moment_y += b->mass * b->y;
}
static void pull(const struct cell *c, struct body *b, double theta)
{
    if (!c || c->count == 0 || (c->bodies == b && !b->next))
        return;
    double dx = c->moment_x / c->mass - b->x, dy = c->moment_y / c->mass - b->y;
    double distance = sqrt(dx * dx + dy * dy + 0.01);
    if (c->count == 1 || 2 * c->half / distance < theta) {
        double strength = c->mass / (distance * distance * distance);
        b->ax += strength * dx;
        b->ay += strength * dy;
        return;
    }
    for (int n = 0; n < 4; n++)
        pull(c->child[n], b, theta);
}
static void destroy(struct cell *c)
{
    if (!c)
        return;
    for (int n = 0; n < 4; n++)
        destroy(c->child[n]);
    free(c);
}
static double f(const double *x, int n)
{
    struct body *b = (struct body *)calloc((size_t)n, sizeof *b);
    for (int i = 0; i < n; i++) {
        b[i].x = x[i];
        b[i].y = 2 * sin(3.0 * i) * x[(i + 1) % n];
        b[i].mass = 0.5 + 0.1 * x[(i + 2) % n];
    }
    double sum = 0;
    for (int t = 0; t < 3; t++) {
        struct cell *root = make(0, 0, 8);
        for (int i = 0; i < n; i++)
            insert(root, &b[i], 0);
        for (int i = 0; i < n; i++) {
            b[i].ax = b[i].ay = 0;
            pull(root, &b[i], 0.7);
        }
        for (int i = 0; i < n; i++) {
            b[i].x += 0.01 * b[i].ax;
            b[i].y += 0.01 * b[i].ay;
            sum += b[i].mass * b[i].ax * b[i].y;
        }
        destroy(root);
    }
    free(b);
    return sum;
}
int main(void) { CHECK_EVERY_WAY(f, 7); return failures(); }
