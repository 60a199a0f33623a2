"""Two ways to bring an object file to life in this process.

`load_in_jit` is LLVM's in-process linker: a millisecond, no files, but no thread-local storage. It is JITLink, which
gives all code of an object one piece of memory: libgcc, searching the frame of an address, asks one object only.
`load_shared` lets a system linker make a shared library and opens it: for thread-local variables, and for C++ compiled
against zig's libc++, which exists as a static library only (zig builds it on the first use, about a minute,
and keeps it). Both give an `Image`.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from _ctypes import dlclose
from collections.abc import Callable, Sequence
from pathlib import Path

import llvmlite.binding as llvm
from msgspec import Struct

from llgrad.errors import ForeignError, UnsupportedError
from llgrad.ir.progress import shown
from llgrad.llvm import target
from llgrad.llvm.libraries import Libraries
from llgrad.support.elf import ObjectFile

PROVIDED_BY_LINKER = frozenset({"__dso_handle", "atexit"})
_OF_LIBCXX = re.compile(r"_Z(?:T[VIST])?N?K?St|_Z.*St3__1")
_LINKERS = ("cc", "clang", *(f"clang-{version}" for version in range(22, 14, -1)), "gcc")
_serial = itertools.count(1)


class Image(Struct, frozen=True):
    """Loaded code: addresses of what it exports, and how to unload it."""

    addresses: dict[str, int]
    release: Callable[[], None]


_kept: list[Image] = []


def load(data: bytes, contents: ObjectFile, libraries: Sequence[str]) -> Image:
    """Load the object `data`; every name it wants is found first, or one `ForeignError` lists the missing."""
    found = Libraries(libraries)
    wanted = [s.name for s in contents.symbols if not s.defined and s.name not in PROVIDED_BY_LINKER]
    missing = found.missing(wanted)
    of_libcxx = [name for name in missing if _OF_LIBCXX.match(name)] if _zig() else []
    found.require([name for name in missing if name not in of_libcxx])
    if of_libcxx or contents.thread_local:
        return load_shared(data, contents, found, cxx=bool(of_libcxx))
    image = load_in_jit(data, contents, {name: found.address(name) for name in wanted})
    if any(name.startswith("__kmpc_") for name in wanted):
        _kept.append(image)  # libomp knows variables of it, and writes them when the process ends
        return Image(image.addresses, lambda: None)
    return image


def exports(contents: ObjectFile) -> list[str]:
    """The names that the object defines for others."""
    return [symbol.name for symbol in contents.symbols if symbol.defined and symbol.name and not symbol.thread_local]


def load_in_jit(data: bytes, contents: ObjectFile, wanted: dict[str, int]) -> Image:
    """Link the object in memory; `wanted` has the address of every symbol it does not define."""
    target.initialise()
    jit = llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
    builder = llvm.JITLibraryBuilder().add_object_img(data)
    for name, address in wanted.items():
        builder.import_symbol(name, address)
    names = exports(contents)
    for name in names:
        builder.export_symbol(name)
    try:
        tracker = builder.link(jit, f"llgrad{next(_serial)}")
    except RuntimeError as error:
        raise ForeignError("the compiled code cannot be linked into this process", cause=str(error)) from error

    def release() -> None:
        tracker.close()
        jit.close()

    return Image({name: int(tracker[name]) for name in names}, release)


def load_shared(data: bytes, contents: ObjectFile, libraries: Libraries, *, cxx: bool) -> Image:
    """Make a shared library of the object with a system linker, and open it."""
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        source, made = Path(folder, "module.o"), Path(folder, "module.so")
        source.write_bytes(data)
        linker = _linker(cxx)
        with shown("linking with zig, which builds its C++ library once" if linker == _zig() else "linking"):
            _link([*linker, "-shared", "-Wl,-Bsymbolic", "-o", str(made), str(source)])
        libraries.promote()
        try:
            library = ctypes.CDLL(str(made))
        except OSError as error:
            raise ForeignError("the compiled code cannot be loaded into this process", cause=str(error)) from error
    addresses = {name: ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in exports(contents)
                 if hasattr(library, name)}  # fmt: skip
    # What has memory of threads stays: the C library may hand a library that is opened later the old one's memory.
    return Image(addresses, (lambda: None) if contents.thread_local else lambda: dlclose(library._handle))


def _link(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise ForeignError(
            "the compiled code cannot be linked", cause=(done.stderr or done.stdout).decode(errors="replace").strip()
        )


def _zig() -> list[str]:
    return [sys.executable, "-m", "ziglang", "c++"] if importlib.util.find_spec("ziglang") else []


def _linker(cxx: bool) -> list[str]:
    """The command that links a shared library; zig's where its libc++ is wanted."""
    if not cxx and (program := next(filter(None, map(shutil.which, _LINKERS)), None)):
        return [program]
    if zig := _zig():
        return zig
    raise UnsupportedError(
        "thread-local variables cannot be loaded by the in-process linker",
        cause="and there is no system linker that could make a shared library of the code",
        fix="pip install ziglang, install a C compiler, or drop `thread_local`/`__thread`",
    )
