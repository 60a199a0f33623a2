"""The corpus: every program of `tests/corpus` is differentiated at every level and checked against all we have.

What llgrad refuses is listed here, with the error class, so that refusals are seen. A program that is listed but not
refused fails its test: take it off the list. Each day half of the programs go two of the levels and half the others.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import pytest
from cases import Program, all_programs
from checks import check
from harness import LEVELS, Reference
from sandbox import isolated

from llgrad.autodiff.requests.request import Mode

PROGRAMS = all_programs()
CORPUS = Path(__file__).with_name("corpus")
FORWARD, REVERSE = (Mode.FORWARD,), (Mode.COMBINED,)

BOTH = FORWARD + REVERSE
Refused = dict[tuple[Mode, int], str]


def refused(error: str, modes: tuple[Mode, ...] = BOTH, levels: tuple[int, ...] = LEVELS) -> Refused:
    return {(mode, level): error for mode in modes for level in levels}


REFUSED: dict[str, Refused] = {
    # what the design refuses
    "inline_assembly": refused("NoRuleError"),
    "long_jump": refused("UnsupportedError"),
    # memory that holds a float at one time and something else at another
    "pool_of_cells": refused("UnsupportedError", levels=(0,)),  # which store reaches a load is seen in registers only
}

# What the interpreter refuses to follow, though it is differentiated: bits of active floats as integers, inline
# assembly, functions of the C library that it does not have.
NO_DUALS = {
    "integer_hash_of_float", "inline_assembly_integer", "random_library", "string_to_number", "variadic_inactive",
    "vector_masked",  # clang makes poison of vectors of bits
}  # fmt: skip


@functools.cache
def reference(suffix: str) -> Reference:
    """All programs of one language, as clang builds them."""
    return Reference([p.path for p in PROGRAMS if p.path.suffix == suffix])


def cases() -> Iterator[object]:
    for p in PROGRAMS:
        daily, rest = ((0, 2), (1, 3)) if crc32(p.name.encode()) % 2 else ((1, 3), (0, 2))
        yield pytest.param(p, daily, id=p.name)
        yield pytest.param(p, rest, id=f"{p.name}-rest", marks=pytest.mark.full)


@pytest.mark.parametrize(("program", "levels"), list(cases()))
def test_program(program: Program, levels: Sequence[int]) -> None:
    duals = program.name not in NO_DUALS
    found = isolated(check, program, reference(program.path.suffix), duals=duals, levels=levels, seconds=300)
    assert not found.wrong, "\n".join(found.wrong)
    told = "\n".join(f"{mode} at O{level}: {name}: {text}" for (mode, level), (name, text) in found.refused.items())
    errors = {place: name for place, (name, _) in found.refused.items()}
    expected = {place: name for place, name in REFUSED.get(program.name, {}).items() if place[1] in levels}
    assert errors == expected, f"refused: {told or 'nothing'}"


def test_corpus_is_what_it_says() -> None:
    names = {p.name for p in PROGRAMS}
    assert len(names) >= 80
    assert (set(REFUSED) | NO_DUALS) <= names
    assert all(p.outputs and p.inputs for p in PROGRAMS)


_TWICE = """
import hashlib, sys
from pathlib import Path
from cases import read_program
from harness import compiled, request
from llgrad.autodiff.requests.request import Mode
from llgrad.programs import derivatives, stages
for path in map(Path, sys.argv[1:]):
    program = read_program(path, path.stem)
    text = stages.prepare(compiled([path]), [program.name], 2)
    made = [derivatives.derivative(text, request(program, mode), 2).text for mode in (Mode.FORWARD, Mode.COMBINED)]
    print(path.stem, *(hashlib.sha256(t.encode()).hexdigest() for t in (text, *made)))
"""

CORPUS = Path(__file__).with_name("corpus")


def test_each_process_writes_the_same() -> None:
    """No order comes from a set of objects or of strings: neither hashes nor addresses are seen in what is written."""
    names = ("convolution", "chosen_values", "cubic_spline", "adaptive_simpson")
    paths = [str(CORPUS / f"{name}.c") for name in names]
    said = []
    for seed in ("1", "2"):
        path = os.pathsep.join([str(CORPUS.parents[1] / "src"), str(CORPUS.parent)])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", _TWICE, *paths], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.splitlines())
    assert said[0] == said[1] and len(said[0]) == len(names)
