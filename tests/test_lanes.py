"""A derivative of width N is N derivatives of width 1, over one primal sweep."""

from __future__ import annotations

import numpy as np
import pytest
from cases import FOLDER, Program, read_program
from harness import MODES, compiled, prepared
from sandbox import isolated
from wide import jacobian_in_lanes

from llgrad.autodiff.requests.request import Mode

PROGRAMS = (
    "alloca_in_loop.c", "binary_tree.c", "chunks_in_recursion.c", "chunks_nested.c", "cpp_virtual.cpp",
    "fft_recursive.c", "function_pointer_table.c", "global_array_moved.c", "global_scratch_call.c", "linked_list.c",
    "libm_sincos.c", "malloc_in_loop.c", "matrix_library.c", "memcpy_array.c", "memmove_overlap.c",
    "noinline_returns_pointer.c", "row_pointers_argument.c", "struct_with_pointers.c", "triangular_nest.c",
    "vector_extension.c", "variable_length_array.c",
)  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_three_lanes_are_three_derivatives(name: str) -> None:
    program = read_program(FOLDER / name)
    text = prepared(compiled([program.path]), [program], 1)
    for mode in MODES:
        isolated(same, text, program, mode)


def same(text: str, program: Program, mode: Mode) -> None:
    one, primal = jacobian_in_lanes(text, program, mode, 1)
    three, again = jacobian_in_lanes(text, program, mode, 3)
    np.testing.assert_allclose(three, one, rtol=1e-15, atol=1e-18)
    np.testing.assert_array_equal(again, primal)
    assert np.isfinite(one).all() and one.any()
