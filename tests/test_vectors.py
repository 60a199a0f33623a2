"""Code that clang has vectorised before llgrad sees it: masked accesses, gathers, scatters; matrix types."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.frontends import find_compiler
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.programs.program import optimise_program
from llgrad.transforms.intrinsics.expansions import pointer_lanes

SOURCES = Path(__file__).with_name("vectors")
VECTORISED = ["-O3", "-ffast-math", "-march=skylake-avx512", "-mprefer-vector-width=512"]
PLAIN = ["-O1", "-Xclang", "-disable-llvm-passes"]


def assembly(name: str, flags: list[str], folder: Path) -> LLVMModule:
    """A source as IR for any machine: what its flags ask of the processor is left out."""
    path = folder / f"{Path(name).name}.ll"
    command = [*find_compiler().c, *flags, "-fenable-matrix", "-S", "-emit-llvm", str(SOURCES / f"{name}.c")]
    subprocess.run([*command, "-o", str(path)], check=True)
    return LLVMModule.from_text(re.sub(r'"(target-cpu|target-features|tune-cpu|min-legal-vector-width)"="[^"]*"', "",
                                       path.read_text()))  # fmt: skip


@pytest.mark.parametrize(("flags", "level"), [(VECTORISED, 0), (VECTORISED, 2), (PLAIN, 2)])
def test_gradients(flags: list[str], level: int, tmp_path: Path) -> None:
    """Each kernel compares its derivatives with finite differences."""
    kernels = assembly("kernels", flags, tmp_path)
    wanted = ("masked.gather", "masked.scatter", "masked.store") if flags is VECTORISED else ("matrix.multiply",)
    assert all(f"@llvm.{name}." in kernels.text() for name in wanted)
    kernels.link(assembly("drive", PLAIN, tmp_path))
    (tmp_path / "made.ll").write_text(optimise_program(kernels, level).text())
    linked = [*find_compiler().c, "-w", str(tmp_path / "made.ll"), "-o", str(tmp_path / "made"), "-lm"]
    subprocess.run(linked, check=True)
    done = subprocess.run([str(tmp_path / "made")], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "all right\n"


OPTIMISED = [
    "tail_calls", "vector_of_pointers", "callbacks_passed", "struct_rule", "tagged_union", "thread_local_scratch",
]  # fmt: skip


@pytest.mark.parametrize("name", OPTIMISED)
def test_optimised_before(name: str, tmp_path: Path) -> None:
    """Self-checking programs, as clang's -O3 leaves them."""
    flags = [f for f in VECTORISED if f != "-ffast-math"]
    whole, made = assembly(f"../programs/{name}", ["-w", *flags], tmp_path), tmp_path / "made"
    made.with_suffix(".ll").write_text(optimise_program(whole, 2).text())
    subprocess.run([*find_compiler().c, "-w", str(made.with_suffix(".ll")), "-o", str(made), "-lm"], check=True)
    done = subprocess.run([str(made)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("", 0)


def test_pointer_lanes() -> None:
    """Addresses in vectors: of one base or several, with indices that are vectors, constants or numbers."""
    text = """
define <2 x ptr> @f(ptr %x, <2 x i64> %n, <2 x ptr> %many, i64 %one) {
  %1 = getelementptr inbounds { i32, [4 x double] }, ptr %x, <2 x i64> %n, i32 1, <2 x i64> <i64 1, i64 3>
  %2 = getelementptr double, <2 x ptr> %1, i64 %one
  %"a b" = getelementptr i8, <2 x ptr> %2, <2 x i64> splat (i64 8)
  %scalar = getelementptr double, ptr %x, i64 %one
  ret <2 x ptr> %"a b"
}
"""
    module = parse(text)
    assert pointer_lanes(module)
    made = LLVMModule.from_text(write(module)).text()
    assert not re.search(r"getelementptr[^\n]*<2 x", made)
    assert made.count("getelementptr") == 7


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("start", range(1, 4))
def test_vectors_where_arrays_lie(tmp_path: Path, start: int, level: int) -> None:
    """Vector types want more alignment than arrays from Python have; arguments on the stack have theirs."""
    source = tmp_path / "a.c"
    source.write_text("""
        typedef double four __attribute__((vector_size(32)));
        typedef float single __attribute__((vector_size(16)));
        struct weights { long double w; };
        static __attribute__((noinline)) long double weighed(struct weights w, double v) { return w.w * v; }
        double norm(const four *x, int n)
        {
            four s = {0};
            for (int i = 0; i < n; i++) s += x[i] * x[i];
            struct weights w = {2};
            return weighed(w, s[0] + s[1] + s[2] + s[3]);
        }
        void squares(const single *x, single *y) { single t = *x; *y = t; *y *= t; }
    """)
    lib = llgrad.load(source, optimize=level)
    x = np.arange(16.0)[start : start + 8]
    assert lib.norm(x, 2) == 2 * x @ x
    np.testing.assert_array_equal(llgrad.grad(lib.norm)(x, 2), 4 * x)
    a, y = np.arange(8, dtype="f4")[start : start + 4], np.zeros(8, "f4")[start : start + 4]
    _, found = llgrad.vjp(lib.squares, wrt="x", of="y")(a, y, seed=np.ones(4, "f4"))
    np.testing.assert_array_equal(found, 2 * a)
