"""C and C++: which compiler, which flags, what it said.

The compiler is `$LLGRAD_CLANG`, else a clang of version 15 to 22 on PATH (`clang-22`, …, `clang`), else the
clang in the `ziglang` wheel. LLVM 22 reads the bitcode of all of them.

Raw mode (what differentiation starts from) keeps the frontend's TBAA and attributes but runs no pass; else
-O2 without vectorising and unrolling. Defaults in both: debug info, value names, `-fno-math-errno` (libm is
pure here), `-ffp-contract=off` (no fused multiply-add that the source does not ask for). A user's flags come
last and win.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from llgrad.errors import CompilerError
from llgrad.frontends.c import inputs
from llgrad.frontends.common.tools import Compiled, Language, Source, known_answer, makefile_dependencies, run

OLDEST, NEWEST = 15, 22
COMMON_FLAGS = ("-g", "-fno-discard-value-names", "-fno-math-errno", "-ffp-contract=off")
_PLAIN = ("inactive", "shouldrecompute", "nocache", "no_escaping_allocation")
ATTRIBUTES = (
    *(f'-D{name}=annotate("enzyme_{word}")' for word in _PLAIN for name in (f"enzyme_{word}", f"__enzyme_{word}__")),
    '-D__enzyme_nofree__=annotate("enzyme_nofree")',
    *(f'-D{name}(name)=annotate("enzyme_function_like=" name)'
      for name in ("enzyme_function_like", "__enzyme_function_like__")),
)  # fmt: skip
"""What Enzyme's plugin of clang makes attributes, as annotations. (`enzyme_nofree` is a marker, too: as an attribute it
is spelt between underscores, as any may be.)"""
RAW_FLAGS = ("-O2", "-Xclang", "-disable-llvm-passes")
REFERENCED = "-gomit-unreferenced-methods"
"""Debug info of classes without the member functions that nobody calls, which are most of it; since clang 19."""
ZIG_FLAGS = ("-fno-sanitize=all", "-mcpu=baseline", "-Wno-unused-command-line-argument")
OPTIMISED_FLAGS = ("-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops")


class Compiler(Struct, frozen=True):
    """A clang: the words that start a C and a C++ compilation, and what identifies it in cache keys.

    `debug`: what keeps its debug info small.
    """

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    identity: str
    flags: tuple[str, ...] = ()
    is_zig: bool = False
    debug: tuple[str, ...] = ()


def find_compiler() -> Compiler:
    """The compiler for C and C++, or `CompilerError` that says how to get one."""
    if wanted := os.environ.get("LLGRAD_CLANG", ""):
        return _wanted(wanted)
    for name in _PROGRAMS:
        program = shutil.which(name)
        version = _version((program,)) if program else None
        if program and version and OLDEST <= version[0] <= NEWEST:
            return _compiler((program,), version)
    if importlib.util.find_spec("ziglang") is not None:
        return _zig()
    raise CompilerError(
        "there is no C compiler that llgrad can use",
        cause=f"PATH has no clang of version {OLDEST} to {NEWEST}, and the ziglang package is not installed",
        fix="pip install ziglang, or install clang-22, or set LLGRAD_CLANG to a clang",
    )


def _wanted(text: str) -> Compiler:
    """The compiler that LLGRAD_CLANG names: a program, perhaps with arguments; `zig` means the ziglang wheel."""
    if text == "zig":
        return _zig()
    words = tuple(shlex.split(text))
    if shutil.which(words[0]) is None:
        raise CompilerError(f"LLGRAD_CLANG is {text!r}, which is not a program", fix="set it to a clang, or unset it")
    version = _version(words)
    if version is None:
        raise CompilerError(f"LLGRAD_CLANG is {text!r}, which is not clang", fix="set it to a clang, or unset it")
    if not OLDEST <= version[0] <= NEWEST:
        raise CompilerError(
            f"LLGRAD_CLANG is clang {version[0]}",
            cause=f"LLVM 22 reads what clang {OLDEST} to {NEWEST} writes",
            fix=f"set it to a clang of version {OLDEST} to {NEWEST}, or unset it",
        )
    return _compiler(words, version)


def _compiler(words: tuple[str, ...], version: tuple[int, str]) -> Compiler:
    return Compiler(words, (*words, "--driver-mode=g++"), version[1], debug=_small_debug_info(version[0]))


def _small_debug_info(version: int) -> tuple[str, ...]:
    return (REFERENCED,) if version >= 19 else ()


def _zig() -> Compiler:
    if importlib.util.find_spec("ziglang") is None:
        raise CompilerError("the ziglang package is not installed", fix="pip install ziglang")
    zig = (sys.executable, "-m", "ziglang")
    version = _version((*zig, "cc"))
    if version is None or not OLDEST <= version[0] <= NEWEST:
        raise CompilerError(
            "the clang inside the ziglang package cannot be used",
            cause=f"it is clang {version[0]}" if version else "it does not run",
            fix="pip install --upgrade ziglang",
        )
    small = _small_debug_info(version[0])
    return Compiler((*zig, "cc"), (*zig, "c++"), f"zig {version[1]}", ZIG_FLAGS, is_zig=True, debug=small)


def _version(words: tuple[str, ...]) -> tuple[int, str] | None:
    """Major version and first line of `--version`, or None if this is not a clang that runs."""
    match = re.search(r"clang version (\d+)\.[^\n]*", known_answer((*words, "--version")))
    return (int(match[1]), match[0]) if match else None


def command_flags(compiler: Compiler, flags: Sequence[str], *, raw: bool) -> list[str]:
    """Every flag of a compilation but the files; part of cache keys."""
    mode = RAW_FLAGS if raw else OPTIMISED_FLAGS
    return [*mode, *COMMON_FLAGS, *compiler.debug, *ATTRIBUTES, *compiler.flags, *flags]


def compile_file(source: Source, *, raw: bool, cxx: bool) -> Compiled:
    """Compile one C or C++ file to bitcode; `CompilerError` with clang's own words if it does not compile."""
    compiler = find_compiler()
    driver = compiler.cxx if cxx else compiler.c
    path = source.path.absolute() if source.directory else source.path
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        bitcode, rule = Path(folder, "module.bc"), Path(folder, "module.d")
        start = [*driver, *command_flags(compiler, source.flags, raw=raw)]
        makefile = ["-MF", str(rule)]
        compile_ = [*start, "-emit-llvm", "-c", "-o", str(bitcode), str(path)]
        if compiler.is_zig:  # with -MD, `zig cc` 0.17 writes the list of dependencies but no bitcode
            said = run(compile_, path, _FIX, cwd=source.directory, told=["-v"])
            run([*start, "-M", *makefile, str(path)], path, _FIX, cwd=source.directory)
        else:
            said = run([*compile_, "-MD", *makefile], path, _FIX, cwd=source.directory, told=["-v"])
        files = makefile_dependencies(rule, source.path, source.folder)
        more, consulted = inputs.consulted(said, [source.path.absolute(), *files[1:]], source.folder, cxx)
        return Compiled(bitcode.read_bytes(), (*files, *more), consulted=consulted)


_STRINGS = Path(__file__).parents[2] / "runtime" / "cxx" / "strings.cpp"
_LIBCXX_WHOLE = ("-stdlib=libc++", "-D__exclude_from_explicit_instantiation__=__unused__")
_STRING_MEMBER = re.compile(
    rb"_ZNK?St7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE(?:"
    rb"(?:9_M_create|9_M_append|9_M_mutate|9_M_assign|8_M_erase|10_M_replace|14_M_replace_aux|7reserve)E)"
)
_RESOURCES = {
    library: re.compile(rb"_Z(?:N|NK|T[VI]N)St" + inner + rb"3pmr\d+(\w*?_resource)E")
    for library, inner in {"libstdc++": b"", "libc++": b"3__1"}.items()
}
_RESOURCES_MORE = {b"set_default_resource": "-DCHOSEN", b"synchronized_pool_resource": "-DSYNCHRONIZED"}
_FIX = "correct the source, or pass the flags it needs (-I…, -D…, -std=…)"


def _compile(sources: Sequence[Source], raw: bool, cxx: bool) -> list[Compiled]:
    """Several files at a time."""
    with ThreadPoolExecutor(max_workers=min(len(sources), os.cpu_count() or 1)) as pool:
        made = list(pool.map(lambda source: compile_file(source, raw=raw, cxx=cxx), sources))
    more = additions([compiled.module for compiled in made], raw=raw) if cxx else []
    return made + [replace(a, dependencies=(sources[0].path, *a.dependencies), is_runtime=True) for a in more]


def additions(modules: Sequence[bytes], *, raw: bool) -> list[Compiled]:
    """Bodies of what modules name and the standard libraries hold compiled: weak symbols, which a program may have too.

    Of libstdc++'s `std::string` members that are not inline; of `std::pmr`.
    """
    found = [strings(raw=raw)] if any(map(_STRING_MEMBER.search, modules)) else []
    for library, named in _RESOURCES.items():
        if names := {m[1] for module in modules for m in named.finditer(module)}:
            with contextlib.suppress(CompilerError):  # a library of another version
                found.append(_resources(library, names, raw=raw))
    return found


def _resources(library: str, names: set[bytes], *, raw: bool) -> Compiled:
    """Bodies of what a library has compiled of `std::pmr`, if a program uses what `names` says."""
    more = [flag for name, flag in _RESOURCES_MORE.items() if name in names]
    which = ("-stdlib=libc++",) if library == "libc++" else ()
    flags = ("-std=gnu++17", "-g0", "-w", *which, *more)
    return compile_file(Source(_STRINGS.with_name("resources.cpp"), flags), raw=raw, cxx=True)


def strings(*, raw: bool, library: str = "libstdc++", character: str = "char") -> Compiled:
    """Bodies of the members of a library's `std::string`, as weak symbols: before C++20 no program has them.

    libc++ keeps inline members out of what is instantiated, by an attribute; here they are wanted.
    """
    which = () if library == "libstdc++" else _LIBCXX_WHOLE
    flags = ("-std=gnu++17", "-fchar8_t", "-g0", "-w", f"-DCHARACTER={character}", *which)
    return compile_file(Source(_STRINGS, flags), raw=raw, cxx=True)


def streams() -> Compiled:
    """Bodies of what libc++'s headers write text to streams by."""
    flags = ("-std=gnu++17", "-g0", "-w", *_LIBCXX_WHOLE)
    return compile_file(Source(_STRINGS.with_name("streams.cpp"), flags), raw=True, cxx=True)


def formats() -> Compiled:
    """Bodies of what libc++'s headers format values by, optimised."""
    flags = ("-std=gnu++23", "-g0", "-w", "-stdlib=libc++")
    return compile_file(Source(_STRINGS.with_name("formats.cpp"), flags), raw=False, cxx=True)


def _identity() -> str:
    compiler = find_compiler()
    return " ".join((compiler.identity, *compiler.c))


_PROGRAMS = (*(f"clang-{version}" for version in range(NEWEST, OLDEST - 1, -1)), "clang")
_ENVIRONMENT = ("LLGRAD_CLANG", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
C = Language("c", (".c",), lambda s, raw: _compile(s, raw, False), _identity, _PROGRAMS, _ENVIRONMENT)
CXX = Language(
    "c++", (".cc", ".cpp", ".cxx", ".c++"), lambda s, raw: _compile(s, raw, True), _identity, _PROGRAMS, _ENVIRONMENT
)  # fmt: skip
