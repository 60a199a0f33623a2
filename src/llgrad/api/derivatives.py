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
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np

from llgrad.api.directions import Direction, batch, contents, fitted, listed, number, require_same, stacked_each
from llgrad.api.names import RETURN, Names, inputs_of, outputs_of, require_active, writable_floats, written_by
from llgrad.api.options import EXTRA, Options, checkpoints
from llgrad.api.per_values import PerValues
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import ArgumentError, UnsupportedError, at_the_caller
from llgrad.execution.arguments import holds_addresses, refuse_overlap
from llgrad.execution.entry import ARENA
from llgrad.execution.library import ForeignFunction, with_parameters
from llgrad.execution.loaded import Compiled
from llgrad.execution.passing import Table, is_code, is_scalar, shaped, spread_acts, spread_shadows, zeros
from llgrad.execution.size_checks import Test
from llgrad.models.mpi import HANDLES
from llgrad.signature import Opaque, Parameter, Pointer, Scalar
from llgrad.support.uncopied import Uncopied
from llgrad.transforms.guard.denormals import flushes

if TYPE_CHECKING:
    from llgrad.api.non_finite import Trace

LANES = 8  # directions in one sweep, at most


class Derivative(Uncopied):
    """A compiled derivative of one function. Made by `value_and_grad`, `grad`, `vjp` and `jvp`."""


    def __init__(
        self, function: ForeignFunction, mode: Mode, wrt: Names, of: Names, kind: str, *, compile: bool = True,
        seed: Any = None, **options: Unpack[Options],
    ) -> None:  # fmt: skip
        """Checks names and compiles; errors of synthesis come from here."""
        if not isinstance(function, ForeignFunction):
            raise ArgumentError(
                f"{kind} takes a function of a library, not {type(function).__name__} {function!r}"[:200],
                fix="llgrad.hvp and llgrad.hessian make second derivatives; there are none of third order"
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
        self.unchecked, self.has_aux = options.pop("unchecked", False), options.pop("has_aux", False)
        self.function, self.mode, self.kind, self.options = function, mode, kind, options
        self.trace = _trace(function, kind, options.pop("nan", None))
        self.signature = function.signature
        self.outputs, self.one_output = outputs_of(function, of)
        self.wrt, self.single = inputs_of(function, wrt, self.outputs)
        for n in self.wrt:
            require_active(function, self.signature.parameters[n])
        self.output_names = [RETURN if n is None else self._name(n) for n in self.outputs]
        self.input_names = [self._name(n) for n in self.wrt]
        self.acts = tuple(self._act(p) for p in self.signature.parameters)
        self.result = self._result_act()
        # Does the derivative return what the function returns?
        self.gives_result = None in self.outputs or self.has_aux and isinstance(self.signature.result, Scalar)
        self.__name__ = f"{kind}_{self.signature.name}"
        self.__doc__ = self._document()
        self.__signature__ = with_parameters(function.__signature__, EXTRA.get(kind, ()))
        self._variants: dict[tuple[bool, int], Compiled] = {}
        self._tests: dict[tuple[bool, int], Test | None] = {}
        self._lock = threading.Lock()
        self._peak = 0
        self.default_seed = seed
        if compile:
            self._compiled(self.may_be_disjoint())

    def __reduce__(self) -> Any:
        """Pickled as what was asked for; compiled, or found in the cache, at its first call."""
        wrt = self.wrt[0] if self.single else self.wrt
        options = {**self.options, "unchecked": self.unchecked, "has_aux": self.has_aux}
        options["nan"] = self.trace and "trace"
        return _again, (type(self), self.function, self.mode, wrt, self.named_of, self.kind, options, self.default_seed)

    # --- calling

    def run(self, values: Sequence[Any], direction: Direction | None) -> tuple[Any, Any, Any]:
        """Value, derivative and what else was computed, along a direction: of outputs, or of inputs in forward mode."""
        shadows = self._shadows(values, direction)
        results = self._sweep(values, [shadows], [direction], self._disjoint(values))
        return self._value(values, results), self._derivatives(shadows, results, 0, 1), self.aux(values, results)

    def run_many(
        self, values: Sequence[Any], count: int, direction: Callable[[int], Direction]
    ) -> tuple[Any, list[Any], Any]:
        """The same along `count` directions, several in one sweep."""
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
            own = [{n: room[k] for n, room in rooms.items()} for k in range(start, start + width)]
            lanes = [self._shadows(values, g, r) for g, r in zip(given, own, strict=True)]
            results = self._sweep(values, lanes, given, disjoint)
            if start:
                require_same(self.signature.name, first, self._value(values, results))
            elif count > width:
                first = self._value(values, results)
            found += [self._derivatives(lane, results, n, width) for n, lane in enumerate(lanes)]
        return self._value(values, results), found[:count], self.aux(values, results)

    def seeds(self, given: Any) -> Direction | None:
        """The seed of a call, or the one that the derivative was made with; None for the usual one."""
        given = self.default_seed if given is None else given
        return None if given is None else listed(given, self.output_names, self.one_output, "seed")

    def tangents(self, given: Any, what: str = "tangents") -> Direction:
        """The direction of the inputs that a call gives."""
        if given is None:
            raise ArgumentError(f"a {self.kind} needs {what}", fix=f"pass {what}=…: one for each parameter in wrt")
        return listed(given, self.input_names, self.single, what)

    def aux(self, values: Sequence[Any], results: Sequence[Any]) -> dict[str, Any]:
        """With `has_aux`: what a call has computed, but for the outputs."""
        if not self.has_aux:
            return {}
        beside = {p.name: values[p.index] for p in written_by(self.function) if p.index not in self.outputs}
        found = {name: _kept(v) for name, v in beside.items()}
        returned = None not in self.outputs and isinstance(self.signature.result, Scalar)
        return {RETURN: self.function.converted(results[0]), **found} if returned else found

    def with_aux(self, found: Any, aux: Any) -> Any:
        """What a call that gives `found` gives with `has_aux`."""
        return (found, aux) if self.has_aux else found

    def _disjoint(self, values: Sequence[Any]) -> bool:
        return not refuse_overlap(self.signature, values) and self.may_be_disjoint()

    def _may_write(self, n: int, value: Any) -> bool:
        t = self.signature.parameters[n].type
        return isinstance(value, np.ndarray) and not (isinstance(t, Pointer) and t.const)

    def _sweep(
        self, values: Sequence[Any], lanes: Sequence[Sequence[Any]], given: Sequence[Direction | None], disjoint: bool
    ) -> tuple[Any, ...]:
        """What the derivative of as many lanes returns; `lanes` are shadows, one a parameter."""
        passed: list[Any] = [] if self.mode is Mode.FORWARD else [ARENA]
        passed += spread_shadows(self.signature, values, self.acts, lanes)
        if self.result is Act.OUT:
            passed += [self._result_seed(seeds) for seeds in given]
        compiled = self._compiled(disjoint, len(lanes))
        kept = passed if self.trace is None else self.trace.kept(passed)
        results, self._peak = compiled.code.call(compiled.entry, passed, self._tests[disjoint, len(lanes)])
        if self.trace is not None:
            found = [self._derivatives(lane, results, n, len(lanes)) for n, lane in enumerate(lanes)]
            request = self.request_for(disjoint, len(lanes))
            self.trace.look(request, kept, found, lambda: self._value(values, results))
        return results

    def __repr__(self) -> str:
        names = ", ".join(self.signature.parameters[n].name for n in self.wrt)
        of = "" if self.outputs == (None,) else f", of {', '.join(self.output_names)}"
        return f"<{self.kind} by {names}{of}: {self.signature}>"

    @property
    def of(self) -> int | None:
        """The position of the one output; None: what is returned."""
        return self.outputs[0]

    @property
    def named_of(self) -> Any:
        """What `of` is for a derivative of the same outputs."""
        return self.output_names[0] if self.one_output else tuple(self.output_names)

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
        wants_result = self.gives_result
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

    def _act(self, p: Parameter) -> Act:
        if p.index in self.wrt:
            return Act.DUP if isinstance(p.type, Pointer) or self.mode is Mode.FORWARD else Act.OUT
        if not isinstance(p.type, Pointer) or (t := p.type.innermost).const:
            return Act.CONST
        if isinstance(t.to, Scalar) and t.to.kind != "float" or is_code(t):
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
        if None not in self.outputs:
            return Act.CONST
        result = self.signature.result
        if isinstance(result, Scalar) and result.kind == "float":
            return Act.DUP if self.mode is Mode.FORWARD else Act.OUT
        outputs = [p.name for p in self.signature.parameters if writable_floats(p)]
        raise ArgumentError(
            f"{self.signature.name} returns {result}: what is to be differentiated?",
            span=self.signature.source,
            cause=f"its signature is {self.signature}",
            fix=f"name the output: of={outputs[-1]!r}" if outputs else "differentiate a function that returns a float",
        )

    # --- shadows

    def _rooms(self, values: Sequence[Any], count: int) -> dict[int, Any]:
        """Memory for `count` gradients by each parameter that is an ordinary array: no copy makes a batch of them."""
        arrays = {n: values[n] for n in self.wrt if isinstance(values[n], np.ndarray) and n not in self.outputs}
        plain = {n: v for n, v in arrays.items() if v.ndim and v.flags.c_contiguous and v.dtype.kind in "fc"}
        return {n: np.zeros((count, *v.shape), v.dtype) for n, v in plain.items()}

    def _shadows(
        self, values: Sequence[Any], direction: Direction | None, rooms: Mapping[int, Any] = MappingProxyType({})
    ) -> list[Any]:
        """`rooms`: cleared memory for the shadows of some parameters."""
        shadows = [
            None if self.acts[n] is not Act.DUP else rooms[n] if n in rooms else self._cleared(n, v)
            for n, v in enumerate(values)
        ]
        if self.mode is Mode.FORWARD:
            for n, t in zip(self.wrt, direction or (), strict=True):
                if t is not None and values[n] is not None:
                    shadows[n] = fitted(values[n], t, "tangent", self._name(n))
            return shadows
        for k, output in enumerate(self.outputs):
            if output is not None:
                shadows[output] = self._seed(output, values[output], direction, k)
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
        wanted = n in self.wrt or n in self.outputs
        if wanted and value.dtype.kind not in "fc" and value.dtype.names is None and value.dtype.name != "bfloat16":
            bits = value.dtype == np.uint16
            raise ArgumentError(
                f"argument {self._name(n)!r} has dtype {value.dtype}, which has no derivative",
                fix="pass floats (bits of bfloats as an array of ml_dtypes.bfloat16)"
                if bits
                else "pass floats, for structs an array of their dtype; or leave it out of wrt",
            )
        return zeros(value)

    def _seed(self, n: int, output: Any, seeds: Direction | None, k: int) -> Any:
        name = self._name(n)
        if output is None:
            raise ArgumentError(f"argument {name!r} is None, but its derivative is wanted")
        if seeds is not None:
            return zeros(output) if seeds[k] is None else fitted(output, seeds[k], "seed", name)
        self._require_seed(output.size)
        return shaped(output, np.ones(output.shape, output.dtype))

    def _result_seed(self, seeds: Direction | None) -> Any:
        """The weight of what the function returns."""
        if seeds is None:
            self._require_seed(1)
            return 1.0
        given = seeds[self.outputs.index(None)]
        return 0.0 if given is None else number(given, "seed")

    def _require_seed(self, size: int) -> None:
        """ArgumentError where there is more than one number, and no seed."""
        named = ", ".join(self.output_names)
        if not self.one_output:
            raise ArgumentError(
                f"{self.kind} of several outputs needs a seed", cause="a gradient is of one number",
                fix=f"pass seed=…: a tuple of weights, for {named}",
            )  # fmt: skip
        if size != 1:
            raise ArgumentError(
                f"{named} has {size} elements: a gradient is of one number",
                fix=f"llgrad.vjp(…, of={named!r}), called with seed=… (one weight an element)",
            )

    def _name(self, n: int) -> str:
        return self.signature.parameters[n].name

    # --- results

    def _value(self, values: Sequence[Any], results: tuple[Any, ...]) -> Any:
        if self.one_output:
            (n,) = self.outputs
            return results[0] if n is None else contents(values[n])
        return tuple(results[0] if n is None else contents(values[n]) for n in self.outputs)

    def _derivatives(self, shadows: Sequence[Any], results: tuple[Any, ...], lane: int, width: int) -> Any:
        """What one lane of a sweep found."""
        own = results[1:] if self.gives_result else results
        if self.mode is Mode.FORWARD:
            pushed = tuple(own[lane] if n is None else contents(shadows[n]) for n in self.outputs)
            return pushed[0] if self.one_output else pushed
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
        value, found, aux = self.run(self.function.values(args, named), self.seeds(seed))
        return self.with_aux(value, aux), found


class Grad(Derivative):
    """Call it with the function's arguments: the gradient."""

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """The gradient; `seed` weighs the elements of the output."""
        _, found, aux = self.run(self.function.values(args, named), self.seeds(seed))
        return self.with_aux(found, aux)


class Vjp(Derivative):
    """Call it with the function's arguments and `seed`: value and seed-weighted gradient.

    A seed with one axis more than the output, in front, is a batch: so are the gradients then.
    """

    @at_the_caller
    def __call__(self, *args: Any, seed: Any = None, **named: Any) -> Any:
        """(value, gradient); `seed` weighs the elements of the output."""
        seeds, values = self.seeds(seed), self.function.values(args, named)
        several = None if seeds is None else batch([0.0 if n is None else values[n] for n in self.outputs], seeds)
        if several is None:
            value, found, aux = self.run(values, seeds)
        else:
            value, rows, aux = self.run_many(values, len(several), several.__getitem__)
            found = stacked_each(rows, self.single)
        return (value, found, aux) if self.has_aux else (value, found)


class Jvp(Derivative):
    """Call it with the function's arguments and `tangents`: value and tangent.

    Tangents with one axis more than their parameters, in front, are a batch: so is what comes back.
    """

    @at_the_caller
    def __call__(self, *args: Any, tangents: Any = None, direction: Any = None, **named: Any) -> Any:
        """(value, its directional derivative along `tangents`, which may be called `direction`)."""
        along = self.tangents(direction if tangents is None else tangents)
        values = self.function.values(args, named)
        several = batch([values[n] for n in self.wrt], along)
        if several is None:
            value, found, aux = self.run(values, along)
        else:
            value, rows, aux = self.run_many(values, len(several), several.__getitem__)
            found = stacked_each(rows, self.one_output)
        return (value, found, aux) if self.has_aux else (value, found)


def _again(
    made: type[Derivative], function: ForeignFunction, mode: Mode, wrt: Names, of: Names, kind: str,
    options: dict[str, Any], seed: Any,
) -> Derivative:  # fmt: skip
    """A derivative where it is unpickled."""
    found = made.__new__(made)
    Derivative.__init__(found, function, mode, wrt, of, kind, compile=False, seed=seed, **options)
    return found


def _trace(function: ForeignFunction, kind: str, nan: str | None) -> Trace | None:
    if nan is None:
        return None
    from llgrad.api.non_finite import Trace  # which imports what compiles

    return Trace(function, kind, nan)


def _kept(value: Any) -> Any:
    """A copy of what a call has written."""
    if isinstance(value, Table):
        return value.each(np.copy).contents()
    return contents(value) if isinstance(value, np.ndarray) else value


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
        if (own := getattr(type(function), "__llgrad__", None)) is not None:
            given = inspect.signature(make).bind(function, *args, **named).arguments
            options = given.pop("options", {})
            return own(function, make.__name__, {**dict(list(given.items())[1:]), **options})
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
    function: ForeignFunction, wrt: Names = None, of: Names = None, seed: Any = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> ValueAndGrad:  # fmt: skip
    """A function that returns (value, gradient).

    wrt    a name or position, or a tuple of them; by default all floats that the function only reads
    of     the pointer through which the function writes its result; by default its returned float, which is named
           "return"; a tuple of them gives a tuple of values
    seed   weights of the elements of `of`; needed where it has more than one, may be given at the call
    specialize  names of numbers (sizes, say) that seldom change: a derivative is made for each combination of their
           values, when it is first asked for, with loops of known length (see `ForeignFunction.specialized`)
    options  see `Options`

    The value is a float if there is one element, else a copy of the contents of `of`. Gradients have the shapes of the
    arguments. Raises UnknownNameError, ArgumentError, and UnsupportedError for what cannot be differentiated.
    """
    return ValueAndGrad(function, Mode.COMBINED, wrt, of, "value_and_grad", seed=seed, **options)


@dispatched
def grad(
    function: ForeignFunction, wrt: Names = None, of: Names = None, seed: Any = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> Grad:  # fmt: skip
    """A function that returns the gradient; see `value_and_grad`."""
    return Grad(function, Mode.COMBINED, wrt, of, "grad", seed=seed, **options)


@dispatched
def vjp(
    function: ForeignFunction, wrt: Names = None, of: Names = None, seed: Any = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> Vjp:  # fmt: skip
    """A function that takes `seed=` (shaped as the output) and returns (value, seed · Jacobian)."""
    return Vjp(function, Mode.COMBINED, wrt, of, "vjp", seed=seed, **options)


@dispatched
def jvp(
    function: ForeignFunction, wrt: Names = None, of: Names = None,
    specialize: str | Sequence[str] = (), **options: Unpack[Options],
) -> Jvp:  # fmt: skip
    """A function that takes `tangents=` (shaped as `wrt`) and returns (value, Jacobian · tangents)."""
    return Jvp(function, Mode.FORWARD, wrt, of, "jvp", **options)


__all__ = ["Derivative", "Options", "grad", "jvp", "value_and_grad", "vjp"]
