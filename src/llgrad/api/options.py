"""What every function that makes derivatives takes by name, and what their calls take beside arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypedDict

from llgrad.api.names import Names
from llgrad.autodiff.requests.checkpoint_schedule import How

Checkpoints: TypeAlias = (
    str | int | Mapping[str, str | int] | Mapping[int, str | int] | Mapping[str | int, str | int] | None
)


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
    nan               "trace": where a derivative is infinite or not a number, an error names the line where it arises
    has_aux           what the function computes beside comes back, too: a dict by names, see docs/numpy.md
    """

    strong_zero: bool
    runtime_activity: bool
    checkpoint: Checkpoints
    denormals: str | None
    strict: bool
    unchecked: bool
    argnums: Names
    has_aux: bool
    nan: str | None


EXTRA = {
    "value_and_grad": ("seed",), "grad": ("seed",), "vjp": ("seed",), "jvp": ("tangents",), "hessian": ("seed",),
    "hvp": ("direction", "seed"),
}  # fmt: skip
"""What a call of a derivative takes beside the function's arguments: a direction by position, others by name."""


def checkpoints(said: Checkpoints) -> tuple[tuple[str, str], ...]:
    """What `Request.checkpoint` is for what the user says; ArgumentError for what is no way to take checkpoints."""
    if said is None:
        return ()
    found = {str(k): str(v) for k, v in said.items()} if isinstance(said, Mapping) else {"": str(said)}
    for how in said.values() if isinstance(said, Mapping) else [said]:
        How.of(how)
    return tuple(found.items())


__all__ = ["EXTRA", "Checkpoints", "Options", "checkpoints"]
