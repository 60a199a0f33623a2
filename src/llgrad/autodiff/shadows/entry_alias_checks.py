"""Pointers that variables hold when the root is entered: a test that they do not lead to active memory.

What a variable's pointer leads to from before counts as constant memory of its own: a table that was read from a file.
Had somebody set the pointer to an array that the function works on, or to an active argument, what is read there, or
written, would be active, and its derivative lost. Nobody sees that from within the function, but it shows when the
derivative is entered. (Tested are the variables' own pointers, not those in the memory that they lead to; an argument
is known by its first byte, and so is what another variable's pointer leads to. What is written through one variable's
pointer, and may be read through pointers behind another's, is refused.)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from llgrad.analysis.memory.call_effects import in_common
from llgrad.analysis.memory.mod_ref import MemoryObject
from llgrad.autodiff.emit import tape
from llgrad.autodiff.emit.helpers import define
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.errors import ActivityError
from llgrad.ir.build import Builder, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.types import I32, PTR, VOID, FloatType, PointerType, scalar
from llgrad.ir.values import AnyValue, Argument, Call, Function, GlobalVariable, Instruction, Load, Store

_MOST_WORDS = 16  # of one variable
_TEST = """
define internal void @llgrad.held.before(ptr %%held, ptr %%start, i64 %%size) alwaysinline nounwind {
entry:
  %%at = ptrtoint ptr %%held to i64
  %%from = ptrtoint ptr %%start to i64
  %%by = sub i64 %%at, %%from
  %%inside = icmp ult i64 %%by, %%size
  %%set = icmp ne ptr %%held, null
  %%both = and i1 %%inside, %%set
  br i1 %%both, label %%bad, label %%done
bad:
  call void @llgrad_fail(i32 %d, ptr null)
  unreachable
done:
  ret void
}
"""
Word = tuple[GlobalVariable, int]
"""A pointer in a variable: at which byte."""


def refuse_behind(facts: Facts) -> None:
    """Raises ActivityError where active values go through one variable's pointer and may come back behind another's."""
    written = [o for o in _written(facts) - facts.kept.keys() if _is_held(o) and facts.activity.varied(o)]
    for o in _read(facts) if written else ():
        readers = facts.memory.readers.get(o, [])
        if _is_held(o) and o not in facts.kept and any(isinstance(i.type, PointerType) for i, _ in readers):
            for v in (v for v in written if v is not o):
                raise ActivityError(
                    f"what is written to {v} may be read from {o}",
                    span=facts.span(readers[0][0]),
                    cause="pointers that variables hold from before, or that lie behind those, may lead to the same "
                    "memory, and nobody made a shadow of it",
                    fix="set the pointers within the function, or pass the memory as an active argument",
                )


def test_held(b: Builder, module: Module, facts: Facts, root: Function) -> None:
    """At the entry of a derivative, `root`."""
    b.at = 0
    tests = list(dict.fromkeys(_tests(facts)))
    if not tests:
        return
    declare(module, tape.FAIL, VOID, [I32, PTR])
    test = define(module, "llgrad.held.before", _TEST % tape.FAIL_BEFORE)
    given = {a.name: a for a in root.arguments}
    for (variable, at), start, size in tests:
        place: AnyValue | None = start if isinstance(start, GlobalVariable) else None
        if isinstance(start, Argument):
            place = given.get(start.name)
        elif isinstance(start, tuple):
            place = b.load(PTR, b.offset(start[0], start[1]), "held", 8)
        if place is not None:
            b.call(test, [b.load(PTR, b.offset(variable, at), "held", 8), place, i64(size)])


def _tests(facts: Facts) -> Iterator[tuple[Word, GlobalVariable | Argument | Word, int]]:
    """What pointers must not lead to: so many bytes from the start of a variable, an argument or another's memory."""
    activity, memory = facts.activity, facts.memory
    written = _written(facts)
    active = [o for o in memory.objects if activity.varied(o) and _is_known(o) and (not _is_held(o) or o in written)]
    held = {o for o in memory.objects if _is_held(o)} - facts.kept.keys()
    for o in _read(facts):
        for v in active:
            if o is v or not memory.coincide(frozenset({o}), frozenset({v})) or {o, v} & facts.kept.keys():
                continue
            for one, other in ((o, v), (v, o)):
                if one in held and not (one is o and activity.varied(o)):
                    for word in _words(facts, one):
                        yield from ((word, start, size) for start, size in _starts(facts, other) if start != word)


def _is_known(o: MemoryObject) -> bool:
    return o.kind == "argument" or _is_held(o) or _is_variable(o)


def _is_held(o: MemoryObject) -> bool:
    site = o.site
    return o.kind == "contents" and isinstance(site, GlobalVariable) and not o.has_own_shadow


def _is_variable(o: MemoryObject) -> bool:
    return o.kind == "global" and isinstance(o.site, GlobalVariable) and not o.is_constant


def _written(facts: Facts) -> set[MemoryObject]:
    """Memory that variables hold, or the function allocates, and nothing else, that something is written to."""
    everything = (i for f in facts.activity.functions for i in f.instructions())
    writes = (a.objects for i in everything if isinstance(i, Store | Call) for a in facts.memory.writes(i))
    return {o for objects in writes if all(_is_held(o) or not o.is_external for o in objects) for o in objects}


def _read(facts: Facts) -> dict[MemoryObject, None]:
    """Memory that floats which matter are read from. (Where that may be active and constant, it is refused, or decided
    as the derivative runs.)"""
    found: dict[MemoryObject, None] = {}
    for i in (i for f in facts.activity.functions for i in f.instructions()):
        for a in facts.memory.reads(i) if _matters(facts, i) else ():
            constant = not any(map(facts.activity.varied, a.objects))
            found |= {o: None for o in a.objects if _is_known(o) and (constant or not _is_held(o))}
    return found


def _matters(facts: Facts, i: Instruction) -> bool:
    """Does it make floats that matter of what lies in memory? (What the program's functions read is seen there.)"""
    useful = isinstance(scalar(i.type), FloatType) and facts.activity.useful(i)
    if isinstance(i, Call) and (i.called_function is None or i.called_function.is_declaration):
        return useful or any(facts.activity.useful(o) for a in facts.memory.writes(i) for o in a.objects)
    return isinstance(i, Load) and useful


def _starts(facts: Facts, o: MemoryObject) -> list[tuple[GlobalVariable | Argument | Word, int]]:
    match o.site:
        case GlobalVariable() as g if o.kind == "global":
            return [(g, facts.layout.alloc_size(g.value_type))]
        case GlobalVariable():
            return [(word, 1) for word in _words(facts, o)]
        case Argument() as a if o.kind == "argument":
            return [(a, 1)]
    return []


def _words(facts: Facts, o: MemoryObject) -> list[Word]:
    """The pointers in the variables whose contents these are: those that are read, and what their types say."""
    assert isinstance(o.site, GlobalVariable)
    others = (g for g, first in in_common(facts.memory.module).items() if first is o.site)
    return [word for variable in dict.fromkeys((o.site, *others)) for word in _of_one(facts, variable)]


def _of_one(facts: Facts, variable: GlobalVariable) -> Iterator[Word]:
    readers = next((facts.memory.readers.get(g, []) for g in facts.memory.objects if _is_of(g, variable)), [])
    read = (access.places for i, access in readers if isinstance(i.type, PointerType))
    found = {at for places in read for g, at in places if _is_of(g, variable) and isinstance(at, int)}
    size = facts.layout.known_size(variable.value_type)
    inside = facts.layout.leaves(variable.value_type, most=_MOST_WORDS)
    found |= set(islice((at for at, t in inside if isinstance(t, PointerType)), _MOST_WORDS))
    last = max(found, default=0) if size is None else size - facts.layout.size(PTR)
    return ((variable, at) for at in sorted(found) if 0 <= at <= last)


def _is_of(o: MemoryObject, variable: GlobalVariable) -> bool:
    return o.kind == "global" and o.site is variable


__all__ = ["refuse_behind", "test_held"]
