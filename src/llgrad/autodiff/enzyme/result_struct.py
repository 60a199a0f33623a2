"""Where the results of a derivative lie in what its caller declares: a struct of them, in order, as C lays it out.

What is passed in registers does not tell how that is. A struct's parameters are several (`Member`s of one `Source`), of
which some have no adjoint; `<2 x float>` is a vector, or two floats of a struct that lies at 4 bytes; i64 is a number,
or a float and an int. All that may be is laid out; what the caller declares must bear out one place for each result.
With several lanes a source is there once for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from msgspec import Struct

from llgrad.ir.types import ArrayType, DataLayout, IntType, StructType, Type, VectorType

_MOST = 4096  # ways that are tried


class Member(Struct, frozen=True):
    """A part of what is returned, and the name of its value; "" where the derivative has none for it."""

    type: Type
    name: str = ""


Source = tuple[tuple[Member, ...], ...]
"""The members of the result, or of an argument, for each lane."""


def same_bytes(layout: DataLayout, given: Type, declared: Type) -> bool:
    """Is what is given what somebody declares, as far as it goes?

    The C ABI passes floats and numbers in registers as integers; all else is what it is, and nothing is left over.
    """
    return _fits(layout, list(layout.leaves(given, lanes=True)), declared, exact=False)


def places(
    layout: DataLayout, sources: Sequence[Source], declared: Type, exact: bool = False
) -> list[tuple[Member, int]] | None:
    """The results and the bytes where they lie in a `declared`; None if they do not fit, or in more than one way.

    `exact`: floats are declared as such, and not in integers.
    """
    ways = [_placed(layout, way) for way in islice(product(*map(_ways, sources)), _MOST)]
    for strictly in (True,) if exact else (True, False):
        found = {}
        for way in ways:
            leaves = [(at + o, t) for m, at in way for o, t in layout.leaves(m.type, lanes=True)]
            if _fits(layout, leaves, declared, strictly):
                found[tuple(at for _, at in way)] = way
        if found:
            return next(iter(found.values())) if len(found) == 1 else None
    return None


Laid = tuple[tuple[tuple[Member, Type], ...], ...]  # the members of each lane, and the types by which they are laid out


def _ways(source: Source) -> Iterator[Laid]:
    yield tuple(tuple((m, m.type) for m in lane) for lane in source)
    if any(_apart(m.type) != m.type for lane in source for m in lane):
        yield tuple(tuple((m, _apart(m.type)) for m in lane) for lane in source)
    if any(not m.name for lane in source for m in lane):
        yield from _ways(tuple(tuple(m for m in lane if m.name) for lane in source))


def _apart(t: Type) -> Type:
    """As the members of a struct that it may be."""
    match t:
        case VectorType(element, count):
            return ArrayType(element, count)
        case IntType(64):
            return ArrayType(IntType(32), 2)
        case StructType(fields) if fields is not None:
            return StructType(tuple(map(_apart, fields)), t.packed)
    return t


def _placed(layout: DataLayout, way: Sequence[Laid]) -> list[tuple[Member, int]]:
    structs = [StructType(tuple(t for _, t in lane)) for laid in way for lane in laid]
    lanes = [lane for laid in way for lane in laid]
    found = []
    for s, lane, start in zip(structs, lanes, layout.offsets(StructType(tuple(structs))), strict=True):
        found += [(m, start + at) for (m, _), at in zip(lane, layout.offsets(s), strict=True) if m.name]
    return found


def _fits(layout: DataLayout, leaves: Sequence[tuple[int, Type]], declared: Type, exact: bool) -> bool:
    """Are all `leaves` what is declared there; `exact`: integers, too?

    A word may be a float and a `short`: what is behind that is nothing.
    """
    bytes_of = {at + k: (at, t) for at, t in leaves for k in range(layout.size(t))}
    said = set[int]()
    for at, t in layout.leaves(declared, lanes=True):
        own = range(at, at + layout.size(t))
        there = {bytes_of[k] for k in own if k in bytes_of}
        bits = not exact and any(isinstance(x, IntType) for x in (t, *(x for _, x in there)))
        if there and there != {(at, t)} and not bits:
            return False
        said.update(own)
    return all(k in said or (t == IntType(64) and k - k % 4 in said) for k, (_, t) in bytes_of.items())


__all__ = ["Member", "Source", "places", "same_bytes"]
