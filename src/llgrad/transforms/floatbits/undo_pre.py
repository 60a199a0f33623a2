"""What LLVM computes on each way to a block alike, computed there once: a sum is a sum again, and not a choice of two.

    left:   %x = add nsw i64 %t, 1                        left:
    right:  %y = add nuw nsw i64 %t, 1            →       right:
    end:    %z = phi i64 [ %x, %left ], [ %y, %right ]    end:    %z = add nsw i64 %t, 1

Where a loop's body stands behind `if (0 < n)` and uses `t + 1`, LLVM (the elimination of partial redundancies) computes
`t + 1` on the other way, too, and lets a phi choose between equals. As the step of `t`, that phi hides how often the
loop runs and where its accesses lie. The operands of what all ways compute are computed before the ways part, and have
the same values where they meet.

Where it knows which way an iteration goes on from the test that ends the loop, it copies that test for this way (jump
threading): `for (t …) { for (i < n) … } for (i < n) …` tests whether the last `t` is reached twice, where there is an
`i` and where there is none. Such a loop is optimised again without (`tests_whole`).
"""

from __future__ import annotations

from typing import TypeGuard

from llgrad.analysis.cfg.flow import Loop, flow
from llgrad.ir.build import clone
from llgrad.ir.module import Module
from llgrad.ir.types import PTR, IntType
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Block,
    Branch,
    Cast,
    Compare,
    ConstInt,
    Function,
    GetElementPtr,
    Instruction,
    Other,
    Phi,
    replace_uses,
)

_PURE = frozenset(("add", "sub", "mul", "shl", "and", "or", "xor", "sext", "zext", "trunc", "getelementptr"))
_FLAGS = frozenset(("nuw", "nsw", "disjoint", "nneg", "inbounds", "nusw"))
_PADS = frozenset(("landingpad", "catchpad", "cleanuppad"))


def merged(module: Module) -> bool:
    """Make phis of equal expressions that expression."""
    return any([_merged(f) for f in module.concerned(has_equal_ways)])


def has_equal_ways(text: str) -> bool:
    """May phis of a function's text, or of a program's, choose between equals? This is quick to say."""
    return any(" = phi " in body and _has_equals(body.split("\n")) for body in text.split("\n}\n"))


def _has_equals(lines: list[str]) -> bool:
    chosen = {word.rstrip(",") for line in lines if " = phi " in line for word in line.split()[4:]}
    made = [line.split(", !")[0].split() for line in lines if line[:3] == "  %" and " = phi " not in line]
    seen = [tuple(w for w in m[2:] if w not in _FLAGS) for m in made if m[0] in chosen and m[2] in _PURE]
    return len(set(seen)) < len(seen)


def _merged(f: Function) -> bool:
    phis = [phi for block in f.blocks for phi in block.phis() if isinstance(phi.type, IntType) or phi.type == PTR]
    found = [phi for phi in phis if _chooses_of_equals(phi)]
    for phi in found:
        one, *others = phi.operands
        assert isinstance(one, Instruction)
        new = clone(one)
        new.name, new.metadata = phi.name, {}
        new.flags = one.flags.intersection(*(v.flags for v in others if isinstance(v, Instruction)))
        for v in one.operands:
            new.operands.append(v)
            v.users.append(new)
        _put_first(new, phi.block)
        replace_uses(phi, new)
        phi.drop()
    if found:
        _merged(f)  # what was made of these
    return bool(found)


def _chooses_of_equals(phi: Phi) -> bool:
    made = [(v.opcode, v.type, v.operands, _stride(v)) for v in phi.operands if _is_pure(v)]
    return len(made) == len(phi.operands) > 1 and len(set(phi.operands)) > 1 and all(m == made[0] for m in made)


def _is_pure(v: AnyValue) -> TypeGuard[Instruction]:
    return isinstance(v, Binary | Cast | GetElementPtr) and v.opcode in _PURE


def _stride(v: Instruction) -> object:
    return (v.source_type, v.extra) if isinstance(v, GetElementPtr) else None


def _put_first(new: Instruction, block: Block) -> None:
    """Put an instruction at a block's beginning: behind phis, and what catches."""
    there = block.instructions
    at = sum(isinstance(i, Phi) or isinstance(i, Other) and i.opcode in _PADS for i in there)
    there.insert(at, new)
    new.block = block


def has_split_tests(module: Module) -> bool:
    """Does a loop end at several places by the same test?"""
    functions = (f for f in module.functions if not f.is_declaration and any(".thread" in b.name for b in f.blocks))
    return any(map(_is_split, (loop for f in functions for loop in flow(f).loops)))


def _is_split(loop: Loop) -> bool:
    ends = [block.terminator for block in dict.fromkeys(block for block, _ in loop.exits)]
    tests = [end.condition for end in ends if isinstance(end, Branch)]
    made = [(c.predicate, _told(c.lhs), _told(c.rhs)) for c in tests if isinstance(c, Compare)]
    return len(set(made)) < len(made)


def _told(v: AnyValue) -> object:
    """What tells a number from others, however often it is computed."""
    if isinstance(v, Binary):
        return v.opcode, _leaf(v.lhs), _leaf(v.rhs)
    return _leaf(v)


def _leaf(v: AnyValue) -> object:
    return v.value if isinstance(v, ConstInt) else id(v)
