"""Address and memory sanitizer over emitted IR: clang's own passes, at nearly native speed.

    address   no access out of bounds or of what was released, no leak of tape or shadow
    memory    nothing depends on what was never written; what functions of the C++ library wrote is not seen, so that a
              program that calls such (lists and trees do) takes the other one

Every block of the tape is a malloc then (LLGRAD_ARENA=malloc), so that its bounds are seen.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.frontends import find_compiler

KINDS = ("address", "memory")


def sanitized(text: str, kind: str) -> str:
    """The module with every function marked for the sanitizer: what did not come from C with its flag is not."""
    word = f"sanitize_{kind}"
    text = re.sub(r"^(attributes #\d+ = \{)", rf"\1 {word}", text, flags=re.MULTILINE)
    bare = r"^(define (?![^\n]*\) [^\n]*#\d)[^\n]*?)((?: personality [^\n]*?)?(?: ![^\n]*)? \{)$"
    return re.sub(bare, rf"\1 {word}\2", text, flags=re.MULTILINE)


def link(module: Path, program: Path, kind: str, *, cxx: bool, words: Sequence[str] = ()) -> None:
    """An executable of a module in LLVM assembly, sanitized where the compiler can; `words` are for the compiler."""
    compiler = find_compiler()
    flags: list[str] = []
    text = module.read_text()
    kind = "address" if kind == "memory" and is_library_used(text) else kind
    if available(kind):
        module.write_text(sanitized(text, kind))
        flags = [f"-fsanitize={kind}"]
    start = [*(compiler.cxx if cxx else compiler.c), *compiler.flags, *flags, "-w", "-O1"]
    subprocess.run([*start, str(module), "-o", str(program), *words, "-lm"], check=True)


def is_library_used(text: str) -> bool:
    """Are functions of the C++ library called that may write memory?"""
    names = re.findall(r"^declare [^@\n]*@(_ZN?K?St\w+)\(", text, re.MULTILINE)
    return any("throw" not in name and "terminate" not in name for name in names)


@functools.cache
def available(kind: str) -> bool:
    """Does a program that is built so run?"""
    compiler = find_compiler()
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "empty.c"), Path(folder, "empty")
        source.write_text("int main(void) { return 0; }")
        words = [*compiler.c, *compiler.flags, f"-fsanitize={kind}", str(source), "-o", str(program)]
        if subprocess.run(words, check=False, capture_output=True).returncode:
            return False
        return subprocess.run([program], check=False, capture_output=True).returncode == 0


# --- what must be found -------------------------------------------------------------------------------------------

_BAD = """
#include <stdlib.h>
extern int enzyme_dup, enzyme_const;
void __enzyme_autodiff(void *, ...);
void *(*volatile allocate)(size_t, size_t) = calloc;  /* volatile: so that no optimiser knows what is allocated */
void *(*volatile allocate_only)(size_t) = malloc;
void (*volatile release)(void *) = free;
static double f(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}
int main(void) {
    double *x = (double *)allocate(4, sizeof(double)), *d = (double *)WAY;
    for (int i = 0; i < 4; i++)
        x[i] = i;
    __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, 4);
    int positive = d[1] > 0;
    release(x);
    FREE
    return !positive;
}
"""

MISTAKES = {
    "shadow not cleared": ("allocate_only(4 * sizeof(double))", "release(d);"),
    "shadow too short": ("allocate(3, sizeof(double))", "release(d);"),
    "shadow leaked": ("allocate(4, sizeof(double))", "d = 0;"),
}


def with_mistake(name: str) -> str:
    """A program in C whose caller of a derivative makes one of the `MISTAKES`."""
    way, free = MISTAKES[name]
    return _BAD.replace("WAY", way).replace("FREE", free)
