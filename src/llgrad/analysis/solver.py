"""Least fixed points by worklist: inclusion constraints over sets, and reachability that remembers the way.

`Propagation` solves systems of `S(a) ⊆ S(b)` whose edges may shift facts and whose watchers may add nodes, edges and
facts while it runs (difference propagation, after Pearce, Kelly and Hankin: "Online cycle detection and difference
propagation for pointer analysis"). It terminates if the facts that shifts and watchers can make are finitely many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

N = TypeVar("N", bound=Hashable)
Shift = int | tuple[int, int] | None
"""Of an edge: added to what a fact says of offsets; a pair adds the second number and multiples of the first; None
forgets the offset."""


class Propagation:
    """Sets of facts (ints) at nodes (ints). `shift(fact, by)` moves a fact along an edge that is not a plain copy;
    `admit(node, fact)` gives what to enter instead of a new fact, or None where the node's set implies it."""

    def __init__(self, shift: Callable[[int, Shift], int], admit: Callable[[int, int], int | None]) -> None:
        self._shift, self._admit = shift, admit
        self.facts: list[set[int]] = []
        self._fresh: list[set[int]] = []
        self._edges: list[dict[tuple[int, Shift], None]] = []
        self._watchers: list[list[Callable[[set[int]], None]]] = []
        self._work: deque[int] = deque()

    def node(self) -> int:
        """A new node with the empty set."""
        self.facts.append(set())
        self._fresh.append(set())
        self._edges.append({})
        self._watchers.append([])
        return len(self.facts) - 1

    def add(self, node: int, facts: Iterable[int]) -> None:
        """Enter facts at a node."""
        known, fresh = self.facts[node], self._fresh[node]
        idle = not fresh
        for fact in facts:
            if fact not in known:
                entered = self._admit(node, fact)
                if entered is not None and entered not in known:
                    known.add(entered)
                    fresh.add(entered)
        if idle and fresh:
            self._work.append(node)

    def edge(self, source: int, target: int, by: Shift = 0) -> None:
        """From now on the set at `target` includes that at `source`, shifted."""
        if (source == target and by == 0) or (target, by) in self._edges[source]:
            return
        self._edges[source][target, by] = None
        self._send(self.facts[source] - self._fresh[source], target, by)

    def watch(self, node: int, handler: Callable[[set[int]], None]) -> None:
        """Call `handler` with each set of facts that is new at `node`, those it has already included."""
        self._watchers[node].append(handler)
        if seen := self.facts[node] - self._fresh[node]:
            handler(seen)

    def run(self) -> None:
        """To the least fixed point."""
        while self._work:
            node = self._work.popleft()
            fresh, self._fresh[node] = self._fresh[node], set()
            for target, by in list(self._edges[node]):
                self._send(fresh, target, by)
            for handler in list(self._watchers[node]):
                handler(fresh)

    def _send(self, facts: set[int], target: int, by: Shift) -> None:
        if facts:
            self.add(target, facts if by == 0 else [self._shift(f, by) for f in facts])


def reach(seeds: Iterable[N], successors: Callable[[N], Iterable[N]]) -> dict[N, N | None]:
    """Every node on a path from a seed, each with its predecessor on a shortest path (None for seeds)."""
    found: dict[N, N | None] = dict.fromkeys(seeds)
    work = deque(found)
    while work:
        node = work.popleft()
        for after in successors(node):
            if after not in found:
                found[after] = node
                work.append(after)
    return found
