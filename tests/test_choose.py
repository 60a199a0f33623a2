"""The choice of the tests of every day."""

from __future__ import annotations

from choose import Measured, chosen, slow_names, slow_text


def measured(name: str, seconds: float, lines: str) -> Measured:
    return Measured(name, seconds, frozenset(lines))


def test_every_line_is_reached_every_day() -> None:
    tests = [measured("f[a]", 1, "abc"), measured("f[b]", 2, "bcd"), measured("f[c]", 3, "acd"), measured("g", 50, "e")]
    assert chosen(tests) == {"f[a]", "f[b]", "g"}


def test_what_reaches_nothing_new_is_slow() -> None:
    tests = [measured("f[a]", 1, "abc"), measured("f[b]", 2, "bc"), measured("g", 50, "ac")]
    assert chosen(tests) == {"f[a]"}


def test_a_cheap_test_is_one_of_every_day() -> None:
    assert chosen([measured("f[a]", 0.1, "a"), measured("f[b]", 0.15, "a")]) == {"f[a]", "f[b]"}


def test_the_most_lines_a_second_come_first() -> None:
    tests = [
        measured("f[a]", 1, "a"),
        measured("f[b]", 10, "bcde"),
        measured("f[c]", 4, "bcd"),
        measured("f[d]", 4, "e"),
    ]
    assert chosen(tests) == {"f[a]", "f[c]", "f[d]"}


def test_the_list_is_read_as_it_was_written() -> None:
    names = {"a.py::f", "a.py::g[x]", "a.py::g[y z]", "b.py::K::h[[1, 2]-0]"}
    assert slow_names(slow_text(names)) == names
