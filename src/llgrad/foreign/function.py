"""A compiled function as a function of arrays, with its derivatives: what every framework's binding calls.

`Foreign.call(kind, wrt, shapes, statics)` gives a `Call`: a compiled plan with the sizes of one set of shapes. What it
takes and makes, in this order (`tensors` are the inputs that are arrays or floats; `wrt` are positions among them):

    primal   tensors                          → outputs
    vjp      tensors, adjoints of outputs     → adjoints of wrt
    jvp      tensors, tangents of wrt         → tangents of outputs
    second   tensors, adjoints of outputs, tangents of wrt       → tangents of the adjoints of wrt
    bend     tensors, tangents of wrt, other tangents of wrt     → the second derivative along both
    record   tensors                          → outputs, and a tape that is kept (see `Tape`)
    replay   tensors, adjoints of outputs     → adjoints of wrt, from the tape

A derivative is of the function as mathematics sees it: outputs and scratch memory begin as zeros, inputs stay as they
are, updated ones are copied.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import threading
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import ActivityError, ArgumentError, LlgradError
from llgrad.execution.arguments import integer_range
from llgrad.execution.entry import Code, Entry
from llgrad.execution.library import ForeignFunction
from llgrad.execution.roles import ForeignShapeError, ForeignTypeError, Input, Resolved, Roles, Shape, roles
from llgrad.execution.size_checks import Extent, Test, exceeded, left, lost
from llgrad.foreign.plans import WRITERS, Primal, Writer, Wrt
from llgrad.foreign.runtime import Failure, Plan, cores, int64s
from llgrad.programs.guarded_memory import EXCEEDS, FAULTED, FITS
from llgrad.signature import Parameter, Scalar

OVERWRITTEN = 7  # (of `runtime.c`)


class Foreign:
    """A function of arrays. Made by `llgrad.foreign.load_foreign`; the bindings wrap it."""

    def __init__(self, function: ForeignFunction, declared: Mapping[str, Any]) -> None:
        self.function, self.declared = function, dict(declared)
        self.roles: Roles = roles(function, **declared)
        self.tensors, self.statics = self.roles.tensors, self.roles.statics
        self.outputs = self.roles.outputs
        # the inputs that have derivatives, as positions among `tensors`
        self.active: Wrt = tuple(n for n, i in enumerate(self.tensors) if i.active)
        self.name = function.signature.name
        self._identity = function.library.identity
        said = f"{self._identity} {function.signature.symbol} {self.roles!r}"
        # names the function, the content of its sources, what is registered of it, and the roles of its parameters
        self.key = hashlib.sha256(said.encode()).hexdigest()[:16]
        self.stateful = function.library.effects(function.signature.symbol).stateful
        self._plans: dict[tuple[str, Wrt], Plan] = {}
        self._calls: dict[Any, Call] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(i.name for i in self.roles.inputs), ", ".join(m.name for m in self.outputs)
        return f"<foreign function ({inputs}) -> ({outputs}): {self.function.signature}>"

    # --- sizes

    @property
    def checked(self) -> bool:
        """Are sizes checked?"""
        return not self.function.library.unchecked

    def test(self, kind: str) -> Test | None:
        """What a kind of call checks sizes by (docs/memory-checks.md)."""
        facts = self.function.facts
        return self.function.library.test(
            facts.signature.symbol, [(n, 0) for n in range(len(facts.arguments))], derived=kind != "primal"
        )

    def asks(self, plan: Plan, values: Sequence[int | Extent]) -> bool:
        """Must the check be asked when the plan runs, for these sizes? ForeignShapeError where the function certainly
        accesses what lies outside of an array."""
        if not self.checked or plan.test is None:
            return self.checked
        status, which, low, high = plan.test.ask(values)
        if status == EXCEEDS:
            raise exceeded(plan.test, values, which, low, high, ForeignShapeError)
        return status != FITS

    def values(self, shapes: Sequence[Shape], made: Resolved) -> list[int | Extent]:
        """Integers, and how long arrays are, by IR argument."""
        inputs = [(i.parameter, s, i.dtype) for i, s in zip(self.tensors, shapes, strict=True) if i.array]
        outputs = [(m.parameter, s, m.dtype) for m, s in zip(self.outputs, made.outputs, strict=True)]
        scratch = [(m.parameter, s, m.dtype) for m, s in zip(self.roles.scratch, made.scratch, strict=True)]
        found: dict[int, int | Extent] = dict(self.roles.numbered(made.integers))
        for p, shape, dtype in (*inputs, *outputs, *scratch):
            if p is not None:
                found[p.ir_arguments[0]] = Extent(prod(shape) * dtype.itemsize, dtype.itemsize)
        return [found.get(n, 0) for n in range(len(self.function.facts.arguments))]

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
                fix="pass a Python integer; under jax.jit name it in static_argnums",
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
                self._require_unchanged(kind)
                self._plans[key] = self._made(kind, wrt)
            return self._plans[key]

    @property
    def outdated(self) -> bool:
        """Have rules come since? They are no part of what this function is known by."""
        return self.function.library.identity != self._identity

    def _require_unchanged(self, kind: str) -> None:
        if kind != "primal" and self.outdated:
            raise ArgumentError(
                f"a derivative of {self.name} is asked for that would have other rules than it was made with",
                cause="what was registered since holds for what is made afterwards",
                fix="register rules first, then make the foreign function (again)",
            )

    def _made(self, kind: str, wrt: Wrt) -> Plan:
        if kind == "primal":
            self.function.library.addresses()
            code = self.function.library.primal()
            return self._plan(code, self.function.facts.entry, Primal(self, ()), (), kind)
        try:
            return self._derived(kind, wrt, wrt)
        except ActivityError:
            if wrt == self.active:
                raise
            return self._derived(kind, wrt, self.active)

    def _derived(self, kind: str, wrt: Wrt, differentiated: Wrt) -> Plan:
        """Derivative by `differentiated`, of which `wrt` are wanted."""
        writer = WRITERS[kind](self, wrt)
        acts = tuple(self._act(p, differentiated, writer.mode) for p in self.function.signature.parameters)
        request = self._request(writer.mode, acts)
        if kind in ("second", "bend"):
            request = _again(request)
        self.function.library.addresses()
        if kind in ("record", "replay"):
            sweeps = replace(request, mode=Mode.AUGMENTED), replace(request, mode=Mode.REVERSE, repeatable=True)
            compiled = self.function.library.derivatives(*sweeps)[kind == "replay"]
        else:
            compiled = self.function.library.derivative(request)
        assert isinstance(compiled.code, Code)
        return self._plan(compiled.code, compiled.entry, writer, acts, kind)

    def _request(self, mode: Mode, acts: tuple[Act, ...]) -> Request:
        result = any(m.parameter is None for m in self.outputs)
        act = (Act.DUP if mode is Mode.FORWARD else Act.OUT) if result else Act.CONST
        return Request(self.function.signature.symbol, mode, acts, act, disjoint=True)

    def _plan(self, code: Any, entry: Entry, writer: Writer, acts: tuple[Act, ...], kind: str) -> Plan:
        test = self.test(kind)
        return Plan(code, entry, writer.write(entry, acts, test), test, serial=self.stateful)

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


class Call:
    """A plan with the sizes of one set of shapes. `made` are the shapes and dtypes of what it makes."""

    def __init__(
        self, foreign: Foreign, kind: str, wrt: Wrt, shapes: Sequence[Shape], resolved: Resolved, plan: Plan
    ) -> None:
        self.foreign, self.plan, self.integers = foreign, plan, resolved.integers
        self._values = foreign.values(shapes, resolved)
        asked = foreign.asks(plan, self._values)
        self.taken, self.made, self.sizes = buffers(foreign, kind, wrt, shapes, resolved, plan, asked)
        self._sizes = int64s(self.sizes)
        self._integers = int64s(resolved.integers)
        self._where = ctypes.addressof(self._integers)
        self._run, self._address, self._pack = plan.runtime.run, plan.address, plan.pack

    def error(self, failure: Failure) -> LlgradError:
        """The exception that says what ended a run."""
        name, code = self.foreign.name, failure.code
        if failure.status == EXCEEDS and self.plan.test is not None:
            found = self.plan.test, self._values, code, failure.detail, failure.end
            return exceeded(*found, ForeignShapeError)
        if failure.status not in (FAULTED, OVERWRITTEN):
            return failure.error()
        if code < 0:
            return lost(name, failure.detail)
        p = next(p for p in self.foreign.function.signature.parameters if self.plan.pointers[code] in p.ir_arguments)
        extent = self._values[p.ir_arguments[0]]
        size = extent.size if isinstance(extent, Extent) else 0
        return left(name, p.name, size, failure.detail if failure.status == FAULTED else None)

    def given(self, taken: Sequence[int], made: Sequence[int]) -> Any:
        """The C array of the callers' addresses."""
        return self._pack(*taken, self._where, *made)

    def run(self, taken: Sequence[int], made: Sequence[int]) -> None:
        """Run it on contiguous buffers at these addresses."""
        failure = Failure()
        given = self._pack(*taken, self._where, *made)
        if self._run(self._address, given, self._sizes, None, 1, 1, failure):
            raise self.error(failure)

    def run_batch(
        self, count: int, taken: Sequence[int], made: Sequence[int], strides: Sequence[int], threads: int | None = None
    ) -> None:
        """Run it `count` times; `strides` says how far each buffer taken and made advances from item to item."""
        every = int64s([*strides[: len(taken)], 0, *strides[len(taken) :]])
        failure = Failure()
        given = self.given(taken, made)
        if self._run(self._address, given, self._sizes, every, count, threads or cores(), failure):
            raise self.error(failure)


_kept: dict[int, Plan] = {}
"""By address what is kept for tapes, with its plan: memory and machine code outlive the tapes of a cycle of garbage."""


@atexit.register
def _forget_all() -> None:
    """While there is machine code still: what tapes that are alive to the end keep."""
    while _kept:
        _forget(next(iter(_kept)))


def _forget(held: int) -> None:
    if plan := _kept.pop(held, None):
        plan.runtime.forget(plan.address, held)


class Tape:
    """What the forward sweep of a split derivative kept. Reverse sweeps of it run as often as wanted, one at a time;
    the inputs must stay where they are."""

    def __init__(
        self, foreign: Foreign, wrt: Wrt, shapes: tuple[Shape, ...], statics: tuple[int, ...], taken: Sequence[int],
        made: Sequence[int],
    ) -> None:  # fmt: skip
        """Runs the function on buffers at these addresses, as `Call.run` does."""
        self._forward, self._back = (foreign.call(kind, wrt, shapes, statics) for kind in ("record", "replay"))
        self._taken, self._lock = taken, threading.Lock()
        held, failure, runtime = ctypes.c_void_p(), Failure(), self._forward.plan.runtime
        given = self._forward.given(taken, made)
        if runtime.record(self._forward.plan.address, given, self._forward._sizes, held, failure):
            raise self._forward.error(failure)
        self._held = held.value or 0
        _kept[self._held] = self._forward.plan

    def __del__(self) -> None:
        _forget(getattr(self, "_held", 0))  # (none where recording failed)

    def pull(self, adjoints: Sequence[int], made: Sequence[int]) -> None:
        """Adjoints of outputs at these addresses → adjoints of inputs."""
        failure, back = Failure(), self._back
        given = back.given([*self._taken, *adjoints], made)
        with self._lock:
            back.plan.runtime.replay(back.plan.address, given, back._sizes, self._held, failure)
        if failure.status:
            raise back.error(failure)

    @property
    def made(self) -> list[Item]:
        """Shapes and dtypes of the adjoints."""
        return self._back.made


Item = tuple[Any, np.dtype[Any]]  # shape and dtype of a buffer


def buffers(
    foreign: Foreign, kind: str, wrt: Wrt, shapes: Sequence[Any], resolved: Resolved, plan: Plan, asked: bool
) -> tuple[list[Item], list[Item], list[Any]]:
    """What a call takes, what it makes, and the bytes of all buffers (see `Plan.sizes`); sizes may be symbols."""
    tensors = [(tuple(s), i.dtype) for s, i in zip(shapes, foreign.tensors, strict=True)]
    outputs = [(s, m.dtype) for s, m in zip(resolved.outputs, foreign.outputs, strict=True)]
    by = [tensors[n] for n in wrt]
    given = {"vjp": outputs, "jvp": by, "second": [*outputs, *by], "bend": [*by, *by], "replay": outputs}.get(kind, [])
    made = by if kind in ("vjp", "second", "replay") else outputs
    taken = [*tensors, *given]
    scratch = [(s, m.dtype) for s, m in zip(resolved.scratch, foreign.roles.scratch, strict=True)]
    sizes = [[prod(shape) * dtype.itemsize for shape, dtype in part] for part in (taken, made, scratch)]
    return taken, made, plan.sizes([*sizes[0], 8 * len(resolved.integers), *sizes[1], *sizes[2]], asked)
