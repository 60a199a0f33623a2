"""A work array that a function of one file hands out to others: its block is its own in an executable."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from sandbox import isolated

import llgrad
from llgrad.drivers import drive

WORK = """
#include <stdlib.h>
double *buffer;
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
PEEK = "double *workspace(int); double *peek(void) { return workspace(4); }"
TWICE = "double twice(double x) { return 2 * x; }"
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


SUFFIX = f"{PEEK} double another_workspace(int n) {{ return n; }}"  # of which the linker makes one string


@pytest.mark.parametrize(("library", "known"), [(PEEK, True), (SUFFIX, True), (TWICE, False)],
                         ids=["calls_back", "suffix", "does_not"])
def test_beside_a_shared_library(library: str, known: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One that calls a function of the executable's by its name may have the work array."""
    (tmp_path / "beside.c").write_text(library)
    beside = tmp_path / "libbeside.so"
    assert drive(["-shared", "-fPIC", "-Wl,-O2", str(tmp_path / "beside.c"), "-o", str(beside)], cxx=False) == 0
    words = ["-O1", str(tmp_path / "work.c"), f"-L{tmp_path}", "-lbeside", f"-Wl,-rpath,{tmp_path}"]
    assert (link(tmp_path, words) != 0) is known
    assert ("needs a shadow and cannot have one" in capfd.readouterr().err) is known
    if not known:
        done = subprocess.run([tmp_path / "f"], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.strip() == WANTED


@pytest.mark.parametrize(("word", "refused"), [("-rdynamic", True), ("-Wl,-rpath,/,--export-dynamic", True),
                                               ("-fcommon", False), ("-flto", False)])  # fmt: skip
def test_words(word: str, refused: bool, tmp_path: Path) -> None:
    """What opens may call by name what is exported."""
    assert (link(tmp_path, ["-O1", str(tmp_path / "work.c"), word]) != 0) is refused


THREADS = """
#include <cstdio>
#include <thread>
#include <vector>
extern "C" double __enzyme_autodiff(void *, ...);
extern int enzyme_dup, enzyme_const;
thread_local std::vector<double> scratch;
double *shared;
static double f(const double *x, int n) {
    scratch.assign(x, x + n);
    double sum = 0;
    for (int i = 0; i < n; i++) scratch[i] *= x[i];
    for (int i = 0; i < n; i++) sum += scratch[i] * READ[(i + 1) % n];
    return sum;
}
static void ask() {
    double x[4] = {1, 2, 3, 4}, d[4] = {0};
    for (int n = 2; n < 5; n++) __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, n);
    std::printf("%g %g\\n", d[0], d[3]);
}
int main() {
    ask();
    shared = scratch.data();
    std::thread(ask).join();
    ask();
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_of_each_thread(level: str, tmp_path: Path) -> None:
    """A variable of each thread's own, which other units could name, in two threads one after the other."""
    file, program = tmp_path / "f.cpp", tmp_path / "f"
    file.write_text(THREADS.replace("READ", "scratch"))
    assert drive([level, str(file), "-w", "-pthread", "-o", str(program)], cxx=True) == 0
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split("\n") == [WANTED, WANTED, WANTED, ""]


def test_of_each_thread_in_c(tmp_path: Path) -> None:
    work = WORK.replace("double *buffer", "_Thread_local double *buffer")
    work = work.replace("static int", "static _Thread_local int")
    assert work.count("_Thread_local") == 2
    file = tmp_path / "threads.c"
    file.write_text(work + MAIN.replace("MORE", "").replace("AGAIN", "w"))
    assert drive(["-O1", str(file), "-w", "-o", str(tmp_path / "f")], cxx=False) == 0
    done = subprocess.run([tmp_path / "f"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == WANTED


SINGLE = """
#include <cstdio>
#include <vector>
extern "C" double __enzyme_autodiff(void *, ...);
extern int enzyme_dup, enzyme_const;
class Work {
    std::vector<double> squares;
  public:
    static Work &one() { static Work work; return work; }
    double sum(const double *x, int n) {
        squares.resize(n);
        double sum = 0;
        for (int i = 0; i < n; i++) squares[i] = x[i] * x[i];
        for (int i = 0; i < n; i++) sum += squares[i] * squares[(i + 1) % n];
        return sum;
    }
};
static double f(const double *x, int n) { return Work::one().sum(x, n); }
int main() {
    double x[4] = {1, 2, 3, 4}, d[4] = {0};
    for (int n = 2; n < 5; n++) __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, n);
    std::printf("%g %g\\n", d[0], d[3]);
}
"""


def test_one_object_of_a_class(tmp_path: Path) -> None:
    """The variable is of an inline function: other units have it, too, and are all there."""
    file, program = tmp_path / "f.cpp", tmp_path / "f"
    file.write_text(SINGLE)
    assert drive(["-O1", str(file), "-w", "-o", str(program)], cxx=True) == 0
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == WANTED


RELEASED = """
#include <stdlib.h>
static double *work;
static int ready;
void release(void) { free(work); ready = 0; }
double f(const double *x, int n) {
    if (!ready) { work = malloc(400000 * sizeof *work); ready = 1; }
    double sum = 0;
    for (int i = 0; i < n; i++) work[i] = x[i] * x[i];
    for (int i = 0; i < n; i++) sum += work[i] * work[(i + 1) % n];
    return sum;
}
"""


def test_released_from_python(tmp_path: Path) -> None:
    """The block is so large that nothing is mapped there afterwards."""
    file = tmp_path / "f.c"
    file.write_text(RELEASED)

    def gradients() -> list[list[float]]:
        library, found = llgrad.load(file), []
        for _ in range(3):
            found.append(llgrad.grad(library.f)(np.array([1.0, 2.0, 3.0, 4.0]), 4).tolist())
            library.release()
        return found

    assert isolated(gradients) == [[40.0, 40.0, 120.0, 80.0]] * 3
