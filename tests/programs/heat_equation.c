/* A grid, many time steps, two rows that change places. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double grid[2][12];
    int now = 0;
    for (int i = 0; i < n; i++)
        grid[0][i] = x[i];
    for (int t = 0; t < 40; t++, now = !now)
        for (int i = 0; i < n; i++) {
            double left = grid[now][i ? i - 1 : n - 1], right = grid[now][(i + 1) % n], u = grid[now][i];
            grid[!now][i] = u + 0.1 * (left - 2 * u + right) + 0.01 * u * (1 - u);
        }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += grid[now][i] * grid[now][i] * i;
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
