"""The minimum cut against all assignments of small random graphs."""

from __future__ import annotations

import itertools
import random

import pytest

from llgrad.autodiff.recipes.min_cut import Choice, minimum_cut

Nodes = dict[str, Choice]


def graph(seed: int) -> tuple[Nodes, list[str]]:
    """A random acyclic graph: nodes depend on earlier ones."""
    r = random.Random(seed)
    names = [f"v{n}" for n in range(r.randint(1, 7))]
    nodes = {}
    for n, name in enumerate(names):
        depends = r.sample(names[:n], min(n, r.choice([0, 1, 1, 2, 3])))
        recompute = None if r.random() < 0.3 else r.randint(1, 12)
        nodes[name] = Choice(r.randint(1, 12), recompute, depends if recompute is not None else ())
    return nodes, sorted(r.sample(names, r.randint(1, len(names))))


def is_enough(nodes: Nodes, wanted: list[str], kept: set[str], recomputed: set[str]) -> bool:
    """Can everything wanted be had?"""
    had = kept | recomputed
    return set(wanted) <= had and all(
        nodes[k].recompute is not None and had.issuperset(nodes[k].depends) for k in recomputed - kept
    )


def cost(nodes: Nodes, kept: set[str], recomputed: set[str]) -> int:
    return sum(nodes[k].keep for k in kept) + sum(nodes[k].recompute or 0 for k in recomputed - kept)


def cheapest(nodes: Nodes, wanted: list[str]) -> int:
    """By trying every assignment of kept, recomputed or neither."""
    best = None
    for what in itertools.product("kr-", repeat=len(nodes)):
        kept = {k for k, w in zip(nodes, what, strict=True) if w == "k"}
        recomputed = {k for k, w in zip(nodes, what, strict=True) if w == "r"}
        if is_enough(nodes, wanted, kept, recomputed):
            value = cost(nodes, kept, recomputed)
            best = value if best is None else min(best, value)
    assert best is not None
    return best


@pytest.mark.parametrize("seed", range(120))
def test_against_every_assignment(seed: int) -> None:
    nodes, wanted = graph(seed)
    kept, recomputed = minimum_cut(nodes, wanted)
    assert not kept & recomputed
    assert is_enough(nodes, wanted, kept, recomputed)
    assert cost(nodes, kept, recomputed) == cheapest(nodes, wanted)


def test_nothing_wanted() -> None:
    assert minimum_cut({"a": Choice(1, 1)}, []) == (set(), set())


def test_what_cannot_be_recomputed_is_kept() -> None:
    nodes = {"a": Choice(1000, None), "b": Choice(5, 1, ["a"]), "unused": Choice(1, None)}
    assert minimum_cut(nodes, ["a"]) == ({"a"}, set())
    assert minimum_cut(nodes, ["b"]) == ({"b"}, set())


def test_sharing_pays() -> None:
    """One kept value serves two users, each of which alone would be kept itself."""
    nodes = {"base": Choice(9, None), "a": Choice(6, 1, ["base"]), "b": Choice(6, 1, ["base"])}
    assert minimum_cut(nodes, ["a"]) == ({"a"}, set())
    assert minimum_cut(nodes, ["a", "b"]) == ({"base"}, {"a", "b"})


def test_long_chains() -> None:
    """Recomputing a thousand times is dearer than keeping one value."""
    nodes = {f"v{n}": Choice(6, 1, [f"v{n - 1}"] if n else ()) for n in range(1000)}
    kept, recomputed = minimum_cut(nodes, ["v999"])
    assert (kept, recomputed) == ({"v999"}, set())
    short = {f"v{n}": Choice(6, 1, [f"v{n - 1}"] if n else ()) for n in range(5)}
    assert minimum_cut(short, ["v4"]) == (set(), set(short))
