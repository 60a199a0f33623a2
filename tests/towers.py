"""Derivatives of derivatives of a program, as maps from floats to floats.

A `Tower` is a program with derivations on top: `modes` from the innermost. All floats that its function takes (in
memory, in every shadow, as scalars and seeds) are one vector, and so are all that it leaves and returns. So a tower is
differentiable itself: `Tower([*modes, FORWARD])` is its Jacobian times a vector, `Tower([*modes, COMBINED])` the
transpose, and both are compared with finite differences of `Tower(modes)`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import Memory, Program
from harness import _failure_hook, _quoted, compiled, prepared
from numpy.typing import NDArray

from llgrad.autodiff.emit import tape
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.ir.write import write
from llgrad.llvm import Engine
from llgrad.llvm.assembly import with_bodies
from llgrad.programs import derivatives, stages

Vector = NDArray[np.float64]
_NUMPY = {"double": "f8", "float": "f4", "x86_fp80": "f16"}
_SIZE = {"double": 8, "float": 4, "x86_fp80": 16}


@dataclass(frozen=True)
class Slot:
    """A parameter: "arena", "memory" (`value`: buffer and which copy of it), "integer", or "float": some formats.

    `own`: the value of a scalar of the program itself.
    """

    kind: str
    value: Any = None
    own: float | None = None


class Tower:
    """The derivative of the derivative … of a program, compiled."""

    def __init__(self, program: Program, text: str, modes: Sequence[Mode], level: int) -> None:
        """`text`: the program as `harness.prepared` made it."""
        self.program, self.modes, self.copies = program, tuple(modes), 1
        self.slots = [self._first(p) for p in program.parameters]
        self.results: tuple[str, ...] = () if program.result == "void" else (program.result,)
        request: Request | None = None
        for mode in modes:
            request = self._derive(request, mode)
        self.arena = np.zeros(tape.ARENA_BYTES, np.uint8)
        self.entry = self._compiled(text, request, level)

    def _first(self, p: Any) -> Slot:
        match p.kind:
            case "buffer":
                return Slot("memory" if p.active else "constant", (p.name, 0))
            case "integer":
                return Slot("integer", (p.type, p.value))
        return Slot("float", (p.type,), float(p.value))

    def _derive(self, inner: Request | None, mode: Mode) -> Request:
        """One more derivation: everything that holds floats is active."""
        forward = mode is Mode.FORWARD
        acts, slots, adjoints = [], [] if forward else [Slot("arena")], []
        for s in self.slots:
            slots.append(s)
            match s.kind:
                case "memory":
                    acts.append(Act.DUP)
                    slots.append(Slot("memory", (s.value[0], s.value[1] + self.copies)))
                case "float":
                    acts.append(Act.DUP if forward else Act.OUT)
                    slots += [Slot("float", s.value)] if forward else []
                    adjoints += s.value
                case _:
                    acts.append(Act.CONST)
        result = Act.CONST if not self.results else Act.DUP if forward else Act.OUT
        if not forward:
            slots += [Slot("float", self.results)] if self.results else []
            self.results = tuple(adjoints)
        self.slots, self.copies = slots, 2 * self.copies
        if inner is None:
            return Request(self.program.name, mode, tuple(acts), result)
        return Request.again(inner, mode, tuple(acts), result)

    def _compiled(self, text: str, request: Request | None, level: int) -> Any:
        if request is None:
            from llgrad.ir.parse import parse

            module = parse(text)
            f = module.function(self.program.name)
        else:
            module, (f,) = derivatives.derived_module(text, [request], level)
        text = with_bodies(write(module)) + self._entry(f)
        keep = ["test.entry", "llgrad_fail"]
        made = stages.finish(text, [_failure_hook()], keep, level=level, vectorize=level == 3)
        self.text = made.text()
        self.engine = Engine([made], opt_level=min(level, 2))
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self.engine.address("test.entry"))

    def _entry(self, f: Any) -> str:
        lines = ["\ndefine void @test.entry(ptr %results, ptr %arguments) {"]
        types = [str(t) for t in f.function_type.params]
        for n, t in enumerate(types):
            lines += [f"  %p{n} = getelementptr i8, ptr %arguments, i64 {256 * n}", f"  %a{n} = load {t}, ptr %p{n}"]
        result = str(f.function_type.result)
        call = f"call {result} @{_quoted(f.name)}({', '.join(f'{t} %a{n}' for n, t in enumerate(types))})"
        lines += [f"  {call}"] if result == "void" else [f"  %r = {call}", f"  store {result} %r, ptr %results"]
        return "\n".join([*lines, "  ret void", "}", ""])

    # --- as a map

    @property
    def inputs(self) -> int:
        scalars = sum(len(s.value) for s in self.slots if s.kind == "float")
        return self.copies * len(self.program.leaves) + scalars

    @property
    def outputs(self) -> int:
        return self.copies * len(self.program.leaves) + len(self.results)

    def __call__(self, at: Vector) -> Vector:
        program, size = self.program, len(self.program.leaves)
        memories = [Memory(program, shadow=n > 0) for n in range(self.copies)]
        for n, m in enumerate(memories):
            m.set_floats(at[n * size : (n + 1) * size])
        scalars = iter(at[self.copies * size :])
        given = np.zeros(256 * len(self.slots), np.uint8)
        for n, s in enumerate(self.slots):
            self._put(given[256 * n : 256 * n + 256], s, memories, scalars)
        results = np.zeros(256, np.uint8)
        self.entry(results.ctypes.data, given.ctypes.data)
        if not all(m.intact() for m in memories):
            raise AssertionError("something was written outside the buffers")
        if self._used():
            raise AssertionError("the tape is not empty after the reverse sweep")
        return np.concatenate([*(m.floats() for m in memories), self._returned(results)])

    def _put(self, place: Any, s: Slot, memories: Sequence[Memory], scalars: Any) -> None:
        match s.kind:
            case "arena":
                place[:8].view("u8")[0] = self.arena.ctypes.data
            case "memory" | "constant":
                place[:8].view("u8")[0] = memories[s.value[1]].address(s.value[0])
            case "integer":
                place[:8].view("i8")[0] = int(s.value[1])
            case _:
                for at, t in _members(s.value):
                    place[at : at + _SIZE[t]].view(_NUMPY[t])[0] = next(scalars)

    def _returned(self, results: Any) -> Vector:
        return np.array([float(results[at : at + _SIZE[t]].view(_NUMPY[t])[0]) for at, t in _members(self.results)])

    def _used(self) -> int:
        top, _, segment, used = (int(v) for v in self.arena[:32].view(np.uint64))
        return used + (top - segment - tape.HEADER_BYTES if segment else 0)


def _members(formats: Sequence[str]) -> list[tuple[int, str]]:
    at, found = 0, []
    for t in formats:
        at = -(-at // _SIZE[t]) * _SIZE[t]
        found.append((at, t))
        at += _SIZE[t]
    return found


def lifted(tower: Tower, forward: Tower, at: Vector, by: Vector) -> Vector:
    """What the forward derivative of `tower` takes: a point and a tangent, in its order."""
    size = tower.copies * len(tower.program.leaves)
    scalars = []
    n = size
    for s in tower.slots:
        if s.kind == "float":
            scalars += [*at[n : n + len(s.value)], *by[n : n + len(s.value)]]
            n += len(s.value)
    return np.concatenate([at[:size], by[:size], np.array(scalars)])


def check(program: Program, level: int, inner: Sequence[Mode], seed: int = 1, whole: Any = None) -> list[str]:
    """What is wrong with the forward and the reverse derivative of a tower (of the program in `whole`)."""
    whole = compiled([program.path]) if whole is None else whole
    text = prepared(whole, [program], level)
    tower = Tower(program, text, inner, level)
    forward = Tower(program, text, [*inner, Mode.FORWARD], level)
    reverse = Tower(program, text, [*inner, Mode.COMBINED], level)
    rng = np.random.default_rng(seed)
    size = len(program.leaves)
    at = rng.uniform(-1, 1, tower.inputs)
    at[:size] = program.point[:size]
    place = tower.copies * size
    for s in tower.slots:
        if s.own is not None:
            at[place] = s.own
        place += len(s.value) if s.kind == "float" else 0
    by = rng.uniform(-1, 1, tower.inputs)
    wrong = []
    tangents = forward(lifted(tower, forward, at, by))
    half = tower.copies * size
    got = np.concatenate([tangents[half : 2 * half], tangents[2 * half :]])
    h = 2e-4

    def difference(s: float) -> Any:
        return (tower(at + s * by) - tower(at - s * by)) / (2 * s)

    truth = (4 * difference(h / 2) - difference(h)) / 3
    scale = 1e-3 * np.max(np.abs(truth), initial=1e-9) + np.abs(truth)
    worst = np.max(np.abs(got - truth) / scale, initial=0.0)
    if not worst < 1e-5:
        wrong.append(f"forward over {[*map(str, inner)]} at O{level}: {worst:.2g} {got} instead of {truth}")
    w = rng.uniform(-1, 1, tower.outputs)
    scalars = at[half:]
    back = reverse(np.concatenate([at[:half], w[:half], scalars, w[half:]]))
    adjoint = np.concatenate([back[half : 2 * half], back[2 * half :]])
    left, right = float(w @ got), float(adjoint @ by)
    size_ = np.abs(w) @ np.abs(got) + np.abs(adjoint) @ np.abs(by) + 1e-30
    if not abs(left - right) <= 1e-9 * size_:
        wrong.append(f"reverse over {[*map(str, inner)]} at O{level}: <w, Jv> = {left:.12g}, <J'w, v> = {right:.12g}")
    return wrong
