"""Random programs: reverse, forward, interpreter and finite differences agree. `random_check` runs any number.

Each program is built at one level, in turn; `full` builds 2,000 others at all four.
"""

from __future__ import annotations

import pytest
from checks import Findings
from generator import HEADER, Source, generate, reduced
from random_check import check_batch, described

CHUNK, COUNT, FULL = 10, 200, 2000
FIRST_FULL = 100_000
LEVELS = (2, 0, 1, 3)

# The refusal that any program may meet: where two indices of one address vary, LLVM merges the steps, and what lies at
# them (an int here, a double there) cannot be told apart any more.
TOLERATED = "are used both as a float and as something else"
MOST_REFUSED = 2  # in a chunk


def failures(seeds: range, levels: tuple[int, ...]) -> list[str]:
    """What is wrong, a text for each program that fails; more refusals than are normal are a failure too."""
    found = check_batch([generate(seed) for seed in seeds], levels)
    refused = [name for name, f in found.items() if _only_refused(f)]
    wrong = [f"{name}: {told}" for name, f in found.items() if name not in refused and (told := described(f))]
    return wrong if len(refused) <= MOST_REFUSED else [*wrong, f"refused: {', '.join(refused)}"]


def _only_refused(found: Findings | str) -> bool:
    """Does every error say what is tolerated, and is nothing wrong?"""
    if isinstance(found, str) or found.wrong or not found.refused:
        return False
    return all(name == "KindError" and TOLERATED in text for name, text in found.refused.values())


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_random_programs(first: int) -> None:
    wrong = failures(range(first, first + CHUNK), (LEVELS[first // CHUNK % len(LEVELS)],))
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
@pytest.mark.parametrize("first", range(FIRST_FULL, FIRST_FULL + FULL, CHUNK))
def test_many_random_programs(first: int) -> None:
    wrong = failures(range(first, first + CHUNK), LEVELS)
    assert not wrong, "\n".join(wrong)


def test_a_seed_gives_the_same_program() -> None:
    assert generate(5).text() == generate(5).text() != generate(6).text()


def test_programs_cover_the_language() -> None:
    text = HEADER + "".join(generate(seed).text() for seed in range(COUNT))
    words = ["malloc", "calloc", "free", "memcpy", "memmove", "memset", "goto", "switch", "break", "continue"]
    words += ["noinline", "struct", "float", "long double", "while", "for", "alias: y = x", "alias: y = x + 1"]
    assert not [word for word in words if word not in text]


def test_reducer_keeps_the_failure_and_little_else() -> None:
    def fails(source: Source) -> bool:
        return "memmove" in source.text()

    source = next(s for s in map(generate, range(100)) if fails(s))
    before = len(source.text())
    small = reduced(source, fails)
    assert fails(small) and len(small.text()) < before
    assert sum(len(body) for f in small.functions for _, body in f.parts) <= 3 + 1 + len(small.functions) - 1
