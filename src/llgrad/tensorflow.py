"""Foreign functions in TensorFlow.

    from llgrad.tensorflow import foreign
    out = foreign(inp, filename="test.c", function="f")       # void f(float* inp, size_t n, float* out)

    f = load("test.c", "f")                                   # the same as an object: f(inp), f.batched(rows)

One operator with a kernel of its own, `LlgradCall` (`foreign/tensorflow.c`, compiled on first use by the compiler that
llgrad uses, over TensorFlow's C API), stands for a function and for all its derivatives. It works in eager mode and in
graphs, unknown dimensions included: sizes are a small tensor that is then computed in the graph. Gradients are
in terms of the operator itself, see `llgrad.foreign.function`: registered for graphs; in eager mode tapes are given a
function that has everything at hand, which costs less than what TensorFlow notes of an operator and its attributes.

Limits: the CPU; the rank of every input must be known; XLA (`jit_compile=True`) has no such operator and says so; a
SavedModel runs where the same function was made by `load` before. In graphs the gradient is by all float inputs.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, core
from tensorflow.python.framework import _pywrap_python_op_gen, op_def_registry, ops

from llgrad.errors import ForeignError, UnsupportedError
from llgrad.execution.library import ForeignFunction
from llgrad.execution.loaded import Loaded
from llgrad.execution.roles import Input, Resolved
from llgrad.foreign import Foreign, ForeignShapeError, ForeignTypeError, Operation, Paths
from llgrad.foreign.function import buffers
from llgrad.foreign.plans import Wrt
from llgrad.foreign.runtime import runtime

SOURCE = Path(__file__).parent / "foreign" / "tensorflow.c"
_made: dict[Any, ForeignOperation] = {}
_sites: dict[int, _Site] = {}
_lock = threading.RLock()
_by_name: dict[Any, tuple[Any, ForeignOperation]] = {}
_Eager = ops.EagerTensor
_execute = pywrap_tfe.TFE_Py_FastPathExecute
_unwatched, _watched = pywrap_tfe.TFE_Py_TapeSetIsEmpty, pywrap_tfe.TFE_Py_TapeSetPossibleGradientTypes
_stop, _restart = pywrap_tfe.TFE_Py_TapeSetStopOnThread, pywrap_tfe.TFE_Py_TapeSetRestartOnThread
_note = pywrap_tfe.TFE_Py_TapeSetRecordOperation


def _at_once() -> bool:
    """Is this eager mode, with no device asked for?"""
    here = context.context()._thread_local_data
    return here.is_eager and not here.device_name


def _key(operands: Sequence[Any]) -> tuple[Any, ...]:
    """What a call in eager mode depends on: types and shapes; of anything but eager tensors no call is remembered."""
    return tuple([type(x) is _Eager and (x._datatype_enum(), x._shape_tuple()) for x in operands])


class ForeignOperation(Operation):
    """A compiled function as a function of tensors. Made by `load`; can be pickled and copied."""

    autograph_info__ = None  # AutoGraph calls it as it is

    def __init__(self, source: Paths | ForeignFunction, name: str | None, options: dict[str, Any]) -> None:
        super().__init__(source, name, options)
        _start()
        made, self._site = self._foreign, _site(self._foreign, "primal", (), (), ())
        assert self._site.key  # a SavedModel may ask for it
        self._simple = not made.statics and all(i.array for i in made.tensors)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The outputs: a tensor, or a tuple of them. Integers are Python integers."""
        if self._simple and not named and _at_once():
            call = self._site.calls.get(_key(args))
            if call is not None:  # it was called with tensors like these
                made = call.run(args) if _unwatched() else _noted(self._site, args, call.floats, call.run, call)
                return made[0] if call.single else tuple(made)
        tensors, statics = self._foreign.split(args, named)
        return self._outputs(tensors, statics, ())

    def batched(self, *args: Any, shared: Sequence[str] = (), **named: Any) -> Any:
        """The function of each item: all tensors but those named in `shared` have a leading axis of a batch."""
        tensors, statics = self._foreign.split(args, named)
        return self._outputs(tensors, statics, tuple(i.name not in shared for i in self._foreign.tensors))

    def _outputs(self, tensors: list[Any], statics: list[int], batched: tuple[bool, ...]) -> Any:
        pairs = zip(self._foreign.tensors, tensors, strict=True)
        with tf.device("/CPU:0"):
            given = [_tensor(self._foreign, i, t) for i, t in pairs]
            made = _site(self._foreign, "primal", (), tuple(statics), batched).apply(given)
        return made[0] if len(made) == 1 else tuple(made)


def load(source: Paths | ForeignFunction, function: str | None = None, **options: Any) -> ForeignOperation:
    """The function of compiled sources as a function of tensors; see `llgrad.foreign.load_foreign`."""
    return ForeignOperation(source, function, options)


def foreign(*inputs: Any, filename: Any, function: str, **options: Any) -> Any:
    """The outputs of a function of compiled sources for these inputs; `options` are those of `load`. A file that was
    edited is compiled again; of the files that it includes `load` knows."""
    if type(filename) is str and not options:
        found = _by_name.get((filename, function))
        if found is not None and found[0] == _stamp(filename):
            return found[1](*inputs)
    listed = (filename,) if isinstance(filename, str | os.PathLike) else tuple(filename)
    stamps = [_stamp(p) for p in listed]
    key = (listed, tuple(stamps), function, repr(sorted(options.items())) if options else "")
    made = _made.get(key)
    if made is None:
        with _lock:
            made = _made[key] = load(filename, function, **options)
    if type(filename) is str and not options:
        _by_name[filename, function] = stamps[0], made
    return made(*inputs)


foreign.autograph_info__ = None  # type: ignore[attr-defined]  # AutoGraph calls it as it is


def _stamp(path: Any) -> Any:
    """Which file it is, and when it was changed; `load` says so where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _tensor(made: Foreign, i: Input, given: Any) -> Any:
    if isinstance(given, tf.RaggedTensor | tf.SparseTensor | tf.IndexedSlices):
        raise ForeignTypeError(
            f"{i.name} of {made.name} must be a dense tensor, not {type(given).__name__}",
            cause="compiled code reads memory without gaps",
            fix=f"make it one: {i.name}.to_tensor(), tf.sparse.to_dense or tf.convert_to_tensor",
        )
    if not tf.is_tensor(given) and not isinstance(given, tf.Variable):
        number = isinstance(given, int | float) and not isinstance(given, bool) and not i.array
        if not number and not isinstance(given, np.ndarray | np.generic):
            raise ForeignTypeError(
                f"{i.name} of {made.name} must be a tensor, not {type(given).__name__}",
                cause=f"it is declared {i.parameter.type.declare(i.name)}",
                fix=f"tf.constant(…, dtype=tf.{i.dtype.name})",
            )
        given = tf.constant(given, i.dtype if number else None)
    given = tf.convert_to_tensor(given)
    if given.dtype != i.dtype:
        raise made.wrong_dtype(i, given.dtype.name, f"convert it: tf.cast({i.name}, tf.{i.dtype.name})")
    return given


# --- the operator ----------------------------------------------------------------------------------------------------


@functools.cache
def _start() -> tuple[Any, Any]:
    """`LlgradCall`'s Python function, and what registers operators."""
    found = Path(tf.__file__).with_name("libtensorflow_framework.so.2")
    library = Loaded([SOURCE], (), 2, (str(found),), False, False)
    address, texts = library.addresses()["llgrad_tensorflow_operator"], ctypes.POINTER(ctypes.c_char_p)
    begin = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p, texts, texts, texts)(address)

    def register(name: str, *listed: Sequence[str], kept: Loaded = library) -> None:
        packed = [(ctypes.c_char_p * (len(part) + 1))(*(s.encode() for s in part)) for part in listed]
        if failed := begin(runtime().table, name.encode(), *packed):
            raise ForeignError("TensorFlow refuses the operator", cause=failed.decode(), fix="use tensorflow-cpu 2.21")

    attributes = ["Taken: list(type) >= 1", "Made: list(type) >= 1", "site: int"]
    register("LlgradCall", ["taken: Taken", "meta: int64"], ["made: Made"], attributes)
    listed = op_def_pb2.OpList()
    listed.op.add().CopyFrom(op_def_registry.get("LlgradCall"))
    space: dict[str, Any] = {}
    exec(_pywrap_python_op_gen.GetPythonWrappers(listed.SerializeToString()), space)
    return space["llgrad_call"], register


@functools.cache
def _plain(taken: tuple[str, ...], made: tuple[str, ...]) -> str:
    """The name of an operator of these dtypes, for eager mode."""
    name = "Llgrad" + "".join(d.capitalize() for d in (*taken, "to", *made))
    inputs = [*(f"taken{n}: {d}" for n, d in enumerate(taken)), "meta: int64"]
    with _lock:
        _start()[1](name, inputs, [f"made{n}: {d}" for n, d in enumerate(made)], ())
    return name


class _Site:
    """A call of a function or of one of its derivatives: what the operator's attribute `site` stands for."""

    def __init__(
        self, made: Foreign, kind: str, wrt: Wrt, statics: tuple[int, ...], batched: tuple[bool, ...]
    ) -> None:
        self.made, self.kind, self.wrt, self.statics = made, kind, wrt, statics
        self.batched = batched if any(batched) else ()
        self.simple = kind == "primal" and not self.batched
        self.calls: dict[Any, _Call] = {}  # by `_key`, in eager mode

    @functools.cached_property
    def key(self) -> int:
        """The plan's key."""
        return runtime().registered(f"{self.made.key} {self.kind} {self.wrt}", self.made.plan(self.kind, self.wrt))

    @functools.cached_property
    def number(self) -> int:
        """The same in every process."""
        said = f"{self.made.key} {self.kind} {self.wrt} {self.statics} {self.batched}"
        number = int.from_bytes(hashlib.sha256(said.encode()).digest()[:7], "little")
        _sites[number] = self
        return number

    def apply(self, operands: Sequence[Any]) -> list[Any]:
        """The operator on these tensors."""
        if tf.executing_eagerly() and all(type(x) is _Eager for x in operands):
            return self.eager(operands)

        def run(operands: Sequence[Any]) -> list[Any]:
            meta, made, checks = self._meta(operands)
            with tf.control_dependencies(checks):
                found = _start()[0](taken=list(operands), meta=meta, Made=[d for _, d in made], site=self.number)
            for tensor, (shape, _) in zip(found, made, strict=True):
                tensor.set_shape([d if isinstance(d, int) else None for d in shape])
            return list(found)

        return run(operands) if _unwatched() else _noted(self, operands, _floats(operands), run, None)

    def eager(self, operands: Sequence[Any]) -> list[Any]:
        """The same at once, as the operator's Python function would do it."""
        call = self.calls.get(_key(operands)) or self.call(operands)
        return call.run(operands) if _unwatched() else _noted(self, operands, call.floats, call.run, call)

    def call(self, operands: Sequence[Any]) -> _Call:
        """The call for tensors of these types and shapes."""
        with tf.device("/CPU:0"):
            meta, made, _ = self._meta(operands)
        found = self.calls[_key(operands)] = _Call(self, operands, meta, [d for _, d in made])
        return found

    def _meta(self, operands: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
        """Sizes as a tensor, shapes and dtypes of the results, checks to run before: see tensorflow.c."""
        flags = self.batched or (False,) * len(operands)
        dims = [_dims(self.made, x) for x in operands]
        shapes = [tuple(d[1:] if b else d) for d, b in zip(dims, flags, strict=True)][: len(self.made.tensors)]
        known = all(isinstance(d, int) for shape in dims for d in shape)
        roles, plan = self.made.roles, self.made.plan(self.kind, self.wrt)
        resolved = (roles.resolve if known else roles.symbols)(shapes, self.statics)
        named = dict(zip((i.name for i in roles.tensors), shapes, strict=True))
        checks = [] if known else [*self._checks(named), *self._proofs(resolved)]
        asked = self.made.asks(plan, self.made.values(shapes, resolved)) if known else self.made.checked
        taken, made, sizes = buffers(self.made, self.kind, self.wrt, shapes, resolved, plan, asked)
        count = next((d[0] for d, b in zip(dims, flags, strict=True) if b), None)
        for x, (_, dtype) in zip(operands, taken, strict=True):
            if x.dtype != dtype:
                raise ForeignTypeError(f"the {self.kind} of {self.made.name} was given {x.dtype.name}, not {dtype}")
        items = [prod(shape) * dtype.itemsize for shape, dtype in (*taken, *made)]
        places = [*flags, *(count is not None for _ in made)]
        strides = [n if b else 0 for n, b in zip(items, places, strict=True)]
        strides.insert(len(taken), 0)
        results = [((*(() if count is None else (count,)), *shape), tf.as_dtype(dtype)) for shape, dtype in made]
        every = [
            self.key, -1 if count is None else count, len(sizes), len(resolved.integers),
            *(len(shape) for shape, _ in results),
            *sizes, *resolved.integers, *strides, *(d for shape, _ in results for d in shape),
        ]  # fmt: skip
        meta = tf.constant(every, tf.int64) if known else tf.stack([tf.cast(n, tf.int64) for n in every])
        return meta, results, checks

    def _checks(self, shapes: dict[str, Any]) -> list[Any]:
        """What `resolve` would ask of sizes that are known only when the graph runs."""
        found, before = [], dict[str, tuple[str, Any]]()
        for p, arrays, axis in self.made.roles.counts:
            for name in arrays:
                size = tf.cast(prod(shapes[name]) if axis is None else shapes[name][axis], tf.int64)
                first, other = before.setdefault(p.name, (name, size))
                if first != name:
                    message = f"which array of {self.made.name} does {p.name} count? {first} and {name} differ in size"
                    found.append(tf.debugging.assert_equal(other, size, message=message))
        for i in self.made.tensors:
            if i.group > 1:
                message = f"{i.name} of {self.made.name} must have a shape that ends with {i.dims}"
                over = tf.cast(prod(shapes[i.name]), tf.int64) % i.group
                found.append(tf.debugging.assert_equal(over, tf.zeros_like(over), message=message))
        known = {i.name: n for i, n in zip(self.made.statics, self.statics, strict=True)}
        for name, value in self.made.roles.fixed:
            message = f"{self.made.name} was specialised to {name} = {value}"
            size = before[name][1] if name in before else tf.constant(known[name], tf.int64)
            found.append(tf.debugging.assert_equal(size, tf.constant(value, tf.int64), message=message))
        return found

    def _proofs(self, resolved: Resolved) -> list[Any]:
        """Does the code write as much of outputs as they were taken to have, because nobody declared them?"""
        found, roles = [], self.made.roles
        given = {n: tf.cast(v, tf.int64) for n, v in roles.numbered(resolved.integers).items()}
        for m, shape in zip(roles.outputs, resolved.outputs, strict=True):
            ends = [tf.constant(0, tf.int64)]
            for piece in m.written.pieces if m.written else ():
                tests = [s.value(given, (tf.minimum, tf.maximum)) >= 0 for s in piece.conditions]
                high = tf.cast(piece.high.value(given, (tf.minimum, tf.maximum)), tf.int64)
                ends.append(tf.where(tf.reduce_all(tests), high, ends[0]))
            if m.written:
                message = f"{self.made.name} writes another number of elements of {m.name} than its first array has"
                size = tf.cast(prod(shape), tf.int64) * m.dtype.itemsize
                found.append(tf.debugging.assert_equal(tf.reduce_max(ends), size, message=message))
        return found


_site = functools.lru_cache(1024)(_Site)


class _Call:
    """A call in eager mode, for tensors of one set of shapes."""

    def __init__(self, site: _Site, operands: Sequence[Any], meta: Any, dtypes: Sequence[Any]) -> None:
        self.site, self.meta, self.dtypes = site, meta, list(dtypes)
        self.floats = _floats(operands)
        self.operator = _plain(tuple(x.dtype.name for x in operands), tuple(d.name for d in dtypes))
        self.single = len(self.dtypes) == 1
        self.pulled: dict[Wrt, _Call] = {}  # calls that make adjoints, by what they differentiate by

    def run(self, operands: Sequence[Any]) -> list[Any]:
        """The operator's results."""
        try:
            made = _execute(context.context(), self.operator, None, *operands, self.meta)
        except core._FallbackException:  # somebody wants to see all operators (`tf.debugging`)
            return list(
                _start()[0](taken=list(operands), meta=self.meta, Made=self.dtypes, site=self.site.number)
            )
        except core._NotOkStatusException as error:
            raise ops.raise_from_not_ok_status(error, None) from None  # (which raises)
        return [made] if self.single else made

    def learn(self, by: Wrt, taken: Sequence[Any]) -> None:
        """Of a function: remember the call that made its adjoints of the inputs `by`."""
        if all(type(x) is _Eager for x in taken):
            calls = _site(self.site.made, "vjp", by, self.site.statics, ()).calls
            if found := calls.get(_key(taken)):
                self.pulled[by] = found


def _floats(operands: Sequence[Any]) -> list[int]:
    return [n for n, x in enumerate(operands) if x.dtype.is_floating]


def _noted(
    site: _Site, operands: Sequence[Any], floats: list[int], run: Callable[..., list[Any]], call: _Call | None
) -> list[Any]:
    """What `run` makes of the operands, noted on the tapes (and by `tf.autodiff.ForwardAccumulator`)."""
    by = tuple([n for n in floats if _watched([operands[n]])])
    if not by:
        return run(operands)
    _stop()
    try:
        made = run(operands)
    finally:
        _restart()

    def back(*adjoints: Any) -> list[Any]:
        quick = call and call.pulled.get(by)
        if quick and _unwatched() and _at_once() and all([type(a) is _Eager for a in adjoints]):
            return quick.run([*operands, *adjoints])
        found = _adjoints(site, operands, made, adjoints, [n in by for n in range(len(operands))])
        if call and site.simple:
            call.learn(by, [*operands, *adjoints])
        return [found[n] for n in by]

    def ahead(*tangents: Any) -> list[Any]:
        return _tangents(site, operands, dict(zip(by, tangents, strict=True)))

    _note("LlgradCall", made, [operands[n] for n in by], back, ahead)
    return made


def _dims(made: Foreign, x: Any) -> list[Any]:
    if x.shape.rank is None:
        raise ForeignShapeError(
            f"a tensor for {made.name} has no known rank", fix="tf.ensure_shape, or an input_signature with a rank"
        )
    known = x.shape.as_list()
    if None not in known:
        return list(known)
    actual = tf.shape(x, out_type=tf.int64)
    return [actual[n] if d is None else d for n, d in enumerate(known)]


# --- gradients -------------------------------------------------------------------------------------------------------


@tf.RegisterGradient("LlgradCall")
def _gradient(op: Any, *adjoints: Any) -> list[Any]:
    operands = list(op.inputs)[:-1]
    return [*_adjoints(_sites[op.get_attr("site")], operands, op.outputs, adjoints, [True] * len(operands)), None]


def _adjoints(
    site: _Site, operands: Sequence[Any], made: Sequence[Any], adjoints: Sequence[Any], wanted: list[bool]
) -> list[Any]:
    """Adjoints of operands that are wanted (None for others), from those of what was made."""
    given = [tf.zeros_like(o) if a is None else a for o, a in zip(made, adjoints, strict=True)]
    with tf.device("/CPU:0"):
        return _GRADIENTS[site.kind](site, list(operands), given, wanted)


def _split(site: _Site, listed: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Inputs; adjoints of outputs, or first tangents; tangents."""
    count = len(site.made.tensors)
    end = count + (len(site.made.outputs) if site.kind in ("vjp", "second") else len(site.wrt))
    return list(listed[:count]), list(listed[count:end]), list(listed[end:])


def _of(site: _Site, kind: str, wrt: Wrt, batched: Sequence[bool], operands: Sequence[Any]) -> list[Any]:
    return _site(site.made, kind, wrt, site.statics, tuple(batched)).apply(operands)


def _summed(found: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Adjoints of what a batch shares are summed."""
    return [r if b else tf.reduce_sum(r, 0) for r, b in zip(found, flags or [True] * len(found), strict=True)]


def _of_primal(site: _Site, operands: list[Any], adjoints: list[Any], wanted: list[bool]) -> list[Any]:
    wrt = tuple(n for n in site.made.active if wanted[n])
    result: list[Any] = [None] * len(operands)
    if wrt:
        flags = [*site.batched, *(True for _ in adjoints)] if site.batched else []
        found = _of(site, "vjp", wrt, flags, [*operands, *adjoints])
        for n, r in zip(wrt, _summed(found, [site.batched[n] for n in wrt] if flags else []), strict=True):
            result[n] = r
    return result


def _of_pullback(site: _Site, operands: list[Any], adjoints: list[Any], wanted: list[bool]) -> list[Any]:
    inputs, weights, _ = _split(site, operands)
    own, of_weights, _ = _split(site, site.batched) if site.batched else ([], [], [])
    ones = [True] * len(adjoints) if own else []
    pushed = _of(site, "jvp", site.wrt, [*own, *ones], [*inputs, *adjoints])
    along = dict(zip(site.wrt, adjoints, strict=True))
    curved = _curved(site, inputs, weights, along, [*own, *of_weights, *ones], wanted)
    return [*curved, *_summed(pushed, of_weights)]


def _of_pushforward(site: _Site, operands: list[Any], adjoints: list[Any], wanted: list[bool]) -> list[Any]:
    inputs, tangents, _ = _split(site, operands)
    own, of_tangents, _ = _split(site, site.batched) if site.batched else ([], [], [])
    ones = [True] * len(adjoints) if own else []
    pulled = _of(site, "vjp", site.wrt, [*own, *ones], [*inputs, *adjoints])
    along = dict(zip(site.wrt, tangents, strict=True))
    curved = _curved(site, inputs, adjoints, along, [*own, *ones, *of_tangents], wanted)
    return [*curved, *_summed(pulled, of_tangents)]


def _curved(
    site: _Site, inputs: list[Any], weights: list[Any], along: dict[int, Any], flags: list[bool], wanted: list[bool]
) -> list[Any]:
    """Second derivatives of the weighted outputs along tangents, by all inputs that want one."""
    by = tuple(n for n in site.made.active if wanted[n])
    result: list[Any] = [None] * len(inputs)
    if not by:
        return result
    wrt = tuple(n for n in site.made.active if n in by or n in along)
    tangents = [along[n] if n in along else tf.zeros_like(inputs[n]) for n in wrt]
    if flags:
        start = len(inputs) + len(weights)
        own = dict(zip(along, flags[start:], strict=True))
        flags = [*flags[:start], *(own.get(n, flags[n]) for n in wrt)]
    found = _of(site, "second", wrt, flags, [*inputs, *weights, *tangents])
    for n, r in zip(wrt, _summed(found, [flags[n] for n in wrt] if flags else []), strict=True):
        result[n] = r if n in by else None
    return result


def _third(site: _Site, *_: Any) -> list[Any]:
    raise UnsupportedError(
        f"third derivatives of {site.made.name} are not available", span=site.made.function.signature.source,
        cause="a second derivative of it was differentiated", fix="differentiate at most twice",
    )  # fmt: skip


_GRADIENTS = {"primal": _of_primal, "vjp": _of_pullback, "jvp": _of_pushforward, "second": _third, "bend": _third}


# --- tangents, for `tf.autodiff.ForwardAccumulator` in eager mode ----------------------------------------------------


def _tangents(site: _Site, operands: Sequence[Any], tangents: dict[int, Any]) -> list[Any]:
    """Tangents of what was made, along those of operands."""
    if site.kind not in ("primal", "vjp", "jvp"):
        return _third(site)
    with tf.device("/CPU:0"):
        count = len(site.made.tensors)
        inputs, rest = operands[:count], range(count, len(operands))
        along = {n: tangents[n] for n in site.made.active if n in tangents}
        found = [_along_inputs(site, list(inputs), list(operands[count:]), along)] if along else []
        if any(n in tangents for n in rest):  # linear in these
            moved = [tangents[n] if n in tangents else tf.zeros_like(operands[n]) for n in rest]
            found.append(_of(site, site.kind, site.wrt, site.batched, [*inputs, *moved]))
        return [tf.add_n(parts) for parts in zip(*found, strict=True)]


def _along_inputs(site: _Site, inputs: list[Any], rest: list[Any], along: dict[int, Any]) -> list[Any]:
    own, of_rest = list(site.batched[: len(inputs)]), list(site.batched[len(inputs) :])
    wrt = tuple(n for n in site.made.active if n in along or n in site.wrt)
    moved = [along[n] if n in along else tf.zeros_like(inputs[n]) for n in wrt]
    places = [own[n] for n in wrt] if own else []
    if site.kind == "primal":
        return _of(site, "jvp", wrt, [*own, *places], [*inputs, *moved])
    if site.kind == "vjp":
        found = _of(site, "second", wrt, [*own, *of_rest, *places], [*inputs, *rest, *moved])
        return [found[wrt.index(n)] for n in site.wrt]
    first, flags = (dict(zip(site.wrt, part, strict=False)) for part in (rest, of_rest))
    one = [first[n] if n in first else tf.zeros_like(inputs[n]) for n in wrt]
    ones = [flags.get(n, own[n]) for n in wrt] if own else []
    return _of(site, "bend", wrt, [*own, *ones, *places], [*inputs, *one, *moved])


__all__ = ["ForeignOperation", "foreign", "load"]
