"""Where in an object: offsets, known exactly or modulo a stride; and cells, what pointers are stored at such places.

A *spot* is a byte offset, a pair (stride, remainder) for all offsets that leave that remainder, or None for any. In an
array of structs, a pointer to one member of some element is so told apart from one to another member. A cell stands
for a word of an object, for all words of one remainder, or (None) for any; what is stored in one is found in all that
may be the same word. Cells are made as they are needed, so readers and copies are remembered and told of new ones.
An array of pointers in a struct, walked by a variable, has cells of a remainder, which are all words of the struct:
there TBAA tells what is stored in the array and what beside it. Within one cell it is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from math import gcd

from llgrad.analysis.bits.integer_values import bytes_apart
from llgrad.analysis.memory.tbaa import Tag
from llgrad.analysis.objects import WORD, constant_index, gep_terms
from llgrad.analysis.solver import Propagation
from llgrad.ir.types import DataLayout, Type
from llgrad.ir.values import AnyValue

Remainder = tuple[int, int]
Spot = int | Remainder | None
Range = tuple[int | None, int | None]
"""Bytes from the first on and before the second, where these are known."""
Readers = dict[tuple[Spot, Tag | None], dict[int, None]]
Extent = tuple[Spot, int]
"""Where, and how many bytes."""
LARGEST_STRIDE = 256
_MOST_COPIED = 64  # exact words of an object that copies may make


@cache
def strided(stride: int, remainder: int) -> Spot:
    """All offsets that differ from `remainder` by multiples of `stride`: by the largest stride that spots can have."""
    if stride == 0:
        return remainder
    found = (n for n in range(LARGEST_STRIDE, WORD, -WORD) if stride % n == 0)
    kept = next(found, None)
    return None if kept is None else (kept, remainder % kept)


def moved(spot: Spot, by: Spot) -> Spot:
    """The spots that are `by` further on."""
    match spot, by:
        case None, _:
            return None
        case _, None:
            return None
        case int(), int():
            return spot + by
        case (stride, remainder), int():
            return stride, (remainder + by) % stride
        case int(), (stride, remainder):
            return stride, (remainder + spot) % stride
        case (stride, remainder), (other, more):
            return strided(gcd(stride, other), remainder + more)
    raise AssertionError((spot, by))


def joined(spots: Iterable[Spot]) -> Spot:
    """One spot for all of these."""
    stride, first = 0, 0
    for n, spot in enumerate(spots):
        if spot is None:
            return None
        step, at = spot if isinstance(spot, tuple) else (0, spot)
        first = at if n == 0 else first
        stride = gcd(stride, step, at - first)
    return strided(stride, first)


def includes(wide: Spot, narrow: Spot) -> bool:
    """Are all offsets of `narrow` in `wide`?"""
    match wide, narrow:
        case None, _:
            return True
        case (stride, remainder), int():
            return (narrow - remainder) % stride == 0
        case (stride, remainder), (other, at):
            return other % stride == 0 and (at - remainder) % stride == 0
    return wide == narrow


def difference(a: Spot, b: Spot) -> Spot:
    """What has to be added to `b` to come to `a`."""
    return moved(a, opposite(b))


def opposite(spot: Spot) -> Spot:
    """As far the other way."""
    return None if spot is None else (spot[0], -spot[1] % spot[0]) if isinstance(spot, tuple) else -spot


def overlap(a: Extent, b: Extent) -> bool:
    """May the two share a byte?"""
    (spot, size), (other, length) = a, b
    if spot is None or other is None:
        return True
    (step, at), (by, to) = (s if isinstance(s, tuple) else (0, s) for s in (spot, other))
    stride, apart = gcd(step, by), at - to
    if stride:
        apart %= stride
        return apart < length or stride - apart < size
    return -size < apart < length


def gep_spot(source: Type, indices: list[AnyValue], layout: DataLayout) -> Spot:
    """The bytes that a `getelementptr` adds: those of constant indices, and multiples of the strides of others."""
    found = gep_bytes(source, indices, layout)
    return None if found is None else strided(*found)


def gep_bytes(source: Type, indices: list[AnyValue], layout: DataLayout) -> tuple[int, int] | None:
    """(the stride of variable indices, 0 if there are none; the bytes of constant ones)"""
    if (found := gep_terms(source, indices, layout)) is None:
        return None
    (total, terms), stride = found, 0
    for index, size in terms:
        number = constant_index(index)
        start, multiple = (number, 0) if number is not None else bytes_apart(index, size)
        total, stride = total + start * size, gcd(stride, multiple * size)
    return stride, total


@lru_cache(maxsize=1 << 16)
def words(spot: Spot, size: int) -> tuple[Spot, ...]:
    """The keys of the cells that `size` bytes at a spot are in; (None,) where that is any."""
    if spot is None or size > 32 * WORD:
        return (None,)
    if isinstance(spot, int):
        return tuple(range(spot // WORD, (spot + max(size, 1) - 1) // WORD + 1))
    stride, at = spot
    found = range(at // WORD, (at + max(size, 1) - 1) // WORD + 1)
    return tuple(dict.fromkeys((stride, n * WORD % stride) for n in found))


def _same_word(a: Spot, b: Spot) -> bool:
    """May two cells be the same word?"""
    match a, b:
        case None, _:
            return True
        case _, None:
            return True
        case int(), int():
            return a == b
        case int(), (stride, remainder):
            return (a * WORD - remainder) % stride == 0
        case (stride, remainder), int():
            return (b * WORD - remainder) % stride == 0
        case (stride, remainder), (other, more):
            return (remainder - more) % gcd(stride, other) == 0
    raise AssertionError((a, b))


def _is_outside(word: int, low: int | None, high: int | None) -> bool:
    return low is not None and (word + 1) * WORD <= low or high is not None and word * WORD >= high


class Cells:
    """The cells of all objects, as nodes of a system of inclusion constraints.

    `may_alias`: may accesses with two TBAA tags touch the same byte? (None: no tag.)
    """

    def __init__(self, flow: Propagation, may_alias: Callable[[Tag | None, Tag | None], bool]) -> None:
        self._flow, self._may_alias = flow, may_alias
        self._cells: dict[int, dict[Spot, int]] = {}
        self._wide: dict[int, dict[Spot, int]] = {}  # those that are not one word
        self._tags: dict[int, set[Tag | None]] = {}  # of a cell's node: those of the stores
        self._whole: dict[int, int] = {}
        self._readers: dict[int, Readers] = {}
        self._copies: dict[int, dict[tuple[int, Spot, Range], None]] = {}
        self._fresh: list[tuple[int, Spot]] = []  # cells that copies were not told of

    def cell(self, obj: int, key: Spot, tag: Tag | None = None) -> int:
        """The node of one cell, for a store with that tag."""
        found = self._made(obj, key, tag)
        self._tell_copies()
        return found

    def _tell_copies(self) -> None:
        while self._fresh:
            source, key = self._fresh.pop()
            for target, by, within in list(self._copies.get(source, ())):
                self._copy_cell(self._cells[source][key], key, target, by, within)

    def _made(self, obj: int, key: Spot, tag: Tag | None) -> int:
        own = self._cells.setdefault(obj, {})
        if key not in own:
            node = own[key] = self._flow.node()
            self._tags[node] = set()
            if not isinstance(key, int):
                self._wide.setdefault(obj, {})[key] = node
            self._flow.edge(node, self.all(obj))
            self._fresh.append((obj, key))
        node, tags = own[key], self._tags[own[key]]
        if tag not in tags and None not in tags:
            tags.add(tag)
            for (wanted, read_as), targets in list(self._readers.get(obj, {}).items()):
                if wanted == key or _same_word(wanted, key) and self._may_alias(tag, read_as):
                    for target in list(targets):
                        self._flow.edge(node, target)
        return node

    def all(self, obj: int) -> int:
        """The node of everything in an object."""
        if obj not in self._whole:
            self._whole[obj] = self._flow.node()
        return self._whole[obj]

    def has(self, obj: int) -> bool:
        return obj in self._whole

    def read(self, obj: int, key: Spot, target: int, tag: Tag | None = None) -> None:
        """`target` gets what the cell, and those that may be the same word, hold, as a load with that tag finds it."""
        if key is None and tag is None:
            self._flow.edge(self.all(obj), target)
            return
        readers = self._readers.setdefault(obj, {}).setdefault((key, tag), {})
        if target not in readers:
            readers[target] = None
            for node in self._same_words(obj, key, tag):
                self._flow.edge(node, target)

    def _same_words(self, obj: int, key: Spot, tag: Tag | None) -> list[int]:
        """The cells that may be the same word as this one."""
        own = self._cells.get(obj, {})
        others = self._wide.get(obj, {}) if isinstance(key, int) else own
        found = [n for k, n in others.items() if k != key and _same_word(key, k) and self._holds(n, tag)]
        return [own[key], *found] if key in own else found

    def _holds(self, node: int, tag: Tag | None) -> bool:
        return any(self._may_alias(t, tag) for t in self._tags[node])

    def copy(self, source: int, target: int, by: Spot, within: Range = (None, None)) -> None:
        """What is in the object `source`, in bytes `within`, is also in `target`, `by` bytes further on."""
        if source == target:
            by = by if by is None or by == 0 else strided(gcd(by) if isinstance(by, int) else gcd(*by), 0)
        copies = self._copies.setdefault(source, {})
        if (by != 0 or source != target) and (target, by, within) not in copies:
            copies[target, by, within] = None
            for key, node in list(self._cells.get(source, {}).items()):
                self._copy_cell(node, key, target, by, within)
            self._tell_copies()

    def _copy_cell(self, node: int, key: Spot, target: int, by: Spot, within: Range) -> None:
        spot = moved(key * WORD if isinstance(key, int) else key, by)
        if isinstance(key, int) and _is_outside(key, *within):
            return
        for there in words(spot, WORD):
            crowded = isinstance(there, int) and len(self._cells.get(target, ())) > _MOST_COPIED
            self._flow.edge(node, self._made(target, None if crowded else there, None))
