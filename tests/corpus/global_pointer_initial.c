// Static pointers that are never changed but by their initial value.
static double buffer[6];
static double *place = buffer + 1;
struct view { int n; double *data; };
static struct view view = {4, buffer};
void set_place(int k) { place = buffer + k; }
double global_pointer_initial(double *x, int n) {
    double s = 0;
    for (int i = 0; i < view.n; i++) view.data[i] = x[i] * x[i];
    for (int i = 0; i < 3; i++) s += place[i] * x[i];
    for (int i = 0; i < 6; i++) buffer[i] = 0;
    return s;
}
