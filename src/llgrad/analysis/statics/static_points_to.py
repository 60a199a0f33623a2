"""Static variables that hold pointers, followed through a whole program.

What ran before a derivative was asked for counts, too, when one asks what such a variable may hold. So the functions
that name it, and those that get pointers from them, are optimised alone, that little is left of the library's classes,
and all that is made of the variable's address is followed through registers, calls and results, each call apart. The
address *escapes* where it is stored elsewhere, given to code that is not known or that asks for derivatives, returned
from a function that others may call, or merged with pointers of another origin. Then nothing is known: unknown means
"may". What is asked of what is stored there, and of what is read, the subclasses of `Walk` say.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from llgrad.analysis.memory.call_effects import behaviour
from llgrad.analysis.objects import WORD, constant_targets, gep_offset
from llgrad.analysis.solver import reach
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.symbols import is_local, named, named_elsewhere, named_in
from llgrad.ir.types import ArrayType, DataLayout, FloatType, IntType, PointerType, StructType, Type, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Branch,
    Call,
    Cast,
    Compare,
    Constant,
    ConstExpr,
    ConstInt,
    ConstNull,
    Function,
    GetElementPtr,
    GlobalValue,
    GlobalVariable,
    InsertElement,
    Instruction,
    Load,
    MetadataValue,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    Unary,
    Undef,
    parts,
)
from llgrad.llvm.module import LLVMModule

_ASKS = "__enzyme"
_AT_EXIT = ("__cxa_atexit", "__cxa_thread_atexit")
_NUMBERS = ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl")


class Role(Enum):
    """What a value is: the variable's address, a pointer into its block, or a number that was made of either."""

    ADDRESS = 0
    BLOCK = 1
    NUMBER = 2


class Escapes(Exception):
    """What was followed is found elsewhere; in another variable, where that is said."""

    def __init__(self, to: GlobalVariable | None = None) -> None:
        self.to = to


class Place(NamedTuple):
    """Where an address lies: so many bytes from the start of a variable, or of what an argument leads to. None: it is
    not known how many. Of what is no address nothing is known but its role."""

    base: GlobalVariable | Argument | Role
    at: int | None

    @property
    def role(self) -> Role:
        return self.base if isinstance(self.base, Role) else Role.ADDRESS

    def moved(self, by: int | None) -> Place:
        return Place(self.base, None if self.at is None or by is None else self.at + by)


BLOCK, NUMBER = Place(Role.BLOCK, None), Place(Role.NUMBER, None)


class Naming(NamedTuple):
    """Who names something: functions in their bodies, variables in their initializers, or somebody else."""

    functions: dict[str, None]
    variables: dict[str, None]
    outside: bool


class Places:
    """Where a program names what. `closed`: nobody else calls the program's functions by name."""

    def __init__(self, module: Module, closed: bool) -> None:
        self.module = module
        self._defined = [f for f in module.functions if not f.is_declaration]
        self.replaced = {f.name for f in self._defined if f.linkage in ("weak", "linkonce") and not closed}
        self.private = {f.name for f in self._defined if is_local(f) or (closed and f.name != "main")}
        self._returning = {f.name for f in self._defined if _may_hold_pointers(f.function_type.result)}
        self.tabled: set[str] = set()  # functions that are named outside functions

    def around(self, variable: str, *, held: bool = False) -> dict[str, None] | None:
        """The functions that name a variable, and those that may get pointers from them; None if something else names
        it. `held`: other variables may, in their initializers."""
        found, work = dict[str, None](), [variable]
        while work:
            name = work.pop()
            naming = self.naming(name)
            if name == variable and (naming.outside or (naming.variables and not held)):
                return None
            self.tabled |= {name} if naming.outside or naming.variables else set()
            for f in naming.functions:
                if f not in found:
                    found[f] = None
                    work += [f] if f in self.private and f in self._returning else []
        return found

    def naming(self, name: str) -> Naming:
        """Who names something."""
        found = self._named.get(name, {})
        functions = {f.name: None for f in found if isinstance(f, Function)}
        variables = {v.name: None for v in found if isinstance(v, GlobalVariable) and v.name != name}
        return Naming(functions, variables, None in found)

    @functools.cached_property
    def _named(self) -> dict[str, dict[Function | GlobalVariable | None, None]]:
        """What names something: None stands for whatever is no body and no initializer."""
        found: dict[str, dict[Function | GlobalVariable | None, None]] = {}
        for f in self._defined:
            for name in named(f):
                found.setdefault(name, {})[f] = None
        for v in self.module.variables:
            for name in named_in(v):
                found.setdefault(name, {})[v] = None
        for name in named_elsewhere(self.module):
            found.setdefault(name, {})[None] = None
        return found

    @functools.cached_property
    def asking(self) -> set[str]:
        """The functions that ask for derivatives, and what names those."""
        return set(reach([name for name in self._named if _ASKS in name], lambda name: self.naming(name).functions))


def _may_hold_pointers(t: Type) -> bool:
    return isinstance(scalar(t), PointerType | StructType | ArrayType)


class Part:
    """The part of a program where such variables are used. `groups`: the functions around each (`Places.around`).
    `held`: those that other variables may name in their initializers, too; they are in `around`
    alone."""

    def __init__(
        self, text: str, places: Places, groups: Mapping[str, Iterable[str]],
        held: Mapping[str, Iterable[str]] | None = None,
    ) -> None:  # fmt: skip
        every = {**(held or {}), **groups}
        functions = {f for group in every.values() for f in group}
        self.module = parse(_optimised(text, places.module, functions | places.replaced))
        after = Places(self.module, closed=False)
        after.private |= places.private
        self.around: dict[str, list[str]] = {}
        for v, group in every.items():  # (LLVM names it where an argument always is its address, too)
            found = after.around(v, held=v not in groups)
            if found or (found is not None and v not in groups):
                self.around[v] = list({**found, **dict.fromkeys(group)})
        self.groups = {name: found for name, found in self.around.items() if name in groups}
        self.asking = places.asking
        self.closed = places.private - places.tabled
        self._replaced = places.replaced

    def variable(self, name: str) -> GlobalVariable:
        """One of those variables. Raises Escapes where LLVM has changed it."""
        found = self.module.globals.get(name)
        if not isinstance(found, GlobalVariable) or name not in self.around:
            raise Escapes
        return found

    def function(self, name: str) -> Function:
        """One of the functions around them. Raises Escapes where LLVM has left it out."""
        if name not in self.module.globals:
            raise Escapes
        return self.module.function(name)

    def is_open(self, f: Function) -> bool:
        """Is it not known what a function does? Another program may bring one in place of a weak one."""
        return f.is_declaration or f.name in self._replaced


def _optimised(text: str, program: Module, functions: Collection[str]) -> str:
    """These functions, and what they call, optimised: as if others could call them, and name all variables: what the
    rest of the program stores in those, it may."""
    shown = [*functions, *(v.name for v in program.variables if _may_be_shown(v))]
    part = LLVMModule.from_text(text)
    part.show(shown)
    part.internalize(shown)
    part.optimise(2)
    return part.text()


class Following:
    """One question about such variables: what walks answer it, of each function once."""

    def __init__(self, part: Part, walk: type[Walk]) -> None:
        self.part, self._walk = part, walk
        self._through: dict[tuple[Argument, Place], Walk | None] = {}

    def follow(self, variables: Collection[GlobalVariable]) -> list[Walk]:
        """Follow variables through all functions around them: the walks, one of each function. Raises Escapes."""
        functions = dict.fromkeys(f for v in variables for f in self.part.groups[v.name])
        returned: dict[Function, frozenset[Place]] = {}
        while True:  # until no more is returned to others
            before, walks = dict(returned), list[Walk]()
            for f in map(self.part.function, functions):
                walks.append(self._within(f, variables, returned))
                if found := walks[-1].run():
                    if f.name not in self.part.closed or NUMBER in found:
                        raise Escapes
                    returned[f] = found
            if returned == before:
                check_pieces(walks, self.part.module.layout)
                return walks

    def _within(
        self, f: Function, variables: Collection[GlobalVariable], returned: Mapping[Function, frozenset[Place]]
    ) -> Walk:
        walk = self._walk(self, f)
        for i in f.instructions():
            for v in i.operands:
                if (place := self._address(v, variables)) is not None:
                    walk.add(v, place, [i])
                elif isinstance(v, Function) and v in returned and not (isinstance(i, Call) and v is i.callee):
                    raise Escapes  # it may be called from anywhere
            if isinstance(i, Call) and (g := i.called_function) in returned and g is not None:
                for place in returned[g]:
                    if place.role is Role.ADDRESS and len(variables) > 1:
                        raise Escapes
                    walk.add(i, place)
        return walk

    def _address(self, v: AnyValue, variables: Collection[GlobalVariable]) -> Place | None:
        """The place that a constant leads to, if it is in one of these variables. They escape in other constants."""
        if isinstance(v, GlobalVariable) and v in variables:
            return Place(v, 0)
        if isinstance(v, MetadataValue) or not any(_mentions(v, g) for g in variables):
            return None
        if isinstance(v, ConstExpr) and v.opcode in ("getelementptr", "bitcast", "addrspacecast"):
            (g, at), *others = constant_targets(v, self.part.module.layout)
            if isinstance(g, GlobalVariable) and g in variables and not others:
                return Place(g, at)
        raise Escapes

    def through(self, f: Function, index: int, given: Place) -> Walk:
        """The walk of a function that is given such a value."""
        if f.name in self.part.asking or self.part.is_open(f) or index >= len(f.arguments):
            raise Escapes
        argument = f.arguments[index]
        key = argument, Place(argument, 0) if given.role is Role.ADDRESS else given
        if key not in self._through:
            self._through[key] = None  # (of functions that call themselves nothing is known)
            walk = self._walk(self, f)
            walk.add(*key)
            walk.run()
            self._through[key] = walk
        if (found := self._through[key]) is None:
            raise Escapes
        return found


def _may_be_shown(v: GlobalVariable) -> bool:
    """Is it a variable that may change, and that the program defines?"""
    elsewhere = v.is_declaration or v.linkage in ("available_externally", "appending")
    return not (v.constant or elsewhere or v.name.isdigit())


def _mentions(v: object, variable: AnyValue) -> bool:
    return v is variable or any(_mentions(p, variable) for p in parts(v))


class Walk(ABC):
    """What is made of some values within one function."""

    def __init__(self, of: Following, function: Function) -> None:
        self.of, self.function = of, function
        assert function.blocks is not None  # have them read: only then do values know their users
        self.seen: dict[AnyValue, Place] = {}
        self.kept: list[tuple[Place, AnyValue]] = []  # pointers that are stored in the variable, and where
        self.loads: dict[AnyValue, Place] = {}  # what is read from it
        self.pieces: list[tuple[Place, Load | Store]] = []  # accesses of small numbers, and floats
        self.copies: list[Call] = []  # to it or from it
        self.inner: list[tuple[Place, Walk]] = []  # of functions that are given an address
        self.returned: frozenset[Place] = frozenset()
        self._work: list[tuple[AnyValue, Iterable[object]]] = []
        self._stored_at: list[AnyValue] = []  # where the block's are stored

    @abstractmethod
    def check_kept(self, v: AnyValue) -> None:
        """Raises Escapes unless a pointer is one that the variable may be given."""

    def is_fresh(self, v: AnyValue) -> bool:
        """Is it a block that nothing leads to yet? It may be merged with the variable's."""
        return False

    @abstractmethod
    def read(self, load: Load) -> None:
        """A pointer, or a number that may be one's bits, is read from the variable."""

    @abstractmethod
    def check_copied(self, call: Call) -> None:
        """Bytes are copied to the variable, or from it. Raises Escapes unless it may be given them, or hand them on."""

    def keep_number(self, place: Place, v: AnyValue) -> None:
        """The variable is given a number of 8 bytes or more. Raises Escapes if that may be a pointer's bits."""
        made = isinstance(v, Binary) and v.opcode in _NUMBERS and not any(map(_is_bits, v.operands))
        if not made and not isinstance(v, ConstInt) and not (isinstance(v, Cast) and not _is_bits(v)):
            raise Escapes

    def place(self, v: AnyValue) -> Place:
        """Of an address that is followed. (Constants have been seen where they are used.) Raises Escapes for others."""
        if (found := self.seen.get(v)) is None or found.role is not Role.ADDRESS:
            raise Escapes(variable_of(v))
        return found

    def everywhere(self, found: Callable[[Walk], Iterable[tuple[Place, AnyValue]]]) -> Iterator[tuple[Place, AnyValue]]:
        """What is found at places here, and in functions that are given an address."""
        yield from found(self)
        for place, inside in self.inner:
            yield from ((place.moved(p.at), v) for p, v in inside.everywhere(found))

    def add(self, v: AnyValue, place: Place, users: Iterable[object] | None = None) -> None:
        new = v not in self.seen
        if self.seen.setdefault(v, place) != place:
            raise Escapes  # (merged addresses have no certain place from the beginning)
        if new or users is not None:
            self._work.append((v, v.users if users is None else users))

    def run(self) -> frozenset[Place]:
        """What is returned; of addresses, not at which byte they lie."""
        done, checked, found = set[tuple[AnyValue, object]](), 0, set[Place]()
        while self._work or checked < len(self.kept):
            if not self._work:
                checked += 1
                self.check_kept(self.kept[checked - 1][1])
                continue
            v, users = self._work.pop()
            for u in list(users):
                if isinstance(u, Return):
                    found.add(self.seen[v].moved(None))
                elif isinstance(u, Instruction) and (v, u) not in done:
                    done.add((v, u))
                    self._use(v, self.seen[v].role, u)
        self.returned |= found
        self._check_merged()
        return self.run() if self._work else self.returned

    # --- uses

    def _use(self, v: AnyValue, role: Role, u: Instruction) -> None:
        match u:
            case Compare() | Switch():
                return
            case Call():
                self._called(v, role, u)
            case Phi() | Select() | Unary("freeze") if not (isinstance(u, Select) and u.condition is v):
                self._follow(u, v, None)
            case Store():
                self._stored(v, role, u)
            case _ if role is Role.NUMBER:
                self._number(v, u)
            case Load() if role is Role.BLOCK:
                return
            case Load():
                self.loads[u] = self.place(v)
                self._loaded(u)
            case GetElementPtr(source, pointer, indices) if pointer is v:
                self._follow(u, v, gep_offset(source, indices, self.of.part.module.layout))
            case Cast("bitcast" | "addrspacecast"):
                self._follow(u, v, 0)
            case Cast("ptrtoint"):
                self.add(u, NUMBER)
            case InsertElement() if _is_compared(u):
                return
            case _:
                raise Escapes

    def _follow(self, u: Instruction, v: AnyValue, by: int | None) -> None:
        """What is made of a value has its role, and lies `by` bytes behind it."""
        self.add(u, self.seen[v].moved(by))

    def _loaded(self, load: Load) -> None:
        t = scalar(load.type)
        if isinstance(t, PointerType | StructType) and not isinstance(load.type, PointerType):
            raise Escapes
        if _may_be_pointer(t):
            self.read(load)
        else:
            self.pieces.append((self.loads[load], load))

    def _number(self, v: AnyValue, u: Instruction) -> None:
        match u:
            case Binary("sub", lhs, rhs) if all(self.seen.get(o) == NUMBER or _is_bits(o) for o in (lhs, rhs)):
                return  # a distance
            case Binary() | Cast("trunc" | "zext" | "sext"):
                self.add(u, NUMBER)
            case Cast("sitofp" | "uitofp"):
                return
            case GetElementPtr(_, pointer, _) if pointer is not v and not isinstance(pointer, ConstNull):
                return
            case _:
                raise Escapes

    def _stored(self, v: AnyValue, role: Role, store: Store) -> None:
        value, pointer = store.value, store.pointer
        if value is v:
            if is_slot(pointer):
                for load in (u for u in pointer.users if isinstance(u, Load)):
                    self._follow(load, v, None)
            elif role is Role.ADDRESS:
                raise Escapes
            else:
                self._stored_at.append(pointer)
        elif role is Role.ADDRESS:
            t = scalar(value.type)
            if isinstance(value.type, PointerType):
                self.kept.append((self.place(v), value))
            elif isinstance(t, StructType) or _may_be_pointer(t):
                self.keep_number(self.place(v), value)
            else:
                self.pieces.append((self.place(v), store))

    def _called(self, v: AnyValue, role: Role, call: Call) -> None:
        f, name = call.called_function, getattr(call.callee, "name", "")
        if name.startswith("llvm.assume"):
            return
        indices = [n for n, a in enumerate(call.arguments) if a is v]
        if f is None or not indices or name in self.of.part.asking or _ASKS in name:
            raise Escapes
        for n in indices:
            if not f.is_declaration:
                inner = self.of.through(f, n, self.seen[v])
                if role is Role.ADDRESS:
                    self.inner.append((self.place(v), inner))
                for place in inner.returned:
                    self.add(call, self.place(v).moved(None) if place.role is Role.ADDRESS else place)
            elif name.startswith("llvm.threadlocal.address"):
                self._follow(call, v, 0)
            elif name in _AT_EXIT and role is Role.ADDRESS:
                self._at_exit(call)
            else:
                self._declared(call, f, n, role)

    def _at_exit(self, call: Call) -> None:
        end = call.arguments[0]
        if not isinstance(end, Function) or end.is_declaration:
            raise Escapes
        place = self.place(call.arguments[1])
        self.inner.append((place, inner := self.of.through(end, 0, place)))
        if inner.returned:
            raise Escapes

    def _declared(self, call: Call, f: Function, index: int, role: Role) -> None:
        told = behaviour(call, f)
        if told.kind in ("fill", "lifetime", "nothing") and not isinstance(call.type, IntType):
            return
        if role is Role.NUMBER:
            if isinstance(call.type, IntType) and f.name.startswith("llvm."):
                self.add(call, NUMBER)
            elif told.kind not in ("allocate", "copy", "free"):
                raise Escapes
            return
        if told.kind == "copy" and role is Role.ADDRESS:
            self.copies.append(call)
            return
        others = any(isinstance(a.type, PointerType) and a is not call.arguments[index] for a in call.arguments)
        linked = told.kind in ("plain", "string") and told.links and others
        if role is Role.ADDRESS or index in told.keeps or told.handle or told.calls or linked:
            raise Escapes
        if isinstance(call.type, PointerType) and told.kind != "allocate":
            self.add(call, BLOCK)

    # --- at the end

    def _check_merged(self) -> None:
        """What is one of several values must be one of these alone, or fresh; what is returned, too."""
        for v, place in list(self.seen.items()):
            if place != NUMBER:
                self._require(merged(v) or (), place.role)
        for p in self._stored_at:
            self.place(p)
        for call in self.copies:
            self.check_copied(call)
        for place in self.returned - {NUMBER}:
            self._require(self.function.returned(), place.role)

    def _require(self, values: Iterable[AnyValue], role: Role) -> None:
        for w in values:
            if isinstance(w, ConstNull | Undef) or (w in self.seen and self.seen[w].role is role):
                continue
            if role is not Role.BLOCK or not self.is_fresh(w):
                raise Escapes(_read_from(w))
            self.add(w, BLOCK)


def merged(v: AnyValue) -> Iterable[AnyValue] | None:
    """The values one of which a value is; None if it is one of its own."""
    match v:
        case Phi():
            return v.operands
        case Select(_, one, other):
            return one, other
        case Load(pointer) if is_slot(pointer):
            return stored_in(pointer)
    return None


def ends(v: AnyValue, on: Callable[[AnyValue], Iterable[AnyValue] | None] = merged) -> list[AnyValue]:
    """Where the ways from a value end. `on`: what one leads to, None at an end. (If merged: what the value may be.)"""
    return [w for w in reach([v], lambda w: on(w) or ()) if on(w) is None]


def _is_compared(v: AnyValue) -> bool:
    """Are addresses in lanes compared alone? (So LLVM tests whether several arrays overlap.)"""

    def on(v: AnyValue) -> Iterable[AnyValue] | None:
        match v:
            case InsertElement() | ShuffleVector() | GetElementPtr() | Cast("ptrtoint") | Binary("sub"):
                return v.users
            case Compare():
                return ()
        return None

    return not ends(v, on)


def _may_be_pointer(t: Type) -> bool:
    return isinstance(t, PointerType) or (isinstance(t, IntType) and t.bits >= 64)


def check_pieces(walks: Sequence[Walk], layout: DataLayout) -> None:
    """Raises Escapes where pointers may be moved in pieces: byte by byte, as generic sorts do."""
    pointers = {p for walk in walks for p, _ in walk.everywhere(_pointers)}
    for place, i in (found for walk in walks for found in walk.everywhere(lambda w: w.pieces)):
        t = i.value.type if isinstance(i, Store) else i.type
        if any(_overlap(place, t, layout.size(t), p) for p in pointers) and _is_moved(i):
            raise Escapes


def _pointers(walk: Walk) -> Iterator[tuple[Place, AnyValue]]:
    """Where pointers are loaded and stored."""
    yield from walk.kept
    yield from ((place, v) for v, place in walk.loads.items() if isinstance(scalar(v.type), PointerType))


def _overlap(place: Place, t: Type, size: int, pointer: Place) -> bool:
    """May a number that is accessed be a part of a pointer? (At places that are not known, single bytes alone are:
    other numbers have members of their own.)"""
    if place.base is not pointer.base:
        return False
    if place.at is None or pointer.at is None:
        return scalar(t) == IntType(8)
    return place.at - WORD < pointer.at < place.at + size


def _is_moved(i: AnyValue) -> bool:
    """Is a number that is loaded stored elsewhere, or one that is stored loaded elsewhere, as it is?"""

    def on(v: AnyValue) -> Iterable[AnyValue] | None:
        match v:
            case Load() if v is i:
                return v.users
            case Binary(opcode) if opcode in _NUMBERS or isinstance(scalar(v.type), FloatType):
                return ()
            case Phi() | Select() | Unary() | Cast() | Binary():
                return v.operands if isinstance(i, Store) else v.users
            case Compare() | Switch() | Branch() | Constant() | GlobalValue():
                return ()
        return None

    return bool(ends(i.value if isinstance(i, Store) else i, on))


def variable_of(v: AnyValue) -> GlobalVariable | None:
    """The variable that an address lies in, where it shows."""
    while isinstance(v, GetElementPtr) or (isinstance(v, ConstExpr) and v.opcode == "getelementptr"):
        v = v.operands[0]
    return v if isinstance(v, GlobalVariable) else None


def _read_from(v: AnyValue) -> GlobalVariable | None:
    """A variable that it may have been read from."""
    loads = (w for w in ends(v) if isinstance(w, Load))
    return next((found for load in loads if (found := variable_of(load.pointer)) is not None), None)


def _is_bits(v: AnyValue) -> bool:
    return isinstance(v, Cast | ConstExpr) and v.opcode == "ptrtoint"


def is_slot(v: AnyValue) -> bool:
    """Is it a variable of the function's own, which is only loaded and stored?"""
    return isinstance(v, Alloca) and all(
        isinstance(u, Load) or (isinstance(u, Store) and u.value is not v) or _is_lifetime(u) for u in v.users
    )


def _is_lifetime(u: object) -> bool:
    return isinstance(u, Call) and getattr(u.callee, "name", "").startswith("llvm.lifetime.")


def stored_in(slot: AnyValue) -> Iterator[AnyValue]:
    return (u.value for u in getattr(slot, "users", ()) if isinstance(u, Store))


__all__ = [
    "BLOCK", "NUMBER", "Escapes", "Following", "Part", "Place", "Places", "Role", "Walk",
    "check_pieces", "ends", "is_slot", "merged", "variable_of",
]  # fmt: skip
