"""Random programs: reverse, forward, interpreter and finite differences agree. `random_check` runs any number.

Each program is built at one level, in turn; `full` builds 2,000 others.
"""

from __future__ import annotations

import pytest
from features import FEATURES, HEADER
from generator import Source, generate, reduced
from random_check import BATCH, LEVELS, Checked, check_batch, described, only_refused

COUNT, FULL, FIRST_FULL = 5 * BATCH, 2000, 100_000
MOST_REFUSED = 8  # in a batch: what may be refused, the design says; what is wrong, never passes


def failures(seeds: range, level: int) -> list[str]:
    """What is wrong, a text for each program that fails; more refusals than are normal are a failure too."""
    found = check_batch([generate(seed) for seed in seeds], level)
    wrong = [f"{name}: {described(f)}" for name, f in found.items() if not only_refused(f)]
    refused = [f"{name}: {described(f)}" for name, f in found.items() if isinstance(f, Checked) and f.refused]
    return wrong if len(refused) <= MOST_REFUSED else [*wrong, *refused]


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_random_programs(first: int) -> None:
    wrong = failures(range(first, first + BATCH), LEVELS[first // BATCH % len(LEVELS)])
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
@pytest.mark.parametrize("first", range(FIRST_FULL, FIRST_FULL + FULL, BATCH))
def test_many_random_programs(first: int) -> None:
    wrong = failures(range(first, first + BATCH), LEVELS[first // BATCH % len(LEVELS)])
    assert not wrong, "\n".join(wrong)


def test_a_seed_gives_the_same_program() -> None:
    assert generate(5).text() == generate(5).text() != generate(6).text()


def test_programs_cover_the_language() -> None:
    sources = [generate(seed) for seed in range(600)]
    text = HEADER + "".join(s.text() for s in sources)
    words = ["malloc", "calloc", "free", "memcpy", "memmove", "memset", "goto", "switch", "break", "continue"]
    words += ["NOINLINE", "struct", "float", "long double", "while", "for", "alias: y = x", "alias: y = x + 1", "throw"]
    words += [f.start.split("<")[0] for f in FEATURES]
    assert not [word for word in words if word not in text]
    assert 0.2 < sum(s.cxx for s in sources) / len(sources) < 0.6


def test_reducer_keeps_the_failure_and_little_else() -> None:
    def fails(source: Source) -> bool:
        return "memmove" in source.text()

    source = next(s for s in map(generate, range(100)) if fails(s))
    before = len(source.text())
    small = reduced(source, fails)
    assert fails(small) and len(small.text()) < before
    assert sum(len(body) for f in small.functions for _, body in f.parts) <= 3 + len(small.functions)
