"""Where generated code finds what it calls: the process, the libraries a user names, and the usual runtimes.

Contract: `Libraries(names).require(wanted)` raises one `ForeignError` that lists every name that has no
address, before any code runs; `address(name)` gives one. Libraries are never closed again.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from llgrad.errors import ArgumentError, ForeignError

# Opened when a name is found nowhere before; the last ones only where the name looks like theirs.
_RUNTIMES = ("libm.so.6", "libgcc_s.so.1", "libmvec.so.1", "libstdc++.so.6", "libc++.so.1", "libc++abi.so.1")
# LLVM's run-time library of OpenMP, opened before anything else is asked for a name that looks like one of its own:
# another compiler's has some of these names, too.
_OPENMP = ("libomp.so.5", "libomp.so", "libiomp5.so")
_OF_OPENMP = ("__kmpc_", "omp_", "__tgt_")

# What compilers take from libgcc's archive for __builtin_cpu_supports: its library has it under an old version alone.
_VERSIONED = {"__cpu_model": "GCC_4.8.0", "__cpu_indicator_init": "GCC_4.8.0"}

# libc++'s exception_ptr is libstdc++'s, a pointer to what was thrown; its functions know what libc++abi throws only.
_LIBSTDCXX = {
    f"_ZNSt13exception_ptr{theirs}": f"_ZNSt15__exception_ptr13exception_ptr{ours}"
    for theirs, ours in {
        "C1ERKS_": "C1ERKS0_", "C2ERKS_": "C2ERKS0_", "D1Ev": "D1Ev", "D2Ev": "D2Ev", "aSERKS_": "aSERKS0_",
        "31__from_native_exception_pointerEPv": "C1EPv",
    }.items()
}  # fmt: skip
_LIBSTDCXX["_ZSt17rethrow_exceptionSt13exception_ptr"] = "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE"

_given: dict[str, int] = {}


def give(addresses: Mapping[str, int]) -> None:
    """Names of this process that no library exports, with their addresses."""
    _given.update(addresses)


class Libraries:
    """The libraries `names` (paths, file names, or what follows -l), searched in order, then process and runtimes."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._named = [_opened(str(name)) for name in names]

    def missing(self, wanted: Iterable[str]) -> list[str]:
        """The names in `wanted` that have no address."""
        return [name for name in wanted if not self.address(name)]

    def require(self, wanted: Iterable[str]) -> None:
        """`ForeignError` that lists those in `wanted` that have no address, if there are any."""
        if missing := sorted(self.missing(wanted)):
            raise ForeignError(
                f"the code calls or reads {len(missing)} symbol(s) that exist nowhere: {', '.join(missing)}",
                cause="they are in neither the sources, the libraries given, this process, nor the usual runtimes",
                fix=_advice(missing),
            )

    def promote(self) -> None:
        """Let shared libraries that are opened later find the symbols of these libraries and of the runtimes."""
        for library in [*self._named, *filter(None, map(_runtime, _RUNTIMES))]:
            ctypes.CDLL(library._name, mode=ctypes.RTLD_GLOBAL)

    def address(self, name: str) -> int:
        """The address of `name`, 0 if no library has it."""
        for library in self._named:
            if address := _lookup(library, name):
                return address
        return _known_address(name) or _given.get(name, 0)


def _advice(missing: Sequence[str]) -> str:
    if any(name.startswith(("_ZNSt3__1", "_ZNKSt3__1", "_ZTVNSt3__1", "_ZSt")) for name in missing):
        return "pip install ziglang, install libc++ (libc++1, libc++abi1), or compile with a system clang"
    if any(name.startswith(_OF_OPENMP) for name in missing):
        return "install LLVM's run-time library of OpenMP (Debian: apt install libomp-22-dev), or leave out -fopenmp"
    return "add the sources that define them, or name the shared library: libraries=[…] (-l… on the command line)"


def _openmp() -> Iterator[str]:
    """Where the run-time library of OpenMP may be."""
    yield from _OPENMP
    folders = sorted(Path("/usr/lib").glob("llvm-*/lib"), key=lambda p: int(re.sub(r"\D", "", p.parent.name) or 0))
    yield from (str(folder / _OPENMP[1]) for folder in reversed(folders))


def _opened(name: str) -> ctypes.CDLL:
    """Open the shared library `name`; `ArgumentError` if there is none."""
    path = Path(name)
    stem = name.removeprefix("-l")
    found = ctypes.util.find_library(stem) if not path.suffix and "/" not in name else None
    tries = [str(path.resolve())] if path.is_file() else list(filter(None, [found, name, f"lib{stem}.so"]))
    reasons = []
    for candidate in tries:
        try:
            return ctypes.CDLL(candidate)
        except OSError as error:
            reasons.append(str(error))
    raise ArgumentError(
        f"the library {name!r} cannot be loaded",
        cause="; ".join(reasons),
        fix="give the path of a shared library (.so), or the name that follows -l",
    )


@functools.cache
def _runtime(name: str | None) -> ctypes.CDLL | None:
    """A library that is open, or None.

    Both C++ libraries have the standard exceptions and what throws and catches them, and code here takes libstdc++'s:
    where that is seen by all before libc++ is opened, libc++ takes them from there, too.
    """
    try:
        if name in _RUNTIMES[-2:] and (first := _runtime("libstdc++.so.6")) is not None:
            ctypes.CDLL(first._name, mode=ctypes.RTLD_GLOBAL)
        return ctypes.CDLL(name)
    except OSError:
        return None


def _known_address(name: str) -> int:
    """The address of `name` in the process or in a runtime library, 0 if none has it."""
    own = tuple(_openmp()) if name.startswith(_OF_OPENMP) else ()
    for runtime in (*own, None, *_RUNTIMES):
        if (library := _runtime(runtime)) is not None:
            for which in (*filter(None, [_LIBSTDCXX.get(name)]), name):
                if address := _lookup(library, which):
                    return address
    return _versioned_address(name)


def _versioned_address(name: str) -> int:
    """The address of a name that libgcc's library exports under a version, which has to be asked for."""
    library, find = _runtime("libgcc_s.so.1"), getattr(ctypes.CDLL(None), "dlvsym", None)
    if name not in _VERSIONED or library is None or find is None:
        return 0
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    return find(library._handle, name.encode(), _VERSIONED[name].encode()) or 0


def _lookup(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(library[name], ctypes.c_void_p).value or 0
    except (AttributeError, ValueError):
        return 0


@functools.cache
def has_vector_maths(symbol: str) -> bool:
    """Whether the installed libmvec defines `symbol`."""
    library = _runtime("libmvec.so.1")
    return library is not None and _lookup(library, symbol) != 0
