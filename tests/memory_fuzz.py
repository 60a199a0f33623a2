"""Random C functions of arrays, called with arrays of right and wrong sizes: exceptions, right results, nothing else.

    python tests/memory_fuzz.py --seed 0 --count 5000 [--foreign]

Each function is also a Python program over recording arrays, which tells what it touches and returns. A legal call must
not be refused and must return that; of any other call no memory around the arrays may be changed, and the process must
live. Derivatives of some are called the same way; legal ones are compared with those that check nothing. Functions are
compiled in modules of fifty, each in a child process. With `--foreign` they are called through `llgrad.foreign`.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import llgrad
from llgrad.foreign import load_foreign
from llgrad.programs.guarded_memory import Room

FOREIGN = "--foreign" in sys.argv
EACH, PADDING = 50, 32
HEAD = "double {0}(int n, int m, const int *ix, double *x, double *y, const double *z)"
REFERENCES = HEAD.replace("int n, int m", "const int *pn, const int *pm")
NAMES = ("ix", "x", "y", "z")
STEPS = 4000


class Generator:
    """One function as C and as Python; both have the same expressions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.c, self.py = rng, list[str](), list[str]()
        self.scalars = ["n", "m"]

    def function(self, name: str) -> tuple[str, str]:
        self.block(1, self.rng.randint(1, 3))
        self.by_reference = self.rng.random() < 0.25
        body = [re.sub(r"\b[nm]\b", r"(*p\g<0>)", line) for line in self.c] if self.by_reference else self.c
        head = (REFERENCES if self.by_reference else HEAD).format(name)
        c = [head, "{", "  double s = 0.0;", *body, "  return s;", "}"]
        python = [f"def {name}(n, m, ix, x, y, z, tick):", "  s = 0.0", *self.py, "  return s"]
        return "\n".join(c), "\n".join(python)

    def add(self, depth: int, c: str, python: str) -> None:
        self.c.append("  " * depth + c)
        self.py.append("  " * depth + python)

    def block(self, depth: int, count: int) -> None:
        for _ in range(count):
            kind = self.rng.choice(("loop", "loop", "if", "set", "set", "sum"))
            if kind == "loop" and depth < 4:
                self.loop(depth)
            elif kind == "if" and depth < 4:
                test = self.test()
                self.add(depth, f"if ({test}) {{", f"if {test}:")
                self.block(depth + 1, 1)
                self.c.append("  " * depth + "}")
            elif kind == "sum":
                self.add(depth, f"s += {self.value()};", f"s += {self.value_again}")
            else:
                target, sign, value = self.rng.choice("yyx"), self.rng.choice(("=", "+=")), self.value()
                at = self.index()
                self.add(depth, f"{target}[{at}] {sign} {value};", f"{target}[{at}] {sign} {value}")

    def loop(self, depth: int) -> None:
        v = f"i{len(self.scalars)}"
        first, last, step = self.bound(), self.bound(), self.rng.choice((1, 1, 1, 2, 3))
        if self.rng.random() < 0.75:
            self.add(depth, f"for (int {v} = {first}; {v} < {last}; {v} += {step}) {{",
                     f"for {v} in tick(range({first}, {last}, {step})):")  # fmt: skip
        else:
            self.add(depth, f"for (int {v} = {last} - 1; {v} >= {first}; {v} -= {step}) {{",
                     f"for {v} in tick(range({last} - 1, {first} - 1, -{step})):")  # fmt: skip
        self.scalars.append(v)
        self.block(depth + 1, self.rng.randint(1, 2))
        self.scalars.pop()
        self.c.append("  " * depth + "}")

    def bound(self) -> str:
        v = self.rng.choice(self.scalars)
        return self.rng.choice(("0", "0", "1", "n", "m", v, f"({v} + 1)", f"({v} - 1)", f"(2 * {v})"))

    def test(self) -> str:
        a, b = self.rng.choice(self.scalars), self.rng.choice([*self.scalars, "1", "3"])
        operator = self.rng.choice(("<", "<=", ">", "!=", "=="))
        return self.rng.choice((f"{a} {operator} {b}", f"x[{self.index()}] > 0.5"))

    def index(self) -> str:
        a, b = self.rng.choice(self.scalars), self.rng.choice(self.scalars)
        affine = (
            a, a, f"{a} + {b}", f"2 * {a} + 1", f"{a} - 1", f"{a} * n + {b}", f"{a} - {b} + n", "0", "3",
            f"{a} * {b}", f"{a} + {self.rng.randint(0, 4)}", f"n - {a} - 1",
        )  # fmt: skip
        chosen = self.rng.choice(affine)
        return f"ix[{chosen}]" if self.rng.random() < 0.12 else chosen

    def value(self) -> str:
        parts = [f"{self.rng.choice('xyz')}[{self.index()}]" for _ in range(self.rng.randint(1, 2))]
        self.value_again = " * 0.5 + ".join(parts)
        return self.value_again


class Unfit(Exception):
    """The program runs too long."""


class Recorded:
    """An array without ends that remembers what of it was touched."""

    def __init__(self, start: Any) -> None:
        self.start, self.held = start, dict[int, Any]()
        self.low, self.high = 0, 0

    def __getitem__(self, k: int) -> Any:
        self.low, self.high = min(self.low, k), max(self.high, k + 1)
        return self.held.get(k, self.start(k))

    def __setitem__(self, k: int, value: Any) -> None:
        self.low, self.high = min(self.low, k), max(self.high, k + 1)
        self.held[k] = value


def recorded(python: Any, n: int, m: int, table: list[int]) -> tuple[Any, dict[str, Recorded]]:
    """What the Python program returns, and its arrays."""
    left = STEPS

    def tick(steps: range) -> Any:
        nonlocal left
        for k in steps:
            left -= 1
            if left < 0:
                raise Unfit
            yield k

    arrays = {"ix": Recorded(lambda k: table[k % len(table)])}
    arrays |= {name: Recorded(lambda k, p=p: ((k * 7 + p) % 13) / 13) for p, name in enumerate("xyz")}
    return python(n, m, *(arrays[name] for name in NAMES), tick), arrays


class Buffers:
    """Arrays of given lengths with memory around them that must stay as it is."""

    def __init__(self, arrays: dict[str, Recorded], sizes: dict[str, int]) -> None:
        self.whole: dict[str, Any] = {}
        self.given: list[Any] = []
        for name in NAMES:
            dtype = np.int32 if name == "ix" else np.float64
            whole = np.full(sizes[name] + 2 * PADDING, 77, dtype)
            whole[PADDING : PADDING + sizes[name]] = [arrays[name].start(k) for k in range(sizes[name])]
            self.whole[name] = whole
            self.given.append(whole[PADDING : PADDING + sizes[name]])

    def unharmed(self) -> bool:
        return all((w[:PADDING] == 77).all() and (w[len(w) - PADDING :] == 77).all() for w in self.whole.values())


def same(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)) or not np.isfinite(np.sum(b))


class Foreigner:
    """A function, or its derivative by x, as `llgrad.foreign` calls it: x and y are copied, and outputs."""

    def __init__(self, function: Any, kind: str) -> None:
        self.foreign = load_foreign(function, updates=("x", "y"), counts=())
        self.kind, names = kind, [i.name for i in self.foreign.tensors]
        self.wrt = () if kind == "primal" else (names.index("x"),)

    def __call__(self, n: Any, m: Any, *arrays: Any) -> Any:
        integers = isinstance(n, int)
        tensors = [*arrays] if integers else [n, m, *arrays]
        shapes, statics = tuple(a.shape for a in tensors), (n, m) if integers else ()
        call = self.foreign.call(self.kind, self.wrt, shapes, statics)
        seeds = [np.full(shape, 1.0 if shape == () else 0.0) for shape, _ in call.taken[len(tensors) :]]
        whole = [np.full(math.prod(shape) + 2 * PADDING, 77.0) for shape, _ in call.made]
        inner = [w[PADDING : len(w) - PADDING] for w in whole]
        call.run([a.ctypes.data for a in (*tensors, *seeds)], [a.ctypes.data for a in inner])
        if not all((w[:PADDING] == 77).all() and (w[len(w) - PADDING :] == 77).all() for w in whole):
            raise AssertionError("memory around an output was changed")
        if self.kind != "primal":
            return inner[0]
        arrays[1][:], arrays[2][:] = inner[1:]
        return inner[0][0]


class Calls:
    """Calls of one function and of its derivative, and what came of them."""

    def __init__(self, name: str, source: str, library: Any, python: Any, rng: random.Random) -> None:
        self.source, self.function, self.python, self.rng = source, library[name], python, rng
        self.by_reference, self.plain = "*pn" in source, library[name]
        self.found: Counter[str] = Counter()
        self.gradients: tuple[Any, ...] | None = None
        if rng.random() < 0.1:
            try:
                self.gradients = tuple(llgrad.grad(self.function, wrt="x", unchecked=u) for u in (False, True))
                if FOREIGN:
                    self.gradients = Foreigner(self.function, "vjp"), self.gradients[1]
            except llgrad.LlgradError:
                self.found["not differentiated"] += 1
        if FOREIGN:
            self.function = Foreigner(self.function, "primal")

    def run(self) -> None:
        for _ in range(3):
            n, m = self.rng.randint(-1, 6), self.rng.randint(0, 5)
            table = [self.rng.randint(0, 5) for _ in range(self.rng.randint(1, 9))]
            try:
                value, arrays = recorded(self.python, n, m, table)
            except (Unfit, OverflowError):
                self.found["long"] += 1
                continue
            sizes = {name: arrays[name].high for name in NAMES}
            self.call(n, m, value, arrays, sizes, legal=all(a.low >= 0 for a in arrays.values()))
            short = [name for name in NAMES if sizes[name]]
            if short:
                name = self.rng.choice(short)
                less = {**sizes, name: self.rng.randrange(sizes[name])}
                self.call(n, m, value, arrays, less, legal=False)

    def numbers(self, *given: int) -> list[Any]:
        """Integers as the function takes them."""
        return [np.array(k, np.int32) if self.by_reference else k for k in given]

    def call(
        self, n: int, m: int, value: float, arrays: dict[str, Recorded], sizes: dict[str, int], *, legal: bool
    ) -> None:
        buffers = Buffers(arrays, sizes)
        kind = "legal" if legal else "illegal"
        try:
            returned = self.function(*self.numbers(n, m), *buffers.given)
        except llgrad.LlgradError as error:
            self.require(not legal, f"refused: {error}", n, m, sizes)
            self.found[f"{kind}: {type(error).__name__}"] += 1
        else:
            why = "" if legal else f", {self.why(returned, value, buffers, arrays)}"
            if why == ", wrong, before" and self.faults_mirrored(n, m, arrays, sizes):
                why = ", compared what lies before"
            self.found[f"{kind}: returned{why}"] += 1
            self.require("wrong" not in why, f"{returned} instead of {value}", n, m, sizes)
            if legal:
                self.require(same(returned, value), f"{returned} instead of {value}", n, m, sizes)
                for name, given in zip(NAMES, buffers.given, strict=True):
                    held = [arrays[name].held.get(k, arrays[name].start(k)) for k in range(sizes[name])]
                    self.require(same(given, held), f"{name} is {given}, not {held}", n, m, sizes)
        self.require(buffers.unharmed(), "memory around an array was changed", n, m, sizes)
        if self.gradients is not None:
            self.differentiate(n, m, arrays, sizes, legal=legal)

    def why(self, returned: float, value: float, buffers: Buffers, arrays: dict[str, Recorded]) -> str:
        """What a call with wrong sizes did that raised nothing."""
        short = any(arrays[name].high > len(a) for name, a in zip(NAMES, buffers.given, strict=True))
        where = "behind" if short else "before"
        right = same(returned, value) and math.isfinite(returned)
        for name, given in zip(NAMES, buffers.given, strict=True):
            held = [arrays[name].held.get(k, arrays[name].start(k)) for k in range(len(given))]
            right = right and np.allclose(given, held, rtol=1e-9, atol=1e-9)
        if right:
            return f"as if nothing lay {where}"
        read = any(math.isnan(k) for a in (*buffers.given, [returned]) for k in a)
        return f"nan of what lies {where}" if read else f"wrong, {where}"

    def faults_mirrored(self, n: int, m: int, arrays: dict[str, Recorded], sizes: dict[str, int]) -> bool:
        """Does the call fault where arrays in guarded memory lie at the start of their pages?"""
        put = Room.put

        def at_the_start(room: Room, *given: Any, **_: Any) -> int:
            return put(room, *given, first=True)

        with mock.patch.object(Room, "put", at_the_start):
            try:
                self.plain(*self.numbers(n, m), *Buffers(arrays, sizes).given)
            except llgrad.LlgradError:
                return True
        return False

    def differentiate(self, n: int, m: int, arrays: dict[str, Recorded], sizes: dict[str, int], *, legal: bool) -> None:
        assert self.gradients is not None
        buffers, again = Buffers(arrays, sizes), Buffers(arrays, sizes)
        try:
            found = self.gradients[0](*self.numbers(n, m), *buffers.given)
        except llgrad.LlgradError as error:
            self.require(not legal, f"derivative refused: {error}", n, m, sizes)
            self.found[f"derivative, illegal: {type(error).__name__}"] += 1
        else:
            self.found[f"derivative, {'legal' if legal else 'illegal'}: returned"] += 1
            if legal:
                other = self.gradients[1](*self.numbers(n, m), *again.given)
                self.require(same(found, other), "other derivatives", n, m, sizes)
        self.require(buffers.unharmed(), "a derivative changed memory around an array", n, m, sizes)

    def require(self, condition: bool, what: str, n: int, m: int, sizes: dict[str, int]) -> None:
        if not condition:
            raise AssertionError(f"{what}\nn = {n}, m = {m}, {sizes}\n{self.source}")


def module(seed: int, count: int, folder: Path) -> Counter[str]:
    """The functions of one module, called."""
    rng = random.Random(seed)
    made = [Generator(rng).function(f"f{k}") for k in range(count)]
    path = folder / f"fuzz{seed}.c"
    path.write_text("\n".join(c for c, _ in made))
    library, space = llgrad.load(path), dict[str, Any]()
    total: Counter[str] = Counter()
    for k, (c, python) in enumerate(made):
        exec(python, {"math": math}, space)
        calls = Calls(f"f{k}", c, library, space[f"f{k}"], rng)
        calls.run()
        total += calls.found
    return total


def main() -> int:
    """Run modules in children; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=EACH)
    parser.add_argument("--here", action="store_true", help="one module, in this process")
    parser.add_argument("--foreign", action="store_true", help="calls through llgrad.foreign")
    given = parser.parse_args()
    if given.here:
        with tempfile.TemporaryDirectory() as folder:
            for what, times in module(given.seed, given.count, Path(folder)).items():
                print(f"{times} {what}")
        return 0
    total: Counter[str] = Counter()
    failed = 0
    for first in range(0, given.count, EACH):
        command = [sys.executable, __file__, "--here", "--seed", str(given.seed + first)]
        command += ["--count", str(min(EACH, given.count - first)), *(["--foreign"] if FOREIGN else [])]
        environment = {**os.environ, "MALLOC_PERTURB_": "85", "MALLOC_CHECK_": "3"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        for line in done.stdout.splitlines():
            number, _, what = line.partition(" ")
            total[what] += int(number)
        if done.returncode:
            failed += 1
            print(f"seed {given.seed + first}: status {done.returncode}\n{done.stderr[-2500:]}", flush=True)
    for what, times in sorted(total.items()):
        print(f"{times:8} {what}")
    print(f"{given.count} functions, {failed} modules failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
