"""`Engine`: machine code in this process.

Contract: an engine compiles its modules once (code generation only: call `LLVMModule.optimise` before), to an
object file that can be stored and loaded again without compiling. Before anything runs, every wanted symbol
has an address or `ForeignError` lists those that have none. Thread-local variables and zig's libc++ take the way
through a system linker (see `loaders`). C++ constructors of globals run when the engine is made, destructors when it is
closed. Addresses are valid as long as the engine lives and is not closed
(dropping the last reference closes it).

Limits: object files for the engine come from `Engine.object_bytes()`; others run only if they need no
constructors. A weak symbol that exists nowhere is an error too (the linker cannot leave it null).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence

from llgrad.errors import ArgumentError, UnknownNameError
from llgrad.llvm.codegen import emit_jit_object
from llgrad.llvm.loaders import Image, load
from llgrad.llvm.module import LLVMModule
from llgrad.llvm.text import CONSTRUCTORS, DESTRUCTORS, DSO_HANDLE
from llgrad.support.elf import ObjectFile, read_object


class Engine:
    """Loaded machine code of `modules`; `address(name)` gives entry points."""

    def __init__(
        self,
        modules: Sequence[LLVMModule],
        *,
        cpu: str = "native",
        opt_level: int = 3,
        libraries: Sequence[str] = (),
    ) -> None:
        """Compile and load; `libraries` are paths or names of shared libraries."""
        self._load(emit_jit_object(LLVMModule.linked(modules), cpu, opt_level), libraries)

    @classmethod
    def from_object(cls, data: bytes, *, libraries: Sequence[str] = ()) -> Engine:
        """Load an object file that `object_bytes` gave, on the same kind of machine (see `target.fingerprint`)."""
        engine = cls.__new__(cls)
        engine._load(data, libraries)
        return engine

    def _load(self, data: bytes, libraries: Sequence[str]) -> None:
        contents = read_object(data)
        _require_loadable(contents)
        self._object = data
        image = load(data, contents, libraries)
        self._addresses = image.addresses
        self._unload = weakref.finalize(self, _unload, image)
        _call(self._addresses.get(CONSTRUCTORS, 0))

    def address(self, name: str) -> int:
        """The address of a function or variable; `UnknownNameError` if the modules do not export it."""
        if not self._unload.alive:
            raise ArgumentError("the engine is closed")
        try:
            return self._addresses[name]
        except KeyError:
            import difflib

            close = difflib.get_close_matches(name, self._addresses)
            fix = f"did you mean {' or '.join(close)}?" if close else "export it: no `static`, no inline only"
            raise UnknownNameError(f"the compiled code exports no {name}", fix=fix) from None

    def names(self) -> frozenset[str]:
        """All exported names."""
        return frozenset(self._addresses) - {CONSTRUCTORS, DESTRUCTORS, DSO_HANDLE}

    def object_bytes(self) -> bytes:
        """The object file, for `from_object`."""
        return self._object

    def close(self) -> None:
        """Run the destructors and unload the code: all addresses become invalid. May be called again."""
        self._unload()


def _unload(image: Image) -> None:
    """Run what C++ registered and the destructors, then free the code; also at the end of the process."""
    if handle := image.addresses.get(DSO_HANDLE):
        ctypes.CDLL(None).__cxa_finalize(ctypes.c_void_p(handle))
    _call(image.addresses.get(DESTRUCTORS, 0))
    image.release()


def _call(address: int) -> None:
    if address:
        ctypes.CFUNCTYPE(None)(address)()


def _require_loadable(contents: ObjectFile) -> None:
    if any(name.startswith((".init_array", ".ctors")) for name in contents.sections):
        raise ArgumentError(
            "this object file has constructors that the engine cannot run",
            fix="load the bytes that `Engine.object_bytes()` gave, or make an engine from the modules",
        )
