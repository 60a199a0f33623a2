"""Results in memory that the function allocates, and moves into the caller's container: no adjoint can get there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_selfcheck import flags

from llgrad.drivers import drive

PROGRAM = """
#include <stdio.h>
#include <algorithm>
#include <vector>
extern int enzyme_dup;
extern "C" void __enzyme_autodiff_void(void *, ...);
extern "C" void *__enzyme_augmentfwd_void(void *, ...);
extern "C" void __enzyme_reverse_void(void *, ...);
using Numbers = std::vector<double>;
static Numbers squares(const Numbers &x) { Numbers y; for (double v : x) y.push_back(v * v); return y; }
static void f(const Numbers *x, Numbers *y) { %s }
int main()
{
    Numbers x{1, 2}, dx{0, 0}, y{0, 0}, dy{1, 1};
    %s
    printf("%%g %%g\\n", dx[0], dx[1]);
}
"""
MOVED, COPIED = "*y = squares(*x);", "auto z = squares(*x); std::copy(z.begin(), z.end(), y->begin());"
AT_ONCE = "__enzyme_autodiff_void((void *)f, enzyme_dup, &x, &dx, enzyme_dup, &y, &dy);"
APART = """
    void *tape = __enzyme_augmentfwd_void((void *)f, enzyme_dup, &x, &dx, enzyme_dup, &y, &dy);
    dy[0] = dy[1] = 1;
    __enzyme_reverse_void((void *)f, enzyme_dup, &x, &dx, enzyme_dup, &y, &dy, tape);"""


LEVELS = pytest.mark.parametrize("level", [["-O2"], ["-O0", "--level", "0"]], ids=["O2", "O0"])


def built(tmp_path: Path, body: str, asked: str, level: list[str]) -> tuple[int, Path]:
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(PROGRAM % (body, asked))
    return drive([*level, *flags(source), "-w", str(source), "-o", str(program)], cxx=True), program


@LEVELS
def test_what_moves_is_refused(level: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, _ = built(tmp_path, MOVED, AT_ONCE, level)
    assert status != 0 and "[seed]" in capfd.readouterr().err


@LEVELS
@pytest.mark.parametrize("body, asked", [(COPIED, AT_ONCE), (MOVED, APART)])
def test_ways_out(body: str, asked: str, level: list[str], tmp_path: Path) -> None:
    status, program = built(tmp_path, body, asked, level)
    assert status == 0
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "2 4\n"
