"""Names that nearly are names of the C interface: two edits make them so.

An edit puts a letter in, takes one out, or changes one. What stands around the name does not count, so that mangled
names of C++ and suffixes are no edits (`_Z17__enzyme_autodifPvz`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llgrad.autodiff.requests.markers import MODES, PREFIX, SIZE, SPLIT, STATEMENTS

CALLS = (*MODES, SIZE, SPLIT, *(f"{PREFIX}{w}" for w in STATEMENTS))
MOST_EDITS = 2


def nearest(name: str, words: Iterable[str] = CALLS) -> str:
    """The word that a part of a name nearly is; "" where it is none, or contains one."""
    close = [(_edits(w, part), w) for w in words for part in _near(w, name)]
    edits, word = min(close, default=(MOST_EDITS + 1, ""))
    return word if 0 < edits <= MOST_EDITS else ""


def _near(word: str, name: str) -> Iterator[str]:
    """The parts of a name that may nearly be the word: of as many pieces as there may be edits, and one more, one piece
    at least is untouched."""
    size = -(-len(word) // (MOST_EDITS + 1))
    for at in range(0, len(word), size):
        found = name.find(word[at : at + size])
        while found >= 0:
            start = found - at
            yield name[max(0, start - MOST_EDITS) : start + len(word) + MOST_EDITS]
            found = name.find(word[at : at + size], found + 1)


def _edits(word: str, name: str) -> int:
    """The least number of letters to put in, take out or change until `word` is a part of `name` (Sellers 1980)."""
    row = [0] * (len(name) + 1)
    for n, letter in enumerate(word, 1):
        above, row = row, [n]
        for k, other in enumerate(name, 1):
            row.append(min(above[k - 1] + (letter != other), above[k] + 1, row[-1] + 1))
    return min(row)
