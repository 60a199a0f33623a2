"""How far the addresses in a loop move from iteration to iteration, and so whether two accesses meet in one only."""

from __future__ import annotations

from msgspec import Struct

from llgrad.analysis.cfg.add_recurrences import Reader
from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.analysis.memory.mod_ref import Access
from llgrad.ir.types import I64, DataLayout
from llgrad.ir.values import AnyValue, Binary, ConstInt, GetElementPtr, Phi

Address = tuple[AnyValue, frozenset[tuple[AnyValue, int]], int, int]
"""base, what is added to it that does not change in the loop (times), bytes per iteration, constant bytes"""
MOST_APART = 1 << 20  # bytes from one iteration to the next, so that addresses of 2**40 iterations differ


class Strides(Struct, frozen=True):
    """The addresses in one loop, and before it; what is not known is None."""

    flow: Flow
    loop: Loop
    layout: DataLayout

    def same_iteration(self, a: Access, b: Access) -> bool:
        """Do two accesses meet in one iteration only: some bytes further on in each, and no wider than that?"""
        one, two = self.address(a), self.address(b)
        if one is None or two is None or one[:3] != two[:3] or a.size is None or b.size is None:
            return False
        if not 0 < abs(one[2]) <= MOST_APART:
            return False
        low, high = min(one[3], two[3]), max(one[3] + a.size, two[3] + b.size)
        return high - low <= abs(one[2])

    def address(self, a: Access) -> Address | None:
        """Where `a` is: how far from something that was computed before the loop, if that is not taken apart."""
        return None if a.pointer is None else self._address(a.pointer)

    def place(self, pointer: AnyValue) -> Address | None:
        """Where `pointer` is, in the loop or before it; what was computed before the loop is taken apart, too."""
        found = self._address(pointer)
        if found is None:
            return None
        base, parts, step, constant = found[0], dict(found[1]), found[2], found[3]
        reader = Reader(self.flow, self.loop, self.layout)
        while isinstance(base, GetElementPtr) and (split := reader.split_gep(base)) is not None:
            constant += split[0]
            for index, size in split[1]:
                more, _, offset = self._outside(index, 8)
                constant += size * offset
                for v, n in more.items():
                    parts[v] = parts.get(v, 0) + size * n
            base = base.pointer
        return base, frozenset((v, n) for v, n in parts.items() if n), step, constant

    def _address(self, pointer: AnyValue) -> Address | None:
        reader = Reader(self.flow, self.loop, self.layout)
        base, parts, step, constant = pointer, dict[AnyValue, int](), 0, 0
        while isinstance(base, GetElementPtr) and base in self.loop:
            split = reader.split_gep(base)
            if split is None:
                return None
            constant += split[0]
            for index, size in split[1]:
                found = self._linear(reader, index)
                if found is None:
                    return None
                constant, step = constant + size * found[2], step + size * found[1]
                for v, n in found[0].items():
                    parts[v] = parts.get(v, 0) + size * n
            base = base.pointer
        if isinstance(base, Phi) and base.block is self.loop.header:
            induction = reader.induction(base)
            if induction is None or induction.constant_step is None:
                return None
            base, step = induction.start, step + induction.constant_step
        if base is None or base in self.loop:
            return None
        return base, frozenset(parts.items()), step, constant

    def _linear(self, reader: Reader, v: AnyValue, depth: int = 8) -> tuple[dict[AnyValue, int], int, int] | None:
        """An index as a sum: multiples of values from outside the loop, so much more in each iteration, a constant."""
        if isinstance(v, ConstInt):
            return {}, 0, v.signed
        if v not in self.loop:
            return self._outside(v, depth)
        if depth == 0 or v.type != I64:
            return None
        match v:
            case Phi():
                found = reader.induction(v)
                if found is None or found.constant_step is None:
                    return None
                start = self._linear(reader, found.start, depth - 1)
                return None if start is None else (start[0], start[1] + found.constant_step, start[2])
            case Binary(opcode="add" | "sub" | "or") if v.opcode != "or" or "disjoint" in v.flags:
                a, b = (self._linear(reader, x, depth - 1) for x in v.operands)
                return None if a is None or b is None else _combined(a, b, -1 if v.opcode == "sub" else 1)
            case Binary(opcode="mul" | "shl", rhs=ConstInt(value=n)):
                a = self._linear(reader, v.lhs, depth - 1)
                by = n if v.opcode == "mul" else 1 << n
                return None if a is None else _combined(({}, 0, 0), a, by)
        return None

    def _outside(self, v: AnyValue, depth: int) -> tuple[dict[AnyValue, int], int, int]:
        """A value from outside the loop as a sum; in 64 bits, where addresses are computed, wrapping does no harm."""
        match v:
            case ConstInt():
                return {}, 0, v.signed
            case Binary(opcode="add" | "sub", type=t) if depth and t == I64:
                a, b = (self._outside(x, depth - 1) for x in v.operands)
                return _combined(a, b, -1 if v.opcode == "sub" else 1)
        return {v: 1}, 0, 0


_Sum = tuple[dict[AnyValue, int], int, int]


def _combined(a: _Sum, b: _Sum, times: int) -> _Sum:
    parts = dict(a[0])
    for v, n in b[0].items():
        parts[v] = parts.get(v, 0) + times * n
    return parts, a[1] + times * b[1], a[2] + times * b[2]
