"""Which loops are fused: those of which it is proven that they may be, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deriving import derivation, prepared, request
from msgspec.structs import replace

import llgrad
from llgrad.analysis.cfg.flow import Loop
from llgrad.autodiff.derivation import Derivation
from llgrad.autodiff.fusion import fusion
from llgrad.autodiff.fusion.fusion import Fusion
from llgrad.autodiff.plan import planner
from llgrad.autodiff.plan.planner import Planner
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import ForeignError
from llgrad.ir.parse import parse

PROGRAMS = Path(__file__).parents[1] / "corpus"

FUSED = {"fused_map": 1, "fused_pairs": 2, "fused_sum_returned": 1, "fused_in_place": 1, "fused_pointers_walk": 1,
         "fused_late_branch": 2, "fused_overwritten_later": 1,
         "fused_private": 1, "fused_unrolled": 1, "fused_postponed": 2,
         "fused_checked": 2, "fused_constant": 1, "fused_guarded": 2, "fused_workspace": 2,
         "fused_unseen_sum": 2}  # fmt: skip
LETTERS = {
    "fused_map": "dcdc", "fused_pairs": "dccddc", "fused_sum_returned": "dcdo", "fused_in_place": "dcc",
    "fused_pointers_walk": "dcdo", "fused_late_branch": "dccddo",
    "fused_overlapping_writes": "dcdc", "fused_last_one_counts": "dcdc", "fused_sum_nonlinear": "dco",
    "fused_sum_used_inside": "dcdo", "fused_two_sums": "dcdo", "fused_overwritten_later": "dcdc",
    "fused_read_later": "dcdo", "fused_written_later": "dcdc", "fused_reads_the_next": "dcc", "fused_aliases": "dcdc",
    "fused_private": "dccdo", "fused_not_filled": "dccdo", "fused_unrolled": "dcco",
    "fused_postponed": "ddcccdo", "fused_not_postponed": "ddco", "fused_product_of_sums": "ddco",
    "fused_checked": "dcccdo", "fused_constant": "dcdo", "fused_not_checked": "dccco",
    "fused_breaks": "dcdo", "fused_cleared_at_once": "dcdo", "fused_left_behind": "dcdo", "fused_histogram": "dccdc",
    "fused_guarded": "ddcccco", "fused_not_guarded": "ddcccco",
    "fused_workspace": "ddddddccc", "fused_not_workspace": "dddddccco",
    "fused_unseen_sum": "dco",
}  # fmt: skip


@pytest.mark.parametrize("name", LETTERS)
def test_fused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Planner, "_worth_fusing", lambda self, plan: [x for x in plan.loops if x.parent is None])
    source = (PROGRAMS / f"{name}.c").read_text().replace(f" {name}(", " f(")
    made = derivation(prepared(source, level=2), Mode.COMBINED, LETTERS[name]).plan("f", False)
    assert len(made.fused) == FUSED.get(name, 0)
    assert not any(slot.loop in made.fused for slot in made.kept.values())


def test_all_are_looked_at() -> None:
    assert sorted(p.stem for p in PROGRAMS.glob("fused_*.c")) == sorted(LETTERS)


@pytest.mark.parametrize(("returned", "count"), [(False, 1), (True, 0)])
def test_sums_that_are_returned_are_computed_as_before(returned: bool, count: int) -> None:
    source = (PROGRAMS / "fused_unseen_sum.c").read_text().replace(" fused_unseen_sum(", " f(")
    asked = replace(request(Mode.COMBINED, "dco"), primal_result=returned)
    made = Derivation(parse(prepared(source, level=2)), asked).plan("f", False)
    assert (len(made.fused), len(made.scattered)) == (count, 1)


def test_what_is_thrown_in_a_fused_loop_is_thrown_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Fusion] = []

    def seen(*arguments: Any) -> dict[Loop, Fusion]:
        found = fusion.fused(*arguments)
        made.extend(found.values())
        return found

    monkeypatch.setattr(planner, "fused", seen)
    monkeypatch.setenv("LLGRAD_CACHE", "off")
    function = llgrad.load(PROGRAMS / "cpp_fused_vector.cpp").cpp_fused_vector
    gradient = llgrad.grad(function, wrt="x")
    x, index = np.linspace(-1, 1, 18), np.array([2, 0, 5], np.int32)
    before = gradient(x, index, 3, 6)
    assert [f.checks is not None for f in made] == [True]
    with pytest.raises(ForeignError):
        gradient(x, np.array([2, 6, 5], np.int32), 3, 6)
    assert np.array_equal(gradient(x, index, 3, 6), before)
