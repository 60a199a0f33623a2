"""Threads wait for each other in a reverse sweep: those of a team of OpenMP, and those of a GPU.

    call void @llgrad.team.back.end_critical(ptr @lock, i64 %number)
"""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.ir.build import Builder, declare
from llgrad.ir.module import Module
from llgrad.ir.types import VOID
from llgrad.ir.values import AnyValue, Attribute
from llgrad.models.gpu import BLOCK
from llgrad.transforms.canonical.teams import declared


def mirror(b: Builder, module: Module, name: str, given: Sequence[AnyValue]) -> None:
    """Wait as in the forward sweep: what began a section ends it here, and what ended it begins it, in its turn."""
    way = name if name == "barrier" else f"back.{name}"
    b.call(declared(module, way, VOID, [v.type for v in given]), given)


def barrier(b: Builder, module: Module, name: str, given: Sequence[AnyValue]) -> None:
    """Wait for the threads of a GPU's block, or of a warp, by the function `name`."""
    given = given[:1] if name == BLOCK else given
    waits = declare(module, name, VOID, [a.type for a in given])
    waits.attributes = waits.attributes or (Attribute("convergent"), Attribute("nounwind"))
    b.call(waits, given)
