"""llgrad's own optimisations, switched off one by one: what a derivative is must not depend on them.

Each switch replaces a function of the synthesis for as long as `switched` lasts. They reach into the implementation on
purpose: a name that is gone fails here, and not silently.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pytest
from harness import without_huge_pages
from msgspec.structs import replace

from llgrad.analysis.memory.clobbers import Changes
from llgrad.analysis.memory.double_buffers import Exchanged
from llgrad.analysis.memory.mod_ref import Access
from llgrad.autodiff.emit import alias_scopes, tape
from llgrad.autodiff.facts.analysis_results import Facts, LoopFacts
from llgrad.autodiff.fusion import adjoint_columns, fusion, privatization
from llgrad.autodiff.fusion.deferred_adjoints import Postponed, postponed
from llgrad.autodiff.fusion.precompute import recurrences
from llgrad.autodiff.plan import planner
from llgrad.autodiff.plan.plan import show
from llgrad.autodiff.plan.planner import Planner
from llgrad.autodiff.recipes import early_frees, tape_allocations
from llgrad.autodiff.recipes.loop_invariants import Steady
from llgrad.autodiff.recipes.min_cut import Choice, minimum_cut
from llgrad.autodiff.recipes.speculated import Unused
from llgrad.autodiff.sweeps import adjoint_columns_writer, adjoints, precompute_writer, primal_copy
from llgrad.autodiff.sweeps.reverse_sweep import ReverseSweep
from llgrad.frontends.c import clang
from llgrad.programs import derivatives, noalias_versions, resolving, stages
from llgrad.transforms.loops import chosen_iteration, peel
from llgrad.transforms.optimise import before_derivative

Patch = pytest.MonkeyPatch


def no_purity(patch: Patch) -> None:
    """Functions of libm write errno: LLVM merges no calls of them, and moves none."""
    patch.setattr(derivatives, "pure_libm", lambda work: False)
    patch.setattr(clang, "COMMON_FLAGS", tuple(f.replace("-fno-math", "-fmath") for f in clang.COMMON_FLAGS))


def keep_everything(patch: Patch) -> None:
    """No minimum cut: all that the reverse sweep asks for is kept, nothing is computed again."""

    def everything(nodes: Mapping[Any, Any], wanted: Sequence[Any]) -> tuple[set[Hashable], set[Hashable]]:
        return set(wanted), set()

    patch.setattr(planner, "minimum_cut", everything)


def other_costs(patch: Patch) -> None:
    """Arbitrary costs: any cut is right, whatever it costs."""

    def arbitrary(nodes: Mapping[Any, Choice], wanted: Sequence[Any]) -> tuple[set[Any], set[Any]]:
        def one(key: Any, choice: Choice) -> Choice:
            number = zlib.crc32(show(key).encode())
            recompute = None if choice.recompute is None else 1 + number % 89
            return replace(choice, keep=1 + number % 97, recompute=recompute)

        return minimum_cut({key: one(key, choice) for key, choice in nodes.items()}, wanted)

    patch.setattr(planner, "minimum_cut", arbitrary)


def no_rereading(patch: Patch) -> None:
    """Memory may always have changed: what was loaded is kept."""
    patch.setattr(Facts, "overwritten", lambda *_: True)


def members_together(patch: Patch) -> None:
    """What is written at a variable index may be any member of any element."""
    may_write = Changes._may_write

    def anywhere(a: Access) -> Access:
        return replace(a, places=frozenset((o, at if isinstance(at, int) else None) for o, at in a.places))

    patch.setattr(Changes, "_may_write", lambda self, write, read: may_write(self, anywhere(write), anywhere(read)))


def no_workspaces(patch: Patch) -> None:
    """Memory that the caller brings is never scratch."""
    patch.setattr(fusion, "workspaces", lambda *_: {})


def unguarded(patch: Patch) -> None:
    """Memory is filled only where whatever is read comes after the loop that fills it, on all ways."""
    patch.setattr(privatization._Fills, "_ways", lambda *_: {})


def no_unrolling(patch: Patch) -> None:
    """Short loops stay loops."""
    patch.setattr(before_derivative, "mark_short_loops", lambda *_: "")


def all_strong_zeros(patch: Patch) -> None:
    """Every zero adjoint stays zero, whatever the partial is."""
    patch.setattr(planner, "unused", lambda facts, flow, effects: Unused(frozenset(effects)))


def no_hoisting(patch: Patch) -> None:
    """Forward values are looked up where they are asked for, never before the loop."""
    find = ReverseSweep._find_entries

    def no_entries(self: ReverseSweep, visited: Any) -> None:
        find(self, visited)
        self.single_entry = set()

    patch.setattr(ReverseSweep, "_find_entries", no_entries)


def no_nests(patch: Patch) -> None:
    """Every loop that keeps something has a tape block of its own each time it is entered."""
    patch.setattr(Planner, "_root", lambda self, loop: loop)


def no_alias_scopes(patch: Patch) -> None:
    """Nothing is said about primal, shadow and tape memory being apart."""
    patch.setattr(alias_scopes, "_make", lambda module: dict.fromkeys(alias_scopes._NAMES, {}))


def no_input_scopes(patch: Patch) -> None:
    """What the input says of `restrict` parameters that were inlined is forgotten."""
    patch.setattr(primal_copy, "_KEPT_METADATA", frozenset({"tbaa"}))


def no_column_scopes(patch: Patch) -> None:
    """Nothing is said about the columns of a tape block being apart."""
    patch.setattr(alias_scopes, "columns", lambda module, b, keys: {})


def no_shadow_by_distance(patch: Patch) -> None:
    """Shadow pointers are kept or computed like any other pointer."""
    patch.setattr(Facts, "argument_of", lambda self, v: None)


def no_fusion(patch: Patch) -> None:
    """Every loop runs in the forward sweep, and leaves a tape."""
    patch.setattr(Planner, "_worth_fusing", lambda self, plan: [])


def all_fusion(patch: Patch) -> None:
    """All loops are fused that can be, whether that gains anything or not."""
    patch.setattr(Planner, "_worth_fusing", lambda self, plan: [x for x in plan.loops if x.parent is None])


def sums_seen(patch: Patch) -> None:
    """Every sum is computed, whether anybody looks at it or not."""
    patch.setattr(Planner, "_is_looked_at", lambda self, loop: True)


def no_postponing(patch: Patch) -> None:
    """Loops whose values adjoints after them need are not fused."""

    def nothing(*arguments: Any) -> Postponed | None:
        found = postponed(*arguments)
        return found if found is not None and not found.parts else None

    patch.setattr(fusion, "postponed", nothing)


def no_collecting(patch: Patch) -> None:
    """The adjoint of a load is added to shadow memory at once."""
    patch.setattr(Planner, "_worth_collecting", lambda self, plan: [])


def all_collecting(patch: Patch) -> None:
    """Adjoints are collected in every loop where they may, whether that gains anything or not, in short strips."""
    patch.setattr(adjoint_columns, "pays", lambda *_: True)
    patch.setattr(adjoint_columns_writer, "STRIP", 4)


def no_reading_back(patch: Patch) -> None:
    """What the program has stored itself is kept or computed again like anything else."""
    patch.setattr(planner, "stored", lambda *_: None)


def no_replaying(patch: Patch) -> None:
    """Recurrences are kept like anything else."""
    patch.setattr(planner, "recurrence", lambda *_: None)


def no_replays_kept(patch: Patch) -> None:
    """Recurrences are run each time their loop is entered, though nothing has changed."""
    patch.setattr(planner, "lasting", lambda effects, loop, *_: loop)


def no_searching(patch: Patch) -> None:
    """A search takes part in the derivative with all its candidates."""
    patch.setattr(chosen_iteration, "_search", lambda *_: None)


def no_handing(patch: Patch) -> None:
    """What iterations hand on is kept by both."""
    patch.setattr(planner, "handed_on", lambda *_: {})


def none_steady(patch: Patch) -> None:
    """Columns have elements of their own for the iterations of all loops around."""
    patch.setattr(Steady, "around", lambda self, v: frozenset())


def none_exchanged(patch: Patch) -> None:
    """Buffers that a loop exchanges may be the same in an iteration, too."""
    patch.setattr(Exchanged, "apart", lambda self, within, a, b: False)


def no_carrying(patch: Patch) -> None:
    """Loads that are carried to the next iteration are kept like anything else."""
    patch.setattr(planner, "carried", lambda *_: None)


def no_choosing(patch: Patch) -> None:
    """Values that a branch has chosen are kept."""
    patch.setattr(planner, "chosen_by", lambda *_: None)


def all_ahead(patch: Patch) -> None:
    """Recurrences compute ahead what they need of libm, though it is not vectorised, in short strips."""

    def asked(facts: Facts, *rest: Any) -> Any:
        facts.vector_math = True
        return recurrences(facts, *rest)

    patch.setattr(planner, "recurrences", asked)
    patch.setattr(precompute_writer, "STRIP", 4)


def no_peeling(patch: Patch) -> None:
    """First and last iterations stay in their loops."""
    patch.setattr(peel, "has_borders", lambda work: False)


def no_gathering(patch: Patch) -> None:
    """Every load has a column of its own, which is added to shadow memory by a loop of its own."""

    def alone(facts: Any, flow: Any, loop: Any, loads: Sequence[Any]) -> tuple[adjoint_columns.Collected, ...]:
        return tuple(adjoint_columns.Collected(i, i, i, 0, None) for i in loads)

    patch.setattr(adjoint_columns, "_grouped", alone)


def late_release(patch: Patch) -> None:
    """Whatever the primal releases may be read again: nothing is released by the forward sweep."""
    patch.setattr(early_frees, "_read_back", lambda facts: frozenset(facts.memory.objects))


def on_the_heap(patch: Patch) -> None:
    """What the program allocates, and its shadows, is allocated by the heap."""
    patch.setattr(tape_allocations, "_found", lambda facts: tape_allocations.OnTape())


def no_own_blocks(patch: Patch) -> None:
    """What the program allocates on the tape is an address in the arena, which LLVM takes for any other."""
    patch.setattr(tape, "own", lambda call: call)


def no_merging(patch: Patch) -> None:
    """What LLVM computes on several ways alike stays a choice."""
    for passes in ("NORMAL", "PREPARE"):
        patch.setattr(stages, passes, tuple(p for p in getattr(stages, passes) if p.name != "equal-ways"))


def split_tests(patch: Patch) -> None:
    """LLVM may test at several places whether a loop is done."""
    patch.setattr(before_derivative, "has_split_tests", lambda module: False)


def no_paired_frees(patch: Patch) -> None:
    """All that the primal releases is released at the end."""
    on_the_heap(patch)
    patch.setattr(Planner, "_paired_frees", lambda self, effects: {})


def chunked_tape(patch: Patch) -> None:
    """No iteration count is known before the loop runs: every loop keeps its values in chunks."""
    known = Facts.loop

    def unknown(self: Facts, function: Any, loop: Any) -> LoopFacts:
        return LoopFacts(None, None, known(self, function, loop).inductions)

    patch.setattr(Facts, "loop", unknown)


def no_huge_pages(patch: Patch) -> None:
    """The system is never asked for large pages."""
    without_huge_pages(patch)


def malloc_arena(patch: Patch) -> None:
    """Every block of the tape is a malloc."""
    patch.setenv("LLGRAD_ARENA", "malloc")


def strict_adjoints(patch: Patch) -> None:
    """LLVM must not reassociate or contract adjoints."""
    patch.setattr(adjoints, "ADJOINT_FLAGS", frozenset())


def one_version(patch: Patch) -> None:
    """Programs ask for the derivative for any pointers, and test nothing as they run."""
    patch.setattr(resolving, "dispatched", derivatives.derivative)


def no_promise(patch: Patch) -> None:
    """LLVM is not told what Python has seen: that buffers are apart."""
    patch.setattr(noalias_versions, "promised", lambda text, *_: text)


def unoptimised(patch: Patch) -> None:
    """LLVM leaves the derivative as llgrad wrote it."""
    whole = stages.finish

    def plain(*arguments: Any, **options: Any) -> Any:
        return whole(*arguments, **{**options, "level": 0, "vectorize": False})

    patch.setattr(stages, "finish", plain)


SWITCHES: dict[str, Callable[[Patch], None]] = {
    f.__name__: f
    for f in (
        no_purity, keep_everything, other_costs, no_rereading, members_together, no_unrolling, all_strong_zeros,
        no_hoisting, no_nests, no_alias_scopes, no_input_scopes, no_column_scopes, no_shadow_by_distance, no_fusion,
        all_fusion, sums_seen, no_postponing, no_workspaces, unguarded, no_collecting, all_collecting,
        no_reading_back, no_replaying, no_replays_kept, no_searching, no_handing, none_steady, none_exchanged,
        no_carrying, no_choosing, all_ahead, no_peeling, no_gathering, late_release, on_the_heap, no_own_blocks,
        no_merging, split_tests,
        no_paired_frees, chunked_tape, malloc_arena, strict_adjoints, one_version, no_promise, unoptimised,
        no_huge_pages,
    )  # fmt: skip
}


class switched:
    """`with switched("no_nests"):` … with that optimisation off; `with switched(None):` … as it is."""

    def __init__(self, name: str | None) -> None:
        self.name, self.patch = name, pytest.MonkeyPatch()

    def __enter__(self) -> None:
        if self.name is not None:
            SWITCHES[self.name](self.patch)

    def __exit__(self, *_: object) -> None:
        self.patch.undo()
