"""`compile_sources`: any mix of source files, told apart by suffix, to modules in the order given."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from llgrad.errors import ArgumentError, MissingSourceError, SourceError
from llgrad.frontends import bitcode, compile_commands
from llgrad.frontends.c import clang
from llgrad.frontends.common.consulted import Consulted, named_files, together
from llgrad.frontends.common.tools import Compiled, Language, Source
from llgrad.frontends.d import ldc
from llgrad.frontends.fortran import flang
from llgrad.frontends.julia import julia
from llgrad.frontends.mlir import mlir
from llgrad.frontends.nim import nim
from llgrad.frontends.rust import rustc
from llgrad.frontends.swift import swiftc
from llgrad.frontends.zig import zig

LANGUAGES: tuple[Language, ...] = (
    clang.C, clang.CXX, rustc.RUST, flang.FORTRAN, zig.ZIG, ldc.D, nim.NIM, mlir.MLIR, julia.JULIA,
    swiftc.SWIFT, bitcode.IR,
)  # fmt: skip
BY_SUFFIX: dict[str, Language] = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
Flags = Sequence[str] | Mapping[str, Sequence[str]]
"""Flags of the one compiler there is, or of each language by name: `{"c++": ["-std=c++20"], "rust": […]}`."""


class CompiledSources(Struct, frozen=True):
    """Modules in the order of the sources, then those of runtimes; files that were read; libraries that the code needs.

    Files are absolute paths.

    The fingerprint, the contents of the dependencies, and what else was consulted decide the modules.
    """

    modules: list[bytes]
    dependencies: list[Path]
    fingerprint: str
    libraries: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of the files that the modules come from
    consulted: Consulted = Consulted()


def compile_sources(paths: Sequence[str | os.PathLike[str]], flags: Flags = (), raw: bool = True) -> CompiledSources:
    """Compile `paths`, all files of one language together; the user's flags come last.

    A `compile_commands.json` among the paths gives flags to the others, or brings its own sources if there are none.
    `raw` modules are as the frontend left them; others went through O2 without vectorising. Raises `SourceError` for a
    file that is missing, unreadable or of an unknown language, `ArgumentError` for flags that no source of the list
    takes, and `CompilerError` for a missing compiler or a source that it rejects (in the compiler's words).
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not paths:
        raise SourceError("no source files", fix="name at least one .c, .cpp, .ll or .bc file")
    sources, databases = _sources([Path(path) for path in paths], flags)
    groups: dict[str, list[int]] = {}
    for n, source in enumerate(sources):
        groups.setdefault(language_of(source.path).name, []).append(n)
    identity = fingerprint(sources, raw=raw)
    modules: dict[int, list[Compiled]] = {}
    for places in groups.values():
        language = language_of(sources[places[0]].path)
        for compiled in _compiled(language, [sources[n] for n in places], raw):
            place = next((n for n in places if sources[n].path == compiled.dependencies[0]), places[0])
            modules.setdefault(place, []).append(compiled)
    results = [compiled for n in sorted(modules) for compiled in modules[n]]
    results.sort(key=lambda compiled: compiled.is_runtime)
    named = [path for source in sources for path in named_files(source.flags, source.folder)]
    read = [*(path for result in results for path in result.dependencies), *databases, *named]
    consulted = together(result.consulted for result in results)
    libraries = tuple(dict.fromkeys(name for result in results for name in result.libraries))
    names = tuple(str(result.dependencies[0]) for result in results)
    files = list(dict.fromkeys(path.absolute() for path in read))
    return CompiledSources([result.module for result in results], files, identity, libraries, names, consulted)


def _sources(paths: Sequence[Path], flags: Flags) -> tuple[list[Source], list[Path]]:
    """The files to compile, each with its flags, and the databases that these came from."""
    databases = [path for path in paths if path.name == compile_commands.NAME]
    for path in paths:
        _require_file(path)
    known = {file: source for path in databases for file, source in compile_commands.read(path).items()}
    files = [path for path in paths if path.name != compile_commands.NAME]
    sources = [replace(known.get(path.resolve(), Source(path)), path=path) for path in files]
    sources = sources or [source for source in known.values() if _is_known(source.path)] or list(known.values())
    for source in sources:
        _require_file(source.path)
    chosen = _by_language(flags, {language_of(source.path).name for source in sources})
    return [replace(s, flags=(*s.flags, *chosen.get(language_of(s.path).name, ()))) for s in sources], databases


def _by_language(flags: Flags, names: set[str]) -> Mapping[str, Sequence[str]]:
    """Which flags each language gets."""
    if isinstance(flags, Mapping):
        unused = sorted(set(flags) - names)
        if unused:
            known = ", ".join(sorted(names))
            raise ArgumentError(f"flags for {', '.join(unused)}, but the sources are {known}", fix="correct the name")
        return flags
    takers = names - {bitcode.IR.name}
    if flags and len(takers) > 1 and takers != {"c", "c++"}:
        first = sorted(takers)[0]
        raise ArgumentError(
            f"flags {list(flags)} for sources of several languages: {', '.join(sorted(takers))}",
            cause="each compiler has its own",
            fix=f"say whose they are: flags={{{first!r}: {list(flags)!r}}}",
        )
    return {name: flags for name in names}


def fingerprint(sources: Sequence[Source], *, raw: bool) -> str:
    """What decides the modules apart from the contents of files: compilers, flags, languages, environment."""
    parts = [f"raw={raw}"]
    for language in dict.fromkeys(language_of(source.path) for source in sources):
        parts += [language.name, language.identity()]
        parts += [f"{name}={os.environ.get(name, '')}" for name in language.environment]
    for source in sources:
        parts += [source.path.suffix.lower(), *source.flags, "", str(source.directory or "")]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def language_of(path: Path) -> Language:
    """The language of a file, by its name; `SourceError` if it is none that is known."""
    if path.suffix == ".C":
        return clang.CXX
    found = BY_SUFFIX.get(path.name.lower()) or BY_SUFFIX.get(path.suffix.lower())
    if found is None:
        raise SourceError(
            f"{path} is of an unknown language",
            cause=f"the suffix {path.suffix!r} is none of {', '.join(sorted(BY_SUFFIX))}",
            fix="rename the file, or compile it to LLVM bitcode (.bc) with its own compiler",
        )
    return found


def _is_known(path: Path) -> bool:
    """Is a file of a project of a language that is known here? Assembly and the like have no derivative."""
    return path.suffix == ".C" or not {path.name.lower(), path.suffix.lower()}.isdisjoint(BY_SUFFIX)


def _require_file(path: Path) -> None:
    if not path.exists():
        raise MissingSourceError(
            f"there is no file {path}", fix="check the path; it is relative to the current directory"
        )
    if not path.is_file():
        raise SourceError(f"{path} is not a file", fix="name the source files themselves")
    if not os.access(path, os.R_OK):
        raise SourceError(f"{path} cannot be read", cause="permission denied")
    if path.name != compile_commands.NAME:
        language_of(path)


def _compiled(language: Language, sources: Sequence[Source], raw: bool) -> list[Compiled]:
    try:
        return language.compile(sources, raw)
    except OSError as error:
        names = ", ".join(str(source.path) for source in sources)
        raise SourceError(f"{names} cannot be compiled", cause=str(error), fix="check the file") from error
