// A local struct that holds pointers to the arguments.
struct view { double *data; int n; double scale; };
static __attribute__((noinline)) void apply(struct view *v, double *out) {
    for (int i = 0; i < v->n; i++) out[i % 4] += v->data[i] * v->scale;
    v->scale *= v->data[0];
}
void struct_with_pointers(double *x, int n, double *y, int m) {
    struct view v = {x, n, x[1]};
    apply(&v, y);
    apply(&v, y);
    y[0] *= v.scale;
}
