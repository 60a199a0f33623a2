"""Declared types on their way through the graph of kinds: where in a region which type is said to lie."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.layout.byte_layouts import ByteType, Found

OWN, DECLARED, LLVM_TYPE, WEAK = range(4)
"""Levels of declarations, the strongest first."""


class Token(NamedTuple):
    """Type `type` is declared with an element starting at byte `at`, for bytes [low, high); None is without end."""

    type: ByteType
    at: int
    low: int | None = None
    high: int | None = None

    def within(self, offset: int, period: int) -> int | None:
        """The offset inside `type` of a region's byte, or None where the token does not speak of it."""
        low, high = self.low, self.high
        if low is not None and high is not None:
            if period:
                offset += -(-(low - offset) // period) * period
            if not low <= offset < high:
                return None
        elif (low is not None and offset < low) or (high is not None and offset >= high):
            return None
        if bl.is_flexible(self.type):
            return offset - self.at if offset >= self.at else None
        return (offset - self.at) % self.type.size


def spoken_of(offsets: Sequence[int], tokens: Sequence[Token], period: int) -> list[tuple[int, Token, int]]:
    """What tokens say of some bytes of a region: the byte, the token, the offset inside its type; byte by byte.

    Most tokens are for a few bytes of many.
    """
    places = sorted(zip(offsets, range(len(offsets)), strict=True))
    starts, found = [offset for offset, _ in places], []
    least, most = (starts[0], starts[-1]) if starts else (0, -1)
    for n, token in enumerate(tokens):
        _, _, low, high = token
        first, last = 0, len(starts)
        if not period and low is not None and high is not None:
            if high <= least or low > most:
                continue
            first, last = bisect_left(starts, low), bisect_left(starts, high)
        for offset, place in places[first:last]:
            if (inside := token.within(offset, period)) is not None:
                found.append((place, n, inside))
    return [(offsets[place], tokens[n], inside) for place, n, inside in sorted(found)]


def normal(token: Token, period: int) -> Token:
    """One spelling for each token: offsets modulo the type's size, or the region's period."""
    if token.low is None and token.high is None:
        return Token(token.type, token.at % token.type.size)
    if period and token.low is not None:
        by = token.low % period - token.low
        return Token(token.type, token.at + by, token.low + by, None if token.high is None else token.high + by)
    return token


def is_pointless(token: Token, period: int) -> bool:
    """Where each byte may be any other, types say nothing but of single bytes."""
    return period == 1 and token.type.size > 1


def moved_to(token: Token, by: int, low: int | None, high: int | None, period: int) -> Token | None:
    """A token shifted and clipped to a window; None where nothing is left."""
    if not period and (
        (low is not None and token.high is not None and token.high + by <= low)
        or (high is not None and token.low is not None and token.low + by >= high)
    ):
        return None
    first = None if token.low is None else token.low + by
    last = None if token.high is None else token.high + by
    at = token.at + by
    if period and low is not None and first is not None and last is not None:
        turn = -(-(low - last + 1) // period) * period  # the first repetition that reaches into the window
        first, last, at = first + turn, last + turn, at + turn
    first = low if first is None else first if low is None else max(first, low)
    last = high if last is None else last if high is None else min(last, high)
    return None if first is not None and last is not None and first >= last else Token(token.type, at, first, last)


def element_of(token: Token, at: int, step: int, period: int) -> Token | None:
    """What a token of an array's owner says of the array's elements, `step` apart, around byte `at`."""
    unlimited = token.low is None and token.high is None
    if unlimited and step % token.type.size == 0:
        return Token(token.type, token.at - at)
    inside = token.within(at, period)
    span = bl.array_at(token.type, inside, step) if inside is not None else None
    return Token(span.element, span.start - inside) if span is not None and inside is not None else None


def token_scalars(token: Token, inside: int) -> tuple[Found, ...]:
    """Scalars at a byte; padding is a scalar of mask -1."""
    return bl.scalars(token.type, inside) or (Found(-1, inside, 1),)
