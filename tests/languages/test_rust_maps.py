"""Rust's maps, and records with text in them: forward and reverse mode against finite differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compilers import require
from core import both_modes

import llgrad
from llgrad.errors import KindError

HERE = Path(__file__).parent
X = np.array([0.7, -0.4, 1.3, 0.2, -1.1, 0.9])


@pytest.fixture(scope="module")
def lib() -> llgrad.Library:
    require("a.rs")
    return llgrad.load(HERE / "maps.rs")


@pytest.mark.parametrize(
    "name",
    [
        "hash_u64", "hash_string", "hash_str", "named", "sparse", "tree_str",
        *(pytest.param(n, marks=pytest.mark.full) for n in (
            "hash_vec", "hash_removed", "hash_iter", "tree_u64", "named_map", "churned", "word_count",
            "table_of_closures", "tree_i32", "tree_removed", "groups",
        )),
    ],
)  # fmt: skip
def test_maps(lib: llgrad.Library, name: str) -> None:
    both_modes(lib[name], X)


@pytest.mark.full
def test_keys_of_three_words_in_a_tree_are_refused(lib: llgrad.Library) -> None:
    """A `String` is read from a node at an index: eight bytes of it seem to meet the numbers behind the keys."""
    with pytest.raises(KindError, match="bytes 8 to 8"):
        llgrad.grad(lib.tree_string)(X)
