"""Loops that copy or swap memory byte by byte, as copies of blocks: `while (n--) { t = *p; *p++ = *q; *q++ = t; }`.

A byte of a float has no adjoint of its own, so what such a loop moves is refused; of a block, whole floats are moved.
The loop stays, without its accesses, and counts (LLVM knows the result); what follows it moves as many bytes. That is
the same unless the two blocks overlap (and are not one), which is tested as the program runs: then the derivative
fails. So this is done to what was refused, and to nothing else. LLVM does the same to copies, where it sees that
nothing overlaps.

    body:                                                  body:
      %i = phi i64 [ 0, %entry ], [ %next, %body ]           %i = phi i64 [ 0, %entry ], [ %next, %body ]
      %from = getelementptr i8, ptr %p, i64 %i        →      %next = add i64 %i, 1
      %to = getelementptr i8, ptr %q, i64 %i                 br i1 …, label %body, label %moved
      %b = load i8, ptr %from                              moved:
      store i8 %b, ptr %to                                   call void @llvm.memmove(ptr %q, ptr %p, i64 %next, …)
      %next = add i64 %i, 1                                  br label %exit
      br i1 …, label %body, label %exit
"""

from __future__ import annotations

from typing import NamedTuple

from llgrad.ir.build import FALSE, I64, PTR, Builder, Names, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import local_names
from llgrad.ir.types import I1, I8, I32, VOID, Type
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Attribute,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    ConstInt,
    ConstNull,
    GetElementPtr,
    Instruction,
    Load,
    Other,
    Phi,
    Store,
)
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

_BEFORE = ("sroa", "simplifycfg", "loop_simplify", "loop_rotate", "simplifycfg", "loop_simplify", "instruction_namer")
_STORE = "store i8 %"
_NO_WRAP = {"zext": "nuw", "sext": "nsw"}  # so that an index that is widened goes on by one


class Place(NamedTuple):
    """Where a pointer of the loop starts: `base`, or so many bytes behind it, of a number that is widened perhaps."""

    base: AnyValue
    number: AnyValue | None = None
    widened: tuple[str, Type] | None = None


class Move(NamedTuple):
    source: Place
    to: Place
    swaps: bool


class NothingToDo(Exception):
    """There are no loops over bytes."""


def moved_in_blocks(text: str, fail: int) -> str:
    """`in_blocks` of a text that has such loops; NothingToDo where it has none."""
    if (made := in_blocks(text, fail)) == text:
        raise NothingToDo
    return made


def in_blocks(text: str, fail: int) -> str:
    """The text in which such loops move blocks; itself where there is none. `fail`: the code of the failure."""
    if _STORE not in text:
        return text
    work = LLVMModule.from_text(text)
    work.run(_BEFORE)
    module = parse(work.text())
    return write(module) if move_blocks(module, fail) else text


def move_blocks(module: Module, fail: int) -> bool:
    """Make such loops of functions, whose loops are rotated and simple, moves of blocks."""
    moved = False
    for f in module.concerned(lambda body: _STORE in body):
        names = local_names(f)
        for block in list(f.blocks):
            if (move := _move(block)) is not None:
                _rewrite(module, block, move, names, fail)
                moved = True
    return moved


def _move(block: Block) -> Move | None:
    """What the block moves, if it is a loop; None if it does anything else."""
    if not isinstance(block.terminator, Branch) or [t is block for t in block.terminator.targets].count(True) != 1:
        return None
    if len(block.terminator.targets) != 2 or any(len(p.operands) != 2 for p in block.phis()):
        return None
    accesses = [i for i in block.instructions if isinstance(i, Load | Store | Call | Other)]
    loads, stores = [i for i in accesses if isinstance(i, Load)], [i for i in accesses if isinstance(i, Store)]
    if len(loads) not in (1, 2) or accesses != [*loads, *stores] or any(i.flags for i in (*loads, *stores)):
        return None
    if any(i.type != I8 or len(i.users) != 1 for i in loads) or {i.value for i in stores} != set(loads):
        return None
    read = {i: _start(i.pointer, block) for i in loads}
    written = {i.value: _start(i.pointer, block) for i in stores}
    a, b = loads[0], loads[-1]
    source, to = read[a], written[a]
    if source is None or to is None or source == to or (a is not b and (read[b], written[b]) != (to, source)):
        return None
    return Move(source, to, a is not b)


def _start(pointer: AnyValue, block: Block) -> Place | None:
    """Where a pointer that goes on by one byte in each iteration starts."""
    match pointer:
        case Phi() if pointer.block is block:
            first, step = _ends(pointer)
            match step:
                case GetElementPtr(source_type, base, [ConstInt(value=1)]) if source_type == I8 and base is pointer:
                    return Place(first)
        case GetElementPtr(source_type, base, [index]) if source_type == I8 and not _is_in(base, block):
            return _indexed(base, index, block)
    return None


def _indexed(base: AnyValue, index: AnyValue, block: Block) -> Place | None:
    widened = None
    match index:
        case Cast("zext" | "sext" as opcode, narrow) if _is_in(index, block):
            widened, index = (opcode, index.type), narrow
    if not isinstance(index, Phi) or index.block is not block:
        return None
    first, step = _ends(index)
    if not isinstance(step, Binary) or step.opcode != "add" or not _is_next(step, index):
        return None
    counts = _NO_WRAP[widened[0]] in step.flags if widened else index.type == I64
    return Place(base, first, widened) if counts else None


def _is_next(step: Binary, phi: Phi) -> bool:
    return any(a is phi and isinstance(b, ConstInt) and b.value == 1 for a, b in (step.operands, step.operands[::-1]))


def _is_in(v: AnyValue, block: Block) -> bool:
    return isinstance(v, Instruction) and v.block is block


def _ends(phi: Phi) -> tuple[AnyValue, AnyValue]:
    """What it is at first, and from then on."""
    first, step = phi.operands if phi.blocks[1] is phi.block else phi.operands[::-1]
    return first, step


# --- writing ----------------------------------------------------------------------------------------------------------


def _rewrite(module: Module, block: Block, move: Move, names: Names, fail: int) -> None:
    """Have the loop count how often it runs, and move as many bytes behind it."""
    assert block.function is not None
    name = names.fresh("bytewise.0").removesuffix(".0")
    into, failed, moved = (Block(names.fresh(f"{name}.{word}"), block.function) for word in ("test", "fail", "move"))
    at = block.function.blocks.index(block) + 1
    block.function.blocks[at:at] = [into, failed, moved]
    size = _counting(block, into, moved, names)
    _test(module, Builder(into, names), move, size, moved, failed)
    b = Builder(failed, names)
    f = declare(module, "llgrad_fail", VOID, [I32, PTR])
    f.attributes = f.attributes or (Attribute("noreturn"),)
    b.call(f, [ConstInt(I32, fail), ConstNull(PTR)])
    b.unreachable()


def _counting(block: Block, into: Block, moved: Block, names: Names) -> AnyValue:
    """Leave out the loop's accesses, and go on to `into`; from `moved` to where it went. Gives how often it has run."""
    for access in [i for t in (Store, Load) for i in block.instructions if isinstance(i, t)]:
        access.drop()
    end = block.terminator
    end.metadata.pop("llvm.loop", None)
    leaving = 1 - end.targets.index(block)
    out, end.targets[leaving] = end.targets[leaving], into
    out.users.remove(end)
    into.users.append(end)
    for phi in [phi for phi in out.phis() if block in phi.blocks]:
        phi.add(phi.incoming_from(block), moved)
        phi.remove(block)
    Builder(moved, names).branch(out)
    first = next(block.phis())
    entry = first.blocks[1 - first.blocks.index(block)]
    number = Phi(I64, [(i64(0), entry)], names.fresh(f"{into.name}.n"))
    number.block = block
    block.instructions.insert(0, number)
    b = Builder(block, names)
    b.at = len(block.instructions) - 1
    size = b.insert(Binary("add", I64, [number, i64(1)], f"{into.name}.count"))
    size.flags = frozenset(["nuw"])
    number.add(size, block)
    return size


def _test(module: Module, b: Builder, move: Move, size: AnyValue, moved: Block, failed: Block) -> None:
    """Whether the blocks of memory overlap; where they do not, they are moved."""
    source, to = (_pointer(b, place) for place in move[:2])
    ends = [b.gep(I8, place, [size]) for place in (source, to)]
    before, behind = b.icmp("ule", ends[0], to, "before"), b.icmp("ule", ends[1], source, "behind")
    same = b.icmp("eq" if move.swaps else "ule", to, source, "same")  # a copy to before its source may overlap
    b.branch_if(b.binary("or", b.binary("or", before, behind), same), moved, failed)
    b = Builder(moved, b.names)
    b.at = 0
    f = declare(module, "llvm.memmove.p0.p0.i64", VOID, [PTR, PTR, I64, I1])
    kept = b.insert(Alloca(I8, size, 16), "kept") if move.swaps else to
    copies = [(kept, source), (source, to), (to, kept)] if move.swaps else [(to, source)]
    for target, of in copies:
        b.call(f, [target, of, size, FALSE])


def _pointer(b: Builder, place: Place) -> AnyValue:
    """The pointer that a place is."""
    if place.number is None:
        return place.base
    index = place.number if place.widened is None else b.cast(place.widened[0], place.number, place.widened[1])
    return b.gep(I8, place.base, [index])


__all__ = ["in_blocks", "move_blocks"]
