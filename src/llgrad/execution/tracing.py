"""A derivative that tests what it computes, for `nan="trace"`; it is made anew each time, and not cached."""

from __future__ import annotations

from msgspec import Struct

from llgrad.autodiff.emit import non_finite
from llgrad.autodiff.requests.request import Request
from llgrad.errors import Span
from llgrad.execution import cache
from llgrad.execution.entry import Entry, entry_text
from llgrad.execution.loaded import Compiled, Loaded
from llgrad.ir.parse import parse
from llgrad.ir.write import write

_TAKE = Entry(f"llgrad.entry.{non_finite.TAKE}", (), ("i32",))


class Traced(Struct, frozen=True):
    """`take` is the entry that gives the number of the first test that failed, or 0; `places` are what the numbers
    1, 2, … stand for."""

    compiled: Compiled
    take: Entry
    places: tuple[Span | None, ...]


def traced(library: Loaded, request: Request) -> Traced:
    """The derivative that `request` asks for, with tests."""
    places = list[Span | None]()

    def tested(text: str) -> str:
        module = parse(text)
        places.extend(non_finite.with_tests(module))
        return write(module)

    more = [non_finite.RUNTIME, entry_text(_TAKE, non_finite.TAKE)]
    with non_finite.noting():
        found = library.derivative_pieces((request,), tested, more, [_TAKE.name])
    (entry,), borrowed = cache.loaded(found["entries"])
    compiled = Compiled(library.code(found["object"], borrowed), entry, 0.0, found["ir"])
    return Traced(compiled, _TAKE, tuple(places))


__all__ = ["Traced", "traced"]
