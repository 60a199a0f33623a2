"""Compiles C to shared objects, with Enzyme's derivatives or without, and calls them from NumPy.

Everything is kept under `build/benchmarks` by a digest of what went in, so that a second run compiles nothing.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from llgrad.errors import LlgradError
from llgrad.frontends.common.tools import Source
from llgrad.frontends.rust.rustc import RUST
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.transforms.optimise.vector_math import with_vector_maths

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "adbench"
DRIVERS = ROOT / "benchmarks" / "drivers"
BUILD = ROOT / "build" / "benchmarks"

COMMON = ("-std=gnu11", "-march=native")
UNOPTIMISED = ("-O2", "-Xclang", "-disable-llvm-passes")
LIBMVEC = ("-fno-math-errno", "-fveclib=libmvec")


class NativeError(Exception):
    """A compiler or Enzyme failed; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How to compile: extra flags of clang, and whether the sources keep their `restrict`.

    `emit` are the flags under which clang writes what tools differentiate.
    """

    name: str
    flags: tuple[str, ...] = ()
    restrict: bool = True
    emit: tuple[str, ...] = UNOPTIMISED

    @property
    def vector_math(self) -> bool:
        """Whether all tools' code may call libmvec: clang's own table lacks tanh, and lanes of 512 bits."""
        return bool(set(LIBMVEC) & set(self.flags))

    @property
    def defines(self) -> tuple[str, ...]:
        return () if self.restrict else ("-Drestrict=",)


PLAIN = Variant("-O3 -march=native")
VECTOR_MATH = Variant("-O3 -march=native, libmvec", LIBMVEC)
NO_RESTRICT = Variant("-O3 -march=native, without restrict", (), restrict=False)
VECTOR_NO_RESTRICT = Variant("-O3 -march=native, libmvec, without restrict", LIBMVEC, restrict=False)


def clang() -> tuple[str, ...]:
    """The command of a C compiler that shares LLVM 22 with Enzyme: clang-22, else the one in ziglang."""
    found = shutil.which("clang-22")
    return (found,) if found else (sys.executable, "-m", "ziglang", "cc")


@functools.cache
def _environment() -> dict[str, str]:
    """The environment, and bytecode of all that llgrad imports, which an installed package has."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = str(BUILD / "bytecode")
    imported = "import llgrad.cli, llgrad.programs.program, llgrad.autodiff.derivation"
    subprocess.run([sys.executable, "-c", imported], env=kept, check=True)
    return kept


def _run(command: Sequence[str | Path]) -> float:
    """Runs it; the CPU seconds that it and what it started took."""
    with tempfile.TemporaryFile("w+") as told:
        child = subprocess.Popen([str(word) for word in command], stdout=told, stderr=told, env=_environment())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            told.seek(0)
            raise NativeError(f"{' '.join(str(word) for word in command)}\n{told.read()}")
    return used.ru_utime + used.ru_stime


def _kept(name: str, sources: Sequence[Path], *facts: object) -> Path:
    digest = hashlib.sha256(repr((clang(), facts)).encode())
    for source in (*sources, Path(__file__)):
        digest.update(source.read_bytes())
    BUILD.mkdir(parents=True, exist_ok=True)
    return BUILD / f"{name}-{digest.hexdigest()[:16]}"


def primal(name: str, variant: Variant = PLAIN) -> ctypes.CDLL:
    """`examples/adbench/NAME.c` as it is, optimised and vectorised by clang."""
    return built(EXAMPLES / f"{name}.c", variant)


def built(source: Path, variant: Variant = PLAIN, *flags: str, others: Sequence[Path] = ()) -> ctypes.CDLL:
    """A source file as it is, optimised and vectorised by clang. `others` are files that it includes."""
    return ctypes.CDLL(str(compiled(source, variant, *flags, others=others)))


def compiled(source: Path, variant: Variant = PLAIN, *flags: str, others: Sequence[Path] = ()) -> Path:
    """The shared object of `built`."""
    base = _kept(f"{source.stem}-primal", [source, *others, *_headers(source)], variant, flags)
    made, text = base.with_suffix(".so"), base.with_suffix(".ll")
    if not made.exists():
        _raw(source, text, variant, *flags)
        _finished(text, made, variant)
    return made


def _raw(source: Path, target: Path, variant: Variant, *flags: str) -> None:
    """LLVM assembly of a source file, which clang has not optimised unless the variant says so."""
    raw = (*variant.emit, "-S", "-emit-llvm", "-fPIC")
    _run([*clang(), *COMMON, *variant.flags, *variant.defines, *flags, *raw, source, "-o", target])


def _finished(text: Path, target: Path, variant: Variant, *libraries: str) -> float:
    """The shared object: optimised by clang, with the same flags and the same vector mathematics whatever the tool.

    The CPU seconds that took.
    """
    if variant.vector_math:
        module = parse(text.read_text())
        with_vector_maths(module)
        text.write_text(write(module))
    final = ("-march=native", *variant.flags, "-Wno-override-module", "-O3", "-shared", "-fPIC")
    return _run([*clang(), *final, text, "-o", target, *libraries, "-lm"])


def _headers(source: Path) -> list[Path]:
    return sorted(source.parent.glob("*.h"))


TOOLS: dict[str, Callable[[Path, Path], tuple[str | Path, ...]]] = {
    "enzyme": lambda before, after: (sys.executable, ROOT / "benchmarks" / "enzyme_reference", before, after),
    "llgrad": lambda before, after: (sys.executable, "-m", "llgrad", "opt", "-O0", before, "-o", after),
    "llgrad, before optimisation": lambda before, after: (
        sys.executable, "-m", "llgrad", "opt", "-O0", "--level", "0", before, "-o", after,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Differentiated:
    """Machine code with derivatives, and the CPU seconds that the tool and clang after it took to make it."""

    library: ctypes.CDLL
    path: Path
    seconds: float


def differentiated(tool: str, name: str, variant: Variant = PLAIN) -> ctypes.CDLL:
    """`benchmarks/drivers/NAME.c`, differentiated by a tool of `TOOLS`."""
    return derived(tool, DRIVERS / f"{name}.c", variant, [EXAMPLES / f"{name}.c"], debug=True).library


def derived(
    tool: str, source: Path, variant: Variant = PLAIN, others: Sequence[Path] = (), *, debug: bool = False
) -> Differentiated:
    """A source file, differentiated by a tool of `TOOLS`, then optimised and vectorised by clang.

    clang writes unoptimised but optimisable assembly, the tool runs LLVM's O2 and differentiates, clang does the rest
    (so llgrad does not optimise what it wrote: `-O0`).
    `others` are files that it includes. The first call of Enzyme ever downloads it (see `enzyme_reference`).
    """
    code = sorted((ROOT / "src").rglob("*.py")) if tool != "enzyme" else []
    stem = f"{source.stem}-{tool.replace(', ', '-').replace(' ', '-')}"
    base = _kept(stem, [source, *others, *_headers(source), *code], variant)
    if not base.with_suffix(".so").exists():
        _raw(source, base.with_suffix(".ll"), variant, *(("-g",) if debug else ()))
        _differentiate(tool, base, variant)
    return _loaded(base)


def rust(name: str, variant: Variant = PLAIN, tool: str | None = None) -> Differentiated:
    """`benchmarks/rust/NAME.rs`, by llgrad's frontend and then as C is; without a tool the primal alone.

    NativeError where there is no Rust.
    """
    source = ROOT / "benchmarks" / "rust" / f"{name}.rs"
    code = sorted((ROOT / "src").rglob("*.py"))
    base = _kept(f"{name}-rust-{tool or 'primal'}", [source, source.with_name("program.rs"), *code], variant)
    if not base.with_suffix(".so").exists():
        flags = ("-Ctarget-cpu=native", "-Awarnings", *(() if tool else ("--cfg=primal",)))
        try:
            (made,) = RUST.compile([Source(source, flags)], True)
        except LlgradError as error:
            raise NativeError(f"{error.message}: {error.cause}") from None
        text = made.module.decode().replace("declare void @llgrad_fail(i32, ptr)", _STOPS)
        base.with_suffix(".ll").write_text(text)
        runtime = [word for path in made.libraries for word in (path, f"-Wl,-rpath,{Path(path).parent}")]
        _differentiate(tool, base, variant, *runtime)
    return _loaded(base)


_STOPS = "define internal void @llgrad_fail(i32 %0, ptr %1) {\n  call void @llvm.trap()\n  unreachable\n}"


def _differentiate(tool: str | None, base: Path, variant: Variant, *libraries: str) -> None:
    """BASE.so of BASE.ll, by a tool or as it is."""
    made, before, after, told = (base.with_suffix(end) for end in (".so", ".ll", ".after.ll", ".seconds"))
    asked = ("--veclib", "libmvec") if variant.vector_math and tool != "enzyme" else ()
    seconds = _run((*TOOLS[tool](before, after), *asked)) if tool else 0.0
    after.write_text(_KEPT.sub(r"\1 = global", (after if tool else before).read_text()))
    told.write_text(repr(seconds + _finished(after, made, variant, *libraries)))


def _loaded(base: Path) -> Differentiated:
    made = base.with_suffix(".so")
    return Differentiated(ctypes.CDLL(str(made)), made, float(base.with_suffix(".seconds").read_text()))


_KEPT = re.compile(r"^(@llgrad\.tape\.kept) = [^\n]*?global", re.MULTILINE)  # where the arena is between calls


def tape_bytes(library: ctypes.CDLL) -> int:
    """The most that the tape of a program by llgrad has held; 0 without one."""
    try:
        arena = ctypes.c_void_p.in_dll(library, "llgrad.tape.kept").value
    except ValueError:
        return 0
    return ctypes.c_int64.from_address(arena + 32).value if arena else 0


def adolc(name: str) -> Differentiated:
    """`benchmarks/adolc/NAME.cpp`, linked with ADOL-C; NativeError where that is missing."""
    source = ROOT / "benchmarks" / "adolc" / f"{name}.cpp"
    others = [*source.parent.glob("*.hpp"), *(ROOT / "benchmarks" / "programs").glob("*.h")]
    made = _kept(f"{name}-adolc", [source, *others]).with_suffix(".so")
    compiler = shutil.which("clang++-22") or shutil.which("g++")
    if compiler is None:
        raise NativeError("no C++ compiler")
    if not made.exists():
        _run([compiler, "-DPRIMAL", "-O3", "-march=native", "-shared", "-fPIC", source, "-o", made, "-ladolc"])
    return Differentiated(ctypes.CDLL(str(made)), made, 0.0)


def _c_value(value: object) -> Any:
    match value:
        case np.ndarray():
            if not value.flags.c_contiguous:
                raise ValueError("arrays must be C-contiguous")
            return ctypes.c_void_p(value.ctypes.data)
        case int():
            return ctypes.c_int(value)
        case float():
            return ctypes.c_double(value)
        case _:
            raise TypeError(f"no C value for {type(value).__name__}")


def bind(function: Any, arguments: Sequence[object]) -> Callable[[], object]:
    """`function(*arguments)` with the conversions done once, for timing; keeps the arrays alive."""
    values = [_c_value(value) for value in arguments]
    function.restype = None
    function.argtypes = [type(value) for value in values]

    def call(_alive: Sequence[object] = tuple(arguments)) -> object:
        return function(*values)

    return call
