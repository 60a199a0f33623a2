"""Bytes that were certainly written, as polynomials (`polynomial_bounds`): what `analysis.memory.output_arguments`
carries along.

Each claim stays true: nothing unwrites memory. Where a size or a count is negative nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.memory.polynomial_bounds import Between, Poly
from llgrad.analysis.memory.polynomial_proofs import Need, put

MOST_BOXES = 24  # of one argument, at one place


class Box(Struct, frozen=True):
    """Bytes that were written: [low, low + size), and so at each stride up to its count, if all `conditions` are ≥ 0.

    Nothing is said where a size or a count is negative.
    """

    low: Poly
    size: Poly
    strides: frozenset[tuple[Poly, Poly]] = frozenset()
    conditions: frozenset[Poly] = frozenset()

    @property
    def polys(self) -> Iterator[Poly]:
        """All that it is said with."""
        yield from (self.low, self.size, *self.conditions)
        for stride in self.strides:
            yield from stride

    def put(self, x: Between, value: Poly) -> Box:
        """The same with `value` for `x`."""
        strides = frozenset((put(s, x, value), put(n, x, value)) for s, n in self.strides)
        conditions = frozenset(put(c, x, value) for c in self.conditions)
        return Box(put(self.low, x, value), put(self.size, x, value), strides, conditions)


Boxes = dict[Box, frozenset[Need]]
"""With what must be tested for each."""


def with_box(boxes: Mapping[Box, frozenset[Need]], box: Box, needs: frozenset[Need]) -> Boxes:
    """The boxes and one more, joined with those that it continues."""
    found, box = dict(boxes), _whole(box)
    if box in found or len(found) >= MOST_BOXES:
        return found
    for other in boxes:
        if other.conditions == box.conditions and (joined := _joined(other, box) or _joined(box, other)):
            more = needs | found.pop(other)
            return with_box(found, joined, more)
    found[box] = needs
    return found


def _whole(box: Box) -> Box:
    """Strides that are the size are no strides: the pieces follow each other."""
    for stride, count in box.strides:
        if stride in (box.size, box.size * -1):
            low = box.low if stride == box.size else box.low + stride * (count - 1)
            rest = box.strides - {(stride, count)}
            return _whole(Box(low, box.size * count, rest, box.conditions))
    return box


def _joined(a: Box, b: Box) -> Box | None:
    """Both in one, if the second continues the first."""
    if a.strides == b.strides and a.low + a.size == b.low:
        return replace(a, size=a.size + b.size)
    more = a.strides - b.strides
    if a.size == b.size and len(more) == 1 and b.strides == a.strides - more:
        ((stride, count),) = more
        if a.low + stride * count == b.low:
            return replace(a, strides=b.strides | {(stride, count + 1)})
    return None
