"""MLIR: upstream dialects to LLVM's by mlir-opt, from there by mlir-translate.

Functions of `func` become functions; a `memref` is its descriptor in scalars: two addresses, an offset, extents,
strides.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.frontends.tools import Compiled, Language, Source, Tool, find, run

_FIX = "correct the source; dialects other than MLIR's own must be lowered before"
PASSES = (
    "canonicalize", "one-shot-bufferize=bufferize-function-boundaries", "convert-linalg-to-loops", "lower-affine",
    "convert-scf-to-cf", "expand-strided-metadata", "lower-affine", "convert-math-to-llvm", "convert-math-to-libm",
    "convert-vector-to-llvm", "finalize-memref-to-llvm", "convert-func-to-llvm", "convert-arith-to-llvm",
    "convert-index-to-llvm", "convert-cf-to-llvm", "reconcile-unrealized-casts",
)  # fmt: skip
"""What lowers the upstream dialects; a file that is in the LLVM dialect already passes through."""


def _tool(name: str, variable: str) -> Tool:
    fix = "install MLIR (Debian: apt install mlir-22-tools)"
    return find("MLIR", (f"{name}-22", name), variable, ("--version",), r"LLVM version (\d+)", fix, least=20)


def _identity() -> str:
    return _tool("mlir-opt", "LLGRAD_MLIR_OPT").version


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    return [_file(source) for source in sources]


def _file(source: Source) -> Compiled:
    lower, translate = _tool("mlir-opt", "LLGRAD_MLIR_OPT"), _tool("mlir-translate", "LLGRAD_MLIR_TRANSLATE")
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        lowered, made = Path(folder, "lowered.mlir"), Path(folder, "module.ll")
        passes = [f"--{name}" for name in PASSES]
        run([lower.path, *passes, *source.flags, "-o", str(lowered), str(source.path)], source.path, _FIX)
        run([translate.path, "--mlir-to-llvmir", "-o", str(made), str(lowered)], source.path, _FIX)
        return Compiled(made.read_bytes(), (source.path,))


MLIR = Language(
    "mlir", (".mlir",), _compile, _identity, ("mlir-opt-22", "mlir-opt", "mlir-translate-22", "mlir-translate"),
    ("LLGRAD_MLIR_OPT", "LLGRAD_MLIR_TRANSLATE"),
)  # fmt: skip
