"""Before bits of floats are looked at: they stand in the functions that change them and, unoptimised, in values.

    %p = alloca i64
    store i64 9223372036854775807, ptr %p        →      %m = and i64 %x, 9223372036854775807
    %c = load i64, ptr %p
    %m = and i64 %x, %c
"""

from __future__ import annotations

from llgrad.transforms.floatbits.rounding import may_have_steps
from llgrad.transforms.floatbits.sign_bits import changes_bits, may_have_signs
from llgrad.transforms.pass_manager import LLVM, Unit, some_body

_TIDY = ("sroa", "sccp", "dce")


def show_bits(unit: Unit, level: int) -> bool:
    """Inline what is to be inlined; at level 0, variables of functions that change bits, or round, become values."""
    text = unit.text()
    inlined = "alwaysinline" in text and changes_bits(text)
    if inlined:
        unit.llvm().run(("always_inliner", "global_dce"))
        unit.changed(LLVM)
    shown = not level and unit.concerns(some_body(_has_bits_or_steps))
    found = unit.ir().concerned(_has_bits_or_steps) if shown else []
    for f in found:
        unit.llvm().run(_TIDY, function=f.name)
    if found:
        unit.changed(LLVM)
    return inlined or bool(found)


def _has_bits_or_steps(text: str) -> bool:
    return may_have_signs(text) or may_have_steps(text)


__all__ = ["show_bits"]
