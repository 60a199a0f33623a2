"""Timing: candidates take turns, so that a machine that slows down slows all of them alike.

Seconds are CPU seconds of this process, all its threads: nothing measured here waits, and on a machine that other
programs use too, wall time would mostly tell how often they interrupted (tried: it made ratios wrong by a factor of 3).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time

import numpy as np


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU seconds a call: median, quartiles and minimum over `runs` samples."""

    median: float
    low: float
    high: float
    best: float
    runs: int

    @property
    def spread(self) -> float:
        """Half the distance of the quartiles, as a share of the median."""
        return (self.high - self.low) / (2 * self.median)


def _summary(samples: list[float]) -> Timing:
    low, median, high = (float(q) for q in np.quantile(samples, [0.25, 0.5, 0.75]))
    return Timing(median, low, high, min(samples), len(samples))


def _repeats(call: Callable[[], object], at_least: float) -> int:
    """How many calls make a sample of `at_least` seconds."""
    call()
    start = process_time()
    call()
    return max(1, round(at_least / max(process_time() - start, 1e-7)))


def take_turns(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    sample: float = 2e-3,
    progress: Callable[[], object] = lambda: None,
) -> dict[str, Timing]:
    """Times every call once a round; `progress` is told after each round."""
    repeats = {name: _repeats(call, sample) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                start = process_time()
                for _ in range(repeats[name]):
                    call()
                samples[name].append((process_time() - start) / repeats[name])
            progress()
    finally:
        if collecting:
            gc.enable()
    return {name: _summary(taken) for name, taken in samples.items()}
