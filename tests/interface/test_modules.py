"""Modules of IR, written by hand, that ask for derivatives and check them themselves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llgrad.frontends.c.clang import find_compiler
from llgrad.llvm import LLVMModule
from llgrad.programs.program import optimise_program, read_ir

MODULES = Path(__file__).parent / "modules"


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("path", sorted(MODULES.glob("*.ll")), ids=lambda p: p.stem)
def test_module(path: Path, level: int, tmp_path: Path) -> None:
    out, exe = tmp_path / "out.ll", tmp_path / "prog"
    out.write_text(optimise_program(LLVMModule.linked([read_ir(path.read_bytes())]), level).text())
    command = [*find_compiler().c, "-w", "-O1", str(out), str(MODULES / "expect.c"), "-o", str(exe), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run([exe], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
