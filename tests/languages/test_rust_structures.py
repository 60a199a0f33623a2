"""Rust's data structures, and what is done with slices and iterators: forward and reverse mode against differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import both_modes

import llgrad

HERE = Path(__file__).parent
X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])
SHORT = (
    "deque", "graph_rc", "dijkstra", "shapes", "tree", "ring", "compose_all", "results", "cow", "raw", "small_vec",
    "free_list",
)  # fmt: skip
LONG = (
    "graph_weak", "heap", "rc_cell", "mem_take", "values", "unions", "mixed_records", "stackvm", "any_down",
    "adaptors", "peeked", "slices", "copies", "states",
)  # fmt: skip


@pytest.fixture(scope="module")
def structures() -> llgrad.Library:
    require("a.rs")
    return llgrad.load(HERE / "structures.rs")


@pytest.fixture(scope="module")
def records() -> llgrad.Library:
    require("a.rs")
    return llgrad.load(HERE / "records.rs")


@pytest.mark.parametrize("name", SHORT)
def test_structures(structures: llgrad.Library, name: str) -> None:
    both_modes(structures[name], X)


@pytest.mark.full
@pytest.mark.parametrize("name", LONG)
def test_records(records: llgrad.Library, name: str) -> None:
    both_modes(records[name], X)


@pytest.mark.full
@pytest.mark.parametrize("flags", [["-Copt-level=1"], ["-Copt-level=3"], ["-Cpanic=unwind"]])
def test_flags(flags: list[str]) -> None:
    require("a.rs")
    lib = llgrad.load(HERE / "structures.rs", flags=flags)
    for name in ("deque", "graph_rc", "dijkstra", "tree"):
        both_modes(lib[name], X)
