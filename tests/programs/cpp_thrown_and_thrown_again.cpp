// What is thrown has strings and vectors, is thrown from handlers, in loops, and within other handlers.
#include "selfcheck.h"
#include <stdexcept>
#include <string>
#include <vector>
struct Failed : std::runtime_error { double residual; int steps; Failed(double r, int n) : std::runtime_error("did not converge in the steps that it was given, which is a long text"), residual(r), steps(n) {} };
__attribute__((noinline)) static double newton(double a, double x, int n)
{
    for (int i = 0; i < n; i++) { double r = x * x - a; if (r < 1e-10 && r > -1e-10) return x; x -= r / (2 * x); }
    throw Failed(x * x - a, n);
}
static double f(double a) { try { return newton(a, 1 + a, 20); } catch (const Failed &e) { return e.residual * e.steps; } }
static double f1(double a) { try { return newton(a, 1 + a, 3); } catch (const Failed &e) { return e.residual * e.steps; } }
__attribute__((noinline)) static double step(double x, int i) { if (i % 3 == 0) throw x * i; if (i % 3 == 1) throw Failed(x * x, i); return x + i; }
__attribute__((noinline)) static double both(double x, int i)
{
    try { return step(x, i); }
    catch (Failed &e) { if (e.steps == 4) throw e.residual * 2; e.residual *= x; throw; }
}
static double f2(double x)
{
    double s = x;
    for (int i = 0; i < 8; i++)
        try { s += both(s * 0.1 + x, i); }
        catch (double d) { s += d * d * 0.01; }
        catch (Failed &e) { s += e.residual / (1 + e.steps); try { s += step(s, i + 2); } catch (double d) { s -= 0.1 * d * e.residual; } catch (...) { s *= 1.1; } }
    return s;
}
struct Many { std::vector<double> v; double sum() const { double s = 0; for (double a : v) s += a * a; return s; } };
__attribute__((noinline)) static double g(double x, int n) { Many m; for (int i = 0; i < n; i++) { m.v.push_back(x * i); if (m.v.back() > 3) throw m; } return x; }
static double f3(double x) { try { return g(x, 10); } catch (const Many &m) { return m.sum(); } }
int main()
{
    CHECK_SLOPE(f, 3.0);
    CHECK_SLOPE(f1, 3.0);
    CHECK_SLOPE(f2, 0.5);
    CHECK_SLOPE(f2, 1.5);
    CHECK_SLOPE(f3, 1.4);
    CHECK_SLOPE(f3, 0.2);
    return failures();
}
