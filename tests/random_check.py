"""Checks random programs in batches: one compilation and one module for many of them.

    python tests/random_check.py --seed 1000 --count 200 [--level 0 --level 2]     what fails is reduced and printed
    python tests/random_check.py --seed 7 --print
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cases import Program, read_program
from checks import SINGLE, Findings, judge
from generator import HEADER, Source, generate, reduced
from harness import Built, Reference, build, compiled, interpreted, jacobian, prepared
from oracle import directional, smoothness
from sandbox import Crash, isolated

from llgrad.synthesis.request import Mode

BATCH = 10
KINK, SINGLE_KINK = 1e-7, 1e-3  # finite differences that change this much with the step lie near a kink
DUALS, SINGLE_DUALS = 1e-9, 5e-4


def written(sources: Sequence[Source], folder: Path) -> list[Program]:
    """The programs, in one file."""
    path = folder / "batch.c"
    path.write_text(HEADER + "\n" + "\n".join(s.text() for s in sources))
    return [read_program(path, s.name) for s in sources]


def check_batch(sources: Sequence[Source], levels: Sequence[int]) -> dict[str, Findings | str]:
    """What is wrong with each program, or how checking it crashed."""
    with tempfile.TemporaryDirectory() as folder:
        programs = written(sources, Path(folder))
        reference = Reference([programs[0].path])
        whole = compiled([programs[0].path])
    return {p.name: _safely(p, reference, whole, levels) for p in programs}


def _safely(program: Program, reference: Reference, whole: Any, levels: Sequence[int]) -> Findings | str:
    try:
        found: Findings = isolated(_check, program, reference, whole, levels, seconds=100)
        return found
    except Crash as crash:
        return f"crash: {str(crash)[-1500:]}"


def _check(program: Program, reference: Reference, whole: Any, levels: Sequence[int]) -> Findings:
    """Derivatives among each other, with finite differences where those can be trusted, and with dual numbers."""
    found = Findings()
    built = [build(whole, [program], level) for level in levels]
    run = reference.function(program)
    rough = smoothness(run, program.point) if program.precise else smoothness(run, program.point, SINGLE["step"])
    trusted = rough < (KINK if program.precise else SINGLE_KINK)
    judge(program, built, reference, found, differences=trusted, apart=False)
    _compare_with_duals(program, built, prepared(whole, [program], 0), found)
    return found


def _compare_with_duals(program: Program, built: Sequence[Built], text: str, found: Findings) -> None:
    usable = [b for b in built if (program.name, Mode.FORWARD) not in b.errors]
    if not usable or found.wrong:
        return
    matrix, _ = jacobian(usable[0], program, Mode.FORWARD, program.point)
    u = np.random.default_rng(3).uniform(-1, 1, program.inputs)
    _, tangents = interpreted(text, program, program.point, u)
    tolerance = DUALS if program.precise else SINGLE_DUALS
    what = f"{program.name} forward against dual numbers"
    sentence = directional(what, matrix, u, tangents, tolerance)
    found.wrong += [sentence] if sentence else []


def failure(source: Source, levels: Sequence[int]) -> str:
    """What is wrong with one program, in words; empty if nothing."""
    try:
        return described(check_batch([source], levels)[source.name])
    except subprocess.CalledProcessError:
        return "the compiler rejects it"


def described(found: Findings | str) -> str:
    if isinstance(found, str):
        return found
    refused = [f"{mode} at O{level}: {name}: {text}" for (mode, level), (name, text) in found.refused.items()]
    return "\n".join([*found.wrong, *refused])


def signature(text: str) -> str:
    """The kind of a failure: the reducer must not wander from one to another."""
    first = text.split("\n")[0]
    for word in ("SIGSEGV", "SIGABRT", "did not end", "llgrad_fail", "against", "primal results", "crash"):
        if word in first:
            return word
    return first.split(": ", 2)[1] if ": " in first else first


def minimal(source: Source, levels: Sequence[int]) -> Source:
    """A smaller program that fails in the same way."""
    kind = signature(failure(source, levels))
    return reduced(source, lambda s: signature(failure(s, levels)) == kind)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--level", type=int, action="append")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--keep", action="store_true", help="do not reduce what fails")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.count)
    if given.print:
        print(HEADER + "\n".join(generate(seed).text() for seed in seeds))
        return 0
    levels, failed = given.level or [0, 2], 0
    for start in range(0, given.count, BATCH):
        failed += _report([generate(seed) for seed in seeds[start : start + BATCH]], levels, reduce=not given.keep)
    print(f"{given.count} programs, {failed} failed")
    return int(failed > 0)


def _report(sources: Sequence[Source], levels: Sequence[int], *, reduce: bool) -> int:
    findings = {name: described(f) for name, f in check_batch(sources, levels).items()}
    bad = [s for s in sources if findings[s.name]]
    for source in bad:
        print(f"\n### {source.name}\n{findings[source.name][:1500]}", flush=True)
        if reduce:
            print(minimal(source, levels).text(), flush=True)
    return len(bad)


if __name__ == "__main__":
    sys.exit(main())
