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
from pathlib import Path
from typing import Any

import pytest
from stale_cases import CASES, MODULE, NEVER_KEPT, Case

from llgrad.errors import CompilerError
from llgrad.execution import cache
from llgrad.frontends import LANGUAGES, compile_sources, language_of

ROOT = Path(__file__).parents[2]
_ASKED = """
import json, os, sys, llgrad
for line in sys.stdin:
    paths, flags, variables = json.loads(line)
    os.environ.update(variables)
    lib = llgrad.load(paths, flags=flags)
    kept = lib._loaded._program_ is None
    print(json.dumps([lib.f(3.0), llgrad.grad(lib.f)(3.0), kept]), flush=True)
"""


class Asked:
    """A process that loads and differentiates what it is told to."""

    def __init__(self, where: Path, kept: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LLGRAD_CACHE": str(kept)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ASKED],
            cwd=where,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __call__(
        self, paths: list[str], flags: list[str], variables: dict[str, str]
    ) -> tuple[tuple[float, float], bool]:
        """Value and derivative at 3, and whether no compiler ran."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([paths, flags, variables]), file=self._process.stdin, flush=True)
        value, derivative, kept = json.loads(self._process.stdout.readline())
        return (value, derivative), kept

    def end(self) -> None:
        """Wait for it."""
        self._process.communicate(timeout=60)


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Any]:
    """Makes processes, in a directory without sources."""
    (tmp_path / "elsewhere").mkdir()
    made: list[Asked] = []

    def make() -> Asked:
        made.append(Asked(tmp_path / "elsewhere", tmp_path / "cache"))
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
