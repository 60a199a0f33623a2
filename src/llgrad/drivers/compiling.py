"""clang, run for a driver: as the user asked, and once more on a source for its bitcode.

The bitcode is the frontend's, before any pass (decision 4 of the design), with what analyses want beyond what the user
asked for: TBAA, which clang writes from -O1 on (macros are those of the level that was asked for), names, and debug
info, which leaves the program again unless the user wants it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from llgrad.drivers.command_line import CommandLine, Item, Role
from llgrad.drivers.fat_objects import Options, Unit
from llgrad.errors import CompilerError, SourceError
from llgrad.frontends import find_compiler
from llgrad.frontends.c.clang import ATTRIBUTES
from llgrad.programs import program

INCLUDE = Path(__file__).parent.parent / "include"
_SOURCES = frozenset((".c", ".i", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CC", ".CPP", ".ii"))
CXX = _SOURCES - {".c", ".i"}
_LANGUAGES = frozenset(("c", "c++", "cpp-output", "c++-cpp-output"))
_IR = frozenset((".ll", ".bc"))


class Driver(Struct, frozen=True):
    """clang as a C or as a C++ compiler."""

    cxx: bool

    @property
    def words(self) -> list[str]:
        """What starts it, with what zig's clang needs to behave as clang."""
        found = find_compiler()
        return [*(found.cxx if self.cxx else found.c), *found.flags]


def include_flags(flags: Sequence[str] = ()) -> list[str]:
    """The user's flags with the attributes that programs for Enzyme use before them (`-Uenzyme_inactive` takes one
    away), and with where llgrad's headers are."""
    return [*ATTRIBUTES, *flags, "-isystem", str(INCLUDE)]


def is_source(item: Item) -> bool:
    """Whether clang makes bitcode of this input."""
    return item.language in _LANGUAGES if item.language else Path(item.value).suffix in _SOURCES


def is_ir(item: Item) -> bool:
    """Whether this input is LLVM IR."""
    return item.language == "ir" if item.language else Path(item.value).suffix in _IR


def given(items: Sequence[Item]) -> list[str]:
    """The words of items as clang wants them, each input with its language."""
    words: list[str] = []
    said = ""
    for i in items:
        if i.role is Role.INPUT and i.language != said:
            words += ["-x", i.language or "none"]
            said = i.language
        words += i.words
    return words


def run(words: Sequence[str], stdin: bytes | None = None) -> int:
    """Run a command; its exit status, 1 where a signal ended it."""
    done = _run(words, stdin, None)
    return done.returncode if done.returncode >= 0 else 1


def _run(words: Sequence[str], stdin: bytes | None, stderr: int | None) -> subprocess.CompletedProcess[bytes]:
    sys.stdout.flush()
    try:
        return subprocess.run(list(words), input=stdin, stderr=stderr, check=False)
    except OSError as error:
        raise CompilerError(f"{words[0]} cannot be run", cause=str(error), fix="install clang or ziglang") from error


class Compiled(Struct, frozen=True):
    """What came of one source: clang's exit status and words, and the unit if there is one."""

    status: int
    said: bytes
    unit: Unit | None = None


def compile_unit(
    driver: Driver, line: CommandLine, item: Item, target: Path, *,
    stdin: bytes | None = None, dependencies: bool = False,
) -> Compiled:  # fmt: skip
    """Compile one input to bitcode, by way of the file `target`; what clang says is not printed."""
    if is_ir(item):
        return Compiled(0, b"", Unit(item.value, read_ir(item.value, stdin), options(line)))
    roles = (Role.BOTH, Role.COMPILE, *((Role.DEPENDENCY,) if dependencies else ()))
    flags = [w for w in line.words(*roles) if not w.startswith("-flto")]
    raw = [] if line.level else ["-O1", "-U__OPTIMIZE__", "-D__NO_INLINE__=1"]
    raw += ["-Xclang", "-disable-llvm-passes", "-fno-discard-value-names", *([] if line.debug else ["-g"])]
    raw += find_compiler().debug
    words = [*driver.words, *include_flags(flags), *raw, "-emit-llvm", "-c", *given([item]), "-o", str(target)]
    done = _run(words, stdin, subprocess.PIPE)
    if done.returncode:
        return Compiled(max(done.returncode, 1), done.stderr)
    return Compiled(0, done.stderr, Unit(item.value, target.read_bytes(), options(line)))


def read_ir(name: str, stdin: bytes | None = None) -> bytes:
    """The bitcode of a file of LLVM IR of unknown origin."""
    try:
        data = Path(name).read_bytes() if stdin is None else stdin
    except OSError as error:
        raise SourceError(f"{name} cannot be read", cause=error.strerror or str(error)) from error
    return program.read_ir(data, name).bitcode()


def options(line: CommandLine) -> Options:
    """What the command line says about code generation."""
    return Options(line.level, line.cpu, line.debug, vector_math=line.vector_math, strict=line.strict)
