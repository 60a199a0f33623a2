"""Work that is skipped where a float is zero, or two are equal: half of its derivative is missing there.

`if (x[j] != 0) for (…) y[i] += x[j] * a[i];` adds nothing to `y` where `x[j]` is zero, so that the test changes no
value; but it adds `a[i]` to the derivative of `y` by `x[j]`. The derivative of the program has no trace of that.
`skips` finds the tests of active floats for which this may be so, `warn_of_skips` tells of them:

* a test is `==` or `!=` of two floats, one of which may be a constant, or `fabs(x) > 0` and `fabs(x) <= 0`, or the
  same of their bits as integers; it may stand in a function that returns what it says;
* code that runs only where it says "unequal" is *guarded* (control dependence); a test that ends its loop guards none,
  unless it always says the same there; a test for whole numbers (`x == trunc(x)`) guards none, for values jump there;
* a store in guarded code counts where, by what it stores, memory would be the same without it at equality: the value
  vanishes there, or is the old one plus what vanishes. A call there counts where it writes active memory;
* a phi, or a select, of a guarded value and another one counts in the same way: sums in registers are such.

`r == 0 ? 0 : x / r` is a choice of values: nothing vanishes where it divides by what is tested, takes its logarithm or
its root. Such code is not told of, nor calls beside it. What vanishes is found in expressions alone: addresses are
compared by how they are computed, not by what was stored since. All that is for a warning; no derivative depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import Span, warn
from llgrad.ir.types import FloatType, IntType, VectorType, scalar
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    ConstFloat,
    ConstInt,
    ConstZero,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Switch,
    Unary,
)
from llgrad.rules import library

_DIFFERENT, _SAME = ("une", "one"), ("oeq", "ueq")
_ABOVE, _NOT_ABOVE = ("ogt", "ugt"), ("ole", "ule")  # zero, by an absolute value
_MIRRORED = {"olt": "ogt", "ult": "ugt", "oge": "ole", "uge": "ule"}
_VANISH = frozenset((  # at zero
    "sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "expm1", "log1p", "erf", "fabs", "copysign",
))  # fmt: skip
_ROUNDINGS = ("trunc", "floor", "ceil", "rint", "nearbyint", "round", "roundeven")
_SUMS = ("llvm.fma.", "llvm.fmuladd.", "fma")
_DEEPEST = 24  # operations that are looked through
_SIZES = (16, 32, 64, 80, 128)  # of floats
_MOST_CALLS = 3  # that return what a test says


Calls = tuple[Call, ...]


class Skip(Struct, frozen=True):
    """A test, an instruction that it keeps from taking part, and the calls between, the outermost last."""

    test: Compare
    work: Instruction
    calls: Calls = ()


def warn_of_skips(facts: Facts) -> None:
    """Tell of each test once."""
    for skip in skips(facts):
        span, f = _span(facts, skip), _function(skip.test)
        what = "a float is zero" if any(map(_is_zero, skip.test.operands)) else "two floats are equal"
        where = f" in {f.name}" if span is None else ""
        warn(
            f"work that has a derivative is skipped where {what}{where}", span=span,
            cause="it adds nothing to values there, and is missing in derivatives",
            fix="leave the test out, or mark what it tests as constant",
        )  # fmt: skip


def _span(facts: Facts, skip: Skip) -> Span | None:
    """Where the source has the test; LLVM forgets that of some, but not where their results are used, or come from."""
    around = (*skip.calls[-1:], skip.test, *skip.test.users, *skip.test.operands, skip.work)
    return next((at for i in around if isinstance(i, Instruction) and (at := facts.span(i)) is not None), None)


def skips(facts: Facts) -> list[Skip]:
    """The tests of active floats that skip work with a derivative, each with the first of that."""
    functions = [f for f in facts.memory.functions if not _is_derivative(f)]
    tests = (i for f in functions for i in f.instructions() if isinstance(i, Compare))
    found: dict[tuple[Compare, Calls], Skip] = {}
    keys = _Keys()
    for test in tests:
        when = _differs_when(test)
        if when is None or not any(_is_varied(facts, _tested(v)) for v in test.operands):
            continue
        guards: dict[Calls, _Guarded] = {}
        for user, result, calls in _decided(facts, test, when):
            if (test, calls) not in found:
                guarded = guards.setdefault(calls, _Guarded(facts, test, keys, calls))
                for work in islice(guarded.work(user, result), 1):
                    found[test, calls] = Skip(test, work, calls)
    return [*found.values()]


def _is_derivative(f: Function) -> bool:
    """Has llgrad written it? The program's own tests were told of when it did, its own skip what is not used."""
    return any(f"llgrad.{mode}." in f.name for mode in Mode)


def _is_varied(facts: Facts, v: AnyValue) -> bool:
    """Does it depend on active inputs? (Bits are seen to be a float's by what is skipped.)"""
    if isinstance(v, Load) and isinstance(v.type, IntType):
        return facts.activity.varied(v) or any(facts.activity.varied(o) for o in facts.memory.points_to(v.pointer))
    return facts.activity.varied(v)


def _function(i: Instruction) -> Function:
    assert i.block.function is not None
    return i.block.function


def _differs_when(test: Compare) -> bool | None:
    """The result that says that two floats are not the same; None for other tests."""
    if isinstance(test.type, VectorType) or any(_name(v) in _ROUNDINGS for v in test.operands):
        return None
    if test.opcode != "fcmp":
        bits = any(isinstance(v, Load) or _tested(v) is not v for v in test.operands)
        is_test = bits and test.predicate in ("eq", "ne") and _bits(test.lhs) in _SIZES
        return test.predicate == "ne" if is_test else None
    if test.predicate in (*_DIFFERENT, *_SAME):
        return test.predicate in _DIFFERENT
    mirrored = test.predicate in _MIRRORED
    predicate = _MIRRORED.get(test.predicate, test.predicate)
    absolute, bound = (test.rhs, test.lhs) if mirrored else (test.lhs, test.rhs)
    if not _is_zero(bound) or _magnitude(absolute) is absolute:
        return None
    return True if predicate in _ABOVE else False if predicate in _NOT_ABOVE else None


def _is_zero(v: AnyValue) -> bool:

    if isinstance(v, ConstFloat) and isinstance(v.type, FloatType):
        return v.bits & (1 << v.type.bits - 1) - 1 == 0
    return isinstance(v, ConstZero) or (isinstance(v, ConstInt) and v.value == 0)


def _name(v: AnyValue) -> str:
    """What library function a call means: `llvm.sin.f64` and `sinf` are `sin`."""
    if not isinstance(v, Call) or v.called_function is None:
        return ""
    name = v.called_function.name
    if name.startswith("llvm."):
        return name.split(".")[1]
    return name[:-1] if name[-1:] in "fl" and name[:-1] in _VANISH else name


def _magnitude(v: AnyValue) -> AnyValue:
    """What an absolute value is of; else the value."""
    return v.arguments[0] if isinstance(v, Call) and _name(v) == "fabs" else v


def _tested(v: AnyValue) -> AnyValue:
    """The value that is compared, by its magnitude or by its bits, perhaps without the sign; else the operand."""
    match v:
        case Binary("and", x, ConstInt(value=mask)) if mask.bit_length() > 1 and mask + 1 == 1 << _bits(v) - 1:
            return _tested(x)
        case Binary("shl", x, ConstInt(value=1)):
            return _tested(x)
        case Cast("bitcast", x) if _is_float(x):
            return _magnitude(x)
    return _magnitude(v)


def _bits(v: AnyValue) -> int:
    return v.type.bits if isinstance(v.type, IntType) else 0


def _decided(facts: Facts, test: Compare, when: bool) -> Iterator[tuple[Instruction, bool, Calls]]:
    """Branches, selects and factors that go one way only where `test` is `when`; the result that this takes; and the
    calls that hand it there."""
    work: list[tuple[Instruction, bool, Calls]] = [(test, when, ())]
    seen: set[tuple[int, bool, Calls]] = set()
    while work:
        v, is_when, calls = work.pop()
        if (id(v), is_when, calls) in seen:
            continue
        seen.add((id(v), is_when, calls))
        for u in (u for u in dict.fromkeys(v.users) if isinstance(u, Instruction)):
            match u:
                case Branch() | Switch() | Cast("uitofp" | "sitofp"):
                    yield u, is_when, calls
                case Select(condition=c) if c is v and _is_float(u):
                    yield u, is_when, calls
                case Store(pointer=Alloca() as slot) if _kept(slot) is v:
                    work += [(x, is_when, calls) for x in slot.users if isinstance(x, Load)]
                case Return() if len(calls) < _MOST_CALLS and _function(u).returned() == [v]:
                    callers = facts.memory.callers(_function(u))
                    work += [(c, is_when, (*calls, c)) for c in callers if c.called_function is _function(u)]
                case _ if (kept := _through(v, u, is_when)) is not None:
                    work.append((u, kept, calls))


def _filled(slot: Alloca) -> Instruction | None:
    """The only store into a variable, or copy, if nobody has the address."""
    others = [u for u in slot.users if not isinstance(u, Load) and not (isinstance(u, Call) and _is_lifetime(u))]
    match others:
        case [Store(value=x) as only] if x is not slot:
            return only
        case [Call(arguments=[to, *_]) as only] if _name(only) == "memcpy" and to is slot:
            return only
    return None


def _is_lifetime(call: Call) -> bool:
    return _name(call) == "lifetime"


def _kept(slot: Alloca) -> AnyValue | None:
    """What the only store puts into a variable of which nobody has the address."""
    only = _filled(slot)
    return only.value if isinstance(only, Store) else None


def _edges(user: Instruction, result: bool) -> tuple[int, int]:
    """The targets of a branch or a switch that a condition takes, and that its contrary takes."""
    if not isinstance(user, Switch):
        return (0, 1) if result else (1, 0)
    places = {v.value: n for n, v in enumerate(user.values, 1)}
    return places.get(int(result), 0), places.get(int(not result), 0)


def _through(v: Instruction, u: Instruction, when: bool) -> bool | None:
    """The result of `u` that only `v` being `when` can bring about; None where there is none."""
    match u:
        case Binary("xor", _, ConstInt() | ConstZero()) if scalar(u.type) == scalar(v.type):
            return not when
        case Binary("and") | Binary("or"):
            return when if when is (u.opcode == "and") else None
        case Cast("zext" | "trunc") | Unary("freeze"):
            return when
        case Compare("icmp", "eq" | "ne", _, ConstInt(value=0 | 1 as n)):
            return (when is bool(n)) is (u.predicate == "eq")
        case Select(condition, a, b):
            others = [b if when else a] if condition is v else [x for x in (a, b) if x is not v]
        case Phi():
            others = [x for x in u.operands if x is not v]
        case _:
            return None
    return when if all(isinstance(x, ConstInt) and bool(x.value) is not when for x in others) else None


def _is_float(v: AnyValue) -> bool:
    return isinstance(scalar(v.type), FloatType)


class _Guarded:
    """What runs only where a test says that floats differ."""

    def __init__(self, facts: Facts, test: Compare, keys: _Keys, calls: Calls) -> None:
        self.facts, self.test, self.calls = facts, test, calls
        self.flow = facts.memory.flow(_function(calls[-1] if calls else test))
        self.key, self.vanishing = keys, dict[int, bool]()
        self.operands = [_tested(v) for v in test.operands]
        tested = [keys.within(calls)(v) for v in self.operands]
        self.zeros = set(tested) if any(map(_is_zero, test.operands)) else set()
        self.pair = () if self.zeros else tuple(tested)
        self.stored: dict[object, Store] = {}

    def work(self, user: Instruction, result: bool) -> Iterator[Instruction]:
        """Stores, calls, phis, selects and products that would have a derivative at equality, too."""
        match user:
            case Select():
                guarded, other = (user.if_true, user.if_false)[:: 1 if result else -1]
                if self.facts.activity.active(user) and self.is_same(guarded, other):
                    yield user
            case Cast():  # a factor that is zero at equality
                for u in user.users if result else ():
                    if isinstance(u, Binary) and u.opcode == "fmul" and self.facts.activity.active(u):
                        other = u.rhs if u.lhs is user else u.lhs
                        yield from [u] if self.vanishes(other) else []
            case _:
                yield from self.behind(user, *_edges(user, result))

    def behind(self, branch: Instruction, edge: int, contrary: int) -> Iterator[Instruction]:
        """What the target of a branch guards."""
        unequal, equal = self.region(branch.block, edge), self.region(branch.block, contrary)
        if edge == contrary or branch.block in equal or (branch.block in unequal and not self.stays(unequal)):
            return  # the test ends its loop
        inside = [i for b in self.flow.order if b in unequal for i in b.instructions]
        self.stored = {self.key(i.pointer): i for i in inside if isinstance(i, Store) and _is_float(i.value)}
        beside = {
            self.key(i.pointer): i.value for b in equal for i in b.instructions if isinstance(i, Store)
        }  # fmt: skip
        for i in inside:
            if isinstance(i, Store) and self.is_skipped(i, beside, unequal):
                yield i
        if not any(self.is_singular(i) for i in inside):
            yield from (i for i in inside if isinstance(i, Call) and self.writes_active(i))
        yield from self.merged(branch, (edge, contrary), unequal, equal)

    def stays(self, blocks: set[Block]) -> bool:
        """Is what is compared the same each time, while the program is in these blocks?"""
        return not self.calls and all(self._stays(v, blocks) for v in self.operands)

    def _stays(self, v: AnyValue, blocks: set[Block], depth: int = 0) -> bool:
        if not isinstance(v, Instruction) or v.block not in blocks:
            return True
        if isinstance(v, Phi | Call) or depth > _DEEPEST:
            return False
        if isinstance(v, Load):
            inside = [i for b in blocks for i in b.instructions]
            if any(isinstance(i, Store) and self.key(i.pointer) == self.key(v.pointer) for i in inside):
                return False
            calls = [i for i in inside if isinstance(i, Call)]
            read = self.facts.memory.points_to(v.pointer)
            if any(not read.isdisjoint(w.objects) for i in calls for w in self.facts.memory.writes(i)):
                return False
        return all(self._stays(x, blocks, depth + 1) for x in v.operands)

    def region(self, block: Block, edge: int) -> set[Block]:
        """The blocks that run only where the branch takes this edge."""
        found: set[Block] = set()
        while more := {
            b for b in self.flow.order if b not in found
            and any((a is block and e == edge) or a in found for a, e in self.flow.controls(b))
        }:  # fmt: skip
            found |= more
        return found

    def merged(
        self, branch: Instruction, edges: tuple[int, int], unequal: set[Block], equal: set[Block]
    ) -> Iterator[Instruction]:
        """Phis of guarded values and others."""

        def comes(b: Block, to: Block, side: set[Block], taken: int) -> bool:
            return b in side or (b is branch.block and branch.targets[taken] is to)

        for phi in (i for b in self.flow.order if b not in unequal for i in b.instructions if isinstance(i, Phi)):
            if not _is_float(phi) or not self.facts.activity.active(phi):
                continue
            pairs = list(zip(phi.operands, phi.blocks, strict=True))
            guarded = [v for v, b in pairs if comes(b, phi.block, unequal, edges[0])]
            others = [v for v, b in pairs if comes(b, phi.block, equal, edges[1])]
            if any(self.is_same(v, e) for v in guarded for e in others):
                yield phi

    # --- would it be the same at equality?

    def is_skipped(self, store: Store, beside: dict[object, AnyValue], region: set[Block]) -> bool:
        """Would memory hold the same there, with the store?"""
        objects = self.facts.memory.points_to(store.pointer)
        if not _is_float(store.value) or not any(map(self.facts.activity.object_active, objects)):
            return False
        if isinstance(store.pointer, Alloca) and _stays(store.pointer, region):
            return False
        at = self.key(store.pointer)
        if at in beside:
            return self.is_same(store.value, beside[at])
        old = self.key.loaded(at)
        return self.vanishes(store.value) or self.agrees(store.value, old, set())

    def is_same(self, guarded: AnyValue, other: AnyValue) -> bool:
        """Have two values that are not the same one value at equality?"""
        if self.key(guarded) == self.key(other):
            return False
        zero = self.vanishes(guarded) and self.vanishes(other)
        return zero or self.agrees(guarded, self.key(other), set())

    def agrees(self, v: AnyValue, old: object, seen: set[int]) -> bool:
        """Is `v`, at equality, what has the key `old`?"""
        if self.key(v) == old or id(v) in seen:
            return True
        seen = {*seen, id(v)}
        if len(seen) > _DEEPEST:
            return False
        match v:
            case Binary("fadd", a, b):
                return any(self.vanishes(y) and self.agrees(x, old, seen) for x, y in ((a, b), (b, a)))
            case Binary("fsub", a, b):
                return self.vanishes(b) and self.agrees(a, old, seen)
            case Call() if _is_sum(v):
                a, b, c = v.arguments
                return (self.vanishes(a) or self.vanishes(b)) and self.agrees(c, old, seen)
            case Phi():
                return all(self.agrees(x, old, seen) for x in v.operands)
            case Load() if (known := self.found(v)) is not None:
                return self.agrees(known, old, seen)
        return False

    def found(self, load: Load) -> AnyValue | None:
        """What a store in guarded code has surely put where `load` reads."""
        store = self.stored.get(self.key(load.pointer))
        if store is None or not self.flow.dominates(store.block, load.block):
            return None
        if store.block is load.block and load.block.instructions.index(load) < load.block.instructions.index(store):
            return None
        return store.value

    def vanishes(self, v: AnyValue, depth: int = 0) -> bool:
        """Is `v` zero at equality?"""
        if _is_zero(v):
            return True
        if not isinstance(v, Instruction) or depth > _DEEPEST:
            return self.key(v) in self.zeros
        if id(v) not in self.vanishing:
            self.vanishing[id(v)] = True  # around a loop, until it is known better
            self.vanishing[id(v)] = self._vanishes(v, depth + 1)
        return self.vanishing[id(v)]

    def _vanishes(self, v: Instruction, depth: int) -> bool:
        if self.key(v) in self.zeros:
            return True
        match v:
            case Binary("fmul", a, b):
                pairs = ((a, b), (b, a))
                return any(self.vanishes(x, depth) and not self.is_singular(y, depth) for x, y in pairs)
            case Binary("fdiv", a, b):
                return self.vanishes(a, depth) and not self.vanishes(b, depth)
            case Binary("fsub", a, b) if self.pair and {self.key(a), self.key(b)} == {*self.pair}:
                return True
            case Binary("fadd", a, b) if self.pair and any(_negated(c, self.test) and self.key(x) in self.pair
                                                           for x, c in ((a, b), (b, a))):  # fmt: skip
                return True
            case Binary("fadd" | "fsub", a, b):
                return self.vanishes(a, depth) and self.vanishes(b, depth)
            case Cast("fpext" | "fptrunc", a) | Unary("fneg", a):
                return self.vanishes(a, depth)
            case Phi():
                return all(self.vanishes(x, depth) for x in v.operands)
            case Load() if (known := self.found(v)) is not None:
                return self.vanishes(known, depth)
            case Call() if _is_sum(v):
                a, b, c = v.arguments
                return (self.vanishes(a, depth) or self.vanishes(b, depth)) and self.vanishes(c, depth)
            case Call() if v.arity and (_name(v) in _VANISH or _is_own(v)):  # the user's own may be anything
                return any(self.vanishes(x, depth) for x in v.arguments if _is_float(x))
        return False

    def is_singular(self, v: AnyValue, depth: int = 0) -> bool:
        """Does it divide by what vanishes, or take a logarithm, a root or a power of that?"""
        match v:
            case Binary("fdiv", a, b):
                return self.vanishes(b, depth + 1) or (depth < _DEEPEST and self.is_singular(a, depth + 1))
            case Call() if not _is_own(v) and not _is_sum(v) and _name(v) not in _VANISH:
                return any(_is_float(x) and self.vanishes(x, depth + 1) and not _is_zero(x) for x in v.arguments)
            case Binary("fmul" | "fadd" | "fsub", a, b) if depth < _DEEPEST:
                return self.is_singular(a, depth + 1) or self.is_singular(b, depth + 1)
        return False

    def writes_active(self, call: Call) -> bool:
        if call.called_function is not None and call.called_function.name.startswith("llvm."):
            return False
        objects = (o for w in self.facts.memory.writes(call) for o in w.objects)
        return any(map(self.facts.activity.object_active, objects))


def _negated(v: AnyValue, test: Compare) -> bool:
    """Is it the negative of a constant that is compared with? LLVM subtracts by adding that."""
    bits = [c.bits ^ (1 << c.type.bits - 1) for c in test.operands
            if isinstance(c, ConstFloat) and isinstance(c.type, FloatType)]  # fmt: skip
    return isinstance(v, ConstFloat) and v.bits in bits


def _is_own(call: Call) -> bool:
    """Has the program a body for what is called?"""
    f = call.called_function
    return f is None or (not f.is_declaration and library.lookup(f.name) is None)


def _is_sum(v: AnyValue) -> bool:
    f = v.called_function if isinstance(v, Call) else None
    return f is not None and f.name.startswith(_SUMS) and isinstance(v, Call) and v.arity == 3


def _stays(slot: Alloca, region: set[Block]) -> bool:
    """Is what lies there read in these blocks only?"""
    return all(u.block in region or isinstance(u, Store) for u in slot.users if not isinstance(u, Call))


class _Keys:
    """How values are computed: the same for what is loaded twice from one address."""

    def __init__(self, made: dict[object, object] | None = None, given: dict[AnyValue, object] | None = None) -> None:
        self.known: dict[int, object] = {}
        self.made = made if made is not None else {}
        self.given = given if given is not None else {}

    def within(self, calls: Calls) -> _Keys:
        """Keys in the function that is called, of which those of its arguments are the caller's."""
        keys = self
        for call in reversed(calls):
            f = call.called_function
            assert f is not None
            keys = _Keys(self.made, {a: keys(v) for a, v in zip(f.arguments, call.arguments, strict=False)})
        return keys

    def __call__(self, v: AnyValue, depth: int = 0) -> object:
        if not isinstance(v, Instruction):
            return id(v) if isinstance(v, Function) else self.given.get(v, v)
        if isinstance(v, Load) and isinstance(v.pointer, Alloca) and depth < _DEEPEST:
            match _filled(v.pointer):
                case Store(value=x):
                    return self(x, depth + 1)
                case Call(arguments=[_, source, *_]):
                    return self.loaded(self(source, depth + 1))
        first = isinstance(v, GetElementPtr) and all(isinstance(x, ConstInt) and x.value == 0 for x in v.operands[1:])
        if (first or v.opcode == "bitcast") and depth < _DEEPEST:
            return self(v.operands[0], depth + 1)
        if id(v) not in self.known:
            made = self._computed(v, depth + 1) if depth < _DEEPEST else None
            self.known[id(v)] = id(v) if made is None else self.made.setdefault(made, ("key", len(self.made)))
        return self.known[id(v)]

    def _computed(self, v: Instruction, depth: int) -> object:
        match v:
            case Load(pointer=p):
                return "load", self(p, depth)
            case GetElementPtr():
                return "at", str(v.source_type), *(self(x, depth) for x in v.operands)
            case Cast() | Binary("add" | "sub" | "mul" | "shl"):
                return v.opcode, str(v.type), *(self(x, depth) for x in v.operands)
        return None

    def loaded(self, address: object) -> object:
        """The key of what is loaded from the address of that key."""
        return self.made.setdefault(("load", address), ("key", len(self.made)))
