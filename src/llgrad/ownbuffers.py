"""Static variables that hold nothing but blocks of their own, which nothing else leads to.

`static double *work;`, which one function allocates and others use, or a `static std::vector<double>`: whoever ran
before, it holds null or blocks of `malloc`'s or `new`'s that no other variable was given, and no argument of a
derivative points there. So a derivative may make their shadows itself (`analysis.keptbuffers`).

That is a question about the whole program, for what ran before a derivative was asked for counts, too. The functions
that name such a variable, and those that get pointers from them, are optimised alone, so that little is left of the
library's classes, and all that is made of the variable's address, and of pointers read from it or stored there, is
followed through registers, calls and results, each call apart. Such a pointer *escapes* where it is stored elsewhere,
given to code that is not known or that asks for derivatives, returned from a function that others may call, or merged
with pointers of another origin; and what is stored in the variable must be fresh from an allocator. Where anything
escapes the variable is none of these: unknown means "may".
"""

from __future__ import annotations

import functools
import re
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator
from enum import Enum

from llgrad.analysis.known import behaviour
from llgrad.assembly import DEFINITION, GLOBAL, NAME, plain
from llgrad.backend.module import LLVMModule
from llgrad.ir.parse import parse
from llgrad.ir.types import IntType, PointerType, StructType, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    ConstExpr,
    ConstInt,
    ConstNull,
    ConstZero,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Load,
    MetadataValue,
    Phi,
    Return,
    Select,
    Store,
    Switch,
    Unary,
    Undef,
)

OWNER = "of-its-own."  # before the name: no name of C's, or of LLVM's, has it
_NULL = re.compile(r"ptr null(?:,|$)|[^\n]*(?:ptr|%)[^\n]* zeroinitializer(?:,|$)", re.MULTILINE)
_END = r"(?![-\w.$])"
_LOCAL = re.compile(r"\b(?:internal|private) ")
_POINTERS = re.compile(r"\bptr |[{%\[]")  # in a function's header: it may return some
_ASKS = "__enzyme"
_AT_EXIT = ("__cxa_atexit", "__cxa_thread_atexit")
_NUMBERS = ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl")


class _Role(Enum):
    """What a value is: the variable's address, a pointer into its block, or a number that was made of either."""

    ADDRESS = 0
    BLOCK = 1
    NUMBER = 2


class _Escapes(Exception):
    """What was followed is found elsewhere."""


@functools.lru_cache(maxsize=1)
def own_buffers(text: str, closed: bool = False) -> frozenset[str]:
    """The private variables of a program that are such. `closed`: nobody else calls the program's functions by name."""
    wanted = {m[1] for m in GLOBAL.finditer(text) if _may_keep(m)}
    if not wanted:
        return frozenset()
    places = _Places(text, closed)
    found = {name: group for name in sorted(wanted) if (group := places.around(name))}
    if not found:
        return frozenset()
    part = _Part(_optimised(text, {f for group in found.values() for f in group}, found), places)
    return frozenset(plain(name) for name, group in found.items() if part.keeps(plain(name), group))


def _may_keep(m: re.Match[str]) -> bool:
    """Is it a private variable, all pointers in which are null at first?"""
    private = not {"internal", "private"}.isdisjoint(m[2].split())
    return private and m[3] == "global" and _NULL.match(m.string, m.end()) is not None


class _Places:
    """Where a program's text names what."""

    def __init__(self, text: str, closed: bool) -> None:
        self.text = text
        headers = list(DEFINITION.finditer(text))
        self._starts, self._names = [m.start() for m in headers], [m[2] for m in headers]
        self._bodies = [m.end() for m in headers]
        self._ends = [text.find("\n}", m.end()) for m in headers]
        self.private = {m[2] for m in headers if _LOCAL.search(m[1]) or (closed and m[2] != "@main")}
        self._returning = {m[2] for m in headers if _POINTERS.search(_LOCAL.sub("", m[1]).removeprefix("define "))}
        self.tabled: set[str] = set()  # functions that are named outside functions

    def around(self, variable: str) -> dict[str, None]:
        """The functions that name a variable, and those that may get pointers from them; none if something else names
        it."""
        found, work = dict[str, None](), [variable]
        while work:
            name = work.pop()
            users, outside = self._naming(name)
            if outside and name == variable:
                return {}
            self.tabled |= {name} if outside else set()
            for f in users:
                if f not in found:
                    found[f] = None
                    work += [f] if f in self.private and f in self._returning else []
        return found

    def _naming(self, name: str) -> tuple[list[str], bool]:
        """The functions in whose bodies something is named; is it named elsewhere, too?"""
        users, outside = dict[str, None](), False
        for m in re.finditer(re.escape(name) + _END, self.text):
            n = bisect(self._starts, m.start()) - 1
            if n >= 0 and self._bodies[n] <= m.start() < self._ends[n]:
                users[self._names[n]] = None
            elif n >= 0 and m.start() < self._bodies[n]:
                outside |= self._names[n] != name
            else:
                outside |= not self.text.startswith(f"{name} = ", m.start())
        return list(users), outside

    @functools.cached_property
    def asking(self) -> set[str]:
        """The functions that ask for derivatives, and what names those."""
        named: dict[str, set[str]] = {}
        for f, start, end in zip(self._names, self._bodies, self._ends, strict=True):
            for name in set(re.findall(NAME, self.text[start:end])):
                named.setdefault(name, set()).add(f)
        found, work = set[str](), [name for name in named if _ASKS in name]
        while work:
            if (name := work.pop()) not in found:
                found.add(name)
                work += named.get(name, ())
        return {plain(name) for name in found}


def _optimised(text: str, functions: Collection[str], variables: Iterable[str]) -> str:
    """These functions, and what they call, optimised: as if others could call them, and name the variables."""
    shown = set(variables)
    text = DEFINITION.sub(lambda m: (_LOCAL.sub("", m[1]) if m[2] in functions else m[1]) + m[0][len(m[1]) :], text)
    text = GLOBAL.sub(lambda m: _LOCAL.sub("", m[0]) if m[1] in shown else m[0], text)
    part = LLVMModule.from_text(text)
    part.internalize([plain(name) for name in (*functions, *shown)])
    part.optimise(2)
    return part.text()


class _Part:
    """The part of a program where such variables are used."""

    def __init__(self, text: str, places: _Places) -> None:
        self._module, self.asking = parse(text), places.asking
        self._closed = {plain(f) for f in places.private - places.tabled}
        self._through: dict[tuple[Argument, _Role], frozenset[_Role] | None] = {}
        self._fresh: dict[Function, bool] = {}

    def keeps(self, name: str, group: Iterable[str]) -> bool:
        """Does nothing escape of a variable? `group`: the functions that name it, or get pointers from those."""
        variable, functions = self._module.globals.get(name), [self._module.function(plain(f)) for f in group]
        if not isinstance(variable, GlobalVariable) or not isinstance(variable.initializer, ConstNull | ConstZero):
            return False
        returned: dict[Function, frozenset[_Role]] = {}
        try:
            while True:  # until no more is returned to others
                before = dict(returned)
                for f in functions:
                    if found := self._within(f, variable, returned):
                        if f.name not in self._closed:
                            return False
                        returned[f] = found
                if returned == before:
                    return True
        except _Escapes:
            return False

    def _within(self, f: Function, variable: AnyValue, returned: dict[Function, frozenset[_Role]]) -> frozenset[_Role]:
        walk = _Walk(self, f)
        for i in f.instructions():
            for v in i.operands:
                if _is_address(v, variable):
                    walk.add(v, _Role.ADDRESS, [i])
                elif isinstance(v, Function) and v in returned and not (isinstance(i, Call) and v is i.callee):
                    raise _Escapes  # it may be called from anywhere
            if isinstance(i, Call) and (g := i.called_function) in returned and g is not None:
                for role in returned[g]:
                    walk.add(i, role)
        return walk.run()

    def through(self, f: Function, index: int, role: _Role) -> frozenset[_Role]:
        """What a function returns that is given such a value."""
        if f.name in self.asking or index >= len(f.arguments):
            raise _Escapes
        key = f.arguments[index], role
        if key not in self._through:
            self._through[key] = None  # (of functions that call themselves nothing is known)
            walk = _Walk(self, f)
            walk.add(key[0], role)
            self._through[key] = walk.run()
        if (found := self._through[key]) is None:
            raise _Escapes
        return found

    def returns_fresh(self, f: Function) -> bool:
        """Is all that a function returns fresh from an allocator, or null?"""
        if f not in self._fresh:
            self._fresh[f] = False
            walk = _Walk(self, f)
            try:
                walk.require_fresh([i.value for i in f.instructions() if isinstance(i, Return) and i.value is not None])
                self._fresh[f] = walk.run() <= {_Role.BLOCK}
            except _Escapes:
                pass
        return self._fresh[f]


def _is_address(v: AnyValue, variable: AnyValue) -> bool:
    """Is it the address of a variable, or of a part of it? It escapes in any other constant."""
    if v is variable:
        return True
    if isinstance(v, MetadataValue) or not _mentions(v, variable):
        return False
    if isinstance(v, ConstExpr) and v.opcode in ("getelementptr", "bitcast", "addrspacecast"):
        return _is_address(v.operands[0], variable)
    raise _Escapes


def _mentions(v: object, variable: AnyValue) -> bool:
    parts = v.operands if isinstance(v, ConstExpr) else getattr(v, "elements", ())
    return v is variable or any(_mentions(p, variable) for p in parts)


class _Walk:
    """What is made of some values within one function."""

    def __init__(self, of: _Part, function: Function) -> None:
        self._of, self._function = of, function
        assert function.blocks is not None  # have them read: only then do values know their users
        self._seen: dict[AnyValue, _Role] = {}
        self._work: list[tuple[AnyValue, Iterable[object]]] = []
        self._kept: list[AnyValue] = []  # pointers that are stored in the variable
        self._places: list[AnyValue] = []  # where the block's are stored
        self._returned: set[_Role] = set()

    def add(self, v: AnyValue, role: _Role, users: Iterable[object] | None = None) -> None:
        new = v not in self._seen
        if self._seen.setdefault(v, role) is not role:
            raise _Escapes
        if new or users is not None:
            self._work.append((v, v.users if users is None else users))

    def require_fresh(self, values: Iterable[AnyValue]) -> None:
        self._kept += values

    def run(self) -> frozenset[_Role]:
        """The roles of what is returned."""
        done: set[tuple[AnyValue, object]] = set()
        while self._work or self._kept:
            if not self._work:
                self._check_fresh(self._kept.pop(), set())
                continue
            v, users = self._work.pop()
            for u in list(users):
                if isinstance(u, Instruction) and (v, u) not in done:
                    done.add((v, u))
                    self._use(v, self._seen[v], u)
        self._check_merged()
        return frozenset(self._returned)

    # --- uses

    def _use(self, v: AnyValue, role: _Role, u: Instruction) -> None:
        match u:
            case Compare() | Switch():
                return
            case Call():
                self._called(v, role, u)
            case Return():
                self._returned.add(role)
            case Phi() | Select() | Unary("freeze") if not (isinstance(u, Select) and u.condition is v):
                self.add(u, role)
            case Store():
                self._stored(v, role, u)
            case _ if role is _Role.NUMBER:
                self._number(v, u)
            case Load() if role is _Role.BLOCK:
                return
            case Load():
                self._loaded(u)
            case GetElementPtr(_, pointer, _) if pointer is v:
                self.add(u, role)
            case Cast("bitcast" | "addrspacecast"):
                self.add(u, role)
            case Cast("ptrtoint"):
                self.add(u, _Role.NUMBER)
            case _:
                raise _Escapes

    def _loaded(self, load: Load) -> None:
        t = scalar(load.type)
        if isinstance(load.type, PointerType):
            self.add(load, _Role.BLOCK)
        elif isinstance(t, PointerType | StructType):
            raise _Escapes
        elif isinstance(t, IntType) and t.bits >= 64:
            self.add(load, _Role.NUMBER)  # it may be a pointer's bits

    def _number(self, v: AnyValue, u: Instruction) -> None:
        match u:
            case Binary("sub", lhs, rhs) if all(self._seen.get(o) is _Role.NUMBER or _is_bits(o) for o in (lhs, rhs)):
                return  # a distance
            case Binary() | Cast("trunc" | "zext" | "sext"):
                self.add(u, _Role.NUMBER)
            case Cast("sitofp" | "uitofp"):
                return
            case GetElementPtr(_, pointer, _) if pointer is not v and not isinstance(pointer, ConstNull):
                return
            case _:
                raise _Escapes

    def _stored(self, v: AnyValue, role: _Role, store: Store) -> None:
        value, pointer = store.value, store.pointer
        if value is v:
            if _is_slot(pointer):
                for load in (u for u in pointer.users if isinstance(u, Load)):
                    self.add(load, role)
            elif role is _Role.ADDRESS:
                raise _Escapes
            else:
                self._places.append(pointer)
        elif role is _Role.ADDRESS:
            t = scalar(value.type)
            if isinstance(value.type, PointerType):
                self._kept.append(value)
            elif isinstance(t, PointerType | StructType) or (isinstance(t, IntType) and t.bits >= 64):
                plain_number = isinstance(value, ConstInt) or isinstance(value, Binary) and value.opcode in _NUMBERS
                if not plain_number and not isinstance(value, Cast) or getattr(value, "opcode", "") == "ptrtoint":
                    raise _Escapes

    def _called(self, v: AnyValue, role: _Role, call: Call) -> None:
        f, name = call.called_function, getattr(call.callee, "name", "")
        if name.startswith("llvm.assume"):
            return
        indices = [n for n, a in enumerate(call.arguments) if a is v]
        if f is None or not indices or name in self._of.asking or _ASKS in name:
            raise _Escapes
        for n in indices:
            if not f.is_declaration:
                for returned in self._of.through(f, n, role):
                    self.add(call, returned)
            elif name.startswith("llvm.threadlocal.address"):
                self.add(call, role)
            elif name in _AT_EXIT and role is _Role.ADDRESS:
                self._at_exit(call)
            else:
                self._declared(call, f, n, role)

    def _at_exit(self, call: Call) -> None:
        end = call.arguments[0]
        if not isinstance(end, Function) or end.is_declaration or self._of.through(end, 0, _Role.ADDRESS):
            raise _Escapes

    def _declared(self, call: Call, f: Function, index: int, role: _Role) -> None:
        told = behaviour(call, f)
        if told.kind in ("fill", "lifetime", "nothing") and not isinstance(call.type, IntType):
            return
        if role is _Role.NUMBER:
            if isinstance(call.type, IntType) and f.name.startswith("llvm."):
                self.add(call, role)
            elif told.kind not in ("allocate", "copy", "free"):
                raise _Escapes
            return
        others = any(isinstance(a.type, PointerType) and a is not call.arguments[index] for a in call.arguments)
        linked = told.kind in ("plain", "string") and told.links and others
        if role is _Role.ADDRESS or index in told.keeps or told.handle or told.calls or linked:
            raise _Escapes
        if isinstance(call.type, PointerType) and told.kind != "allocate":
            self.add(call, role)

    # --- at the end

    def _check_fresh(self, v: AnyValue, asked: set[AnyValue]) -> None:
        """Is it a block of its own, from now on?"""
        if v in asked or v in self._seen and self._seen[v] is _Role.BLOCK or isinstance(v, ConstNull | Undef):
            return
        asked.add(v)
        inner: Iterable[AnyValue] = ()
        match v:
            case Call() if (f := v.called_function) is not None:
                if not (self._of.returns_fresh(f) if not f.is_declaration else behaviour(v, f).kind == "allocate"):
                    raise _Escapes
            case Phi():
                inner = v.operands
            case Select(_, one, other):
                inner = (one, other)
            case GetElementPtr(_, pointer, _):
                inner = (pointer,)
            case Load(pointer) if _is_slot(pointer):
                inner = _stored_in(pointer)
            case _:
                raise _Escapes
        self.add(v, _Role.BLOCK)
        for w in inner:
            self._check_fresh(w, asked)

    def _check_merged(self) -> None:
        """What is one of several values must be one of these alone; what is returned, too."""
        for v, role in self._seen.items():
            if role is not _Role.NUMBER:
                self._require(_merged(v), role)
        for p in self._places:
            if self._seen.get(p) is not _Role.ADDRESS:
                raise _Escapes
        for role in self._returned:
            returns = (i.value for i in self._function.instructions() if isinstance(i, Return) and i.value is not None)
            self._require(returns if role is not _Role.NUMBER else (), role)

    def _require(self, values: Iterable[AnyValue], role: _Role) -> None:
        if not all(isinstance(w, ConstNull | Undef) or self._seen.get(w) is role for w in values):
            raise _Escapes


def _merged(v: AnyValue) -> Iterable[AnyValue]:
    match v:
        case Phi():
            return v.operands
        case Select(_, one, other):
            return one, other
        case Load(pointer) if _is_slot(pointer):
            return _stored_in(pointer)
    return ()


def _is_bits(v: AnyValue) -> bool:
    return isinstance(v, Cast) and v.opcode == "ptrtoint"


def _is_slot(v: AnyValue) -> bool:
    """Is it a variable of the function's own, which is only loaded and stored?"""
    return isinstance(v, Alloca) and all(
        isinstance(u, Load) or (isinstance(u, Store) and u.value is not v) or _is_lifetime(u) for u in v.users
    )


def _is_lifetime(u: object) -> bool:
    return isinstance(u, Call) and getattr(u.callee, "name", "").startswith("llvm.lifetime.")


def _stored_in(slot: AnyValue) -> Iterator[AnyValue]:
    return (u.value for u in getattr(slot, "users", ()) if isinstance(u, Store))


__all__ = ["OWNER", "own_buffers"]
