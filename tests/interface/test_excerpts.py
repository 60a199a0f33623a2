"""Large programs: derivatives are made from an excerpt, and what asked for them is put back
(`llgrad.programs.excerpt`).

The programs here are small; that they are taken for large ones is the tests' doing. They check themselves against
finite differences, through everything that the two parts of a program share: static variables, functions and text,
pointers to functions that the rest sets, inline functions, aliases, computed gotos, constructors, exceptions.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_selfcheck import HEAVY, NAMES, PROGRAMS, flags, needed, outcome, require_words

from llgrad.drivers.compiling import include_flags
from llgrad.frontends import find_compiler
from llgrad.llvm import LLVMModule
from llgrad.programs import excerpt, program

C = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
extern int enzyme_dup, enzyme_const, enzyme_out;
double __enzyme_autodiff(void *, ...);
void __enzyme_autodiff_void(void *, ...);
double __enzyme_fwddiff(void *, ...);

static double scale = 1.0, calls = 0.0;      /* the rest writes it, the function reads it; the other way round */
static const double table[] = {0.5, 0.25, 0.125};
static double (*activation)(double) = 0;     /* set by the rest */
static _Thread_local double local = 2.0;
static __attribute__((noinline)) double soft(double x) { return log(1.0 + exp(x)); }
static __attribute__((noinline)) double bent(double x) { return x > 0.0 ? x * x : -x; }
__attribute__((noinline)) void choose(int which) { activation = which ? soft : bent; }
static __attribute__((noinline)) void rescale(double by) { scale = scale * by + local; }
static const char *const words[] = {"none", "one"};
static __attribute__((noinline)) const char *word(int n) { return words[n & 1]; }

static double f(const double *x, int n)
{
    double sum = 0.0;
    calls += 1.0;
    for (int i = 0; i < n; i++) sum += activation(scale * x[i]) * table[i % 3] + local * x[i];
    return sum * sum;
}
__attribute__((noinline)) static void gradient(const double *x, double *dx, int n)  /* static, asked for by the rest */
{
    static int asked = 0;
    if (asked++ > 100) puts(word(n));
    rescale(0.5);
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, dx, enzyme_const, n);
}
double power(double x, double y) { return pow(x, y) * scale; }
double power_too(double x, double y) __attribute__((alias("power")));
double derivative_of_power(double x, double y)
{
#ifdef GOTO
    static void *const places[] = {&&first, &&second};
    goto *places[x > y];
first:
    return __enzyme_fwddiff((void *)power, enzyme_dup, x, 1.0, enzyme_const, y);
second:
#endif
    return __enzyme_autodiff((void *)power_too, enzyme_out, x, enzyme_const, y);
}
#ifdef ALIAS
double derivative_of_power_too(double x, double y) __attribute__((alias("derivative_of_power")));
#else
double derivative_of_power_too(double x, double y) { return derivative_of_power(x, y); }
#endif
static int wrong = 0;
static void compare(const char *what, double got, double expected)
{
    if (fabs(got - expected) <= 1e-5 * (1.0 + fabs(expected))) return;
    wrong++, printf("%s: %.15g, not %.15g\n", what, got, expected);
}
__attribute__((constructor)) static void first(void) { scale = 1.5; }

int main(int argc, char **argv)
{
    double x[5] = {0.3, -0.7, 1.1, 0.2, -0.1}, dx[5], h = 1e-6;
    void (*volatile way)(const double *, double *, int) = gradient;
    for (int round = 0; round < 4; round++) {
        choose(round % 2), local += 0.25;
        for (int i = 0; i < 5; i++) dx[i] = 0.0;
        if (round < 2) gradient(x, dx, 5); else way(x, dx, 5);
        for (int i = 0; i < 5; i++) {
            double kept = x[i], up, down;
            x[i] = kept + h, up = f(x, 5), x[i] = kept - h, down = f(x, 5), x[i] = kept;
            compare(word(round), dx[i], (up - down) / (2 * h));
        }
    }
    compare("power", derivative_of_power(1.5, 2.5), 2.5 * pow(1.5, 1.5) * scale);
    compare("power too", derivative_of_power_too(3.5, 2.5), 2.5 * pow(3.5, 1.5) * scale);
    compare("calls", calls, 4 * 11);
    return wrong;
}
"""

CPP = r"""
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
extern int enzyme_dup, enzyme_const, enzyme_out;
template <class R, class... T> R __enzyme_autodiff(void *, T...);
namespace {
struct Shape { virtual ~Shape() = default; virtual double area(double x) const = 0; };
struct Square : Shape { double area(double x) const override { return x * x; } };
struct Disc : Shape { double area(double x) const override { return 3.0 * std::sin(x) * x; } };
struct Unused : Shape { double area(double x) const override { throw std::logic_error("unused"); } };
std::unique_ptr<Shape> current;              // whose class the rest chooses
const std::string greeting = "a string with a constructor";
}
template <class S> void set() { current = std::make_unique<S>(); }
static double total(const double *x, int n)
{
    std::vector<double> areas;
    for (int i = 0; i < n; i++) areas.push_back(current->area(x[i]) * x[0]);
    double sum = 0.0;
    for (double a : areas) sum += a;
    if (sum > 1e6) throw std::runtime_error("too large");
    return sum;
}
template <int N> inline void gradient(const double *x, double *dx)      // an inline function that asks, in a group
{
    __enzyme_autodiff<void>((void *)total, enzyme_dup, x, dx, enzyme_const, N);
}
static double cube(double x) { return x * x * x; }
struct Asks {
    double of;
    __attribute__((noinline)) Asks(double x) : of(__enzyme_autodiff<double>((void *)cube, enzyme_out, x)) {}
};
int main()
{
    int wrong = 0;
    double x[3] = {0.5, 1.25, 2.0}, h = 1e-6;
    for (int round = 0; round < 3; round++) {
        round == 1 ? set<Square>() : set<Disc>();
        double dx[3] = {};
        gradient<3>(x, dx);
        for (int i = 0; i < 3; i++) {
            double kept = x[i];
            x[i] = kept + h; double up = total(x, 3);
            x[i] = kept - h; double down = total(x, 3);
            x[i] = kept;
            if (std::fabs((up - down) / (2 * h) - dx[i]) < 1e-5) continue;
            wrong++, std::printf("%d %d: %g\n", round, i, dx[i]);
        }
    }
    set<Square>();
    double far[3] = {1e3, 1e3, 1e3}, none[3] = {};
    try {
        gradient<3>(far, none);
        wrong++;
    } catch (const std::runtime_error &e) {
        wrong += std::string(e.what()) != "too large";
    }
    wrong += Asks(2.0).of != 12.0 || greeting.size() != 27;
    return wrong;
}
"""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Every program counts as large; whether excerpts were taken."""
    found: list[bool] = []

    def noted(text: str) -> program._Taken | None:
        made = real(text)
        found.append(made is not None)
        return made

    real = program._taken
    monkeypatch.setattr(excerpt, "_LEAST", 0)
    monkeypatch.setattr(excerpt, "_LARGEST", 1e9)
    monkeypatch.setattr(program, "_taken", noted)
    return found


def build(path: Path, level: int, folder: Path, *more: str) -> Path:
    """The program at `path`, by clang, `optimise_program` and clang again."""
    compiler, cxx = find_compiler(), path.suffix == ".cpp"
    raw = ["-O0"] if level == 0 else [f"-O{level}", "-Xclang", "-disable-llvm-passes"]
    before, after, made = folder / "before.ll", folder / "after.ll", folder / "program"
    words = [*(compiler.cxx if cxx else compiler.c), "-w"]
    include = [*include_flags(), *flags(path), *more]
    subprocess.run([*words, *raw, *include, "-S", "-emit-llvm", str(path), "-o", str(before)], check=True)
    text = program.optimise_program(program.read_ir(before.read_bytes()), level, "x86-64", before=level).text()
    assert not re.search(r"@\S*__enzyme", text)
    after.write_text(text)
    subprocess.run([*words, f"-O{level}", str(after), "-o", str(made), *needed(path), "-lm"], check=True)
    return made


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("way", ["shared.c", "goto.c", "alias.c", "shared.cpp"])
def test_shared(way: str, level: int, tmp_path: Path, taken: list[bool]) -> None:
    path = tmp_path / way
    path.write_text(CPP if path.suffix == ".cpp" else C)
    more = (*(["-g"] if level == 0 else []), f"-D{path.stem.upper()}")
    assert not outcome(build(path, level, tmp_path, *more))
    assert taken == [path.stem == "shared"]


SAMPLE = (
    "computed_goto.c", "cpp_dynamic_cast.cpp", "cpp_exception.cpp", "custom_gradient.c", "function_pointer_variables.c",
    "header_gradient.cpp", "header_split.cpp", "openmp_sweeps.c", "shadow_of_global_pointer.c",
    "static_local.c", "tables_of_operations.c", "thread_local_scratch.c",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SAMPLE else pytest.mark.full) for n in NAMES if n not in HEAVY]
)
def test_programs(name: str, tmp_path: Path, taken: list[bool]) -> None:
    """The self-checking programs, whatever of them may be taken apart."""
    require_words(PROGRAMS / name)
    level = 0 if name.endswith(".cpp") else 2
    assert not outcome(build(PROGRAMS / name, level, tmp_path, "-g"))


def test_excerpt_is_small(tmp_path: Path) -> None:
    """It holds what derivatives are made from, and declares what askers call for other reasons."""
    path = tmp_path / "many.c"
    others = "".join(
        f"static int other{n}(int *p) {{ int s = {n}; for (int i = 0; i < {n + 3}; i++) s += p[i] * s; return s; }}\n"
        f"int caller{n}(int *p) {{ return other{n}(p) + other{n}(p + 1); }}\n" for n in range(600)
    )  # fmt: skip
    path.write_text(
        "double __enzyme_autodiff(void *, ...);\n"
        f"{others}double inner(double x) {{ return x * x; }}\ndouble f(double x) {{ return inner(x) * x; }}\n"
        "double df(double x, int *p) { return __enzyme_autodiff((void *)f, x) + caller7(p); }\n"
    )
    compiler = find_compiler()
    raw = tmp_path / "many.ll"
    subprocess.run([*compiler.c, "-w", "-O0", "-S", "-emit-llvm", str(path), "-o", str(raw)], check=True)
    whole = excerpt.read(LLVMModule.read(raw.read_bytes()).text())
    text = excerpt.excerpt(whole)
    assert text is not None
    part = LLVMModule.from_text(text).functions()
    assert {f.name for f in part if not f.is_declaration} == {"inner", "f", "df"}
    assert {f.name for f in part if f.is_declaration} == {"__enzyme_autodiff", "caller7"}
