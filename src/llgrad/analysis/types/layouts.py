"""What the answers about kinds are made of: the `Kind` of some bytes, the `Layout` of a range of memory.

    either({0: integer, 4: unknown}, {0: unknown, 4: float}) -> {0: integer, 4: float}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.memory.cells import Spot, strided
from llgrad.analysis.types.query import ANY_MASK, CONFLICT_MASK, INT_ANSWER, Leaf
from llgrad.ir.types import FloatType


class Kind(Struct, frozen=True):
    """`name` is one of float, integer, pointer, any, unknown, conflict; `format` is a float's type."""

    name: str
    format: FloatType | None = None

    def __str__(self) -> str:
        return str(self.format) if self.format else self.name

    @property
    def is_float(self) -> bool:
        return self.format is not None

    @property
    def is_known(self) -> bool:
        return self.name not in ("unknown", "conflict")


INTEGER, POINTER, ANY, UNKNOWN, CONFLICT = (Kind(n) for n in ("integer", "pointer", "any", "unknown", "conflict"))
WORD = Kind("word")
"""8 bytes that are moved, and are a double at one time, a pointer or integers at another: see `Kinds.require`."""
MIXED = "llgrad.word"
"""Metadata of copies of eight bytes that are known to be a double at one time and something else at another."""
_FLOATS = {bit: Kind("float", FloatType(name)) for name, bit in bl.FLOAT_BIT.items()}
_KINDS = {
    0: UNKNOWN, ANY_MASK: ANY, CONFLICT_MASK: CONFLICT, bl.POINTER_BIT: POINTER, INT_ANSWER: INTEGER, **_FLOATS,
}  # fmt: skip


def float_kind(t: FloatType) -> Kind:
    """The kind of a float of type `t`."""
    return _FLOATS[bl.FLOAT_BIT[t.name]]


Leaves = tuple[tuple[int, Kind, int], ...]


class Layout(Struct, frozen=True):
    """Scalars as (offset, kind, size), in order and without gaps over [0, size), or over [0, stride) and then again.

    `stride` is None where the extent is known. After a `head` of so many bytes, [head, head + stride) is what repeats.
    """

    stride: int | None
    leaves: Leaves
    head: int = 0

    @property
    def at(self) -> dict[int, Kind]:
        """offset → kind of the scalar that starts there"""
        return {offset: kind for offset, kind, _ in self.leaves}

    @property
    def is_known(self) -> bool:
        return all(kind.is_known for _, kind, _ in self.leaves)

    @property
    def may_hold_float(self) -> bool:
        return any(kind.is_float or not kind.is_known for _, kind, _ in self.leaves)

    def __str__(self) -> str:
        inner = ", ".join(f"{o}: {k}" for o, k, _ in self.leaves)
        after = f" after {self.head}" if self.head else ""
        return f"{{{inner}}}" + (f" every {self.stride}{after}" if self.stride else "")


BYTES = Layout(1, ((0, INTEGER, 1),))


def is_in_words(side: Leaves) -> bool:
    """Where one side of a copy is used as integers only, all 8 bytes of it, the other's floats would become numbers."""
    formats = {k.format for _, k, _ in side if k.format is not None}
    numbers = sum(size for _, k, size in side if k is INTEGER)
    return formats <= {FloatType("double")} and (numbers < 8 or any(k is CONFLICT for _, k, _ in side))


def without_zeros(leaves: Leaves, zero: set[int]) -> Iterator[tuple[int, Kind, int]]:
    """Blank bytes fit any kind; what is not known of those around them stays so."""
    for o, kind, size in leaves:
        if zero.issuperset(range(o, o + size)):
            yield o, ANY, size
        elif kind.is_known or zero.isdisjoint(range(o, o + size)):
            yield o, kind, size
        else:
            yield from ((n, ANY if n in zero else kind, 1) for n in range(o, o + size))


def named(leaves: list[Leaf]) -> list[tuple[int, Kind, int]]:
    """Leaves of evidence, with the kinds that it stands for."""
    return [(offset, _KINDS[mask], size) for offset, mask, size in leaves]


def either(a: Leaves, b: Leaves) -> Leaves:
    """Two views of the same bytes: where one knows nothing the other speaks; where both speak they must agree."""
    if not any(k.is_known or k is CONFLICT for _, k, _ in a):
        return b
    if not any(k.is_known or k is CONFLICT for _, k, _ in b):
        return a
    merged: list[tuple[int, Kind, int]] = []
    first, second = _by_byte(a), _by_byte(b)
    for o in range(max(len(first), len(second))):
        x, y = first.get(o, (UNKNOWN, o, 1)), second.get(o, (UNKNOWN, o, 1))
        merged.append((o, _joined(x, y), 0))
    return _grouped(merged, first, second)


_ByByte = dict[int, tuple[Kind, int, int]]


def _by_byte(leaves: Leaves) -> _ByByte:
    return {o + n: (k, o, s) for o, k, s in leaves for n in range(s)}


def _joined(x: tuple[Kind, int, int], y: tuple[Kind, int, int]) -> Kind:
    a, b = x[0], y[0]
    if a is b:
        return CONFLICT if a.is_float and x[1:] != y[1:] else a
    for weaker in (UNKNOWN, ANY):
        if weaker in (a, b):
            return b if a is weaker else a
    return POINTER if {a, b} == {INTEGER, POINTER} else CONFLICT


def _grouped(merged: list[tuple[int, Kind, int]], first: _ByByte, second: _ByByte) -> Leaves:
    """Bytes back to scalars: a float or pointer ends where its owner says, other kinds run on."""
    leaves: list[tuple[int, Kind, int]] = []
    for o, kind, _ in merged:
        owner = next((m[o] for m in (first, second) if o in m and m[o][0] is kind), (kind, o, 1))
        starts = (kind.is_float or kind is POINTER) and owner[1] == o
        if leaves and leaves[-1][1] is kind and not starts:
            leaves[-1] = (leaves[-1][0], kind, leaves[-1][2] + 1)
        else:
            leaves.append((o, kind, 1))
    return tuple(leaves)


def looked_at(layout: Layout, looks: Callable[[Spot, int], Kind]) -> Iterator[tuple[int, Kind, int]]:
    """The leaves of a layout; what is not known of them as what it is looked at."""
    for o, kind, size in layout.leaves:
        seen = kind if kind.is_known else looks(strided(layout.stride or 0, o), size)
        if kind is UNKNOWN and seen.format is not None:
            step = seen.format.bits // 8
            places = [strided(layout.stride or 0, n) for n in range(o, o + size, step)]
            yield from ((o + n * step, looks(place, step), step) for n, place in enumerate(places))
        else:
            yield o, seen if seen is ANY else kind, size


def tiled(layout: Layout, stride: int) -> Leaves:
    """The leaves of a layout that repeats, over `stride` bytes."""
    step = layout.stride or stride
    return tuple((n + o, k, s) for n in range(0, stride, step) for o, k, s in layout.leaves)
