"""Python's garbage collector, which waits while llgrad compiles."""

from __future__ import annotations

import atexit
import functools
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 200_000
_collector = threading.Lock()
_usual: list[tuple[int, int, int]] = []  # for each compilation under way: what was set before the first of them


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Python's collector waits: it would look at all of the IR again and again, and find nothing.

    It is all threads' collector: what was set before comes back when the last of them is done.
    """
    with _collector:
        _usual.append(_usual[0] if _usual else gc.get_threshold())
        if 0 < _usual[0][0] < _ALLOCATIONS:
            gc.set_threshold(_ALLOCATIONS, *_usual[0][1:])
    try:
        yield
    finally:
        with _collector:
            before = _usual.pop()
            if not _usual:
                gc.set_threshold(*before)


@functools.cache
def collecting_never_at_exit() -> None:
    """Python's last collection finds nothing to look at: the process ends, and the system takes its memory."""
    atexit.register(gc.freeze)
