"""A work array that a function of one file hands out to others: its block is its own in an executable."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llgrad.drivers import drive

WORK = """
#include <stdlib.h>
static double *buffer;
static int room;
double *workspace(int n) {
    if (n > room) buffer = realloc(buffer, (room = n) * sizeof *buffer);
    return buffer;
}
"""
MAIN = """
#include <stdio.h>
extern double __enzyme_autodiff(void *, ...);
extern int enzyme_dup, enzyme_const;
double *workspace(int);
double *other;
double f(const double *x, int n) {
    double *w = workspace(n), sum = 0;
    for (int i = 0; i < n; i++) w[i] = x[i] * x[i];
    for (int i = 0; i < n; i++) sum += w[i] * AGAIN[(i + 1) % n];
    return sum;
}
int main(void) {
    double x[4] = {1, 2, 3, 4}, d[4] = {0};
    MORE
    for (int n = 2; n < 5; n++) __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, n);
    printf("%g %g\\n", d[0], d[3]);
}
"""
WANTED = "82 80"  # 16 + 26 + 40, and 80


def link(folder: Path, words: list[str], more: str = "", again: str = "w") -> int:
    for name, text in {"work.c": WORK, "main.c": MAIN.replace("MORE", more).replace("AGAIN", again)}.items():
        (folder / name).write_text(text)
    return drive([*words, str(folder / "main.c"), "-w", "-o", str(folder / "f"), "-lm"], cxx=False)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_in_an_executable(level: str, tmp_path: Path) -> None:
    assert link(tmp_path, [level, str(tmp_path / "work.c")]) == 0
    done = subprocess.run([tmp_path / "f"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == WANTED


def test_in_a_library_others_may_have_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert link(tmp_path, ["-shared", "-fPIC", str(tmp_path / "work.c")]) != 0
    assert "needs a shadow and cannot have one" in capfd.readouterr().err


@pytest.mark.parametrize("again", ["w", "other"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_another_pointer_to_it(level: str, again: str, tmp_path: Path) -> None:
    assert link(tmp_path, [level, str(tmp_path / "work.c")], "other = workspace(4);", again) == 0
    done = subprocess.run([tmp_path / "f"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == WANTED


def test_another_pointer_to_it_in_a_library(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["-O1", "-shared", "-fPIC", str(tmp_path / "work.c")]
    assert link(tmp_path, words, "other = workspace(4);") != 0
    assert "needs a shadow and cannot have one" in capfd.readouterr().err
