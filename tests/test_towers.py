"""Derivatives of derivatives: towers over programs of the corpus, against finite differences of the tower below."""

from __future__ import annotations

import pytest
from cases import FOLDER, read_program
from harness import compiled, prepared
from sandbox import isolated
from towers import Tower, check

from llgrad.autodiff.requests.request import Mode

F, R = Mode.FORWARD, Mode.COMBINED

SECOND = [
    "straight_line", "libm_special", "noinline_in_loop", "recursion_tree_sum", "linked_list",
    "struct_with_pointers", "global_scratch_call", "chunks_in_recursion", "memmove_overlap", "function_pointer_table",
    "memcpy_array", "free_in_branch", "switch_in_loop", "variable_length_array", "cpp_virtual",
    "constant_pointer_table", "copied_then_overwritten",
]  # fmt: skip


def program(name: str):  # type: ignore[no-untyped-def]
    return read_program(next(p for p in FOLDER.iterdir() if p.stem == name))


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("inner", [F, R], ids=["over forward", "over reverse"])
def test_second_order(name: str, inner: Mode) -> None:
    assert isolated(check, program(name), 2, [inner]) == []


THIRD = ["noinline_in_loop", "linked_list"]


@pytest.mark.parametrize("name", THIRD)
@pytest.mark.parametrize("inner", [(R, R), (F, R), (R, F), (F, F)], ids=["RR", "FR", "RF", "FF"])
def test_third_order(name: str, inner: tuple[Mode, ...]) -> None:
    assert isolated(check, program(name), 2, inner) == []


@pytest.mark.parametrize("level", [0, 1, 3])
def test_levels(level: int) -> None:
    assert isolated(check, program("memmove_overlap"), level, [R]) == []


def test_generated_code_of_a_tower_is_plain() -> None:
    """What is opaque while derivatives are derived is inlined in the end: the address of a column is an addition."""
    one = program("noinline_in_loop")
    made = Tower(one, prepared(compiled([one.path]), [one], 2), [R, F], 2)
    text = made.text
    assert "@llgrad.tape.column" not in text and "@llgrad.tape.reserve" not in text
