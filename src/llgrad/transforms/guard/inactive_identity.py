"""An identity of numbers that has no derivative, opaque to LLVM until synthesis is done.

    %y = call double @llgrad.ignore.double(double %x)
"""

from __future__ import annotations

from llgrad.ir.build import declare
from llgrad.ir.module import Module
from llgrad.ir.types import Type, dotted
from llgrad.ir.values import Attribute, Function

INACTIVE = "enzyme_inactive"  # attribute of calls, metadata of all instructions
IGNORE = "llgrad.ignore."


def ignoring(module: Module, t: Type) -> Function:
    """The identity of numbers of type `t` that has no derivative."""
    f = declare(module, IGNORE + dotted(t), t, [t])
    f.attributes = (
        Attribute("nounwind"), Attribute("willreturn"), Attribute("memory", "none"),
        Attribute(INACTIVE, string=True),
    )  # fmt: skip
    return f
