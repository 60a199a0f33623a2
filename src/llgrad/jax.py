"""Foreign functions in JAX.

    from llgrad.jax import foreign
    f = foreign("test.c", "f")        # void f(float* inp, size_t n, float* out)
    jax.grad(lambda x: f(x).sum())(x)

One primitive, `llgrad`, stands for a function and for all its derivatives; its parameters say which (`kind`, `wrt`; see
`llgrad.foreign.function`). XLA calls it through its foreign function interface (`foreign/xla.c`): no Python runs, and
no buffer is copied. Its rules are written in terms of itself:

    kind      tangent by inputs    tangent by the rest    transposed
    primal    jvp                                         vjp at zero, where it is linear
    vjp       second               vjp                    jvp, by the adjoints
    jvp       bend                 jvp                    vjp, by the tangents
    second    refused              second                 bend by the adjoints, second by the tangents
    bend      refused              bend                   second

`batched` has a flag for each operand: has it a leading axis of a batch? Batches run on the machine's cores.
`foreign` takes the options of `llgrad.foreign.load_foreign`. Integers are static: Python integers.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax._src import core
from jax._src.array import ArrayImpl
from jax._src.dispatch import apply_primitive
from jax.interpreters import ad, batching, mlir

from llgrad.api.directions import packed
from llgrad.api.implicit import Implicit, ImplicitDerivative, Point
from llgrad.errors import UnsupportedError
from llgrad.execution.library import ForeignFunction
from llgrad.execution.loaded import Loaded
from llgrad.execution.roles import Input
from llgrad.foreign import Foreign, ForeignTypeError, Operation, Paths
from llgrad.foreign.plans import Wrt
from llgrad.foreign.runtime import runtime

SOURCE = Path(__file__).parent / "foreign" / "xla.c"
_TARGET = "llgrad_run"


class ForeignOperation(Operation):
    """A compiled function as a function of JAX arrays. Made by `foreign`; can be pickled and copied."""

    def __init__(self, source: Paths | ForeignFunction, name: str | None, options: dict[str, Any]) -> None:
        super().__init__(source, name, options)
        made = self._foreign
        simple = not made.statics and all(i.array for i in made.tensors)
        self._dtypes = [i.dtype for i in made.tensors] if simple else None
        self._at_once = jax.jit(self._traced)  # for arrays that nothing traces: dispatched in C++

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The outputs: an array, or a tuple of them."""
        if not named and self._dtypes is not None and len(args) == len(self._dtypes):
            for a, dtype in zip(args, self._dtypes, strict=True):
                if type(a) is not ArrayImpl or a.dtype != dtype:
                    break
            else:
                return self._at_once(*args)
        return self._traced(*args, **named)

    def _traced(self, *args: Any, **named: Any) -> Any:
        tensors, statics = self._foreign.split(args, named)
        given = [_array(self._foreign, i, t) for i, t in zip(self._foreign.tensors, tensors, strict=True)]
        made = _bind(self._foreign, "primal", (), tuple(statics), (), given)
        return made[0] if len(made) == 1 else tuple(made)


def implicit(function: Implicit, out: Any) -> Callable[..., Any]:
    """A solver that `llgrad.implicit` or `llgrad.fixed_point` made, as a function of arrays: reverse mode, twice.

    out     what it returns: "like x", or a jax.ShapeDtypeStruct, or a function that makes one of the arguments by name

    Parameters that the residual knows have derivatives; the others are static. XLA calls Python back.
    """
    if not isinstance(function, Implicit) or not function.single or function.has_aux:
        raise ForeignTypeError(
            "implicit takes a solver with one unknown and no aux", fix="@llgrad.implicit(residual=…, unknown=…)"
        )

    def call(*args: Any, **named: Any) -> Any:
        given = function.bound(args, named)
        names = tuple(n for n in function.names(function.wrt) if n in given)
        arrays = {n: jnp.asarray(given.pop(n)) for n in names}
        like = arrays[out.removeprefix("like ")] if isinstance(out, str) else out(**arrays) if callable(out) else out
        return _solution(function, names, given, jax.ShapeDtypeStruct(like.shape, like.dtype))(*arrays.values())

    call.__doc__ = repr(function)
    return call


def _solution(function: Implicit, names: tuple[str, ...], rest: dict[str, Any], out: Any) -> Callable[..., Any]:
    """u(p), whose derivatives are calls of Python."""
    derivative = ImplicitDerivative(function, "vjp", names, None, False)

    def called(run: Callable[..., Any], like: Any, *given: Any) -> Any:
        def run_on(*arrays: Any) -> Any:
            found = run(*(np.asarray(a)[()] for a in arrays))
            return jax.tree.map(lambda f, of: np.asarray(f, of.dtype).reshape(of.shape), found, like)

        return jax.pure_callback(run_on, like, *given, vmap_method="sequential")

    def point(p: Sequence[Any], u: Any) -> Point:
        return Point(function, u, {**rest, **dict(zip(names, p, strict=True))}, derivative.wrt)

    def pull(*given: Any) -> Any:
        *p, u, w = given
        return tuple(derivative.pull(point(p, u), packed([w])))

    def bend(*given: Any) -> Any:
        *p, u, w = given[: len(names) + 2]
        at, along = point(p, u), list(given[len(names) + 2 :])
        by_p = derivative.bend(at, at.adjoint.solve(packed([w])), along)
        return (*by_p, at.unpacked(derivative.push(at, along))[0])

    @jax.custom_vjp
    def solution(*p: Any) -> Any:
        return called(lambda *v: function.solved((), {**rest, **dict(zip(names, v, strict=True))})[0], out, *p)

    @jax.custom_vjp
    def pulled(*given: Any) -> Any:
        return called(pull, tuple(jax.ShapeDtypeStruct(p.shape, p.dtype) for p in given[:-2]), *given)

    def of_pulled(given: Any, along: Any) -> Any:
        *p, u, w = given
        like = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (*p, w))
        *by_p, by_w = called(bend, like, *given, *along)
        return (*by_p, jnp.zeros_like(u), by_w)  # (how u depends on p is in by_p)

    def with_solution(*p: Any) -> Any:
        u = solution(*p)
        return u, (p, u)

    solution.defvjp(with_solution, lambda kept, w: pulled(*kept[0], kept[1], w))
    pulled.defvjp(lambda *given: (pulled(*given), given), of_pulled)
    return solution


def foreign(source: Paths | ForeignFunction, name: str | None = None, **options: Any) -> ForeignOperation:
    """The function `name` of compiled sources as a function of arrays; see `llgrad.foreign.load_foreign`."""
    return ForeignOperation(source, name, options)


def _array(made: Foreign, i: Input, given: Any) -> Any:
    if isinstance(given, int | float) and not isinstance(given, bool) and not i.array:
        given = np.asarray(given, i.dtype)
    if not isinstance(given, jax.Array | np.ndarray | np.generic):
        raise ForeignTypeError(
            f"{i.name} of {made.name} must be an array, not {type(given).__name__}",
            cause=f"it is declared {i.parameter.type.declare(i.name)}", fix=f"jnp.array(…, dtype=jnp.{i.dtype.name})",
        )  # fmt: skip
    if np.dtype(given.dtype) != i.dtype:
        wide = i.dtype.itemsize == 8 and not jax.config.jax_enable_x64
        first = 'jax.config.update("jax_enable_x64", True) first, then ' if wide else ""
        raise made.wrong_dtype(i, str(given.dtype), f"{first}convert it: {i.name}.astype(jnp.{i.dtype.name})")
    if i.dtype.itemsize == 8 and not jax.config.jax_enable_x64:
        raise made.wrong_dtype(i, "float32 in JAX", 'jax.config.update("jax_enable_x64", True) first')
    return given


# --- the primitive ---------------------------------------------------------------------------------------------------

_primitive = core.Primitive("llgrad")
_primitive.multiple_results = True
_primitive.def_impl(functools.partial(apply_primitive, _primitive))


def _bind(made: Foreign, kind: str, wrt: Wrt, statics: Any, batched: tuple[bool, ...], operands: Sequence[Any]) -> Any:
    flags = batched if any(batched) else ()
    return _applied(*operands, made=made, kind=kind, wrt=wrt, statics=statics, batched=flags)


def _applied(*operands: Any, **parameters: Any) -> Any:
    """The primitive on operands that, under `shard_map`, are all made to vary over the same axes of the mesh."""
    varying = [core.typeof(x).mat.varying for x in operands]
    every = frozenset().union(*varying)
    operands = tuple(
        x if v == every else jax.lax.pcast(x, tuple(sorted(every - v)), to="varying")
        for x, v in zip(operands, varying, strict=True)
    )
    return _primitive.bind(*operands, **parameters)


def _item_shapes(made: Foreign, avals: Sequence[Any], batched: Sequence[bool]) -> tuple[tuple[int, ...], ...]:
    count = len(made.tensors)
    flags = list(batched[:count]) or [False] * count
    return tuple(tuple(a.shape[1:] if b else a.shape) for a, b in zip(avals[:count], flags, strict=True))


def _size(avals: Sequence[Any], batched: Sequence[bool]) -> tuple[int, ...]:
    return next(((a.shape[0],) for a, b in zip(avals, batched, strict=True) if b), ()) if batched else ()


@_primitive.def_abstract_eval
def _abstract(*avals: Any, made: Foreign, kind: str, wrt: Wrt, statics: Any, batched: tuple[bool, ...]) -> Any:
    core.standard_vma_rule("llgrad", *avals)
    shapes = _item_shapes(made, avals, batched)
    if kind in ("vjp", "second"):
        found = [(shapes[n], made.tensors[n].dtype) for n in wrt]
    else:
        outputs = made.roles.resolve(shapes, statics).outputs
        found = [(s, m.dtype) for s, m in zip(outputs, made.outputs, strict=True)]
    size = _size(avals, batched)
    return [_aval((*size, *shape), dtype, avals[0]) for shape, dtype in found]


def _aval(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    """An array that varies over the same axes of a mesh (under `shard_map`) as `like`."""
    sharding = core.get_cur_mesh_sharding(core.P(*(None for _ in shape)))
    return core.ShapedArray(shape, dtype, sharding=sharding, manual_axis_type=like.mat)


# --- running ---------------------------------------------------------------------------------------------------------


def _lower(
    ctx: Any, *operands: Any, made: Foreign, kind: str, wrt: Wrt, statics: Any, batched: tuple[bool, ...]
) -> Any:
    avals = ctx.avals_in
    call = made.call(kind, wrt, _item_shapes(made, avals, batched), statics)
    _handler()
    key, size = runtime().registered(f"{made.key} {kind} {wrt}", call.plan), _size(avals, batched)
    items = [int(np.prod(s, dtype=np.int64)) * np.dtype(d).itemsize for s, d in (*call.taken, *call.made)]
    flags = [*batched, *(True for _ in call.made)] if size else []
    steps = [n if b else 0 for n, b in zip(items, flags, strict=False)]
    strides = [*steps[: len(operands)], 0, *steps[len(operands) :]]
    rule = jax.ffi.ffi_lowering(_TARGET)
    return rule(
        ctx, *operands, key=np.int64(key), sizes=np.array(call.sizes, np.int64), strides=np.array(strides, np.int64),
        integers=np.array(call.integers or [0], np.int64), count=np.int64(size[0] if size else -1),
    )  # fmt: skip


mlir.register_lowering(_primitive, _lower, platform="cpu")


@functools.cache
def _handler() -> Loaded:
    """`xla.c`, compiled and registered with XLA."""
    library = Loaded([SOURCE], (f"-I{jax.ffi.include_dir()}",), 2, (), False, False)
    addresses = library.addresses()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["llgrad_xla_start"])(runtime().table)
    capsule = jax.ffi.pycapsule(ctypes.c_void_p(addresses["llgrad_xla"]))
    jax.ffi.register_ffi_target(_TARGET, capsule, platform="cpu")
    return library


# --- rules -----------------------------------------------------------------------------------------------------------


def _parts(made: Foreign, kind: str, wrt: Wrt, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Inputs; adjoints of outputs, or the first tangents; (other) tangents."""
    count = len(made.tensors)
    second = {"vjp": len(made.outputs), "second": len(made.outputs)}.get(kind, len(wrt))
    end = count + (0 if kind == "primal" else second)
    return list(operands[:count]), list(operands[count:end]), list(operands[end:])


def _zeros(like: Any) -> Any:
    return jnp.zeros(like.shape, like.dtype)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, made: Foreign, kind: str, wrt: Wrt, statics: Any,
    batched: tuple[bool, ...],
) -> Any:  # fmt: skip
    every = {"made": made, "kind": kind, "wrt": wrt, "statics": statics, "batched": batched}
    results = _applied(*primals, **every)
    inputs, more, other = _parts(made, kind, wrt, primals)
    moved, more_moved, other_moved = _parts(made, kind, wrt, tangents)
    flags = _parts(made, kind, wrt, batched) if batched else ([], [], [])
    along = tuple(n for n in made.active if not isinstance(moved[n], ad.Zero))
    found: list[list[Any]] = []
    if along:
        found.append(_along_inputs(made, kind, wrt, statics, inputs, more, [moved[n] for n in along], along, flags))
    if any(not isinstance(t, ad.Zero) for t in more_moved):
        found.append(_applied(*inputs, *map(ad.instantiate_zeros, more_moved), *other, **every))
    if any(not isinstance(t, ad.Zero) for t in other_moved):
        found.append(_applied(*inputs, *more, *map(ad.instantiate_zeros, other_moved), **every))
    if not found:
        return results, [ad.Zero.from_primal_value(r) for r in results]
    return results, [functools.reduce(ad.add_jaxvals, parts) for parts in zip(*found, strict=True)]


def _along_inputs(
    made: Foreign, kind: str, wrt: Wrt, statics: Any, inputs: list[Any], more: list[Any], moved: list[Any], along: Wrt,
    flags: tuple[list[bool], list[bool], list[bool]],
) -> list[Any]:  # fmt: skip
    own, of_more, _ = flags
    if kind == "primal":
        given = tuple(own) + tuple(own[n] for n in along) if own else ()
        return list(_bind(made, "jvp", along, statics, given, [*inputs, *moved]))
    if kind not in ("vjp", "jvp"):
        raise UnsupportedError(
            f"third derivatives of {made.name} are not available", span=made.function.signature.source,
            cause="a second derivative of it was differentiated", fix="differentiate at most twice",
        )  # fmt: skip
    every = tuple(n for n in made.active if n in wrt or n in along)
    by = dict(zip(along, moved, strict=True))
    other = [by[n] if n in by else _zeros(inputs[n]) for n in every]
    places = [own[n] for n in every] if own else []
    if kind == "vjp":
        found = _bind(made, "second", every, statics, (*own, *of_more, *places), [*inputs, *more, *other])
        return [found[every.index(n)] for n in wrt]
    first = dict(zip(wrt, more, strict=True))
    one = [first[n] if n in first else _zeros(inputs[n]) for n in every]
    flagged = dict(zip(wrt, of_more, strict=False))
    ones = [flagged.get(n, own[n]) for n in every] if own else []
    return list(_bind(made, "bend", every, statics, (*own, *ones, *places), [*inputs, *one, *other]))


def _transpose(
    adjoints: Sequence[Any], *operands: Any, made: Foreign, kind: str, wrt: Wrt, statics: Any, batched: tuple[bool, ...]
) -> Any:
    inputs, more, other = _parts(made, kind, wrt, operands)
    own, of_more, of_other = _parts(made, kind, wrt, batched) if batched else ([], [], [])
    given = [ad.instantiate_zeros(c) for c in adjoints]
    ones = [True] * len(given) if batched else []
    unknown = [ad.is_undefined_primal(x) for x in more]
    none: list[Any] = [None] * len(inputs)
    if any(map(ad.is_undefined_primal, inputs)):
        return _transpose_primal(given, inputs, made, kind, statics, own)
    if kind in ("vjp", "jvp"):
        back = "jvp" if kind == "vjp" else "vjp"
        found = _bind(made, back, wrt, statics, (*own, *ones), [*inputs, *given])
        return [*none, *_summed(found, of_more, unknown)]
    if any(unknown):  # linear in the adjoints, or in the first tangents
        back, flags = ("bend", (*own, *of_other, *ones)) if kind == "second" else ("second", (*own, *ones, *of_other))
        order = [*other, *given] if kind == "second" else [*given, *other]
        found = _bind(made, back, wrt, statics, flags, [*inputs, *order])
        return [*none, *_summed(found, of_more, unknown), *(None for _ in other)]
    if kind == "second":
        found = _bind(made, "second", wrt, statics, (*own, *of_more, *ones), [*inputs, *more, *given])
    else:
        found = _bind(made, "second", wrt, statics, (*own, *ones, *of_more), [*inputs, *given, *more])
    return [*none, *(None for _ in more), *_summed(found, of_other, [ad.is_undefined_primal(x) for x in other])]


def _transpose_primal(
    given: Sequence[Any], inputs: Sequence[Any], made: Foreign, kind: str, statics: Any, own: Sequence[bool]
) -> Any:
    """The adjoint of a function that the caller of `jax.linear_transpose` promises to be linear: at zero, say."""
    along = tuple(n for n, x in enumerate(inputs) if ad.is_undefined_primal(x))
    if kind != "primal" or any(n not in made.active for n in along):
        raise UnsupportedError(
            f"{made.name} has no transpose by its inputs here", span=made.function.signature.source,
            cause="a derivative of it is not linear in them" if kind != "primal" else "they have no derivative",
            fix="transpose a function by what it is linear in",
        )  # fmt: skip
    known = [_zeros(x.aval) if ad.is_undefined_primal(x) else x for x in inputs]
    flags = (*own, *(True for _ in given)) if own else ()
    found = _bind(made, "vjp", along, statics, flags, [*known, *given])
    by = dict(zip(along, _summed(found, [own[n] for n in along] if own else (), [True] * len(along)), strict=True))
    return [by.get(n) for n in range(len(inputs))]


def _summed(found: Sequence[Any], flags: Sequence[bool], wanted: Sequence[bool]) -> list[Any]:
    """Adjoints of what a batch shares are summed; None for what is known."""
    flags = flags or [True] * len(found)
    return [(f if b else f.sum(0)) if w else None for f, b, w in zip(found, flags, wanted, strict=True)]


def _batch(
    operands: Sequence[Any], dims: Sequence[Any], *, made: Foreign, kind: str, wrt: Wrt, statics: Any,
    batched: tuple[bool, ...],
) -> Any:  # fmt: skip
    moved = [x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True)]
    outer = tuple(d is not None for d in dims)
    every = {"made": made, "kind": kind, "wrt": wrt, "statics": statics}
    if not batched:
        results = _applied(*moved, **every, batched=outer)
        return results, [0] * len(results)
    size = next(x.shape[0] for x, o in zip(moved, outer, strict=True) if o)
    inner = next(x.shape[1 if o else 0] for x, o, b in zip(moved, outer, batched, strict=True) if b)
    both = []
    for x, o, b in zip(moved, outer, batched, strict=True):
        if o or b:
            item = x.shape[int(o) + int(b) :]
            x = x if o else jnp.broadcast_to(x[None], (size, *x.shape))
            x = x if b else jnp.broadcast_to(x[:, None], (size, inner, *item))
            x = x.reshape(size * inner, *item)
        both.append(x)
    results = _applied(*both, **every, batched=tuple(o or b for o, b in zip(outer, batched, strict=True)))
    return [r.reshape(size, inner, *r.shape[1:]) for r in results], [0] * len(results)


ad.primitive_jvps[_primitive] = _jvp
ad.primitive_transposes[_primitive] = _transpose
batching.primitive_batchers[_primitive] = _batch

__all__ = ["ForeignOperation", "foreign", "implicit"]
