"""Fortran: flang, all files of a list together, in the order their modules ask for.

LLVM's optimisation is left out, flang's own is not: it turns array expressions into loops and gives TBAA. Calls of the
runtime that remain find it in a shared library made from flang's static one when it is first needed; those that move
numbers have bodies in `runtime/flang*.c`.
"""

from __future__ import annotations

import functools
import re
import shlex
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from llgrad.errors import CompilerError
from llgrad.frontends.c import clang
from llgrad.frontends.common.consulted import Consulted, ahead, within
from llgrad.frontends.common.tools import UNOPTIMISED, Compiled, Language, Source, Tool, answer, find, made_once, run
from llgrad.frontends.fortran import common_blocks, derived_types, descriptors, runtime_calls
from llgrad.support.cache_dir import stamp

_RUNTIME = Path(__file__).parents[2] / "runtime" / "flang"
_BODIES = tuple(_RUNTIME / name for name in ("flang.c", "flang_arrays.c", "flang_text.c", "flang_read.c"))
_PROGRAMS = (*(f"flang-{n}" for n in range(22, 18, -1)), "flang")
_FIX = "correct the source, or pass the flags it needs (-I…, -fdefault-real-8, -ffree-form, …)"
_FLAGS = ("-g", "-O2", "-emit-llvm", "-S", "-ffp-contract=off")
_RAW = ("-mllvm", UNOPTIMISED)
_UNVECTORISED = ("-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops")
_DEFINED = re.compile(rb"^define (?:dso_local )?(?=[^\n]*@(?:_FortranA|llgrad_))", re.MULTILINE)
_NAMED = re.compile(rb"\b(?:_FortranA|llgrad_(?:Input|Drawn|Etime))\w*")
_CALLED = re.compile(rb"@(_FortranA\w+|llgrad_(?:Input\w+|Drawn|Etime))\(")
_MODULE = re.compile(r"^[ \t]*(?:submodule\s*\(\s*([\w:]+)\s*\)|module(?!\s+procedure\b))\s*(\w+)", re.I | re.M)
_USE = re.compile(r"^[ \t]*use\b\s*(?:,\s*(?:non_)?intrinsic\s*)?(?:::)?\s*(\w+)", re.I | re.M)
_READ = re.compile(r"^SourceFile '(.*)'$", re.MULTILINE)


def flang() -> Tool:
    """The compiler; CompilerError that says how to get one."""
    fix = "install flang (Debian: apt install flang-22)"
    return find("Fortran", _PROGRAMS, "LLGRAD_FLANG", ("--version",), r"flang(?:-new)? version (\d+)", fix, least=19)


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    tool, texts, inputs = flang(), {}, {}
    bodies = list(_BODIES)
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        for source in ordered(sources):
            assembly = Path(folder, "module.ll")
            flags = [*_FLAGS, *(_RAW if raw else _UNVECTORISED), f"-J{folder}", *source.flags]
            command = [tool.path, *flags, "-o", str(assembly), str(source.path.absolute())]
            run(command, source.path, _FIX, noise="^BISECT:", cwd=source.directory)
            inputs[source] = _inputs(command, source, Path(folder))
            texts[source] = common_blocks.declared(assembly.read_text())
        calls = [runtime_calls.rewritten(text) for text in texts.values()]
        texts = dict(zip(texts, descriptors.said_again(calls), strict=True))
        types, numbers = derived_types.written_out(list(texts.values()))
        if types:
            bodies.insert(0, Path(folder, "types.c"))
            bodies[0].write_text(types)
        made = []
        for source, text in texts.items():
            data = (derived_types.renamed(text, numbers) if types else text).encode()
            libraries = (str(runtime(tool.path)),) if b"_FortranA" in data else ()
            read, consulted = inputs[source]
            made.append(Compiled(data, (source.path, *read), libraries, consulted))
        for path in bodies:
            called = {name for compiled in made for name in re.findall(_CALLED, compiled.module)}
            if path not in _BODIES or called & set(_NAMED.findall(path.read_bytes())):
                made.append(_bodies(path, sources[0], raw))
    return made


def _bodies(path: Path, source: Source, raw: bool) -> Compiled:
    """Bodies of the runtime, of which those that nobody calls may be dropped."""
    made = clang.compile_file(Source(path, ("-S", f"-I{_RUNTIME}")), raw=raw, cxx=False)
    module = _DEFINED.sub(b"define linkonce_odr ", made.module)
    read = made.dependencies if path in _BODIES else made.dependencies[1:]
    return Compiled(module, (source.path, *read), consulted=made.consulted, is_runtime=True)


def ordered(sources: Sequence[Source]) -> list[Source]:
    """Sources that define modules before those that use them."""
    texts = {source: source.path.read_text(errors="replace") for source in sources}
    defines = {name.lower(): source for source, text in texts.items() for _, name in _MODULE.findall(text)}
    done: dict[Source, None] = {}
    active: list[Source] = []

    def visit(source: Source) -> None:
        if source in active:
            names = ", ".join(str(s.path) for s in active[active.index(source) :])
            raise CompilerError(f"modules use each other in a circle: {names}", fix="put what both need in a third one")
        if source in done:
            return
        active.append(source)
        parents = [parent.partition(":")[0] for parent, _ in _MODULE.findall(texts[source])]
        for name in (*_USE.findall(texts[source]), *parents):
            other = defines.get(name.lower())
            if other is not None and other is not source:
                visit(other)
        done[active.pop()] = None

    for source in sources:
        visit(source)
    return list(done)


def _inputs(command: Sequence[str], source: Source, made: Path) -> tuple[list[Path], Consulted]:
    """Files that a source includes, as flang's prescanner tells, and modules of other compilations, of which any may be
    used: all that lie where flang looks for some."""
    said = run(command, source.path, _FIX, cwd=source.directory, told=["-###"])
    words = next((shlex.split(line) for line in said.splitlines() if '"-fc1"' in line), [])
    if "-emit-llvm" not in words:
        return [], Consulted(untold="flang does not tell how it runs its first stage")
    words[words.index("-emit-llvm")] = "-fdebug-dump-provenance"
    told = answer(words, source.directory)
    read = [source.folder / name for name in _READ.findall(told)]
    if not read:
        return [], Consulted(untold="flang does not tell which files it includes")
    named = (b for a, b in pairwise(words) if a in ("-I", "-fintrinsic-modules-path", "-module-dir"))
    given = (source.folder / name for name in named)
    places = [str(p) for p in dict.fromkeys((source.folder, source.path.absolute().parent, *given)) if p != made]
    modules = [path for place in places for path in sorted(Path(place).glob("*.mod"))]
    consulted = Consulted(tuple(ahead(read, places, places)), tuple(within(place, ".mod") for place in places))
    return [*(path for path in read if path != source.path.absolute()), *modules], consulted


def runtime(compiler: str) -> Path:
    """flang's runtime as a shared library, made once."""
    return _runtime(compiler, stamp(compiler))


@functools.cache
def _runtime(compiler: str, _stamp: str) -> Path:
    resources = Path(answer((compiler, "-print-resource-dir")).strip())
    archives = sorted(resources.glob("lib/**/libflang_rt.runtime.a")) or sorted(resources.glob("lib/**/libFortran*.a"))
    if not archives:
        raise CompilerError(
            f"{compiler} has no runtime library", cause=f"{resources} has no libflang_rt.runtime.a",
            fix="install it (Debian: apt install libflang-rt-22-dev flang-22)",
        )  # fmt: skip
    whole = ["-Wl,--whole-archive", *map(str, archives), "-Wl,--no-whole-archive"]
    command, fix = [compiler, "-shared", *whole, "-o"], "install a linker (Debian: gcc)"
    return made_once("libflang_rt", archives[0], lambda made: run([*command, str(made)], archives[0], fix))


FORTRAN = Language(
    "fortran", (".f90", ".f95", ".f03", ".f08", ".f18", ".f", ".for"), _compile, lambda: flang().version, _PROGRAMS,
    ("LLGRAD_FLANG",),
)  # fmt: skip
