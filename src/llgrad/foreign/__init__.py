"""Foreign functions for frameworks: one function of arrays, whose derivatives NumPy, PyTorch, JAX and TensorFlow share.

`load_foreign` compiles sources (once a process and content) and finds out what the parameters of a function are:

    out       the outputs' shapes: "like x", a tuple of numbers and names of integer parameters, or a function of the
              shapes of the input arrays; for several outputs a dict by parameter. Outputs begin as zeros
    updates   parameters that the code changes in place: inputs (copied) and outputs
    scratch   {parameter: shape} memory that the code needs and nobody reads afterwards; it begins as zeros
    counts    {integer parameter: array, or (array, axis), or a list of these, which must agree}: integers that follow
              from shapes; () for none

What is not declared is inferred; see `llgrad.execution.roles`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llgrad.errors import ArgumentError
from llgrad.execution.library import ForeignFunction, Library, load, loaded
from llgrad.execution.roles import ForeignShapeError, ForeignSignatureError, ForeignTypeError
from llgrad.foreign.function import Call, Foreign, Tape
from llgrad.support.uncopied import Uncopied

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
LOADING = ("flags", "optimize", "libraries", "vector_math")
_libraries: dict[tuple[Any, ...], Library] = {}
_made: dict[str, Foreign] = {}
_lock = threading.RLock()


def load_foreign(source: Paths | ForeignFunction, name: str | None = None, **options: Any) -> Foreign:
    """The function `name` of compiled sources (or a function of an `llgrad.Library`) as a function of arrays."""
    loading = {k: options.pop(k) for k in LOADING if k in options}
    if isinstance(source, ForeignFunction):
        if name is not None or loading:
            raise ArgumentError("a function of a library needs no name and no options of `load`")
        function = source
    else:
        if not isinstance(source, str | os.PathLike | Sequence):
            raise ArgumentError(
                f"{type(source).__name__} {source!r} is neither a file nor a function of a library",
                fix='a file and a name, or lib.name with lib = llgrad.load("file.c")',
            )
        if name is None:
            raise ArgumentError("which function?", fix='foreign("file.c", "name")')
        function = library(source, **loading)[name]
    made = Foreign(function, options)
    with _lock:
        if (found := _made.get(made.key)) is None or found.outdated:
            found = _made[made.key] = made
        return found


def library(source: Paths, **loading: Any) -> Library:
    """The library of these sources as they are now: one for all frameworks."""
    listed = [source] if isinstance(source, str | os.PathLike) else list(source)
    found = load(listed, **loading)
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in loading.items()}
    key = (tuple(str(Path(p).absolute()) for p in listed), tuple(sorted(options.items())), loaded(found).identity)
    with _lock:
        return _libraries.setdefault(key, found)


class Operation(Uncopied):
    """A function of arrays as an operation of a framework, which makes it again where it is unpickled. The bindings
    derive from it."""

    def __init__(
        self, source: Paths | ForeignFunction, name: str | None, options: dict[str, Any],
        pickled: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """`options` of `load_foreign`; `pickled`: those that the binding itself takes, if they are more."""
        self._foreign = load_foreign(source, name, **options)
        self._origin: tuple[Any, str | None, dict[str, Any]] = (source, name, options if pickled is None else pickled)
        self.__name__ = self._foreign.name
        self.__doc__ = self._foreign.function.__doc__

    def __reduce__(self) -> Any:
        return type(self), self._origin

    def __repr__(self) -> str:
        return repr(self._foreign)


__all__ = [
    "Call", "Foreign", "ForeignShapeError", "ForeignSignatureError", "ForeignTypeError", "Operation", "Tape",
    "library", "load_foreign",
]  # fmt: skip
