"""Derivatives of derivatives: towers over programs of the corpus, against finite differences of the tower below."""

from __future__ import annotations

import pytest
from cases import FOLDER, read_program
from sandbox import isolated
from towers import check

from llgrad.synthesis.request import Mode

F, R = Mode.FORWARD, Mode.COMBINED

SECOND = [
    "straight_line", "libm_special", "long_double_accumulator", "noinline_in_loop", "recursion_tree_sum", "linked_list",
    "struct_with_pointers", "global_scratch_call", "chunks_in_recursion", "memmove_overlap", "function_pointer_table",
    "memcpy_array", "free_in_branch", "switch_in_loop", "variable_length_array", "cpp_virtual",
]  # fmt: skip


def program(name: str):  # type: ignore[no-untyped-def]
    return read_program(next(p for p in FOLDER.iterdir() if p.stem == name))


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("inner", [F, R], ids=["over forward", "over reverse"])
def test_second_order(name: str, inner: Mode) -> None:
    assert isolated(check, program(name), 2, [inner]) == []
