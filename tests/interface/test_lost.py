"""Buffers of the caller's that a function replaces by its own: adjoints that nobody could find are an error."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_selfcheck import flags

from llgrad.drivers import drive

LEVELS = pytest.mark.parametrize("level", [["-O2"], ["-O0", "--level", "0"]], ids=["O2", "O0"])
C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern int enzyme_dup;
void __enzyme_autodiff(void *, ...);
typedef struct { double *data; int n, room; } vector;
__attribute__((noinline)) static void push(vector *v, double x) {
    if (v->n == v->room) {
        v->room *= 2;
        %s
    }
    v->data[v->n++] = x;
}
static double f(vector *v) {
    push(v, v->data[0] * v->data[1]);
    double sum = 0;
    for (int i = 0; i < v->n; i++) sum += v->data[i] * v->data[i];
    return sum;
}
static vector made(double a, double b) {
    vector v = {calloc(%d, sizeof(double)), 2, %d};
    v.data[0] = a, v.data[1] = b;
    return v;
}
int main(void) {
    vector v = made(2, 3), d = made(0, 0);
    __enzyme_autodiff((void *)f, enzyme_dup, &v, &d);
    printf("%%g %%g\\n", d.data[0], d.data[1]);
}
"""
REALLOC = "v->data = realloc(v->data, v->room * sizeof(double));"
MALLOC = """double *bigger = malloc(v->room * sizeof(double));
        memcpy(bigger, v->data, v->n * sizeof(double));
        free(v->data);
        v->data = bigger;"""
CXX = """
#include <cmath>
#include <cstdio>
#include <vector>
extern int enzyme_dup, enzyme_const;
void __enzyme_autodiff(void *, ...);
using vec = std::vector<double>;
struct work { vec scratch; };
%s
"""
GROWS = """
static double f(%s v) {
    v.push_back(v[0] * v[1]);
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}
static double g(vec *v) { return f(*v); }
int main() {
    vec v{2, 3}, d{0, 0};
    if (%d) v.reserve(8), d.resize(8), d.resize(2);  // the shadow of what is to come is zero
    __enzyme_autodiff((void *)g, enzyme_dup, &v, &d);
    printf("%%g %%g\\n", d[0], d[1]);
}
"""
# What the caller seeded lay in memory that is gone; another result is written in place.
MOVED = """
static vec squares(const vec &x) {
    vec y;
    for (double e : x) y.push_back(e * e);
    return y;
}
static void f(const vec *x, vec *y, double *sum) {
    *y = squares(*x);
    *sum = (*y)[0] + (*y)[1];
}
int main() {
    vec x{2, 3}, dx{0, 0}, y{0, 0}, dy{%s};
    double sum = 0, dsum = 1;
    __enzyme_autodiff((void *)f, enzyme_dup, &x, &dx, enzyme_dup, &y, &dy, enzyme_dup, &sum, &dsum);
    printf("%%g %%g\\n", dx[0], dx[1]);
}
"""
# Of a buffer that is outgrown, nobody has looked at the contents.
SCRATCH = """
static double f(const double *x, work *w) {
    w->scratch.assign(100, 0.0);
    for (int i = 0; i < 100; i++) w->scratch[i] = x[i % 2] * i;
    double sum = 0;
    for (double e : w->scratch) sum += e * e;
    return sum / 328350 * 2;
}
int main() {
    double x[] = {2, 3}, dx[] = {0, 0};
    work w{{1, 2, 3}}, dw{{0, 0, 0}};
    __enzyme_autodiff((void *)f, enzyme_dup, x, dx, enzyme_dup, &w, &dw);
    printf("%d\\n", dx[0] > 3 && dx[0] < 4.1 && dx[1] > 5.9 && dx[1] < 6.2);
}
"""


def run(tmp_path: Path, text: str, name: str, level: list[str]) -> subprocess.CompletedProcess[str]:
    source, program = tmp_path / name, tmp_path / "program"
    source.write_text(text)
    cxx = name.endswith("cpp")
    assert drive([*level, *(flags(source) if cxx else []), "-w", str(source), "-o", str(program)], cxx=cxx) == 0
    return subprocess.run([program], capture_output=True, text=True)


LOST = {
    "realloc.c": C % (REALLOC, 2, 2),
    "malloc.c": C % (MALLOC, 2, 2),
    "vector.cpp": CXX % (GROWS % ("vec &", 0)),
    "moved.cpp": CXX % (MOVED % "1, 0"),
}
FOUND = {
    "room.c": (C % (REALLOC, 8, 8), "40 30"),
    "copy.cpp": (CXX % (GROWS % ("vec", 0)), "40 30"),
    "room.cpp": (CXX % (GROWS % ("vec &", 1)), "40 30"),
    "moved.cpp": (CXX % (MOVED % "0, 0"), "4 6"),
    "scratch.cpp": (CXX % SCRATCH, "1"),
}


@LEVELS
@pytest.mark.parametrize("name", LOST)
def test_what_nobody_could_find_is_an_error(name: str, level: list[str], tmp_path: Path) -> None:
    done = run(tmp_path, LOST[name], name, level)
    assert done.returncode < 0 and "released and replaced" in done.stderr, done.stdout


@LEVELS
@pytest.mark.parametrize("name", FOUND)
def test_ways_out(name: str, level: list[str], tmp_path: Path) -> None:
    text, wanted = FOUND[name]
    done = run(tmp_path, text, name, level)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == wanted.split()
