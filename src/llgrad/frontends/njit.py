"""Numba: the IR of an `@njit` function for given types, before Numba optimises it.

Everything the function calls is compiled anew, in a typing and a target context that are llgrad's own: other `@njit`
functions, however they are reached (names, closures, attributes of modules, tuples), and Numba's own library. What the
user or Numba compiled before has gone through Numba's optimiser, which puts constants in where a test of equality holds
and so loses derivatives; none of it is used, and the user's functions stay as they are. Numba's runtime has bodies in
`runtime/numba.c`.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import weakref
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
    with _apart():
        private = _private(dispatcher)
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
    texts = [_finished(t, source) for t in _texts(result.library, [], source)]
    bodies = clang.compile_file(Source(_BODIES), raw=True, cxx=False).module
    modules = (*(t.encode() for t in texts), bodies)
    return Compiled(modules, result.fndesc.llvm_func_name, parameters, returned, source)


# what is in each module that raises an exception with arguments
_EXCEPTION = re.compile(r'^define (?:external )?(?=[^@\n]*@"?__excinfo_unwrap_args)', re.MULTILINE)
_SMALL = re.compile(r"\{i64, i64, i8, (?:float|i(?:8|16|32))\}")
_DESTRUCTOR = re.compile(r'^define [^@\n]*@"\.dtor\.list\.([^"]*)"\(.*?^\}$', re.MULTILINE | re.DOTALL)


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


def _finished(text: str, source: Span) -> str:
    """The module with constants that are constant; UnsupportedError for lists whose elements own memory."""
    formats = {"d": ("double", "f64"), "f": ("float", "f32")}
    for t, name in dict.fromkeys(formats[m[2]] for m in _POWER.finditer(text)):
        declared = {f"llvm.powi.{name}.i32": f"{t}, i32", f"llvm.pow.{name}": f"{t}, {t}"}
        text += "".join(f"\ndeclare {t} @{n}({p})" for n, p in declared.items() if f'@"{n}"(' not in text)
    if _SMALL.search(text):
        raise UnsupportedError(
            "the function makes a list of truth values, or of numbers of less than eight bytes", span=source,
            fix="use an array, or a list of numbers",
        )  # fmt: skip
    text = _EXCEPTION.sub("define linkonce_odr ", text)
    text = _POWER.sub(lambda m: m[1] + _POWERS.format(*formats[m[2]]), text)
    for m in _DESTRUCTOR.finditer(text):
        if " call " in m[0]:
            raise UnsupportedError(
                f"the function makes a list of {m[1]}", span=source, cause="its elements own memory",
                fix="use an array, or a list of numbers",
            )  # fmt: skip
    return text.replace("= common global ", "= internal constant ")


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


# --- compiled apart from what the user compiled -----------------------------------------------------------------------

_copies: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # of the user's dispatchers, and of Numba's
_state = threading.local()


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """Within this, this thread compiles in contexts of llgrad's, and dispatchers stand for their private copies."""
    from numba.core.compiler_lock import global_compiler_lock

    with _lock, global_compiler_lock:
        contexts = _patched()
        _state.contexts = contexts
        try:
            yield
        finally:
            _state.contexts = None


@functools.cache
def _patched() -> tuple[Any, Any]:
    """Teach Numba, once, to ask which contexts a thread compiles in and to remember IR; the contexts of `_apart`."""
    from numba.core import codegen, cpu, dispatcher, registry, typing
    from numba.np import npyimpl

    target = type(registry.cpu_target)
    typing_context = typing.Context()
    mine = typing_context, cpu.CPUContext(typing_context, "cpu")
    for n, name in enumerate(("typing_context", "target_context")):
        setattr(target, name, property(_of_thread(getattr(target, name).fget, n)))
    compiler: Any = dispatcher.Dispatcher
    for name in ("get_call_template", "get_overload", "get_compile_result"):
        setattr(compiler, name, _redirected(getattr(compiler, name)))
    compiler.is_compiling = property(_redirected(compiler.is_compiling.fget))
    codegen.CPUCodeLibrary.add_ir_module = _recording(codegen.CPUCodeLibrary.add_ir_module)
    npyimpl._ArrayIndexingHelper.update_indices = _in_step(npyimpl._ArrayIndexingHelper.update_indices)
    return mine


def _in_step(original: Any) -> Any:
    """Indices of an operand in an array expression, as a product of the loop's: 0 where its extent is one.

    Numba leaves such an index as it was in the iteration before, which hides from LLVM that the others are strided.
    """

    @functools.wraps(original)
    def update_indices(self: Any, loops: Any, name: Any) -> None:
        if not _contexts():
            original(self, loops, name)
            return
        b = self.array.builder
        inner = loops[len(loops) - len(self.indices) :]
        for index, place, extent in zip(inner, self.indices, self.array.shape, strict=True):
            step = b.zext(b.icmp_unsigned(">", extent, extent.type(1)), extent.type)
            b.store(b.mul(index, step, flags=["nsw"]), place)

    return update_indices


def _contexts() -> tuple[Any, Any] | None:
    return getattr(_state, "contexts", None)


def _of_thread(usual: Any, n: int) -> Any:
    """The target's getter of its n-th context: within `_apart`, ours."""
    return lambda self: (_contexts() or (None, None))[n] or usual(self)


def _redirected(method: Any) -> Any:
    """A method of dispatchers: within `_apart`, that of the private copy."""

    @functools.wraps(method)
    def asked(self: Any, *args: Any) -> Any:
        return method(_private(self) if _contexts() else self, *args)

    return asked


def _private(dispatcher: Any) -> Any:
    """A dispatcher of the same function that only derivatives use; loops that Numba lifted have none."""
    from numba.core.dispatcher import LiftedCode

    if isinstance(dispatcher, LiftedCode) or getattr(dispatcher, "of_llgrad", False):
        return dispatcher
    if dispatcher not in _copies:
        options = {k: v for k, v in dispatcher.targetoptions.items() if k not in ("parallel", "cache")}
        options |= {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        pipeline = dispatcher._compiler.pipeline_class
        made = _copies[dispatcher] = type(dispatcher)(dispatcher.py_func, dispatcher.locals, options, pipeline)
        made.of_llgrad = True
    return _copies[dispatcher]


# --- IR before optimisation -------------------------------------------------------------------------------------------


def _recording(original: Any) -> Any:
    """Libraries of Numba's remember the modules that are added to them."""

    @functools.wraps(original)
    def add_ir_module(self: Any, module: Any) -> Any:
        if _contexts():
            self.__dict__.setdefault("_llgrad_texts", []).append(str(module))
        return original(self, module)

    return add_ir_module


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
