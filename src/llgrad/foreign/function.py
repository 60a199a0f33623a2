"""A compiled function as a function of arrays, with its derivatives: what every framework's binding calls.

`Foreign.call(kind, wrt, shapes, statics)` gives a `Call`: a compiled plan with the sizes of one set of shapes. What it
takes and makes, in this order (`tensors` are the inputs that are arrays or floats; `wrt` are positions among them):

    primal   tensors                          → outputs
    vjp      tensors, adjoints of outputs     → adjoints of wrt
    jvp      tensors, tangents of wrt         → tangents of outputs
    second   tensors, adjoints of outputs, tangents of wrt       → tangents of the adjoints of wrt
    bend     tensors, tangents of wrt, other tangents of wrt     → the second derivative along both

A derivative is of the function as mathematics sees it: outputs and scratch memory begin as zeros, inputs stay as they
are, updated ones are copied.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from llgrad.arguments import integer_range
from llgrad.entry import Code, Entry, offsets
from llgrad.errors import ActivityError
from llgrad.foreign.roles import ForeignTypeError, Input, Memory, Resolved, Roles, Shape, roles
from llgrad.foreign.runtime import Failure, Op, Plan, Steps, cores, int64s
from llgrad.library import ForeignFunction
from llgrad.signature import Parameter, Scalar
from llgrad.synthesis.request import Act, Mode, Request

Wrt = tuple[int, ...]


class Foreign:
    """A function of arrays. Made by `llgrad.foreign.load_foreign`; the bindings wrap it."""

    def __init__(self, function: ForeignFunction, declared: Mapping[str, Any]) -> None:
        self.function, self.declared = function, dict(declared)
        self.roles: Roles = roles(function, **declared)
        self.tensors, self.statics = self.roles.tensors, self.roles.statics
        self.outputs = self.roles.outputs
        self.name = function.signature.name
        self.stateful = function.library.effects(function.signature.symbol).stateful
        self._plans: dict[tuple[str, Wrt], Plan] = {}
        self._calls: dict[Any, Call] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(i.name for i in self.roles.inputs), ", ".join(m.name for m in self.outputs)
        return f"<foreign function ({inputs}) -> ({outputs}): {self.function.signature}>"

    @property
    def key(self) -> str:
        """Names the function, the content of its sources, and the roles of its parameters."""
        said = f"{self.function.library.identity} {self.function.signature.symbol} {self.roles!r}"
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    @property
    def active(self) -> Wrt:
        """The inputs that have derivatives, as positions among `tensors`."""
        return tuple(n for n, i in enumerate(self.tensors) if i.active)

    # --- arguments

    def split(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], list[int]]:
        """Arguments in the order of C → those for `tensors`, and the integers."""
        inputs = self.roles.inputs
        if named:
            rest = [i.name for i in inputs[len(args) :]]
            if unknown := [n for n in named if n not in rest]:
                raise ForeignTypeError(f"{self.name} has no free input {', '.join(unknown)}", cause=self._takes())
            args = [*args, *(named[n] for n in rest if n in named)]
        if len(args) != len(inputs):
            raise ForeignTypeError(
                f"{self.name} takes {len(inputs)} inputs, not {len(args)}", cause=self._takes(),
                fix="pass them in this order",
            )  # fmt: skip
        tensors = [a for i, a in zip(inputs, args, strict=True) if not i.static]
        return tensors, [self._integer(i, a) for i, a in zip(inputs, args, strict=True) if i.static]

    def _takes(self) -> str:
        names = ", ".join(i.name for i in self.roles.inputs)
        return f"its inputs are {names}; its signature is {self.function.signature}"

    def _integer(self, i: Input, given: Any) -> int:
        try:
            value = given if isinstance(given, int) else given.__index__()
        except (AttributeError, TypeError):
            raise ForeignTypeError(
                f"{i.name} must be an integer, not {type(given).__name__}",
                cause=f"it is declared {i.parameter.type.declare(i.name)}",
            ) from None
        t = i.parameter.type
        assert isinstance(t, Scalar)
        low, high = (0, 1) if t.kind == "bool" else integer_range(t)
        if type(value) is int and not low <= value <= high:
            raise ForeignTypeError(f"{i.name} is {value}, out of range", cause=f"{t} holds {low} to {high}")
        return value

    def wrong_dtype(self, i: Input, dtype: str, fix: str) -> ForeignTypeError:
        """The error for a tensor of another dtype."""
        return ForeignTypeError(
            f"{i.name} of {self.name} has dtype {dtype}, not {i.dtype.name}",
            cause=f"it is declared {i.parameter.type.declare(i.name)}", fix=fix,
        )  # fmt: skip

    # --- calls

    def call(self, kind: str, wrt: Wrt, shapes: tuple[Shape, ...], statics: tuple[int, ...] = ()) -> Call:
        """How `kind` is called with tensors of these shapes; see above."""
        key = (kind, wrt, shapes, statics)
        found = self._calls.get(key)
        if found is None:
            if len(self._calls) > 1000:
                self._calls.clear()
            made = self.roles.resolve(shapes, statics)
            found = self._calls[key] = Call(self, kind, wrt, shapes, made, self.plan(kind, wrt))
        return found

    def plan(self, kind: str, wrt: Wrt) -> Plan:
        """The compiled plan; errors of synthesis come from here."""
        with self._lock:
            key = (kind, wrt)
            if key not in self._plans:
                self._plans[key] = self._made(kind, wrt)
            return self._plans[key]

    def _made(self, kind: str, wrt: Wrt) -> Plan:
        if kind == "primal":
            self.function.library.addresses()
            code = self.function.library._primal()
            return self._plan(code, self.function.facts.entry, _Primal(self, ()), ())
        try:
            return self._derived(kind, wrt, wrt)
        except ActivityError:
            if wrt == self.active:
                raise
            return self._derived(kind, wrt, self.active)

    def _derived(self, kind: str, wrt: Wrt, differentiated: Wrt) -> Plan:
        """Derivative by `differentiated`, of which `wrt` are wanted."""
        writer = {"vjp": _Pullback, "jvp": _Pushforward, "second": _Second, "bend": _Bend}[kind](self, wrt)
        acts = tuple(self._act(p, differentiated, writer.mode) for p in self.function.signature.parameters)
        request = self._request(writer.mode, acts)
        if kind in ("second", "bend"):
            request = _again(request)
        self.function.library.addresses()
        compiled = self.function.library.derivative(request)
        assert isinstance(compiled.code, Code)
        return self._plan(compiled.code, compiled.entry, writer, acts)

    def _request(self, mode: Mode, acts: tuple[Act, ...]) -> Request:
        result = any(m.parameter is None for m in self.outputs)
        act = (Act.DUP if mode is Mode.FORWARD else Act.OUT) if result else Act.CONST
        return Request(self.function.signature.symbol, mode, acts, act, disjoint=True)

    def _plan(self, code: Any, entry: Entry, writer: _Writer, acts: tuple[Act, ...]) -> Plan:
        return Plan(code, entry, writer.write(entry, acts), serial=self.stateful)

    def _act(self, p: Parameter, wrt: Wrt, mode: Mode) -> Act:
        position = next((n for n, i in enumerate(self.tensors) if i.parameter is p), None)
        if position is None:
            made = (*self.outputs, *self.roles.scratch)
            return Act.DUP if any(m.parameter is p and m.dtype.kind == "f" for m in made) else Act.CONST
        i = self.tensors[position]
        if i.updated or i.array and position in wrt:
            return Act.DUP
        if position not in wrt:
            return Act.CONST
        return Act.DUP if mode is Mode.FORWARD else Act.OUT


def _again(inner: Request) -> Request:
    """The forward derivative of a derivative, by all floats that it takes."""
    reverse = inner.mode is not Mode.FORWARD
    acts = [Act.CONST] * inner.arenas
    for act in inner.arguments:
        acts += {Act.CONST: [Act.CONST], Act.OUT: [Act.DUP]}.get(act, [Act.DUP, Act.DUP])
    if reverse and inner.result is not Act.CONST:
        acts.append(Act.DUP)
    results = Act.OUT in inner.arguments if reverse else inner.result is not Act.CONST
    return Request.again(inner, Mode.FORWARD, tuple(acts), Act.DUP if results else Act.CONST, disjoint=True)


class _Writer:
    """Writes the steps of one plan. The caller's buffers: tensors, then what goes with them, integers, what is made."""

    mode = Mode.FORWARD

    def __init__(self, foreign: Foreign, wrt: Wrt) -> None:
        self.foreign, self.wrt = foreign, wrt
        self.integers = len(foreign.tensors) + self._given()
        self.made = self.integers + 1
        self.steps = Steps(self.made + self._makes(), self._makes())
        self.at: list[int] = []  # where in the frame the next arguments go
        self.results: list[int] = []

    def write(self, entry: Entry, acts: tuple[Act, ...]) -> Steps:
        arguments, self.results, _ = offsets(entry)
        self.at = list(arguments)
        self._arena()
        count = 0
        for p in self.foreign.function.signature.parameters:
            count = self._parameter(p, count, acts[p.index] if acts else Act.CONST)
        self._end()
        return self.steps

    def _parameter(self, p: Parameter, count: int, act: Act) -> int:
        f = self.foreign
        for n, i in enumerate(f.tensors):
            if i.parameter is p:
                self._tensor(n, i, act)
                return count
        for n, m in enumerate(f.outputs):
            if m.parameter is p:
                self._output(n, m)
                return count
        for n, m in enumerate(f.roles.scratch):
            if m.parameter is p:
                self._scratch(self.steps.callers + n, m)
                return count
        self._value(self.integers, p.type.size, 8 * count)
        return count + 1

    # --- pieces

    def _value(self, buffer: int, size: int, offset: int = 0) -> None:
        self.steps.add(Op.VALUE, buffer, size=size, at=self.at.pop(0), offset=offset)

    def _pointer(self, buffer: int) -> None:
        self.steps.add(Op.POINTER, buffer, at=self.at.pop(0))

    def _apart(self, buffer: int) -> None:
        """A pointer to memory that the code reads, and that may be given twice."""
        if buffer:
            self.steps.add(Op.APART, buffer, self.steps.temporary_like(buffer))
        self._pointer(buffer)

    def _fresh(self, like: int, copied: int | None = None, times: int = 1) -> None:
        """A pointer to temporary memory (or several): zeros, or a copy."""
        for _ in range(times):
            self._start(self.steps.temporary_like(like), copied)

    def _start(self, buffer: int, copied: int | None) -> None:
        if copied is None:
            self.steps.add(Op.CLEAR, buffer)
        else:
            self.steps.add(Op.COPY, buffer, copied)
        self._pointer(buffer)

    def _result(self, buffer: int, size: int) -> None:
        self.steps.add(Op.RESULT, buffer, size=size, at=self.results.pop(0))

    def _place(self, n: int) -> int | None:
        """Where tensor `n` stands in `wrt`."""
        return self.wrt.index(n) if n in self.wrt else None

    def _output_of(self, i: Input) -> int:
        """Which output an updated input is."""
        return next(n for n, m in enumerate(self.foreign.outputs) if m.parameter is i.parameter)

    # --- what the kinds differ in

    def _given(self) -> int:
        return 0

    def _makes(self) -> int:
        return len(self.foreign.outputs)

    def _arena(self) -> None:
        return

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        raise NotImplementedError

    def _output(self, n: int, m: Memory) -> None:
        raise NotImplementedError

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like)
        if m.dtype.kind == "f":
            self._fresh(like)

    def _end(self) -> None:
        return


class _Primal(_Writer):
    def _tensor(self, n: int, i: Input, act: Act) -> None:
        if not i.array:
            self._value(n, i.dtype.itemsize)
        elif i.updated:
            self._start(self.made + self._output_of(i), n)
        else:
            self._apart(n)

    def _output(self, n: int, m: Memory) -> None:
        self._start(self.made + n, None)

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like)

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._result(self.made + n, m.dtype.itemsize)


class _Pushforward(_Writer):
    def _given(self) -> int:
        return len(self.wrt)

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place = self._place(n)
        tangent = None if place is None else len(self.foreign.tensors) + place
        if not i.array:
            self._value(n, i.dtype.itemsize)
            if act is Act.DUP:
                _zero_or_value(self, tangent, i.dtype.itemsize)
        elif i.updated:
            self._fresh(n, n)
            self._start(self.made + self._output_of(i), tangent)
        else:
            self._apart(n)
            if act is Act.DUP:
                self._fresh(n) if tangent is None else self._apart(tangent)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self.made + n)
        self._start(self.made + n, None)

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._result(self.made + n, m.dtype.itemsize)


class _Pullback(_Writer):
    mode = Mode.COMBINED

    def _given(self) -> int:
        return len(self.foreign.outputs)

    def _makes(self) -> int:
        return len(self.wrt)

    def _arena(self) -> None:
        self.steps.add(Op.ARENA, at=self.at.pop(0))

    def _seed(self, n: int) -> int:
        return len(self.foreign.tensors) + n

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place = self._place(n)
        adjoint = None if place is None else self.made + place
        if not i.array:
            self._value(n, i.dtype.itemsize)
            if act is Act.OUT:
                found = self.results.pop(0)
                if adjoint is not None:
                    self.steps.add(Op.RESULT, adjoint, size=i.dtype.itemsize, at=found)
        elif i.updated:
            self._fresh(n, n)
            seed = self._seed(self._output_of(i))
            self._fresh(n, seed) if adjoint is None else self._start(adjoint, seed)
        else:
            self._apart(n)
            if act is Act.DUP:
                self._fresh(n) if adjoint is None else self._start(adjoint, None)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self._seed(n))
        self._fresh(self._seed(n), self._seed(n))

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._value(self._seed(n), m.dtype.itemsize)


class _Second(_Pullback):
    """The pullback's arguments, each that holds floats followed by its tangent."""

    def _given(self) -> int:
        return len(self.foreign.outputs) + len(self.wrt)

    def _tangent(self, place: int) -> int:
        return len(self.foreign.tensors) + len(self.foreign.outputs) + place

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place = self._place(n)
        tangent = None if place is None else self._tangent(place)
        if not i.array:
            self._value(n, i.dtype.itemsize)
            if act is Act.OUT:
                _zero_or_value(self, tangent, i.dtype.itemsize)
                found = self.results.pop(0)
                if place is not None:
                    self.steps.add(Op.RESULT, self.made + place, size=i.dtype.itemsize, at=found)
            return
        if not i.updated:
            self._apart(n)
            if act is Act.CONST:
                return
            self._fresh(n) if tangent is None else self._apart(tangent)
            self._fresh(n)
        else:
            self._fresh(n, n)
            self._fresh(n, tangent)
            self._fresh(n, self._seed(self._output_of(i)))
        self._fresh(n) if place is None else self._start(self.made + place, None)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self._seed(n), times=2)
        self._fresh(self._seed(n), self._seed(n))
        self._fresh(self._seed(n))

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like, times=4)

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._value(self._seed(n), m.dtype.itemsize)
                _zero_or_value(self, None, m.dtype.itemsize)


class _Bend(_Pushforward):
    """The pushforward's arguments, each that holds floats followed by its tangent."""

    def _given(self) -> int:
        return 2 * len(self.wrt)

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place, size = self._place(n), i.dtype.itemsize
        one = None if place is None else len(self.foreign.tensors) + place
        other = None if one is None else one + len(self.wrt)
        if not i.array:
            self._value(n, size)
            for tangent in (other, one, None) if act is Act.DUP else ():
                _zero_or_value(self, tangent, size)
        elif i.updated:
            self._fresh(n, n)
            self._fresh(n, other)
            self._fresh(n, one)
            self._start(self.made + self._output_of(i), None)
        else:
            self._apart(n)
            if act is Act.DUP:
                self._fresh(n) if other is None else self._apart(other)
                self._fresh(n) if one is None else self._apart(one)
                self._fresh(n)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self.made + n, times=3)
        self._start(self.made + n, None)

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like, times=4)


def _zero_or_value(writer: _Writer, buffer: int | None, size: int) -> None:
    """A float from a buffer, or zero: what frames begin as."""
    if buffer is None:
        writer.at.pop(0)
    else:
        writer._value(buffer, size)


class Call:
    """A plan with the sizes of one set of shapes. `made` are the shapes and dtypes of what it makes."""

    def __init__(
        self, foreign: Foreign, kind: str, wrt: Wrt, shapes: Sequence[Shape], resolved: Resolved, plan: Plan
    ) -> None:
        self.plan, self.integers = plan, resolved.integers
        self.taken, self.made, self.sizes = buffers(foreign, kind, wrt, shapes, resolved, plan)
        self._sizes = int64s(self.sizes)
        self._integers = int64s(resolved.integers)
        self._where = ctypes.addressof(self._integers)
        self._run, self._address, self._pack = plan.runtime.run, plan.address, plan.pack

    def run(self, taken: Sequence[int], made: Sequence[int]) -> None:
        """Run it on contiguous buffers at these addresses."""
        failure = Failure()
        given = self._pack(*taken, self._where, *made)
        if self._run(self._address, given, self._sizes, None, 1, 1, failure):
            raise failure.error()

    def run_batch(
        self, count: int, taken: Sequence[int], made: Sequence[int], strides: Sequence[int], threads: int | None = None
    ) -> None:
        """Run it `count` times; `strides` says how far each buffer taken and made advances from item to item."""
        every = int64s([*strides[: len(taken)], 0, *strides[len(taken) :]])
        failure = Failure()
        given = self._pack(*taken, self._where, *made)
        if self._run(self._address, given, self._sizes, every, count, threads or cores(), failure):
            raise failure.error()


Item = tuple[Any, np.dtype[Any]]  # shape and dtype of a buffer


def buffers(
    foreign: Foreign, kind: str, wrt: Wrt, shapes: Sequence[Any], resolved: Resolved, plan: Plan
) -> tuple[list[Item], list[Item], list[Any]]:
    """What a call takes, what it makes, and the bytes of all buffers; sizes may be symbols."""
    tensors = [(tuple(s), i.dtype) for s, i in zip(shapes, foreign.tensors, strict=True)]
    outputs = [(s, m.dtype) for s, m in zip(resolved.outputs, foreign.outputs, strict=True)]
    by = [tensors[n] for n in wrt]
    given = {"primal": [], "vjp": outputs, "jvp": by, "second": [*outputs, *by], "bend": [*by, *by]}[kind]
    made = by if kind in ("vjp", "second") else outputs
    taken = [*tensors, *given]
    scratch = [(s, m.dtype) for s, m in zip(resolved.scratch, foreign.roles.scratch, strict=True)]
    sizes = [[prod(shape) * dtype.itemsize for shape, dtype in part] for part in (taken, made, scratch)]
    return taken, made, plan.sizes([*sizes[0], 8 * len(resolved.integers), *sizes[1], *sizes[2]])
