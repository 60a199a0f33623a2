"""Arguments whose memory holds scalars that are no pointers: what is copied out of it is none either.

Who loads a pointer from there, as from the argument, is believed (`holds_pointers`), and who does so from nowhere else.
Who loads one from what is handed on as `void *`, and may be such memory or a struct of pointers, means the struct.
"""

from __future__ import annotations

from math import gcd

from llgrad.analysis.bits.integer_values import linear
from llgrad.analysis.layout.byte_layouts import Basic, Pointer
from llgrad.analysis.layout.debug_info import DebugTypes
from llgrad.analysis.memory.cells import gep_bytes
from llgrad.analysis.objects import WORD, holds_type
from llgrad.analysis.solver import reach
from llgrad.ir.types import DataLayout, FloatType, IntType, PointerType, Type
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Cast,
    ConstInt,
    Function,
    GetElementPtr,
    Load,
    Phi,
    Select,
    Store,
    Unary,
)

_COPIES = ("llvm.memcpy.", "llvm.memmove.")


def to_scalars(root: Function, layout: DataLayout) -> set[int]:
    """The arguments that point to floats, or to integers that are smaller than pointers.

    Debug info says so; without it, that they are walked as such, and that arrays of such are copied.
    """
    declared = DebugTypes(root.module).result_and_parameters(root) if root.module is not None else None
    types = [d.type for d in declared[1]] if declared is not None and len(declared[1]) == len(root.arguments) else []
    pointees = [t.to() if isinstance(t, Pointer) else None for t in types]
    told = {n for n, t in enumerate(pointees) if isinstance(t, Basic) and (t.format or 1 < t.size < WORD)}
    return told or {a.index for a in root.arguments if not types and _is_walked(a, layout)}


def holds_pointers(argument: Argument, root: Function) -> bool:
    """Is a pointer loaded from where an argument points, here or in what is called with it?"""

    def onwards(pointer: AnyValue) -> list[AnyValue]:
        found: list[AnyValue] = []
        for u in pointer.users:
            match u:
                case GetElementPtr(_, start, _) if start is pointer:
                    found.append(u)
                case Phi() | Select() | Cast() | Unary():
                    found.append(u)
                case Call() if u.called_function is not None:
                    _read(u.called_function)
                    taken = zip(u.called_function.arguments, u.arguments, strict=False)
                    found += [a for a, v in taken if v is pointer]
        return found

    _read(root)
    start: list[AnyValue] = [argument]
    users = (u for pointer in reach(start, onwards) for u in pointer.users)
    return any(isinstance(u, Load) and holds_type(u.type, PointerType) for u in users)


def _read(function: Function) -> None:
    """Have the body read, so that arguments know their users."""
    assert function.blocks is not None


def _is_walked(argument: Argument, layout: DataLayout) -> bool:
    """Is memory walked from where an argument points, here and in what is called with it, in steps of its scalars?"""
    steps, scalars, copied = set[tuple[int, int] | None](), set[Type](), set[int]()

    def onwards(pointer: AnyValue) -> list[AnyValue]:
        found: list[AnyValue] = []
        for u in pointer.users:
            match u:
                case GetElementPtr(source, start, indices) if start is pointer:
                    steps.add(gep_bytes(source, indices, layout))
                    found.append(u)
                case Phi() | Select():
                    found.append(u)
                case Load():
                    scalars.add(u.type)
                case Store(value, to) if to is pointer:
                    scalars.add(value.type)
                case Call() if u.called_function is not None and u.called_function.name.startswith(_COPIES):
                    copied.add(gcd(*linear(u.arguments[2])) if not isinstance(u.arguments[2], ConstInt) else 0)
                case Call() if u.called_function is not None and not u.called_function.is_declaration:
                    taken = zip(u.called_function.arguments, u.arguments, strict=False)
                    found += [a for a, v in taken if v is pointer]
        return found

    start: list[AnyValue] = [argument]
    reach(start, onwards)
    size = layout.size(only) if isinstance(only := next(iter(scalars), None), FloatType | IntType) else 0
    even = size > 1 and all(step is not None and step[0] in (0, size) and step[1] % size == 0 for step in steps)
    walked = even and any(step is not None and step[0] for step in steps)  # (in larger steps, of records)
    return walked and copied <= {size} and len(scalars) == 1 and (isinstance(only, FloatType) or size < WORD)


__all__ = ["holds_pointers", "to_scalars"]
