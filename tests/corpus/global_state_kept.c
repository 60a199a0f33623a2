// A global that is read before it is written: what one call of the derivative leaves in its shadow must not reach the next.
// x: 3 0.5 0.5
// n: 3
// y: 3
// m: 3
// no finite differences
static double state = 0.5;
void global_state_kept(double *x, int n, double *y, int m) {
    for (int i = 0; i < m; i++) {
        y[i] = state * x[i] * (i + 1);
        state = x[(i + 1) % n];
    }
}
