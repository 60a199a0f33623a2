"""Containers and algorithms of the C++ library, as optimised code, against finite differences of what clang builds.

Those of libstdc++ every day; of libc++, whose strings and shared pointers are others, some.
"""

from __future__ import annotations

import functools
import shlex
from pathlib import Path

import pytest
from cases import Program, read_program
from checks import check
from harness import Reference, has_libcxx
from sandbox import isolated

from llgrad.frontends import find_compiler

LIBCXX = ("class_of_maps", "map_of_maps", "named_shapes", "text_or_number", "weak_observers")
PROGRAMS = [read_program(p) for p in sorted(Path(__file__).with_name("containers").glob("*.cpp"))]


@functools.cache
def reference() -> Reference:
    return Reference([p.path for p in PROGRAMS])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_container(program: Program) -> None:
    found = isolated(check, program, reference(), duals=False, levels=(2,), seconds=300)
    assert not found.wrong and not found.refused, [*found.wrong, *found.refused.values()]


# What is refused there today, and why.
REFUSED = {"expression_parser": "the text of what was thrown (`what()`) is made by a function of the library"}


def cases() -> list[object]:
    return [pytest.param(p, id=p.name, marks=() if p.name in LIBCXX else pytest.mark.full) for p in PROGRAMS]


@pytest.mark.parametrize("program", cases())
def test_container_of_libcxx(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_libcxx():
        pytest.skip("no libc++ (Debian: libc++-22-dev)")
    monkeypatch.setenv("LLGRAD_CLANG", shlex.join([*find_compiler().c, "-stdlib=libc++"]))
    try:
        reference = Reference([program.path])
    except OSError as error:
        pytest.skip(f"the libc++ that is loaded is older than its headers: {error}")
    found = isolated(check, program, reference, duals=False, levels=(2,), seconds=300)
    assert not found.wrong
    assert bool(found.refused) is (program.name in REFUSED), list(found.refused.values())
