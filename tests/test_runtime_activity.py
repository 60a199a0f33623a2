"""Runtime activity: constant and active pointers may meet, and a shadow that equals its primal is constant memory.

The Jacobian of what is active, by what is active, is that of finite differences; constant memory is not touched.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cases import Program, read_program
from harness import MODES, Reference, compiled, prepared, request
from msgspec.structs import replace
from oracle import Matrix, Vector, disagreement, finite_differences
from sandbox import isolated
from wide import Wide

from llgrad.autodiff.derivation import derive
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import ActivityError
from llgrad.ir.parse import parse

PATH = Path(__file__).parent / "autodiff" / "runtime_activity.c"
PARTS = PATH.read_text().split("\n// ==\n")[1:]
CASES = [(re.findall(r"^\w+ (\w+)\(.*\{$", part, re.MULTILINE)[-1], k) for part in PARTS for k in (3, 0)
         if k or "int k)" in part or "int k," in part]  # fmt: skip


@functools.cache
def whole() -> tuple[object, Reference]:
    return compiled([PATH]), Reference([PATH])


def case(name: str, k: int) -> tuple[Program, set[str], list[bool]]:
    """The program, the buffers that are their own shadows, and whether each float in memory is active."""
    program = read_program(PATH, name)
    marks = dict(re.findall(r"^// (\w+): (.*)$", next(p for p in PARTS if f" {name}(" in p), re.MULTILINE))
    own = set(marks["own"].split())
    start, stop = (int(v) for v in marks.get("constant", "0 0").split())
    active = [buffer not in own and not start <= n < stop for n, (buffer, _, _) in enumerate(program.leaves)]
    parameters = tuple(replace(p, value=k) if p.name == "k" else p for p in program.parameters)
    return replace(program, parameters=parameters), own, active


@pytest.mark.parametrize("name, k", CASES, ids=[f"{name}-{k}" for name, k in CASES])
def test_constant_and_active_memory_meet(name: str, k: int) -> None:
    program, own, active = case(name, k)
    built, reference = whole()
    text = prepared(built, [program], 1)
    outputs, inputs = np.array([*active, True]), np.array(active)
    truth = finite_differences(reference.function(program), program.point)[outputs[: program.outputs]][:, inputs]
    for mode in MODES:
        asked = replace(request(program, mode), runtime_activity=True)
        acts = zip(program.parameters, asked.arguments, strict=True)
        named = [Act.CONST if p.name in own else act for p, act in acts]
        for r in {asked, replace(asked, arguments=tuple(named))}:
            found = isolated(jacobian, text, program, r, inputs if mode is Mode.FORWARD else outputs, own)
            rows = (found[:, outputs[: program.outputs]].T if mode is Mode.FORWARD else found[:, inputs])
            assert not disagreement(f"{name} {mode}", rows, truth, 1e-7)


def jacobian(text: str, program: Program, r: Request, wanted: Vector, own: set[str]) -> Matrix:
    """Rows for the wanted seeds; the constant memory must come out as the function alone leaves it."""
    call = Wide(text, program, r)
    seeds = np.eye(program.inputs if r.mode is Mode.FORWARD else program.outputs)[wanted[: program.outputs]]
    plain = Wide(text, program, replace(request(program, Mode.FORWARD), runtime_activity=False))
    _, primal = plain(program.point, [np.zeros(program.inputs)])
    rows = []
    for seed in seeds:
        found, after = call(program.point, [seed], [own])
        np.testing.assert_array_equal(after, primal)
        rows.append(found[0])
    return np.array(rows)


def test_lanes_decide_each_for_itself() -> None:
    program, own, active = case("local_array", 3)
    text = prepared(whole()[0], [program], 1)
    n = program.inputs
    seeds = np.random.default_rng(0).normal(size=(3, max(program.outputs, n)))
    lanes: Sequence[set[str]] = [own, set(), own]
    for mode in MODES:
        size = n if mode is Mode.FORWARD else program.outputs
        asked = replace(request(program, mode), runtime_activity=True)
        given = seeds[:, :size]
        three = isolated(run, text, program, replace(asked, width=3), given, lanes)
        one = np.concatenate([isolated(run, text, program, asked, [s], [o]) for s, o in zip(given, lanes, strict=True)])
        np.testing.assert_allclose(three, one, rtol=1e-14)
        assert not np.allclose(isolated(run, text, program, asked, given[:1], [set()]), one[:1])


def run(text: str, program: Program, r: Request, seeds: Sequence[Vector], lanes: Sequence[set[str]]) -> Matrix:
    return Wide(text, program, r)(program.point, seeds, lanes)[0]


def test_refused_unless_asked_for() -> None:
    program, _, _ = case("chosen", 3)
    text = prepared(whole()[0], [program], 1)
    for mode in MODES:
        asked = request(program, mode)
        acts = (asked.arguments[0], Act.CONST, *asked.arguments[2:])
        with pytest.raises(ActivityError, match="runtime activity"):
            derive(parse(text), replace(asked, arguments=acts))
        derive(parse(text), replace(asked, arguments=acts, runtime_activity=True))
