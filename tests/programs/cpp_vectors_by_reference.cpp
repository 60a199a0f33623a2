// Vectors behind references, whose sizes are distances of pointers in memory: apart, one in the place of another, empty.
#include "selfcheck.h"
#include <vector>

struct Model {
    std::vector<double> w, b, hidden;
};

__attribute__((noinline)) static void eval(Model &m, const std::vector<double> &x, std::vector<double> &y)
{
    int n = (int)x.size(), h = (int)m.hidden.size();
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < h; i++) {
            double s = m.b[i];
            for (int j = 0; j < n; j++)
                s += 0.2 * m.w[i * n + j] * x[j];
            m.hidden[i] = std::sin(s) + 0.5 * m.hidden[i];
        }
        if (h > 0)
            y[0] += m.hidden[r % h] * m.b[0];
    }
}

enum { N = 3, H = 2 };

// What x and y are: vectors of their own, or the model's.
static double value(int which, const std::vector<double> &all, std::vector<double> *adjoint)
{
    const double *p = all.data();
    Model m{{p, p + N * H}, {p + 6, p + 9}, {p + 9, p + 9 + H}};
    std::vector<double> x{p + 11, p + 14}, y{p + 14, p + 15};
    const std::vector<double> &given = which == 1 ? m.b : which == 3 ? m.hidden : x;
    std::vector<double> &taken = which == 2 || which == 3 ? m.hidden : which == 4 ? m.w : y;
    if (which == 5)
        m.hidden.clear();
    if (!adjoint) {
        eval(m, given, taken);
        double sum = 0;
        for (auto *v : {&m.w, &m.b, &m.hidden, &x, &y})
            for (double e : *v)
                sum += e * (1 + 0.1 * v->size());
        return sum;
    }
    Model d = m;
    std::vector<double> dx = x, dy = y;
    for (auto *v : {&d.w, &d.b, &d.hidden, &dx, &dy})
        for (double &e : *v)
            e = 1 + 0.1 * v->size();
    const std::vector<double> &d_given = which == 1 ? d.b : which == 3 ? d.hidden : dx;
    std::vector<double> &d_taken = which == 2 || which == 3 ? d.hidden : which == 4 ? d.w : dy;
    __enzyme_autodiff_void((void *)eval, enzyme_dup, &m, &d, enzyme_dup, &given, &d_given, enzyme_dup, &taken, &d_taken);
    adjoint->clear();
    for (auto *v : {&d.w, &d.b, &d.hidden, &dx, &dy})
        adjoint->insert(adjoint->end(), v->begin(), v->end());
    return 0;
}

int main()
{
    for (int which = 0; which < 6; which++) {
        std::vector<double> all(15), d;
        sample(all.data(), 15);
        value(which, all, &d);
        for (int i = 0, at = 0; i < 15; i++) {
            if (which == 5 && (i == 9 || i == 10))
                continue;
            double v[4];
            for (int s = 0; s < 4; s++) {
                std::vector<double> moved = all;
                moved[i] += 1e-3 * stencil_steps[s];
                v[s] = value(which, moved, nullptr);
            }
            expect("vectors", 100 * which + i, d[at++], stencil(v, 1e-3));
        }
    }
    return failures();
}
