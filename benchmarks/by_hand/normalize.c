/* The adjoint of `normalize` as one writes it: with r = 1 / |x|, d(w . x r) = r (w - r^2 (w . x) x). */
#define gradient gradient_by_tool
#include "../programs/normalize.c"
#undef gradient

PUBLIC void gradient(void)
{
    double square = 0, dot = 0;
    for (int i = 0; i < n; i++) square += x[i] * x[i], dot += x[i] * (1 + i % 5);
    double r = 1 / sqrt(square), c = dot * r * r * r;
    for (int i = 0; i < n; i++) y[i] = x[i] * r;
    for (int i = 0; i < n; i++) d_x[i] = r * (1 + i % 5) - c * x[i];
}
