"""Numba functions: `llgrad.grad(f)` of an `@njit` function, specialised to the types of the arguments at each call.

    @numba.njit
    def loss(x, k): ...
    value, gradient = llgrad.value_and_grad(loss)(x, 2.0)

Arrays may have any layout and strides. `wrt` and `of` are as for foreign functions; an array counts as read only if the
compiled function writes nothing to it. An exception that the function raises becomes ForeignError.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from llgrad.errors import ArgumentError
from llgrad.frontends.njit import Array, Compiled, compile_function
from llgrad.library import ForeignFunction
from llgrad.loaded import Facts, Loaded
from llgrad.passing import parts
from llgrad.signature import CType, Parameter, Scalar, Signature, View, Void

_RESERVED = ("seed", "seeds", "tangents")


def is_numba(function: Any) -> bool:
    """Is this a function that Numba compiles when it is called?"""
    dispatcher = sys.modules.get("numba.core.dispatcher")
    return dispatcher is not None and isinstance(function, dispatcher.Dispatcher)


class PerTypes:
    """A derivative of a Numba function: one compiled derivative for each combination of argument types."""

    def __init__(self, function: Any, make: Callable[[ForeignFunction], Any]) -> None:
        """`make` gives the derivative of a foreign function."""
        self.function, self._make = function, make
        self._made: dict[tuple[Any, ...], Any] = {}
        self._lock = threading.Lock()
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **named: Any) -> Any:
        """What the derivative of a foreign function gives for these arguments."""
        options = {k: named.pop(k) for k in _RESERVED if k in named}
        values = self._bound(args, named)
        return self.derivative(*values)(*values, **options)

    def derivative(self, *args: Any) -> Any:
        """The derivative for arguments of these types."""
        import numba

        key = tuple(numba.typeof(a) for a in args)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(specialised(self.function, key))
            return self._made[key]

    def _bound(self, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        try:
            bound = inspect.signature(self.function.py_func).bind(*args, **named)
        except TypeError as error:
            raise ArgumentError(f"{self.__name__}: {error}") from error
        bound.apply_defaults()
        return list(bound.arguments.values())


def specialised(dispatcher: Any, types: Sequence[Any]) -> ForeignFunction:
    """The function compiled for these Numba types, as a foreign function."""
    compiled = compile_function(dispatcher, types)
    name = dispatcher.py_func.__name__
    symbol = f"llgrad.numba.{name}"
    signature = _signature(compiled, name, symbol)
    wrapper = _wrapper(compiled, signature)
    library = Loaded.of_modules(name, [*compiled.modules, wrapper.encode()], {symbol: _facts(signature)})
    read_only = library.read_only(symbol)
    parameters = tuple(_constant(p, read_only) for p in signature.parameters)
    return ForeignFunction(library, _facts(replace(signature, parameters=parameters)))


def _constant(p: Parameter, read_only: Collection[int]) -> Parameter:
    if not isinstance(p.type, View) or p.ir_arguments[p.type.parts.index("data")] not in read_only:
        return p
    return replace(p, type=replace(p.type, const=True))


def _facts(signature: Signature) -> Facts:
    arguments = tuple(t for p in signature.parameters for t in _ir_types(p.type))
    result = "void" if isinstance(signature.result, Void) else _ir_types(signature.result)[0]
    return Facts(signature, arguments, ("",) * len(arguments), result)


def _ir_types(t: CType) -> list[str]:
    if isinstance(t, View):
        return ["ptr" if part == "data" else "i64" for part in parts(t)]
    assert isinstance(t, Scalar)
    return [{"float64": "double", "float32": "float"}.get(t.c_name, f"i{t.bits}")]


def _signature(compiled: Compiled, name: str, symbol: str) -> Signature:
    parameters, at = [], 0
    for n, (parameter, described) in enumerate(compiled.parameters):
        t = _array(described) if isinstance(described, Array) else _scalar(described)
        count = len(parts(t))
        parameters.append(Parameter(parameter, t, n, tuple(range(at, at + count))))
        at += count
    result = Void() if compiled.result == "none" else _scalar(compiled.result)
    return Signature(name, tuple(parameters), result, compiled.source, symbol, None, "Python")


def _scalar(name: str) -> Scalar:
    if name in ("bool", "boolean"):
        return Scalar("bool", 8, name)
    kind, bits = name.rstrip("0123456789"), int(name.lstrip("abcdefghijklmnopqrstuvwxyz"))
    return Scalar(kind, bits, name, {"float64": "double", "float32": "float"}.get(name, ""))


def _array(t: Array) -> View:
    dimensions = range(t.rank)
    carried: tuple[str, ...] = ("items", "itemsize", "data")
    carried += (*(f"shape.{d}" for d in dimensions), *(f"bytes.{d}" for d in dimensions))
    return View(_scalar(t.dtype), not t.mutable, False, f"array({t.dtype}, {t.rank}d)", carried, t.rank, "A")


def _wrapper(compiled: Compiled, signature: Signature) -> str:
    """IR of a plain function around Numba's, which returns a status, stores its result, and counts who uses an array.

    Arrays of the caller are nobody's to free: their two owners are null.
    """
    types = [t for p in signature.parameters for t in _ir_types(p.type)]
    values = ", ".join(f"{t} %a{n}" for n, t in enumerate(types))
    owners = {p.ir_arguments[0] for p in signature.parameters if isinstance(p.type, View)}
    passed = "".join(f"{', ptr null, ptr null' if n in owners else ''}, {t} %a{n}" for n, t in enumerate(types))
    taken = "".join(f"{', ptr, ptr' if n in owners else ''}, {t}" for n, t in enumerate(types))
    result = "void" if isinstance(signature.result, Void) else _ir_types(signature.result)[0]
    stored = "ptr" if result == "void" else result
    quoted = f'@"{compiled.symbol}"'
    returned = "  ret void" if result == "void" else f"  %value = load {result}, ptr %result\n  ret {result} %value"
    return f"""
declare i32 {quoted}(ptr, ptr{taken})
declare void @llgrad_fail(i32, ptr) noreturn
define {result} @{signature.symbol}({values}) {{
  %result = alloca {stored}
  %exception = alloca ptr
  %status = call i32 {quoted}(ptr %result, ptr %exception{passed})
  %ok = icmp eq i32 %status, 0
  %none = icmp eq i32 %status, -2
  %good = or i1 %ok, %none
  br i1 %good, label %done, label %raised
raised:
  call void @llgrad_fail(i32 4, ptr null)
  unreachable
done:
{returned}
}}
"""


__all__ = ["PerTypes", "is_numba", "specialised"]
