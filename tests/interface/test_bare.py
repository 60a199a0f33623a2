"""Bare LLVM assembly, as no front end writes it: each file of `bare` defines `double @f(double)`.

All become one module, with what each defines renamed; `llgrad opt` differentiates it forward and in reverse at once,
and a program compares with differences at three points.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from llgrad.cli import main
from llgrad.frontends import find_compiler

FILES = sorted(Path(__file__).with_name("bare").glob("*.ll"))
CHECK = """
#include <math.h>
#include <stdio.h>
static int failed;
static void check(const char *what, double (*f)(double), double (*reverse)(double), double (*forward)(double))
{
    for (int i = 0; i < 3; i++) {
        double x = 0.37 + 0.84 * i + 0.25 * (i > 1), h = 1e-5, wanted = (f(x + h) - f(x - h)) / (2 * h);
        double r = reverse(x), t = forward(x), within = 1e-5 * (1 + fabs(wanted));
        if (fabs(r - wanted) <= within && fabs(t - wanted) <= within)
            continue;
        printf("%s at %g: reverse %.9g, forward %.9g, wanted %.9g\\n", what, x, r, t, wanted);
        failed = 1;
    }
}
"""


def renamed(text: str, name: str) -> str:
    """The text of a file with its functions, variables, types and metadata under names of its own."""
    own = re.findall(r"^(?:define [^@\n]*)?([@%$][-\w.]+)(?= = |\()", text, re.MULTILINE)
    for symbol in dict.fromkeys(own):
        text = re.sub(rf"{re.escape(symbol)}(?![-\w.])", f"{symbol}.{name}", text)
    return re.sub(r"!(\d+)", lambda m: f"!{m[1]}{FILES.index(PATHS[name]):03}", text)


PATHS = {p.stem: p for p in FILES}


def asking(name: str) -> str:
    return "\n".join(
        f"define double @{way}_{name}(double %x) {{\n"
        f"  %r = call double (ptr, ...) @__enzyme_{call}(ptr @f.{name}, double %x{more})\n  ret double %r\n}}"
        for way, call, more in (("reverse", "autodiff", ""), ("forward", "fwddiff", ", double 1.0"))
    )


@pytest.mark.parametrize("level", [0, pytest.param(2, marks=pytest.mark.full)])
def test_bare_assembly(level: int, tmp_path: Path) -> None:
    names = list(PATHS)
    lines = "\n".join(renamed(PATHS[n].read_text(), n) for n in names).split("\n")
    declared = [line for line in lines if line.startswith("declare ")]
    text = "\n".join(line for line in lines if not line.startswith("declare "))
    text += "\n" + "\n".join({re.findall(r"@[-\w.$]+", line)[0]: line for line in declared}.values())
    text += "\ndeclare double @__enzyme_autodiff(ptr, ...)\ndeclare double @__enzyme_fwddiff(ptr, ...)\n"
    program, made = tmp_path / "all.ll", tmp_path / "derived.ll"
    program.write_text(text + "\n".join(map(asking, names)) + "\n")
    done = CliRunner().invoke(main, ["opt", str(program), "-o", str(made), "--level", str(level)])
    assert not done.exit_code, done.stderr
    calls = [f'    check("{n}", f_{n}, reverse_{n}, forward_{n});' for n in names]
    declarations = [
        f'double f_{n}(double) __asm__("f.{n}"), reverse_{n}(double), forward_{n}(double);' for n in names
    ]  # fmt: skip
    checks = tmp_path / "check.c"
    body = [CHECK, *declarations, "int main(void)", "{", *calls, "    return failed;", "}"]
    checks.write_text("\n".join(body) + "\n")
    compiler = find_compiler()
    words = [*compiler.c, *compiler.flags, "-O1", "-w", str(made), str(checks), "-o", str(tmp_path / "checks"), "-lm"]
    subprocess.run(words, check=True)
    found = subprocess.run([str(tmp_path / "checks")], capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 0, found.stdout or f"status {found.returncode}"
