"""What calls of code that has no body here may do to memory: from `rules.effects`, intrinsics' meaning, and attributes.

Everything not said otherwise may happen: an undeclared function reads and writes what it can reach, keeps its pointer
arguments, and returns any pointer it could have got hold of. Attributes of the call site and of the declaration add up
(LangRef: Function Attributes, `memory(…)`, `captures(…)`, `allockind`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from llgrad.analysis.objects import initial_pointers
from llgrad.ir.module import Module
from llgrad.ir.values import (
    AnyConstant,
    Argument,
    Attribute,
    Call,
    ConstAggregate,
    ConstInt,
    Function,
    GlobalVariable,
    InlineAsm,
)
from llgrad.models.effects import STRING
from llgrad.models.mpi import sends
from llgrad.rules import Effects, effects, lookup
from llgrad.rules.blas import is_own
from llgrad.support.lazy_pattern import lazy_pattern

Kind = Literal["plain", "copy", "fill", "allocate", "free", "lifetime", "string", "nothing"]


class Behaviour(Struct, frozen=True):
    """What a call does besides computing its result.

    kind         plain; copy (memcpy, memmove: operands destination, source, length); fill (memset); allocate; free;
                 lifetime (contents undefined from here on); string (a member of `std::string`, see `strings`);
                 nothing (no memory, no pointers kept or made);
    reads/writes "none", "args" (memory the pointer arguments point to), "any" (whatever is visible outside, too);
    keeps        the arguments whose pointers it may keep or hand on;
    moves, freed, place  the operands of realloc's old block, of what is freed, and of where posix_memalign stores;
    inactive     no derivative passes through it;
    pure_result  a pointer that it returns is one of its arguments', of the `first` alone where that is said;
    ends         it stores where in the memory of its first argument it ended, where the second one points to;
    links        it may store one argument's pointer in the memory of another;
    handle       it returns what only code that is not known looks behind;
    calls        inactive, it calls what its arguments lead to all the same;
    strings      the parameters that are strings which it writes (`llgrad.transforms.guard.strings`).
    """

    kind: Kind = "plain"
    reads: Literal["none", "args", "any"] = "any"
    writes: Literal["none", "args", "any"] = "any"
    keeps: frozenset[int] = frozenset()
    moves: int | None = None
    freed: int | None = None
    place: int | None = None
    inactive: bool = False
    pure_result: bool = False
    first: bool = False
    ends: bool = False
    links: bool = True
    handle: bool = False
    calls: bool = False
    strings: tuple[int, ...] = ()


NOTHING = Behaviour("nothing", "none", "none", inactive=True, pure_result=True)

STOPS = Behaviour("plain", "any", "none", inactive=True, pure_result=True)
"""The program ends, or what is thrown leaves the derivative: nothing in it sees what the call writes."""

_AT_EXIT = lazy_pattern("atexit|__cxa_(thread_)?atexit")  # what they are given runs after all derivatives
_JUMPS = lazy_pattern(r"_?(_?sig)?longjmp|__longjmp_chk")
_COPY = lazy_pattern(r"llvm\.(memcpy|memmove|memcpy\.inline)\..*|memcpy|memmove|__mem(cpy|move)_chk")
_FILL = lazy_pattern(r"llvm\.memset(\.inline|\.pattern)?\..*|memset|__memset_chk")
_LIFETIME = lazy_pattern(r"llvm\.lifetime\.(start|end)(\..*)?")
_PASSED_ON = lazy_pattern(
    r"llgrad\.tape\.column|llvm\.(launder\.invariant\.group|strip\.invariant\.group|ptrmask|threadlocal\.address|"
    r"ptr\.annotation|ssa\.copy|preserve\.\w+\.access\.index|arithmetic\.fence|masked\.\w+|vector\.(insert|extract|reverse|splice)|"
    r"experimental\.vector\.\w+|vp\.\w+|aarch64\..*|x86\..*)(\..*)?"
)

_RUN_TIME: tuple[tuple[re.Pattern[str], Behaviour], ...] = (
    (lazy_pattern(r"__cxa_allocate_exception"), Behaviour("allocate", "none", "none", inactive=True)),
    (lazy_pattern(r"__cxa_(free_exception|end_catch)"), NOTHING),
    (lazy_pattern(r"__cxa_(re)?throw|llgrad\.exception\.throw"), STOPS),
    (
        lazy_pattern(r"__cxa_(begin_catch|get_exception_ptr)"),
        Behaviour("plain", "none", "none", inactive=True, pure_result=True),
    ),
    (lazy_pattern("__dynamic_cast"), Behaviour("plain", "args", "none", inactive=True, pure_result=True, links=False)),
    (lazy_pattern(r"_ZSt18_Rb_tree_(in|de)crementP\w*"), Behaviour("plain", "args", "none", pure_result=True)),
    (lazy_pattern(r"_ZSt(29_Rb_tree_insert_and|28_Rb_tree_rebalance_for)_\w*"), Behaviour("plain", "args", "args")),
    (
        lazy_pattern(r"fread(_unlocked)?|fgets(_unlocked)?|p?read|getline|getdelim|__(fread|fgets|p?read)_chk|"
                   r"(__isoc(99|23)_)?v?[fs]?scanf"),
        Behaviour("plain", "args", "args", pure_result=True, links=False),
    ),
    (lazy_pattern("strtok"), Behaviour(keeps=frozenset({0}), links=False)),
    (lazy_pattern("(__)?strn?dup"), Behaviour("allocate", "args", "none", inactive=True)),
)  # fmt: skip
"""C++: exceptions (Itanium ABI), and the red-black trees behind std::map and std::set of libstdc++. C: input, which may
be of floats, and so is not inactive, but stores no pointers; text in parts, of which the library keeps the rest; copies
of text."""


def behaviour(call: Call, callee: Function | None) -> Behaviour:
    """What `call` does when it calls `callee`, a declaration, or None for code that is not known."""
    if callee is not None:
        by_name = _named(call, callee.name.removeprefix("\x01"))
        if by_name is not None:
            return by_name
    return _attributed(call, callee)


VIRTUAL, MET, TARGETS, OWN = "llgrad.virtual.", "llgrad.met.", "llgrad.targets.", "llgrad.own."


def virtual_functions(module: Module) -> dict[Function, GlobalVariable]:
    """The functions that pointers from outside may point to, by the user's word, each with a variable that does."""
    return _pointed(module, VIRTUAL)


def met_functions(module: Module) -> dict[Function, GlobalVariable]:
    """The functions that pointers in the program's variables may point to; see `transforms.symbols.address_taken`."""
    return _pointed(module, MET)


def targets_of(variable: GlobalVariable) -> dict[GlobalVariable, set[int | None]] | None:
    """What pointers in a variable may lead to when the root is entered (`llgrad.analysis.statics.known_targets`):
    variables, and at which bytes (None: anywhere; then there is one variable alone). None for one with a shadow of the
    user's, whose pointers lead to his."""
    module = variable.module
    listed = module.globals.get(TARGETS + variable.name) if module is not None else None
    if module is None or not isinstance(listed, GlobalVariable) or _has_users_shadow(variable):
        return None
    assert isinstance(listed.initializer, ConstAggregate)
    found: dict[GlobalVariable, set[int | None]] = {}
    for exact, places in zip((True, False), listed.initializer.elements, strict=True):
        for _, g, at in initial_pointers(places, module.layout):
            assert isinstance(g, GlobalVariable)
            found.setdefault(g, set()).add(at if exact else None)
    return found


def _has_users_shadow(g: GlobalVariable) -> bool:
    return any(a.name == "enzyme_shadow" for a in g.attributes)


class Owned(Struct, frozen=True):
    """Of a variable that holds blocks of its own alone: the number of the group that it has them in common with, at
    which bytes there are pointers to the starts of blocks, and others (`llgrad.analysis.statics.owned_buffers`)."""

    group: int
    starts: tuple[int, ...]
    others: tuple[int, ...]


def owners(module: Module) -> dict[GlobalVariable, Owned]:
    """What is told of variables that have no blocks in common with one that has a shadow of the user's."""
    found, others = dict[GlobalVariable, Owned](), set[int]()
    for g in module.variables:
        told = module.globals.get(OWN + g.name)
        if isinstance(told, GlobalVariable):
            listed = getattr(told.initializer, "elements", ())
            group, count, *places = (n.value if isinstance(n, ConstInt) else 0 for n in listed)
            found[g] = Owned(group, tuple(places[:count]), tuple(places[count:]))
            others |= {group} if _has_users_shadow(g) else set()
    return {g: owned for g, owned in found.items() if owned.group not in others}


def in_common(module: Module) -> dict[GlobalVariable, GlobalVariable]:
    """For variables that have blocks in common: the first of them, which stands for all."""
    first: dict[int, GlobalVariable] = {}
    return {g: first.setdefault(owned.group, g) for g, owned in owners(module).items()}


def _pointed(module: Module, prefix: str) -> dict[Function, GlobalVariable]:
    found = {}
    for g in module.variables:
        if g.name.startswith(prefix) and isinstance(g.initializer, Function):
            found[g.initializer] = g
    return found


def is_copy(call: Call) -> bool:
    """Is it a `memcpy` or `memmove`?"""
    f = call.called_function
    return f is not None and f.is_declaration and f.name.removeprefix("llvm.").startswith(("memcpy", "memmove"))


def is_column(call: Call) -> bool:
    """Is it the address of a column in a block of llgrad's tape?"""
    callee = call.called_function
    return callee is not None and callee.name == "llgrad.tape.column"


def tape_call(call: Call) -> str:
    """What a call does to llgrad's tape ("reserve", "release", … : `autodiff.emit.tape`); else nothing."""
    callee = call.called_function
    if callee is None or not callee.is_declaration or not callee.name.startswith("llgrad.tape.") or is_column(call):
        return ""
    return callee.name.removeprefix("llgrad.tape.")


def is_pure_rule(callee: Function | None) -> bool:
    """Does a derivative rule cover all that the function does?"""
    return callee is not None and lookup(callee.name) is not None


def _named(call: Call, name: str) -> Behaviour | None:
    if _COPY.fullmatch(name):
        return Behaviour("copy", "args", "args", pure_result=True)
    if _FILL.fullmatch(name):
        return Behaviour("fill", "none", "args", pure_result=True)
    if _LIFETIME.fullmatch(name):
        return Behaviour("lifetime", "none", "args", inactive=True, pure_result=True)
    if _AT_EXIT.fullmatch(name) and all(isinstance(a, AnyConstant) for a in call.arguments):
        return NOTHING
    for pattern, told in _RUN_TIME:
        if pattern.fullmatch(name):
            return told
    if name.startswith(STRING):
        roles = name[len(STRING) :].partition(".")[0]
        strings = tuple(n for n, role in enumerate(roles) if role == "w")
        return Behaviour("string", "args", "args", inactive=True, pure_result=True, links=False, strings=strings)
    if is_own(name) or sends(name):
        return Behaviour("plain", "args", "args", pure_result=True, links=False)
    known = effects(name)
    if known is not None:
        links = name.startswith("strto") or known.text or (not known.inactive and lookup(name) is None)
        return _of_effects(known, links)
    if _PASSED_ON.fullmatch(name):
        reads, writes = _memory(call, call.called_function)
        return Behaviour(reads="args" if reads != "none" else "none", writes="args" if writes != "none" else "none",
                         pure_result=True)  # fmt: skip
    return None


def _of_effects(known: Effects, links: bool) -> Behaviour:
    if known.allocator is not None:
        place = known.allocator.place if isinstance(known.allocator.place, int) else None
        moves = known.allocator.moves
        return Behaviour("allocate", known.reads_memory, known.writes_memory, moves=moves, freed=moves, place=place)
    if known.deallocator is not None:
        return Behaviour("free", "none", "args", freed=known.deallocator.pointer, pure_result=True)
    if known.inactive and known.reads_memory == known.writes_memory == "none":
        return NOTHING
    if known.noreturn:
        return STOPS
    return Behaviour(
        reads=known.reads_memory,
        writes=known.writes_memory,
        inactive=known.inactive,
        pure_result=known.within_first or not known.inactive,
        first=known.within_first,
        ends=known.ends,
        links=links,
        handle=known.handle,
        calls=known.text,
    )


def _attributed(call: Call, callee: Function | None) -> Behaviour:
    reads, writes = _memory(call, callee)
    allocates = _word(call, callee, "allockind")
    if allocates is not None and re.search(r"\balloc\b|\brealloc\b", allocates):
        old = next((i for i in range(call.arity) if _argument(call, callee, i, "allocptr")), None)
        return Behaviour("allocate", reads, writes, moves=old, freed=old)
    if allocates is not None and "free" in allocates:
        pointer = next((i for i in range(call.arity) if _argument(call, callee, i, "allocptr")), 0)
        return Behaviour("free", "none", "args", freed=pointer, pure_result=True)
    if any(a.name == "noalias" for a in _results(call, callee)):
        return Behaviour("allocate", reads, writes, keeps=_kept(call, callee))
    if reads == writes == "none":
        return Behaviour("plain", "none", "none", pure_result=True)
    if callee is not None and not _JUMPS.fullmatch(callee.name) and any(
        a.name == "noreturn" for a in _attributes(call, callee)
    ):
        return STOPS
    return Behaviour("plain", reads, writes, keeps=_kept(call, callee))


def _memory(
    call: Call, callee: Function | None
) -> tuple[Literal["none", "args", "any"], Literal["none", "args", "any"]]:
    """What of memory is read and what written, from `memory(…)` and its older spellings."""
    scopes = [{"": "readwrite"}]
    if isinstance(call.callee, InlineAsm) and "~{memory}" not in call.callee.text:
        scopes.append({"": "read", "argmem": "readwrite"})  # LangRef, Clobber constraints
    for attribute in _attributes(call, callee):
        if attribute.name == "memory" and isinstance(attribute.value, str):
            scopes.append(_parse_memory(attribute.value))
        elif attribute.name in _OLDER:
            scopes.append(_OLDER[attribute.name])
    everything = {"argmem", "", "inaccessiblemem"}
    allowed = {place: [s.get(place, s.get("", "none")) for s in scopes] for place in everything}

    def extent(word: str) -> Literal["none", "args", "any"]:
        if all(word in access for access in allowed[""]):
            return "any"
        return "args" if all(word in access for access in allowed["argmem"]) else "none"

    return extent("read"), extent("write")


_OLDER: dict[str, dict[str, str]] = {
    "readnone": {"": "none"},
    "readonly": {"": "read"},
    "writeonly": {"": "write"},
    "argmemonly": {"": "none", "argmem": "readwrite"},
    "inaccessiblememonly": {"": "none"},
    "inaccessiblemem_or_argmemonly": {"": "none", "argmem": "readwrite"},
}


def _parse_memory(text: str) -> dict[str, str]:
    """`read, argmem: readwrite` as {"": "read", "argmem": "readwrite"}."""
    parts = [p.strip() for p in text.split(",") if p.strip()]
    found = {"": "none"}
    for part in parts:
        place, colon, access = part.partition(":")
        found[place.strip() if colon else ""] = (access if colon else place).strip()
    return found


def _attributes(call: Call, callee: Function | None) -> Iterator[Attribute]:
    yield from call.attributes
    if callee is not None:
        yield from callee.attributes


def _results(call: Call, callee: Function | None) -> tuple[Attribute, ...]:
    return call.result_attributes + (callee.result_attributes if callee is not None else ())


def _word(call: Call, callee: Function | None, name: str) -> str | None:
    return next((str(a.value) for a in _attributes(call, callee) if a.name == name), None)


def _argument(call: Call, callee: Function | None, index: int, name: str) -> Attribute | None:
    """The attribute `name` of an argument, at the call or at the declaration."""
    declared = callee.arguments[index].attributes if callee is not None and index < len(callee.arguments) else ()
    return next((a for a in (*call.argument_attributes[index], *declared) if a.name == name), None)


def reads_argument(call: Call, callee: Function | None, index: int) -> bool:
    """May the callee read through this argument?"""
    return not any(_argument(call, callee, index, n) for n in ("readnone", "writeonly"))


def writes_argument(call: Call, callee: Function | None, index: int) -> bool:
    """May the callee write through this argument?"""
    return not any(_argument(call, callee, index, n) for n in ("readnone", "readonly", "byval"))


def is_result(call: Call, callee: Function | None, index: int) -> bool:
    """Is this argument where a struct is returned?"""
    return _argument(call, callee, index, "sret") is not None


def _kept(call: Call, callee: Function | None) -> frozenset[int]:
    """The arguments whose pointers may outlive the call: all but `nocapture` and `captures(none | address…)`."""
    return frozenset(i for i in range(call.arity) if not _is_forgotten(call, callee, i))


def forgets(a: Argument) -> bool:
    """Does the function keep no address in this argument beyond its return, as far as its attributes say?"""
    captures = a.attribute("captures")
    return captures is not None and "provenance" not in str(captures.value) or a.attribute("nocapture") is not None


def _is_forgotten(call: Call, callee: Function | None, index: int) -> bool:
    if _argument(call, callee, index, "nocapture") or _argument(call, callee, index, "byval"):
        return True
    captures = _argument(call, callee, index, "captures")
    return captures is not None and "provenance" not in str(captures.value)
