"""Least fixed points by worklist: inclusion constraints over sets, and reachability that remembers the way.

`Propagation` solves systems of `S(a) ⊆ S(b)` whose edges may shift facts and whose watchers may add nodes, edges and
facts while it runs (difference propagation, after Pearce, Kelly and Hankin: "Online cycle detection and difference
propagation for pointer analysis"). It terminates if the facts that shifts and watchers can make are finitely many.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Set
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Generic, Protocol, TypeVar

N = TypeVar("N", bound=Hashable)
Shift = int | tuple[int, int] | None
"""Of an edge: added to what a fact says of offsets; a pair adds the second number and multiples of the first; None
forgets the offset."""


class Sets(Protocol):
    """How facts (ints) are kept at nodes (ints): `points_to_sets`."""

    def shift(self, fact: int, by: Shift, /) -> int:
        """A fact moved along an edge that is not a plain copy."""

    def enter(self, node: int, known: set[int], new: Set[int], /) -> set[int]:
        """Put new facts into what is known at a node; what that comes to, and nothing that is known otherwise."""

    def join(self, node: int, other: int, known: set[int], /) -> None:
        """`known` is what was known at both nodes, and is from now on at `other`."""


class Propagation:
    """Sets of facts at nodes. A set may leave out what it implies.

    Nodes on a cycle of plain copies have one set in the end. In large systems they are made one node, whenever there
    is about as much new as there was (after Pereira and Berlin: "Wave propagation and deep propagation for
    pointer analysis"); a handler may then be told of a fact twice."""

    def __init__(self, sets: Sets) -> None:
        self._sets = sets
        self._facts: list[set[int]] = []
        self._fresh: list[set[int]] = []
        self._edges: list[dict[tuple[int, Shift], None]] = []
        self._watchers: list[list[Callable[[set[int]], None]]] = []
        self._stands: list[int] = []  # by node: one that stands for it, itself unless it was found on a cycle
        self._work: deque[int] = deque()
        self._news = 0  # visits and edges since cycles were looked for last
        self._known = 0  # edges there were then

    def node(self) -> int:
        """A new node with the empty set."""
        self._facts.append(set())
        self._fresh.append(set())
        self._edges.append({})
        self._watchers.append([])
        self._stands.append(len(self._stands))
        return len(self._stands) - 1

    def facts(self, node: int) -> set[int]:
        """What is known at a node."""
        return self._facts[self._found(node)]

    def add(self, node: int, facts: Set[int]) -> None:
        """Enter facts at a node."""
        node = self._found(node)
        known, fresh = self._facts[node], self._fresh[node]
        if new := facts - known:
            idle = not fresh
            fresh |= self._sets.enter(node, known, new)
            fresh &= known
            if idle and fresh:
                self._work.append(node)

    def edge(self, source: int, target: int, by: Shift = 0) -> None:
        """From now on the set at `target` includes that at `source`, shifted."""
        source, target = self._found(source), self._found(target)
        if (source == target and by == 0) or (target, by) in self._edges[source]:
            return
        self._edges[source][target, by] = None
        self._news += 1
        self._send(self._facts[source] - self._fresh[source], target, by)

    def watch(self, node: int, handler: Callable[[set[int]], None]) -> None:
        """Call `handler` with each set of facts that is new at `node`, those it has already included."""
        node = self._found(node)
        self._watchers[node].append(handler)
        if seen := self._facts[node] - self._fresh[node]:
            handler(seen)

    def run(self) -> None:
        """To the least fixed point."""
        while self._work:
            self._news += 1
            if self._news > max(len(self._stands), self._known, _SMALL):
                self._merge_cycles()
            node = self._found(self._work.popleft())
            fresh, self._fresh[node] = self._fresh[node], set()
            for target, by in list(self._edges[node]):
                self._send(fresh, target, by)
            for handler in list(self._watchers[node]) if fresh else ():
                handler(fresh)

    def _send(self, facts: set[int], target: int, by: Shift) -> None:
        if facts:
            self.add(target, facts if by == 0 else {self._sets.shift(f, by) for f in facts})

    # --- cycles of plain copies

    def _found(self, node: int) -> int:
        """The node that stands for this one."""
        stands = self._stands
        while stands[node] != node:
            stands[node] = node = stands[stands[node]]
        return node

    def _merge_cycles(self) -> None:
        copies = [(n, self._found(t)) for n, edges in enumerate(self._edges) for t, by in edges if by == 0]
        labels = strong_components(len(self._stands), copies)
        first: dict[int, int] = {}
        for node in dict.fromkeys(n for copy in copies for n in copy):
            other = first.setdefault(labels[node], node)
            if other != node:
                self._merge(node, other)
        for node, edges in enumerate(self._edges):
            there = [(self._found(target), by) for target, by in edges]
            self._edges[node] = dict.fromkeys(edge for edge in there if edge != (node, 0))
        self._news, self._known = 0, sum(map(len, self._edges))

    def _merge(self, node: int, other: int) -> None:
        """`other` stands for `node`, too. What not both have told their successors of is told again."""
        seen = (self._facts[node] - self._fresh[node]) & (self._facts[other] - self._fresh[other])
        self._stands[node] = other
        self._facts[other] |= self._facts[node]
        self._sets.join(node, other, self._facts[other])
        self._fresh[other] = self._facts[other] - seen
        for target, by in self._edges[node]:
            if by != 0 or self._found(target) != other:
                self._edges[other][self._found(target), by] = None
        self._watchers[other] += self._watchers[node]
        self._facts[node], self._fresh[node], self._edges[node], self._watchers[node] = set(), set(), {}, []
        self._work.append(other)


_SMALL = 5000
"""Systems in which fewer nodes are visited than this are solved as they are."""


def strong_components(nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    """A number for each node: those on a cycle have the same."""
    found: list[int] = graph(nodes, edges).connected_components(mode="strong")
    return found


def graph(nodes: int, edges: list[tuple[int, int]]) -> Any:
    """A directed graph of igraph's, of its core: the package around that imports all that it finds to draw with."""
    return _core().GraphBase(nodes, edges, True)


def _core() -> Any:
    name = "igraph._igraph"
    if name in sys.modules:
        return sys.modules[name]
    package = find_spec("igraph")
    found = PathFinder.find_spec(name, package.submodule_search_locations) if package else None
    if found is None or found.loader is None:
        raise ImportError("igraph, which llgrad was installed with, is not there", name="igraph")
    core = sys.modules[name] = module_from_spec(found)
    found.loader.exec_module(core)
    return core


class Ends(Generic[N]):
    """Which nodes of a graph lead to an end of it. The graph is explored as it is asked for, each node once.

    `after(node)` gives the nodes after one, or None: it is an end.
    """

    def __init__(self, after: Callable[[N], Collection[N] | None]) -> None:
        self._after = after
        self._leading: set[N] = set()
        self._before: dict[N, list[N]] = {}
        self._explored: set[N] = set()

    def reached(self, node: N) -> bool:
        """Does a way from `node` lead to an end?"""
        work = [node]
        while work:
            if (n := work.pop()) in self._explored:
                continue
            self._explored.add(n)
            found = self._after(n)
            for m in found or ():
                self._before.setdefault(m, []).append(n)
                work.append(m)
            if found is None or any(m in self._leading for m in found):
                self._lead(n)
        return node in self._leading

    def _lead(self, node: N) -> None:
        """What comes before `node`, and itself, leads to an end."""
        work = [node]
        while work:
            if (n := work.pop()) not in self._leading:
                self._leading.add(n)
                work += self._before.get(n, ())


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
