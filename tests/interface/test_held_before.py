"""Pointers that variables were given before a derivative was asked for, to memory that is active in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llgrad.drivers import drive

UNOPTIMISED = ["-O0", "--level", "0"]
LEVELS = pytest.mark.parametrize("level", [["-O2"], UNOPTIMISED], ids=["O2", "O0"])
HEAD = """
#include <stdio.h>
#include <stdlib.h>
extern double __enzyme_autodiff(void *, ...);
extern double __enzyme_fwddiff(void *, ...);
extern int enzyme_dup;
"""
MAIN = """
int main(void) {
    double x[4] = {1, 2, 3, 4}, d[4] = {0};
    %(before)s
    %(ask)s
    printf("%%g\\n", %(shown)s);
}
"""
REVERSE = "__enzyme_autodiff((void *)f, enzyme_dup, x, d);", "d[0]"
FORWARD = "d[0] = 1; d[1] = __enzyme_fwddiff((void *)f, enzyme_dup, x, d);", "d[1]"
WAYS = pytest.mark.parametrize(("mode", "level"), [
    pytest.param(REVERSE, ["-O2"], id="reverse-O2"),
    pytest.param(FORWARD, UNOPTIMISED, id="forward-O0"),
    pytest.param(REVERSE, UNOPTIMISED, id="reverse-O0", marks=pytest.mark.full),
    pytest.param(FORWARD, ["-O2"], id="forward-O2", marks=pytest.mark.full),
])  # fmt: skip
BUFFERS = """
static double a[4], b[4];
static double *now, *next;
static void step(void) {
    for (int i = 0; i < 4; i++) next[i] = now[i] * now[(i + 1) % 4];
    double *t = now; now = next; next = t;
}
static double f(const double *x) {
    SET
    for (int i = 0; i < 4; i++) a[i] = x[i];
    step(); step();
    return now[0];
}
"""
UNKNOWN = '(getenv("none") == NULL)'
VARIABLE = "double grid[4], more[4]; double *p; double f(const double *x) { grid[1] = x[0] * x[0]; return p[0] * 3; }"
BEHIND = "static double grid[4], more[4]; double *p; double f(const double *x) { p[0] = x[0]; return grid[1] * 3; }"
OWN = """
static double *kept(void) { static double *w; if (!w) w = malloc(32); return w; }
static double *other;
double f(const double *x) { kept()[0] = x[0] * x[0]; return other[0] * 3; }
"""
FILE = """
static double *work, *other;
__attribute__((noinline)) static void keep(double *p) { other = p; }
double f(const double *x) { work[0] = x[0] * x[0]; return other[0] * 3; }
"""
SHARED = """
static double *now, *next;
double f(const double *x) {
    now[0] = x[0];
    next[0] = now[0] * (next == now + 1 ? 0 : 1);
    double *t = now;
    now = next;
    next = t;
    return now[0];
}
"""
OF_THREAD = """
static _Thread_local double *work, buffer[4];
double f(const double *x) { work[0] = x[0] * x[0]; return buffer[0] * 3; }
"""
TABLE = "static double *t; double f(const double *x) { return t[0] * x[0] * x[0]; }"


BEHIND_ANOTHER = """
struct model { double *p; };
static struct model *m;
static double *work;
double f(const double *x) { work[0] = x[0] * x[0]; return m->p[0] * 3; }
"""


def run(source: str, before: str, mode: tuple[str, str], level: list[str], folder: Path) -> tuple[str, str]:
    file, program = folder / "f.c", folder / "f"
    file.write_text(HEAD + source + MAIN % {"before": before, "ask": mode[0], "shown": mode[1]})
    assert drive([*level, "-w", str(file), "-o", str(program), "-lm"], cxx=False) == 0
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip(), done.stderr


@WAYS
@pytest.mark.parametrize(("source", "before"), [
    (BUFFERS.replace("SET", ""), f"now = a + {UNKNOWN} - 1; next = b;"),
    (VARIABLE, f"p = ({UNKNOWN} ? grid : more) + {UNKNOWN};"),
    (BEHIND, f"p = ({UNKNOWN} ? grid : more) + {UNKNOWN};"),
    (FILE, "work = malloc(8); keep(work);"),
    (TABLE, "t = x;"),
    (OF_THREAD, "work = buffer;"),
    (TABLE.replace("static", "_Thread_local"), "t = x;"),
], ids=["buffers", "variable", "behind", "file", "argument", "thread", "threads_argument"])  # fmt: skip
def test_they_are_an_error(source: str, before: str, mode: tuple[str, str], level: list[str], tmp_path: Path) -> None:
    printed, said = run(source, before, mode, level, tmp_path)
    assert (printed, "a variable held a pointer to memory that is active" in said) == ("", True)


@WAYS
@pytest.mark.parametrize(("source", "before", "expected"), [
    (BUFFERS.replace("SET", ""), "now = a; next = b;", "12"),
    (BUFFERS.replace("SET", ""), "now = b; next = a; if (x[3] > 2) { next = b; now = a; }", "12"),
    (BUFFERS.replace("SET", "").replace("static ", ""), "now = a; next = b; f(x);", "12"),
    (VARIABLE, "p = grid + 1;", "6"),
    (BEHIND, "p = grid + 1;", "3"),
    (VARIABLE, f"p = grid + {UNKNOWN};", "6"),
    (BEHIND, f"p = grid + {UNKNOWN};", "3"),
    (OWN, "other = kept();", "6"),
    (SHARED, "now = next = malloc(32);", "1"),
    (SHARED, "now = malloc(32); next = now + 1;", "0"),
    (SHARED, "now = malloc(32); next = malloc(32);", "1"),
    (SHARED.replace("static ", ""), "now = malloc(32); next = malloc(32);", "1"),
], ids=["buffers", "chosen", "visible", "variable", "behind", "computed", "written", "own", "same", "inner", "two",
        "all"])  # fmt: skip
def test_what_the_whole_program_tells(
    source: str, before: str, expected: str, mode: tuple[str, str], level: list[str], tmp_path: Path
) -> None:
    """Addresses of variables alone are stored there, or blocks that nothing else leads to."""
    assert run(source, before, mode, level, tmp_path) == (expected, "")


@LEVELS
def test_behind_another_pointer(level: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nobody can test what lies there: what is written may be read."""
    file = tmp_path / "f.c"
    before = "struct model a = {work = malloc(8)}; m = &a;"
    file.write_text(HEAD + BEHIND_ANOTHER + MAIN % {"before": before, "ask": REVERSE[0], "shown": REVERSE[1]})
    assert drive([*level, "-w", str(file), "-o", str(tmp_path / "f"), "-lm"], cxx=False) != 0
    assert "may be read from contents" in capfd.readouterr().err


@WAYS
@pytest.mark.parametrize(("source", "before", "wanted"), [
    (BUFFERS.replace("SET", "now = a; next = b;"), "", "12"),  # x0 x1 · x1 x2: 2 · 2 · 3
    (VARIABLE, "double c[1] = {5}; p = c;", "0"),
    (BEHIND, "p = x + 2;", "0"),
    (OWN, "other = x + 1;", "0"),
    (TABLE, "double c[1] = {5}; t = c;", "10"),
    (TABLE, f"double c[1] = {{5}}; t = c; {REVERSE[0]} d[0] = 0;", "10"),
    (OF_THREAD, "double c[1]; work = c;", "0"),
    (TABLE.replace("static", "_Thread_local"), "double c[1] = {5}; t = c;", "10"),
], ids=["buffers", "variable", "behind", "own", "table", "again", "thread", "threads_table"])  # fmt: skip
def test_others_are_not(
    source: str, before: str, wanted: str, mode: tuple[str, str], level: list[str], tmp_path: Path
) -> None:
    assert run(source, before, mode, level, tmp_path) == (wanted, "")
