"""Numba: the IR of an `@njit` function for given types, before Numba optimises it.

Everything the function calls is compiled anew, in a typing and a target context that are llgrad's own: other `@njit`
functions, however they are reached (names, closures, attributes of modules, tuples), and Numba's own library. What the
user or Numba compiled before has gone through Numba's optimiser, which puts constants in where a test of equality holds
and so loses derivatives; none of it is used, and the user's functions stay as they are. Numba's runtime has bodies in
`runtime/numba*.c`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from llgrad.errors import CompilerError, LlgradError, Span, UnsupportedError
from llgrad.frontends.c import clang
from llgrad.frontends.common.tools import Source
from llgrad.frontends.numba.private_context import apart, private

_RUNTIME = Path(__file__).parents[2] / "runtime" / "linalg"
_BODIES = {
    "numba.c": re.compile(""),
    "numba_lapack.c": re.compile(r"numba_ez_(?:geqrf|xxgqr|xxxevd|gesdd|gelsd)"),
    "numba_complex.c": re.compile("llgrad_numba_complex_"),
    "numba_eigen.c": re.compile("numba_ez_[rc]geev"),
}
_WRAPPER = re.compile(r'^define [^@\n]*@"?(?:_ZN7cpython|cfunc\.)', re.MULTILINE)


class Array(Struct, frozen=True):
    """An array's type: LLVM-independent name of its elements, rank, whether it may be written."""

    dtype: str
    rank: int
    mutable: bool


class Compiled(Struct, frozen=True):
    """Modules, the function's symbol, names and types (`Array`, or the name of a scalar) of parameters, result."""

    modules: tuple[bytes, ...]
    symbol: str
    parameters: tuple[tuple[str, Array | str], ...]
    result: str
    source: Span


def compile_function(
    dispatcher: Any, arguments: Sequence[Any], names: Sequence[str] = (), source: Span | None = None
) -> Compiled | None:
    """Compile for the Numba types `arguments`; None if more is returned than a number.

    `names` are those of the parameters, `source` is where they stand, if not as the function says. CompilerError in
    Numba's words, UnsupportedError for other types.
    """
    function = dispatcher.py_func
    source = source or Span(function.__code__.co_filename, function.__code__.co_firstlineno)
    labels = names or _names(function)
    parameters = tuple(_described(name, t, source) for name, t in zip(labels, arguments, strict=False))
    result = _overload(dispatcher, arguments, source)
    returned = str(result.signature.return_type)
    if returned not in PLAIN:
        return None
    texts = [_finished(t) for t in _texts(result.library, [], source)]
    named = [name for name, calls in _BODIES.items() if any(map(calls.search, texts))]
    bodies = [clang.compile_file(Source(_RUNTIME / name), raw=True, cxx=False).module for name in named]
    modules = (*(t.encode() for t in texts), *bodies)
    return Compiled(modules, result.fndesc.llvm_func_name, parameters, returned, source)


def generators() -> dict[str, int]:
    """The addresses of what Numba's random numbers and eigenvalues call, which its library does not export."""
    from numba import _helperlib

    known: dict[str, int] = vars(_helperlib)["c_helpers"]
    names = [name for name in known if name.startswith("rnd_") or name.endswith("_random_state")]
    eigenvalues = {f"llgrad_numba_{name}": known[f"ez_{name}"] for name in ("rgeev", "cgeev")}
    return {f"numba_{name}": known[name] for name in names} | eigenvalues


def result_type(dispatcher: Any, arguments: Sequence[Any], source: Span) -> str:
    """The name of the type that is returned for the Numba types `arguments`; CompilerError in Numba's words."""
    return str(_overload(dispatcher, arguments, source).signature.return_type)


def _overload(dispatcher: Any, arguments: Sequence[Any], source: Span) -> Any:
    with apart():
        compiled = private(dispatcher)
        try:
            compiled.compile(tuple(arguments))
        except LlgradError:
            raise
        except Exception as error:  # not only Numba's own: what it does not support may be any
            said = str(error) or type(error).__name__
            raise CompilerError(
                f"Numba cannot compile {dispatcher.__name__}\n{said}", span=source, fix="correct the function"
            ) from error
        return compiled.overloads[tuple(arguments)]


# what is in each module that raises an exception with arguments
_EXCEPTION = re.compile(r'^define (?:external )?(?=[^@\n]*@"?__excinfo_unwrap_args)', re.MULTILINE)


# x**n for an integer n: a loop over the bits of n, which `llvm.powi` does not need
_POWER = re.compile(
    r'^(define [^\n@]*@"_ZN5numba7cpython7numbers14int_power_impl\w*E([df])x"\(\w+\* [^\n]*%"arg\.b"\)[^\n]*\n)'
    r"\{.*?^\}", re.MULTILINE | re.DOTALL,
)
_POWERS = """{{
entry:
  %n = trunc i64 %"arg.b" to i32
  %again = sext i32 %n to i64
  %small = icmp eq i64 %again, %"arg.b"
  br i1 %small, label %few, label %many
few:
  %p = call {0} @llvm.powi.{1}.i32({0} %"arg.a", i32 %n)
  store {0} %p, {0}* %"retptr"
  ret i32 0
many:
  %x = sitofp i64 %"arg.b" to {0}
  %q = call {0} @llvm.pow.{1}({0} %"arg.a", {0} %x)
  store {0} %q, {0}* %"retptr"
  ret i32 0
}}"""


def _finished(text: str) -> str:
    """The module with constants that are constant."""
    formats = {"d": ("double", "f64"), "f": ("float", "f32")}
    for t, name in dict.fromkeys(formats[m[2]] for m in _POWER.finditer(text)):
        declared = {f"llvm.powi.{name}.i32": f"{t}, i32", f"llvm.pow.{name}": f"{t}, {t}"}
        text += "".join(f"\ndeclare {t} @{n}({p})" for n, p in declared.items() if f'@"{n}"(' not in text)
    text = _EXCEPTION.sub("define linkonce_odr ", text)
    text = _POWER.sub(lambda m: m[1] + _POWERS.format(*formats[m[2]]), text)
    return text.replace("= common global ", "= internal constant ")


_SCALARS = ("float64", "float32", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (64, 32, 16, 8)), "bool")
PLAIN = (*_SCALARS, "none")
"""The types that a function may return to be differentiated as it is."""


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


# --- IR before optimisation -------------------------------------------------------------------------------------------


def _texts(library: Any, seen: list[Any], source: Span) -> Iterator[str]:
    """The modules of a library and of all that it links, without Numba's runtime and wrappers for Python."""
    if library in seen or library.name == "nrt":
        return
    seen.append(library)
    known = getattr(library, "_llgrad_texts", None)
    if known is None:
        raise UnsupportedError(
            f"{library.name}, which the function calls, is there only as Numba has optimised it", span=source,
            cause="where Numba put constants in, derivatives are lost",
            fix="call it as a plain @njit function, without cache=True and ahead-of-time compilation",
        )  # fmt: skip
    yield from (t for t in known if not _WRAPPER.search(t))
    for other in library._linking_libraries:
        yield from _texts(other, seen, source)
