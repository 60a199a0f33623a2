"""Second derivatives of C++ programs with containers: what the first derivative keeps of them is on the tape."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from nested.test_nested import differentiated

import llgrad
from llgrad.frontends.c.clang import find_compiler

HEADERS = "#include <cmath>\n#include <list>\n#include <map>\n#include <memory>\n#include <string>\n#include <vector>\n"
TREE = """
struct Node {
    double value;
    std::weak_ptr<Node> parent;
    std::vector<std::shared_ptr<Node>> children;
    explicit Node(double v) : value(v) {}
};
static double total(const std::shared_ptr<Node> &n) {
    double s = std::sin(n->value);
    if (auto p = n->parent.lock()) s += p->value * n->value;
    for (auto &c : n->children) s += total(c) * n->value;
    return s;
}
extern "C" double tree(const double *x, int n) {
    auto root = std::make_shared<Node>(x[0]);
    std::vector<std::shared_ptr<Node>> all{root};
    for (int i = 1; i < n; i++) {
        auto p = all[(i - 1) / 2];
        auto c = std::make_shared<Node>(x[i] * x[0]);
        c->parent = p;
        p->children.push_back(c);
        all.push_back(c);
    }
    return total(root);
}
"""
EXPRESSIONS = """
struct Expression {
    virtual ~Expression() = default;
    virtual double value(const std::map<std::string, double> &at) const = 0;
};
using Shared = std::shared_ptr<Expression>;
using Values = std::map<std::string, double>;
struct Number : Expression {
    double v;
    Number(double v) : v(v) {}
    double value(const Values &) const override { return v; }
};
struct Name : Expression {
    std::string n;
    Name(std::string n) : n(std::move(n)) {}
    double value(const Values &at) const override { return at.at(n); }
};
struct Product : Expression {
    Shared a, b;
    Product(Shared a, Shared b) : a(a), b(b) {}
    double value(const Values &at) const override { return a->value(at) * b->value(at); }
};
struct Sine : Expression {
    Shared a;
    Sine(Shared a) : a(a) {}
    double value(const Values &at) const override { return std::sin(a->value(at)); }
};
extern "C" double expressions(const double *x, int n) {
    Values at{{"x", x[0]}, {"y", x[1]}};
    Shared e = std::make_shared<Name>("x");
    for (int i = 0; i < n; i++)
        e = i % 2 ? Shared(std::make_shared<Product>(e, std::make_shared<Number>(x[i])))
                  : Shared(std::make_shared<Sine>(std::make_shared<Product>(e, std::make_shared<Name>("y"))));
    return e->value(at);
}
"""
SUMS = """
extern "C" double sums(const double *x, int n) {
    std::map<int, double> m;
    for (int i = 0; i < n; i++) m[(i * 7) % 5] += x[i] * x[0];
    double s = 0;
    for (auto &[k, v] : m) s += std::sin(v) * (k + 1) * x[k % n];
    auto it = m.find(2);
    if (it != m.end()) {
        s *= it->second;
        m.erase(it);
    }
    return s * m.begin()->second;
}
"""
LIST = """
extern "C" double spliced(const double *x, int n) {
    std::list<double> a, b;
    for (int i = 0; i < n; i++) {
        a.push_back(x[i] * x[0]);
        b.push_front(std::sin(x[i]));
    }
    a.sort();
    a.splice(a.begin(), b);
    double s = 0, w = 1;
    for (double v : a) {
        s += w * v * v;
        w += 0.5 * v;
    }
    return s;
}
"""
N = 6


@pytest.mark.parametrize(
    ("code", "name", "level"),
    [
        pytest.param(TREE, "tree", 2, id="tree"),
        pytest.param(TREE, "tree", 0, id="tree-0", marks=pytest.mark.full),
        pytest.param(EXPRESSIONS, "expressions", 2, id="expressions"),
        pytest.param(SUMS, "sums", 0, id="sums-0", marks=pytest.mark.full),
        pytest.param(LIST, "spliced", 2, id="spliced", marks=pytest.mark.full),
    ],
)
def test_products(code: str, name: str, level: int, tmp_path: Path) -> None:
    path = tmp_path / "code.cpp"
    path.write_text(HEADERS + code)
    f = llgrad.load(path, flags=["-std=c++20"], optimize=level)[name]
    x, v = np.random.default_rng(3).uniform(0.4, 1.4, (2, N))
    gradient, step = llgrad.grad(f, wrt="x"), 1e-6
    want = (gradient(x + step * v, N) - gradient(x - step * v, N)) / (2 * step)
    np.testing.assert_allclose(llgrad.hvp(f, wrt="x")(x, N, v), want, rtol=1e-6, atol=1e-7 * np.abs(want).max())


ASKS = """
#include <cstdio>
extern int enzyme_dup, enzyme_const;
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);
enum { N = 6 };
static void gradient(const double *x, double *dx) {
    for (int i = 0; i < N; i++) dx[i] = 0;
    __enzyme_autodiff((void *)tree, enzyme_dup, x, dx, N);
}
static __attribute__((noinline)) double forward(const double *x, const double *v) {
    return __enzyme_fwddiff((void *)tree, enzyme_dup, x, v, N);
}
static __attribute__((noinline)) double reverse(const double *x, const double *v) {
    double dx[N], s = 0;
    gradient(x, dx);
    for (int i = 0; i < N; i++) s += dx[i] * v[i];
    return s;
}
int main() {
    double x[N] = {0.5, 0.71, 1.2, 0.83, 1.05, 0.64}, v[N] = {0.3, -0.8, 0.5, 0.9, -0.2, 0.4};
    double y[N], z[N], a[N], b[N], over_forward[N] = {0}, over_reverse[N] = {0};
    for (int i = 0; i < N; i++) y[i] = x[i] + 1e-6 * v[i], z[i] = x[i] - 1e-6 * v[i];
    gradient(y, a);
    gradient(z, b);
    __enzyme_autodiff((void *)forward, enzyme_dup, x, over_forward, enzyme_const, v);
    __enzyme_autodiff((void *)reverse, enzyme_dup, x, over_reverse, enzyme_const, v);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        double want = (a[i] - b[i]) / 2e-6, tolerance = 1e-6 * (1 + std::fabs(want));
        wrong += !(std::fabs(over_forward[i] - want) < tolerance) + !(std::fabs(over_reverse[i] - want) < tolerance);
        std::printf("%g %g %g\\n", want, over_forward[i], over_reverse[i]);
    }
    return wrong;
}
"""


def test_reverse_over_both(tmp_path: Path) -> None:
    path, program = tmp_path / "code.cpp", tmp_path / "program"
    path.write_text(HEADERS + TREE + ASKS)
    out = differentiated(path, tmp_path, 2)
    subprocess.run([*find_compiler().cxx, "-O1", out, "-o", program, "-lm"], check=True, capture_output=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
