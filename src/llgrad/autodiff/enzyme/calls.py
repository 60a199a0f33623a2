"""Calls that ask for derivatives, read into requests: `__enzyme_autodiff`, `fwddiff`, `augmentfwd`, `reverse`.

`read(module)` finds them, before anything was optimised. The first argument is the function; then come markers and
arguments in the order of its parameters (`markers` has their names). Without a marker: reverse: float → out, pointer →
dup, integer → const; forward: float and pointer → dup. With `enzyme_width, N` a value is followed by N shadows, or by
one and a stride; with `enzyme_interleave` all shadows follow in order. A struct that the C ABI passes in registers is
several parameters, whose shadows follow all of its values (`coerced_arguments`). A result that goes through a hidden
pointer (`sret`) is the result: the wrapper makes its memory and its shadow.

Any `__enzyme_…` call and any `enzyme_…` marker that is not listed is an error with its name and span.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.analysis.objects import gep_offset, holds_type
from llgrad.autodiff.enzyme.coerced_arguments import UNCLEAR, Raw, Together, as_written
from llgrad.autodiff.enzyme.coerced_results import packed_floats, returns_integers
from llgrad.autodiff.requests.foreign_types import foreign, is_foreign
from llgrad.autodiff.requests.markers import (
    ACTS,
    MODES,
    OF_CALL,
    PREFIX,
    RETURNS,
    SIZE,
    STRIDED,
    VALUED,
    marker_of,
    marker_text,
)
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.autodiff.requests.spelling import nearest
from llgrad.errors import Span, UnknownNameError, UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.types import VOID, DataLayout, FloatType, IntType, PointerType, StructType, Type
from llgrad.ir.values import (
    Alias,
    AnyValue,
    Argument,
    Call,
    Cast,
    ConstAggregate,
    ConstExpr,
    ConstInt,
    Function,
    GetElementPtr,
    GlobalVariable,
    Load,
)
from llgrad.signature import parameter_name

TAPE_BYTES = 8  # what a caller's memory for a tape holds: the tape's address


class Slot(Struct, frozen=True):
    """What a parameter of the derivative is given.

    value    the call's value number `value` (through memory at `offset`, if `by_reference`), `lane` × the stride in
             value `stride` further on;
    primal, shadow  memory that the wrapper makes for a hidden result: its own, and that of shadow `lane`.
    """

    value: int = -1
    by_reference: bool = False
    offset: int = 0
    stride: int = -1
    lane: int = 0
    made: str = ""  # "", "primal", "shadow"
    members: int = 0  # a struct whose members are this value and those that follow


class CallSite(Struct, frozen=True):
    """A call to replace: what it asks for, the values it passes, and how they become the derivative's arguments.

    `seeds` are slots for the adjoints of an active result and `tape` the number of the tape's value (reverse sweeps),
    or, if `memory_is_callers`, of the memory where its address is; `memory` is the number of that memory's value in a
    forward sweep. A site without a request asks for the size of a tape.
    """

    call: Call
    function: Function
    request: Request | None
    values: tuple[AnyValue, ...] = ()
    slots: tuple[Slot, ...] = ()
    seeds: tuple[Slot, ...] = ()
    tape: int = -1
    memory: int = -1
    memory_is_callers: bool = False
    hidden_result: bool = False  # the call's result goes through a pointer, its first argument
    byval: dict[int, Type] = field(default_factory=dict)  # values that are memory the callee may change
    packed: dict[int, Type] = field(default_factory=dict)  # the floats in integers that the function returns
    adjoints: tuple[tuple[tuple[Type, bool], ...], ...] = ()  # by C argument: its parameters; have they an adjoint?
    unclear: bool = False  # whether several parameters are one argument

    @property
    def sret(self) -> Type | None:
        """The type of the function's hidden result."""
        return hidden_type(self.function)

    @property
    def span(self) -> Span | None:
        block = self.call.block
        module = block.function.module if block is not None and block.function is not None else self.function.module
        return module.span(self.call) if module is not None else None


def hidden_type(f: Function) -> Type | None:
    """The type of what a function returns through a pointer."""
    found = f.arguments[0].attribute("sret") if f.arguments else None
    return found.value if found is not None and isinstance(found.value, Type) else None


def origin(v: AnyValue) -> AnyValue:
    """What a pointer is: through casts, aliases, and loads of constants."""
    while True:
        match v:
            case Load() if (found := held(v)) is not None and len(found) == 1:
                v = found[0]
            case ConstExpr() | Cast():
                v = v.operands[0]
            case Alias():
                v = v.aliasee
            case _:
                return v


def held(load: Load) -> list[AnyValue] | None:
    """What a load finds in a constant variable: one of these. None where it may be anything."""
    g, at = _place(load.pointer)
    if g is None or not g.constant or g.initializer is None or g.module is None:
        return None
    inside = list(_pointers(g.initializer, 0, g.module.layout))
    return [v for o, v in inside if at is None or o == at] or None


def _place(p: AnyValue) -> tuple[GlobalVariable | None, int | None]:
    """The variable that a pointer points into, and where, as far as that is known."""
    match p:
        case GlobalVariable():
            return p, 0
        case GetElementPtr(source_type=Type() as t, operands=[base, *indices]) | ConstExpr(
            opcode="getelementptr", operands=(base, *indices), source_type=Type() as t
        ):
            g, at = _place(base)
            inside: list[AnyValue] = [*indices]
            more = gep_offset(t, inside, g.module.layout) if g is not None and g.module is not None else None
            return g, None if at is None or more is None else at + more
    return None, None


def _pointers(v: AnyValue, at: int, layout: DataLayout) -> Iterator[tuple[int, AnyValue]]:
    """The pointers in a constant, and where they are."""
    if isinstance(v.type, PointerType):
        yield at, v
    elif isinstance(v, ConstAggregate):
        for o, x in v.placed(layout):
            yield from _pointers(x, at + o, layout)


def function_asked(call: Call) -> AnyValue | None:
    """What a call that asks for a derivative differentiates, as far as it is known; None for other calls."""
    called = call.called_function
    if called is None or PREFIX not in called.name or not any(m in called.name for m in (*MODES, SIZE)):
        return None
    hidden = bool(call.arguments) and any(a.name == "sret" for a in call.argument_attributes[0])
    return origin(call.arguments[hidden]) if len(call.arguments) > hidden else None


def is_request(called: Function) -> bool:
    """Does a call of it ask for something? A function that the program defines is its own, but for names of calls."""
    return PREFIX in called.name and (called.is_declaration or any(m in called.name for m in (*MODES, SIZE)))


def naming(module: Module, word: str) -> Iterator[Function]:
    """The functions in whose bodies the word occurs; those that are not read yet are looked at as text."""
    for f in module.functions:
        if (text := f.unread) is None or word in text:
            yield f


def read(module: Module, raw: Raw = None) -> list[CallSite]:
    """All calls that ask for a derivative, in order; `raw` gives the module as it was before it was touched."""
    sites = []
    raw = cache(raw) if raw is not None else None
    for f in naming(module, PREFIX):
        for i in f.instructions():
            if isinstance(i, Call) and (called := i.called_function) is not None and is_request(called):
                sites.append(_Reader(module, i, called.name, raw).site())
    _match_tapes(module, sites)
    return sites


def _match_tapes(module: Module, sites: list[CallSite]) -> None:
    """A reverse sweep needs an augmented forward sweep that left such a tape."""
    left = {same_tape(s.request) for s in sites if s.request is not None and s.request.mode is Mode.AUGMENTED}
    for s in sites:
        if s.request is not None and s.request.mode is Mode.REVERSE and same_tape(s.request) not in left:
            raise UnsupportedError(
                f"no __enzyme_augmentfwd of {s.function.name} leaves a tape that this reverse sweep could read",
                span=module.span(s.call), cause="activities, width or markers about the return differ",
                fix="give __enzyme_augmentfwd and __enzyme_reverse the same markers",
            )  # fmt: skip


def same_tape(r: Request) -> tuple[object, ...]:
    """What the sweeps of one split derivative have in common."""
    return r.function, r.arguments, r.result, r.width, r.runtime_activity


class _Reader:
    """Reads one call."""

    def __init__(self, module: Module, call: Call, name: str, raw: Raw) -> None:
        self.module, self.call, self.name, self.raw = module, call, name, raw
        self.rest = list(call.arguments)
        self.hidden = any(a.name == "sret" for a in call.argument_attributes[0]) if self.rest else False
        self.attributes = dict(zip(map(id, call.arguments), call.argument_attributes, strict=False))
        mode = next((m for prefix, m in MODES.items() if prefix in name), None)
        if mode is None and SIZE not in name:
            known = ", ".join((*MODES, SIZE, "__enzyme_fwdsplit", "__enzyme_batch"))
            near = nearest(name)
            self.refuse(f"{name} is not supported", f"did you mean {near}?" if near else f"use one of {known}")
        self.mode = mode or Mode.AUGMENTED
        self.size = mode is None
        self.about: set[str] = set()
        self.numbers: dict[str, AnyValue] = {}
        self.values: list[AnyValue] = []
        self.if_structs = ""  # what else to do where nothing tells structs in registers from several arguments
        self.byval: dict[int, Type] = {}
        self.packed: dict[int, Type] = {}
        self.waiting: list[tuple[list[Argument], bool, list[tuple[Act, list[Slot]]]]] = []  # for shadows that follow

    def site(self) -> CallSite:
        if self.hidden:
            del self.rest[0]
        self.f = self._function()
        self._about_call()
        width = self._width()
        if self.size:
            self.rest = [v for v in self.rest if marker_of(marker_text(v)) is None]
            self._nothing_left()
            return CallSite(self.call, self.f, None)
        parameters = list(self.f.arguments)
        together = Together(self.module, self.f, self.raw)
        self.if_structs = "" if together.known else f"; if it passes structs by value, {UNCLEAR}"
        acts: list[Act] = []
        slots: list[list[Slot]] = []
        if hidden_type(self.f) is not None:
            wanted = "enzyme_const_return" not in self.about
            shadows = [Slot(made="shadow", lane=n) for n in range(width if wanted else 0)]
            acts, slots = [Act.DUP if wanted else Act.CONST], [[Slot(made="primal"), *shadows]]
            del parameters[0]
        adjoints, begun = [], False  # (with a marker)
        wholes = together.wholes(parameters)
        while wholes:
            one = wholes.pop(0)
            group = one.parameters
            if wholes and self._is_pair(together, group, wholes[0].parameters, width):
                group = [*group, *wholes.pop(0).parameters]
            marked = bool(self.rest) and self._marker() is not None
            unclear = begun and not marked and one.unclear
            if unclear and (self.mode is Mode.FORWARD or width > 1):  # all shadows (adjoints) of a struct are together
                self.refuse(unclear, UNCLEAR)
            mine = self._arguments(group, width)
            begun = bool(marked or unclear)
            acts += [act for act, _ in mine]
            slots += [found for _, found in mine]
            if self.mode is not Mode.AUGMENTED and any(act is Act.OUT for act, _ in mine):
                adjoints.append(tuple((p.type, act is Act.OUT) for p, (act, _) in zip(group, mine, strict=True)))
        self._interleaved(width)
        result = self._result()
        seeds, tape = self._end(result is Act.OUT or (hidden_type(self.f) is not None and acts[0] is Act.DUP), width)
        self._check_memory()
        memory = self._number_of("enzyme_tape") if "enzyme_tape" in self.numbers else -1
        if self.mode is Mode.REVERSE and memory >= 0:
            tape = memory
        if self.mode is Mode.REVERSE and tape < 0:
            self.refuse(f"{self.name} is called without a tape", "pass what __enzyme_augmentfwd returned, last")
        self._nothing_left()
        primal = "enzyme_primal_return" in self.about and self.mode is not Mode.AUGMENTED
        if primal and self.mode is Mode.REVERSE:
            self.refuse("a reverse sweep does not run the function", "take its value from __enzyme_augmentfwd")
        request = Request(
            self.f.name, self.mode, tuple(acts), result, primal, width=width,
            strong_zero="enzyme_strong_zero" in self.about, runtime_activity="enzyme_runtime_activity" in self.about,
            repeatable=self.mode is Mode.REVERSE and "enzyme_nofree" in self.about,
        )  # fmt: skip
        flat = tuple(s for part in slots for s in part)
        return CallSite(
            self.call, self.f, request, tuple(self.values), flat, seeds, tape, memory,
            bool(self.about & {"enzyme_tape", "enzyme_allocated"}), self.hidden, self.byval,
            self.packed, tuple(adjoints), not together.known,
        )  # fmt: skip

    # --- the function, and markers about the call

    def _function(self) -> Function:
        v = origin(self._next("the function"))
        if not isinstance(v, Function):
            self.refuse(
                f"the first argument of {self.name} is no function that is known when it is compiled",
                "pass the function itself",
            )
        if v.is_declaration:
            raise UnknownNameError(
                f"{self.name} differentiates {v.name}, which has no body here", span=self.module.span(self.call),
                fix="compile and link the file that defines it into the module",
            )  # fmt: skip
        return v

    def _about_call(self) -> None:
        """Take the markers about the call out: they mean the same wherever they stand."""
        kept: list[AnyValue] = []
        while self.rest:
            v = self.rest.pop(0)
            marker = marker_of(marker_text(v))
            if marker not in OF_CALL:
                kept.append(v)
                continue
            assert marker is not None
            if marker in VALUED:
                self.numbers[marker] = self._next(f"what follows {marker}")
            self.about.add(marker)
        self.rest = kept
        returns = {RETURNS[m]: m for m in sorted(self.about & RETURNS.keys())}
        if len(returns) > 1:
            self.refuse(f"{' and '.join(returns.values())} contradict each other", "say one thing of the return")

    def _marker(self) -> str | None:
        """The marker that stands next, or None. What is none of them is an error."""
        text = marker_text(self.rest[0])
        if "enzyme_" not in text:
            return None
        found = marker_of(text)
        if found is None:
            self.refuse(f"{text.removeprefix('llgrad.marker.')} is no marker that llgrad knows", "check the spelling")
        return found

    def _width(self) -> int:
        if "enzyme_width" not in self.about:
            return 1
        v = self.numbers["enzyme_width"]
        if not isinstance(v, ConstInt) or not 0 < v.value < 4096:
            self.refuse("the number after enzyme_width is no constant from 1 to 4095", "write enzyme_width, 4")
        return v.value

    def _check_memory(self) -> None:
        size = self.numbers.get("enzyme_allocated")
        if isinstance(size, ConstInt) and size.value < TAPE_BYTES:
            self.refuse(
                f"{size.value} bytes are too little for the tape of {self.f.name}",
                "ask __enzyme_augmentsize for its size",
            )

    def _number_of(self, marker: str) -> int:
        self.values.append(self.numbers[marker])
        return len(self.values) - 1

    # --- arguments

    def _arguments(self, group: list[Argument], width: int) -> list[tuple[Act, list[Slot]]]:
        """The activities of one C argument's parameters, and what the call passes for each."""
        strided, by_reference, act = False, False, None
        while self.rest and (marker := self._marker()) is not None:
            del self.rest[0]
            if act is not None and ACTS.get(marker, act) is not act:
                self.refuse(f"argument {self._named(group[0])} is to be enzyme_{act} and {marker}", "say one of them")
            act = ACTS.get(marker, act)
            strided = strided or marker in STRIDED
            by_reference = by_reference or marker == "enzyme_byref"
            if marker == "enzyme_byref":
                self._next("the size after enzyme_byref")
            elif marker in ("enzyme_vector", "enzyme_scalar"):
                self.refuse(f"{marker} is for __enzyme_batch only", "use enzyme_dup or enzyme_const")
        acts = [self._act(act, p, group) for p in group]
        for p, one in zip(group, acts, strict=True):
            self._check(one, p, strided)
        stride = self._value(f"the stride of argument {self._named(group[0])}") if strided else -1
        found = [(one, [slot]) for one, slot in zip(acts, self._slots(group, by_reference), strict=True)]
        if "enzyme_interleave" in self.about:
            self.waiting.append((group, by_reference, found))
            return found
        for lane in range(width if _shadowed(found) else 0):
            if strided and lane:
                for _, slots in found:
                    slots.append(Slot(slots[1].value, stride=stride, lane=lane))
            else:
                self._shadow(group, by_reference, found)
        return found

    def _is_pair(self, together: Together, one: list[Argument], other: list[Argument], width: int) -> bool:
        """Are two parameters one struct, as what the call passes for them tells? Refused where it may be either."""
        (p, *more), (q, *others) = one, other
        if more or others or not together.may_be_pair(p, q):
            return False
        texts = [marker_of(marker_text(v)) for v in self.rest]
        first = next((n for n, m in enumerate(texts) if m is None), len(texts))
        if set(texts[:first]) & {*STRIDED, "enzyme_byref"}:
            return False
        asked = next((ACTS[m] for m in reversed(texts[:first]) if m in ACTS), None)
        given: list[Type | str] = ["marker" if m else self._passed(v) for v, m in zip(self.rest, texts, strict=True)]
        given = given[first:]
        apart = "enzyme_interleave" in self.about  # the shadows do not follow

        def times(*acts: Act) -> int:
            return 1 + (width if not apart and {Act.DUP, Act.DUPNONEED} & {*acts} else 0)

        acts = [asked or self._default(a.type) for a in (p, q)]
        own = [p.type] * times(acts[0])
        second = [q.type] * times(self._default(q.type))
        marked = given[len(own) : len(own) + 1] == ["marker"]
        singly = given[: len(own)] == own and (marked or given[len(own) :][: len(second)] == second)
        together_fits = _are_structs(given, [p.type, q.type], times(*acts))
        differ = times(*acts) > 1 or (asked is Act.CONST and self._default(q.type) is not Act.CONST)
        if singly and together_fits and differ:
            named = f"arguments {self._named(p)} and {self._named(q)} of {self.f.name}"
            self.refuse(f"{named} may be one struct in registers, or two", UNCLEAR)
        return together_fits and not singly

    def _passed(self, v: AnyValue) -> Type | str:
        """The type of a value that the call passes; "memory" for a struct that is passed there by value."""
        in_memory = any(a.name == "byval" for a in self.attributes.get(id(v), ()))
        return "memory" if in_memory else v.type

    def _act(self, asked: Act | None, p: Argument, group: list[Argument]) -> Act:
        """The activity of a parameter. Integers in a struct that has a shadow are constant."""
        if asked is None:
            return self._default(p.type)
        of_struct = len(group) > 1 and isinstance(p.type, IntType)
        narrow = isinstance(p.type, IntType) and p.type.bits < 32  # has no room for a float
        constant = of_struct and (narrow or asked in (Act.DUP, Act.DUPNONEED) and self.mode is not Mode.FORWARD)
        return Act.CONST if constant else asked

    def _shadow(self, group: list[Argument], by_reference: bool, found: list[tuple[Act, list[Slot]]]) -> None:
        """Consume one shadow of a C argument, all of it; what has none is left out."""
        for (one, slots), given in zip(found, self._slots(group, by_reference, "the shadow of "), strict=True):
            if one in (Act.DUP, Act.DUPNONEED):
                slots.append(given)

    def _interleaved(self, width: int) -> None:
        """After `enzyme_interleave`: the shadows of all arguments, in order."""
        for group, by_reference, found in self.waiting:
            for _ in range(width if _shadowed(found) else 0):
                self._shadow(group, by_reference, found)

    def _slots(self, group: list[Argument], by_reference: bool, of: str = "") -> list[Slot]:
        """What the parameters of one C argument are given.

        In registers a struct is cut into pieces of eight bytes; a call that has too few left passes it in memory.
        """
        if len(group) == 1:
            return [self._slot(group[0], by_reference and not isinstance(group[0].type, PointerType), of)]
        if not by_reference and not self._in_memory():
            return [self._slot(p, False, of) for p in group]
        first = self._slot(group[0], True, of)
        return [replace(first, offset=8 * k) for k in range(len(group))]

    def _in_memory(self) -> bool:
        """Is what comes next a struct that the call passes by value in memory?"""
        given = self.attributes.get(id(self.rest[0]), ()) if self.rest else ()
        return any(a.name == "byval" for a in given)

    def _slot(self, p: Argument, in_memory: bool, of: str = "") -> Slot:
        n = self._value(f"{of}argument {self._named(p)}")
        if in_memory and not isinstance(self.values[n].type, PointerType):
            self.refuse(
                f"what follows enzyme_byref for argument {self._named(p)} is no pointer", "pass the struct's address"
            )
        kept = p.attribute("byval")
        if kept is not None and not of and isinstance(kept.value, Type):
            self.byval[n] = kept.value
        return Slot(n, in_memory)

    def _value(self, what: str) -> int:
        self.values.append(self._next(what))
        return len(self.values) - 1

    def _next(self, what: str) -> AnyValue:
        if not self.rest:
            self.refuse(f"{self.name} is called without {what}", "pass all arguments, in order")
        return self.rest.pop(0)

    def _default(self, t: Type) -> Act:
        if isinstance(t, PointerType):
            return Act.DUP
        if holds_type(t, FloatType):
            return Act.DUP if self.mode is Mode.FORWARD else Act.OUT
        return Act.CONST

    def _check(self, act: Act, p: Argument, strided: bool) -> None:
        pointer, integer = isinstance(p.type, PointerType), isinstance(p.type, IntType)
        wide = isinstance(p.type, IntType) and p.type.bits >= 32  # the C ABI passes struct { float; int; } so
        forward = self.mode is Mode.FORWARD
        fits = {
            Act.CONST: True,
            Act.OUT: not pointer and not forward and (not integer or wide),
            Act.DUP: pointer or (forward and (not integer or wide)),
            Act.DUPNONEED: pointer or (forward and not integer),
        }[act]
        if act is not Act.CONST and is_foreign(p.type):
            raise foreign(p.type, self.module.span(self.call))
        if not fits or (strided and not pointer):
            self.refuse(
                f"argument {self._named(p)} of type {p.type} cannot be enzyme_{act}",
                "floats are enzyme_out in reverse mode and enzyme_dup in forward mode; integers are enzyme_const",
            )

    # --- the return, and what follows the arguments

    def _result(self) -> Act:
        t = self.f.function_type.result
        asked = [RETURNS[m] for m in RETURNS if m in self.about]
        if t == VOID or Act.CONST in asked:
            return Act.CONST
        if is_foreign(t):
            raise foreign(t, self.module.span(self.call))
        forward = self.mode is Mode.FORWARD
        if isinstance(t, PointerType):
            split = self.mode in (Mode.AUGMENTED, Mode.REVERSE)
            return Act.DUP if forward or split else Act.CONST
        if Act.DUP in asked and not forward:
            self.refuse("enzyme_dup_return is for forward mode and for returned pointers", "leave the marker out")
        self.packed, unclear = packed_floats(as_written(self.f, self.raw) if returns_integers(self.f) else self.f)
        if unclear and not asked:
            self.refuse(
                f"{self.f.name} returns the bits of a float in an integer, which may be a number or a struct",
                "give llgrad code that clang has not optimised, or say enzyme_const_return if it has no derivative",
            )
        if not holds_type(t, FloatType) and not self.packed:
            return Act.CONST
        return Act.DUP if forward else Act.OUT

    def _end(self, seeded: bool, width: int) -> tuple[tuple[Slot, ...], int]:
        """Seeds and tape of a reverse sweep. The seed of a struct that goes through memory is its address."""
        if self.mode is not Mode.REVERSE:
            return (), -1
        found = tuple(self._seed() for _ in range(width if seeded else 0))
        return found, self._value("the tape") if self.rest else -1

    def _seed(self) -> Slot:
        """The adjoint of the result; of a struct in registers, the values of its members, or its address."""
        in_memory = self._in_memory()
        n, t = self._value("the seed of the return"), self.f.function_type.result
        if not isinstance(t, StructType) or t.fields is None:
            return Slot(n, in_memory and not isinstance(t, PointerType))
        if isinstance(self.values[n].type, PointerType):
            return Slot(n, True)
        for _ in t.fields[1:]:
            self._value("the seed of the return")
        return Slot(n, members=len(t.fields))

    def _nothing_left(self) -> None:
        if self.rest:
            self.refuse(
                f"{self.name} is called with {len(self.rest)} arguments too many for {self.f.name}",
                "check markers: enzyme_dup takes a value and its shadow",
            )

    def _named(self, p: Argument) -> str:
        return parameter_name(self.module, self.f, p)

    def refuse(self, message: str, fix: str) -> NoReturn:
        unclear = self.if_structs if UNCLEAR not in fix else ""
        raise UnsupportedError(
            message, span=self.module.span(self.call),
            cause=f"in a call of {self.name}{self.module.around(self.call)}", fix=f"{fix}{unclear}",
        )  # fmt: skip


def _are_structs(given: list[Type | str], members: list[Type], count: int) -> bool:
    """Is what is passed so many structs, each in registers or, when those are used up, in memory?"""
    for _ in range(count):
        size = 1 if given[:1] == ["memory"] else len(members)
        if size > 1 and given[:size] != members:
            return False
        given = given[size:]
    return True


def _shadowed(found: list[tuple[Act, list[Slot]]]) -> bool:
    return any(act in (Act.DUP, Act.DUPNONEED) for act, _ in found)
