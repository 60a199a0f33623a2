"""Additions to memory to which other threads add at the same time.

    %old = load double, ptr %p
    %new = fadd double %old, %x     ->     atomicrmw fadd ptr %p, double %x monotonic, align 8
    store double %new, ptr %p
"""

from __future__ import annotations

from llgrad.errors import Span, UnsupportedError
from llgrad.ir.build import Builder
from llgrad.ir.types import FloatType, Type, VectorType
from llgrad.ir.values import AnyValue, Other


def add_atomically(
    b: Builder, address: AnyValue, t: Type, value: AnyValue, align: int, span: Span | None = None
) -> None:
    """Add a float, or a vector of floats, whose lanes are added one by one; `align` 0: as floats want it.

    Raises UnsupportedError where no processor can.
    """
    if isinstance(t, VectorType):
        size = t.element.bits // 8 if isinstance(t.element, FloatType) else 0
        for n in range(t.count):
            lane = b.extract_element(value, n)
            add_atomically(b, b.offset(address, n * size), t.element, lane, min(align, size), span)
        return
    if not isinstance(t, FloatType) or t.name not in ("float", "double") or 0 < align < t.bits // 8:
        raise UnsupportedError(
            f"no atomic addition to adjoints of type {t}, aligned to {align}", span=span,
            cause="several threads may add to them at the same time", fix="use aligned memory of float or double",
        )  # fmt: skip
    said = {"operation": "fadd", "align": align or t.bits // 8, "ordering": "monotonic", "syncscope": ""}
    b.insert(Other("atomicrmw", t, [address, value], detail=said))
