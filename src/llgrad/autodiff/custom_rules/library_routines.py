"""Derivatives that call llgrad's own rules of library routines (`runtime/blas/blas.c` says what these take and return).

Unlike a user's rule (`custom_rules`) such a rule is told what may have changed by the time of the reverse sweep and
what is constant, keeps just that on the arena, and lets the routine itself run once for all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.autodiff.custom_rules.custom_rules import CustomRule
from llgrad.autodiff.emit import tape
from llgrad.autodiff.requests.request import Act, Mode
from llgrad.autodiff.sweeps.primal_copy import takes_shadow
from llgrad.ir.build import i64, zero
from llgrad.ir.types import PTR, VOID, FloatType, PointerType
from llgrad.ir.values import AnyValue, Argument, ConstNull, Function
from llgrad.rules import blas

WORDS = ("size", "keep", "kept", "reverse", "before", "after")
"""The functions of a rule, in the order in which a registration lists them."""


class RoutineRule(CustomRule):
    """Writes the derivative of a routine."""

    def write(self) -> None:
        self.parts: dict[str, Function | None] = dict(
            zip(WORDS, map(self._found, self.found.routines[self.source.name]), strict=True)
        )
        self.cells: dict[tuple[Argument, int], AnyValue] = {}
        self.unit = blas.unit(self.source.name)
        match self.request.mode:
            case Mode.FORWARD:
                self.tangents()
            case Mode.COMBINED:
                frame, value = self.run()
                self.back(frame)
                primal = [value] if self.request.primal_result and self.result != VOID else []
                self.give([*primal, *self.found_adjoints()])
            case Mode.AUGMENTED:
                frame, value = self.run()
                self.give([frame, *([value] if self.result != VOID else [])])
            case Mode.REVERSE:
                self.back(self.target.arguments[-1])
                self.give(self.found_adjoints())

    def _found(self, name: str) -> Function | None:
        return self.module.function(name) if name else None

    # --- forward mode

    def tangents(self) -> None:
        given = [list(self.given(lane)) for lane in self.lanes]
        for arguments in given:
            self.step("before", arguments)
        value = self.step(self.source, self.plain_arguments())
        results = [value] if self.result != VOID else []
        tangents = [self.step("after", [*arguments, *results]) for arguments in given]
        primal = results if self.request.primal_result else []
        self.give([*primal, *(tangents if results and self.request.result is not Act.CONST else [])])

    # --- reverse mode

    def run(self) -> tuple[AnyValue, AnyValue]:
        """Keep what the reverse sweep wants, and run the routine; where that is kept, and the routine's value."""
        given = [list(self.given(lane)) for lane in self.blocks]
        frame: AnyValue = ConstNull(PTR)
        if self.parts["size"] is not None:
            sizes = [self.step("size", [*arguments, self.flags]) for arguments in given]
            total = sizes[0]
            for size in sizes[1:]:
                total = self.b.binary("add", total, size)
            bytes_ = self.b.binary("mul", total, i64(self.unit))
            frame = self.b.call(tape.reserve(self.module), [self.target.arguments[0], bytes_], "frame")
        places = self.places(frame, given)
        for arguments, place in zip(given, places, strict=True):
            self.step("keep", [*arguments, self.flags, place])
        value = self.step(self.source, self.plain_arguments())
        for arguments, place in zip(given, places, strict=True):
            self.step("kept", [*arguments, self.flags, place])
        return frame, value

    def back(self, frame: AnyValue) -> None:
        given = [list(self.given(lane)) for lane in self.lanes]
        places = self.places(frame, given[: len(self.blocks)])
        for lane, arguments in enumerate(given):
            seeds = self.seeds(lane) if self.result != VOID else []
            self.step("reverse", [*arguments, self.flags, places[min(lane, len(places) - 1)], *seeds])
        if self.parts["size"] is not None and not self.request.repeatable:
            self.b.call(tape.release(self.module), [self.target.arguments[0], frame])

    def places(self, frame: AnyValue, given: list[list[AnyValue]]) -> list[AnyValue]:
        """Where each block lies in what is kept."""
        found = [frame]
        for arguments in given[:-1] if self.parts["size"] is not None else ():
            size = self.step("size", [*arguments, self.flags])
            found.append(self.b.offset(found[-1], self.b.binary("mul", size, i64(self.unit))))
        return found + [frame] * (len(given) - len(found))

    def found_adjoints(self) -> list[AnyValue]:
        out = [a for a, act in zip(self.source.arguments, self.request.arguments, strict=True) if act is Act.OUT]
        return [self.b.load(a.type, self.cells[a, lane]) for a in out for lane in self.lanes]

    @property
    def lanes(self) -> range:
        return range(self.request.width)

    @property
    def blocks(self) -> range:
        """What is kept is kept once, but where each lane may have constant memory of its own."""
        return self.lanes if self.request.runtime_activity else range(1)

    @property
    def flags(self) -> AnyValue:
        """Which pointers lead to memory that may have changed by the time of the reverse sweep, as bits."""
        calls = self.facts.memory.callers(self.source)
        pointers = [a.index for a in self.source.arguments if isinstance(a.type, PointerType)]
        changed = [not calls or any(self.facts.argument_overwritten(c, n) for c in calls) for n in pointers]
        return i64(sum(1 << k for k, bit in enumerate(changed) if bit))

    # --- calls

    def step(self, what: str | Function, arguments: list[AnyValue]) -> AnyValue:
        """Call a part of the rule, if there is one, or the routine."""
        f = self.parts[what] if isinstance(what, str) else what
        if f is None:
            return zero(self.result) if self.result != VOID else ConstNull(PTR)
        return self.b.call(f, arguments)

    def plain_arguments(self) -> list[AnyValue]:
        return [value for value, _ in self.positions()]

    def positions(self) -> Iterator[tuple[AnyValue, int]]:
        """The target's argument for each of the source's, and where its shadows begin."""
        n = 0 if self.request.mode is Mode.FORWARD else 1
        for act in self.request.arguments:
            yield self.target.arguments[n], n + 1
            n += 1 + (self.request.width if takes_shadow(act) else 0)

    def given(self, lane: int) -> Iterator[AnyValue]:
        """The arguments of a rule: pointers with shadows, floats with places of tangents or adjoints behind them."""
        for a, act, (value, shadows) in zip(
            self.source.arguments, self.request.arguments, self.positions(), strict=True
        ):
            yield value
            if isinstance(a.type, PointerType):
                yield self.target.arguments[shadows + lane] if takes_shadow(act) else value
            elif isinstance(a.type, FloatType):
                yield self.cell(a, lane, self.target.arguments[shadows + lane] if takes_shadow(act) else zero(a.type))

    def cell(self, a: Argument, lane: int, start: AnyValue) -> AnyValue:
        if self.request.arguments[a.index] is Act.CONST:
            return ConstNull(PTR)
        if (a, lane) not in self.cells:
            self.cells[a, lane] = self.b.alloca(a.type, f"{a.name}.cell")
            self.b.store(start, self.cells[a, lane])
        return self.cells[a, lane]
