"""What the reverse of each instruction does and which forward values it asks for.

`Key`s name what a reverse sweep may want: ("primal", value), ("shadow", pointer value), ("result", (call, k)) for
what a call stored through its k-th output pointer, ("choice", block): which predecessor `block` was entered from,
("count", loop): how often the back edge was taken, ("block", loop): the tape block of a nest, ("frame", call): the
callee's tape frame.

`effect(facts, i)` is the one place that says what shape the reverse of an instruction has; plan and writer both read
it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from llgrad.analysis.activity.graph import counts, has_rule, is_opaque
from llgrad.analysis.bits.byte_moves import moves
from llgrad.analysis.memory.call_effects import is_column, tape_call
from llgrad.autodiff.emit.float_checks import conditions
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.device_threads import is_barrier
from llgrad.autodiff.facts.team_memory import mirrored
from llgrad.errors import UnsupportedError
from llgrad.ir.types import I64, IntType, PointerType, is_float
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    Constant,
    ConstInt,
    ExtractElement,
    ExtractValue,
    Function,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Other,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Unary,
)
from llgrad.models.effects import Allocator
from llgrad.models.gpu import BLOCK, INTRINSIC, MIRRORED, NVVM
from llgrad.rules import library
from llgrad.rules.rule import Rule
from llgrad.transforms.legalize.exceptions_to_results import with_returned_exceptions

DROPPED_CALLS = (
    "llgrad.kind.",
    "llvm.lifetime.",
    "llvm.dbg.",
    "llvm.fake.use",
    "llvm.invariant.",
    "llvm.assume",
)

Key = tuple[str, Any]


class Partials(Struct, frozen=True):
    """A rule: `floats` are the instruction's operand positions of the rule's operands, `entry` how it is called."""

    rule: Rule
    entry: library.Entry | None = None


class Linear(Struct, frozen=True):
    """Structure that passes adjoints on unchanged: casts, select, phi, freeze, extract, insert, shuffle."""


class Memory(Struct, frozen=True):
    """Load, store, memcpy, memmove, memset of active memory."""

    name: str


class CallBody(Struct, frozen=True):
    """Call of functions whose derivative is synthesised too."""

    callees: tuple[Function, ...]


class Allocate(Struct, frozen=True):
    """Allocation of memory that has a shadow."""


class Free(Struct, frozen=True):
    """Release of memory: postponed."""


class Mirror(Struct, frozen=True):
    """Threads of a team wait for others here, and do so in the reverse sweep (`transforms.canonical.teams`)."""

    name: str


class Barrier(Struct, frozen=True):
    """Threads of a GPU wait for others here, and in the reverse sweep by a call of this function."""

    name: str


class Number(Struct, frozen=True):
    """What may be an active float is taken for a number: that it is none is tested."""


class Nothing(Struct, frozen=True):
    """The reverse sweep does nothing here."""


Effect = Partials | Linear | Memory | CallBody | Allocate | Free | Mirror | Barrier | Number | Nothing
NOTHING, LINEAR, NUMBER = Nothing(), Linear(), Number()
COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")
LIBC_COPIES = {"memcpy": "memcpy", "memmove": "memmove", "memset": "memset"}


def effect(facts: Facts, i: Instruction, split: bool = False) -> Effect:
    """The shape of the reverse of `i`. Raises NoRuleError, UnsupportedError for what cannot be differentiated.

    Stack memory that must outlive its function (`split`) or whose size is only known as the program runs lives on the
    tape: such an alloca is an `Allocate` too.
    """
    if facts.activity.tests_number(i):
        return NUMBER
    match i:
        case Alloca():
            return Allocate() if on_tape(i, split) else NOTHING
        case Store(value=v, pointer=p):
            if not facts.shadowed(p):
                return NOTHING
            facts.refuse_mixed(i, p)
            facts.refuse_conflict(i)
            return Memory("store") if may_hold_float(v) or facts.over_floats(i) else NOTHING
        case Call():
            found = _call(facts, i)
            if i.opcode == "callbr" and found is not NOTHING:
                raise _refuse(facts, i, "an active call that may jump")
            return found
        case Other(opcode="atomicrmw" | "cmpxchg" | "va_arg"):
            return atomic(facts, i)
        case Return() | Compare() | GetElementPtr():
            return NOTHING
    if facts.active(i):
        return _active(facts, i)
    if isinstance(i, Load) and facts.shadowed(i.pointer):
        facts.refuse_conflict(i)
    return NOTHING


def _active(facts: Facts, i: Instruction) -> Effect:
    match i:
        case Load():
            facts.refuse_mixed(i, i.operands[0])
            return Memory("load")
        case Binary(opcode=op) | Unary(opcode=op):
            rule = library.instruction(op)
            if rule is not None:
                return Partials(rule)
        case Cast(opcode="fpext" | "fptrunc"):
            return LINEAR
        case Cast(opcode="sitofp" | "uitofp" | "ptrtoint" | "inttoptr" | "fptosi" | "fptoui" | "addrspacecast"):
            return NOTHING
        case Phi() | Select() | ExtractElement() | InsertElement() | ShuffleVector() | ExtractValue() | InsertValue():
            return LINEAR
    if moves(i, facts.layout) is not None:
        return LINEAR
    raise UnsupportedError(
        f"no derivative for `{i.opcode}` of active floats",
        span=facts.span(i),
        cause="an instruction changes bits that may belong to an active float",
        fix="rewrite with floating-point operations, or mark the value inactive",
    )


def on_tape(i: Alloca, split: bool) -> bool:
    """Is this stack memory placed on the tape?"""
    static = isinstance(i.count, ConstInt) and i.block.function is not None and i.block is i.block.function.entry
    return split or not static


def reserves(i: Instruction) -> bool:
    """Does an `Allocate` make a block of the tape, which holds the shadow too?"""
    return isinstance(i, Alloca) or (isinstance(i, Call) and tape_call(i) == "reserve")


def may_hold_float(v: AnyValue) -> bool:
    """Could a store of `v` overwrite floats or write them (rather than pointers only)?"""
    return not isinstance(v.type, PointerType)


def copy_name(call: Call) -> str | None:
    """"memcpy", "memmove", "memset" where the call is one."""
    f = call.called_function
    if f is None or not f.is_declaration:
        return None
    if f.name.startswith(COPIES):
        return f.name.split(".")[1]
    return LIBC_COPIES.get(f.name)


def _call(facts: Facts, i: Call) -> Effect:
    if facts.reverse and i.block.function in facts.teams.functions and (found := _in_team(facts, i)) is not None:
        return found
    if facts.reverse and (is_barrier(i) or facts.device.waits(i)):
        return _barrier(facts, i) if is_barrier(i) else _call_body(facts, i)
    if (name := copy_name(i)) is not None:
        return _copy(facts, i, name)
    if is_column(i):
        return NOTHING
    if name := tape_call(i):
        return Allocate() if name == "reserve" else Free() if name == "release" else NOTHING
    known = facts.effects(i)
    if known is not None and known.allocator is not None:
        return _allocation(facts, i, known.allocator)
    if known is not None and known.deallocator is not None:
        return Free()
    entry = facts.entry(i)
    if entry is not None:
        return _rule_call(facts, i, entry)
    if facts.active(i) and moves(i, facts.layout) is not None:
        return LINEAR
    if not facts.activity.active_call(i) or (known is not None and known.inactive):
        if facts.active(i):
            raise facts.no_rule(i)  # its result depends on active floats in a way that nothing says
        return NOTHING
    return NOTHING if _is_idle(facts, i) else _call_body(facts, i)


def _barrier(facts: Facts, i: Call) -> Effect:
    assert i.called_function is not None
    way = MIRRORED.get(i.called_function.name)
    kept = i.arguments[:1] if way == BLOCK else i.arguments
    if way is None or not all(isinstance(a, ConstInt) for a in kept):
        raise _refuse(facts, i, f"the barrier {i.called_function.name.replace(INTRINSIC, NVVM)}")
    return Barrier(way)


def _copy(facts: Facts, i: Call, name: str) -> Effect:
    if not facts.shadowed(i.arguments[0]):
        return NOTHING
    facts.refuse_mixed(i, i.arguments[0])
    if name != "memset":
        facts.refuse_mixed(i, i.arguments[1])
        if facts.adds_with_others(i, i.arguments[1]):
            raise _refuse(facts, i, "a copy of active memory that threads share, as one,")
    return Memory(name)


def _in_team(facts: Facts, i: Call) -> Effect | None:
    """What is said of a call because threads of a team make it."""
    if name := mirrored(i):
        return Mirror(name)
    if _is_lock(i):
        raise _refuse(facts, i, "a lock in a parallel region")
    return _call_body(facts, i) if facts.teams.waits(i) else None


def _is_lock(i: Call) -> bool:
    name = i.called_function.name if i.called_function is not None else ""
    return name.startswith(("omp_set_", "omp_unset_", "omp_test_")) and "lock" in name


def _is_idle(facts: Facts, i: Call) -> bool:
    """Does an active function do nothing here for the derivative: only its result would, and nobody uses that?

    (It may read active memory and compare what it finds.)
    """
    if facts.active(i) or facts.shadowed(i) or facts.is_caught(i) or facts.tests_numbers or facts.memory.frees(i):
        return False
    written = {o for a in facts.memory.writes(i) for o in a.objects}
    return written.isdisjoint(facts.activity.shadowed_objects) and not _may_run_rules(facts, i)


def _may_run_rules(facts: Facts, i: Call) -> bool:
    """May a rule be run in a call? Derivatives by rules may write shadow memory where the primal writes none."""
    found: set[Function] = set()
    work = [i]
    while work:
        callees, unknown = facts.callees(work.pop())
        if unknown or any(has_rule(f) or is_opaque(f) for f in callees):
            return True
        new = [f for f in callees if f not in found]
        found.update(new)
        work += [c for f in new for c in f.instructions() if isinstance(c, Call)]
    return not found


def _allocation(facts: Facts, i: Call, allocator: Allocator) -> Effect:
    place = i if allocator.place == "return" else i.arguments[allocator.place]
    if not facts.shadowed(place):
        return NOTHING
    if allocator.place != "return" or allocator.moves is not None:
        raise _refuse(facts, i, "an allocation that moves memory or returns it through a pointer")
    return Allocate()


def _call_body(facts: Facts, i: Call) -> Effect:
    callees, unknown = facts.callees(i)
    if unknown or not callees or any(f.is_declaration and not has_rule(f) for f in callees):
        raise facts.no_rule(i)
    if any(a.attribute("byval") and not a.attribute("readonly") for f in callees for a in f.arguments):
        raise _refuse(facts, i, "an active call that passes a struct by value in memory")
    if any(f.function_type != i.function_type for f in callees):
        what = "a function as one" if i.called_function else "a pointer to functions"
        raise _refuse(facts, i, f"an active call of {what} of another type")
    ruled = [f for f in callees if has_rule(f) and not f.name.startswith("llgrad.replay.")]  # those compare addresses
    if ruled and facts.reverse and i.block.function in facts.teams.functions:
        raise _refuse(facts, i, "a function with a rule, called by the threads of a team,")
    for pointer in i.arguments if ruled else ():  # a rule is given the shadows as they are
        if facts.shadowed(pointer):
            facts.refuse_mixed(i, pointer)
    raising = facts.reverse and facts.is_caught(i) and any(has_rule(f) or f in facts.raising for f in callees)
    if raising and facts.leaves_traces(i):
        error = UnsupportedError(
            "a handler catches what is thrown by a function that writes active memory",
            span=facts.span(i),
            cause="what was written before the throw would have to be undone by the reverse sweep",
            fix="let the function return its results, or let the exception leave the differentiated function",
        )
        error.remedy = with_returned_exceptions
        raise error
    return CallBody(callees)


def is_sum(i: Other) -> bool:
    """Does it add a float to memory, atomically, and nobody asks what was there?"""
    return i.opcode == "atomicrmw" and i.detail["operation"] == "fadd" and is_float(i.type) and not i.users


def atomic(facts: Facts, i: Other) -> Effect:
    """Nothing for integers (counters of references); refused where active floats or shadowed pointers change."""
    value = i.operands[-1]
    if facts.device.any and is_sum(i):
        return Memory("add") if facts.shadowed(i.operands[0]) else NOTHING
    if counts(i) and not facts.shadowed(value):
        return NOTHING
    holds = not isinstance(value.type, IntType) or facts.kinds.may_hold_float(i) or facts.shadowed(value)
    taken = i.opcode == "va_arg" and facts.kinds.may_hold_float(i)  # who passed it is not seen
    if not taken and not facts.active(i) and not (facts.shadowed(i.operands[0]) and holds):
        return NOTHING
    cause = "other threads may see this memory, and what they write would be part of the derivative"
    fix = "use a variable of the function that does it, ordinary loads and stores, or OpenMP's parallel regions"
    if i.opcode == "va_arg":
        cause, fix = "variable arguments have no shadows", "pass the arguments in an array"
    raise UnsupportedError(
        f"`{i.opcode}` of active memory is not differentiated yet", span=facts.span(i), cause=cause, fix=fix
    )


def _rule_call(facts: Facts, i: Call, entry: library.Entry) -> Effect:
    places = [a for kind, a in zip(entry.rule.operands, i.arguments, strict=False) if kind == "pointer"]
    if not any(map(facts.shadowed, places)) and not facts.active(i):
        return NOTHING
    if entry.shape == "byval":
        raise _refuse(facts, i, "a long double complex function")
    return Partials(entry.rule, entry)


def _refuse(facts: Facts, i: Instruction, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} is not differentiated yet",
        span=facts.span(i),
        cause=f"`{i.opcode}` in function {i.block.function.name if i.block.function else '?'}",
        fix="restructure this call so that LLVM can inline or simplify it",
    )


def key_of(v: AnyValue, kind: str = "primal") -> Key | None:
    """The key of a value, or None where it is at hand everywhere (constants, globals, arguments)."""
    return None if isinstance(v, (Constant, Argument)) or not isinstance(v, Instruction) else (kind, v)


def needs(facts: Facts, i: Instruction, e: Effect) -> list[Key]:
    """The keys that the reverse of `i` asks for; those at hand are left out."""
    return [k for k in _needs(facts, i, e) if k is not None]


def _needs(facts: Facts, i: Instruction, e: Effect) -> list[Key | None]:  # noqa: C901 (a table)
    found: list[Key | None] = []
    match e:
        case Partials(rule, entry):
            found = _partial_needs(facts, i, rule, entry)
        case Memory("load" | "add"):
            found = _place(facts, i.operands[0])
        case Number():
            found = [*map(key_of, conditions(i)), *(_place(facts, i.operands[0]) if isinstance(i, Load) else ())]
        case Memory("store"):
            found = _place(facts, i.operands[1])
        case Memory("memset"):
            found = [*_place(facts, i.operands[0]), key_of(i.operands[2])]
        case Memory():
            found = [*_place(facts, i.operands[0]), key_of(i.operands[2])]
            if facts.shadowed(i.operands[1]):
                found += _place(facts, i.operands[1])
        case CallBody():
            assert isinstance(i, Call)
            found = [key_of(a) for a in (*i.arguments, i.callee)]
            found += [key_of(a, "shadow") for a in i.arguments if facts.shadowed(a)]
            found.append(("frame", i))
        case Mirror():
            found = [key_of(a) for a in (*i.operands[:-1], *([i] if i.type == I64 else []))]
        case Allocate():
            cleared = sizes(facts, i) if facts.apart else []  # by a reverse sweep that is repeated
            found = [("primal" if reserves(i) else "shadow", i), *map(key_of, cleared)]
        case Linear() if isinstance(i, Select):
            found = [key_of(i.condition)]
        case Linear() if isinstance(i, ExtractElement | InsertElement):
            found = [key_of(i.index)]
    return found


def sizes(facts: Facts, i: Instruction) -> list[AnyValue]:
    """The operands that say how much an allocation allocates."""
    if isinstance(i, Alloca):
        return [i.count]
    known = facts.effects(i) if isinstance(i, Call) else None
    assert known is not None and known.allocator is not None
    return [i.operands[n] for n in known.allocator.size]


def _place(facts: Facts, pointer: AnyValue) -> list[Key | None]:
    """What tells where shadow memory is, and whether it is the shadow of constant memory."""
    return [key_of(pointer, "shadow"), key_of(pointer) if facts.may_be_constant(pointer) else None]


def _partial_needs(facts: Facts, i: Instruction, rule: Rule, entry: library.Entry | None) -> list[Key | None]:
    found: list[Key | None] = []
    parts = operand_parts(i, rule, entry)
    for out, row in zip(rule.results, rule.partials, strict=True):
        if isinstance(out.place, int):
            found += _place(facts, i.operands[out.place])
        for k, partial in enumerate(row):
            if partial is None or not facts.active(parts[k][0]):
                continue
            found += [key_of(parts[n][0]) for n in partial.operands()]
            for r in partial.results():
                place = rule.results[r].place
                found.append(("primal", i) if place == "return" else ("result", (i, r)))
    return found


def operand_parts(i: Instruction, rule: Rule, entry: library.Entry | None) -> list[tuple[AnyValue, int | None]]:
    """For each operand of the rule: the instruction's operand, and its lane there if that is a pair in a vector."""
    if entry is not None and entry.shape == "vector":
        return [(i.operands[n // 2], n % 2) for n in range(len(rule.operands))]
    return [(i.operands[n], None) for n in range(len(rule.operands))]
