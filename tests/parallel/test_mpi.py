"""Derivatives of MPI programs, run on two to four ranks, against differences (`mpi/check.h`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import llgrad
from llgrad.drivers.driver import drive
from llgrad.frontends import find_compiler

PROGRAMS = Path(__file__).parent / "mpi"


class Mpi(NamedTuple):
    """An MPI of Debian's: how its programs start, its compiler, and the name that mpi4py looks for its library by."""

    run: tuple[str, ...]
    compiler: str
    library: str

    @property
    def there(self) -> bool:
        return shutil.which(self.run[0]) is not None and shutil.which(self.compiler) is not None

    @property
    def flags(self) -> list[str]:
        """What its compiler adds to a command."""
        said = subprocess.run([self.compiler, "-show"], capture_output=True, text=True, check=True).stdout
        return [word for word in said.split() if word.startswith(("-I", "-L", "-l"))]

    @property
    def shared(self) -> Path:
        """Its library."""
        folders, names = ([w[2:] for w in self.flags if w.startswith(flag)] for flag in ("-L", "-l"))
        return next(p for f in folders for n in names if (p := Path(f, f"lib{n}.so")).is_file()).resolve()


KINDS = {
    "openmpi": Mpi(("mpirun.openmpi", "--oversubscribe"), "mpicc.openmpi", "libmpi.so.40"),
    "mpich": Mpi(("mpirun.mpich",), "mpicc.mpich", "libmpi.so.12"),
}
SECONDS = 120  # a program that waits for what nobody sends ends then


def built(tmp_path: Path, source: Path, kind: str, level: int) -> Path:
    """A program with its derivatives. Skips where the MPI is not installed."""
    if not KINDS[kind].there:
        pytest.skip(f"{kind} is not installed")
    find_compiler()
    target = tmp_path / source.stem
    words = [f"-O{level}", str(source), f"-I{PROGRAMS}", "-o", str(target), *KINDS[kind].flags, "-lm"]
    assert drive(words, cxx=source.suffix == ".cpp") == 0
    return target


def run(program: Path, kind: str, ranks: int, **more: str) -> subprocess.CompletedProcess[str]:
    words = [*KINDS[kind].run, "-n", str(ranks), str(program)]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = {**os.environ, **allowed, **more}
    return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False)


@pytest.mark.parametrize(("kind", "level"), [("openmpi", 2), ("mpich", 0), ("openmpi", 0), ("mpich", 2)])
@pytest.mark.parametrize("name", sorted(p.name.removesuffix(".c") for p in PROGRAMS.glob("*.c*")))
def test_derivatives_agree_with_differences(tmp_path: Path, name: str, kind: str, level: int) -> None:
    program = built(tmp_path, PROGRAMS / (name if "." in name else f"{name}.c"), kind, level)
    for ranks in (2, 3, 4) if kind == "mpich" else (3,):
        done = run(program, kind, ranks)
        assert done.stdout == "right\n", f"{ranks} ranks: {done.stdout}{done.stderr}"
        assert done.returncode == 0


REFUSED = (
    "MPI_Send: it moves memory with derivatives as MPI_BYTE",
    "MPI_Recv: it takes any tag",
    "MPI_Allreduce: its operation is none of SUM",
    "MPI_Wait: messages of one tag from one rank are not waited for in the order",
    "MPI_Scan: it scans by another operation than SUM",
)


def test_what_is_refused_as_it_runs_ends_on_all_ranks(tmp_path: Path) -> None:
    program = built(tmp_path, PROGRAMS / "others" / "as_it_runs.c", "mpich", 1)
    for n, said in enumerate(REFUSED):
        done = run(program, "mpich", 2, REFUSED=str(n))
        assert f"no derivative of {said}" in done.stderr
        assert done.returncode


def test_one_sided_calls_are_refused_by_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        built(tmp_path, PROGRAMS / "others" / "one_sided.c", "openmpi", 1)
    assert "one_sided.c:6:5: error: no derivative for the call of MPI_Win_create" in capfd.readouterr().err


@pytest.mark.parametrize(("kind", "variable"), [("openmpi", "OMPI_CC"), ("mpich", "MPICH_CC")])
def test_compiler_of_mpicc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, variable: str) -> None:
    if not KINDS[kind].there:
        pytest.skip(f"{kind} is not installed")
    compiler = tmp_path / "llgrad-cc"
    compiler.write_text(f'#!/bin/sh\nexec {sys.executable} -m llgrad cc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv(variable, str(compiler))
    monkeypatch.setenv("PYTHONPATH", str(Path(llgrad.__file__).parents[1]))
    source, mpicc = PROGRAMS / "others" / "small.c", f"mpicc.{kind}"
    subprocess.run([mpicc, "-O1", "-c", source, f"-I{PROGRAMS}", "-o", tmp_path / "small.o"], check=True)
    subprocess.run([mpicc, "-O1", tmp_path / "small.o", "-o", tmp_path / "small", "-lm"], check=True)
    assert run(tmp_path / "small", kind, 2).stdout == "right\n"


@pytest.mark.parametrize("kind", ["openmpi", "mpich"])
def test_with_mpi4py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """`llgrad.load(…, mpi=True)`; communicators of mpi4py's are arguments."""
    if not KINDS[kind].there:
        pytest.skip(f"{kind} is not installed")
    pytest.importorskip("mpi4py")
    (tmp_path / KINDS[kind].library).symlink_to(KINDS[kind].shared)
    monkeypatch.setenv("MPICC", f"mpicc.{kind}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("MPI4PY_MPIABI", kind)
    paths = [str(Path(llgrad.__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    starter = tmp_path / "start"
    starter.write_text(f"#!/bin/sh\nexec {sys.executable} {PROGRAMS / 'others' / 'with_mpi4py.py'}\n")
    starter.chmod(0o755)
    done = run(starter, kind, 2)
    assert done.stdout == "right\n", done.stderr
