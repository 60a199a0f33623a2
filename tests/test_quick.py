"""A first answer (`make quick`): thirty programs, through every mode, at one level, in a few modules.

What is tested here is tested by `test_programs` as well, at all levels and each program in a process of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import FOLDER, read_program
from checks import Findings, compare_with_duals, judge
from harness import Reference, build, compiled, prepared

GROUPS = {
    "arithmetic": (
        "black_scholes",
        "switch_branches",
        "complex_arithmetic",
        "do_while",
        "dot_product",
        "float_double_casts",
    ),
    "loops": ("cholesky", "convolution", "conjugate_gradient", "cubic_spline", "data_dependent_while", "carried_loads"),
    "memory": (
        "array_of_structs",
        "aliasing_shifted",
        "binary_tree",
        "calloc_scratch",
        "double_through_int64",
        "dead_stores",
    ),
    "calls": (
        "callback_inlined",
        "closure_struct",
        "chunks_in_recursion",
        "constant_table",
        "adaptive_simpson",
        "boolean_values",
    ),
    "C++": ("cpp_vector", "cpp_virtual", "cpp_class_state", "cpp_template", "cpp_sort", "cpp_unique_pointer"),
}


def path_of(name: str, suffix: str) -> Path:
    return FOLDER / f"{name}{suffix}"


@pytest.mark.parametrize("group", GROUPS)
def test_derivatives(group: str) -> None:
    suffix = ".cpp" if group == "C++" else ".c"
    programs = [read_program(path_of(name, suffix)) for name in GROUPS[group]]
    paths = [p.path for p in programs]
    reference, whole = Reference(paths), compiled(paths)
    built, primal = build(whole, programs, 2), prepared(whole, programs, 0)
    found = Findings()
    for program in programs:
        judge(program, [built], reference, found, apart=False)
        compare_with_duals(program, primal, [built], found)
    assert not found.wrong, "\n".join(found.wrong)
    assert not found.refused


def test_there_are_thirty_programs() -> None:
    names = [n for group in GROUPS.values() for n in group]
    assert len(set(names)) == 30
