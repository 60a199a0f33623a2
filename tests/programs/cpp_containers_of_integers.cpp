// Containers whose own integers (sizes, keys, counts) lie where their neighbours keep doubles and pointers.
#include "selfcheck.h"
#include <deque>
#include <list>
#include <map>
static double listed(const double *x, int n)
{
    std::list<double> all(x, x + n);
    all.push_back(x[0] * x[1]);
    all.reverse();
    double sum = 0, k = 1;
    for (double v : all)
        sum += v * v * k++;
    return sum * static_cast<double>(all.size());
}
static double counted(const double *x, int n)
{
    std::map<int, double> groups;
    for (int i = 0; i < n; i++)
        groups[i % 3] += x[i] * x[i];
    double sum = 0;
    for (auto &[key, value] : groups)
        sum += key * value * value;
    return sum;
}
static double queued(const double *x, int n)
{
    std::deque<double> both;
    for (int i = 0; i < n; i++) {
        both.push_back(x[i] * x[i]);
        both.push_front(x[i]);
    }
    double sum = 0, k = 1;
    for (double v : both)
        sum += v * k++;
    return sum;
}
int main() { CHECK_GRADIENT(listed, 4); CHECK_GRADIENT(counted, 5); CHECK_GRADIENT(queued, 4); return failures(); }
