"""The solver of inclusion constraints against the closure computed by hand, with and without merged cycles."""

import random

import pytest

from llgrad.analysis import solver
from llgrad.analysis.solver import Ends, Propagation


@pytest.mark.parametrize("seed", range(20))
def test_facts_are_the_closure(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random systems whose watchers add edges; every few visits cycles of copies become one node."""
    monkeypatch.setattr(solver, "_SMALL", 3)
    draw = random.Random(seed)
    count = 40
    flow = Propagation(lambda fact, by: fact + by, lambda node, fact: fact if fact < 1000 else None)
    nodes = [flow.node() for _ in range(count)]
    edges = [(draw.randrange(count), draw.randrange(count), draw.choice([0, 0, 0, 100])) for _ in range(60)]
    late = {n: (draw.randrange(count), draw.randrange(count)) for n in draw.sample(range(count), 15)}
    seeds = [(draw.randrange(count), draw.randrange(90)) for _ in range(12)]
    told: dict[int, set[int]] = {n: set() for n in late}

    def tell(node: int, facts: set[int]) -> None:
        told[node] |= facts
        flow.edge(nodes[late[node][0]], nodes[late[node][1]])

    for node in late:
        flow.watch(nodes[node], lambda facts, node=node: tell(node, facts))
    for source, target, by in edges:
        flow.edge(nodes[source], nodes[target], by)
    for node, fact in seeds:
        flow.add(nodes[node], {fact})
        flow.run()

    expected: list[set[int]] = [set() for _ in range(count)]
    for node, fact in seeds:
        expected[node].add(fact)
    changed = True
    while changed:
        changed = False
        for source, target, by in edges + [(*late[n], 0) for n in late if expected[n]]:
            new = {f + by for f in expected[source] if f + by < 1000} - expected[target]
            expected[target] |= new
            changed |= bool(new)
    assert [flow.facts(n) for n in nodes] == expected
    assert told == {n: expected[n] for n in late}


def test_ends() -> None:
    after = {0: [1, 2], 1: [0], 2: [1, 3], 3: None, 4: [1, 5], 5: []}
    asked: list[int] = []

    def look(node: int) -> list[int] | None:
        asked.append(node)
        return after[node]

    ends = Ends(look)
    assert not ends.reached(5)
    assert [n for n in after if ends.reached(n)] == [0, 1, 2, 3, 4]
    assert sorted(asked) == list(after)
