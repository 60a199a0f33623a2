"""Functions that are used in one place, which LLVM inlines before it does anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from llgrad.llvm.assembly import DEFINITION, names_in, plain, spelt
from llgrad.transforms.contexts import Finishing, Linking
from llgrad.transforms.pass_manager import LLVM, Unit

_MOST_INLINED = 4_000  # lines, before they are simplified


def used_once(text: str, names: Collection[str]) -> list[str]:
    """Those of these functions that are used in one place, so that LLVM inlines them in the end.

    Told to do so first, it does not simplify them by themselves before.
    """
    used = Counter(names_in(text))
    sizes = {plain(m[2]): text.count("\n", m.end(), text.find("\n}\n", m.end())) for m in DEFINITION.finditer(text)}
    return [n for n in names if used[spelt(n)] == 2 and sizes.get(n, 0) <= _MOST_INLINED]


def note_single_uses(unit: Unit, c: Finishing) -> bool:
    """Note which of the functions to be inlined are used once, before the runtime is linked."""
    c.once = used_once(unit.text() + c.others + c.last, c.inlined)
    return False


def inline_once(unit: Unit, c: Finishing | Linking) -> bool:
    """Have LLVM inline local functions that are used in one place before it does anything else."""
    unit.llvm().mark(["alwaysinline"], used_once(unit.text(), c.inlined) if c.once is None else c.once)
    unit.changed(LLVM)
    return True
