"""Foreign functions in PyTorch.

    from llgrad.torch import foreign
    f = foreign("test.c", "f")        # void f(float* inp, size_t n, float* out)
    out = f(inp)
    out.sum().backward()

`foreign` takes the options of `llgrad.foreign.load_foreign`, and `keep_tape`: backward reads what forward kept, instead
of running the function again. `ForeignModule` is a layer whose parameters are arrays of the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from llgrad.errors import UnknownNameError
from llgrad.execution.library import ForeignFunction
from llgrad.execution.roles import Input
from llgrad.foreign import Foreign, ForeignTypeError, Operation, Paths
from llgrad.torch.implicit import implicit
from llgrad.torch.operators import operators
from llgrad.torch.rules import DTYPES


class ForeignOperation(Operation):
    """A compiled function as an operation on tensors. Made by `foreign`; can be pickled and copied."""

    def __init__(self, source: Paths | ForeignFunction, name: str | None, options: dict[str, Any]) -> None:
        rest = dict(options)
        keep_tape = bool(rest.pop("keep_tape", False))
        super().__init__(source, name, rest, options)
        self._operator = operators(self._foreign, keep_tape).primal
        self._tensors = len(self._foreign.tensors)
        self._simple = not self._foreign.statics and all(i.array for i in self._foreign.tensors)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The outputs: a tensor, or a tuple of them. Integers are Python integers; numbers become tensors."""
        if self._simple and not named and len(args) == self._tensors:
            for a in args:
                if type(a) is not Tensor or not a.is_cpu:
                    break
            else:
                return self._operator(*args, [])
        return self._run(args, named, [])

    def batched(self, *args: Any, shared: Sequence[str] = (), **named: Any) -> Any:
        """The function of each item, over threads: all tensors but those named in `shared` have a leading axis of a
        batch."""
        return self._run(args, named, [int(i.name not in shared) for i in self._foreign.tensors])

    def apply(self, *args: Any, **named: Any) -> Any:
        """The same as a call."""
        return self(*args, **named)

    def _run(self, args: Sequence[Any], named: dict[str, Any], batched: list[int]) -> Any:
        tensors, statics = self._foreign.split(args, named)
        given = [_tensor(self._foreign, i, t) for i, t in zip(self._foreign.tensors, tensors, strict=True)]
        return self._operator(*given, *statics, batched if any(batched) else [])


def foreign(source: Paths | ForeignFunction, name: str | None = None, **options: Any) -> ForeignOperation:
    """The function `name` of compiled sources as an operation on tensors; see above."""
    return ForeignOperation(source, name, options)


class ForeignModule(torch.nn.Module):
    """A layer that calls a compiled function, some of whose inputs it owns.

        ForeignModule(foreign("layer.c", "layer", …), batched=True, w=torch.randn(4, 5))

    Tensors that are given by name become its parameters, numbers stay as they are; `forward` takes the other inputs, in
    the order of C. `batched`: what `forward` takes has a leading axis of a batch.
    """

    def __init__(self, operation: ForeignOperation, *, batched: bool = False, **owned: Any) -> None:
        super().__init__()
        self.operation, self.batched = operation, batched
        self._names = [i.name for i in operation._foreign.roles.inputs]
        if unknown := [n for n in owned if n not in self._names]:
            raise UnknownNameError(
                f"{operation.__name__} has no input {', '.join(unknown)}", fix=f"there are {', '.join(self._names)}"
            )
        self._numbers = {n: v for n, v in owned.items() if not isinstance(v, Tensor)}
        self._owned = [n for n in owned if n not in self._numbers]
        for name in self._owned:
            given = owned[name]
            self.register_parameter(name, given if isinstance(given, torch.nn.Parameter) else torch.nn.Parameter(given))

    def forward(self, *inputs: Any) -> Any:
        """The outputs of the function."""
        wanted = [n for n in self._names if n not in self._numbers and n not in self._owned]
        if len(inputs) != len(wanted):
            raise ForeignTypeError(
                f"this layer takes {len(wanted)} inputs, not {len(inputs)}", cause=f"they are {', '.join(wanted)}"
            )
        owned = {n: getattr(self, n) for n in self._owned}
        every = {**self._numbers, **owned, **dict(zip(wanted, inputs, strict=True))}
        args = [every[n] for n in self._names]
        if not self.batched:
            return self.operation(*args)
        return self.operation.batched(*args, shared=(*self._owned, *self._numbers))

    def extra_repr(self) -> str:
        """The function."""
        return repr(self.operation)


def _tensor(made: Foreign, i: Input, given: Any) -> Tensor:
    if isinstance(given, Tensor):
        if given.device.type != "cpu":
            raise ForeignTypeError(
                f"{i.name} of {made.name} is on device {given.device}", cause="compiled code runs on the CPU",
                fix=f"move it: {i.name}.cpu()",
            )  # fmt: skip
        return given
    if i.array or isinstance(given, complex | str | bool) or not hasattr(given, "__float__"):
        raise ForeignTypeError(
            f"{i.name} of {made.name} must be a tensor, not {type(given).__name__}",
            cause=f"it is declared {i.parameter.type.declare(i.name)}",
            fix=f"torch.tensor(…, dtype=torch.{i.dtype.name})",
        )
    return torch.tensor(given, dtype=DTYPES[i.dtype])


__all__ = ["ForeignModule", "ForeignOperation", "foreign", "implicit"]
