"""MLIR: upstream dialects to LLVM's by mlir-opt, from there by mlir-translate.

Functions of `func` become functions; a `memref` is its descriptor in scalars: two addresses, an offset, extents,
strides.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.frontends.tools import Compiled, Language, Source, Tool, find, run
from llgrad.frontends.tools import signatures as noted

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
        text = made.read_text() + signatures(source.path.read_text(errors="replace"))
        return Compiled(text.encode(), (source.path,))


_FUNCTION = re.compile(r"^\s*func\.func (?:public )?@([\w.$-]+)\(", re.MULTILINE)


def signatures(source: str) -> str:
    """Metadata that says how the functions of a source are declared."""
    declared = []
    for m in _FUNCTION.finditer(source):
        words = [m[1]]
        for parameter in _parameters(source, m.end()):
            name, _, t = parameter.partition(":")
            words += [name.strip().lstrip("%"), t.partition("{")[0].strip()]
        declared.append(words)
    return noted("mlir", declared) if declared else ""


def _parameters(source: str, start: int) -> list[str]:
    """The parameters of a list that begins at `start`, up to its closing parenthesis."""
    depth, at, found = 0, start, []
    for n in range(start, len(source)):
        c = source[n]
        if c in ",)" and not depth:
            found.append(source[at:n])
            at = n + 1
            if c == ")":
                break
        arrow = c == ">" and source[n - 1] == "-"
        depth += (c in "(<[{") - (c in ")>]}" and not arrow)
    return [parameter for parameter in found if parameter.strip()]


MLIR = Language(
    "mlir", (".mlir",), _compile, _identity, ("mlir-opt-22", "mlir-opt", "mlir-translate-22", "mlir-translate"),
    ("LLGRAD_MLIR_OPT", "LLGRAD_MLIR_TRANSLATE"),
)  # fmt: skip
