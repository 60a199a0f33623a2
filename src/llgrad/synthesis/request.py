"""What is asked for: one `Request` for one derivative function. The API, the CLI, `__enzyme_*` calls and callers of
functions that were not inlined all make the same requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from llgrad.ir.values import Function


class Act(StrEnum):
    """Activity of an argument or of the result."""

    CONST = "const"  # inactive
    DUP = "dup"  # pointer: primal memory and shadow memory; float (forward): value and tangent
    DUPNONEED = "dupnoneed"  # dup whose primal memory is not wanted and may be null
    OUT = "out"  # reverse, float: its adjoint is returned; as result: seeded with an adjoint


class Mode(StrEnum):
    """What to write: tangents beside the primal; both sweeps in one function; the two sweeps apart."""

    FORWARD = "forward"
    COMBINED = "combined"
    AUGMENTED = "augmented"  # forward sweep of a split derivative: runs the primal, leaves a frame on the arena
    REVERSE = "reverse"  # reverse sweep of a split derivative


@dataclass(frozen=True, slots=True)
class Request:
    """A derivative function, by value.

    `disjoint`: the caller has seen that no two of the buffers given (shadows included) overlap.
    `primal_result`: the derivative also returns what the function returns.

    Signatures of what is written (`arena` is the tape's; shadows follow their primal arguments):

    * forward: `{result?, tangent?}  (args with tangents/shadows interleaved)`
    * combined: `{result?, adjoints of OUT args…} (arena, args with shadows interleaved, seed of an active result?)`
    * augmented: `{frame, result?, shadow of result?} (arena, args with shadows interleaved)`
    * reverse: `{adjoints of OUT args…} (arena, args with shadows interleaved, seed?, frame)`
    """

    function: str
    mode: Mode
    arguments: tuple[Act, ...]
    result: Act
    primal_result: bool = False
    disjoint: bool = False

    @property
    def name(self) -> str:
        """Symbol of the derivative: distinct requests have distinct names."""
        acts = "".join(_LETTER[a] for a in (*self.arguments, self.result))
        flags = ("p" if self.primal_result else "") + ("d" if self.disjoint else "")
        return ".".join(x for x in (f"llgrad.{self.mode}.{self.function}", acts, flags) if x)


Callee = Callable[[tuple[Function, ...], bool], tuple[Request, Function]]
"""What a sweep asks for at a call: the derivative of what may be called, through a dispatcher where it is a pointer."""

_LETTER = {Act.CONST: "c", Act.DUP: "d", Act.DUPNONEED: "n", Act.OUT: "o"}
