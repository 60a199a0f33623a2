"""Lanes: the tangents or adjoints that a derivative of width N computes side by side, over one primal sweep.

What belongs to the derivative (shadows, tangents, adjoint cells, what is done to shadow memory) exists once a lane and
is written inside `each_lane`; what is primal is written once. The writers stand in one lane at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.ir.values import AnyValue


class Lanes:
    """A cursor over the lanes, and the table of shadows (in forward mode of tangents, too) of each."""

    def __init__(self, width: int) -> None:
        self.width, self.lane = width, 0
        self.shadows_of: list[dict[AnyValue, AnyValue]] = [{} for _ in range(width)]

    @property
    def shadows(self) -> dict[AnyValue, AnyValue]:
        """The shadows in the current lane."""
        return self.shadows_of[self.lane]

    def each_lane(self) -> Iterator[int]:
        """Stand in one lane after the other; then where we stood before."""
        before = self.lane
        for lane in range(self.width):
            self.lane = lane
            yield lane
        self.lane = before
