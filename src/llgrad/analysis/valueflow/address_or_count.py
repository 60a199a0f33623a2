"""Elements of arrays that are counted by what is an address at other times: they are not accessed then.

An enum of Rust's has an index in one case and a pointer in another, and LLVM keeps both in one integer. Where elements
of more than a byte each are counted by it, an address times their size is added to the array's: that leads nowhere, so
that what is accessed there is counted by a number. Not if the array is a distance, to which an address belongs: it is
none where it is allocated, constant, or accessed before through the same pointer.
"""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.analysis.cfg.flow import Flow
from llgrad.analysis.memory.call_effects import behaviour, is_copy
from llgrad.analysis.objects import gep_offset
from llgrad.analysis.solver import reach
from llgrad.ir.types import DataLayout
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    ConstExpr,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Unary,
)

Node = tuple[AnyValue, Instruction]
"""A pointer, and where it is used."""


def addresses(integers: Sequence[AnyValue]) -> list[AnyValue]:
    """The pointers of which integers are the address, and not the distance of two."""
    found = reach(integers, _made_of)
    return [v.operands[0] for v in found if isinstance(v, Cast | ConstExpr) and v.opcode == "ptrtoint"]


def is_counted(i: GetElementPtr, flow: Flow, layout: DataLayout) -> bool:
    """Is what is computed accessed only where the index is a number, though it may be an address?"""
    return (
        len(i.indices) == 1
        and layout.alloc_size(i.source_type) > 1
        and all(_is_address(v) or not addresses([v]) for v in reach(i.indices, _chosen_of) if not _chosen_of(v))
        and _is_accessed_only(i, layout)
        and _is_no_distance(i, flow, layout)
    )


def is_only_compared(i: Instruction) -> bool:
    """Does an integer decide things alone?"""

    def computed(v: Instruction) -> list[Instruction]:
        return [u for u in v.users if isinstance(u, Binary | Cast | Phi | Select | Unary) and u.opcode != "inttoptr"]

    kept = (Binary, Cast, Phi, Select, Unary, Compare)
    return all(isinstance(u, kept) and u.opcode != "inttoptr" for v in reach([i], computed) for u in v.users)


def _made_of(v: AnyValue) -> Sequence[AnyValue]:
    match v:
        case Phi() | Select() | Unary():
            return v.operands
        case Binary("add" | "or") | Cast("zext" | "sext" | "trunc") | ConstExpr(opcode="add" | "trunc"):
            return v.operands
    return ()


def _chosen_of(v: AnyValue) -> list[AnyValue]:
    """What a value is one of, whole."""
    match v:
        case Phi() | Unary("freeze"):
            return v.operands
        case Select():
            return v.operands[1:]
    return []


def _is_address(v: AnyValue) -> bool:
    return isinstance(v, Cast | ConstExpr) and v.opcode == "ptrtoint"


def _parts_of(v: AnyValue) -> Sequence[AnyValue]:
    """What a constant is computed from."""
    return v.operands if isinstance(v, ConstExpr) else ()


def _is_accessed_only(i: GetElementPtr, layout: DataLayout) -> bool:
    """Is what is computed neither kept nor computed with?"""

    def handed_on(v: Instruction) -> list[Instruction]:
        return [u for u in v.users if isinstance(u, Phi | Select) or _is_member(u, layout)]

    start: list[Instruction] = [i]
    return all(
        isinstance(u, Load | Compare | Phi | Select) or _is_member(u, layout)
        or isinstance(u, Store) and u.value is not v or isinstance(u, Call) and is_copy(u)
        for v in reach(start, handed_on) for u in v.users
    )  # fmt: skip


def _is_member(u: AnyValue, layout: DataLayout) -> bool:
    return isinstance(u, GetElementPtr) and gep_offset(u.source_type, u.indices, layout) is not None


def _is_no_distance(i: GetElementPtr, flow: Flow, layout: DataLayout) -> bool:
    """Is that to which elements are added an address or a constant for sure, wherever it comes from?"""

    def is_known(v: AnyValue, by: Instruction) -> bool:
        match v:
            case Argument() | Instruction() if _is_accessed(v, by, flow, layout):
                return True
            case Argument():
                return False
            case Call():
                f = v.called_function
                return f is not None and f.is_declaration and behaviour(v, f).kind == "allocate"
            case Instruction():
                return isinstance(v, Alloca)
        return not any(_is_address(w) for w in reach([v], _parts_of))

    def origins(node: Node) -> list[Node]:
        v, by = node
        match v:
            case _ if is_known(v, by):
                return []
            case Phi():
                return [(w, b.terminator) for w, b in v.incoming()]
            case Select():
                return [(w, by) for w in v.operands[1:]]
            case GetElementPtr() if _is_member(v, layout):
                return [(v.pointer, by)]
        return []

    start: list[Node] = [(i.pointer, i)]
    return all(is_known(v, by) or origins((v, by)) for v, by in reach(start, origins))


def _is_accessed(v: Argument | Instruction, by: Instruction, flow: Flow, layout: DataLayout) -> bool:
    """Is memory at a constant distance from a pointer accessed whenever `by` is reached?"""

    def members(p: Argument | Instruction) -> list[Argument | Instruction]:
        return [u for u in p.users if isinstance(u, GetElementPtr) and u.pointer is p and _is_member(u, layout)]

    start: list[Argument | Instruction] = [v]
    accesses = (u for p in reach(start, members) for u in p.users if isinstance(u, Load | Store) and u.pointer is p)
    return any(flow.dominates_instruction(u, by) for u in accesses)


__all__ = ["addresses", "is_counted", "is_only_compared"]
