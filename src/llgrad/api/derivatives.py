"""Derivatives of foreign functions: `value_and_grad`, `grad`, `vjp` (reverse mode) and `jvp` (forward mode).

`wrt` says by which parameters: a name or a position gives one derivative, a tuple gives a tuple. `of` names the pointer
through which the function writes its result; without it the derivative is of the returned float. A derivative function
takes the arguments of the function, runs it (arrays are written as the function writes them) and returns new arrays.

What each parameter becomes in the request: in `wrt`: dup (pointers), out or dup (floats). `of`, and any other pointer
through which floats may be written: dup with a cleared shadow of its own, for active values may pass through it. Const
pointers and integers: const. Memory with pointers in it must be behind a const pointer. An array that may be written
must overlap no other; arrays that are only read may (the derivative by each is then the partial one, and another
variant is compiled).
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from llgrad.api.per_values import PerValues
from llgrad.autodiff.requests.checkpoint_schedule import How
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import ArgumentError, ForeignError, UnsupportedError, at_the_caller
from llgrad.execution.arguments import holds_addresses, refuse_overlap
from llgrad.execution.entry import ARENA
from llgrad.execution.library import ForeignFunction, with_parameters
from llgrad.execution.loaded import Compiled
from llgrad.execution.passing import Table, is_scalar, shaped, spread_acts, spread_shadows, zeros
from llgrad.execution.size_checks import Test
from llgrad.models.mpi import HANDLES
from llgrad.signature import Array, Complex, Opaque, Parameter, Pointer, Scalar, Struct, Void
from llgrad.support.uncopied import Uncopied
from llgrad.transforms.guard.denormals import flushes

Names = str | int | Sequence[str | int] | None
LANES = 8  # directions in one sweep, at most


Checkpoints = str | int | Mapping[str, str | int] | Mapping[int, str | int] | Mapping[str | int, str | int] | None


class Options(TypedDict, total=False):
    """What every function that makes derivatives takes by name.

    strong_zero       a zero seed, tangent or adjoint times infinity or NaN is zero
    runtime_activity  pointers that may point to active memory or to that of constant arguments are told apart as the
                      derivative runs; without it they are an ActivityError
    checkpoint        reverse mode: steps of long loops are run again instead of being kept on the tape. "sqrt",
                      "revolve", "revolve:20" (checkpoints) or a number of bytes, for all loops that leave a tape; or a
                      dict from lines (12, "file.c:12") to these
    strict            adjoints are added and multiplied as they are written down: LLVM may not reorder these sums, nor
                      contract them with products
    denormals         "flush": numbers below 2**-1022 count as zero while the derivative runs, which is faster where
                      there are many; what was set before is set again afterwards
    unchecked         calls are not checked for accesses outside of the arrays that they are given
    argnums           another name of `wrt`, as JAX has it
    """

    strong_zero: bool
    runtime_activity: bool
    checkpoint: Checkpoints
    denormals: str | None
    strict: bool
    unchecked: bool
    argnums: Names


EXTRA = {
    "value_and_grad": ("seed",), "grad": ("seed",), "vjp": ("seed",), "jvp": ("tangents",), "hessian": ("seed",),
    "hvp": ("direction", "seed"),
}  # fmt: skip
"""What a call of a derivative takes beside the function's arguments: a direction by position, others by name."""


class Derivative(Uncopied):
    """A compiled derivative of one function. Made by `value_and_grad`, `grad`, `vjp` and `jvp`."""


    def __init__(
        self, function: ForeignFunction, mode: Mode, wrt: Names, of: str | int | None, kind: str, *,
        compile: bool = True, **options: Unpack[Options],
    ) -> None:  # fmt: skip
        """Checks names and compiles; errors of synthesis come from here."""
        if not isinstance(function, ForeignFunction):
            raise ArgumentError(
                f"{kind} takes a function of a library, not {type(function).__name__} {function!r}"[:200],
                fix="llgrad.hvp and llgrad.hessian make second derivatives"
                if isinstance(function, Derivative)
                else "lib = llgrad.load(…), then lib.name",
            )
        if unknown := sorted(set(options) - set(Options.__annotations__)):
            raise ArgumentError(
                f"{kind} takes no option {unknown[0]!r}, but {', '.join(Options.__annotations__)}; "
                "wrt names the parameters, of the output"
            )
        function.require_supported()
        flushes(options.get("denormals"))
        self.unchecked = options.pop("unchecked", False)
        self.function, self.mode, self.kind, self.options = function, mode, kind, options
        self.signature = function.signature
        of = _only_output(function) if of is None else of
        self.of = None if of is None else _position(function, of, "of")
        self.wrt, self.single = _positions(function, wrt, self.of)
        self._check_names()
        self.acts = tuple(self._act(p) for p in self.signature.parameters)
        self.result = self._result_act()
        self.__name__ = f"{kind}_{self.signature.name}"
        self.__doc__ = self._document()
        self.__signature__ = with_parameters(function.__signature__, EXTRA.get(kind, ()))
        self._variants: dict[tuple[bool, int], Compiled] = {}
        self._tests: dict[tuple[bool, int], Test | None] = {}
        self._lock = threading.Lock()
        self._peak = 0
        self.default_seed: Any = None
        if compile:
            self._compiled(self.may_be_disjoint())

    def __reduce__(self) -> Any:
        """Pickled as what was asked for; compiled, or found in the cache, at its first call."""
        wrt = self.wrt[0] if self.single else self.wrt
        options = {**self.options, "unchecked": self.unchecked}
        return _again, (type(self), self.function, self.mode, wrt, self.of, self.kind, options, self.default_seed)

    # --- calling

    def run(self, args: Sequence[Any], named: dict[str, Any], seed: Any, tangents: Any) -> tuple[Any, Any]:
        """Value and derivative; see the functions that make derivatives."""
        values = self.function.values(args, named)
        shadows = self._shadows(values, seed, tangents)
        results = self._sweep(values, [shadows], [seed], self._disjoint(values))
        return self._value(values, results), self._derivatives(shadows, results, 0, 1)

    def run_many(
        self, args: Sequence[Any], named: dict[str, Any], count: int, direction: Callable[[int], Any]
    ) -> tuple[Any, list[Any]]:
        """Value, and the derivatives along `count` directions (seeds or tangents), several in one sweep."""
        values = self.function.values(args, named)
        if any(isinstance(v, Table) for v in values):
            raise UnsupportedError(
                f"{self.signature.name} takes pointers to pointers: a direction a call", fix="call vjp or jvp for each"
            )
        disjoint = self._disjoint(values)
        most = 1 if self.function.library.passes_messages else LANES
        width = min(most, 1 << (max(count, 1) - 1).bit_length())
        before = [v.copy() if count > width and self._may_write(n, v) else None for n, v in enumerate(values)]
        found: list[Any] = []
        results: tuple[Any, ...] = ()
        first: Any = None
        rooms = {} if self.mode is Mode.FORWARD else self._rooms(values, -(-max(count, 1) // width) * width)
        for start in range(0, max(count, 1), width):
            for v, old in zip(values, before, strict=True):
                if start and old is not None:
                    v[...] = old
            given = [direction(min(k, count - 1)) for k in range(start, start + width)]
            forward = self.mode is Mode.FORWARD
            own = [{n: room[k] for n, room in rooms.items()} for k in range(start, start + width)]
            lanes = [
                self._shadows(values, None if forward else g, g if forward else None, r)
                for g, r in zip(given, own, strict=True)
            ]
            results = self._sweep(values, lanes, given, disjoint)
            if start:
                require_same(self.signature.name, first, self._value(values, results))
            elif count > width:
                first = self._value(values, results)
            found += [self._derivatives(lane, results, n, width) for n, lane in enumerate(lanes)]
        return self._value(values, results), found[:count]

    def _disjoint(self, values: Sequence[Any]) -> bool:
        return not refuse_overlap(self.signature, values) and self.may_be_disjoint()

    def _may_write(self, n: int, value: Any) -> bool:
        t = self.signature.parameters[n].type
        return isinstance(value, np.ndarray) and not (isinstance(t, Pointer) and t.const)

    def _sweep(
        self, values: Sequence[Any], lanes: Sequence[Sequence[Any]], seeds: Sequence[Any], disjoint: bool
    ) -> tuple[Any, ...]:
        """What the derivative of as many lanes returns; `lanes` are shadows, one a parameter."""
        passed: list[Any] = [] if self.mode is Mode.FORWARD else [ARENA]
        passed += spread_shadows(self.signature, values, self.acts, lanes)
        if self.result is Act.OUT:
            passed += [1.0 if seed is None else number(seed, "seed") for seed in seeds]
        compiled = self._compiled(disjoint, len(lanes))
        results, self._peak = compiled.code.call(compiled.entry, passed, self._tests[disjoint, len(lanes)])
        return results

    def __repr__(self) -> str:
        names = ", ".join(self.signature.parameters[n].name for n in self.wrt)
        of = f", of {self.signature.parameters[self.of].name}" if self.of is not None else ""
        return f"<{self.kind} by {names}{of}: {self.signature}>"

    # --- what was compiled

    @property
    def compile_seconds(self) -> float:
        """What differentiating and compiling (or finding it in the cache) took."""
        return sum(c.seconds for c in self._variants.values())

    @property
    def tape_bytes(self) -> int:
        """Peak size of the tape in the last call."""
        return self._peak

    @property
    def ir(self) -> str:
        """The optimised LLVM IR of the derivative."""
        return next(iter(self._variants.values())).ir

    @property
    def request(self) -> Request:
        """What synthesis was asked for."""
        return self.request_for(self.may_be_disjoint())

    @property
    def plan(self) -> str:
        """What is kept on the tape and what is recomputed, as text. Reverse mode only."""
        from llgrad.programs.derivatives import derived

        if self.mode is Mode.FORWARD:
            raise ArgumentError("forward mode has no plan", cause="it keeps nothing")
        asked = self.function.library.asked(self.request)
        made, _ = derived(self.function.library.promised(asked), [asked])
        return str(made.plan(self.signature.symbol, False))

    def request_for(self, disjoint: bool, width: int = 1) -> Request:
        """What synthesis is asked for, with or without the promise that no arrays overlap."""
        wants_result = self.of is None
        acts = spread_acts(self.signature, self.acts)
        symbol = self.signature.symbol
        return Request(symbol, self.mode, acts, self.result, wants_result, disjoint, width, **self.flags)

    @property
    def flags(self) -> dict[str, Any]:
        """The options as a request has them."""
        given: dict[str, Any] = {**self.options}
        flush = flushes(given.pop("denormals", None))
        return {**given, "checkpoint": checkpoints(given.get("checkpoint")), "flush": flush}

    def _compiled(self, disjoint: bool, width: int = 1) -> Compiled:
        with self._lock:
            if (disjoint, width) not in self._variants:
                request = self.request_for(disjoint, width)
                self._tests[disjoint, width] = self._test(width)  # first: it reads the module that the derivative takes
                self._variants[disjoint, width] = self.function.library.derivative(request)
            return self._variants[disjoint, width]

    def _test(self, width: int) -> Test | None:
        """What calls of a variant check the sizes of arrays by."""
        if self.unchecked:
            return None
        at, n = [], 0 if self.mode is Mode.FORWARD else 1
        for act in spread_acts(self.signature, self.acts):
            shadows = self._lanes(act, width)
            at.append((n, shadows))
            n += 1 + shadows
        return self.function.library.test(self.function.facts.signature.symbol, at, True)

    def _lanes(self, act: Act, width: int) -> int:
        """How many shadows follow an argument."""
        return width if act is Act.DUP else 0

    def may_be_disjoint(self) -> bool:
        """Can the caller see all memory that is reached? Not through pointers in memory."""
        pointers = [p.type.to for p in self.signature.parameters if isinstance(p.type, Pointer)]
        return not any(holds_addresses(t) and not isinstance(t, Opaque) for t in pointers)

    # --- what is asked for

    def _check_names(self) -> None:
        for n in self.wrt:
            _require_active(self.function, self.signature.parameters[n])
        if self.of is None:
            return
        p = self.signature.parameters[self.of]
        if not isinstance(p.type, Pointer) or p.type.const or not _holds_only_floats(p.type):
            raise ArgumentError(
                f"of={p.name!r} is no output of {self.signature.name}",
                span=self.signature.source,
                cause=f"it is declared {p.type.declare(p.name)}",
                fix="name a pointer to floats that is not const",
            )

    def _act(self, p: Parameter) -> Act:
        if p.index in self.wrt:
            return Act.DUP if isinstance(p.type, Pointer) or self.mode is Mode.FORWARD else Act.OUT
        if not isinstance(p.type, Pointer) or (t := p.type.innermost).const:
            return Act.CONST
        if isinstance(t.to, Scalar) and t.to.kind != "float":
            return Act.CONST
        if isinstance(t.to, Opaque) and t.to.name in HANDLES:
            return Act.CONST
        if holds_addresses(t.to) and not isinstance(t.to, Opaque):
            raise UnsupportedError(
                f"parameter {p.name} of {self.signature.name} reaches memory through pointers in memory",
                span=self.signature.source,
                cause=f"it is declared {p.type.declare(p.name)} and may be written, but Python cannot make its shadow",
                fix="declare it const if it is only read, or differentiate a C wrapper that takes flat arrays",
            )
        return Act.DUP

    def _result_act(self) -> Act:
        if self.of is not None:
            return Act.CONST
        result = self.signature.result
        if isinstance(result, Scalar) and result.kind == "float":
            return Act.DUP if self.mode is Mode.FORWARD else Act.OUT
        outputs = [p.name for p in self.signature.parameters if _writable_floats(p)]
        raise ArgumentError(
            f"{self.signature.name} returns {result}: what is to be differentiated?",
            span=self.signature.source,
            cause=f"its signature is {self.signature}",
            fix=f"name the output: of={outputs[-1]!r}" if outputs else "differentiate a function that returns a float",
        )

    # --- shadows

    def _rooms(self, values: Sequence[Any], count: int) -> dict[int, Any]:
        """Memory for `count` gradients by each parameter that is an ordinary array: no copy makes a batch of them."""
        arrays = {n: v for n, v in enumerate(values) if n in self.wrt and isinstance(v, np.ndarray) and n != self.of}
        plain = {n: v for n, v in arrays.items() if v.ndim and v.flags.c_contiguous and v.dtype.kind == "f"}
        return {n: np.zeros((count, *v.shape), v.dtype) for n, v in plain.items()}

    def _shadows(
        self, values: Sequence[Any], seed: Any, tangents: Any, rooms: Mapping[int, Any] = MappingProxyType({})
    ) -> list[Any]:
        """`rooms`: cleared memory for the shadows of some parameters."""
        shadows = [
            None if self.acts[n] is not Act.DUP else rooms[n] if n in rooms else self._cleared(n, v)
            for n, v in enumerate(values)
        ]
        if self.mode is Mode.FORWARD:
            given = self._tangents(tangents)
            for n, t in zip(self.wrt, given, strict=True):
                shadows[n] = fitted(values[n], t, "tangent", self._name(n)) if values[n] is not None else None
        elif self.of is not None:
            shadows[self.of] = self._seed(values[self.of], seed)
        return shadows

    def _cleared(self, n: int, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Table):
            return value.each(zeros)
        if not isinstance(value, np.ndarray):
            if isinstance(self.signature.parameters[n].type, Pointer):
                raise ArgumentError(
                    f"argument {self._name(n)!r} is an address: its memory cannot get a shadow",
                    fix="pass a NumPy array",
                )
            return 0.0
        wanted = n in self.wrt or n == self.of
        if wanted and value.dtype.kind != "f" and value.dtype.names is None and value.dtype.name != "bfloat16":
            bits = value.dtype == np.uint16
            raise ArgumentError(
                f"argument {self._name(n)!r} has dtype {value.dtype}, which has no derivative",
                fix="pass floats (bits of bfloats as an array of ml_dtypes.bfloat16)" if bits else "pass floats",
            )
        return zeros(value)

    def _seed(self, output: Any, seed: Any) -> Any:
        name = self._name(self.of or 0)
        if output is None:
            raise ArgumentError(f"argument {name!r} is None, but its derivative is wanted")
        if seed is not None:
            return fitted(output, seed, "seed", name)
        if output.size != 1:
            raise ArgumentError(
                f"{name} has {output.size} elements: a gradient is of one number",
                fix=f"llgrad.vjp(…, of={name!r}), called with seed=… (one weight an element)",
            )
        return shaped(output, np.ones(output.shape, output.dtype))

    def _tangents(self, tangents: Any) -> Sequence[Any]:
        if tangents is None:
            raise ArgumentError("a jvp needs tangents", fix="pass tangents=…: one for each parameter in wrt")
        if self.single:
            return [tangents]
        if not isinstance(tangents, tuple | list) or len(tangents) != len(self.wrt):
            names = ", ".join(self._name(n) for n in self.wrt)
            raise ArgumentError(f"tangents must be {len(self.wrt)} values, for {names}", fix="pass a tuple")
        return tangents

    def _given(self, n: int, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """What a call passes for parameter `n`, not checked yet."""
        return args[n] if n < len(args) else named.get(self._name(n))

    def _name(self, n: int) -> str:
        return self.signature.parameters[n].name

    # --- results

    def _value(self, values: Sequence[Any], results: tuple[Any, ...]) -> Any:
        if self.of is None:
            return results[0]
        return _contents(values[self.of])

    def _derivatives(self, shadows: Sequence[Any], results: tuple[Any, ...], lane: int, width: int) -> Any:
        """What one lane of a sweep found."""
        own = results[1:] if self.of is None else results
        if self.mode is Mode.FORWARD:
            return own[lane] if self.of is None else _contents(shadows[self.of])
        adjoints = iter(own[lane::width])
        by_parameter = {n: next(adjoints) for n, act in enumerate(self.acts) if act is Act.OUT}
        found = tuple(by_parameter[n] if self.acts[n] is Act.OUT else self._adjoint(n, shadows[n]) for n in self.wrt)
        return found[0] if self.single else found

    def _adjoint(self, n: int, shadow: Any) -> Any:
        """A shadow as the user gets it: a number for a number that is passed by reference."""
        if isinstance(shadow, Table):
            return shadow.contents()
        return shadow.item() if is_scalar(self.signature.parameters[n].type) and np.ndim(shadow) == 0 else shadow

    def _document(self) -> str:
        return f"{self!r}\n\n{self.signature};"


class ValueAndGrad(Derivative):
    """Call it with the function's arguments: value and gradient."""


    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """(value, gradient); `seed` weighs the elements of the output."""
        return self.run(args, named, self.default_seed if seed is None else seed, None)


class Grad(ValueAndGrad):
    """Call it with the function's arguments: the gradient."""

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """The gradient; `seed` weighs the elements of the output."""
        return super().__call__(*args, seed=seed, **named)[1]


class Vjp(ValueAndGrad):
    """Call it with the function's arguments and `seed`: value and seed-weighted gradient.

    A seed with one axis more than the output, in front, is a batch: so are the gradients then.
    """

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """(value, gradient); `seed` weighs the elements of the output."""
        if seed is None:
            return super().__call__(*args, **named)
        seeds = _batch([0.0 if self.of is None else self._given(self.of, args, named)], [seed])
        if seeds is None:
            return super().__call__(*args, seed=seed, **named)
        value, found = self.run_many(args, named, len(seeds), lambda k: seeds[k][0])
        rows = [[g] for g in found] if self.single else found
        stacked = tuple(_stacked([row[n] for row in rows]) for n in range(len(self.wrt)))
        return value, stacked[0] if self.single else stacked


class Jvp(Derivative):
    """Call it with the function's arguments and `tangents`: value and tangent.

    Tangents with one axis more than their parameters, in front, are a batch: so is what comes back.
    """

    @at_the_caller
    def __call__(self, *args: Any, tangents: Any = None, **named: Any) -> Any:
        """(value, its directional derivative along `tangents`)."""
        batch = _batch([self._given(n, args, named) for n in self.wrt], self._tangents(tangents))
        if batch is None:
            return self.run(args, named, None, tangents)
        one = (lambda k: batch[k][0]) if self.single else (lambda k: batch[k])
        value, found = self.run_many(args, named, len(batch), one)
        return value, np.array(found)


def _again(
    made: type[Derivative], function: ForeignFunction, mode: Mode, wrt: Names, of: int | None, kind: str,
    options: dict[str, Any], seed: Any,
) -> Derivative:  # fmt: skip
    """A derivative where it is unpickled."""
    found = made.__new__(made)
    Derivative.__init__(found, function, mode, wrt, of, kind, compile=False, **options)
    found.default_seed = seed
    return found


_Made = TypeVar("_Made", bound=Callable[..., Any])


def dispatched(make: _Made) -> _Made:
    """What is known at the call only is waited for: types of Numba functions, and values of `specialize`."""

    @at_the_caller
    @functools.wraps(make)
    def made(function: Any, *args: Any, **named: Any) -> Any:
        if "argnums" in named:
            if args or "wrt" in named:
                raise ArgumentError(f"{make.__name__} takes wrt or argnums, which mean the same", fix="leave one out")
            named["wrt"] = named.pop("argnums")
        if names := named.pop("specialize", None):
            return PerValues(function, names, made, args, named, extra=EXTRA.get(make.__name__, ()))
        if "numba.core.dispatcher" in sys.modules:
            from llgrad.numba import PerTypes, is_numba

            if is_numba(function):
                given = inspect.signature(make).bind(function, *args, **named).arguments
                given = {name: v for name, v in given.items() if name not in ("function", "options")}
                return PerTypes(function, make, {**given, **named})
        return make(function, *args, **named)

    return made  # type: ignore[return-value]


@dispatched
def value_and_grad(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None, seed: Any = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> ValueAndGrad:  # fmt: skip
    """A function that returns (value, gradient).

    wrt    a name or position, or a tuple of them; by default all floats that the function only reads
    of     the pointer through which the function writes its result; by default its returned float
    seed   weights of the elements of `of`; needed where it has more than one, may be given at the call
    specialize  names of numbers (sizes, say) that seldom change: a derivative is made for each combination of their
           values, when it is first asked for, with loops of known length (see `ForeignFunction.specialized`)
    options  see `Options`

    The value is a float if there is one element, else a copy of the contents of `of`. Gradients have the shapes of the
    arguments. Raises UnknownNameError, ArgumentError, and UnsupportedError for what cannot be differentiated.
    """
    made = ValueAndGrad(function, Mode.COMBINED, wrt, of, "value_and_grad", **options)
    made.default_seed = seed
    return made


@dispatched
def grad(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None, seed: Any = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> Grad:  # fmt: skip
    """A function that returns the gradient; see `value_and_grad`."""
    made = Grad(function, Mode.COMBINED, wrt, of, "grad", **options)
    made.default_seed = seed
    return made


@dispatched
def vjp(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> Vjp:  # fmt: skip
    """A function that takes `seed=` (shaped as the output) and returns (value, seed · Jacobian)."""
    return Vjp(function, Mode.COMBINED, wrt, of, "vjp", **options)


@dispatched
def jvp(
    function: ForeignFunction, wrt: Names = None, of: str | int | None = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> Jvp:  # fmt: skip
    """A function that takes `tangents=` (shaped as `wrt`) and returns (value, Jacobian · tangents)."""
    return Jvp(function, Mode.FORWARD, wrt, of, "jvp", **options)


# --- names -----------------------------------------------------------------------------------------------------------


def _positions(function: ForeignFunction, wrt: Names, of: int | None) -> tuple[tuple[int, ...], bool]:
    if wrt is None:
        anything = function.signature.language == "Python"  # which has no const to go by
        free = [p for p in function.signature.parameters if p.index != of and p.name not in function.constants]
        found = tuple(p.index for p in free if (_floats(p) if anything else _only_read_floats(function, p)))
        if not found:
            raise ArgumentError(
                f"{function.signature.name} has no float that it only reads", fix="say by what to differentiate: wrt=…"
            )
        return found, len(found) == 1
    if isinstance(wrt, str | int):
        return (_position(function, wrt, "wrt"),), True
    found = tuple(_position(function, w, "wrt") for w in wrt)
    if not found:
        raise ArgumentError("wrt is empty", fix="name at least one parameter")
    if len(set(found)) < len(found):
        raise ArgumentError(f"wrt={wrt!r} names a parameter twice", fix="name each once")
    return found, False


def _only_output(function: ForeignFunction) -> str | None:
    """The output of a function that returns nothing and has one alone."""
    if not isinstance(function.signature.result, Void) or function.roles is None:
        return None
    names = [m.name for m in function.roles.outputs]
    return names[0] if len(names) == 1 else None


def _position(function: ForeignFunction, name: str | int, what: str) -> int:
    if isinstance(name, str):
        return function.signature.parameter(name).index
    count = len(function.signature.parameters)
    if isinstance(name, bool) or not isinstance(name, int):
        raise ArgumentError(f"{what}={name!r} is neither a name nor a position", fix=f'write {what}="name"')
    if not -count <= name < count:
        raise ArgumentError(
            f"{what}={name} is no position of {function.signature.name}",
            cause=f"it has {count} parameters, counted from 0",
        )
    return name % count


def checkpoints(said: Checkpoints) -> tuple[tuple[str, str], ...]:
    """What `Request.checkpoint` is for what the user says; ArgumentError for what is no way to take checkpoints."""
    if said is None:
        return ()
    found = {str(k): str(v) for k, v in said.items()} if isinstance(said, Mapping) else {"": str(said)}
    for how in said.values() if isinstance(said, Mapping) else [said]:
        How.of(how)
    return tuple(found.items())


def _require_active(function: ForeignFunction, p: Parameter) -> None:
    if p.name in function.constants:
        raise ArgumentError(
            f"wrt={p.name!r} has no derivative: {function.signature.name} was specialised to one value of it"
        )
    t = p.type.innermost.to if isinstance(p.type, Pointer) else p.type
    while isinstance(t, Array):
        t = t.element
    if isinstance(t, Scalar) and t.kind == "float" or isinstance(t, Opaque) and isinstance(p.type, Pointer):
        return
    if isinstance(t, Struct) and isinstance(p.type, Pointer) and not holds_addresses(t):
        return
    where, declared = function.signature.source, f"it is declared {p.type.declare(p.name)}"
    if isinstance(t, Complex):
        raise UnsupportedError(
            f"wrt={p.name!r} is complex", span=where, cause=declared, fix="pass real and imaginary parts as floats"
        )
    raise ArgumentError(
        f"wrt={p.name!r} has no derivative: it holds no floats", span=where, cause=declared,
        fix="name parameters that are floats or point to floats",
    )  # fmt: skip


def _holds_only_floats(t: Pointer) -> bool:
    to = t.to.element if isinstance(t.to, Array) else t.to
    return isinstance(to, Scalar) and to.kind == "float" or isinstance(to, Opaque)


def _writable_floats(p: Parameter) -> bool:
    return isinstance(p.type, Pointer) and not p.type.const and _holds_only_floats(p.type)


def _floats(p: Parameter) -> bool:
    t = p.type.to if isinstance(p.type, Pointer) else p.type
    return isinstance(t, Scalar) and t.kind == "float"


def _only_read_floats(function: ForeignFunction, p: Parameter) -> bool:
    """By its declaration or, where that does not say so, by what LLVM finds."""
    if isinstance(p.type, Pointer):
        if not _holds_only_floats(p.type) or isinstance(p.type.to, Opaque):
            return False
        effects = function.library.effects
        return p.type.const or effects(function.signature.symbol).access[p.ir_arguments[0]] == "read"
    return isinstance(p.type, Scalar) and p.type.kind == "float"


# --- values ----------------------------------------------------------------------------------------------------------


def _batch(values: Sequence[Any], given: Sequence[Any]) -> list[tuple[Any, ...]] | None:
    """The directions in a batch, where each thing given has one axis more than its value; else None."""
    shapes = [np.shape(g) for g in given]
    wider = [v is not None and len(s) == np.ndim(v) + 1 for s, v in zip(shapes, values, strict=True)]
    if not wider or not all(wider) or len({s[0] for s in shapes}) != 1 or not shapes[0][0]:
        return None
    return list(zip(*given, strict=True))


def _stacked(rows: Sequence[Any]) -> Any:
    """Arrays as one with an axis more: that which they are the rows of, or a new one."""
    whole = getattr(rows[0], "base", None)
    if not isinstance(whole, np.ndarray) or whole.shape[1:] != rows[0].shape or not all(r.base is whole for r in rows):
        return np.array(rows)
    at, size = whole.__array_interface__["data"][0], whole.strides[0]
    in_order = all(r.__array_interface__["data"][0] == at + n * size for n, r in enumerate(rows))
    return whole[: len(rows)] if in_order else np.array(rows)


def _contents(array: np.ndarray[Any, Any]) -> Any:
    """One element as a number, several as a copy."""
    return array.reshape(-1)[0].item() if array.size == 1 else array.copy()


def number(given: Any, what: str) -> Any:
    """A float; a longer one as it is."""
    _require_real(given, what)
    try:
        return given if isinstance(given, np.longdouble) else float(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{what} must be a number here, not {given!r}"[:200]) from error


def require_same(name: str, one: Any, other: Any) -> None:
    """ForeignError where two runs of a function for the same arguments give other values."""
    if not np.array_equal(one, other, equal_nan=True):
        raise ForeignError(
            f"{name} gives another value each time that it runs, and what is asked for takes several runs",
            cause="it changes variables of its own: each run begins with what the one before has left",
            fix="pass what it keeps as arguments, or ask for single products (vjp, jvp, hvp), each of which is one run",
        )


def _require_real(given: Any, what: str) -> None:
    """ArgumentError for complex numbers, of which NumPy would drop the imaginary parts."""
    if np.iscomplexobj(given):
        raise ArgumentError(f"{what} is complex, but what it goes with is real", fix="pass real numbers")


def fitted(value: Any, given: Any, what: str, name: str) -> Any:
    """`given` as a new array (or number, or table) that fits `value`."""
    if isinstance(value, Table):
        if not isinstance(given, list | tuple | np.ndarray) or len(given) != len(value.rows):
            raise ArgumentError(f"the {what} of {name} must be a list of {len(value.rows)} arrays")
        rows = [r if r is None else fitted(r, g, what, name) for r, g in zip(value.rows, given, strict=True)]
        return Table(rows, value.stacked)
    if not isinstance(value, np.ndarray):
        return number(given, f"the {what} of {name}")
    _require_real(given, f"the {what} of {name}")
    try:
        made = np.array(given, dtype=value.dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"the {what} of {name} is no array of {value.dtype}", cause=str(error)) from error
    if made.shape != value.shape:
        if made.ndim == 0 and value.size == 1:
            return shaped(value, made.reshape(value.shape))
        raise ArgumentError(
            f"the {what} of {name} has shape {made.shape}, not {value.shape}", fix=f"give it the shape of {name}"
        )
    return shaped(value, made)


__all__ = ["Derivative", "Options", "grad", "jvp", "value_and_grad", "vjp"]
