"""The same derivatives with each of llgrad's optimisations switched off: on the corpus, and ADBench's objectives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import DOUBLE, FOLDER, Program, read_program
from full.switches import SWITCHES, switched
from harness import build, compiled, jacobian, prepared, request
from oracle import Matrix, disagreement
from sandbox import isolated

from llgrad.autodiff.requests.request import Mode
from llgrad.programs import derivatives, stages
from llgrad.programs.failure_hook import fail_text

SAMPLE = """
aliasing_reread aliasing_shifted array_of_structs binary_tree bound_from_memory bubble_sort calloc_scratch carried_loads
chosen_values cholesky collected_ends
collected_not collected_rows collected_stencil convolution cubic_spline data_dependent_while do_while
exchanged_buffers explicit_stack
fft_iterative fft_recursive free_in_branch fused_checked fused_constant fused_guarded fused_late_branch fused_not_filled
fused_postponed fused_private fused_sum_returned fused_unseen_sum fused_workspace
handed_on fused_two_sums gaussian_mixture global_scratch_call gram_schmidt heat_two_buffers in_place_stencil
inner_accumulator_reset insertion_sort kalman_filter large_trip_counts linked_list linked_list_in_place
local_array_in_loop local_pointer_array loop_break loop_continue loop_rotating_values lstm_cell lu_pivoting
malloc_in_loop malloc_struct_mixed matrix_multiply matrix_power members_apart members_of_elements memcpy_partial
memmove_overlap multi_exit_loop
nearest_centres
nested_while newton_convergence noinline_allocates noinline_in_loop noinline_returns_pointer noinline_swap
ode_adaptive overwritten_input peeled_clamped peeled_rings pendulum pointer_to_pointer quicksort recursion_tree_sum
replayed replayed_once restrict_inlined row_pointers_argument soft_alignment
steady_not steady_values stored_and_read_back stored_once struct_copy struct_with_pointers switch_in_loop
triangular_nest triple_nest two_dimensional_array variable_length_array zero_trips_inner
"""
LEVEL = 2
BEFORE_LINKING = {"no_purity"}  # switches that change the program itself


def differences(program: Program) -> list[str]:
    """Every switch under which the Jacobian by reverse mode is another one, in words."""
    whole = compiled([program.path])
    expected = derived(whole, program, None)
    found = []
    for name in SWITCHES:
        try:
            got = derived(whole, program, name)
        except Exception as error:
            found.append(f"{program.name} {name}: {error}")
            continue
        found.append(disagreement(f"{program.name} {name}", got, expected, program.precision.levels))
    return [sentence for sentence in found if sentence]


def derived(whole: Any, program: Program, switch: str | None) -> Matrix:
    """The Jacobian by reverse mode, with one optimisation switched off."""
    with switched(switch):
        if switch in BEFORE_LINKING:
            whole = compiled([program.path])
        built = build(whole, [program], LEVEL, finish=3)
    if (error := built.errors.get((program.name, Mode.COMBINED))) is not None:
        raise error
    matrix, _ = isolated(jacobian, built, program, Mode.COMBINED, program.point, seconds=60)
    result: Matrix = matrix
    return result


@pytest.mark.parametrize("name", SAMPLE.split())
def test_program(name: str) -> None:
    found = isolated(differences, read_program(FOLDER / f"{name}.c"), seconds=400)
    assert not found, "\n".join(found)


EFFECT = {
    "no_purity": "libm_hyperbolic", "no_rereading": "dot_product", "no_unrolling": "fused_sum_returned",
    "all_strong_zeros": "matrix_multiply", "keep_everything": "matrix_multiply",
    "other_costs": "matrix_multiply", "no_hoisting": "matrix_multiply", "no_nests": "triple_nest",
    "no_alias_scopes": "matrix_multiply", "no_reading_back": "stored_once", "no_replaying": "replayed",
    "all_ahead": "pendulum",
    "no_handing": "handed_on", "no_searching": "nearest_centres", "no_replays_kept": "replayed_once",
    "no_carrying": "carried_loads", "none_steady": "steady_values",
    "none_exchanged": "exchanged_buffers", "no_choosing": "chosen_values",
    "no_input_scopes": "restrict_inlined", "no_column_scopes": "restrict_inlined",
    "no_shadow_by_distance": "noinline_returns_pointer", "no_paired_frees": "malloc_in_loop",
    "on_the_heap": "allocated_in_steps", "no_own_blocks": "allocated_in_steps", "no_merging": "rows_of_history",
    "split_tests": "layers_then_sum",
    "no_fusion": "fused_map", "sums_seen": "fused_unseen_sum",
    "all_fusion": "dot_product", "no_postponing": "fused_postponed",
    "unguarded": "fused_guarded", "no_workspaces": "fused_workspace", "members_together": "members_apart",
    "no_collecting": "collected_rows",
    "no_gathering": "collected_rows", "no_peeling": "peeled_clamped", "late_release": "released_at_once",
    "all_collecting": "matrix_multiply", "chunked_tape": "matrix_power", "strict_adjoints": "matrix_multiply",
}  # fmt: skip


@pytest.mark.parametrize("name", EFFECT)
def test_switch_does_something(name: str) -> None:
    program = read_program(FOLDER / f"{EFFECT[name]}.c")
    texts = []
    for switch in (None, name):
        with switched(switch):
            text = prepared(compiled([program.path]), [program], LEVEL)
            texts.append(derivatives.derivative(text, request(program, Mode.COMBINED)).text)
    assert shape(texts[0]) != shape(texts[1])


def shape(text: str) -> list[str]:
    """The lines of IR in any order and without names: both may depend on where objects lie in memory."""
    return sorted(re.sub(r"[%@!][-\w.]*", "%", line) for line in text.splitlines())


@pytest.mark.parametrize("name", ["malloc_arena", "unoptimised", "no_huge_pages"])
def test_last_switch_does_something(name: str) -> None:
    program = read_program(FOLDER / "linked_list.c")
    text = prepared(compiled([program.path]), [program], LEVEL)
    made = derivatives.derivative(text, request(program, Mode.COMBINED))
    texts = []
    for switch in (None, name):
        with switched(switch):
            texts.append(stages.finish(made.text, [fail_text()], [made.symbol]).text())
    assert texts[0] != texts[1]


# --- ADBench -------------------------------------------------------------------------------------------------------


def objective(name: str) -> Any:
    """A small random instance of a problem of ADBench."""
    from examples.adbench import problems
    from examples.adbench.instances import random_ba, random_gmm, random_lstm

    match name:
        case "gmm":
            return problems.gmm_problem(random_gmm(3, 4, 9))
        case "ba":
            return problems.ba_problem(random_ba(3, 4, 7))
    return problems.lstm_problem(random_lstm(2, 7, 5))


def rows(name: str, switch: str | None) -> list[Any]:
    """The derivatives of a problem, with one optimisation switched off."""
    with switched(switch):
        problem = objective(name)
        return [np.array(part) for part in problem.rows(problem.derivative())]


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("name", ["gmm", "ba", "lstm"])
def test_adbench(name: str, switch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLGRAD_CACHE", "off")
    expected = isolated(rows, name, None, seconds=200)
    got = isolated(rows, name, switch, seconds=200)
    assert len(got) == len(expected)
    wrong = [disagreement(f"{name} {switch}", g, e, DOUBLE.levels) for g, e in zip(got, expected, strict=True)]
    assert not any(wrong), "\n".join(wrong)
