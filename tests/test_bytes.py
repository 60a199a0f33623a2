"""Floats whose bytes are kept in strings, which have no shadow, or moved one by one: right or refused, never zero."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import llgrad
from llgrad.errors import KindError, UnsupportedError

SOURCES = sorted(Path(__file__).with_name("bytes").iterdir())
WAYS = (
    "appended", "copied", "cast", "from_array", "by_characters", "to_vector", "copied_out", "shifted",
    "through_functions", "by_shifts", "swapped", "masked", "out_of_structs",
)  # fmt: skip


@functools.cache
def library(level: int) -> llgrad.Library:
    return llgrad.load(SOURCES, optimize=level)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("way", WAYS)
def test_bytes_of_floats(way: str, level: int) -> None:
    function = getattr(library(level), way)
    x = np.array([0.3, -1.2, 0.7])
    assert function(x, 3) == pytest.approx(np.sum(x * x))
    try:
        gradient = llgrad.grad(function)(x, 3)
    except (KindError, UnsupportedError):
        return
    assert gradient == pytest.approx(2 * x)
