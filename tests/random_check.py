"""Checks random programs in batches: one compilation and one module for many of them.

    python tests/random_check.py --seed 1000 --count 200       what fails is printed with its source
    python tests/random_check.py --seed 1000 --reduce          … and made as small as possible
    python tests/random_check.py --seed 7 --print
    python tests/random_check.py --count 100 --enzyme PATH     compares with another tool, too (see `rival`)

Each program: forward and reverse against finite differences, each other and dual numbers of the same level; some in
lanes, some by split derivatives read three times, some with runtime activity or strong zeros, some differentiated
twice. A batch is built at one level; where it crashes, halves of it are checked, down to the program that does it.
Under MALLOC_PERTURB_=165 GLIBC_TUNABLES=glibc.malloc.tcache_count=0 glibc overwrites what is released.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rival
import towers
from apart import Apart, sweeps
from cases import DOUBLE, HALF, SINGLE, Program, read_program
from checks import Findings, judge
from features import HEADER, HEADER_CXX
from generator import Source, generate, reduced
from harness import Built, Reference, _engine, _entry, compiled, interpreted, jacobian, machine, prepared, request
from interpreter import Machine
from msgspec.structs import replace
from oracle import Matrix, Vector, directional, disagreement, smoothness
from sandbox import Crash, isolated
from wide import WideCall, all_lanes

from llgrad.autodiff.derivation import Derivation
from llgrad.autodiff.facts.analysis_results import Analysed
from llgrad.autodiff.requests.request import Mode, Request
from llgrad.errors import LlgradError, UnsupportedError, VerifyError
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Function, GlobalValue, GlobalVariable
from llgrad.ir.write import write
from llgrad.programs import derivatives
from llgrad.rules import library
from llgrad.transforms.optimise import normal_form

BATCH = 48
LEVELS = (2, 1, 3, 0)
_LACKING = "the interpreter has no function"
FINISH = {0: 0, 1: 1, 2: 1, 3: 2}  # level of the derivatives' own optimisation
DUALS = {DOUBLE: 1e-9, SINGLE: 5e-4, HALF: 5e-2}  # of dual numbers: a sum over all inputs


@dataclass(frozen=True)
class Variant:
    """What else is checked of a program. `twice`: the mode that is differentiated again."""

    options: dict[str, bool] = field(default_factory=dict)
    width: int = 1
    split: bool = False
    twice: Mode | None = None

    @staticmethod
    def of(name: str) -> Variant:
        draw = random.Random(name)
        options = {key: True for key in ("strong_zero", "runtime_activity") if draw.random() < 0.15}
        kind = draw.random()
        twice = draw.choice((Mode.FORWARD, Mode.COMBINED)) if kind > 0.97 else None
        return Variant(options, draw.choice((2, 3)) if kind < 0.2 else 1, 0.2 < kind < 0.4, twice)


@dataclass
class Checked(Findings):
    """`trusted`: finite differences say something at this point. `rival`: what the other tool said."""

    trusted: bool = True
    rival: str = ""


def written(sources: Sequence[Source], folder: Path) -> list[Program]:
    """The programs, in a file of each language."""
    found: dict[str, Program] = {}
    for suffix, header, cxx in ((".c", HEADER, False), (".cpp", HEADER_CXX, True)):
        path, own = folder / f"batch{suffix}", [s for s in sources if s.cxx is cxx]
        path.write_text(header + "\n" + "\n".join(s.text() for s in own))
        found |= {s.name: read_program(path, s.name) for s in own}
    return [found[s.name] for s in sources]


def check_batch(sources: Sequence[Source], level: int, other: Path | None = None) -> dict[str, Checked | str]:
    """What is wrong with each program, or how checking it crashed."""
    with tempfile.TemporaryDirectory() as folder:
        programs = written(sources, Path(folder))
        paths = list(dict.fromkeys(p.path for p in programs))
        return _tried(programs, Reference(paths), compiled(paths), level, other)


def _tried(programs: Sequence[Program], *arguments: Any) -> dict[str, Checked | str]:
    """Where something crashes, each half again, down to the program that does."""
    try:
        each = 20 + (2 * rival.SECONDS if arguments[-1] is not None else 0)
        found: dict[str, Checked | str] = isolated(_check, programs, *arguments, seconds=120 + each * len(programs))
        return found
    except Crash as crash:
        if len(programs) == 1:
            return {programs[0].name: f"crash: {str(crash)[-1500:]}"}
        half = len(programs) // 2
        return _tried(programs[:half], *arguments) | _tried(programs[half:], *arguments)


# --- building ----------------------------------------------------------------------------------------------------


def requests(program: Program, variant: Variant) -> dict[str, list[Request]]:
    """Derivatives by suffix of their entries' names; several requests are sweeps of one."""
    both = {mode: replace(request(program, mode), **variant.options) for mode in (Mode.FORWARD, Mode.COMBINED)}
    asked = {"": [both[Mode.FORWARD]], ".reverse": [both[Mode.COMBINED]]}
    if variant.width > 1:
        asked |= {f".{variant.width}.{mode}": [replace(r, width=variant.width)] for mode, r in both.items()}
    if variant.split:
        asked[".split"] = [replace(r, **variant.options) for r in sweeps(program)]
    return asked


def built(whole: Any, programs: Sequence[Program], level: int) -> dict[str, tuple[Built, Duals]]:
    """The derivatives of each program, most of them in one module, and an interpreter of what they were made from."""
    text = prepared(whole, programs, level, threads=True)
    made, others = _built_together(text, programs, level)
    found = dict.fromkeys([p.name for p in programs], (made, Duals(machine(text), whole)))
    if others:
        text = prepared(whole, others, level, threads=True)
        made, _ = _built_together(text, others, level, mending=True)
        found |= dict.fromkeys([p.name for p in others], (made, Duals(machine(text), whole)))
    return found


@dataclass(frozen=True)
class Duals:
    """An interpreter of a level's text; of unoptimised text where a tangent is lost in LLVM's integer arithmetic."""

    machine: Machine
    whole: Any

    def __call__(self, program: Program, direction: Vector) -> Vector | None:
        """Tangents of the outputs; None where the interpreter lacks a function of the C++ library."""
        try:
            try:
                return interpreted(self.machine, program, program.point, direction)[1]
            except UnsupportedError as error:
                if _LACKING in str(error):
                    raise
                plain = machine(prepared(self.whole, [program], 0, threads=True))
                return interpreted(plain, program, program.point, direction)[1]
        except UnsupportedError as error:
            if _LACKING not in str(error):
                raise
            return None


def _built_together(
    text: str, programs: Sequence[Program], level: int, *, mending: bool = False
) -> tuple[Built, list[Program]]:
    """All derivatives of all programs in one module; what is refused leaves nothing there.

    Programs that another text of theirs may mend are given back; `mending`, all begin anew with that text.
    """
    built, module, others = Built(level), normal_form.reducible(parse(text)), []
    made: list[tuple[Program, Mode, Function]] = []
    for program in programs:
        found, error = _derived(module, program, built)
        made += found
        if isinstance(error, UnsupportedError) and error.remedy is not None:
            if not mending:
                others.append(program)
                continue
            with contextlib.suppress(UnsupportedError):
                return _built_together(derivatives.mended(text, Mode.COMBINED, error), programs, level, mending=True)
    if made:
        written, names = "\n".join([write(module), *(_entry(*m) for m in made)]), [(p, mode) for p, mode, _ in made]
        built.engine = _engine(written, names, FINISH[level], code=2 if level == 3 else 0)
    return built, others


def _derived(
    module: Module, program: Program, built: Built
) -> tuple[list[tuple[Program, Mode, Function]], Exception | None]:
    """The derivatives of a program, under the names of their entries; none if one is refused."""
    found: list[tuple[Program, Mode, Function]] = []
    analysed: Analysed | None = None
    for suffix, asked in requests(program, Variant.of(program.name)).items():
        mode = Mode.REVERSE if asked[0].mode is Mode.AUGMENTED else asked[0].mode
        before = set(module.globals)
        try:
            derivation = Derivation(module, asked[0], asked[1:], analysed)
            analysed, made = derivation.facts.analysed, derivation.derive()
        except Exception as error:
            _take_out(module, [name for name in module.globals if name not in before])
            if not isinstance(error, LlgradError):
                error.add_note(traceback.format_exc())
            built.errors[program.name, asked[0].mode] = error
            return [], error
        _set_apart(module, [name for name in module.globals if name not in before])
        found += [(_called(program, suffix, n), mode, f) for n, f in enumerate(made)]
    return found, None


def _set_apart(module: Module, names: Sequence[str]) -> None:
    """What was defined beside a derivative gets a name of its own, for that of the next may differ."""
    for name in names:
        g = module.globals[name]
        if (
            isinstance(g, Function | GlobalVariable)
            and not g.is_declaration
            and not name.startswith("llgrad.tape.")
            and library.lookup(name) is None
        ):
            g.name = f"{name}.{len(module.globals)}"
            module.globals[g.name] = module.globals.pop(name)


def _take_out(module: Module, names: Sequence[str]) -> None:
    """Half-written functions leave the module."""
    for g in map(module.globals.pop, names):
        for i in g.instructions() if isinstance(g, Function) else ():
            for v in i.operands:
                if isinstance(v, GlobalValue) and i in v.users:
                    v.users.remove(i)


def _called(program: Program, suffix: str, n: int) -> Program:
    """The program under the name of one of its entries (see `apart`, `wide`)."""
    ends = {"": "", ".reverse": "", ".split": f".{n}"}
    return replace(program, name=program.name + ends.get(suffix, suffix.rpartition(".")[0]))


# --- checking ----------------------------------------------------------------------------------------------------


def _check(
    programs: Sequence[Program], reference: Reference, whole: Any, level: int, other: Path | None
) -> dict[str, Checked]:
    """Of each program: derivatives among each other, with finite differences where they say something, with duals."""
    found = built(whole, programs, level)
    return {p.name: _judged(p, *found[p.name], reference, whole, other) for p in programs}


def _judged(
    program: Program, built: Built, duals: Duals, reference: Reference, whole: Any, other: Path | None
) -> Checked:
    found, run = Checked(), reference.function(program)
    refused = [(mode, error) for (name, mode), error in built.errors.items() if name == program.name]
    if refused:
        for mode, error in refused:
            found.refused[mode, built.level] = type(error).__name__, "\n".join([str(error), *_notes(error)])
        return found
    found.trusted = smoothness(run, program.point, program.precision.step) < program.precision.kink
    judge(program, [built], reference, found, differences=found.trusted, apart=False)
    if not found.wrong:
        matrix, _ = jacobian(built, program, Mode.FORWARD, program.point)
        _compare_with_duals(program, matrix, duals, found)
        _compare_variants(program, built, matrix, found)
        if (twice := Variant.of(program.name).twice) is not None and found.trusted and program.precision is DOUBLE:
            _differentiate_again(program, built.level, whole, twice, found)
        if other is not None:
            found.rival = rival.compared(other, whole, program, matrix, found.trusted)
    return found


def _notes(error: Exception) -> list[str]:
    return [] if isinstance(error, LlgradError) else getattr(error, "__notes__", [])


def _compare_with_duals(program: Program, matrix: Matrix, duals: Duals, found: Findings) -> None:
    u = np.random.default_rng(3).uniform(-1, 1, program.inputs)
    tolerance = DUALS[program.precision]
    if (tangents := duals(program, u)) is not None:
        sentence = directional(f"{program.name} forward against dual numbers", matrix, u, tangents, tolerance)
        found.wrong += [sentence] if sentence else []


def _compare_variants(program: Program, built: Built, matrix: Matrix, found: Findings) -> None:
    variant, rows = Variant.of(program.name), {}
    if variant.width > 1:
        for mode, asked in ((Mode.FORWARD, Mode.FORWARD), (Mode.COMBINED, Mode.COMBINED)):
            [r] = requests(program, variant)[f".{variant.width}.{asked}"]
            lanes = all_lanes(WideCall(built.engine, _called(program, f".{variant.width}.{mode}", 0), r), program)[0]
            rows[f"{mode} in {variant.width} lanes"] = lanes.T if mode is Mode.FORWARD else lanes
    if variant.split:
        run = Apart(built, program)
        swept = [run(program.point, seed) for seed in np.eye(program.outputs)]
        for n in range(3):
            rows[f"split reverse sweep {n}"] = np.array([row[n] for row in swept]).reshape(program.outputs, -1)
    for what, got in rows.items():
        sentence = disagreement(f"{program.name} {what} against forward", got, matrix, program.precision.levels)
        found.wrong += [sentence] if sentence else []


def _differentiate_again(program: Program, level: int, whole: Any, inner: Mode, found: Checked) -> None:
    try:
        found.wrong += towers.check(program, level, [inner], whole=whole)
    except LlgradError as error:
        found.refused[inner, 2] = type(error).__name__, str(error)


# --- judging ------------------------------------------------------------------------------------------------------


def failure(source: Source, level: int) -> str:
    """What is wrong with one program, in words; empty if nothing."""
    try:
        return described(check_batch([source], level)[source.name])
    except subprocess.CalledProcessError:
        return "the compiler rejects it"
    except LlgradError as error:
        return f"the compiler rejects it: {error}"


def only_refused(found: Checked | str) -> bool:
    """Is nothing wrong, and is what was not done refused as it should be?"""
    proper = {c.__name__ for c in _kin(LlgradError)} - {VerifyError.__name__}
    return not isinstance(found, str) and not found.wrong and all(n in proper for n, _ in found.refused.values())


def _kin(cls: type) -> set[type]:
    return {cls}.union(*map(_kin, cls.__subclasses__()))


def described(found: Checked | str) -> str:
    if isinstance(found, str):
        return found
    refused = [f"{mode} at O{level}: {name}: {text}" for (mode, level), (name, text) in found.refused.items()]
    return "\n".join([*found.wrong, *refused])


def reason(found: Checked) -> str:
    """The kind of refusal: its error without names, numbers and places."""
    _, text = next(iter(found.refused.values()))
    first = re.sub(r"^\S+:\d+:\d+: ", "", text.split("\n")[0])
    return re.sub(r"[@%][\w.]+|\b\d+\b|`[^`]*`", "…", first)


def signature(text: str) -> str:
    """The kind of a failure: the reducer must not wander from one to another."""
    first = text.split("\n")[0]
    for word in ("SIGSEGV", "SIGABRT", "did not end", "llgrad_fail", "against", "primal results", "crash"):
        if word in first:
            return word
    return re.sub(r"\S*:\d+:\d+: |[@%][\w.]+|\b\d+\b", "", first)[:90]


def minimal(source: Source, level: int) -> Source:
    """A smaller program that fails in the same way."""
    kind = signature(failure(source, level))
    return reduced(source, lambda s: signature(failure(s, level)) == kind)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--level", type=int, action="append")
    parser.add_argument("--language", choices=("c", "c++"))
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--reduce", action="store_true", help="make what fails smaller")
    parser.add_argument("--refused", action="store_true", help="show (and reduce) what is refused, too")
    parser.add_argument("--enzyme", type=Path, help="a program that differentiates LLVM assembly: IN.ll OUT.ll")
    given = parser.parse_args()
    cxx = None if given.language is None else given.language == "c++"
    sources = [generate(seed, cxx) for seed in range(given.seed, given.seed + given.count)]
    if given.print:
        print((HEADER_CXX if any(s.cxx for s in sources) else HEADER) + "\n".join(s.text() for s in sources))
        return 0
    if given.enzyme is not None:
        rival.ready(given.enzyme)
    tally = Tally()
    for start in range(0, given.count, BATCH):
        level = (given.level or LEVELS)[start // BATCH % len(given.level or LEVELS)]
        batch = sources[start : start + BATCH]
        for source, found in zip(batch, check_batch(batch, level, given.enzyme).values(), strict=True):
            failed = tally.add(found)
            if failed or (given.refused and described(found)):
                print(f"\n### {source.name} at O{level}\n{described(found)[:2500]}\n{source.text()}", flush=True)
                if given.reduce:
                    print(f"--- reduced\n{minimal(source, level).text()}", flush=True)
        print(tally, flush=True)
    return int(tally.failed > 0)


@dataclass
class Tally:
    """What was counted. `row`: programs since the last one that failed."""

    count: int = 0
    failed: int = 0
    row: int = 0
    untrusted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    rival: Counter[str] = field(default_factory=Counter)
    start: float = field(default_factory=time.time)

    def add(self, found: Checked | str) -> bool:
        """Count one; does it fail?"""
        wrong = not only_refused(found)
        self.count += 1
        self.failed += wrong
        self.row = 0 if wrong else self.row + 1
        if not isinstance(found, str):
            self.untrusted += not found.trusted
            self.refused += Counter([reason(found)] if found.refused else [])
            self.rival += Counter([found.rival] if found.rival else [])
        return wrong

    def __str__(self) -> str:
        rate = self.count / (time.time() - self.start)
        refused = "".join(f"\n    {n:5} {what}" for what, n in self.refused.most_common(12))
        rivals = "".join(f"\n    {n:5} {what}" for what, n in self.rival.most_common())
        return (
            f"{self.count} programs, {self.failed} failed, {self.row} in a row, {self.untrusted} near a kink, "
            f"{self.refused.total()} refused, {rate:.2f} a second{refused}{rivals}"
        )


if __name__ == "__main__":
    sys.exit(main())
