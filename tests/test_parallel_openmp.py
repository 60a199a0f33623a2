"""OpenMP's regions whose derivatives are parallel regions: `tests/parallel`, in one to four threads."""

from __future__ import annotations

import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from sanitizers import available, sanitized

import llgrad
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.drivers import drive
from llgrad.errors import LlgradWarning
from llgrad.frontends import find_compiler
from llgrad.frontends.c.clang import RAW_FLAGS
from llgrad.llvm.libraries import Libraries
from llgrad.programs.program import optimise_program, read_ir

FOLDER = Path(__file__).parent / "parallel"
pytestmark = pytest.mark.skipif(
    Libraries().address("__kmpc_fork_call") == 0, reason="LLVM's run-time library of OpenMP is not installed"
)
LEVELS = {0: ["-O0", "--level", "0"], 2: ["-O2"]}


def built(source: Path, program: Path, *flags: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LlgradWarning)
        assert drive([*flags, "-fopenmp", str(source), "-o", str(program), "-lm"], cxx=False) == 0


def ran(program: Path, threads: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    setting = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_SCHEDULE": "dynamic,2", "OMP_WAIT_POLICY": "passive"}
    return subprocess.run(
        [program, *arguments], env=setting, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip


@pytest.mark.parametrize("backwards", [[], ["-DBACKWARDS"]], ids=["forward", "reverse"])
@pytest.mark.parametrize("level", [0, 2])
def test_loops_and_what_stands_beside_them(level: int, backwards: list[str], tmp_path: Path) -> None:
    built(FOLDER / "loops.c", program := tmp_path / "loops", *LEVELS[level], *backwards)
    for threads in (1, 2, 3, 4):
        done = ran(program, threads, "5")
        assert (done.returncode, done.stdout) == (0, ""), f"{threads} threads"


def test_threads_of_a_team_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(FOLDER / "asked_within.c", program := tmp_path / "asked", "-O2")
    for levels in ("1", "2"):
        monkeypatch.setenv("OMP_MAX_ACTIVE_LEVELS", levels)
        done = ran(program, 3)
        assert (done.returncode, done.stdout) == (0, "bad 0\n"), levels


def test_serial_is_serial(tmp_path: Path) -> None:
    """The programs see how many threads ran the derivative."""
    built(FOLDER / "loops.c", program := tmp_path / "loops", "-O2", "--serial")
    assert ran(program, 1).returncode == 0
    assert ran(program, 2, "1", "map").stdout == "map: threads[0] is 1, not 2\n"


@pytest.mark.parametrize(
    ("body", "why"),
    [("#pragma omp atomic\n s = s * x[i];", "atomic exchange"), ("#pragma omp task\n s += x[i];", "__kmpc_omp_task")],
)
def test_one_thread_is_told(body: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(f"""
double f(const double *x, int n)
{{
    double s = 1;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {{
        {body}
    }}
    return s;
}}
""")
    with pytest.warns(LlgradWarning, match=rf"(?s)f\.c:\d+.*f runs in one thread.*{why}"):
        llgrad.jvp(llgrad.load(path, flags=["-fopenmp"]).f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LlgradWarning)
        llgrad.jvp(llgrad.load(path, flags=["-fopenmp"], serial=True).f)


THREADS = """
#include <omp.h>
void f(int n, const double *x, double k, double *y, int *thread)
{
#pragma omp parallel for schedule(static) firstprivate(k) num_threads(2)
    for (int i = 0; i < n; i++) {
        y[i] = k * x[i] * x[i];
        thread[i] = omp_get_thread_num();
    }
}
"""


def test_from_python(tmp_path: Path) -> None:
    (path := tmp_path / "f.c").write_text(THREADS)
    forward = llgrad.jvp(llgrad.load(path, flags=["-fopenmp"]).f, wrt=("x", "k"), of="y")
    x, y, thread = np.linspace(1, 2, 10), np.zeros(10), np.full(10, -1, dtype=np.int32)
    library = llgrad.load(path, flags=["-fopenmp"])
    _, tangent = forward(10, x, 3.0, y, thread, tangents=(np.ones(10), 0.5))
    np.testing.assert_allclose(tangent, 6 * x + 0.5 * x * x)
    assert thread.tolist() == [0] * 5 + [1] * 5
    thread[:] = -1
    dx, dk = llgrad.vjp(library.f, wrt=("x", "k"), of="y")(10, x, 3.0, y, thread, seed=np.ones(10))[1]
    np.testing.assert_allclose(dx, 6 * x)
    assert dk == pytest.approx(np.sum(x * x)) and thread.tolist() == [0] * 5 + [1] * 5


ARCHER = next(iter(sorted(Path("/usr/lib").glob("llvm-*/lib/libarcher.so"), reverse=True)), None)


@pytest.mark.full
@pytest.mark.parametrize("way", ["forward", "reverse", "as if nothing was shared"])
def test_no_races(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ThreadSanitizer sees no race in derivatives; it does where adjoints are added without atomic operations."""
    if ARCHER is None or not available("thread"):
        pytest.skip("clang has no ThreadSanitizer, or libomp no archer")
    if way == "as if nothing was shared":
        monkeypatch.setattr(Facts, "adds_with_others", lambda *_: False)
    backwards = [] if way == "forward" else ["-DBACKWARDS"]
    clang = find_compiler().c
    first = [*RAW_FLAGS, "-g", "-fopenmp", "-c", "-emit-llvm", *backwards, str(FOLDER / "loops.c"), "-o"]
    subprocess.run([*clang, *first, str(raw := tmp_path / "loops.bc")], check=True)
    text = sanitized(optimise_program(read_ir(raw.read_bytes()), 1).text(), "thread")
    (made := tmp_path / "loops.ll").write_text(text)
    last = ["-w", "-O1", "-g", "-fsanitize=thread", "-fopenmp", str(made), "-o", str(program := tmp_path / "loops")]
    subprocess.run([*clang, *last, "-lm"], check=True)
    monkeypatch.setenv("OMP_TOOL_LIBRARIES", str(ARCHER))
    monkeypatch.setenv("TSAN_OPTIONS", "ignore_noninstrumented_modules=1")
    done = ran(program, 3, "2")
    assert ("WARNING: ThreadSanitizer" in done.stderr) == (way == "as if nothing was shared"), done.stderr[:2000]
