// Each element from its two predecessors.
#include <math.h>
void recurrence_second_order(double *x, int n) {
    for (int i = 2; i < n; i++) x[i] = x[i] + sin(x[i - 1]) * x[i - 2];
}
