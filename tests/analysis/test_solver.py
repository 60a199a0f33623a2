"""The solver of inclusion constraints against the closure computed by hand, with and without merged cycles."""

import random
from collections.abc import Set
from functools import partial
from itertools import islice

import pytest

from llgrad.analysis import solver
from llgrad.analysis.memory.cells import includes
from llgrad.analysis.memory.points_to_sets import BITS, FactSets, fact_of, spot_of
from llgrad.analysis.solver import Ends, Propagation


class Plain:
    """Facts are numbers below 1,000."""

    def shift(self, fact: int, by: solver.Shift) -> int:
        assert isinstance(by, int)
        return fact + by

    def enter(self, node: int, known: set[int], new: Set[int]) -> set[int]:
        found = {fact for fact in new if fact < 1000}
        known |= found
        return found

    def join(self, node: int, other: int, known: set[int]) -> None:
        pass


@pytest.mark.parametrize("seed", range(20))
def test_facts_are_the_closure(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random systems whose watchers add edges; every few visits cycles of copies become one node."""
    monkeypatch.setattr(solver, "_SMALL", 3)
    draw = random.Random(seed)
    count = 40
    flow = Propagation(Plain())
    nodes = [flow.node() for _ in range(count)]
    edges = [(draw.randrange(count), draw.randrange(count), draw.choice([0, 0, 0, 100])) for _ in range(60)]
    late = {n: (draw.randrange(count), draw.randrange(count)) for n in draw.sample(range(count), 15)}
    seeds = [(draw.randrange(count), draw.randrange(90)) for _ in range(12)]
    told: dict[int, set[int]] = {n: set() for n in late}

    def tell(node: int, facts: set[int]) -> None:
        told[node] |= facts
        flow.edge(nodes[late[node][0]], nodes[late[node][1]])

    for node in late:
        flow.watch(nodes[node], partial(tell, node))
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


def test_sets_leave_out_what_they_imply() -> None:
    """Places beside any place, many places beside the stride that has them, what was handed out beside all of it."""
    exposed = {2, 3}
    sets, known = FactSets(exposed), set[int]()
    sets.anything = fact_of(0, None)
    assert sets.enter(7, known, {fact_of(1, 8), fact_of(1, 16), fact_of(2, 8)}) == known
    assert len(known) == 3
    assert sets.enter(7, known, {fact_of(1, None), fact_of(1, 24)}) == {fact_of(1, None)}
    assert known == {fact_of(1, None), fact_of(2, 8)}
    assert sets.enter(7, known, {fact_of(1, 32)}) == set()
    assert sets.enter(7, known, {sets.anything, fact_of(3, 8)}) == {sets.anything}
    assert known == {fact_of(1, None), sets.anything}
    exposed.add(4)
    assert sets.enter(7, known, {fact_of(4, 8), fact_of(5, 8)}) == {fact_of(5, 8)}


def test_many_places_become_a_stride() -> None:
    sets, known = FactSets(set()), set[int]()
    for n in range(40):
        assert sets.enter(0, known, {fact_of(1, 24 * n)}) or n > 16
    assert {spot_of(fact) for fact in known} == {(24, 0)}
    sets.enter(0, known, {fact_of(1, 4)})
    assert {spot_of(fact) for fact in known} == {None}


def test_sets_of_nodes_on_a_cycle() -> None:
    """What one node's set says with few facts is taken out of the other's."""
    sets, one, other = FactSets(set()), set[int](), set[int]()
    sets.enter(0, one, {fact_of(1, None)})
    sets.enter(5, other, {fact_of(1, 8), fact_of(2, 8)})
    known = one | other
    sets.join(0, 5, known)
    assert known == {fact_of(1, None), fact_of(2, 8)}


def test_what_many_places_were_joined_to_stays_on_a_cycle() -> None:
    """The set of two nodes says what both said, where one had so many places that any place was said instead."""
    sets, one, other = FactSets(set()), set[int](), set[int]()
    for n in [*range(0, 16 * 24, 24), 4, 9, 15]:
        sets.enter(5, other, {fact_of(1, n)})
    assert {spot_of(fact) for fact in other} == {None}
    sets.enter(0, one, {fact_of(1, 0)})
    known = one | other
    sets.join(0, 5, known)
    assert known == {fact_of(1, None)}


@pytest.mark.parametrize("seed", range(40))
def test_no_place_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few objects with many places, while cycles become one node: each set says what the closure has."""
    monkeypatch.setattr(solver, "_SMALL", 3)
    draw = random.Random(seed)
    count = 12
    flow = Propagation(FactSets(set()))
    nodes = [flow.node() for _ in range(count)]
    edges = [(draw.randrange(count), draw.randrange(count), draw.choice([0, 0, 0, 8])) for _ in range(18)]
    places = range(0, 240, draw.choice([1, 8, 12]))
    seeds = [(draw.randrange(count), draw.randrange(1, 3), draw.choice(places)) for _ in range(150)]
    late = iter(edges)
    for n, (node, thing, at) in enumerate(seeds):
        flow.add(nodes[node], {fact_of(thing, at)})
        flow.run()
        for source, target, by in islice(late, n % 8 == 0):
            flow.edge(nodes[source], nodes[target], by)
            flow.run()

    expected: list[set[tuple[int, int]]] = [set() for _ in range(count)]
    for node, thing, at in seeds:
        expected[node].add((thing, at))
    changed = True
    while changed:
        changed = False
        for source, target, by in edges:
            new = {(thing, at + by) for thing, at in expected[source] if at < 800} - expected[target]
            expected[target] |= new
            changed |= bool(new)
    for node, found in zip(nodes, expected, strict=True):
        said = [(fact >> BITS, spot_of(fact)) for fact in flow.facts(node)]
        assert all(any(o == thing and includes(spot, at) for o, spot in said) for thing, at in found)


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
