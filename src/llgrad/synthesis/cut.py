"""What to keep and what to recompute: a minimum cut.

Each node is a value of the primal function that the reverse sweep may want. It is kept (cost `keep`), or recomputed
(cost `recompute`, and then everything it depends on must be had too), or not wanted at all. Choosing the cheapest
assignment is a minimum s-t cut: a node is an edge in→out of capacity `keep`; source→in costs `recompute` (infinite
where it cannot be recomputed); out→in of the user is infinite; out→sink is infinite for what is wanted. Nodes on the
sink side whose edge is not cut are recomputed. (The formulation of Moses et al., SC'21, with recomputation costs
added.)

scipy's Dinic solves it: on random graphs of 10,000 nodes and 40,000 edges it took 0.01 s, networkx 0.7 s;
rustworkx has no s-t flow.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
INFINITE = 1 << 30  # scipy's capacities are 32-bit; no sum along a path exceeds a single capacity


@dataclass(frozen=True, slots=True)
class Choice:
    """One node: `recompute` is None where the value cannot be recomputed."""

    keep: int
    recompute: int | None
    depends: Sequence[Hashable] = ()


def minimum_cut(nodes: Mapping[K, Choice], wanted: Sequence[K]) -> tuple[set[K], set[K]]:
    """The nodes to keep and those to recompute, so that everything in `wanted` can be had at least cost.

    Every dependency must be a node. Costs are positive integers below 2**29.
    """
    if not wanted:
        return set(), set()
    if all(nodes[k].recompute is None for k in wanted):
        return set(wanted), set()
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    index = {k: 2 + 2 * n for n, k in enumerate(nodes)}
    source, sink = 0, 1
    edges: dict[tuple[int, int], int] = {}
    for k, choice in nodes.items():
        into = index[k]
        edges[into, into + 1] = max(1, choice.keep)
        edges[source, into] = INFINITE if choice.recompute is None else max(1, choice.recompute)
        for d in choice.depends if choice.recompute is not None else ():
            edges[index[d] + 1, into] = INFINITE  # type: ignore[index]
    for k in wanted:
        edges[index[k] + 1, sink] = INFINITE
    size = 2 + 2 * len(nodes)
    rows, columns = zip(*edges, strict=True)
    capacity = csr_array((np.fromiter(edges.values(), np.int32), (rows, columns)), shape=(size, size))
    flow = maximum_flow(capacity, source, sink).flow
    residual = (capacity - flow).tocsr()
    residual.data = np.where(residual.data > 0, 1, 0)
    residual.eliminate_zeros()
    reached = set(breadth_first_order(residual, source, return_predecessors=False).tolist())
    kept = {k for k, n in index.items() if n in reached and n + 1 not in reached}
    recomputed = {k for k, n in index.items() if n not in reached}
    return kept, recomputed
