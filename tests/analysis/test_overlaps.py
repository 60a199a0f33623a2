"""Overlaps of sets of places against the pairs of places one by one."""

import random
from dataclasses import dataclass

import pytest

from llgrad.analysis.memory.alias import Overlaps, Place, Spots, _touch
from llgrad.analysis.memory.cells import Spot, overlap
from llgrad.analysis.objects import MemoryObject, ObjectKind
from llgrad.ir.types import PTR
from llgrad.ir.values import Argument

KINDS: tuple[ObjectKind, ...] = ("argument", "stack", "heap", "global")
OBJECTS = [MemoryObject(k, Argument(PTR, f"{k}{n}", n)) for n in range(2) for k in KINDS]
OBJECTS += [MemoryObject("contents"), MemoryObject("unknown")]


@dataclass(frozen=True)
class Bytes:
    places: frozenset[Place]
    size: int | None

    @property
    def objects(self) -> frozenset[MemoryObject]:
        return frozenset(o for o, _ in self.places)


def pair(a: Place, size: int | None, b: Place, other: int | None, lonely: set[MemoryObject], distinct: bool) -> bool:
    (o, at), (p, bt) = a, b
    if o == p:
        return (
            not isinstance(at, int)
            or not isinstance(bt, int)
            or ((size is None or bt < at + size) and (other is None or at < bt + other))
        )
    kinds = {o.kind, p.kind}
    if o in lonely or p in lonely or kinds <= {"stack", "heap", "global"}:
        return False
    if kinds & {"stack", "heap"}:
        return "argument" not in kinds
    return kinds != {"argument"} or not distinct


@pytest.mark.parametrize("distinct", [False, True])
def test_sets_meet_where_a_pair_does(distinct: bool) -> None:
    draw = random.Random(7)
    lonely = set(draw.sample(OBJECTS[:-2], 3))
    overlaps = Overlaps(lonely.__contains__, distinct)
    seen = []
    for _ in range(2000):
        a, b = (
            Bytes(
                frozenset((draw.choice(OBJECTS), draw.choice([None, 0, 4, 8, 16])) for _ in range(draw.randrange(4))),
                draw.choice([None, 0, 4, 8]),
            )
            for _ in range(2)
        )  # fmt: skip
        want = any(pair(x, a.size, y, b.size, lonely, distinct) for x in a.places for y in b.places)
        assert overlaps.meet(a, b) == want, (a, b)
        seen.append(want)
    assert 0.1 < sum(seen) / len(seen) < 0.9


def test_sets_of_spots_meet_where_two_of_them_do() -> None:
    chosen = random.Random(7)

    def spot() -> Spot:
        step = chosen.choice([8, 24, 40])
        exact = chosen.randrange(-20, 60)
        return chosen.choice([exact, exact, (step, chosen.randrange(step)), None])

    def apart(spots: list[Spot]) -> Spots:
        return sorted(s for s in spots if isinstance(s, int)), [s for s in spots if not isinstance(s, int)]

    for _ in range(5_000):
        ours, theirs = ([spot() for _ in range(chosen.randrange(5))] for _ in range(2))
        size, length = (chosen.choice([None, 0, 1, 4, 8, 20]) for _ in range(2))
        expected = any(size is None or length is None or overlap((s, size), (t, length))
                       for s in ours for t in theirs if not (isinstance(s, int) and isinstance(t, int)))  # fmt: skip
        expected |= any((size is None or t < s + size) and (length is None or s < t + length)
                        for s in ours for t in theirs if isinstance(s, int) and isinstance(t, int))  # fmt: skip
        assert _touch(apart(ours), size, apart(theirs), length) == expected
