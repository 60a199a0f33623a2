"""MLIR: upstream dialects to LLVM's by mlir-opt, from there by mlir-translate; StableHLO to upstream dialects first.

Functions of `func` become functions; a `memref` is its descriptor in scalars: two addresses, an offset, extents,
strides.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.errors import UnsupportedError
from llgrad.frontends.c import clang
from llgrad.frontends.common.tools import Compiled, Language, Source, Tool, find, run
from llgrad.frontends.common.tools import signatures as noted
from llgrad.frontends.mlir import out_parameters, stablehlo

_RUNTIME = Path(__file__).parents[2] / "runtime" / "linalg"
_SPECTRA = re.compile(rb"@llgrad_(?:i?r?fft|syevd|gesdd)_")
_DEFINED = re.compile(rb"^define (?:dso_local )?(?=[^\n]*@llgrad_)", re.MULTILINE)
_FIX = "correct the source; dialects other than MLIR's own must be lowered before"
_TENSORS = (
    "inline", "canonicalize", "cse", "convert-elementwise-to-linalg", "linalg-fuse-elementwise-ops",
    "one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops",
)  # fmt: skip
"""Programs of tensors: fewer of them, each a buffer."""
_FREED = ("buffer-deallocation-pipeline",)
"""Buffers are freed; not in a source that frees some itself, which these passes cannot read."""
PASSES = (
    "canonicalize", "convert-bufferization-to-memref", "convert-linalg-to-loops", "lower-affine",
    "convert-scf-to-cf", "expand-strided-metadata", "lower-affine", "convert-complex-to-standard",
    "convert-math-to-llvm", "convert-math-to-libm", "convert-vector-to-llvm",
    "finalize-memref-to-llvm=use-aligned-alloc", "convert-func-to-llvm", "convert-complex-to-llvm",
    "convert-arith-to-llvm", "convert-index-to-llvm", "convert-ub-to-llvm", "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)  # fmt: skip
"""What lowers the upstream dialects; a file that is in the LLVM dialect already passes through."""


def _tool(name: str, variable: str) -> Tool:
    fix = "install MLIR (Debian: apt install mlir-22-tools)"
    return find("MLIR", (f"{name}-22", name), variable, ("--version",), r"LLVM version (\d+)", fix, least=20)


def _identity() -> str:
    return _tool("mlir-opt", "LLGRAD_MLIR_OPT").version


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    made = [_file(source) for source in sources]
    if any(b"@llgrad_" in m.module for m in made):
        names = ["lapack.c", *(["spectra.c"] if any(_SPECTRA.search(m.module) for m in made) else [])]
        made += [_bodies(sources[0], _RUNTIME / name, raw) for name in names]
    return made


def _bodies(source: Source, bodies: Path, raw: bool) -> Compiled:
    """What StableHLO leaves to libraries, of which what nobody calls may be dropped."""
    made = clang.compile_file(Source(bodies, ("-S",)), raw=raw, cxx=False)
    module = _DEFINED.sub(b"define linkonce_odr ", made.module)
    return Compiled(module, (source.path, *made.dependencies), consulted=made.consulted, is_runtime=True)


def _file(source: Source) -> Compiled:
    lower, translate = _tool("mlir-opt", "LLGRAD_MLIR_OPT"), _tool("mlir-translate", "LLGRAD_MLIR_TRANSLATE")
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        lowered, made = Path(folder, "lowered.mlir"), Path(folder, "module.ll")
        text = written = source.path.read_text(errors="replace")
        if stablehlo.is_stablehlo(text):
            text = stablehlo.upstream(text, source.path)
        elif _SWITCH.search(text):
            raise UnsupportedError(
                f"{source.path} has an scf.index_switch that yields tensors", fix="write it with scf.if",
                cause="MLIR 22 puts other tensors into the memory of those, while they are needed",
            )  # fmt: skip
        text = out_parameters.with_outward(text, _parameters)
        functions = declared(text)

        def passed(text: str, passes: Sequence[str], flags: Sequence[str] = ()) -> str:
            path = source.path if text == written else Path(folder, "source.mlir")  # the compiler names the user's file
            if text != written:
                path.write_text(text)
            run([lower.path, *(f"--{p}" for p in passes), *flags, "-o", str(lowered), str(path)], source.path, _FIX)
            return lowered.read_text()

        if "tensor<" in text:
            text = passed(_unwritten(text), (*_TENSORS, *(() if "memref.dealloc" in text else _FREED)))
        passed(_COPY.sub(r"linalg.copy ins(\1 : \3) outs(\2 : \4)", text), PASSES, source.flags)
        run([translate.path, "--mlir-to-llvmir", "-o", str(made), str(lowered)], source.path, _FIX)
        return Compiled((stated(made.read_text(), functions) + signatures(functions)).encode(), (source.path,))


_SWITCH = re.compile(r"\bscf\.index_switch\b[^\n]*->[^\n]*\btensor<")
# copied by loops, which say what the elements are
_COPY = re.compile(r"\bmemref\.copy (%[\w.$#-]+), (%[\w.$#-]+) : (memref<[^\n]*>) to (memref<[^\n]*>)$", re.MULTILINE)
_GIVEN = re.compile(r"^(\s*%[^:]*:\s*tensor<[^{]*>)\s*(?:\{(.*)\}\s*)?$", re.DOTALL)
_TENSOR = re.compile(r"tensor<((?:(?:\?|\d+)x)*)(\w+)>")


def _unwritten(text: str) -> str:
    """The source with functions that write to no tensor they are given: a caller in Python has only these arrays."""
    made, at = [], 0
    for m in _FUNCTION.finditer(text):
        parameters = _parameters(text, m.end())
        before = ",".join(parameters)
        made += [text[at : m.end()], ",".join(_GIVEN.sub(_constant, p) for p in parameters)]
        at = m.end() + len(before)
    return "".join([*made, text[at:]])


def _constant(m: re.Match[str]) -> str:
    return f"{m[1]} {{{f'{m[2]}, ' if m[2] else ''}bufferization.writable = false}}"


def _as_memref(t: str) -> str:
    """The memref that a tensor parameter becomes."""
    m = _TENSOR.fullmatch(t)
    if m is None:
        return t
    strides = ", ".join("?" * m[1].count("x"))
    return f"memref<{m[1]}{m[2]}, strided<[{strides}], offset: ?>>"


READ = " readonly"
"""After the type of a parameter that nothing is written to: tensors, and memrefs with the attribute `llvm.readonly`."""
_FUNCTION = re.compile(r"^\s*func\.func (?:public )?@([\w.$-]+)\(", re.MULTILINE)


def signatures(functions: Sequence[Sequence[str]]) -> str:
    """Metadata that says how functions are `declared`."""
    return noted("mlir", functions) if functions else ""


def declared(source: str) -> list[list[str]]:
    """Name, parameter, type, parameter, type, … of each function."""
    found = []
    for m in _FUNCTION.finditer(source):
        words = [m[1]]
        for parameter in _parameters(source, m.end()):
            name, _, said = parameter.partition(":")
            t, _, attributes = said.partition("{")
            read = "llvm.readonly" in attributes or t.strip().startswith("tensor<")
            words += [name.strip().lstrip("%"), _as_memref(t.strip()) + (READ if read else "")]
        found.append(words)
    return found


_ELEMENTS = {
    "f64": ("double", 8), "f32": ("float", 4), "bf16": ("bfloat", 2), "i64": ("integer", 8), "i32": ("integer", 4),
}  # fmt: skip
_MEMREF = re.compile(r"memref<((?:(?:\?|\d+)x)*)(f64|f32|bf16|i64|i32)(?:, strided<.*>)?>")


def stated(text: str, functions: Sequence[Sequence[str]]) -> str:
    """The module with a statement, where a function begins, of what is behind each memref: IR has no types for that."""
    for name, *words in functions:
        head = re.search(rf"^define [^\n@]*@{re.escape(name)}\([^\n]*\{{\n", text, re.MULTILINE)
        lines, at = "", 0
        for word in words[1::2]:
            m = _MEMREF.fullmatch(word.removesuffix(READ))
            if m is None:
                at += 1
                continue
            element, size = _ELEMENTS[m[2]]
            extents = [int(e) for e in m[1].split("x")[:-1] if e != "?"]
            whole = size * math.prod(extents) if m[1].count("x") == len(extents) and "strided" not in word else size
            lines += f"  call void @__enzyme_{element}(ptr %{at + 1}, i64 {whole})\n"
            at += 3 + 2 * m[1].count("x")
        if head is not None and lines and "memref" not in _MEMREF.sub("", " ".join(words[1::2])):
            text = text[: head.end()] + lines + text[head.end() :]
    known = {name for name, _ in _ELEMENTS.values() if f"@__enzyme_{name}(" in text}
    return text + "".join(f"\ndeclare void @__enzyme_{name}(ptr, i64)" for name in sorted(known)) + "\n"


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
