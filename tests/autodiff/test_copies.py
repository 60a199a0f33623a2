"""Copies of functions, for some of their calls."""

from __future__ import annotations

from deriving import prepared

from llgrad import llvm
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.transforms.legalize.clone_for_activity import copies_of

LOOP = "double f(double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }"


def test_copies_have_loops_in_places_of_their_own() -> None:
    """LLVM drops all debug info where the metadata of a loop says that it lies in another function."""
    module = parse(prepared(LOOP, level=1, flags=("-g",)))
    assert copies_of(module, [module.function("f")])["f"].name == "f.copy.1"
    text = llvm.verified(write(module)).text()
    assert text.count("!llvm.loop") == 2
    assert text.count("DISubprogram") >= 2
