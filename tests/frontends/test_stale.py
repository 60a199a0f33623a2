"""Whatever a front end reads counts in the cache's keys: each kind of input of each front end is edited after a load.

A case (`stale_cases`) is files, how they are loaded, and one edit of a file, a variable or a flag. Processes run in a
directory of their own, far from the sources. The value before comes from the cache, so that it is the edit that counts.
The value after is asked of the process that knows the old one, and of a new one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from stale_cases import CASES, MODULE, NEVER_KEPT, Case

from llgrad.errors import CompilerError
from llgrad.execution import cache
from llgrad.frontends import LANGUAGES, compile_sources, language_of

ROOT = Path(__file__).parents[2]
_PARENT = """
import importlib, json, os, pkgutil, signal, sys, llgrad
others = ("llgrad.__main__", "llgrad.jax", "llgrad.numba", "llgrad.scipy", "llgrad.tensorflow", "llgrad.torch")
for module in pkgutil.walk_packages(llgrad.__path__, "llgrad."):
    if not module.name.startswith(others):
        importlib.import_module(module.name)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    where, kept, asked, told = json.loads(line)
    if os.fork():
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(where)
    os.environ["LLGRAD_CACHE"] = kept
    with open(asked) as questions, open(told, "w") as answers:
        for question in questions:
            paths, flags, variables = json.loads(question)
            os.environ.update(variables)
            lib = llgrad.load(paths, flags=flags)
            kept = lib._loaded._program_ is None
            print(json.dumps([lib.f(3.0), llgrad.grad(lib.f)(3.0), kept]), file=answers, flush=True)
    os._exit(0)
"""


class Asked:
    """A process that loads and differentiates what it is told to."""

    def __init__(self, parent: subprocess.Popen[str], where: Path, kept: Path, number: int) -> None:
        pipes = [where / f"{name}{number}" for name in ("asked", "told")]
        for pipe in pipes:
            os.mkfifo(pipe)
        print(json.dumps([str(where), str(kept), *map(str, pipes)]), file=parent.stdin, flush=True)
        self._ends = ExitStack()
        self._asked, self._told = (
            self._ends.enter_context(pipe.open(mode)) for pipe, mode in zip(pipes, "wr", strict=True)
        )

    def __call__(
        self, paths: list[str], flags: list[str], variables: dict[str, str]
    ) -> tuple[tuple[float, float], bool]:
        """Value and derivative at 3, and whether no compiler ran."""
        print(json.dumps([paths, flags, variables]), file=self._asked, flush=True)
        value, derivative, kept = json.loads(self._told.readline())
        return (value, derivative), kept

    def end(self) -> None:
        """Wait for it."""
        self._asked.close()
        self._told.read()
        self._ends.close()


@pytest.fixture(scope="session")
def parent() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported llgrad and nothing else happened in: new ones are its children, ready at once."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen([sys.executable, "-c", _PARENT], env=env, text=True, stdin=subprocess.PIPE) as process:
        yield process
        process.communicate(timeout=60)


@pytest.fixture
def asked(tmp_path: Path, parent: subprocess.Popen[str]) -> Iterator[Any]:
    """Makes processes, in a directory without sources."""
    (tmp_path / "elsewhere").mkdir()
    made: list[Asked] = []

    def make() -> Asked:
        made.append(Asked(parent, tmp_path / "elsewhere", tmp_path / "cache", len(made)))
        return made[-1]

    yield make
    for process in made:
        process.end()


def written(folder: Path, files: dict[str, str | None]) -> None:
    """Write or remove files; what begins with #! can be run, and `{module 2}` is what flang makes of a module."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        elif text.startswith("{module"):
            compiled_module(path, text.strip("{}").partition(" ")[2])
        else:
            path.write_text(text.replace("{0}", str(folder)))
            path.chmod(0o755 if text.startswith("#!") else 0o644)


def compiled_module(path: Path, constant: str) -> None:
    """flang's file of the module `k`."""
    source = path.with_suffix(".f90")
    source.write_text(MODULE.replace("2", constant))
    flang = language_of(source).identity is not None and shutil.which("flang-22") or shutil.which("flang")
    assert flang is not None
    subprocess.run([flang, "-c", f"-J{path.parent}", "-o", os.devnull, str(source)], check=True)
    source.unlink()


def require(paths: tuple[str, ...]) -> None:
    """Skip where there is no compiler for one of the sources."""
    for path in paths:
        try:
            language_of(Path(path.replace("compile_commands.json", "a.c"))).identity()
        except CompilerError as missing:
            pytest.skip(missing.message)


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_an_edit_is_seen(case: Case, tmp_path: Path, asked: Any) -> None:
    require(case.paths)
    folder = tmp_path / "project"
    written(folder, dict(case.files))
    paths = [str(folder / name) for name in case.paths]

    def named(value: str) -> str:
        return value.replace("{0}", str(folder)).replace("{PATH}", os.environ["PATH"])

    known = {"LLGRAD_TEST_CLANG": shutil.which("clang-22") or shutil.which("clang") or ""}
    variables = known | {name: named(value) for name, value in case.variables.items()}
    flags = [named(flag) for flag in case.flags]
    first = asked()
    answers = [first(paths, flags, variables) for _ in range(3)]
    assert [values for values, _ in answers] == [(18.0, 12.0)] * 3
    assert answers[-1][1] == (case.name not in NEVER_KEPT), "the third load is from the cache"
    written(folder, dict(case.edit))
    variables |= {name: named(value) for name, value in case.edited_variables.items()}
    flags = [named(flag) for flag in case.edited_flags] or flags
    assert first(paths, flags, variables)[0] == (27.0, 18.0), "in the same process"
    assert asked()(paths, flags, variables)[0] == (27.0, 18.0), "in another process"


def test_every_front_end_here_has_cases() -> None:
    covered = {language_of(Path(path.replace("compile_commands.json", "a.c"))).name for c in CASES for path in c.paths}
    assert {language.name for language in LANGUAGES} - covered == {"julia", "swift"}  # they are never kept


def test_own_files_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """llgrad's Python, and the C and headers that it compiles."""
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "execution" / "cache.py"))
    stamps = set()
    for name in ("cache.py", "frontends/a.py", "runtime/blas.c", "frontends/runtime/a.h", "include/a.hpp"):
        for text in ("x", "xy"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
            stamps.add(cache.own_stamp.__wrapped__())
    assert len(stamps) == 10


def test_noise_is_no_variable_of_a_compiler() -> None:
    assert not [name for language in LANGUAGES for name in language.environment if cache.is_noise(name)]
    assert cache.is_noise("PWD") and cache.is_noise("SLURM_JOB_ID") and not cache.is_noise("CPATH")


READ = """
    CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH LIBRARY_PATH COMPILER_PATH GCC_EXEC_PREFIX CCACHE_COMPILER
    CCC_OVERRIDE_OPTIONS SOURCE_DATE_EPOCH SDKROOT RUSTFLAGS RUSTC RUSTC_WRAPPER RUSTUP_TOOLCHAIN CARGO_HOME
    CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_PROFILE_RELEASE_OPT_LEVEL CARGO_TARGET_DIR DFLAGS NIMBLE_DIR
    ZIG_GLOBAL_CACHE_DIR FFLAGS LLGRAD_CLANG PATH HOME LANG TMPDIR
"""


def test_variables_that_compilers_read_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in READ.split():
        known = set()
        for value in ("/one", "/two"):
            monkeypatch.setenv(name, value)
            known.add(tuple(cache.environment()))
        monkeypatch.delenv(name)
        assert len({*known, tuple(cache.environment())}) == 3, name


def test_the_compiler_that_wrappers_run_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require(("a.c",))
    clang = shutil.which("clang-22") or shutil.which("clang")
    if clang is None:
        pytest.skip("there is no clang on PATH")
    written(tmp_path, {"mycc": f'#!/bin/sh\nx={clang}\nexec "$x" "$@"\n', "a.c": "double f(double x) { return x; }\n"})
    monkeypatch.setenv("LLGRAD_CLANG", str(tmp_path / "mycc"))
    programs = compile_sources([tmp_path / "a.c"]).consulted.programs
    assert {os.path.realpath(clang)} == {os.path.realpath(program) for program in programs}


def test_a_unit_in_c_of_a_nim_program_stays_as_it_is(tmp_path: Path) -> None:
    require(("a.nim",))
    case = next(case for case in CASES if case.name == "nim unit in C")
    written(tmp_path, dict(case.files))
    compile_sources([tmp_path / "a.nim"])
    assert (tmp_path / "g.c").read_text() == case.files["g.c"]


def test_a_command_sees_an_edit(tmp_path: Path) -> None:
    files = {"a.c": '#include "k.h"\ndouble f(double x, double y) { return K; }\n', "k.h": "#define K x\n"}
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LLGRAD_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "llgrad", "grad", str(tmp_path / "a.c"), "-f", "f", "--wrt", "x,y"]
    made = []
    for constant in ("x", "x", "x * y"):
        written(tmp_path, {**files, "k.h": f"#define K {constant}\n"})
        to = ["-o", str(tmp_path / "d.o")]
        done = subprocess.run([*command, *to], env=env, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        made.append((tmp_path / "d.o").read_bytes())
    assert made[0] == made[1] != made[2]
