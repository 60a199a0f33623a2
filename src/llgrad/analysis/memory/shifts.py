"""Places that are related by distances: which of them repeat, and which relations would make them so.

Union-find whose links carry distances (weighted union, after Tarjan); around a cycle that does not close, a distance
becomes a period of all that is related.
"""

from __future__ import annotations

from math import gcd


class Places:
    """`relate(a, b, by)` says that place b is `by` after a."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}
        self._by: dict[int, int] = {}  # after the place above
        self._period: dict[int, int] = {}  # of a place that is at the top

    def relate(self, a: int, b: int, by: int) -> None:
        """Where that contradicts what was said, all that is related repeats after the difference."""
        (top, x), (other, y) = self._top(a), self._top(b)
        if top == other:
            self._period[top] = gcd(self._period.get(top, 0), x + by - y)
        else:
            self._above[other], self._by[other] = top, x + by - y
            self._period[top] = gcd(self._period.get(top, 0), self._period.get(other, 0))

    def fits(self, a: int, b: int, by: int, period: int) -> bool:
        """May b be `by` after a, as far as is known, where both repeat after `period` bytes (0: they do not)?"""
        (top, x), (other, y) = self._top(a), self._top(b)
        period = gcd(period, self._period.get(top, 0))
        return top != other or not ((x + by - y) % period if period else x + by - y)

    def _top(self, n: int) -> tuple[int, int]:
        by, start = 0, n
        while n in self._above:
            by += self._by[n]
            n = self._above[n]
        top, rest = n, by
        while start != top:  # each leads to the top at once from now on
            above, step = self._above[start], self._by[start]
            self._above[start], self._by[start] = top, rest
            start, rest = above, rest - step
        return top, by


__all__ = ["Places"]
