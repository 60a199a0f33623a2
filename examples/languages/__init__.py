"""The same numerical core in every language: a network's loss, an integrator, a Cholesky solve; how each is called."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import llgrad

HERE = Path(__file__).parent
FUNCTIONS = ("network", "integrate", "solve")
Layout = Callable[[str, Sequence[Any], int], list[Any]]


def pointers(name: str, v: Sequence[Any], steps: int) -> list[Any]:
    """Sizes and pointers."""
    if name == "network":
        return [v[1].shape[1], v[1].shape[0], *v]
    return [len(v[0]), *v, steps] if name == "integrate" else [len(v[0]), *v]


def slices(name: str, v: Sequence[Any], steps: int) -> list[Any]:
    """Arrays know their sizes."""
    return [*v, steps] if name == "integrate" else list(v)


def by_columns(name: str, v: Sequence[Any], steps: int) -> list[Any]:
    """Julia's arrays: the first index runs fastest."""
    return [np.asfortranarray(a) if np.ndim(a) else a for a in slices(name, v, steps)]


LAYOUTS: dict[str, Layout] = {
    "model.c": pointers, "model.cpp": pointers, "model.rs": slices, "model.f90": slices, "model.zig": pointers,
    "model.py": slices, "model.d": pointers, "model.nim": pointers, "model.mlir": slices, "model.jl": by_columns,
    "model.swift": pointers,
}  # fmt: skip


def function(source: str, name: str) -> Any:
    """The function of that name: of a library, or Numba's."""
    if source.endswith(".py"):
        return runpy.run_path(str(HERE / source))[name]
    return llgrad.load(HERE / source)[name]
