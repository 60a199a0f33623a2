"""Programs that check themselves, with flags that change what clang writes, by `llgrad cc` and `llgrad opt`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from llgrad.cli import main
from llgrad.drivers import drive
from llgrad.frontends import find_compiler

PROGRAMS = Path(__file__).parents[1] / "programs"

SECOND = """
static void gradient(const double *x, double *d, int n)
{
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, n);
}
int main(void)
{
    double x[5], t[5] = {0.5, 1, -2, 0.25, 3}, d[5] = {0}, dd[5] = {0}, up[5] = {0}, down[5] = {0};
    CHECK_GRADIENT(f, 5);
    sample(x, 5);
    __enzyme_fwddiff_void((void *)gradient, enzyme_dup, x, t, enzyme_dup, d, dd, enzyme_const, 5);
    for (int i = 0; i < 5; i++)
        x[i] += 1e-5 * t[i];
    gradient(x, up, 5);
    for (int i = 0; i < 5; i++)
        x[i] -= 2e-5 * t[i];
    gradient(x, down, 5);
    for (int i = 0; i < 5; i++)
        expect_within("second", i, dd[i], (up[i] - down[i]) / 2e-5, 1e-6);
    return failures();
}
"""

COPIES = """
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), s = 0;
    for (int i = 0; i < n; i++)
        a[i] = x[i] * x[i];
    double *c = memcpy(b, a, n * sizeof *b);
    double *d = memmove(b + 1, b, (n - 1) * sizeof *b);
    memset(a, 0, n * sizeof *a);
    for (int i = 0; i < n; i++)
        s += c[i] * (i + 1) + d[0] * (1 + a[i]);
    free(a);
    free(b);
    return s;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
"""

# A table of strings that LLVM makes one of distances, for memory that holds floats, too.
TABLE = (
    """
#include "selfcheck.h"
struct atom { char name[4]; int z; double mass, charge; };
struct all { struct atom at[8]; int n; char title[20]; };
static void add(struct all *s, const char *name, int z, double m, double q)
{
    struct atom *a = &s->at[s->n++];
    strcpy(a->name, name);
    a->z = z;
    a->mass = m;
    a->charge = q;
}
static double f(const double *x, int n)
{
    static const char *names[] = {"O", "H", "C", "He", "Ar"};
    struct all s;
    double e = 0;
    memset(&s, 0, sizeof s);
    for (int i = 0; i < n; i++)
        add(&s, names[i % 5], i, x[i], x[(i + 2) % n]);
    struct all t = s;
    for (int i = 0; i < t.n; i++)
        e += t.at[i].charge * t.at[i].mass * t.at[i].mass * (t.at[i].name[0] == 'H' ? 2 : 1);
    return e;
}
"""
    + SECOND
)

# The same of arrays of numbers.
ARRAYS = """
#include "selfcheck.h"
static const double one[] = {1, 2, 3}, two[] = {0.5, 0.25, 0.125}, three[] = {3, 1, 4};
static const double *const all[] = {one, two, three};
__attribute__((noinline)) static double weight(double v, int i) { return v * v * all[i % 3][i / 3 % 3]; }
static double f(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += weight(x[i], 4 * x[i]);
    return s;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
"""

STATE = (
    """
#include "selfcheck.h"
static double kept[8];
static int used;
static void add(double v) { kept[used++] = v * v; }
static double f(const double *x, int n)
{
    double s = 0;
    used = 0;
    for (int i = 0; i < n; i++)
        add(x[i]);
    for (int i = 0; i < used; i++)
        s += s * kept[i] + kept[i];
    return s;
}
"""
    + SECOND
)

# program, way, flags; for `llgrad opt` clang optimises first, as it does without llgrad.
CASES = {
    "copies that are calls": (COPIES, "cc", "-O2 -fno-builtin"),
    "copies that are calls, optimised": (COPIES, "opt", "-O2 -fno-builtin"),
    "strings in a table": (TABLE, "cc", "-O2"),
    "arrays in a table": (ARRAYS, "opt", "-O2"),
    "strict, twice": (STATE, "opt", "-O2 -ffp-exception-behavior=strict"),
    "hooks": (STATE, "opt", "-O2 -finstrument-functions"),
    "coverage by guards": (STATE, "opt", "-O1 -fsanitize-coverage=trace-pc-guard,trace-cmp"),
    "profile": (STATE, "cc", "-O2 -fprofile-instr-generate -fcoverage-mapping"),
    "profile, optimised": (STATE, "opt", "-O2 -fprofile-instr-generate"),
}


@pytest.mark.parametrize(("source", "way", "flags"), CASES.values(), ids=CASES)
def test_flags(source: str, way: str, flags: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, program = tmp_path / "program.c", tmp_path / "program"
    path.write_text(source)
    words = [*flags.split(), "-w", "-I", str(PROGRAMS)]
    if way == "cc":
        assert drive([*words, str(path), "-o", str(program), "-lm"], cxx=False) == 0, capfd.readouterr().err
    else:
        before, after = program.with_suffix(".ll"), program.with_suffix(".derived.ll")
        compiler = [*find_compiler().c, *find_compiler().flags]
        subprocess.run([*compiler, *words, "-S", "-emit-llvm", str(path), "-o", str(before)], check=True)
        done = CliRunner().invoke(main, ["opt", str(before), "-o", str(after), "-O1"], catch_exceptions=False)
        assert not done.exit_code, done.stderr
        subprocess.run([*compiler, *words, str(after), "-o", str(program), "-lm"], check=True)
    ran = subprocess.run([program], capture_output=True, text=True, timeout=20, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
