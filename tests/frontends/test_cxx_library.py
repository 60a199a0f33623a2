"""What programs use of C++'s standard library, of libstdc++ and of libc++, beside active values.

Each source defines `double f(const double *x, int n)`; its gradient, in both modes, is compared with finite differences
of the function itself, which is compiled and loaded apart from them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from harness import has_libcxx

import llgrad
from llgrad.errors import UnsupportedError

X = np.array([0.7, 1.3, 0.4, 1.9])

KEPT_EXCEPTIONS = """
#include <cmath>
#include <exception>
#include <stdexcept>
#include <vector>
double f(const double *x, int n) {
    std::vector<std::exception_ptr> all;
    double s = 0;
    for (int i = 0; i < n; i++) {
        try { if (i % 2) throw std::range_error("odd"); s += std::sin(x[i]); }
        catch (...) { all.push_back(std::current_exception()); }
    }
    all.push_back(std::make_exception_ptr(std::logic_error("made")));
    int k = 0;
    for (auto &p : all) {
        std::exception_ptr q = p; q = nullptr; q = p;
        try { std::rethrow_exception(q); }
        catch (const std::range_error &) { k += 2; }
        catch (const std::logic_error &e) { k += e.what()[0] == 'm' ? 10 : 0; }
    }
    return s * k;
}
"""

RESOURCES = """
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <vector>
struct counting final : std::pmr::memory_resource {
    int blocks = 0;
    void *do_allocate(std::size_t bytes, std::size_t) override { blocks++; return std::malloc(bytes); }
    void do_deallocate(void *p, std::size_t, std::size_t) override { std::free(p); }
    bool do_is_equal(const std::pmr::memory_resource &o) const noexcept override { return this == &o; }
};
static double sum(const std::pmr::vector<double> &v, double s = 1) {
    for (double a : v) s = s * std::sin(a) + a;
    return s;
}
static std::pmr::vector<double> squares(const double *x, int n, std::pmr::memory_resource *from) {
    std::pmr::vector<double> v(from);
    for (int i = 0; i < n; i++) v.push_back(x[i] * x[i]);
    return v;
}
double f(const double *x, int n) {
    counting own;
    double s = sum(squares(x, n, &own)) * own.blocks;
    s += sum(squares(x, n, std::pmr::get_default_resource()), s);
    std::pmr::unsynchronized_pool_resource pool;
    std::pmr::map<int, double> m(&pool);
    for (int i = 0; i < n; i++) m[i % 3] += s * x[i];
    for (auto &[k, a] : m) s += a * k;
    return s;
}
"""

RESOURCE_IN_PLACE = """
#include <cmath>
#include <memory_resource>
#include <vector>
double f(const double *x, int n) {
    std::byte room[256];
    std::pmr::monotonic_buffer_resource some(room, sizeof room, std::pmr::null_memory_resource());
    std::pmr::vector<double> v(&some);
    for (int i = 0; i < n; i++) v.push_back(x[i] * x[i]);
    double s = 1;
    for (double a : v) s = s * std::sin(a) + a;
    return s;
}
"""

RESOURCE_OF_NODES = """
#include <cmath>
#include <list>
#include <memory_resource>
double f(const double *x, int n) {
    std::pmr::monotonic_buffer_resource pool(64);
    std::pmr::list<double> all(&pool);
    for (int i = 0; i < 3 * n; i++) all.push_back(x[i % n] * x[i % n]);
    double s = 0;
    for (double a : all) s += std::sin(a) * s + a;
    return s;
}
"""

RESOURCE_CHOSEN = """
#include <cmath>
#include <memory_resource>
#include <vector>
double f(const double *x, int n) {
    std::pmr::set_default_resource(std::pmr::new_delete_resource());
    std::pmr::vector<double> v(x, x + n);
    double s = 0;
    for (double a : v) s += std::sin(a) * a;
    return s;
}
"""

LIBRARIES = ("libstdc++", "libc++")
SOURCES = {
    "kept_exceptions": KEPT_EXCEPTIONS, "resources": RESOURCES, "resource_of_nodes": RESOURCE_OF_NODES,
    "resource_chosen": RESOURCE_CHOSEN, "resource_in_place": RESOURCE_IN_PLACE,
}  # fmt: skip
REFUSED = {("resource_of_nodes", "libc++")}


def differences(f: Callable[..., float], x: np.ndarray) -> np.ndarray:
    """The gradient by central differences of fourth order."""
    h, found = 1e-3, np.zeros(len(x))
    for i, step in enumerate(h * np.eye(len(x))):
        near, far = (f(x + k * step, len(x)) - f(x - k * step, len(x)) for k in (1, 2))
        found[i] = (8 * near - far) / (12 * h)
    return found


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", SOURCES)
def test_library(name: str, library: str, tmp_path: Path) -> None:
    if library == "libc++" and not has_libcxx():
        pytest.skip("no libc++ (Debian: libc++-22-dev)")
    path = tmp_path / f"{name}.cpp"
    path.write_text(SOURCES[name])
    f = llgrad.load(path, flags=["-std=c++20", f"-stdlib={library}"]).f
    if (name, library) in REFUSED:
        with pytest.raises(UnsupportedError):
            llgrad.grad(f)(X, len(X))
        return
    wanted = differences(f, X)
    assert np.abs(wanted).max() > 0.01
    assert np.allclose(llgrad.grad(f)(X, len(X)), wanted, rtol=1e-8, atol=1e-9)
    tangents = [llgrad.jvp(f)(X, len(X), tangents=t)[1] for t in np.eye(len(X))]
    assert np.allclose(tangents, wanted, rtol=1e-8, atol=1e-9)


def test_constructors_in_one_file(tmp_path: Path) -> None:
    """A constructor that other files may call has two names and one body."""
    path = tmp_path / "a.cpp"
    path.write_text("""
struct Kept { double *p; explicit Kept(double v); ~Kept(); };
Kept::Kept(double v) : p(new double(v)) {}
Kept::~Kept() { delete p; }
double f(const double *x, int n) { Kept k(x[0]); return *k.p * *k.p * n; }
""")
    f = llgrad.load(path).f
    assert f(X, 4) == 4 * 0.7 * 0.7
    assert np.allclose(llgrad.grad(f)(X, 4), [8 * 0.7, 0, 0, 0])
