"""Programs that ask for derivatives of functions that ask for derivatives; each checks itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from llgrad.errors import LlgradError
from llgrad.frontends.c.clang import find_compiler
from llgrad.llvm import LLVMModule
from llgrad.programs.program import optimise_program

HERE = Path(__file__).parent
CASES = [("orders", 0), ("orders", 2), ("memory", 0), ("memory", 2), ("steps", 3), ("wide", 1)]


def differentiated(path: Path, to: Path, level: int) -> Path:
    compiler = [*find_compiler().c]
    raw = ["-O0"] if level == 0 else [f"-O{level}", "-Xclang", "-disable-llvm-passes"]
    ir, out = to / "in.ll", to / "out.ll"
    subprocess.run([*compiler, *raw, "-g", "-S", "-emit-llvm", path, "-o", ir], check=True, capture_output=True)
    out.write_text(optimise_program(LLVMModule.read(ir.read_bytes(), trusted=False), level).text())
    return out


@pytest.mark.parametrize(("name", "level"), CASES)
def test_program(name: str, level: int, tmp_path: Path) -> None:
    out = differentiated(HERE / f"{name}.c", tmp_path, level)
    program = tmp_path / "program"
    subprocess.run([*find_compiler().c, "-O1", out, "-o", program, "-lm"], check=True, capture_output=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


REFUSED = {
    "asks for a derivative of a function that calls it": """
double __enzyme_autodiff(void *, ...);
double f(double x) { return x > 9 ? x : x * __enzyme_autodiff((void *)f, x + 1); }
""",
    "itself asks for __enzyme_fwdsplit": """
double __enzyme_autodiff(void *, ...);
void *__enzyme_augmentfwd(void *, ...);
double __enzyme_fwdsplit(void *, ...);
double f(double x) { return x * x * x; }
double g(double x) { return __enzyme_fwdsplit((void *)f, x, 1.0, __enzyme_augmentfwd((void *)f, x)); }
double h(double x) { return __enzyme_autodiff((void *)g, x); }
""",
    "with enzyme_primal_return of f, which returns a struct through memory": """
extern int enzyme_primal_return;
struct three { double a, b, c; };
struct six { struct three value, tangent; };
void *__enzyme_augmentfwd(void *, ...);
struct six __enzyme_fwdsplit(void *, ...);
struct three f(double x) { return (struct three){x, x * x, x * x * x}; }
struct six g(double x) {
    return __enzyme_fwdsplit((void *)f, enzyme_primal_return, x, 1.0, __enzyme_augmentfwd((void *)f, x));
}
""",
}


@pytest.mark.parametrize("said", REFUSED)
def test_refused(said: str, tmp_path: Path) -> None:
    source = tmp_path / "refused.c"
    source.write_text(REFUSED[said])
    with pytest.raises(LlgradError) as caught:
        differentiated(source, tmp_path, 2)
    assert said in caught.value.message and caught.value.span is not None and caught.value.fix
