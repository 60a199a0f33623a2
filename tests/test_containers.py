"""Containers and algorithms of the C++ library, as optimised code, against finite differences of what clang builds."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from cases import Program, read_program
from checks import check
from harness import Reference
from sandbox import isolated

PROGRAMS = [read_program(p) for p in sorted(Path(__file__).with_name("containers").glob("*.cpp"))]


@functools.cache
def reference() -> Reference:
    return Reference([p.path for p in PROGRAMS])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_container(program: Program) -> None:
    found = isolated(check, program, reference(), duals=False, levels=(2,), seconds=300)
    assert not found.wrong and not found.refused, [*found.wrong, *found.refused.values()]
