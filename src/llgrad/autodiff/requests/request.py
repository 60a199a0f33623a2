"""What is asked for: one `Request` for one derivative function. The API, the CLI, `__enzyme_*` calls and callers of
functions that were not inlined all make the same requests.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from llgrad.ir.types import FloatType
from llgrad.ir.values import Argument, Function


class Act(StrEnum):
    """Activity of an argument or of the result."""

    CONST = "const"  # inactive
    DUP = "dup"  # pointer: primal memory and shadow memory; float (forward): value and tangent
    DUPNONEED = "dupnoneed"  # dup whose primal memory is not wanted and may be null
    OUT = "out"  # reverse, float: its adjoint is returned; as result: seeded with an adjoint
    BOTH = "both"  # result of a callee, reverse: floats are seeded, and shadows of pointers returned

    @property
    def seeded(self) -> bool:
        """As a result in reverse mode: are there adjoints that the reverse sweep is given?"""
        return self in (Act.OUT, Act.BOTH)

    @property
    def shadowed(self) -> bool:
        """As a result: is its shadow (its tangent) returned?"""
        return self in (Act.DUP, Act.BOTH)


class Mode(StrEnum):
    """What to write: tangents beside the primal; both sweeps in one function; the two sweeps apart."""

    FORWARD = "forward"
    COMBINED = "combined"
    AUGMENTED = "augmented"  # forward sweep of a split derivative: runs the primal, leaves a frame on the arena
    REVERSE = "reverse"  # reverse sweep of a split derivative


class Request(Struct, frozen=True):
    """A derivative function, by value.

    `disjoint`: the caller has seen that no two of the buffers given (shadows included) overlap.
    `primal_result`: the derivative also returns what the function returns.
    `width`: so many tangents or adjoints at once, over one primal sweep; each shadow is that many memories.
    `strong_zero`: a zero adjoint (tangent) times infinity or NaN is zero.
    `runtime_activity`: a shadow that equals its primal means constant memory, decided as the derivative runs.
    `repeatable`: the reverse sweep leaves the tape as it found it, so that it can be run again.
    `checkpoint`: loops that have checkpoints, and how (`checkpoint_schedule.How`): by `file:line`, line, or "" for all
    that leave a tape.
    `vector_math`: loops may call vector versions of exp, sin, …; what they compute so is cheap (see `precompute`).
    `flush`: denormal numbers are zero while the derivative runs; what calls it sees to that (`denormals`).
    `strict`: LLVM may neither reorder the sums of adjoints nor contract products with sums there.
    `made`: a zero adjoint of the result may be one that arithmetic made, in a callee (see `given_zeros`).
    `notes`: in forward mode: truth values behind the arguments say which floats among them depend on what changes; one
    behind the result's tangent says it of the result (see `zeroed_tangents`). In a reverse sweep: such values behind
    the adjoints of the arguments say which are used (see `use_notes`).
    `sets`: in forward mode: tangents are sets of inputs, one bit for each (see `bit_sets`).
    `inner`: `function` is the derivative that this request makes (see `again`).

    Signatures of what is written (`arena` is the tape's; shadows follow their primal arguments, `width` of each;
    so do tangents, seeds and adjoints: all lanes of one value stand together):

    * forward: `{result?, tangents?}  (args with tangents/shadows interleaved)`
    * combined: `{result?, adjoints of OUT args…} (arena, args with shadows interleaved, seeds of an active result?)`
    * augmented: `{frame, result?, shadows of result?} (arena, args with shadows interleaved)`
    * reverse: `{adjoints of OUT args…} (arena, args with shadows interleaved, seeds?, frame)`
    """

    function: str
    mode: Mode
    arguments: tuple[Act, ...]
    result: Act
    primal_result: bool = False
    disjoint: bool = False
    width: int = 1
    strong_zero: bool = False
    runtime_activity: bool = False
    repeatable: bool = False
    checkpoint: tuple[tuple[str, str], ...] = ()
    vector_math: bool = False
    flush: bool = False
    strict: bool = False
    made: bool = False
    notes: bool = False
    sets: bool = False
    inner: Request | None = None

    @classmethod
    def again(cls, inner: Request, mode: Mode, arguments: tuple[Act, ...], result: Act, **more: Any) -> Request:
        """The derivative of the derivative `inner`; arguments are those of `inner`'s signature, arenas included."""
        return cls(inner.name, mode, arguments, result, inner=inner, **more)

    @property
    def root(self) -> str:
        """The function of the program whose derivative's derivative's … derivative it is."""
        return self.function if self.inner is None else self.inner.root

    @property
    def arenas(self) -> int:
        """How many of the first parameters are arenas."""
        return (self.mode is not Mode.FORWARD) + (0 if self.inner is None else self.inner.arenas)

    @property
    def name(self) -> str:
        """Symbol of the derivative: distinct requests have distinct names."""
        acts = "".join(_LETTER[a] for a in (*self.arguments, self.result))
        flags = "".join(letter for letter, on in self._flags() if on) + (f"w{self.width}" if self.width > 1 else "")
        return ".".join(x for x in (f"llgrad.{self.mode}.{self.function}", acts, flags) if x)

    def _flags(self) -> list[tuple[str, bool]]:
        return [
            ("p", self.primal_result), ("d", self.disjoint), ("z", self.strong_zero), ("a", self.runtime_activity),
            ("r", self.repeatable), ("k", bool(self.checkpoint)), ("v", self.vector_math),
            ("f", self.flush), ("s", self.strict), ("m", self.made), ("n", self.notes), ("b", self.sets),
        ]  # fmt: skip


def noted_arguments(source: Function, request: Request) -> list[Argument]:
    """The arguments that come with a truth value in each lane, if the request has `notes`."""
    given = zip(source.arguments, request.arguments, strict=True)
    return [a for a, act in given if isinstance(a.type, FloatType) and act in (Act.DUP, Act.OUT)]


Callee = Callable[[tuple[Function, ...], bool], tuple[Request, Function]]
"""What a sweep asks for at a call: the derivative of what may be called, through a dispatcher where it is a pointer."""

ReverseCallee = Callable[[tuple[Function, ...], bool, bool], tuple[Request, Function]]
"""The same of a reverse sweep, which says whether a zero adjoint of the result may be made by arithmetic."""

_LETTER = {Act.CONST: "c", Act.DUP: "d", Act.DUPNONEED: "n", Act.OUT: "o", Act.BOTH: "b"}


Constants = tuple[tuple[int, int | float], ...]
"""Positions of arguments in the IR, and what they always are."""


def special_name(symbol: str, constants: Constants) -> str:
    """The name of a function with these arguments fixed."""
    return "$".join([symbol, *(f"{n}.{v.hex() if isinstance(v, float) else v}".replace("+", "") for n, v in constants)])
