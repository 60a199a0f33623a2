"""Derivatives under valgrind: no access out of bounds, nothing uninitialised that matters, no leaked tape or shadow.

The way of a user's program: clang writes IR that is not optimised yet, `llgrad opt` replaces the calls, clang links.
Every block of the tape is a malloc (LLGRAD_ARENA), so that valgrind sees its bounds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import FOLDER, Program, read_program
from full.drivers import driver
from sanitizers import MISTAKES, with_mistake
from test_selfcheck import PROGRAMS, REFUSED, flags, needed

import llgrad
from llgrad.drivers.compiling import INCLUDE
from llgrad.frontends import find_compiler

CPU = "x86-64-v2"  # valgrind 3.19 knows neither AVX-512 nor all of DWARF 5
FOUND = 9  # valgrind's exit status where it found something
SAMPLE = """
aliasing_shifted array_of_structs binary_tree calloc_scratch cubic_spline data_dependent_while explicit_stack
fft_recursive free_in_branch global_scratch_call heat_two_buffers in_place_stencil linked_list linked_list_in_place
local_array_in_loop local_pointer_array loop_break malloc_failure_test malloc_in_loop malloc_struct_mixed
memcpy_partial memmove_overlap memset_clear multi_exit_loop nested_while newton_convergence noinline_allocates
noinline_in_loop noinline_returns_pointer noinline_swap ode_adaptive pointer_to_pointer quicksort recursion_tree_sum
row_pointers_argument soft_alignment struct_copy struct_mixed struct_with_pointers switch_in_loop triangular_nest
two_dimensional_array variable_length_array zero_trips_inner
"""


@pytest.fixture(scope="session")
def valgrind() -> str:
    found = shutil.which("valgrind")
    if found is None:
        pytest.skip("valgrind is not installed")
    return found


def step(command: list[str], **environment: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=200)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")


def built(source: Path, folder: Path, *more: str, level: int = 2) -> Path:
    """The executable of a C or C++ source that asks for derivatives; `more` flags for clang; level 0 is unoptimised."""
    compiler = find_compiler()
    words = [*(compiler.cxx if source.suffix == ".cpp" else compiler.c), *compiler.flags]
    raw, derived, program = folder / "raw.ll", folder / "derived.ll", folder / "program"
    raw_code = ["-O1", "-Xclang", "-disable-llvm-passes"] if level else ["-O0"]
    flags = [*raw_code, "-ffp-contract=off", f"-march={CPU}", "-gdwarf-4", "-w", *more]
    step([*words, *flags, "-D_GNU_SOURCE", "-S", "-emit-llvm", str(source), "-o", str(raw)])
    levels = ["--level", str(level), f"-O{level}"]
    opt = [sys.executable, "-m", "llgrad", "opt", str(raw), "-o", str(derived), "--cpu", CPU, *levels]
    step(opt, LLGRAD_ARENA="malloc", PYTHONPATH=str(Path(llgrad.__file__).parents[1]))
    derived.write_text(derived.read_text().replace('"Dwarf Version", i32 5', '"Dwarf Version", i32 4'))  # llgrad's own
    step([*words, "-O1", f"-march={CPU}", "-w", str(derived), "-o", str(program), "-lm", *needed(source)])
    return program


def findings(valgrind: str, program: Path, folder: Path) -> tuple[int, str]:
    """The exit status of the program under valgrind, and what valgrind says."""
    log = folder / "log"
    kinds = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect", "--show-leak-kinds=definite,indirect"]
    options = [f"--error-exitcode={FOUND}", "--track-origins=yes", f"--log-file={log}", *kinds]
    done = subprocess.run([valgrind, *options, str(program)], capture_output=True, text=True, timeout=300)
    return done.returncode, log.read_text() + done.stderr


def judge(valgrind: str, program: Program, folder: Path) -> tuple[int, str]:
    """Exit status and log of the derivatives of one program of the corpus: 0, 1 if the modes disagree, or FOUND."""
    source = folder / f"driver{program.path.suffix}"
    source.write_text(driver(program, program.precision.levels))
    return findings(valgrind, built(source, folder), folder)


@pytest.mark.parametrize("name", SAMPLE.split())
def test_derivatives(name: str, valgrind: str, tmp_path: Path) -> None:
    status, log = judge(valgrind, read_program(FOLDER / f"{name}.c"), tmp_path)
    assert status != FOUND, log
    assert status == 0, f"forward and reverse mode disagree, or the program died:\n{log}"


LIBRARY = re.compile(r"#include <(?:list|map|set|string|unordered_map|unordered_set|iostream|sstream)>")
UNSEEN = [p.name for p in sorted(PROGRAMS.glob("*.cpp")) if LIBRARY.search(p.read_text())]  # by the memory sanitizer


@pytest.mark.parametrize("name", [n for n in UNSEEN if "opt2" not in REFUSED.get(n, ("", "", ""))[1]])
def test_programs_that_use_the_library(name: str, valgrind: str, tmp_path: Path) -> None:
    program = built(PROGRAMS / name, tmp_path, "-isystem", str(INCLUDE), *flags(PROGRAMS / name))
    status, log = findings(valgrind, program, tmp_path)
    assert status == 0, log


TOLD = ("uninitialised", "Invalid", "definitely lost")


@pytest.mark.parametrize(("mistake", "told"), [*zip(MISTAKES, TOLD, strict=True)])
def test_valgrind_sees(mistake: str, told: str, valgrind: str, tmp_path: Path) -> None:
    """What a caller does wrong is found, so that what llgrad would do wrong is."""
    source = tmp_path / "bad.c"
    source.write_text(with_mistake(mistake))
    status, log = findings(valgrind, built(source, tmp_path), tmp_path)
    assert status == FOUND and told in log, log
