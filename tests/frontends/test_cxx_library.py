"""What programs use of C++'s standard library, of libstdc++ and of libc++, beside active values.

Each source defines `double f(const double *x, int n)`; its gradient, in both modes, is compared with finite differences
of the function itself, which is compiled and loaded apart from them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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

FORMATS = """
#include <cmath>
#include <cstdio>
#include <format>
#include <map>
#include <print>
#include <stdexcept>
#include <string>
double f(const double *x, int n) {
    std::map<std::string, double> m;
    for (int i = 0; i < n; i++) m[std::format("x{}", i)] = x[i] * x[i];
    double s = 0;
    FILE *out = std::fopen("/dev/null", "w");
    for (auto &[k, v] : m) { s += std::sin(v) * k.size(); std::print(out, "{}={:8.3f} {} {:e}", k, v, true, s); }
    std::fclose(out);
    try { if (s > 1) throw std::runtime_error(std::format("s is {}", s)); }
    catch (const std::exception &e) { s *= x[0] * (e.what()[0] == 's' ? 1 : 2); }
    std::string big;
    std::format_to(std::back_inserter(big), "{:>100}|{}", "abc", std::string_view("q"));
    return s * std::formatted_size("{}-{}", 12, n) + big.size() * x[1];
}
"""

LOCKED = """
#include <cmath>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <vector>
class results {
    mutable std::mutex m;
    std::recursive_mutex r;
    mutable std::shared_mutex s;
    std::vector<double> kept;
    double last = 0;
    std::exception_ptr failed;
public:
    void put(double v) {
        std::scoped_lock both(m, r);
        kept.push_back(v);
        last = v;
    }
    void fail() { failed = std::make_exception_ptr(3); }
    double sum() const {
        std::shared_lock shared(s);
        std::unique_lock own(m);
        double sum = 0;
        for (double v : kept) sum += std::sin(v);
        return failed ? sum * last : 0;
    }
};
double f(const double *x, int n) {
    results all;
    for (int i = 0; i < n; i++) all.put(x[i] * x[i]);
    all.fail();
    return all.sum();
}
"""

LIBRARIES = ("libstdc++", "libc++")
SOURCES = {
    "locked": LOCKED,
    "kept_exceptions": KEPT_EXCEPTIONS, "resources": RESOURCES, "resource_of_nodes": RESOURCE_OF_NODES,
    "resource_chosen": RESOURCE_CHOSEN, "resource_in_place": RESOURCE_IN_PLACE,
}  # fmt: skip


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
    wanted = differences(f, X)
    assert np.abs(wanted).max() > 0.01
    assert np.allclose(llgrad.grad(f)(X, len(X)), wanted, rtol=1e-8, atol=1e-9)
    tangents = [llgrad.jvp(f)(X, len(X), tangents=t)[1] for t in np.eye(len(X))]
    assert np.allclose(tangents, wanted, rtol=1e-8, atol=1e-9)


def formatting(folder: Path, source: str, name: str = "f.cpp") -> Any:
    """`f` of a source that uses <format>, which libstdc++ has from its version 13 on only."""
    if not has_libcxx():
        pytest.skip("no libc++ (Debian: libc++-22-dev)")
    path = folder / name
    path.write_text(source)
    return llgrad.load(path, flags=["-std=c++23", "-stdlib=libc++"]).f


def test_formats(tmp_path: Path) -> None:
    f = formatting(tmp_path, FORMATS)
    wanted = differences(f, X)
    assert np.allclose(llgrad.grad(f)(X, len(X)), wanted, rtol=1e-8, atol=1e-9)
    assert np.allclose(llgrad.jvp(f)(X, len(X), tangents=X)[1], wanted @ X, rtol=1e-8)


BACK = {
    "string": 'std::string t = std::format("{}", x * x); return std::stod(t);',
    "letters": 'char t[64] = {}; std::format_to(t, "{} {}", x * x, 3); return std::strtod(t, nullptr);',
    "digits": 'std::string t; std::format_to(std::back_inserter(t), "{:.0f}", x * 1000);'
    "double s = 0; for (char c : t) s = s * 10 + (c - '0'); return s;",
    "file": 'FILE *o = std::fopen("o.txt", "w"); std::print(o, "{}", x * x); std::fclose(o);'
    'double v = 0; o = std::fopen("o.txt", "r"); std::fscanf(o, "%lf", &v); std::fclose(o); return v;',
}


@pytest.mark.parametrize("name", BACK)
def test_formatted_numbers_that_come_back(name: str, tmp_path: Path) -> None:
    head = "#include <cstdio>\n#include <cstdlib>\n#include <format>\n#include <print>\n#include <string>\n"
    f = formatting(tmp_path, f"{head}double f(double x) {{ {BACK[name]} }}\n")
    with pytest.raises(UnsupportedError, match="a number is read from text"):
        llgrad.grad(f)(1.25)


def test_formatters_that_change_floats(tmp_path: Path) -> None:
    f = formatting(
        tmp_path,
        """
#include <format>
#include <string>
struct point { double a; mutable double b = 1; };
template <> struct std::formatter<point> : std::formatter<double> {
    auto format(const point &p, std::format_context &c) const {
        p.b = p.a * p.a;
        return std::formatter<double>::format(p.b, c);
    }
};
double f(double x) { point p{x}; std::string t = std::format("{}", p); return p.b * (t.empty() ? 1 : 2); }
""",
    )
    with pytest.raises(UnsupportedError):
        llgrad.grad(f)(1.25)


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
