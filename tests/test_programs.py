"""The corpus: every program of `tests/programs` is differentiated at every level and checked against all we have.

What llgrad refuses is listed here, with the error class, so that refusals are seen. A program that is listed but not
refused fails its test: take it off the list.
"""

from __future__ import annotations

import functools

import pytest
from cases import Program, all_programs
from checks import check
from harness import LEVELS, MODES, Reference
from sandbox import isolated

from llgrad.synthesis.request import Mode

PROGRAMS = all_programs()
FORWARD, REVERSE = (Mode.FORWARD,), (Mode.COMBINED,)

# name: (error class, modes, levels)
REFUSED: dict[str, tuple[str, tuple[Mode, ...], tuple[int, ...]]] = {}

# The interpreter follows tangents by bytes and refuses arithmetic on the bits of an active float.
NO_DUALS = {"integer_hash_of_float"}


@functools.cache
def reference(suffix: str) -> Reference:
    """All programs of one language, as clang builds them."""
    return Reference([p.path for p in PROGRAMS if p.path.suffix == suffix])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Program) -> None:
    duals = program.name not in NO_DUALS
    found = isolated(check, program, reference(program.path.suffix), duals=duals, seconds=300)
    assert not found.wrong, "\n".join(found.wrong)
    expected = REFUSED.get(program.name)
    places = {(mode, level) for mode in expected[1] for level in expected[2]} if expected else set()
    told = "\n".join(f"{mode} at O{level}: {name}: {text}" for (mode, level), (name, text) in found.refused.items())
    assert set(found.refused) == places, f"refused: {told or 'nothing'}"
    assert {name for name, _ in found.refused.values()} <= {expected[0] if expected else ""}, told


def test_corpus_is_what_it_says() -> None:
    names = {p.name for p in PROGRAMS}
    assert len(names) >= 80
    assert (set(REFUSED) | NO_DUALS) <= names
    assert all(p.outputs and p.inputs for p in PROGRAMS)
    assert all(set(modes) <= set(MODES) and set(levels) <= set(LEVELS) for _, modes, levels in REFUSED.values())
