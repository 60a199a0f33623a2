"""Short loops of constant length, unrolled whole before differentiation.

`for (k = 0; k < 3; k++)` over a small array becomes straight code: the array turns into values, addresses that do not
change leave the loop around it, and so do the adjoints of what is read there. LLVM's own unrolling stays off (its
partial and run-time unrolling only makes loops that a reverse sweep must run backwards); these loops are marked with
`llvm.loop.unroll.full`, which LLVM heeds all the same.
"""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Flow, Loop, flow, may_go_round
from llgrad.analysis.cfg.loops import constant_count
from llgrad.ir.module import Module
from llgrad.ir.values import Block
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

MOST_ITERATIONS = 16
LONG = 1_000_000  # characters: reading what LLVM can first make shorter costs more than that does
MOST_INSTRUCTIONS = 400  # of a loop when it is unrolled, loops within it too
LOOP_FORM = ("loop_simplify", "lcssa", "instruction_namer")


def put_in_form(work: LLVMModule, formed: bool = False) -> str:
    """`work` in the form that loops are looked for in (in which it is already if it is `formed`), as text."""
    if not formed:
        work.run(LOOP_FORM)
    if len(work.text()) > LONG:
        work.run(("simplify_cfg", *LOOP_FORM))
    return work.text()


def may_have_short_loops(text: str) -> bool:
    """May a loop have a constant length? It counts from a constant to a constant, or tests a flag. This is quick.

        %i = phi i32 [ 0, %entry ], [ %next, %body ]
        %c = icmp slt i32 %i, 3
    """
    bodies = (body.split("\n") for body in text.split("\n}\n") if " = phi " in body)
    return any(any(map(_starts, body)) and any(map(_ends, body)) for body in bodies)


def _starts(line: str) -> bool:
    """Is it a phi of integers or pointers with a constant?"""
    _, _, phi = line.partition(" = phi ")
    return phi.startswith(("i", "ptr")) and any(part[:1] != "%" for part in phi.split("[ ")[1:])


def _ends(line: str) -> bool:
    """Is it a comparison with a constant, or a flag that is a phi?"""
    _, found, compared = line.partition(" = icmp ")
    lhs, _, rhs = compared.partition(", ")
    return (found != "" and not (lhs.split()[-1][0] == rhs[:1] == "%")) or " = phi i1 " in line


def mark_short_loops(module: Module) -> str:
    """The module's text, which asks LLVM to unroll short loops when it optimises it next; "" where there are none."""
    found = [latch for f in module.functions if may_go_round(f) for latch in _short(flow(f))]
    for latch in found:
        _mark(module, latch)
    return write(module) if found else ""


def are_simplified(module: Module) -> bool:
    """Are all loops in LLVM's simplified form? One that `loop_simplify` has changed may want it once more."""
    return all(loop.is_simplified for f in module.functions if may_go_round(f) for loop in flow(f).loops)


def _short(f: Flow) -> list[Block]:
    """The latches of the loops to unroll. (Loops within are unrolled too, or the loop is not short.)"""
    unrolled: dict[Loop, int] = {}  # instructions
    for loop in reversed(f.loops):
        count = constant_count(f, loop) if loop.is_simplified else None
        if count is None or count >= MOST_ITERATIONS or any(inner not in unrolled for inner in loop.children):
            continue
        own = sum(len(b.instructions) for b in loop.order if f.loop_of(b) is loop)
        size = (count + 1) * (own + sum(unrolled[inner] for inner in loop.children))
        if size <= MOST_INSTRUCTIONS:
            unrolled[loop] = size
    return [loop.latch for loop in unrolled if loop.latch is not None]


def _mark(module: Module, latch: Block) -> None:
    asked = module.add_metadata('!{!"llvm.loop.unroll.full"}')
    node = module.add_metadata("")
    module.raw_metadata[node.id] = f"distinct !{{!{node.id}, !{asked.id}}}"
    latch.terminator.metadata = {**latch.terminator.metadata, "llvm.loop": node}
