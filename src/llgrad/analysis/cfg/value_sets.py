"""Integers that can only take a few values: constants that were chosen, what a loop that runs twice counts, bits.

Code that fills small arrays that lie behind each other in one struct (the sizes and strides of a tensor) has such
indices. LLVM turns the counter of a loop of two iterations into a bit, a phi that is `true` first and `false` then,
and goes back where it is true: between two entries from outside, such a loop goes back once at most. No other loops are
looked at here; those of constant length are unrolled (`llgrad.transforms.loops.unroll`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llgrad.analysis.cfg.flow import Flow, flow
from llgrad.ir.types import IntType
from llgrad.ir.values import AnyValue, Binary, Block, Branch, Cast, ConstInt, Function, GetElementPtr, Phi, Select

MOST = 4
_VISITS = 60  # in the search for one answer
_Known = Mapping[Phi, frozenset[int]]


class Few:
    """Answers for the functions of one program; their control flow is looked at where an answer hangs on it."""

    def __init__(self) -> None:
        self._flows: dict[Function, Flow] = {}
        self._left, self._phis, self._certain = 0, False, False

    def chosen_indices(self, i: GetElementPtr) -> tuple[list[AnyValue], ...]:
        """The indices of a `getelementptr`, or lists of them where one of them takes few values."""
        for n, index in enumerate(i.indices):
            if not isinstance(index, ConstInt) and (found := self.values(index)):
                chosen = [ConstInt(index.type, v % (1 << _bits(index))) for v in sorted(found)]
                return tuple([*i.indices[:n], v, *i.indices[n + 1 :]] for v in chosen)
        return (i.indices,)

    def values(self, v: AnyValue) -> frozenset[int] | None:
        """All that a signed integer may be, or None if that may be more than `MOST` numbers."""
        self._left, self._phis, self._certain = _VISITS, False, False
        found = self._values(v, {})
        if found is None or not self._phis:
            return found
        self._left, self._certain = _VISITS, True
        return self._values(v, {})

    def _values(self, v: AnyValue, known: _Known) -> frozenset[int] | None:
        self._left -= 1
        if self._left < 0 or _bits(v) < 8:
            return None
        match v:
            case ConstInt():
                return frozenset({v.signed})
            case Select(_, one, other):
                return self._all([one, other], known)
            case Cast("sext" | "zext" | "trunc", value):
                found = self._values(value, known)
                return None if v.opcode == "zext" and found and min(found) < 0 else _within(v, found)
            case Binary("and", _, ConstInt(value=mask)) if mask < MOST:
                return frozenset(n for n in range(mask + 1) if n & mask == n)
            case Binary("urem", _, ConstInt(value=n)) if 0 < n <= MOST:
                return frozenset(range(n))
            case Binary("add", lhs, rhs):
                a, b = self._values(lhs, known), self._values(rhs, known)
                return _within(v, frozenset(m + n for m in a for n in b)) if a and b else None
            case Phi():
                return known.get(v) or self._merged(v, known)
        return None

    def _all(self, values: Iterable[AnyValue], known: _Known) -> frozenset[int] | None:
        found: frozenset[int] = frozenset()
        for v in values:
            if (more := self._values(v, known)) is None:
                return None
            found |= more
        return found if len(found) <= MOST else None

    def _merged(self, phi: Phi, known: _Known) -> frozenset[int] | None:
        self._phis = True
        latch = next((b for b in phi.blocks if goes_back_once(b, phi.block)), None)
        if self._certain and not self._is_as_it_looks(phi.block, latch):
            return None
        if latch is None:
            return self._all(phi.operands, known)
        known = self._still_known(phi, known)
        first = self._all([v for v, b in phi.incoming() if b is not latch], known)
        second = first and self._values(phi.incoming_from(latch), {**known, phi: first})
        return _within(phi, first | second) if first and second else None

    def _still_known(self, phi: Phi, known: _Known) -> _Known:
        """What is known of phis in their iteration, where that is the one in which the loop of `phi` runs.

        (What a loop around it starts an iteration with may come from another iteration of theirs.)
        """
        if not self._certain or phi.block is None or phi.block.function is None:
            return known
        f = self._flows[phi.block.function]
        loop = f.loop_of(phi.block)
        around = {p: (f.loop_of(p.block) if p.block else None) for p in known}
        return {p: n for p, n in known.items() if (outer := around[p]) is not None and outer.encloses(loop)}

    def _is_as_it_looks(self, block: Block, latch: Block | None) -> bool:
        """Does `latch` close a loop with the header `block`? Or, without a latch: does no way lead back to it?"""
        assert block.function is not None
        if (f := self._flows.get(block.function)) is None:
            f = self._flows[block.function] = flow(block.function)
        loop = f.loop_of(block)
        if f.irreducible:
            return False
        if loop is None or loop.header is not block:
            return latch is None
        return loop.latch is latch


def goes_back_once(latch: Block, header: Block | None) -> bool:
    """Does `latch` go back by a test of a bit of `header` that fails once `header` was reached from `latch`?"""
    match latch.terminator:
        case Branch(Phi() as test, [one, other]) if test.block is header and one is not other:
            last = test.incoming_from(latch)
            return isinstance(last, ConstInt) and (other if last.value else one) is header
    return False


def _bits(v: AnyValue) -> int:
    return v.type.bits if isinstance(v.type, IntType) else 0


def _within(v: AnyValue, found: frozenset[int] | None) -> frozenset[int] | None:
    """These, if there are few and all are numbers of the type of `v`: nothing wrapped around."""
    most = 1 << (_bits(v) - 1)
    return found if found and len(found) <= MOST and all(-most <= n < most for n in found) else None
