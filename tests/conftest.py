"""Shared by all tests: a cache of their own, so that no test sees what another run compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty cache folder for the session."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("LLGRAD_CACHE")
    os.environ["LLGRAD_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["LLGRAD_CACHE"]
    else:
        os.environ["LLGRAD_CACHE"] = before


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., Path]:
    """`source(text, name)` writes a source file."""

    def write(text: str, name: str = "code.c") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
