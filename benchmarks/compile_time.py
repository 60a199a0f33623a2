"""`make bench-compile`: what differentiating costs, from LLVM assembly to an object file, against Enzyme and clang.

Programs of 1,000 to 20,000 lines, all of them differentiated, and one of 100,000 of which little is: functions of some
twenty lines of C, each with two loops, calls, allocation and a branch, called one after another. llgrad runs in a warm
process; Enzyme is its tool, then clang -O2 on what that wrote; clang alone compiles the same assembly without a
derivative. All figures are CPU seconds. Then the library's own promises: how long `import llgrad` takes, the first
gradient of ADBench's GMM, and the same in a second process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import native

KERNEL = """
__attribute__((noinline)) static double helper@(double x, double y)
{
    if (x > y) return x * y + @.5;
    return sin(x) * exp(-y * y / (@ + 2.0));
}
struct sums@ { double a, b[3]; int n; };
__attribute__((noinline)) void kernel@(const double *restrict x, double *restrict y, int n, int m)
{
    double *t = malloc(sizeof(double) * m);
    struct sums@ s = {0};
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = 0; j < m; j++) {
            t[j] = helper@(x[i * m + j], x[j]) * @.25;
            sum += t[j] * t[j] + log(1.0 + x[j] * x[j]);
        }
        s.a += sum, s.b[i % 3] += sqrt(1.0 + sum * sum), s.n++;
        for (int j = 0; j < m; j++) y[i * m + j] = t[j] / (1.0 + sum) + (j > 2 ? tanh(t[j]) : s.b[j % 3]);
    }
    double w = s.a;
    for (int k = 0; k < n && w > @ + 10.0; k++) w = w * 0.5, y[k] += w * x[k + 1];
    free(t);
}
"""
HEAD = """#include <math.h>
#include <stdlib.h>
extern int enzyme_const, enzyme_dup;
void __enzyme_autodiff(void *, ...);
"""
ROOT = """
__attribute__((noinline)) double objective(double *x, double *y, int n, int m)
{
    double r = 0.0;
@    return r;
}
void gradient(double *x, double *dx, double *y, double *dy, int n, int m)
{
    __enzyme_autodiff((void *)objective, enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, n, enzyme_const, m);
}
"""
PROGRAMS = {"all": ((3, 3), (15, 15), (58, 58)), "little": ((320, 2),)}  # functions, and how many are differentiated


def source(functions: int, used: int) -> str:
    """A program of many functions, the first of which the objective calls."""
    calls = "".join(
        f"    kernel{n}({'x, y' if n % 2 == 0 else 'y, x'}, n, m), r += y[{n % 5}] * x[{n % 3}];\n" for n in range(used)
    )
    return HEAD + "".join(KERNEL.replace("@", str(n)) for n in range(functions)) + ROOT.replace("@", calls)


def spent(command: list[str | Path]) -> float:
    """CPU seconds of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_llgrad(path: Path) -> float:
    """CPU seconds in this process, from text to object."""
    from llgrad.llvm import LLVMModule, emit_object
    from llgrad.programs.program import optimise_program

    start = process_time()
    emit_object(optimise_program(LLVMModule.read(path.read_bytes()), 2, "x86-64"), "x86-64", 2)
    return process_time() - start


def parsing(path: Path) -> float:
    """CPU seconds to read the text and to print it."""
    from llgrad.llvm import LLVMModule

    start = process_time()
    LLVMModule.read(path.read_bytes()).text()
    return process_time() - start


def differentiating(path: Path) -> float:
    """CPU seconds to read the text, put derivatives in and print it; LLVM optimises what is differentiated alone."""
    from llgrad.llvm import LLVMModule
    from llgrad.programs.program import optimise_program

    start = process_time()
    optimise_program(LLVMModule.read(path.read_bytes()), 0, "x86-64", before=2).text()
    return process_time() - start


def by_enzyme(path: Path) -> float:
    """CPU seconds of its tool, and of clang on what that wrote."""
    after = path.with_suffix(".after.ll")
    tool = spent([sys.executable, "-S", native.ROOT / "benchmarks" / "enzyme_reference", path, after])
    return tool + spent([*native.clang(), "-O2", "-w", "-c", after, "-o", path.with_suffix(".o")])


def by_clang(path: Path) -> float:
    """CPU seconds of clang without a derivative."""
    return spent([*native.clang(), "-O2", "-w", "-c", path, "-o", path.with_suffix(".o")])


def programs(folder: Path) -> list[dict[str, object]]:
    """One row a program: its lines, and the CPU times (of small programs the least of three)."""
    work = [(what, n, used) for what, sizes in PROGRAMS.items() for n, used in sizes]
    rows: list[dict[str, object]] = []
    for what, n, used in track(work, "compiling", transient=True):
        c, path = folder / f"p{n}.c", folder / f"p{n}.ll"
        c.write_text(source(n, used))
        raw = ("-std=gnu11", "-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm")
        spent([*native.clang(), *raw, c, "-o", path])
        if not rows:
            by_llgrad(path)  # imports
        row: dict[str, object] = {"differentiated": what, "lines": path.read_text().count("\n")}
        tools: dict[str, Callable[[Path], float]] = {
            "clang": by_clang, "parsing": parsing, "differentiating": differentiating, "llgrad": by_llgrad,
            "enzyme": by_enzyme,
        }  # fmt: skip
        for name, tool in tools.items():
            try:
                row[name] = min(tool(path) for _ in range(3 if n < 10 else 1))
            except subprocess.CalledProcessError:
                row[name] = None
        rows.append(row)
    return rows


GMM = """import sys, time
start = time.process_time()
import llgrad
imported = time.process_time()
import numpy, llgrad.api.derivatives, llgrad.execution.library, llgrad.llvm
from examples.adbench.instances import HERE, read_gmm
arguments = read_gmm().arguments()
began = time.process_time()
df = llgrad.value_and_grad(llgrad.load(HERE / "gmm.c").gmm_objective, wrt=("alphas", "means", "icf"), of="err")
ready = time.process_time()
df(*arguments)
print(imported - start, ready - began)
"""


def promises() -> dict[str, float]:
    """Seconds of CPU: `import llgrad`; load and gradient of GMM, without a cache and with one."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "LLGRAD_CACHE": cache}
        runs = []
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", GMM], capture_output=True, text=True, env=environment,
                                  cwd=native.ROOT, check=True)  # fmt: skip
            runs.append([float(word) for word in done.stdout.split()])
    imported = min(run[0] for run in runs)
    again = min(run[1] for run in runs[1:])
    return {"import llgrad": imported, "GMM, first time": runs[0][1], "GMM, from the cache": again}


def shown(rows: list[dict[str, object]]) -> Table:
    """Seconds and ratios."""
    table = Table(title="From LLVM assembly to an object: CPU seconds", title_justify="left")
    headings = ("differentiated", "lines", "clang alone", "read and print", "the same with derivatives", "llgrad",
                "Enzyme, then clang", "llgrad ÷ Enzyme", "llgrad: ms a line")  # fmt: skip
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "differentiated" else "right")
    for row in rows:
        mine, theirs = row["llgrad"], row["enzyme"]
        assert isinstance(mine, float) and isinstance(row["lines"], int)
        share = f"{mine / theirs:.2f}" if isinstance(theirs, float) else ""
        values = [row[name] for name in ("clang", "parsing", "differentiating", "llgrad", "enzyme")]
        seconds = [f"{v:.2f}" if isinstance(v, float) else "-" for v in values]
        each = f"{1e3 * mine / row['lines']:.2f}"
        table.add_row(str(row["differentiated"]), f"{row['lines']:,}", *seconds, share, each)
    return table


def main() -> int:
    """Measures and prints; writes `build/compile.json`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=native.ROOT / "build" / "compile.json")
    options = parser.parse_args()
    console = Console()
    console = Console(width=max(console.width, 110))
    folder = Path(tempfile.mkdtemp(prefix="llgrad-compile-"))
    try:
        rows = programs(folder)
    finally:
        shutil.rmtree(folder)
    console.print(shown(rows))
    kept = promises()
    for what, seconds in kept.items():
        console.print(f"{what}: {seconds * 1e3:.0f} ms", highlight=False)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"programs": rows, "promises": kept}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
