"""Modules to read and write: sources compiled by clang and rustc, generated programs, hand-written assembly.

LLVM runs in a child process here, because LLVM ends its process on text that it does not like.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

HERE = Path(__file__).parent
SOLVERS = HERE / "corpus" / "eigen_solvers.cpp"  # 180,000 lines of assembly at -O0
C_SOURCES = sorted(set((HERE / "corpus").glob("*.c*")) - {SOLVERS})
PROGRAMS = sorted((HERE.parent / "corpus").glob("*.c*"))
EIGEN = next((p for p in map(Path, ("/usr/include/eigen3", "/usr/local/include/eigen3")) if p.is_dir()), None)
EXOTIC = sorted((HERE / "exotic").glob("*.ll"))
LEVELS = ("-O0", "-O1", "-O2", "-O3")


@dataclass(frozen=True)
class Case:
    """One module: a source file or generated text, and the compiler's options."""

    source: Path
    options: tuple[str, ...] = ()
    seed: int | None = None

    def __str__(self) -> str:
        name = self.source.name if self.seed is None else f"generated{self.seed}.c"
        return "".join([name, *self.options]).replace(" ", "")

    @property
    def missing(self) -> str:
        """What this machine lacks for the case; empty where it has all."""
        return "Eigen's headers (libeigen3-dev)" if "eigen" in self.source.name and EIGEN is None else ""

    def compile(self, folder: Path) -> str:
        """The LLVM assembly of this case."""
        if self.source.suffix == ".ll":
            return self.source.read_text()
        source = self.source
        if self.seed is not None:
            source = folder / f"generated{self.seed}.c"
            source.write_text(program(self.seed))
        out = folder / f"{self}.ll"
        compiler = [*_rustc()] if source.suffix == ".rs" else [*clang(source.suffix), "-w", "-S", "-emit-llvm"]
        include = [f"-I{EIGEN}"] if "eigen" in source.name else []
        command = [*compiler, *include, *self.options, str(source), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        return out.read_text()


def sample() -> list[Case]:
    """The cases that every run of the tests reads: each source at -O0 and -O2, debug information in half of them."""
    cases = [Case(p) for p in EXOTIC]
    for n, source in enumerate(C_SOURCES):
        cases += [Case(source, ("-O0", *_debug(n % 2))), Case(source, ("-O2", *_debug(n % 2 == 0)))]
    cases += [Case(HERE, (LEVELS[seed % 4], *_debug(seed % 2)), seed) for seed in range(12)]
    return cases + [Case(p, (LEVELS[n % 3], *_debug(n % 2))) for n, p in enumerate(PROGRAMS) if n % 8 == 0]


def full() -> list[Case]:
    """All cases: every source and option, and many generated programs."""
    known = set(sample())
    cases = [Case(s, (level, *_debug(g))) for s in C_SOURCES for level in LEVELS for g in (0, 1)]
    cases += [Case(s, ("-O2", "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names")) for s in C_SOURCES]
    cases += [Case(s, ("-O2", "-ffast-math", "-mavx2", "-mfma")) for s in C_SOURCES]
    cases += [Case(s, ("-O1", "-fsanitize=undefined", "-fno-math-errno")) for s in C_SOURCES]
    cases += [Case(HERE, (level, *_debug(seed % 2)), seed) for seed in range(100, 130) for level in LEVELS]
    cases += [Case(p, (level,)) for p in PROGRAMS for level in LEVELS[:3]]
    cases += [Case(SOLVERS, (level,)) for level in LEVELS[:3]]
    if shutil.which("rustc"):
        rust = HERE / "corpus" / "lang.rs"
        cases += [Case(rust, ("-C", f"opt-level={o}", "-C", f"debuginfo={g}")) for o in (0, 2, 3) for g in (0, 2)]
    return [c for c in cases if c not in known]


def _debug(on: int | bool) -> tuple[str, ...]:
    return ("-g",) if on else ()


@cache
def clang(suffix: str) -> tuple[str, ...]:
    """The compiler for sources of that suffix."""
    found = shutil.which("clang-22")
    driver = "c++" if suffix == ".cpp" else "cc"
    return (found,) if found else (sys.executable, "-m", "ziglang", driver, "-fno-sanitize=all")


def _rustc() -> tuple[str, ...]:
    return ("rustc", "--edition", "2021", "--emit=llvm-ir")


# --- generated programs ----------------------------------------------------------------------------------------------


def program(seed: int) -> str:
    """A C program of a few functions: loops, branches, switches, calls and mixed arithmetic, chosen by `seed`."""
    return "\n".join(_Generator(random.Random(seed)).lines())


class _Generator:
    TYPES = ("int", "long", "unsigned char", "float", "double", "long double", "_Bool", "unsigned long")

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.functions: list[tuple[str, int]] = []
        self.depth = 0

    def lines(self) -> Iterator[str]:
        yield "struct cell { double value; int tag; float more[3]; struct cell *next; };"
        yield "extern double opaque(double);"
        for n in range(self.dice.randint(3, 7)):
            count = self.dice.randint(1, 4)
            types = [self.dice.choice(self.TYPES) for _ in range(count)]
            params = ", ".join([f"{t} v{i}" for i, t in enumerate(types)] + ["double *data", "struct cell *cell"])
            static = self.dice.choice(["static ", "", "", "__attribute__((noinline)) "])
            yield f"{static}{self.dice.choice(self.TYPES)} f{n}({params}) {{"
            yield from (f"  {line}" for line in self.block(count, 3))
            yield f"  return {self.value(count, 3)};"
            yield "}"
            self.functions.append((f"f{n}", count))
        yield f"double root(double x, double *data, struct cell *cell) {{ return {self.call(0)}; }}"

    def block(self, count: int, depth: int) -> Iterator[str]:
        for _ in range(self.dice.randint(1, 3)):
            yield from self.statement(count, depth)

    def statement(self, count: int, depth: int) -> Iterator[str]:
        kind = self.dice.choice(["assign", "store", "if", "for", "while", "switch"] if depth else ["assign", "store"])
        match kind:
            case "assign":
                operator = self.dice.choice(["=", "+=", "-=", "*="])
                yield f"v{self.dice.randrange(count)} {operator} {self.value(count, 2)};"
            case "store":
                target = self.dice.choice(["cell->value", "cell->tag", "cell->more[1]", f"data[{self.index(count)}]"])
                yield f"{target} = {self.value(count, 2)};"
            case "if":
                yield f"if ({self.value(count, 1)} < {self.value(count, 1)}) {{"
                yield from self.block(count, depth - 1)
                yield "} else {"
                yield from self.block(count, depth - 1)
                yield "}"
            case "for":
                yield f"for (int i{depth} = 0; i{depth} < {self.dice.randint(2, 9)}; i{depth}++) {{"
                yield from self.block(count, depth - 1)
                yield f"if (data[i{depth}] > {self.dice.random():.3f}) {self.dice.choice(['break', 'continue'])};"
                yield "}"
            case "while":
                yield "while (cell->next) {"
                yield from self.block(count, depth - 1)
                yield "cell = cell->next; }"
            case _:
                yield f"switch ((int)({self.value(count, 1)})) {{"
                for case in self.dice.sample(range(-4, 9), 3):
                    yield f"case {case}:"
                    yield from self.block(count, depth - 1)
                    yield self.dice.choice(["break;", ""])
                yield "}"

    def value(self, count: int, depth: int) -> str:
        if not depth:
            constant = self.dice.choice(["1", "0.1", "2.5f", "-7L", "0.3L", "'c'"])
            return self.dice.choice(
                [f"v{self.dice.randrange(count)}", constant, "cell->value", f"data[{self.index(count)}]"]
            )
        kind = self.dice.choice(["binary", "binary", "ternary", "cast", "opaque", "call"])
        a, b = self.value(count, depth - 1), self.value(count, depth - 1)
        match kind:
            case "binary":
                return f"({a} {self.dice.choice(['+', '-', '*', '<', '==', '&&'])} {b})"
            case "ternary":
                return f"({a} > 0 ? {b} : {a})"
            case "cast":
                return f"({self.dice.choice(self.TYPES)})({a})"
            case "opaque":
                return f"opaque({a})"
        return self.call(count) if self.functions else a

    def call(self, count: int) -> str:
        name, arity = self.dice.choice(self.functions)
        arguments = [f"v{self.dice.randrange(count)}" if count else "x" for _ in range(arity)]
        return f"{name}({', '.join([*arguments, 'data', 'cell'])})"

    def index(self, count: int) -> str:
        return f"(unsigned)(v{self.dice.randrange(count)}) % 16"


# --- LLVM in a child process -----------------------------------------------------------------------------------------


class Refused(Exception):
    """LLVM ended its process, or said no."""


_POOL: list[ProcessPoolExecutor] = []


def llvm_print(text: str) -> str:
    """What LLVM prints for `text`, after its verifier; Refused where it does not take it."""
    if not _POOL:
        _POOL.append(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
    try:
        return _POOL[0].submit(_print, text).result()
    except BrokenProcessPool:
        _POOL.clear()
        raise Refused("LLVM ended its process") from None
    except RuntimeError as error:
        raise Refused(str(error)) from None


def _print(text: str) -> str:
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text, context=llvm.create_context())
    module.verify()
    return str(module)


def comparable(text: str) -> str:
    """LLVM's print without comments, attribute groups put in their places."""
    groups = dict(re.findall(r"^attributes (#\d+) = \{(.*)\}$", text, re.MULTILINE))
    text = re.sub(r"^(attributes #|;).*\n", "", text, flags=re.MULTILINE)
    return re.sub(r" (#\d+)\b", lambda m: f" {{{groups[m[1]]}}}" if m[1] in groups else m[0], text)
