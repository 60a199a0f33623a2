"""Runs integer code as LLVM defines it: wrap-around, poison from flags, undefined where a branch meets poison."""

from __future__ import annotations

from dataclasses import dataclass

from llgrad.analysis.cfg.flow import Loop
from llgrad.ir.types import DataLayout, IntType
from llgrad.ir.values import (
    AnyValue,
    Binary,
    Block,
    Branch,
    Cast,
    Compare,
    ConstInt,
    ConstNull,
    Function,
    GetElementPtr,
    Instruction,
    Phi,
    Select,
)

POISON = None
POINTER_BITS = 64
LAYOUT = DataLayout("e-m:e-i64:64-i128:128-n8:16:32:64-S128")


class Undefined(Exception):
    """The program branched on poison or divided by zero."""


def bits_of(value: AnyValue) -> int:
    return value.type.bits if isinstance(value.type, IntType) else POINTER_BITS


def signed(n: int, bits: int) -> int:
    return n - (1 << bits) if n >> (bits - 1) else n


@dataclass
class Runner:
    """Values by name of what has been executed; addresses are integers."""

    values: dict[AnyValue, int | None]

    def get(self, v: AnyValue) -> int | None:
        if isinstance(v, ConstInt):
            return v.value
        return 0 if isinstance(v, ConstNull) else self.values[v]

    def execute(self, i: Instruction) -> int | None:
        operands = [self.get(v) for v in i.operands]
        if i.opcode == "udiv" and not operands[1]:
            raise Undefined
        if isinstance(i, Select):
            return None if operands[0] is None else operands[1 if operands[0] else 2]
        if any(v is None for v in operands):
            return POISON
        known = [v for v in operands if v is not None]
        match i:
            case Binary():
                return binary(i.opcode, known[0], known[1], bits_of(i), i.flags)
            case Compare():
                return int(compare(i.predicate, known[0], known[1], bits_of(i.lhs)))
            case Cast():
                return cast(i.opcode, known[0], bits_of(i.value), bits_of(i), i.flags)
            case GetElementPtr():
                return step_pointer(i, known)
        raise AssertionError(i)


def binary(opcode: str, a: int, b: int, bits: int, flags: frozenset[str]) -> int | None:
    sa, sb = signed(a, bits), signed(b, bits)
    if opcode in ("shl", "lshr") and b >= bits:
        return POISON
    table = {
        "add": (a + b, sa + sb), "sub": (a - b, sa - sb), "mul": (a * b, sa * sb), "and": (a & b, sa & sb),
        "or": (a | b, sa | sb), "xor": (a ^ b, sa ^ sb), "lshr": (a >> b, a >> b), "udiv": (a // b if b else 0,) * 2,
        "shl": (a << b if b < bits else 0, sa << b if b < bits else 0),
    }  # fmt: skip
    u, s = table[opcode]
    if "nuw" in flags and not 0 <= u < 1 << bits:
        return POISON
    if "nsw" in flags and not -(1 << (bits - 1)) <= s < 1 << (bits - 1):
        return POISON
    return POISON if "disjoint" in flags and a & b else u % (1 << bits)


def compare(predicate: str, a: int, b: int, bits: int) -> bool:
    if predicate[0] == "s":
        a, b = signed(a, bits), signed(b, bits)
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate[-2:]]


def cast(opcode: str, a: int, narrow: int, wide: int, flags: frozenset[str]) -> int | None:
    match opcode:
        case "sext":
            return signed(a, narrow) % (1 << wide)
        case "trunc":
            r = a % (1 << wide)
            bad = ("nuw" in flags and r != a) or ("nsw" in flags and signed(r, wide) != signed(a, narrow))
            return POISON if bad else r
        case "zext" if "nneg" in flags and a >> (narrow - 1):
            return POISON
    return a % (1 << wide)


def step_pointer(gep: GetElementPtr, known: list[int]) -> int | None:
    size = LAYOUT.alloc_size(gep.source_type)
    (index,) = gep.indices
    address = known[0] + signed(known[1], bits_of(index)) * size
    exact = {"inbounds", "nusw"} & gep.flags
    return POISON if exact and not 0 <= address < 1 << POINTER_BITS else address % (1 << POINTER_BITS)


@dataclass
class Run:
    """How a run ended (`exit`, `undefined`, `endless`) and the back edges it had taken."""

    end: str
    backedges: int
    phis: list[dict[Phi, int | None]]  # header phis, by iteration


def run(function: Function, loop: Loop, arguments: dict[str, int], limit: int) -> Run:
    r = Runner({a: arguments.get(a.name, 0) for a in function.arguments})
    result, block = Run("endless", 0, []), function.entry
    before: Block | None = None
    while result.backedges <= limit:
        result.backedges += before is not None and before in loop and block is loop.header
        phis = {} if before is None else {p: r.get(p.incoming_from(before)) for p in block.phis()}
        for phi, value in phis.items():
            r.values[phi] = value
        if block is loop.header:
            result.phis.append(phis)
        for i in block.instructions[len(phis) : -1]:
            r.values[i] = r.execute(i)
        end = block.terminator
        if not isinstance(end, Branch):
            result.end = "exit"
            return result
        taken = 1 if end.condition is None else r.get(end.condition)
        if taken is None:
            result.end = "undefined"
            return result
        before, block = block, end.targets[0 if taken else -1]
    return result
