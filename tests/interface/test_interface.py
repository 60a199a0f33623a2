"""Programs written for Enzyme's C interface, compiled, differentiated and run; each checks itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llgrad.backend import LLVMModule
from llgrad.frontends.clang import find_compiler
from llgrad.program import optimise_program

PROGRAMS = Path(__file__).parent / "programs"


def built(path: Path, to: Path, *flags: str, level: int = 2) -> Path:
    """The executable of a program, differentiated between clang's front and back end."""
    compiler = [*find_compiler().c]
    ir, out, exe = (to / n for n in ("in.ll", "out.ll", "prog"))
    subprocess.run([*compiler, *flags, "-S", "-emit-llvm", path, "-o", ir], check=True, capture_output=True)
    out.write_text(optimise_program(LLVMModule.read(ir.read_bytes(), trusted=False), level).text())
    assert "__enzyme" not in out.read_text()
    subprocess.run([*compiler, "-O1", out, "-o", exe, "-lm"], check=True, capture_output=True)
    return exe


FLAGS = {0: ["-O0", "-g"], 2: ["-O2", "-Xclang", "-disable-llvm-passes", "-g"]}


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.c")), ids=lambda p: p.stem)
def test_program(path: Path, level: int, tmp_path: Path) -> None:
    exe = built(path, tmp_path, *FLAGS[level], level=level)
    done = subprocess.run([exe], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
