"""How fast LLVM assembly is read: `python -m benchmarks.parse_speed [files.ll]`.

Without files, the sources of `tests/ir/corpus` are compiled at -O0 and at -O2 -g. Every body and initializer is forced.
Reports the time for 50,000 lines of function bodies (the goal is 3 s), and for writing and verifying them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import llvmlite.binding as llvm

from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.verify import verify
from llgrad.ir.write import write

CORPUS = Path(__file__).parents[1] / "tests" / "ir" / "corpus"
EIGEN = Path("/usr/include/eigen3")


def compiled(folder: Path) -> list[Path]:
    """The corpus as LLVM assembly."""
    found = shutil.which("clang-22")
    outputs = []
    for source in sorted(CORPUS.glob("*.c*")):
        if "eigen" in source.name and not EIGEN.is_dir():
            print(f"without {source.name}: Eigen is not installed")
            continue
        driver = "c++" if source.suffix == ".cpp" else "cc"
        clang = [found] if found else [sys.executable, "-m", "ziglang", driver]
        for options in (["-O0"], ["-O2", "-g"]):
            out = folder / f"{source.name}{''.join(options)}.ll"
            words = [*clang, *options, "-isystem", str(EIGEN), "-w"]
            subprocess.run([*words, "-S", "-emit-llvm", str(source), "-o", str(out)], check=True)
            outputs.append(out)
    return outputs


def body_lines(text: str) -> int:
    """Lines between the braces of definitions."""
    inside, count = False, 0
    for line in text.splitlines():
        if line.startswith("define"):
            inside = True
        elif line == "}":
            inside = False
        elif inside:
            count += bool(line)
    return count


def forced(text: str) -> Module:
    module = parse(text)
    for function in module.functions:
        assert function.blocks is not None
    for variable in module.variables:
        assert variable.initializer is not None or variable.is_declaration
    return module


def measure(texts: list[str], repeat: int = 3) -> dict[str, float]:
    """Seconds to parse, write and verify all the texts, the best of some runs each."""
    best = {"parse": float("inf"), "write": float("inf"), "verify": float("inf")}
    for _ in range(repeat):
        spent = dict.fromkeys(best, 0.0)
        for text in texts:
            start = time.process_time()
            module = forced(text)
            parsed = time.process_time()
            write(module)
            written = time.process_time()
            verify(module)
            spent["parse"] += parsed - start
            spent["write"] += written - parsed
            spent["verify"] += time.process_time() - written
        best = {k: min(best[k], spent[k]) for k in best}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as folder:
        sources = [p.read_text() for p in files or compiled(Path(folder))]
    texts = [str(llvm.parse_assembly(s, context=llvm.create_context())) for s in sources]
    lines = sum(map(body_lines, texts))
    print(f"{len(texts)} modules, {sum(t.count(chr(10)) for t in texts)} lines, {lines} of them in bodies")
    for what, seconds in measure(texts).items():
        print(f"{what:7}{seconds:8.2f} s   {seconds / lines * 50_000:6.2f} s for 50,000 lines of bodies")


if __name__ == "__main__":
    main()
