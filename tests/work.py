"""How much work Python does, counted and not timed: the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(run: Callable[[], object]) -> int:
    """The number of calls, of functions in Python and in C, while `run` runs."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
