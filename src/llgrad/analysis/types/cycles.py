"""Where evidence goes around in a circle of edges: a way that ends some bytes from where it began walks an array.

Offsets around a cycle of edges become periods. Where only the way back from a stored pointer closes the cycle, and what
is known does not repeat so (one variable pointed to several members of a struct), nobody walks: such a pointer is then
a view, like one that is passed to a function. (Compare Lattner's data structure analysis, whose nodes are folded whole;
here each pointer keeps its own view.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from llgrad.analysis.memory.shifts import Places
from llgrad.analysis.solver import strong_components
from llgrad.analysis.types.regions import Edge, Region, find, repeats

Flow = tuple[int, int, int, Edge]  # from, to, shift, along


class Cycles:
    """The ways that evidence goes, up (even nodes) and down (odd); `back`: from copies to originals, too."""

    def __init__(self, regions: list[Region], edges: list[Edge], back: bool) -> None:
        self.regions, self.edges, self.back = regions, edges, back

    def periods(self) -> Iterator[tuple[list[Region], int]]:
        """Regions that repeat, and after how many bytes. Copies of memory over itself are told from walks first."""
        while any([self._leave_out(flows) for flows in self._cyclic()]):
            pass
        for regions, _, period in self._shifting():
            yield regions, period

    def find_views(self) -> bool:
        """Turn copies into views where a period would contradict what is known; are there any?"""
        found = False
        while fresh := [
            e
            for regions, nodes, period in self._shifting()
            if not all(repeats(r, period) for r in regions)
            for e in dict.fromkeys(e for r in regions for e in r.edges)
            if e.owns and not e.step and e.low is None
            and 2 * find(e.parent).id + 1 in nodes and 2 * find(e.child).id in nodes
        ]:  # fmt: skip
            found = True
            for e in fresh:
                e.view = True
        return found

    def _shifting(self) -> Iterator[tuple[list[Region], set[int], int]]:
        """Regions (and nodes) that evidence goes around in with a shift, and the gcd of the shifts."""
        for flows in self._cyclic():
            edges = [(source, target, at) for source, target, at, _ in flows]
            if period := _discrepancy(edges):
                nodes = dict.fromkeys(n for source, target, _ in edges for n in (source, target))
                yield [self.regions[n] for n in dict.fromkeys(n // 2 for n in nodes)], set(nodes), period

    def _cyclic(self) -> Iterable[list[Flow]]:
        """The flows within each strongly connected component."""
        flows = list(self._flows())
        component = strong_components(2 * len(self.regions), [(source, target) for source, target, _, _ in flows])
        inside: dict[int, list[Flow]] = {}
        for flow in flows:
            if component[flow[0]] == component[flow[1]]:
                inside.setdefault(component[flow[0]], []).append(flow)
        return inside.values()

    def _leave_out(self, flows: list[Flow]) -> bool:
        """Copies of memory over itself, some bytes apart: are there any?"""
        moving, places = [flow for flow in flows if flow[3].moves and flow[0] // 2 != flow[1] // 2], Places()
        for source, target, at, e in flows if moving else ():
            if not e.moves:
                places.relate(source, target, at)
        for source, target, at, e in moving:
            if places.fits(source, target, at, gcd(find(e.parent).period, find(e.child).period)):
                places.relate(source, target, at)
            else:
                e.over = True
        return any(e.over for _, _, _, e in moving)

    def _flows(self) -> Iterator[Flow]:
        """(from, to, shift, edge) of evidence along edges without a window."""
        for e in self.edges:
            if e.low is not None or e.over:
                continue
            parent, child = 2 * find(e.parent).id, 2 * find(e.child).id
            if not e.step:
                yield parent + 1, child if e.owns else child + 1, -e.at, e
            if not e.store or self.back:
                yield child, parent, e.at, e
            yield child, child + 1, 0, e
            yield parent, parent + 1, 0, e


def _discrepancy(edges: list[tuple[int, int, int]]) -> int:
    """The gcd of the offsets around the cycles of one strongly connected component."""
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for source, target, at in edges:
        neighbours.setdefault(source, []).append((target, at))
        neighbours.setdefault(target, []).append((source, -at))
    start = edges[0][0]
    place, stack, period = {start: 0}, [start], 0
    while stack:
        n = stack.pop()
        for m, at in neighbours[n]:
            if m not in place:
                place[m] = place[n] + at
                stack.append(m)
            period = gcd(period, place[n] + at - place[m])
    return period


__all__ = ["Cycles"]
