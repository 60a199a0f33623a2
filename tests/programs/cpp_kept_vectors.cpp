// Vectors that are static in a function, or one for each thread, and keep their memory from one call to the next.
#include "selfcheck.h"
#include <vector>
static double around(const double *x, int n)
{
    static std::vector<double> squares;
    squares.resize(n);
    double sum = 0;
    for (int i = 0; i < n; i++)
        squares[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += squares[i] * std::sin(squares[(i + 1) % n]);
    return sum;
}
static double pushed(const double *x, int n)
{
    static thread_local std::vector<double> values;
    values.clear();
    for (int i = 0; i < n; i++) {
        values.push_back(x[i]);
        if (i % 2)
            values.push_back(x[i] * x[i - 1]);
    }
    double sum = 0;
    while (!values.empty()) {
        sum = sum / 2 + values.back() * values.front();
        values.pop_back();
    }
    return sum;
}
int main()
{
    CHECK_GRADIENT(around, 3);
    CHECK_GRADIENT(pushed, 3);
    CHECK_GRADIENT(around, 5);
    CHECK_GRADIENT(pushed, 5);
    CHECK_GRADIENT(around, 8);
    CHECK_GRADIENT(pushed, 8);
    return failures();
}
