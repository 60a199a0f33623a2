"""Trip counts, proven; and, from `add_recurrences`, induction variables. What is not proven is None.

The *back-edge count* of a run of a loop is the number of its iterations that are followed by another. A `Count` is
exact in every run that leaves the loop by its exit, and never below the true number in a run that leaves in another way
(a call that ends the program, a throw, an exit that cannot return), so that memory for `count + 1` iterations may be
reserved before the loop.

Where the proof needs `nsw`, `nuw` or `inbounds`, a run in which they do not hold is undefined: the exit test branches
on poison. Where it needs that the loop ends at all, the loop must be `mustprogress` and do nothing that leaves it or
that can be observed. The counts are those of LLVM's ScalarEvolution (howManyLessThans, howFarToZero), modulo 2**bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from llgrad.analysis.cfg.add_recurrences import (
    Counting,
    Emit,
    Folding,
    Induction,
    Reader,
    Recurrence,
    Term,
    Values,
    const,
    fixed,
    inductions,
    invariant,
    is_number,
    resize,
    sum_of,
    text_of,
    variables,
    width_of,
    zeros_of,
)
from llgrad.analysis.cfg.flow import Flow, Loop
from llgrad.ir.types import I1, I64, DataLayout, IntType
from llgrad.ir.values import (
    AnyValue,
    Attribute,
    Binary,
    Branch,
    Call,
    Cast,
    Compare,
    ConstInt,
    Instruction,
    Load,
    MDRef,
    MDString,
    Other,
    Phi,
    Store,
    Undef,
    Value,
)

__all__ = [
    "Count", "Emit", "Induction", "backedge_count", "constant_count", "count_operation_cost", "inductions", "invariant",
    "rectangular",
]  # fmt: skip

OPPOSITE = dict(
    pair
    for a, b in (("eq", "ne"), ("slt", "sge"), ("sle", "sgt"), ("ult", "uge"), ("ule", "ugt"))
    for pair in ((a, b), (b, a))
)
SWAPPED = {"eq": "eq", "ne": "ne"} | dict(
    pair for a, b in (("slt", "sgt"), ("sle", "sge"), ("ult", "ugt"), ("ule", "uge")) for pair in ((a, b), (b, a))
)


class Count(Struct, frozen=True):
    """A back-edge count: `emit` writes the i64 (unsigned) from the values of `operands`, which exist before the loop.

    `text` says how it was found: first value of the tested sequence, step, condition to stay.
    """

    operands: tuple[AnyValue, ...]
    term: Term
    text: str

    def emit(self, emit: Emit, operands: Sequence[AnyValue]) -> AnyValue:
        """Write the count; `operands` stand for `self.operands`, in that order. No instruction can trap."""
        return self.term(Folding(emit), dict(zip(self.operands, operands, strict=True)))

    def __str__(self) -> str:
        return self.text


def backedge_count(flow: Flow, loop: Loop, layout: DataLayout | None = None) -> Count | None:
    """How often the loop's back edge is taken, as a function of values known before the loop; None if not provable.

    The loop has one exit that can return, tested in every iteration. Without a layout, the module's.
    """
    test = _exit_test(flow, loop)
    if isinstance(test, Count) or test is None:
        return test
    reader = Reader(flow, loop, layout)
    tested = _orient(test, reader)
    recipe = _recipe(*tested) if tested else None
    if tested is None or recipe is None:
        return None
    predicate, first, bound = tested
    ends = first.unit is not None and predicate[0] == "u" and _never_zero(flow, loop, first.unit)
    if not ends and not _satisfied(recipe.need, flow, loop):
        return None
    write = recipe.write

    def term(e: Emit, values: Values) -> AnyValue:
        unit = values.get(first.unit, first.unit) if first.unit is not None else const(64, 1)
        return write(e, first.term(e, values), bound.term(e, values), unit)

    used = (*first.operands, *bound.operands, *variables(first.unit))
    text = f"{first.text}, step {first.step}" + (f" * {text_of(first.unit)}" if first.unit is not None else "")
    return Count(tuple(dict.fromkeys(used)), term, f"{text}, while {predicate} {bound.text}")


def constant_count(flow: Flow, loop: Loop, layout: DataLayout | None = None) -> int | None:
    """The back-edge count where it is a known number."""
    count = backedge_count(flow, loop, layout)
    found = count.emit(Counting(), ()) if count and not count.operands else None
    return found.value if isinstance(found, ConstInt) else None


def count_operation_cost(count: Count) -> int:
    """How many instructions `count.emit` writes."""
    counting = Counting()
    count.emit(counting, [Value(v.type) for v in count.operands])
    return counting.written


def rectangular(count: Count, outer: Loop) -> bool:
    """Is the count of an inner loop the same in all iterations of `outer`?"""
    return all(invariant(outer, v) for v in count.operands)


# --- the exit test ---------------------------------------------------------------------------------------------------


class _Test(Struct, frozen=True):
    """The loop goes on while `lhs predicate rhs`."""

    predicate: str
    lhs: AnyValue
    rhs: AnyValue


def _exit_test(flow: Flow, loop: Loop) -> _Test | Count | None:
    """The comparison that alone decides, once in each iteration, whether the loop is left for a place that returns.

    The count itself, where what decides is a phi that has left its first value behind (`_two_trips`).
    """
    leaving = [(b, s) for b, s in loop.exits if flow.reaches_return(s)]
    if len(leaving) != 1:
        return None
    block = leaving[0][0]
    each_time = flow.loop_of(block) is loop and all(flow.dominates(block, latch) for latch in loop.latches)
    branch = block.terminator
    if not each_time or not isinstance(branch, Branch) or len(branch.targets) != 2:
        return None
    condition, stay = branch.condition, branch.targets[0] in loop
    while isinstance(condition, Binary) and condition.opcode == "xor" and condition.rhs == ConstInt(I1, 1):
        condition, stay = condition.lhs, not stay
    if isinstance(condition, Phi):
        return _two_trips(flow, loop, condition, stay)
    if not isinstance(condition, Compare) or condition.opcode != "icmp":
        return None
    predicate = condition.predicate if stay else OPPOSITE[condition.predicate]
    return _Test(predicate, condition.lhs, condition.rhs)


def _two_trips(flow: Flow, loop: Loop, phi: Phi, stay: bool) -> Count | None:
    """The count of a loop that goes on once at most, because the flag that it tests says "leave" from then on.

    LLVM's IndVarSimplify writes the test of a loop of two trips so:

        %more = phi i1 [ true, %preheader ], [ false, %latch ]
        br i1 %more, label %header, label %exit        -> count: zext i1 true to i64
    """
    if phi.block is not loop.header:
        return None
    live = [(v, b) for v, b in phi.incoming() if b in flow]
    starts, leave = list(dict.fromkeys(v for v, b in live if b not in loop)), ConstInt(I1, int(not stay))
    if len(starts) != 1 or isinstance(starts[0], Undef) or any(v != leave for v, b in live if b in loop):
        return None
    start = starts[0]

    def term(e: Emit, values: Values) -> AnyValue:
        first = values.get(start, start)
        return e.cast("zext", first if stay else e.binary("xor", first, ConstInt(I1, 1)), I64)

    return Count(variables(start), term, f"once more if {text_of(start)} is {str(stay).lower()}")


def _orient(test: _Test, reader: Reader) -> tuple[str, Recurrence, Recurrence] | None:
    """The test as (predicate, sequence that varies, sequence that does not)."""
    a, b = reader.read(test.lhs), reader.read(test.rhs)
    if a is None or b is None or a.bits > 64:
        return None
    predicate = test.predicate
    if not a.step:
        a, b, predicate = b, a, SWAPPED[predicate]
    if b.step and predicate in ("eq", "ne"):
        difference = sum_of("sub", a, b, frozenset())
        return (predicate, difference, fixed(a.bits, 0)) if difference and difference.step else None
    return None if b.step or not a.step else (predicate, a, b)


# --- counts: LLVM's howManyLessThans and howFarToZero, with wrap-around -----------------------------------------------

PROVEN, LEAVES_ONLY_HERE, ENDS = range(3)
Write = Callable[[Emit, AnyValue, AnyValue, AnyValue], AnyValue]


class _Recipe(Struct, frozen=True):
    """`write(emit, first, bound, unit)` and what it takes for the result to hold in every run."""

    need: int
    write: Write


def _recipe(predicate: str, a: Recurrence, b: Recurrence) -> _Recipe | None:
    """How often a, a + step, … can be taken in turn until `predicate` towards b fails."""
    if predicate in ("eq", "ne"):
        return None if a.unit is not None else _equal() if predicate == "eq" else _unequal(a, b)
    up = predicate[1] == "l"
    if a.unit is not None:
        return _unknown_step(predicate, a, up)
    if (a.step > 0) == up:
        return _towards(predicate, a, b)
    return _away(predicate, a, b) if abs(a.step) == 1 else None


def _equal() -> _Recipe:
    """The step is not 0, so that the second value differs."""
    return _Recipe(PROVEN, lambda e, first, bound, _: e.cast("zext", e.icmp("eq", first, bound), I64))


def _unequal(a: Recurrence, b: Recurrence) -> _Recipe:
    """The least i with first + i * step = bound (mod 2**bits); step is 2**k times an odd number, with an inverse."""
    k = zeros_of(a.step, a.bits)
    size = abs(a.step) >> k
    inverse, narrow = pow(size, -1, 1 << (a.bits - k)), (1 << (a.bits - k)) - 1
    sure = k == 0 or (a.base == b.base and min(a.zeros, b.zeros) >= k)
    up, flagged = a.step > 0, a.signed or a.unsigned

    def write(e: Emit, first: AnyValue, bound: AnyValue, _: AnyValue) -> AnyValue:
        distance = e.binary("sub", bound, first) if up else e.binary("sub", first, bound)
        count = e.binary("lshr", distance, const(a.bits, k)) if k else distance
        if size != 1:
            count = e.binary("mul", count, const(a.bits, inverse))
            count = e.binary("and", count, const(a.bits, narrow)) if k else count
        return resize(e, count, I64, "zext")

    return _Recipe(PROVEN if sure else LEAVES_ONLY_HERE if flagged else ENDS, write)


def _towards(predicate: str, a: Recurrence, b: Recurrence) -> _Recipe | None:
    """Counting up while below, or down while above. A step of 2**k that wraps comes back to where it was: no end."""
    size, strict, signed = abs(a.step), not predicate.endswith("e"), predicate[0] == "s"
    if a.exact(signed) or (size == 1 and strict) or _room(predicate, a, b) >= size - strict:
        need = PROVEN
    elif size & (size - 1) == 0:
        need = ENDS
    else:
        return None
    divisor = const(a.bits, size)
    return _Recipe(need, lambda e, first, bound, _: _steps(e, predicate, first, bound, divisor))


def _unknown_step(predicate: str, a: Recurrence, up: bool) -> _Recipe | None:
    """The same, by an invariant step: if it does not lead towards the bound, the loop does not end (or overflows)."""
    signed = predicate[0] == "s"
    towards = (a.step > 0) == up
    if abs(a.step) != 1 or not a.exact(signed) or not (signed or towards):
        return None

    def write(e: Emit, first: AnyValue, bound: AnyValue, unit: AnyValue) -> AnyValue:
        step = unit if towards else e.binary("sub", const(a.bits, 0), unit)
        leads = e.icmp("ne" if not signed else "sgt" if towards else "slt", unit, const(a.bits, 0))
        return _steps(e, predicate, first, bound, e.select(leads, step, const(a.bits, 1)))

    return _Recipe(ENDS, write)


def _steps(e: Emit, predicate: str, first: AnyValue, bound: AnyValue, size: AnyValue) -> AnyValue:
    """How many steps of `size` > 0 from `first` stay on this side of `bound`."""
    up, strict = predicate[1] == "l", not predicate.endswith("e")
    one = is_number(size, 1)
    distance = e.binary("sub", bound, first) if up else e.binary("sub", first, bound)
    if strict and not one:
        distance = e.binary("sub", distance, const(width_of(size), 1))
    count = resize(e, distance if one else _divide(e, distance, size), I64, "zext")
    if not (strict and one):
        count = _increment(e, count, may_be_last=not strict and width_of(size) == 64)
    return e.select(e.icmp(predicate, first, bound), count, const(64, 0))


def _away(predicate: str, a: Recurrence, b: Recurrence) -> _Recipe:
    """Counting down by one while below (or up while above): ends by wrapping round to the far side."""
    strict, signed, up = not predicate.endswith("e"), predicate[0] == "s", predicate[1] == "l"
    lowest = 1 << (a.bits - 1) if signed else 0  # as a bit pattern
    limit = const(a.bits, lowest if up else lowest - 1)
    sure = (
        strict or a.exact(signed) or (isinstance(b.value, ConstInt) and b.value.value != (lowest - up) % (1 << a.bits))
    )

    def write(e: Emit, first: AnyValue, bound: AnyValue, _: AnyValue) -> AnyValue:
        distance = e.binary("sub", first, limit) if up else e.binary("sub", limit, first)
        count = _increment(e, resize(e, distance, I64, "zext"), may_be_last=not strict and a.bits == 64)
        return e.select(e.icmp(predicate, first, bound), count, const(64, 0))

    return _Recipe(PROVEN if sure else ENDS, write)


def _never_zero(flow: Flow, loop: Loop, v: AnyValue) -> bool:
    """Was `v` compared with zero on the way to the loop?"""
    block, found = flow.idom[loop.header], False
    while block is not None and not found:
        branch = block.terminator
        test = branch.condition if isinstance(branch, Branch) and len(set(branch.targets)) == 2 else None
        if isinstance(test, Compare) and test.predicate in ("eq", "ne") and test.lhs is v and is_number(test.rhs, 0):
            other = branch.targets[test.predicate == "eq"]
            found = found or flow.dominates_edge(block, other, loop.header)
        block = flow.idom[block]
    return found


def _room(predicate: str, a: Recurrence, b: Recurrence) -> int:
    """The bound is at least this far from the end of the range that the sequence counts towards; -1 if unknown."""
    signed, up = predicate[0] == "s", predicate[1] == "l"
    lowest, highest = (-(1 << (a.bits - 1)), (1 << (a.bits - 1)) - 1) if signed else (0, (1 << a.bits) - 1)
    match b.value:
        case ConstInt():
            bound = b.value.signed if signed else b.value.value
            return highest - bound if up else bound - lowest
        case Cast("zext", inner) if isinstance(inner.type, IntType):
            return highest - (1 << inner.type.bits) + 1 if up else -lowest
        case Cast("sext", inner) if isinstance(inner.type, IntType) and signed:
            return highest - (1 << (inner.type.bits - 1)) + 1 if up else -(1 << (inner.type.bits - 1)) - lowest
    return -1


def _increment(e: Emit, count: AnyValue, may_be_last: bool) -> AnyValue:
    """count + 1, saturating where it may not fit."""
    if not may_be_last:
        return e.binary("add", count, const(64, 1))
    return e.binary("add", count, e.cast("zext", e.icmp("ne", count, const(64, -1)), I64))


def _divide(e: Emit, value: AnyValue, size: AnyValue) -> AnyValue:
    if isinstance(size, ConstInt) and size.value & (size.value - 1) == 0:
        return e.binary("lshr", value, const(width_of(size), size.value.bit_length() - 1))
    return e.binary("udiv", value, size)


# --- what else the loop may do --------------------------------------------------------------------------------------


def _satisfied(need: int, flow: Flow, loop: Loop) -> bool:
    if need == PROVEN:
        return True
    if len(loop.exits) != 1 or any(_may_leave(i) for b in loop.blocks for i in b.instructions):
        return False
    if need == LEAVES_ONLY_HERE:
        return True
    silent = not any(_observable(i) for b in loop.blocks for i in b.instructions)
    return silent and _must_progress(flow, loop)


MARKERS = ("llvm.assume", "llvm.experimental.noalias.scope.decl")  # intrinsics that "write" only to stay in place


def _may_leave(i: Instruction) -> bool:
    """May the call not return here: exit, throw, jump, wait for ever?"""
    return isinstance(i, Call) and not all(_has(i, name) for name in ("nounwind", "willreturn"))


def _observable(i: Instruction) -> bool:
    """May another thread or the world see or hear of it? (Then an endless loop is a legal program.)"""
    match i:
        case Load() | Store():
            return bool({"volatile", "atomic"} & i.flags) or bool(i.ordering)
        case Other():
            return i.opcode in ("fence", "atomicrmw", "cmpxchg")
        case Call():
            name = i.called_function.name if i.called_function else ""
            return name not in MARKERS and not any(_quiet(a) for a in _attributes(i) if a.name == "memory")
    return False


def _quiet(memory: Attribute) -> bool:
    """Does `memory(…)` forbid writes to anything but the arguments and errno?"""
    for part in str(memory.value).split(","):
        place, _, access = part.rpartition(":")
        if access.strip() not in ("none", "read") and place.strip() not in ("argmem", "errnomem"):
            return False
    return True


def _attributes(call: Call) -> tuple[Attribute, ...]:
    callee = call.called_function
    return call.attributes + (callee.attributes if callee else ())


def _has(call: Call, name: str) -> bool:
    return any(a.name == name for a in _attributes(call))


def _must_progress(flow: Flow, loop: Loop) -> bool:
    if flow.function.attribute("mustprogress") is not None:
        return True
    module, latch = flow.function.module, loop.latch
    ref = latch.terminator.metadata.get("llvm.loop") if latch else None
    if module is None or ref is None:
        return False
    nodes = [module.node(r) for r in module.node(ref).operands if isinstance(r, MDRef) and r != ref]
    return any(n.operands[:1] == (MDString("llvm.loop.mustprogress"),) for n in nodes)
