"""How the operators of a foreign function run in PyTorch, on what they are batched, and how they are differentiated.

The derivatives of each are written in terms of the others; see `llgrad.torch.operators`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from llgrad.errors import UnsupportedError
from llgrad.execution.roles import Input
from llgrad.foreign import Foreign, ForeignShapeError, Tape
from llgrad.foreign.plans import Wrt

if TYPE_CHECKING:
    from llgrad.torch.operators import Operators

DTYPES = {np.dtype(n): getattr(torch, n) for n in ("float32", "float64", "int8", "uint8", "int16", "int32", "int64")}
FLOATS = {np.dtype("float32"): torch.float32, np.dtype("float64"): torch.float64}
_PLAIN = (Tensor, torch.nn.Parameter)
_KEYS = torch._C._dispatch_keys(torch.empty(0)).raw_repr()  # of a dense tensor on the CPU: no view of negated memory, …


def nothing_watches(tensors: Sequence[Any]) -> bool:
    """Are these plain tensors, of which nothing is recorded, traced or transformed?"""
    if torch.is_grad_enabled() or torch._C._are_functorch_transforms_active():
        return False
    keys = torch._C._dispatch_keys
    plain = all([type(t) in _PLAIN and keys(t).raw_repr() == _KEYS for t in tensors])
    return plain and not torch._C._len_torch_dispatch_stack()


def check_dtype(made: Foreign, i: Input, t: Tensor) -> None:
    """ForeignTypeError for a tensor of another dtype."""
    if t.dtype is not DTYPES[i.dtype]:
        raise made.wrong_dtype(i, str(t.dtype).removeprefix("torch."), f"convert it: {i.name}.to(torch.{i.dtype.name})")


class Rule(ABC):
    """How one operator runs, on what it is batched, and how it is differentiated. Its arguments: tensors, integers,
    `batched`, and for derivatives `wrt`, positions among the inputs."""

    def __init__(self, operators: Operators, kind: str, tensors: int, results: int) -> None:
        self.of, self.kind, self.count, self.single = operators, kind, tensors, results == 1
        self.foreign, self.inputs = operators.foreign, len(operators.tensors)
        self.statics = len(self.foreign.statics)
        self.operator: Any = None

    def split(self, args: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...], list[int], Wrt]:
        """Tensors, integers, `batched` (a flag for each tensor, or empty), `wrt`."""
        end = self.count + self.statics
        wrt = tuple(args[end + 1]) if self.kind != "primal" else ()
        return list(args[: self.count]), tuple(args[self.count : end]), args[end], wrt

    def packed(self, results: Sequence[Any]) -> Any:
        return results[0] if self.single else tuple(results)

    def listed(self, results: Any) -> list[Any]:
        """The inverse of `packed`."""
        return [results] if self.single else list(results)

    # --- running

    def kernel(self, *args: Any) -> Any:
        """On the CPU. Contiguous tensors are used where they are."""
        tensors, statics, batched, wrt = self.split(args)
        for i, t in zip(self.of.tensors, tensors, strict=False):
            if t.dtype is not DTYPES[i.dtype]:
                check_dtype(self.foreign, i, t)
        return self.packed(self.batch(tensors, statics, batched, wrt) if batched else self.once(tensors, statics, wrt))

    def once(self, tensors: list[Tensor], statics: tuple[int, ...], wrt: Wrt) -> list[Tensor]:
        """One item."""
        tensors = [t if t.is_contiguous() else t.contiguous() for t in tensors]
        call = self.foreign.call(self.kind, wrt, tuple([t.shape for t in tensors[: self.inputs]]), statics)
        taken = self.taken(tensors, wrt)
        made = [torch.empty(shape, dtype=FLOATS[dtype]) for shape, dtype in call.made]
        call.run([t.data_ptr() for t in taken], [t.data_ptr() for t in made])
        return self.spread(made, wrt)

    def batch(self, tensors: list[Tensor], statics: tuple[int, ...], batched: list[int], wrt: Wrt) -> list[Tensor]:
        """All items; what is not batched is shared. Items that are contiguous are used where they are."""
        sizes = [t.shape[0] for t, b in zip(tensors, batched, strict=True) if b]
        size = sizes[0]
        if any(n != size for n in sizes):
            raise ForeignShapeError(
                f"the batches of {self.foreign.name} differ: {', '.join(map(str, sizes))} items",
                fix="give all tensors as many, but those that are shared",
            )
        if not size:
            return [torch.empty(m.shape, dtype=m.dtype) for m in self.shapes(tensors, statics, batched, wrt)]
        tensors = [_with_contiguous_items(t) if b else t.contiguous() for t, b in zip(tensors, batched, strict=True)]
        shapes = tuple([t.shape[1:] if b else t.shape for t, b in zip(tensors, batched, strict=True)][: self.inputs])
        call = self.foreign.call(self.kind, wrt, shapes, statics)
        steps = [t.stride(0) * t.element_size() if b else 0 for t, b in zip(tensors, batched, strict=True)]
        made = [torch.empty((size, *shape), dtype=FLOATS[dtype]) for shape, dtype in call.made]
        given = [t.data_ptr() for t in self.taken(tensors, wrt)]
        strides = [*self.taken(steps, wrt), *(m.stride(0) * m.element_size() for m in made)]
        call.run_batch(size, given, [m.data_ptr() for m in made], strides)
        return self.spread(made, wrt)

    def taken(self, given: list[Any], wrt: Wrt) -> list[Any]:
        """Of what an operator is given, what the plan takes."""
        return given

    def spread(self, made: list[Tensor], wrt: Wrt) -> list[Tensor]:
        """What an operator gives back, from what the plan makes."""
        return made

    # --- shapes

    def fake(self, *args: Any) -> Any:
        """Results without contents."""
        tensors, statics, batched, wrt = self.split(args)
        for i, t in zip(self.of.tensors, tensors, strict=False):
            check_dtype(self.foreign, i, t)
        made = self.shapes(tensors, statics, batched, wrt)
        return self.packed([torch.empty(m.shape, dtype=m.dtype, device=tensors[0].device) for m in made])

    def shapes(self, tensors: list[Any], statics: tuple[Any, ...], batched: list[int], wrt: Wrt) -> list[Like]:
        """Shapes and dtypes of the results."""
        flags = batched or [0] * len(tensors)
        size = next(((t.shape[0],) for t, b in zip(tensors, flags, strict=True) if b), ())
        items = [tuple(t.shape[1:]) if b else tuple(t.shape) for t, b in zip(tensors, flags, strict=True)]
        return self.made(items[: self.inputs], size, statics, wrt)

    def made(self, items: list[Any], size: Any, statics: tuple[Any, ...], wrt: Wrt) -> list[Like]:
        """Those of the outputs."""
        of = self.foreign.roles.symbols(items, statics).outputs
        return [Like((*size, *shape), dtype) for shape, dtype in zip(of, self.of.outputs, strict=True)]

    # --- batches

    def vmap(self, info: Any, in_dims: Any, *args: Any) -> Any:
        """One more axis of a batch; a second one is merged with the first."""
        tensors, statics, batched, wrt = self.split(args)
        dims = in_dims[: self.count]
        moved = [t if d is None else t.movedim(d, 0) for t, d in zip(tensors, dims, strict=True)]
        outer = [int(d is not None) for d in dims]
        tail = () if self.kind == "primal" else (list(wrt),)
        if not batched:
            results = self.operator(*moved, *statics, outer, *tail)
            return results, 0 if self.single else (0,) * len(results)
        inner = next(t.shape[1 if o else 0] for t, o, b in zip(moved, outer, batched, strict=True) if b)
        both = []
        for t, o, b in zip(moved, outer, batched, strict=True):
            if o or b:
                t = t if o else t.unsqueeze(0)
                t = t if b else t.unsqueeze(1)
                t = t.expand(info.batch_size, inner, *t.shape[2:]).reshape(info.batch_size * inner, *t.shape[2:])
            both.append(t)
        results = self.operator(*both, *statics, [int(o or b) for o, b in zip(outer, batched, strict=True)], *tail)
        listed = [results] if self.single else results
        found = [r if r.dim() == 1 and not r.numel() else r.unflatten(0, (info.batch_size, inner)) for r in listed]
        places = tuple(None if r.dim() == 1 and not r.numel() else 0 for r in listed)
        return self.packed(found), self.packed(places)

    # --- derivatives

    def differentiate(self, operator: Any) -> None:
        """Register how the operator is differentiated, in both modes and under `torch.func`.

        The kernel is that of `register_autograd`, which knows no forward mode and no `torch.func`, with both.
        """
        self.operator = operator
        rule, below = self, operator._opoverload
        keep_tape, place = self.of.keep_tape and self.kind == "primal", self.count + self.statics

        class Node(_SingleLevelFunction):
            @staticmethod
            def forward(*given: Any) -> Any:
                *args, tapes = given
                if nothing_watches(args[: rule.count]):
                    return rule.kernel(*args) if tapes is None else rule.recorded(args, tapes)
                if not torch._C._are_functorch_transforms_active():
                    with torch._C._AutoDispatchBelowAutograd():
                        return below(*args)
                # (`apply` switches tracking off, for this level of `torch.func` and wrongly for those below)
                with torch._C._AutoDispatchBelowAutograd(), torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                    return below(*args)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                tensors = inputs[: rule.count]
                ctx.save_for_backward(*tensors)
                if forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active():
                    ctx.save_for_forward(*tensors)
                *ctx.rest, tapes = inputs[rule.count :]
                ctx.tape = tapes[0] if tapes else None

            @staticmethod
            def backward(ctx: Any, *adjoints: Any) -> Any:
                tensors, statics, batched, wrt = rule.split((*ctx.saved_tensors, *ctx.rest))
                if ctx.tape is not None and nothing_watches(adjoints):
                    found = rule.replayed(ctx.tape, adjoints)
                else:
                    wanted = ctx.needs_input_grad[: rule.count]
                    found = rule.pullback(tensors, statics, batched, wrt, adjoints, wanted)
                return (*found, *[None] * (len(ctx.rest) + 1))

            @staticmethod
            def jvp(ctx: Any, *tangents: Any) -> Any:
                with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                    saved = [forward_ad.unpack_dual(t).primal for t in ctx.saved_tensors]
                    tensors, statics, batched, wrt = rule.split((*saved, *ctx.rest))
                    return rule.pushforward(tensors, statics, batched, wrt, list(tangents[: rule.count]))

        Node.__name__ = f"{operator._name}_node"

        def kernel(keyset: Any, *args: Any) -> Any:
            if torch._C._are_functorch_transforms_active():
                with enable_single_level_autograd_function():
                    return Node.apply(*args, None)
            if forward_ad._current_level < 0 and not (torch.is_grad_enabled() and torch._C._any_requires_grad(*args)):
                return below.redispatch(keyset & torch._C._after_autograd_keyset, *args)
            return Node.apply(*args, [] if keep_tape and not args[place] else None)

        operator.register_autograd(_never)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # (that a kernel is replaced)
            operator._lib.impl(operator._name, kernel, "Autograd", with_keyset=True, allow_override=True)

    def recorded(self, args: Sequence[Any], tapes: list[Any]) -> Any:
        """The function itself, which leaves its tape."""
        tensors, statics, _, _ = self.split(args)
        for i, t in zip(self.of.tensors, tensors, strict=True):
            check_dtype(self.foreign, i, t)
        wrt = tuple(n for n in self.of.active if tensors[n].requires_grad)
        tensors = [t.contiguous() for t in tensors]
        shapes = tuple([tuple(t.shape) for t in tensors])
        call = self.foreign.call("primal", (), shapes, statics)
        made = [torch.empty(shape, dtype=FLOATS[dtype]) for shape, dtype in call.made]
        places = [t.data_ptr() for t in tensors]
        tape = Tape(self.foreign, wrt, shapes, statics, places, [m.data_ptr() for m in made])
        tapes.append((tape, wrt, tensors))
        return self.packed(made)

    def replayed(self, kept: tuple[Tape, Wrt, list[Tensor]], adjoints: Sequence[Tensor]) -> list[Any]:
        """Adjoints of all tensors, from a tape."""
        tape, wrt, _ = kept
        adjoints = [a.contiguous() for a in adjoints]
        made = [torch.empty(shape, dtype=FLOATS[dtype]) for shape, dtype in tape.made]
        tape.pull([a.data_ptr() for a in adjoints], [m.data_ptr() for m in made])
        found: list[Any] = [None] * self.inputs
        for n, m in zip(wrt, made, strict=True):
            found[n] = m
        return found

    @abstractmethod
    def pullback(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, adjoints: Any, wanted: Sequence[bool]
    ) -> list[Any]:
        """Adjoints of all tensors, None where there is none."""

    @abstractmethod
    def pushforward(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, tangents: list[Any]
    ) -> Any:
        """Tangents of the results; those of tensors may be None."""

    def pulled(
        self, inputs: list[Tensor], adjoints: Sequence[Tensor], statics: Any, flags: list[int], wanted: Wrt
    ) -> list[Any]:
        """Adjoints of `wanted`, among all inputs; summed over the batch for those that it shares."""
        of = self.of
        found: list[Any] = [None] * self.inputs
        if wanted:
            results = of.vjp(*inputs, *adjoints, *statics, flags, list(wanted))
            results = (results,) if len(of.active) == 1 else results
            for n in wanted:
                r = results[of.active.index(n)]
                found[n] = r.sum(0) if flags and not flags[n] else r
        return found

    def pushed(
        self, inputs: list[Tensor], tangents: Sequence[Any], statics: Any, flags: list[int], along: Wrt
    ) -> Any:
        """Tangents of the outputs; `tangents` and the flags after those of the inputs are of `along`."""
        of = self.of
        given = [tangents[along.index(n)] if n in along else inputs[n] for n in of.active]
        if flags:
            of_tangents = flags[self.inputs :]
            flags = flags[: self.inputs] + [of_tangents[along.index(n)] if n in along else flags[n] for n in of.active]
        return of.jvp(*inputs, *given, *statics, flags, list(along))

    def curved(
        self, inputs: list[Tensor], weights: Sequence[Tensor], along: dict[int, Any], statics: Any, flags: list[int],
        by: Wrt, *, shared: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Second derivatives of the weighted outputs: along tangents, by inputs `by`; None for others.

        With `shared` those of inputs that a batch shares are summed.
        """
        of = self.of
        found: list[Any] = [None] * self.inputs
        if not (by and along):
            return found
        wrt = tuple(n for n in of.active if n in by or n in along)
        tangents = [along[n] if n in along else torch.zeros_like(inputs[n]) for n in of.active]
        if flags:
            start = self.inputs + len(of.outputs)
            own = dict(zip(along, flags[start:], strict=True))
            flags = [*flags[:start], *(own.get(n, flags[n]) for n in of.active)]
        results = of.second(*inputs, *weights, *tangents, *statics, flags, list(wrt))
        results = (results,) if len(of.active) == 1 else results
        for n in by:
            r = results[of.active.index(n)]
            found[n] = r.sum(0) if shared and flags and not flags[n] else r
        return found


class Like:
    """A shape and a dtype."""

    def __init__(self, shape: Any, dtype: torch.dtype) -> None:
        self.shape, self.dtype = shape, dtype


class _Primal(Rule):
    def pullback(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, adjoints: Any, wanted: Sequence[bool]
    ) -> list[Any]:
        flags = [*batched, *(1 for _ in adjoints)] if batched else []
        return self.pulled(tensors, adjoints, statics, flags, tuple(n for n in self.of.active if wanted[n]))

    def pushforward(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, tangents: list[Any]
    ) -> Any:
        along = tuple(n for n in self.of.active if tangents[n] is not None)
        flags = [*batched, *(batched[n] for n in along)] if batched else []
        return self.pushed(tensors, [tangents[n] for n in along], statics, flags, along)


class _Pullback(Rule):
    """Adjoints of all active inputs; of those that are not in `wrt` an empty tensor."""

    def spread(self, made: list[Tensor], wrt: Wrt) -> list[Tensor]:
        by = dict(zip(wrt, made, strict=True))
        return [by[n] if n in by else torch.empty(0, dtype=DTYPES[self.of.tensors[n].dtype]) for n in self.of.active]

    def made(self, items: list[Any], size: Any, statics: tuple[Any, ...], wrt: Wrt) -> list[Like]:
        return [
            Like((*size, *items[n]) if n in wrt else (0,), DTYPES[self.of.tensors[n].dtype]) for n in self.of.active
        ]

    def pullback(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, adjoints: Any, wanted: Sequence[bool]
    ) -> list[Any]:
        inputs, weights = tensors[: self.inputs], tensors[self.inputs :]
        along = {n: adjoints[self.of.active.index(n)] for n in wrt}
        flags = [*batched[: self.inputs], *(1 for _ in along)] if batched else []
        found: list[Any] = [None] * len(weights)
        if any(wanted[self.inputs :]):
            pushed = self.pushed(inputs, list(along.values()), statics, flags, wrt)
            found = [pushed] if len(self.of.outputs) == 1 else list(pushed)
        if batched:
            own = batched[self.inputs :]
            found = [r if b or r is None else r.sum(0) for r, b in zip(found, own, strict=True)]
        flags = [*batched, *(1 for _ in along)] if batched else []
        by = tuple(n for n in self.of.active if wanted[n])
        return [*self.curved(inputs, weights, along, statics, flags, by), *found]

    def pushforward(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, tangents: list[Any]
    ) -> Any:
        inputs, weights = tensors[: self.inputs], tensors[self.inputs :]
        moved = [_zeros_or(t, g) for g, t in zip(weights, tangents[self.inputs :], strict=True)]
        linear = self.listed(self.of.vjp(*inputs, *moved, *statics, batched, list(wrt)))
        along = {n: tangents[n] for n in self.of.active if tangents[n] is not None}
        flags = [*batched, *(batched[n] for n in along)] if batched else []
        curved = self.curved(inputs, weights, along, statics, flags, wrt, shared=False)
        pairs = zip(self.of.active, linear, strict=True)
        return self.packed([r if curved[n] is None else r + curved[n] for n, r in pairs])


class _Pushforward(Rule):
    """Along tangents of `wrt`; what is given for other active inputs is not used."""

    def taken(self, given: list[Any], wrt: Wrt) -> list[Any]:
        return [*given[: self.inputs], *(given[self.inputs + self.of.active.index(n)] for n in wrt)]

    def pullback(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, adjoints: Any, wanted: Sequence[bool]
    ) -> list[Any]:
        inputs = tensors[: self.inputs]
        by = tuple(n for n in wrt if wanted[self.inputs + self.of.active.index(n)])
        flags = [*batched[: self.inputs], *(1 for _ in adjoints)] if batched else []
        found: list[Any] = [None] * len(tensors)
        along = {n: tensors[self.inputs + self.of.active.index(n)] for n in wrt}
        own = [batched[self.inputs + self.of.active.index(n)] for n in wrt] if batched else []
        curved = tuple(n for n in self.of.active if wanted[n])
        found[: self.inputs] = self.curved(inputs, adjoints, along, statics, [*flags, *own], curved)
        results: Any = self.of.vjp(*inputs, *adjoints, *statics, flags, list(by)) if by else ()
        results = (results,) if len(self.of.active) == 1 else results
        for n in by:
            place = self.of.active.index(n)
            shared = batched and not batched[self.inputs + place]
            found[self.inputs + place] = results[place].sum(0) if shared else results[place]
        return found

    def pushforward(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, tangents: list[Any]
    ) -> Any:
        inputs, along = tensors[: self.inputs], tensors[self.inputs :]
        moved = [_zeros_or(t, v) for v, t in zip(along, tangents[self.inputs :], strict=True)]
        linear = self.listed(self.of.jvp(*inputs, *moved, *statics, batched, list(wrt)))
        by = tuple(n for n in self.of.active if tangents[n] is not None)
        if not by:
            return self.packed(linear)
        every = tuple(n for n in self.of.active if n in by or n in wrt)
        one = [v if n in wrt else torch.zeros_like(inputs[n]) for n, v in zip(self.of.active, along, strict=True)]
        other = [_zeros_or(tangents[n], inputs[n]) for n in self.of.active]
        places = [batched[self.inputs + k] if n in wrt else batched[n] for k, n in enumerate(self.of.active) if batched]
        flags = [*batched[: self.inputs], *places, *(batched[n] for n in self.of.active)] if batched else []
        bent = self.listed(self.of.bend(*inputs, *one, *other, *statics, flags, list(every)))
        return self.packed([r + b for r, b in zip(linear, bent, strict=True)])


class _Twice(Rule):
    """What the two second derivatives share: they are not differentiated."""

    def pullback(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, adjoints: Any, wanted: Sequence[bool]
    ) -> list[Any]:
        raise self._third()

    def pushforward(
        self, tensors: list[Tensor], statics: Any, batched: list[int], wrt: Wrt, tangents: list[Any]
    ) -> Any:
        raise self._third()

    def _third(self) -> UnsupportedError:
        return UnsupportedError(
            f"third derivatives of {self.foreign.name} are not available", span=self.foreign.function.signature.source,
            cause="a second derivative of it was differentiated", fix="differentiate at most twice",
        )  # fmt: skip


class _Second(_Twice, _Pullback):
    """Tangents of the adjoints of `wrt`, along tangents of `wrt`."""

    def taken(self, given: list[Any], wrt: Wrt) -> list[Any]:
        start = self.inputs + len(self.of.outputs)
        return [*given[:start], *(given[start + self.of.active.index(n)] for n in wrt)]


class _Bend(_Twice):
    """The second derivative along two tangents of `wrt`."""

    def taken(self, given: list[Any], wrt: Wrt) -> list[Any]:
        at, count = [self.of.active.index(n) for n in wrt], len(self.of.active)
        one, other = given[self.inputs : self.inputs + count], given[self.inputs + count :]
        return [*given[: self.inputs], *(one[k] for k in at), *(other[k] for k in at)]


RULES: dict[str, Callable[[Operators, str, int, int], Rule]] = {
    "primal": _Primal, "vjp": _Pullback, "jvp": _Pushforward, "second": _Second, "bend": _Bend,
}  # fmt: skip


def _zeros_or(t: Any, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if t is None else t


def _with_contiguous_items(t: Tensor) -> Tensor:
    if t.shape[0] and t[0].is_contiguous() and t.stride(0) >= 0:
        return t
    return t.contiguous()


def _never(ctx: Any, *adjoints: Any) -> Any:
    raise AssertionError("its place is taken by the kernel that `differentiate` registers")


__all__ = ["DTYPES", "FLOATS", "RULES", "Rule", "nothing_watches"]
