"""Slow sets: everything in this folder has the marker `full`, and sees the helpers of `tests` and the examples."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for folder in (HERE.parent, HERE.parent / "interface", HERE.parents[1]):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.full)
