"""Numba: the IR of an `@njit` function for given types, before Numba optimises it.

The function is compiled anew, and so are the dispatchers that it calls by name: those of the user stay as they are.
Numba's own functions keep the IR that they had before optimisation from when this module is first used; one that was
compiled earlier is taken as optimised. Numba's runtime has bodies in `runtime/numba.c`.
"""

from __future__ import annotations

import re
import threading
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llgrad.errors import CompilerError, Span, UnsupportedError
from llgrad.frontends import clang
from llgrad.frontends.tools import Source

_BODIES = Path(__file__).parent / "runtime" / "numba.c"
_WRAPPER = re.compile(r'^define [^@\n]*@"?(?:_ZN7cpython|cfunc\.)', re.MULTILINE)
_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class Array:
    """An array's type: LLVM-independent name of its elements, rank, whether it may be written."""

    dtype: str
    rank: int
    mutable: bool


@dataclass(frozen=True, slots=True)
class Compiled:
    """Modules, the function's symbol, names and types (`Array`, or the name of a scalar) of parameters, result."""

    modules: tuple[bytes, ...]
    symbol: str
    parameters: tuple[tuple[str, Array | str], ...]
    result: str
    source: Span


def compile_function(dispatcher: Any, arguments: Sequence[Any]) -> Compiled:
    """Compile for the Numba types `arguments`; CompilerError in Numba's words, UnsupportedError for other types."""
    from numba.core.errors import NumbaError

    function = dispatcher.py_func
    source = Span(function.__code__.co_filename, function.__code__.co_firstlineno)
    parameters = tuple(_described(name, t, source) for name, t in zip(_names(function), arguments, strict=False))
    with _lock:
        _record()
        private = _private(dispatcher, {})
        try:
            private.compile(tuple(arguments))
        except NumbaError as error:
            raise CompilerError(
                f"Numba cannot compile {function.__name__}\n{error}", span=source, fix="correct the function"
            ) from error
    result = private.overloads[tuple(arguments)]
    returned = str(result.signature.return_type)
    if returned not in (*_SCALARS, "none"):
        raise UnsupportedError(
            f"{function.__name__} returns {returned}", span=source,
            fix="return a number, or write the result into an array argument",
        )  # fmt: skip
    texts = [re.sub(r"= common global ", "= internal constant ", t) for t in _texts(result.library, [])]
    bodies = clang.compile_file(Source(_BODIES), raw=True, cxx=False).module
    modules = (*(t.encode() for t in texts), bodies)
    return Compiled(modules, result.fndesc.llvm_func_name, parameters, returned, source)


_SCALARS = ("float64", "float32", "int64", "int32", "uint64", "uint32", "bool", "boolean")


def _names(function: Any) -> tuple[str, ...]:
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return names


def _described(name: str, t: Any, source: Span) -> tuple[str, Array | str]:
    from numba import types as nt

    if isinstance(t, nt.Array) and str(t.dtype) in _SCALARS and t.aligned:
        return name, Array(str(t.dtype), t.ndim, t.mutable)
    if str(t) in _SCALARS:
        return name, str(t)
    raise UnsupportedError(
        f"argument {name!r} of type {t} cannot be passed to a derivative", span=source,
        fix="pass numbers and arrays of numbers",
    )  # fmt: skip


def _private(dispatcher: Any, done: dict[int, Any]) -> Any:
    """A dispatcher of the same function that nobody else has, and that calls only such ones."""
    import numba

    if id(dispatcher) in done:
        return done[id(dispatcher)]
    function = dispatcher.py_func
    options = {k: v for k, v in dispatcher.targetoptions.items() if k not in ("nopython", "parallel", "cache")}
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    names = dict(function.__globals__)
    cells = tuple(types.CellType(c.cell_contents) for c in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    made = done[id(dispatcher)] = numba.njit(**options)(copy)
    done[id(made)] = made
    for name in (*function.__code__.co_names, function.__name__):
        if _is_dispatcher(names.get(name)):
            names[name] = _private(names[name], done)
    for cell in cells:
        if _is_dispatcher(cell.cell_contents):
            cell.cell_contents = _private(cell.cell_contents, done)
    return made


def _is_dispatcher(value: Any) -> bool:
    from numba.core.dispatcher import Dispatcher

    return isinstance(value, Dispatcher)


# --- IR before optimisation -------------------------------------------------------------------------------------------


def _record() -> None:
    """From now on, every library of Numba's remembers the modules that are added to it."""
    from numba.core.codegen import CPUCodeLibrary

    original = CPUCodeLibrary.add_ir_module
    if getattr(original, "of_llgrad", False):
        return

    def add_ir_module(self: Any, module: Any) -> Any:
        self.__dict__.setdefault("_llgrad_texts", []).append(str(module))
        return original(self, module)

    add_ir_module.of_llgrad = True  # type: ignore[attr-defined]
    CPUCodeLibrary.add_ir_module = add_ir_module


def _texts(library: Any, seen: list[Any]) -> Iterator[str]:
    """The modules of a library and of all that it links, without Numba's runtime and wrappers for Python."""
    if library in seen or library.name == "nrt":
        return
    seen.append(library)
    known = getattr(library, "_llgrad_texts", None)
    if known is None:
        yield str(library._final_module)
        return
    yield from (t for t in known if not _WRAPPER.search(t))
    for other in library._linking_libraries:
        yield from _texts(other, seen)
