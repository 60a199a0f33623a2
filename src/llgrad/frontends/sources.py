"""`compile_sources`: any mix of source files, told apart by suffix, to modules in the order given."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from llgrad.errors import SourceError
from llgrad.frontends import clang

_SEARCH_PATHS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_Compile = Callable[[Path, Sequence[str], bool], clang.Compiled]


@dataclass(frozen=True, slots=True)
class CompiledSources:
    """Modules in the order of the sources; every file that was read; what identifies compiler and flags.

    The fingerprint with the contents of the dependencies decides the modules: a cache key.
    """

    modules: list[bytes]
    dependencies: list[Path]
    fingerprint: str


def _c(path: Path, flags: Sequence[str], raw: bool) -> clang.Compiled:
    return clang.compile_file(path, flags, raw=raw, cxx=False)


def _cxx(path: Path, flags: Sequence[str], raw: bool) -> clang.Compiled:
    return clang.compile_file(path, flags, raw=raw, cxx=True)


def _ready(path: Path, flags: Sequence[str], raw: bool) -> clang.Compiled:
    """A file that is LLVM IR already."""
    return clang.Compiled(path.read_bytes(), (path,))


LANGUAGES: dict[str, _Compile] = {
    ".c": _c,
    ".cc": _cxx,
    ".cpp": _cxx,
    ".cxx": _cxx,
    ".ll": _ready,
    ".bc": _ready,
}


def compile_sources(
    paths: Sequence[str | os.PathLike[str]], flags: Sequence[str] = (), raw: bool = True
) -> CompiledSources:
    """Compile `paths`, several at a time; `flags` go to clang last.

    `raw` modules are as the frontend left them; others went through O2 without vectorising. Raises
    `SourceError` for a file that is missing, unreadable or of an unknown language, and `CompilerError` for
    a missing compiler or a source that it rejects (the first in order, in the compiler's words).
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not paths:
        raise SourceError("no source files", fix="name at least one .c, .cpp, .ll or .bc file")
    sources = [Path(path) for path in paths]
    jobs = [_language(path) for path in sources]
    identity = fingerprint(flags, raw=raw, sources=sources)
    with ThreadPoolExecutor(max_workers=min(len(jobs), os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_compiled, job, path, flags, raw) for job, path in zip(jobs, sources, strict=True)]
        results = [future.result() for future in futures]
    read = dict.fromkeys(path for result in results for path in result.dependencies)
    return CompiledSources([result.bitcode for result in results], list(read), identity)


def fingerprint(flags: Sequence[str], *, raw: bool, sources: Sequence[Path]) -> str:
    """What decides the modules apart from the contents of files: compiler, flags, languages, environment."""
    suffixes = [path.suffix.lower() for path in sources]
    parts = [f"raw={raw}", *suffixes]
    if any(suffix not in (".ll", ".bc") for suffix in suffixes):
        compiler = clang.find_compiler()
        surroundings = [f"{name}={os.environ.get(name, '')}" for name in _SEARCH_PATHS]
        parts += [compiler.identity, *compiler.c, *clang.command_flags(compiler, flags, raw=raw), *surroundings]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _language(path: Path) -> _Compile:
    """How to compile `path`; `SourceError` if it cannot be."""
    if not path.exists():
        raise SourceError(f"there is no file {path}", fix="check the path; it is relative to the current directory")
    if not path.is_file():
        raise SourceError(f"{path} is not a file", fix="name the source files themselves")
    if not os.access(path, os.R_OK):
        raise SourceError(f"{path} cannot be read", cause="permission denied")
    try:
        return LANGUAGES[path.suffix.lower() if path.suffix != ".C" else ".cpp"]
    except KeyError:
        known = ", ".join(sorted(LANGUAGES))
        raise SourceError(
            f"{path} is of an unknown language",
            cause=f"the suffix {path.suffix!r} is none of {known}",
            fix="rename the file, or compile it to LLVM bitcode (.bc) with its own compiler",
        ) from None


def _compiled(job: _Compile, path: Path, flags: Sequence[str], raw: bool) -> clang.Compiled:
    try:
        return job(path, flags, raw)
    except OSError as error:
        raise SourceError(f"{path} cannot be compiled", cause=str(error), fix="check the file") from error
