"""Atomic additions where memory may be the thread's own, for which PTX has none.

    %cell = alloca double
    atomicrmw fadd ptr %cell, double %x     ->     a load, a sum and a store
    atomicrmw fadd ptr %p, double %x        ->     call void @llgrad.gpu.add.double(ptr %p, double %x)

A pointer that leads to a kernel's argument or a variable stays as it is: those are global or shared memory. What is
called (`runtime`) asks for the address space when it runs.
"""

from __future__ import annotations

from llgrad.gpu.host_view import KERNELS
from llgrad.ir.build import declare
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, bodies, erase, local_names
from llgrad.ir.types import PTR, VOID, FloatType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Cast,
    ConstExpr,
    GetElementPtr,
    GlobalVariable,
    Other,
)
from llgrad.models.gpu import ADD


def with_own_additions(module: Module) -> bool:
    """Write such additions in other words; are there any?"""
    changed = False
    for f in bodies(module, "atomicrmw "):
        names = local_names(f)
        for i in [i for i in f.instructions() if isinstance(i, Other) and _adds(i) and not i.users]:
            place, value = i.operands
            base = _base(place)
            if isinstance(base, GlobalVariable):
                continue
            if isinstance(base, Argument) and f.calling_convention == KERNELS and base.attribute("byval") is None:
                continue
            b = before(i, names)
            if isinstance(base, Alloca):
                align = i.detail["align"]
                b.store(b.binary("fadd", b.load(value.type, place, "", align), value), place, align)
            else:
                b.call(declare(module, f"{ADD}{value.type}", VOID, [PTR, value.type]), [place, value])
            erase(i)
            changed = True
    return changed


def _adds(i: Other) -> bool:
    t = i.operands[-1].type if i.operands else VOID
    adds = i.opcode == "atomicrmw" and i.detail["operation"] == "fadd"
    return adds and isinstance(t, FloatType) and t.name in ("float", "double")


def _base(pointer: AnyValue) -> AnyValue:
    """What a pointer is made of by offsets alone."""
    while True:
        match pointer:
            case GetElementPtr():
                pointer = pointer.operands[0]
            case Cast(opcode="bitcast" | "addrspacecast", value=inner):
                pointer = inner
            case ConstExpr(opcode="bitcast" | "addrspacecast" | "getelementptr", operands=(inner, *_)):
                pointer = inner
            case _:
                return pointer
