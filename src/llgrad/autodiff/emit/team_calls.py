"""What the threads of a team do in a reverse sweep: add to adjoints that others add to, and wait for each other.

    atomicrmw fadd ptr %x.shadow, double %y.adj monotonic, align 8
    call void @llgrad.team.back.end_critical(ptr @lock, i64 %number)
"""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.errors import UnsupportedError
from llgrad.ir.build import Builder
from llgrad.ir.module import Module
from llgrad.ir.types import VOID, DataLayout, FloatType, Type, VectorType
from llgrad.ir.values import AnyValue, Other
from llgrad.transforms.canonical.teams import declared


def add_atomically(
    b: Builder, layout: DataLayout, address: AnyValue, t: Type, value: AnyValue, align: int = 0
) -> None:
    """Add to the float, or the vector of floats, at an address that is aligned so (0: as its floats want it).

    Raises UnsupportedError where no processor can.
    """
    size = layout.size(t.element if isinstance(t, VectorType) else t)
    if isinstance(t, VectorType):
        for n in range(t.count):
            add_atomically(b, layout, b.offset(address, n * size), t.element, b.extract_element(value, n), align)
        return
    if not isinstance(t, FloatType) or t.bits not in (32, 64) or 0 < align < size:
        raise UnsupportedError(f"adjoints of type {t}, aligned to {align or size} bytes, that threads of a team share")
    detail = {"operation": "fadd", "align": size, "ordering": "monotonic", "syncscope": ""}
    b.insert(Other("atomicrmw", t, [address, value], detail=detail))


def mirror(b: Builder, module: Module, name: str, given: Sequence[AnyValue]) -> None:
    """Wait as in the forward sweep: what began a section ends it here, and what ended it begins it, in its turn."""
    way = name if name == "barrier" else f"back.{name}"
    b.call(declared(module, way, VOID, [v.type for v in given]), given)
