"""Derivatives of MPI programs, run on two to four ranks, against differences (`mpi/check.h`)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from llgrad.drivers.driver import drive
from llgrad.frontends import find_compiler

PROGRAMS = Path(__file__).parent / "mpi"


class Mpi(NamedTuple):
    """An MPI of Debian's: how its programs start, and what its `mpicc` adds to a command."""

    run: tuple[str, ...]
    flags: tuple[str, ...]

    @property
    def there(self) -> bool:
        return shutil.which(self.run[0]) is not None and Path(self.flags[0][2:], "mpi.h").is_file()


_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
KINDS = {
    "openmpi": Mpi(
        ("mpirun.openmpi", "--oversubscribe"),
        (f"-I{_LIBRARIES}/openmpi/include", f"-L{_LIBRARIES}/openmpi/lib", "-lmpi"),
    ),
    "mpich": Mpi(("mpirun.mpich",), ("-I/usr/include/x86_64-linux-gnu/mpich", f"-L{_LIBRARIES}", "-lmpich")),
}
SECONDS = 120  # a program that waits for what nobody sends ends then


def built(tmp_path: Path, source: Path, kind: str, level: int) -> Path:
    """A program with its derivatives. Skips where the MPI is not installed."""
    if not KINDS[kind].there:
        pytest.skip(f"{kind} is not installed")
    find_compiler()
    target = tmp_path / source.stem
    words = [f"-O{level}", str(source), f"-I{PROGRAMS}", "-o", str(target), *KINDS[kind].flags, "-lm"]
    assert drive(words, cxx=False) == 0
    return target


def run(program: Path, kind: str, ranks: int) -> subprocess.CompletedProcess[str]:
    words = [*KINDS[kind].run, "-n", str(ranks), str(program)]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = {**os.environ, **allowed}
    return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False)


@pytest.mark.parametrize(("kind", "level"), [("openmpi", 2), ("mpich", 0), ("openmpi", 0), ("mpich", 2)])
@pytest.mark.parametrize("name", sorted(p.stem for p in PROGRAMS.glob("*.c")))
def test_derivatives_agree_with_differences(tmp_path: Path, name: str, kind: str, level: int) -> None:
    program = built(tmp_path, PROGRAMS / f"{name}.c", kind, level)
    for ranks in (2, 3, 4) if kind == "mpich" else (3,):
        done = run(program, kind, ranks)
        assert done.stdout == "right\n", f"{ranks} ranks: {done.stdout}{done.stderr}"
        assert done.returncode == 0
