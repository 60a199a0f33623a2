"""Long work is seen: after 2 s a line says which phase llgrad is in, which pass it runs and which function it reads.

    llgrad: preparing the function, optimise, @objective, after 2 s

The lines are messages of the logger `llgrad`. They are shown where the logger has a handler, where stderr is a
terminal, and where `LLGRAD_LOG` is `info`; `LLGRAD_LOG=off` shows none. Where nothing is shown no thread is started.

A thread looks at the variables of the functions that run: what compiles does not report, and takes no longer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from llgrad.ir.values import Function, Instruction

LOG, LOGGER = "LLGRAD_LOG", "llgrad"
_OWN, _ROOT = "llgrad.", "llgrad.root."  # what llgrad writes; and the function that it is asked for
_FIRST, _LATER = 2.0, 10.0  # seconds until the first line, and between others
_PASSES = "run_passes"  # the function whose variable `p` is the pass that runs

_under_way = threading.local()


@contextmanager
def shown(phase: str) -> Iterator[None]:
    """Show what runs, if it takes long; a phase within another is shown by the thread of that."""
    phases: list[str] = _under_way.__dict__.setdefault("phases", [])
    phases.append(phase)
    teller = _Teller(phases) if len(phases) == 1 and _is_wanted() else None
    try:
        yield
    finally:
        phases.pop()
        if teller is not None:
            teller.done.set()


def looked_at(frames: Iterable[FrameType]) -> tuple[Function | None, Instruction | None]:
    """The innermost instruction, and the innermost function of the program, among the variables of what runs.

    The innermost frame comes last.
    """
    function: Function | None = None
    instruction: Instruction | None = None
    for frame in frames:
        for value in list(frame.f_locals.values()):
            if isinstance(value, Instruction):
                instruction = value
            elif isinstance(value, Function) and not (value.name.startswith(_OWN) and not value.name.startswith(_ROOT)):
                function = value
    return function, instruction


class _Teller(threading.Thread):
    """Says what the thread that made it is doing, until it is `done`."""

    def __init__(self, phases: list[str]) -> None:
        super().__init__(name="llgrad.progress", daemon=True)
        self.phases, self.of, self.began = phases, threading.get_ident(), time.monotonic()
        self.done = threading.Event()
        self.start()

    def run(self) -> None:
        import logging

        wait = _FIRST
        while not self.done.wait(wait):
            logging.getLogger(LOGGER).info("%s, after %.0f s", self._doing(), time.monotonic() - self.began)
            wait = _LATER

    def _doing(self) -> str:
        frames = list[FrameType]()
        frame = sys._current_frames().get(self.of)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        frames.reverse()
        passes = [f.f_locals["p"].name for f in frames if f.f_code.co_name == _PASSES and "p" in f.f_locals]
        function, _ = looked_at(frames)
        named = [f"@{function.name.removeprefix(_ROOT)}"] if function is not None else []
        return ", ".join([*self.phases[-1:], *passes[-1:], *named])


def _is_wanted() -> bool:
    """Is anybody there to read it? Adds a handler where a terminal is, or `LLGRAD_LOG` asks for one."""
    asked = os.environ.get(LOG, "").lower()
    here = asked == "info" or sys.stderr is not None and sys.stderr.isatty()
    if asked == "off" or not here and "logging" not in sys.modules:
        return False
    import logging

    logger = logging.getLogger(LOGGER)
    if here and not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("llgrad: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return logger.hasHandlers() and logger.isEnabledFor(logging.INFO)


__all__ = ["LOG", "LOGGER", "looked_at", "shown"]
