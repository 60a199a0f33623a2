"""Random functions of pointers that overlap as they are called: the two versions of a derivative, and what they test.

    python tests/overlaps.py --seed 1000 --count 200

Of each function: what it touches, as a recording build counts it, lies within `analysis.memory.access_ranges` wherever
these hold; and its derivatives, by reverse and by forward mode, are the same with two versions as with one, whatever
overlaps.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

from llgrad.analysis.memory.access_ranges import extents
from llgrad.analysis.memory.entry_polynomials import Refused, argument_name
from llgrad.analysis.memory.polynomial_bounds import Unbounded, Writer
from llgrad.frontends import find_compiler
from llgrad.llvm import LLVMModule
from llgrad.programs import noalias_versions, program, resolving
from llgrad.programs.derivatives import derivative

POINTERS = "xyz"
CELLS, MIDDLE = 1600, 800  # doubles of memory; where the pointers start, about
POINTS = [(0, 0), (1, 3), (4, 2), (5, 5), (-2, 3), (3, 6), (7, 1)]
HEAD = """
extern int enzyme_const, enzyme_dup;
void __enzyme_autodiff(void *, ...);
void __enzyme_fwddiff(void *, ...);
#ifdef RECORD
long record[3][2];
static double *at(int q, double *p, long e)
{
    if (e < record[q][0]) record[q][0] = e;
    if (e + 1 > record[q][1]) record[q][1] = e + 1;
    return p + e;
}
#define A(q, p, e) (*at(q, p, (long)(e)))
#else
#define A(q, p, e) ((p)[e])
#endif
"""
ASK = """
#define GIVEN enzyme_const, n, enzyme_const, m, enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_dup, z, dz
#define TAKEN int n, int m, double *x, double *dx, double *y, double *dy, double *z, double *dz
void reverse_{0}(TAKEN) {{ __enzyme_autodiff((void *){0}, GIVEN); }}
void forward_{0}(TAKEN) {{ __enzyme_fwddiff((void *){0}, GIVEN); }}
"""


class Generator:
    """One random function, and a helper that it calls."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0

    def source(self, name: str) -> str:
        """`void name(int n, int m, double *x, double *y, double *z)`."""
        for _ in range(self.draw.randint(1, 3)):
            self.nest(1, [], self.draw.randint(1, 3))
        kind = self.draw.choice(("", "", "static "))
        helper = (
            f"__attribute__((noinline)) {kind}double sum_{name}(int n, const double *p, int q)\n{{\n    double s = 0;\n"
            f"    for (int i = 0; i < n; i++) s += 0.01 * A(q, (double *)p, i);\n    return s;\n}}\n"
        )
        body = "\n".join(self.lines).replace("HELPER", f"sum_{name}")
        head = f"__attribute__((noinline)) void {name}(int n, int m, double *x, double *y, double *z)"
        return f"{helper}{head}\n{{\n{body}\n}}\n"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def limit(self, outer: list[str]) -> str:
        choices = ["n", "n", "m", "n - 1", "m + 1", "2 * n", "n - m", "n / 2", "4"]
        choices += [v for v in outer] + [f"{v} + 1" for v in outer] + [f"n - {v}" for v in outer]
        choices += ["(n < m ? n : m)", "n % 4"]
        return self.draw.choice(choices)

    def nest(self, depth: int, outer: list[str], left: int) -> None:
        v = f"i{self.names}"
        self.names += 1
        low = self.draw.choice(["0", "0", "0", "1", "2", *outer, *(f"{o} + 1" for o in outer)])
        high = self.limit(outer)
        t = self.draw.choice(("int", "int", "int", "long"))
        kind = self.draw.randrange(9)
        if kind == 0:
            self.put(depth, f"for ({t} {v} = {high}; {v} > {low}; {v}--) {{")
        elif kind == 1:
            self.put(depth, f"for ({t} {v} = {high} - 1; {v} >= {low}; {v}--) {{")
        elif kind == 2:
            self.put(depth, f"for ({t} {v} = {low}; {v} < {high}; {v} += {self.draw.choice((2, 3, 4))}) {{")
        elif kind == 3:
            self.put(depth, f"for (unsigned {v} = 0; n > 0 && {v} < (unsigned)n; {v}++) {{")
        elif kind == 4:
            self.put(depth, f"for ({t} {v} = {low}; {v} <= {high}; {v}++) {{")
        elif kind == 5:
            self.put(depth, f"for ({t} {v} = {low}; {v} != ({high} > {low} ? {high} : {low}); {v}++) {{")
        else:
            self.put(depth, f"for ({t} {v} = {low}; {v} < {high}; {v}++) {{")
        v = f"(int){v}" if kind == 3 else v
        inner = [*outer, v]
        if self.draw.random() < 0.15:
            last, leave = self.draw.choice(("m", "3", "n - 1")), self.draw.choice(("break", "continue"))
            self.put(depth + 1, f"if ({v} == {last}) {leave};")
        if left > 1 and self.draw.random() < 0.7:
            self.nest(depth + 1, inner, left - 1)
        for _ in range(self.draw.randint(1, 2)):
            self.statement(depth + 1, inner)
        self.put(depth, "}")

    def index(self, loops: list[str]) -> str:
        v, w = self.draw.choice(loops), self.draw.choice(loops)
        choices = [
            v, v, v, f"{v} + 1", f"{v} - 1", f"{v} * n + {w}", f"{v} * m + {w}", f"n - 1 - {v}", f"2 * {v}",
            f"{v} + {w}", f"{v} - {w}", f"{v} % 3", f"{v} / 2", f"({v} & 3)", f"{v} * ({v} + 1) / 2 + {w}",
            f"({v} > 0 ? {v} - 1 : n)", f"(int)({v} * {w})", "0", "n", f"({v} + 1 < n ? {v} + 1 : 0)", f"(short){v}",
            f"({v} ^ 1)", f"(unsigned char){v}",
        ]  # fmt: skip
        return self.draw.choice(choices)

    def cell(self, loops: list[str]) -> str:
        q = self.draw.randrange(3)
        return f"A({q}, {POINTERS[q]}, {self.index(loops)})"

    def statement(self, depth: int, loops: list[str]) -> None:
        if self.draw.random() < 0.2:
            self.put(depth, f"if ({self.draw.choice(loops)} {self.draw.choice(('> 0', '% 2 == 0', '< n - 1'))})")
            depth += 1
        target, a, b = (self.cell(loops) for _ in range(3))
        if self.draw.random() < 0.2:
            q = self.draw.randrange(3)
            self.put(depth, f"{target} = 0.5 * {target} + HELPER({self.limit(loops)}, {POINTERS[q]}, {q});")
        elif self.draw.random() < 0.5:
            self.put(depth, f"{target} = 0.4 * {target} + 0.3 * {a} * {b};")
        else:
            self.put(depth, f"{target} += 0.2 * {a} - 0.1 * {b} * {b};")


@dataclass
class Found:
    """Calls, and those for which extents are known."""

    calls: int = 0
    held: int = 0


def assembly(source: Path) -> bytes:
    """C as LLVM assembly, not optimised yet."""
    compiler = find_compiler()
    words = [*compiler.c, *compiler.flags, "-w", "-O2", "-Xclang", "-disable-llvm-passes", "-fPIC", "-S", "-emit-llvm"]
    return subprocess.run([*words, str(source), "-o", "-"], check=True, stdout=subprocess.PIPE).stdout


def built(folder: Path, seeds: list[int]) -> dict[str, ctypes.CDLL]:
    """The functions recording, with derivatives in one version and in two, and what computes their extents."""
    compiler = find_compiler()
    names = [f"f{s}" for s in seeds]
    text = HEAD + "".join(Generator(s).source(f"f{s}") for s in seeds)
    source, ask = folder / "f.c", folder / "ask.c"
    source.write_text(text)
    ask.write_text(text + "".join(ASK.format(n) for n in names))
    words = [*compiler.c, *compiler.flags, "-w"]
    made = {}

    def shared(name: str, given: Path, *more: str) -> None:
        library = str(folder / f"{name}.so")
        subprocess.run([*words, *more, "-shared", "-fPIC", str(given), "-o", library, "-lm"], check=True)
        made[name] = ctypes.CDLL(library)

    shared("record", source, "-DRECORD", "-O1", "-fwrapv")
    shared("extents", _extents(folder, ask, names), "-O1", "-Wno-override-module")
    raw = assembly(ask)
    for name, chosen in (("two", noalias_versions.dispatched), ("one", derivative)):
        after = folder / f"{name}.ll"
        with mock.patch.object(resolving, "dispatched", chosen):
            after.write_text(program.optimise_program(program.read_ir(raw), 2, "x86-64").text())
        shared(name, after, "-O1", "-Wno-override-module")
    return made


def _extents(folder: Path, ask: Path, names: list[str]) -> Path:
    """LLVM assembly that computes each function's extents: `e_NAME(n, m, out)`, out of failed, and 3 × low, high."""
    whole = LLVMModule.from_text(assembly(ask).decode())
    parts = [noalias_versions.INTRINSICS]
    for name in names:
        module = resolving._prepared_static(whole, name, 2).take()
        root = module.function(f"llgrad.root.{name}")
        w = Writer()
        rows: list[object] = ["true", 0, 0, 0, 0, 0, 0]
        try:
            e = extents(module, root)
            for p, low, high in e.needs:
                w.within(p, low, high)
            for a, touched in e.touched.items():
                rows[2 * a.index - 3 : 2 * a.index - 1] = touched.write(w)
            rows[0] = "false"
        except (Refused, Unbounded) as reason:
            print(f"{name}: {reason}", file=sys.stderr)
            w = Writer()
        failures = w.failed()
        lines = [*w.lines]
        total = rows[0]
        for n, failed in enumerate(failures):
            lines.append(f"%t{n} = or i1 {total}, {failed}")
            total = f"%t{n}"
        lines.append(f"%failed = zext i1 {total} to i64")
        for n, v in enumerate(["%failed", *rows[1:]]):
            lines += [f"%o{n} = getelementptr i64, ptr %out, i64 {n}", f"store i64 {v}, ptr %o{n}"]
        body = "\n".join(f"  {x}" for x in lines)
        sizes = [argument_name(a) for a in root.arguments[:2]]
        parts.append(f"define void @e_{name}(i32 {sizes[0]}, i32 {sizes[1]}, ptr %out) {{\n{body}\n  ret void\n}}\n")
    path = folder / "extents.ll"
    path.write_text("\n".join(parts))
    return path


def checked(seeds: list[int], found: Found) -> list[str]:
    """What is wrong with these functions."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        made = built(Path(folder), seeds)
        for seed in seeds:
            wrong += _touched(made, seed, found)
            wrong += _derivatives(made, seed)
    return wrong


def _touched(made: dict[str, ctypes.CDLL], seed: int, found: Found) -> list[str]:
    wrong = []
    record = (ctypes.c_long * 6).in_dll(made["record"], "record")
    for n, m in POINTS:
        out = (ctypes.c_long * 7)()
        made["extents"][f"e_f{seed}"](n, m, out)
        found.calls += 1
        if out[0]:
            continue
        found.held += 1
        record[:] = [10**6, -(10**6)] * 3
        memory = np.zeros((3, CELLS))
        made["record"][f"f{seed}"](n, m, *(ctypes.c_void_p(row[MIDDLE:].ctypes.data) for row in memory))
        for q, p in enumerate(POINTERS):
            low, high = record[2 * q], record[2 * q + 1]
            if low < high and not (out[1 + 2 * q] <= 8 * low and 8 * high <= out[2 + 2 * q]):
                wrong.append(f"f{seed}({n}, {m}): {p} {low}:{high}, but {out[1 + 2 * q] / 8}:{out[2 + 2 * q] / 8}")
    return wrong


def _derivatives(made: dict[str, ctypes.CDLL], seed: int) -> list[str]:
    wrong = []
    draw = np.random.default_rng(seed)
    for n, m in POINTS[1:]:
        reach = int(draw.choice([1, 4, 12, 40, 200]))
        at = [MIDDLE + int(k) for k in draw.integers(-reach, reach + 1, 3)]
        shadow_at = at if draw.random() < 0.7 else [MIDDLE + int(k) for k in draw.integers(-reach, reach + 1, 3)]
        memory, shadow = draw.normal(size=CELLS), draw.normal(size=CELLS)
        for way in ("reverse", "forward"):
            if way == "forward" and shadow_at != at:
                continue
            results = []
            for library in ("one", "two"):
                x, d = memory.copy(), shadow.copy()
                pairs = [(x[a:], d[s:]) for a, s in zip(at, shadow_at, strict=True)]
                places = [ctypes.c_void_p(part.ctypes.data) for pair in pairs for part in pair]
                made[library][f"{way}_f{seed}"](n, m, *places)
                results.append((x, d))
            for what, one, two in zip(("memory", "shadow"), *results, strict=True):
                if not np.allclose(one, two, rtol=1e-9, atol=1e-12, equal_nan=True):
                    wrong.append(f"f{seed}({n}, {m}) {way}: {what} differs at {at}, {shadow_at}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    if options.print:
        print(Generator(options.seed).source(f"f{options.seed}"))
        return 0
    wrong, found = 0, Found()
    for start in range(options.seed, options.seed + options.count, options.batch):
        for sentence in checked(list(range(start, min(start + options.batch, options.seed + options.count))), found):
            print(sentence, flush=True)
            wrong += 1
    print(f"{options.count} functions, {found.held} of {found.calls} calls with extents, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
