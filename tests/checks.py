"""Everything that must agree about a program, as a list of what does not.

forward = reverse (so ⟨v, J u⟩ = ⟨Jᵀ v, u⟩ for all u and v), every level = level 0, forward = dual numbers, all = finite
differences of the program that clang built at -O0; and the primal results of the derivatives = that program's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from cases import Program
from harness import LEVELS, MODES, Built, Reference, build, compiled, interpreted, jacobian, machine, prepared
from oracle import Matrix, directional, disagreement, finite_differences
from sandbox import isolated

from llgrad.autodiff.requests.request import Mode
from llgrad.errors import LlgradError


@dataclass
class Findings:
    """`wrong`: what disagrees, in words. `refused`: (mode, level) → class and text of the error at compile time."""

    wrong: list[str] = field(default_factory=list)
    refused: dict[tuple[Mode, int], tuple[str, str]] = field(default_factory=dict)


def check(program: Program, reference: Reference, *, duals: bool = True, levels: Sequence[int] = LEVELS) -> Findings:
    """All checks of one program, at every level."""
    found = Findings()
    whole = compiled([program.path])
    built = [build(whole, [program], level) for level in levels]
    judge(program, built, reference, found)
    if duals:
        compare_with_duals(program, prepared(whole, [program], 0), built, found)
    return found


def judge(
    program: Program, built: Sequence[Built], reference: Reference, found: Findings, *,
    differences: bool = True, apart: bool = True,
) -> None:  # fmt: skip
    """Compare the derivatives among each other and with finite differences; run each `apart`, in a child of its own."""
    run_derivative = partial(isolated, jacobian, seconds=60) if apart else jacobian
    run, precision = reference.function(program), program.precision
    truth = finite_differences(run, program.point, precision.step)
    results = run(program.point)
    values, rounded = results[: len(program.leaves)], 2 * precision.unit / precision.step * np.abs(results)[:, None]
    first: Matrix | None = None
    for b in built:
        for mode in MODES:
            if (error := b.errors.get((program.name, mode))) is not None:
                found.refused[mode, b.level] = type(error).__name__, _told(error)
                continue
            title = f"{program.name} {mode} at O{b.level}"
            try:
                matrix, primal = run_derivative(b, program, mode, program.point)
            except Exception as crash:
                found.wrong.append(f"{title}: {crash}")
                continue
            if program.differentiable and differences:
                tolerance = max(program.tolerance, precision.differences)
                size = np.abs(truth) + rounded / max(tolerance, precision.unit)
                _note(found, disagreement(f"{title} against finite differences", matrix, truth, tolerance, size))
            first = matrix if first is None else first
            _note(found, disagreement(f"{title} against the first derivative", matrix, first, precision.levels))
            _note(found, disagreement(f"{title}, primal results", primal[None, :], values[None, :], precision.rounding))


def compare_with_duals(program: Program, text: str, built: Sequence[Built], found: Findings) -> None:
    """Forward mode of the first level against the interpreter, in two directions."""
    compiled_forward = [b for b in built if (program.name, Mode.FORWARD) not in b.errors]
    if not compiled_forward:
        return
    try:
        matrix, _ = isolated(jacobian, compiled_forward[0], program, Mode.FORWARD, program.point, seconds=60)
    except Exception:
        return  # told already
    for seed in (1, 2):
        u = np.random.default_rng(seed).uniform(-1, 1, program.inputs)
        _, tangents = interpreted(machine(text), program, program.point, u)
        what = f"{program.name} forward against dual numbers, direction {seed}"
        _note(found, directional(what, matrix, u, tangents, program.precision.duals))


def _note(found: Findings, sentence: str) -> None:
    found.wrong += [sentence] if sentence else []


def _told(error: Exception) -> str:
    notes = "" if isinstance(error, LlgradError) else "\n".join(getattr(error, "__notes__", []))
    return f"{error}\n{notes}".strip()
