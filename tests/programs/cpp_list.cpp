// std::list and std::deque.
#include "selfcheck.h"
#include <deque>
#include <list>
static double f(const double *x, int n)
{
    std::list<double> l;
    std::deque<double> d;
    for (int i = 0; i < n; i++) {
        l.push_front(x[i] * x[i]);
        d.push_back(x[i] + 1);
        d.push_front(x[i] * 2);
    }
    double sum = 0;
    for (double v : l) {
        sum += v * d.front() * d.back();
        d.pop_front();
    }
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
