"""Numba functions: `llgrad.grad(f)` of an `@njit` function, specialised to the types of the arguments at each call.

    @numba.njit
    def loss(x, k): ...
    value, gradient = llgrad.value_and_grad(loss)(x, 2.0)

Arrays may have any layout and strides. `wrt` and `of` are as for foreign functions; an array counts as read only if the
compiled function writes nothing to it. An exception that the function raises becomes ForeignError.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from llgrad.errors import ArgumentError, ForeignError, LlgradError, Span, UnsupportedError
from llgrad.execution.library import ForeignFunction
from llgrad.execution.loaded import Facts, Loaded
from llgrad.execution.passing import ARRAY, parts, shaped
from llgrad.frontends.numba.njit import PLAIN, Array, Compiled, compile_function, generators, result_type
from llgrad.llvm import libraries
from llgrad.numba.nested import Leaf, Tree, built, expression, gathered, leaves, opened, shape, spread, stores
from llgrad.signature import CType, Parameter, Scalar, Signature, View, Void

_RESERVED = ("seed", "seeds", "tangents", "direction")


def is_numba(function: Any) -> bool:
    """Is this a function that Numba compiles when it is called?"""
    dispatcher = sys.modules.get("numba.core.dispatcher")
    return dispatcher is not None and isinstance(function, dispatcher.Dispatcher)


class PerTypes:
    """A derivative of a Numba function: one compiled derivative for each combination of argument types."""

    def __init__(self, function: Any, make: Callable[..., Any], given: Mapping[str, Any]) -> None:
        """`make` gives the derivative of a foreign function for the options `given`."""
        self.function, self._make, self.kind = function, make, make.__name__
        self.wrt, self.of = given.get("wrt"), given.get("of")
        self._options = {name: value for name, value in given.items() if name not in ("wrt", "of")}
        self._signature = inspect.signature(function.py_func)
        self._names = list(self._signature.parameters)
        self._made: dict[Any, Any] = {}
        self._plainly: dict[Any, Any] = {}  # derivatives for numbers and arrays, by what decides the types of these
        self._positional = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in self._signature.parameters.values())
        self._lock = threading.RLock()
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **named: Any) -> Any:
        """What the derivative of a foreign function gives for these arguments."""
        options = {k: named.pop(k) for k in _RESERVED if k in named}
        last = args[-1:] if self.kind == "hvp" and not options.keys() & {"direction", "tangents"} else ()
        values = self._bound(args[: len(args) - len(last)], named)
        key = _key(values)
        made, types = self._plainly.get(key), ()
        if made is None:
            types = self._types(values)
        try:
            if made is None and _all_plain(types):
                made = self._plain(types)
                if made is not None and key is not None:
                    self._plainly[key] = made
            if made is not None:
                return made(*values, *last, **options)
            return self._nested(types, values)(last, options)
        except LlgradError as error:
            error.span = error.span or _where(self.function)
            if isinstance(error, ForeignError):
                self._raised(values, error)
            raise

    def derivative(self, *args: Any) -> Any:
        """The derivative for arguments of these types."""
        types = self._types(args)
        return (self._plain(types) if _all_plain(types) else None) or self._of_types(types, args)[0].derivative

    def _types(self, values: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return tuple(map(_typeof, values))
        except (ValueError, TypeError, _numba_error()) as error:
            for name, value in zip(self._names, values, strict=True):
                opened(name, value)
            raise ArgumentError(
                f"{self.__name__} is called with what Numba has no type for", cause=str(error),
                fix="pass numbers, arrays, tuples and lists of numbers",
            ) from error  # fmt: skip

    def _plain(self, types: tuple[Any, ...]) -> Any:
        """The derivative for numbers and arrays; None where what the function returns is more than a number."""
        with self._lock:
            if types not in self._made:
                foreign = specialised(self.function, types)
                self._made[types] = foreign and self._make(foreign, self.wrt, self.of, **self._options)
            return self._made[types]

    def _nested(self, types: tuple[Any, ...], values: Sequence[Any]) -> Callable[..., Any]:
        """The derivative at these arguments, which takes directions and options."""
        made, trees, result = self._of_types(types, values)
        return functools.partial(made, trees, result)

    def _of_types(self, types: tuple[Any, ...], values: Sequence[Any]) -> tuple[Nested, tuple[Tree, ...], Any]:
        trees = tuple(opened(n, v) for n, v in zip(self._names, values, strict=True))
        result = None if self.of is not None else self._result(types, values, trees)
        key = types, tuple(map(shape, trees)), result and (shape(result[0]), tuple(map(_kind, leaves(result[0]))))
        with self._lock:
            if key not in self._made:
                self._made[key] = Nested(self, trees, result and result[0])
            made: Nested = self._made[key]
        return made, trees, result

    def _result(self, types: tuple[Any, ...], values: Sequence[Any], trees: Sequence[Tree]) -> tuple[Tree, Any] | None:
        """What the function returns for these arguments, which stay as they are; None for a number or nothing."""
        if (key := ("result", types, tuple(map(shape, trees)))) not in self._made:
            with self._lock:
                self._made[key] = returned(self.function, [v.passed for t in trees for v in leaves(t)], trees)
        if self._made[key] in PLAIN:
            return None
        try:
            found = self._run(values)
        except Exception as error:
            raise _foreign_error(self.function, error) from error
        found = np.ascontiguousarray(found) if isinstance(found, np.ndarray) and found.ndim else found
        return opened("result", found), found

    def _raised(self, values: Sequence[Any], error: ForeignError) -> None:
        """The exception that the function itself raises for the same arguments, if it raises one."""
        if "exception" not in error.message:
            return
        try:
            self._run(values)
        except Exception as raised:
            raise _foreign_error(self.function, raised) from raised

    def _run(self, values: Sequence[Any]) -> Any:
        """The function itself, for copies of the arguments."""
        given = [copied(v) for v in values]
        kinds = [p.kind for p in self._signature.parameters.values()]
        many = kinds[-1:] == [inspect.Parameter.VAR_POSITIONAL]
        return self.function(*given[:-1], *given[-1]) if many else self.function(*given)

    def _bound(self, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        if not named and self._positional and len(args) == len(self._names):
            return list(args)
        try:
            bound = self._signature.bind(*args, **named)
        except TypeError as error:
            raise ArgumentError(f"{self.__name__}: {error}") from error
        bound.apply_defaults()
        return list(bound.arguments.values())


def _key(values: Sequence[Any]) -> tuple[Any, ...] | None:
    """What decides Numba's types of numbers and arrays, sooner than Numba tells them; None where there is more."""
    key: list[Any] = []
    for v in values:
        kind = type(v)
        if kind is np.ndarray:
            if v.dtype.names:
                return None
            key += (v.dtype, v.ndim, v.flags.num)
        elif kind in _NUMBERS or (kind is int and -1 << 63 <= v < 1 << 63):
            key.append(kind)
        else:
            return None
    return tuple(key)


_NUMBERS = frozenset({float, bool, np.float64, np.float32, np.int64, np.int32})


def _typeof(value: Any) -> Any:
    """Numba's type of a value; those of arrays of numbers, which Numba makes anew each time, are kept."""
    import numba

    if type(value) is not np.ndarray or value.dtype.names:
        return numba.typeof(value)
    key = value.dtype, value.ndim, value.flags.num
    if key not in _types:
        _types[key] = numba.typeof(value)
    return _types[key]


def _numba_error() -> type[Exception]:
    from numba.core import errors

    found: type[Exception] = errors.NumbaError
    return found


_types: dict[Any, Any] = {}  # of arrays, by what decides them: element, rank, layout and what may be done to them


@functools.cache
def _all_plain(types: tuple[Any, ...]) -> bool:
    from numba import types as nt

    return all(isinstance(t, nt.Array | nt.Float | nt.Integer | nt.Boolean) for t in types) and not any(
        isinstance(t, nt.Array) and isinstance(t.dtype, nt.Complex | nt.Record) for t in types
    )


def _foreign_error(function: Any, error: Exception) -> ForeignError:
    code = function.py_func.__code__
    return ForeignError(
        f"{function.__name__} raised {type(error).__name__}: {error}",
        span=Span(code.co_filename, code.co_firstlineno), fix="correct the arguments, or the function",
    )  # fmt: skip


def copied(value: Any) -> Any:
    """The value in memory of its own, with the same types."""
    if isinstance(value, np.ndarray):
        return shaped(value, value)
    if isinstance(value, tuple):
        items = [copied(v) for v in value]
        return type(value)._make(items) if hasattr(value, "_make") else tuple(items)
    if isinstance(value, list):
        return [copied(v) for v in value]
    if (typ := getattr(value, "_numba_type_", None)) is not None and hasattr(typ, "struct"):  # of a @jitclass
        from llgrad.frontends.numba import boxing

        return boxing.instance(typ)(*[copied(getattr(value, field)) for field in typ.struct])
    if not hasattr(value, "copy"):
        return value
    made = value.copy()  # Numba's own lists and dictionaries
    for key in list(value) if hasattr(value, "keys") else range(len(value) if hasattr(value, "__len__") else 0):
        made[key] = copied(value[key])
    return made


def _kind(leaf: Leaf) -> tuple[str, int]:
    return str(np.asarray(leaf.passed).dtype), np.ndim(leaf.passed)


class Nested:
    """A derivative of a function whose arguments or result are made of others, by the leaves of these."""

    def __init__(self, of: PerTypes, trees: Sequence[Tree], result: Tree | None) -> None:
        if of._options.get("has_aux") or isinstance(of.of, tuple | list):
            raise ArgumentError(
                f"{of.__name__} takes or returns tuples, lists or objects: has_aux and several outputs are for others",
                fix="let the function take arrays and numbers",
            )
        function = _flat(of.function, trees, result, of.of is not None)
        self._of, self._trees, self._result = of, trees, result
        every = [leaf for tree in trees for leaf in leaves(tree)]
        self._names = [leaf.name for leaf in every]
        self._wanted, self._single = self._chosen(every)
        wrt = tuple(self._names.index(leaf.name) for tree in self._wanted for leaf in _floats(tree))
        to = of.of if result is None else len(every)
        self.derivative = of._make(function, wrt, to if to is None else self._position(to), **of._options)

    def _position(self, of: Any) -> int:
        """Which leaf an output is."""
        if of == len(self._names):
            return len(self._names)
        name = self._of._names[of] if isinstance(of, int) else of
        if name not in self._names:
            raise ArgumentError(f"of={of!r} is no array among {', '.join(self._names)}", fix="name one of them")
        return self._names.index(name)

    def _chosen(self, every: Sequence[Leaf]) -> tuple[list[Tree], bool]:
        """By what to differentiate: trees of parameters, or leaves by their own names."""
        of, known = self._of, {leaf.name: leaf for leaf in every}
        parameters = dict(zip(of._names, self._trees, strict=True))
        if of.wrt is None:
            output = of._names[of.of] if isinstance(of.of, int) else of.of
            found = [t for name, t in parameters.items() if name != output and any(_floats(t))]
            if not found:
                raise ArgumentError(f"{of.__name__} has no float", fix="say by what to differentiate: wrt=…")
            return found, len(found) == 1
        asked = [of.wrt] if isinstance(of.wrt, str | int) else list(of.wrt)
        found = []
        for name in asked:
            name = of._names[name] if isinstance(name, int) and -len(of._names) <= name < len(of._names) else name
            tree = parameters.get(str(name)) or known.get(str(name))
            if tree is None or not any(_floats(tree)):
                what = f"{of.__name__} has no parameter {name!r}" if tree is None else f"wrt={name!r} holds no floats"
                raise ArgumentError(what, fix=f"name some of {', '.join(dict.fromkeys([*parameters, *known]))}")
            found.append(tree)
        return found, isinstance(of.wrt, str | int)

    def __call__(self, trees: Sequence[Tree], result: tuple[Tree, Any] | None, last: Any, options: Any) -> Any:
        """The derivative at arguments with these trees, for which this is the result."""
        passed = [leaf.passed for tree in trees for leaf in leaves(tree)]
        if result is not None:
            floats = [leaf for leaf in leaves(result[0]) if leaf.active]
            single = all(np.asarray(leaf.passed).dtype == np.float32 for leaf in floats)
            out = np.zeros(sum(int(np.prod(leaf.shape, dtype=int)) for leaf in floats), np.float32 if single else float)
            passed.append(out)
            if self._of.kind in ("grad", "value_and_grad", "vjp") and out.size != 1 and options.get("seed") is None:
                raise ArgumentError(
                    f"{self._of.__name__} returns {out.size} floats: a gradient is of one number",
                    fix="llgrad.vjp(…)(…, seed=…), with weights shaped as what it returns; None is zero",
                )
        wanted = self._of_call(trees)
        for what in ("tangents", "direction"):
            if options.get(what) is not None:
                options[what] = self._directions(wanted, options[what], what)
        if options.get("seed") is not None and result is not None:
            options["seed"] = _seed(result[0], options["seed"])
        last = [self._directions(wanted, direction, "direction") for direction in last]
        found = self.derivative(*passed, *last, **options)

        def value(flat: Any, like: Any = None) -> Any:
            if result is None:
                return flat
            found, n = np.asarray(flat), out.size
            several = found.ndim > 1 or found.size != n
            return gathered(result[0], found.reshape(-1, n) if several else found.reshape(n), like)

        gradient: Callable[[Any], Any] = functools.partial(self._gradient, wanted)
        match self._of.kind:
            case "grad" | "hvp":
                return gradient(found)
            case "value_and_grad" | "vjp":
                return value(found[0], result and result[1]), gradient(found[1])
            case "jvp":
                return value(found[0], result and result[1]), value(found[1])
            case "jacobian":
                return gradient(self._matrices(found, result))
        rows = [gradient(row) for row in found]
        return self._gradient(wanted, rows)

    def _of_call(self, trees: Sequence[Tree]) -> list[Tree]:
        """What is differentiated by, of this call."""
        known = {t.name: t for tree in trees for t in [tree, *leaves(tree)]}
        return [known[t.name] for t in self._wanted]

    def _directions(self, wanted: Sequence[Tree], given: Any, what: str) -> list[Any]:
        several = [given] if self._single else given
        if not isinstance(several, tuple | list) or len(several) != len(wanted):
            raise ArgumentError(f"{what} must be {len(wanted)} values, for {', '.join(t.name for t in wanted)}")
        return [d for tree, g in zip(wanted, several, strict=True) for _, d in spread(tree, g, what)]

    def _gradient(self, wanted: Sequence[Tree], parts: Sequence[Any]) -> Any:
        names = [leaf.name for tree in wanted for leaf in _floats(tree)]
        by_name = dict(zip(names, parts, strict=True))
        found = tuple(built(tree, by_name) for tree in wanted)
        return found[0] if self._single else found

    def _matrices(self, found: Sequence[Any], result: Any) -> list[Any]:
        if result is None:
            return list(found)
        floats = [leaf for leaf in leaves(result[0]) if leaf.active]
        if len(floats) != 1 or floats[0].kind == "complex":
            raise UnsupportedError(
                f"the Jacobian of {self._of.__name__}, which returns more than one array of floats, is no matrix",
                fix="use vjp or jvp",
            )
        return [f.reshape(*floats[0].shape, *f.shape[1:]) for f in found]


def _floats(tree: Tree) -> Iterator[Leaf]:
    return (leaf for leaf in leaves(tree) if leaf.active)


def _seed(result: Tree, given: Any) -> Any:
    """The weights of all floats of a result in one vector; an axis more in front of an array stays."""
    if isinstance(result, Leaf) and result.kind == "plain" and np.ndim(given) == len(result.shape) + 1:
        return np.reshape(given, (len(given), -1))
    parts = []
    for leaf, part in spread(result, given, "seed"):
        if np.shape(part) != leaf.shape:
            raise ArgumentError(f"the seed of {leaf.name} has shape {np.shape(part)}, not {leaf.shape}")
        parts.append(np.reshape(part, -1))
    return np.concatenate(parts)


def returned(dispatcher: Any, passed: Sequence[Any], trees: Sequence[Tree]) -> str:
    """The name of the type that a function returns."""
    import numba

    call, values = _call(dispatcher, trees)
    names = [f"a{n}" for n in range(len(passed))]
    made = _defined(dispatcher, names, [f"return {call}"], values)
    return result_type(made, [numba.typeof(p) for p in passed], _where(dispatcher))


def _flat(dispatcher: Any, trees: Sequence[Tree], result: Tree | None, ignored: bool) -> ForeignFunction:
    """The function of all leaves and, last, the vector for what it returns."""
    import numba

    every = [leaf for tree in trees for leaf in leaves(tree)]
    call, values = _call(dispatcher, trees)
    names, types = [f"a{n}" for n in range(len(every))], [numba.typeof(leaf.passed) for leaf in every]
    labels = [leaf.name for leaf in every]
    lines = [call] if ignored else [f"return {call}"]
    if result is not None:
        stored = list(stores(result, "r"))
        if not stored:
            raise ArgumentError(f"{dispatcher.__name__} returns no float", fix="name the output: of=…")
        sizes = " + ".join(size for _, size in stored)
        lines = [f"r = {call}", f"if {sizes} != out.size:", "    raise ValueError('its shape changed')", "k = 0"]
        lines += [statement for statement, _ in stored]
        single = all(np.asarray(leaf.passed).dtype == np.float32 for leaf in leaves(result) if leaf.active)
        names, labels = [*names, "out"], [*labels, "result"]
        types.append(numba.typeof(np.zeros(1, np.float32 if single else np.float64)))
    made = _defined(dispatcher, names, lines, values)
    found = specialised(made, types, labels, _where(dispatcher))
    assert found is not None
    return found


def _where(dispatcher: Any) -> Span:
    code = dispatcher.py_func.__code__
    return Span(code.co_filename, code.co_firstlineno)


def _call(dispatcher: Any, trees: Sequence[Tree]) -> tuple[str, dict[str, Any]]:
    """The expression that calls the function, and what it speaks of."""
    values: dict[str, Any] = {"function": dispatcher}
    names = (f"a{n}" for n in itertools.count())
    parameters = inspect.signature(dispatcher.py_func).parameters.values()
    stars = ["*" if p.kind is p.VAR_POSITIONAL else "" for p in parameters]
    given = [star + expression(tree, names, values) for star, tree in zip(stars, trees, strict=True)]
    return f"function({', '.join(given)})", values


def _defined(dispatcher: Any, names: Sequence[str], lines: Sequence[str], values: dict[str, Any]) -> Any:
    """An @njit function with this body."""
    import numba

    text = f"def flat({', '.join(names)}):\n    " + "\n    ".join(lines) + "\n"
    scope = {"c8": np.complex64, "c16": np.complex128, "single": np.complex64, **_helpers(), **values}
    exec(compile(text, f"<{dispatcher.__name__}, called by llgrad>", "exec"), scope)
    made = scope["flat"]
    made.__name__ = dispatcher.__name__
    return numba.njit(made)


@functools.cache
def _helpers() -> dict[str, Any]:
    """What makes typed lists."""
    import numba
    from numba.typed import List

    def typed(values: Any) -> Any:
        made = List()
        for v in values:
            made.append(v)
        return made

    compiled = numba.njit(typed)
    return {"typed": compiled, "several": compiled}


def specialised(
    dispatcher: Any, types: Sequence[Any], labels: Sequence[str] = (), source: Span | None = None
) -> ForeignFunction | None:
    """The function compiled for these Numba types, as a foreign function; None if it returns more than a number.

    `labels` are the names of its parameters, if others than the function's own; `source` is where the user wrote it.
    """
    compiled = compile_function(dispatcher, types, labels, source)
    if compiled is None:
        return None
    name = dispatcher.py_func.__name__
    symbol = f"llgrad.numba.{''.join(c if c.isascii() and c.isalnum() else '_' for c in name)}"  # (also of `<lambda>`)
    signature = _signature(compiled, name, symbol)
    wrapper = _wrapper(compiled, signature)
    libraries.give(generators())
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
    carried: tuple[str, ...] = ARRAY
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
