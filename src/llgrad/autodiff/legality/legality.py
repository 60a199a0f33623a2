"""What is refused before anything is planned: what the analyses report as beyond them is an error, never a guess."""

from __future__ import annotations

import re
from functools import cached_property

from llgrad.analysis.activity.graph import DeadEnds, has_rule
from llgrad.analysis.bits.byte_moves import extremum, integer_moves
from llgrad.analysis.memory.call_effects import STOPS, behaviour, is_column, is_copy
from llgrad.analysis.memory.mod_ref import MemoryObject
from llgrad.analysis.objects import TEXT, gep_base
from llgrad.analysis.solver import reach
from llgrad.analysis.types import layouts
from llgrad.analysis.valueflow.address_or_count import addresses, is_counted, is_only_compared
from llgrad.analysis.valueflow.bit_provenance import remade
from llgrad.analysis.valueflow.digit_provenance import made_of_digits
from llgrad.analysis.valueflow.load_provenance import lost
from llgrad.analysis.valueflow.partial_float_copies import made_of_others, pieces
from llgrad.analysis.valueflow.punned_loads import only_steers
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.facts.reverse_uses import atomic
from llgrad.autodiff.legality.overwritten_floats import refuse_overwritten
from llgrad.autodiff.legality.printed_numbers import is_parser, read_back, read_over
from llgrad.errors import ActivityError, KindError, UnsupportedError
from llgrad.ir.types import ArrayType, FloatType, IntType, PointerType, StructType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    Constant,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Load,
    Other,
    Phi,
    Select,
    Store,
    Unary,
)
from llgrad.models.effects import FORMAT, STRING, string_layout
from llgrad.rules import library
from llgrad.transforms.legalize import mixed_words
from llgrad.transforms.legalize.exceptions_to_results import with_returned_exceptions
from llgrad.transforms.legalize.thrown_to_memory import looks_at_exception

_WORD_BITS = 64
_MOST_MEMBERS = 64  # of a struct in a register
_Ends = tuple[AnyValue, ...]
_COPIES = ("llvm.memcpy.", "llvm.memmove.")
_ADDRESSES = (Alloca, GetElementPtr, Constant, Phi, Select)  # or made of values looked at by themselves
_NO_VALUE = re.compile(  # what throws no value that is handed to it, or is looked at by itself (`__cxa_throw`)
    r"__cxa_|__clang_|_Unwind_|llgrad[._]|_Z(?:N4core|N5alloc)\d|_R\w*?C(?:s\w+?_)?(?:4core|5alloc)\d"
)


def refuse_undecidable(facts: Facts) -> None:
    """Raise an UnsupportedError or a NoRuleError where a derivative of the program cannot be known to be right."""
    _Refusals(facts).check()


class _Refusals:
    def __init__(self, facts: Facts) -> None:
        self.facts, self.memory, self.activity, self.kinds = facts, facts.memory, facts.activity, facts.kinds

    def check(self) -> None:
        """Raise the first of them."""
        self._refuse_thrown()
        self._refuse_changed_bits()
        for i, o in self.activity.conflicts:
            if self.facts.decided_as_it_runs(self._written_through(i)):
                continue
            raise self.facts.activity_error(
                f"active data is written to {o}, which the request says is constant, and read back",
                span=self.facts.span(i),
                cause="the argument is used as a work array for values that have derivatives",
                fix="make the argument active (give it a shadow)",
            )
        everything = [i for f in self.activity.functions for i in f.instructions()]
        for i in everything:
            self._refuse_changed_by_text(i)
        varied, useful = self.activity.varied, self.activity.useful
        parser = read_back(self.memory, self.memory.functions, varied, useful, self._holds_floats)
        if isinstance(parser, Call) and not is_parser(parser) and self._leads_outside(parser):
            raise self.facts.no_rule(parser)  # what it does with text is the lesser question
        if parser is not None:
            raise UnsupportedError(
                "a number is read from text or a file that an active float was written to",
                span=self.facts.span(parser),
                cause="formatting and parsing have no derivative; together they would hand the float on without one",
                fix="pass the number itself, or mark the call inactive",
            )
        if self.activity.shadowless:
            self._refuse_shadowless()
        if (reader := read_over(self.memory, self.memory.functions, self.activity.varied)) is not None:
            raise UnsupportedError(
                "a number is read into memory that holds active floats at other times",
                span=self.facts.span(reader),
                cause="Fortran's runtime would overwrite a float whose derivative stays",
                fix="load the source, not its IR, or read into a variable of its own",
            )
        self._refuse_pieces()
        mixed_words.refuse(self.facts)
        for i in everything:
            refuse_overwritten(self.facts, i)
            self._refuse_hidden(i)
            self._refuse_torn(i)
        self._refuse_bits_left()

    def _refuse_pieces(self) -> None:
        """Floats that are moved, or computed with, as floats of another format."""
        for store in pieces(self.memory, self.kinds):
            if self.activity.varied(store.value):
                raise KindError(
                    "what is stored here may be a part of a float, or several floats",
                    span=self.facts.span(store),
                    cause=f"it is moved as {store.value.type}, and the memory is used as floats of another format, too",
                    fix="copy through a pointer of the right type, or with memcpy",
                )
        for i in (i for f in self.activity.functions for i in f.instructions()):
            if isinstance(i, Load | Store) and (t := self._whole_of_others(i)) is not None:
                raise KindError(
                    "what is moved here in a struct may be a part of a float, or several floats",
                    span=self.facts.span(i),
                    cause=f"it is moved as {t}, and the memory is used as floats of another format, too",
                    fix="optimise before (level 1 or more), or copy through a pointer of the right type",
                )
        for load in made_of_others(self.memory):
            if self.facts.active(load):
                raise KindError(
                    "what is read here was written as floats of another format",
                    span=self.facts.span(load),
                    cause=f"it is computed with as {load.type}, though its bits are other numbers'",
                    fix="convert the number, or give the enclosing function a rule",
                )

    def _whole_of_others(self, i: Load | Store) -> FloatType | None:
        """The format of a member of a struct that is moved whole where floats of another format lie (ldc and rustc put
        several floats into a double)."""
        v = i.value if isinstance(i, Store) else i
        if not isinstance(v.type, StructType | ArrayType) or not self.activity.varied(v):
            return None
        floats = ((o, t) for o, t in self.facts.layout.leaves(v.type, most=_MOST_MEMBERS) if isinstance(t, FloatType))
        return next((t for o, t in floats if self.kinds.is_read_otherwise(i.pointer, o, t)), None)

    def _refuse_changed_bits(self) -> None:
        """Bits of active floats that arithmetic changes, or that are followed no further, where they become floats."""
        for i in self.activity.bits_changed:
            raise self._bits_changed(i)
        if (numbers := self.activity.numbers_made) and remade(self.memory, numbers, self._holds_floats) is not None:
            raise self._bits_changed(numbers[0])
        layout = self.facts.layout
        if (load := lost(self.memory, self.kinds, layout, self._is_number, self.activity.useful)) is not None:
            raise self.kinds.error(load, 0, layouts.CONFLICT, layout.size(load.type))
        varied, useful = self.activity.varied, self.activity.useful
        if (made := made_of_digits(self.memory, self.kinds, layout, varied, useful)) is not None:
            raise UnsupportedError(
                "a float is made of the digits of a number that an active float was converted to",
                span=self.facts.span(made),
                cause="a conversion to an integer has derivative zero, but a float with these bits follows the number: "
                "its derivative would be lost",
                fix="compute it with floating-point operations (`exp`, `pow`), or give the enclosing function a rule",
            )

    def _refuse_bits_left(self) -> None:
        """Bits of active floats that nothing follows, where they become floats. (Atomic operations have an error.)"""

        def makes_float(i: Instruction) -> bool:
            part = isinstance(i, Store) and self.activity.is_part_of_float(i.value.type, self.memory.writes(i))
            return part or self._holds_floats(i)

        end = remade(self.memory, self.activity.bits_left, makes_float, self.activity.useful, tables=True)
        if end is not None:
            for i in (i for f in self.activity.functions for i in f.instructions()):
                if isinstance(i, Other) and i.opcode in ("atomicrmw", "cmpxchg"):
                    atomic(self.facts, i)
            raise UnsupportedError(
                "a float is made of bits that were taken from an active one",
                span=self.facts.span(end),
                cause="they were handed on as integers, cut, changed or kept where integers lie, so that the "
                "derivative would be lost",
                fix="keep the value as a float, or give the enclosing function a rule",
            )

    def _holds_floats(self, i: Instruction) -> bool:
        """May what a store or a copy moves be floats?"""
        found = self.kinds.access(i).leaves
        return any(k.is_float or k is layouts.CONFLICT or k is layouts.WORD for _, k, _ in found)

    def _refuse_thrown(self) -> None:
        """Active values that are thrown, where a handler looks at what it catches: it would find no shadow."""
        thrown = [o.site for o in self.memory.objects if isinstance(o.site, Call) and self._is_thrown(o)]
        if thrown and any(looks_at_exception(i) for f in self.activity.functions for i in f.instructions()):
            error = UnsupportedError(
                "an active value is thrown, and a handler looks at it",
                span=self.facts.span(thrown[0]),
                cause="its class or the virtual table of one with virtual bases is not known, a handler may be for "
                "pointers and objects, or a std::exception_ptr keeps it",
                fix="throw a class of the program by value, or hand the value on in another way",
            )
            error.remedy = with_returned_exceptions
            raise error
        unknown = [i for f in self.activity.functions for i in f.instructions() if self._may_throw_active(i)]
        if unknown and DeadEnds(self.memory).caught:
            raise UnsupportedError(
                "an active value may be thrown, and a handler may look at it",
                span=self.facts.span(unknown[0]),
                cause="it is handed to code that is not known and never returns, and the program catches exceptions",
                fix="return the value instead of throwing it (in Rust a `Result`), or add the source of that code",
            )

    def _may_throw_active(self, i: Instruction) -> bool:
        """Is active data handed to unknown code that never returns? Panics within Rust's core make text of it."""
        f = i.called_function if isinstance(i, Call) else None
        if not isinstance(i, Call) or f is None or not f.is_declaration or _NO_VALUE.match(f.name):
            return False
        if behaviour(i, f) is not STOPS or library.effects(f.name) is not None:
            return False
        handed = [o for a in i.arguments for o in self.memory.points_to(a)]
        return any(map(self.activity.varied, (*i.arguments, *self.memory.reachable(frozenset(handed)))))

    def _is_thrown(self, o: MemoryObject) -> bool:
        made_by = getattr(getattr(o.site, "callee", None), "name", "")
        active = self.activity.varied(o) or o in self.activity.shadowed_objects
        return made_by == "__cxa_allocate_exception" and active

    def _bits_changed(self, i: Instruction) -> UnsupportedError:
        error = UnsupportedError(
            f"`{i.opcode}` changes the bits of an active float",
            span=self.facts.span(i),
            cause="integer arithmetic on a float's bits has no derivative that llgrad could know",
            fix="use floating-point operations, or give the enclosing function a rule",
        )
        error.loses_bits = isinstance(i, Call)  # (`llvm.bswap`; masks may be LLVM's own)
        return error

    def _refuse_torn(self, i: Instruction) -> None:
        """Integer arithmetic beside a float in a register must leave the whole float alone; `or` must not mix two."""
        found = integer_moves(i) if isinstance(i, Binary | Cast) and self.facts.active(i) else None
        if found is None:
            return
        mixed = isinstance(i, Binary) and any(k is layouts.CONFLICT for _, k, _ in self.kinds.parts(i))
        for o, t in [] if mixed else self.facts.float_parts(i):
            size = self.facts.layout.size(t)
            over = [w for w in found.windows if w.to < o + size and o < w.to + w.size]
            held = [w for w in over if self._holds_something(w.source, o - w.to + w.at, size)]
            mixed = mixed or len(held) > 1 or any(o < w.to or w.to + w.size < o + size for w in held)
        if mixed:
            raise self._bits_changed(i)

    def _holds_something(self, v: AnyValue, at: int, size: int) -> bool:
        """Are bytes [at, at + size) of an integer anything but zero?"""
        parts = self.kinds.parts(v)
        return any(o < at + size and at < o + n and k is not layouts.ANY for o, k, n in parts)

    def _written_through(self, i: Instruction) -> AnyValue | None:
        return i.pointer if isinstance(i, Store) else i.arguments[0] if isinstance(i, Call) and i.arguments else None

    def _refuse_hidden(self, i: Instruction) -> None:
        """Floats read as integers, in functions that look inactive too; addresses hidden in integers."""
        if isinstance(i, Load) and isinstance(i.type, IntType) and not self.facts.active(i):
            if self._matters(i):
                self.facts.refuse_conflict(i)
                if self._is_declared_float(i):
                    raise self.kinds.error(i, 0, layouts.CONFLICT, self.facts.layout.size(i.type))
        elif isinstance(i, Call) and i.called_function is not None and i.called_function.name.startswith(_COPIES):
            if self._matters(i) and layouts.CONFLICT in self.kinds.access(i).at.values():
                self.facts.copied(i)
        elif isinstance(i, Call) and i.called_function is not None and i.called_function.name.startswith(STRING):
            self._refuse_floats_in_text(i, i.called_function)
        elif isinstance(i, Cast) and i.opcode == "ptrtoint":
            self._refuse_float_in_pointer(i)
        elif isinstance(i, Binary | Call) and isinstance(i.type, IntType) and i.type.bits > _WORD_BITS:
            self._refuse_wide(i)
        elif isinstance(i, Binary) and i.opcode == "sub" and self._is_between_objects(i):
            raise UnsupportedError(
                "the distance from one object to another, which may be active, is taken",
                span=self.facts.span(i),
                cause="the distance of their shadows is another",
                fix="keep a pointer to the other object",
            )
        elif isinstance(i, GetElementPtr) and self._adds_address(i):
            raise UnsupportedError(
                "a pointer is computed by adding the address of memory that may be active to another",
                span=self.facts.span(i),
                cause="what it is added to may be a distance, and the shadow's address is another",
                fix="add the distance to the pointer",
            )
        elif i.opcode == "inttoptr" and (culprit := self._hidden_origin(i)) is not None:
            raise UnsupportedError(
                "a pointer to memory that may be active is computed from integers",
                span=self.facts.span(i),
                cause=f"its address comes from `{culprit.opcode}`, and the shadow's cannot be computed likewise",
                fix="keep addresses in variables of pointer type, without tags or other changes of their bits",
            )

    def _is_between_objects(self, i: Binary) -> bool:
        """Is it the distance of objects that are certainly different, and more than compared?"""
        ends = [addresses([v]) for v in i.operands]
        if not all(ends) or not any(map(self.facts.shadowed, (v for end in ends for v in end))) or is_only_compared(i):
            return False
        pairs = reach([(tuple(ends[0]), tuple(ends[1]))], self._given)
        return any(self._are_apart(*pair) for pair in pairs)

    def _are_apart(self, ours: _Ends, theirs: _Ends) -> bool:
        one, other = (frozenset(o for v in end for o in self.memory.points_to(v)) for end in (ours, theirs))
        return bool(one and other) and one.isdisjoint(other) and not self.memory.coincide(one, other)

    def _given(self, pair: tuple[_Ends, _Ends]) -> list[tuple[_Ends, _Ends]]:
        """What two parameters of a function are in each call: those of all calls together may have all in common."""
        match [gep_base(v) for end in pair for v in end]:
            case [Argument() as p, Argument() as q] if (f := self.memory.owners.get(p)) is self.memory.owners.get(q):
                calls = [c for c in self.memory.callers(f) if max(p.index, q.index) < c.arity] if f else []
                return [((c.arguments[p.index],), (c.arguments[q.index],)) for c in calls]
        return []

    def _adds_address(self, i: GetElementPtr) -> bool:
        """May the address of memory that may be active be added to a distance?"""
        if not any(map(self.facts.shadowed, addresses(i.indices))):
            return False
        assert i.block.function is not None
        return not is_counted(i, self.facts.flow(i.block.function), self.facts.layout)

    def _refuse_wide(self, i: Instruction) -> None:
        """An integer with a float in some of its bytes and a pointer in others has one shadow for both."""
        found = [k for _, k in self.kinds.leaves(i)]
        floats = any(k.is_float or k is layouts.CONFLICT for k in found)
        if floats and layouts.POINTER in found and (self.facts.active(i) or self.facts.shadowed(i)):
            raise self.kinds.error(i, 0, layouts.CONFLICT, self.facts.layout.size(i.type))

    def _is_declared_float(self, load: Load) -> bool:
        """Is a number read where only accesses like this one say so, in active memory of the caller's that is declared
        to hold floats alone?"""
        if set(self.kinds.access(load).at.values()) != {layouts.INTEGER} or only_steers(load, set()):
            return False
        objects = {o for a in self.memory.reads(load) for o in a.objects}
        return all(
            o.kind == "argument" and self.activity.varied(o) and isinstance(o.site, Argument)
            and self.kinds.is_declared_as_floats(o.site) for o in objects
        )  # fmt: skip

    def _refuse_changed_by_text(self, i: Instruction) -> None:
        """What is called to write a value as text must leave floats alone: no derivative goes through there."""
        if not isinstance(i, Call) or not self._writes_text(i):
            return
        given = self.memory.reachable(frozenset(o for a in i.arguments for o in self.memory.points_to(a)))
        written = [o.site for o in given if o.is_code and isinstance(o.site, Function)]
        for f in reach([f for f in written if not f.is_declaration], _calls):
            if (store := next((s for s in f.instructions() if _changes_float(s)), None)) is not None:
                raise UnsupportedError(
                    "a float is changed by what writes a value as text",
                    span=self.facts.span(store) or self.facts.span(i),
                    cause="the derivative does not go through the code that formats text",
                    fix="change it where the value is computed",
                )

    def _writes_text(self, call: Call) -> bool:
        callee = call.called_function
        if callee is None or not callee.is_declaration or not callee.name.startswith(("_R", FORMAT)):
            return False
        known = library.effects(callee.name)
        return known is not None and known.text

    def _refuse_floats_in_text(self, call: Call, callee: Function) -> None:
        strings, at = [call.arguments[n] for n in behaviour(call, callee).strings], string_layout(callee.name)[1]
        if not self.activity.varied(TEXT):
            return
        if self._copied_to_floats or any(self.kinds.string_may_hold_float(s, at) for s in strings):
            raise UnsupportedError(
                "floats are read from the text of a std::string, or written there",
                span=self.facts.span(call),
                cause="text has no shadow, so their derivatives would be lost",
                fix="keep the bytes in a std::vector<char>, or the numbers in an array",
            )

    @cached_property
    def _copied_to_floats(self) -> bool:
        """Is text copied to where floats begin that active outputs depend on?"""
        calls = (i for f in self.activity.functions for i in f.instructions() if isinstance(i, Call) and is_copy(i))
        copies = (i for i in calls if any(TEXT in a.objects for a in self.memory.reads(i)))
        useful = (i for i in copies if any(self.activity.useful(o) for a in self.memory.writes(i) for o in a.objects))
        return any(k.is_float for i in useful for _, k, _ in self.kinds.memory(i.arguments[0], 8).leaves)

    def _is_number(self, load: Load) -> bool:
        """Is it taken for one, though where it is read active floats lie?"""
        return not self.facts.active(load) and self._matters(load)

    def _refuse_float_in_pointer(self, i: Cast) -> None:
        """A float in a register of pointer type (a union's, which has both): it would have no derivative."""

        def origins(v: AnyValue) -> list[AnyValue]:
            return v.operands if isinstance(v, Phi) else v.operands[1:] if isinstance(v, Select) else []

        def may_be_float(v: AnyValue) -> bool:
            return self._matters(v) if isinstance(v, Load) else not isinstance(v, _ADDRESSES)

        if _becomes_float(i) and any(map(may_be_float, reach([i.value], origins))):
            raise self.kinds.error(i, 0, layouts.CONFLICT, self.facts.layout.size(i.type))

    def _matters(self, i: Instruction) -> bool:
        """Does `i` read memory that depends on active inputs, or write memory on which active outputs depend?"""
        read = {o for a in self.memory.reads(i) for o in a.objects}
        written = {o for a in self.memory.writes(i) for o in a.objects}
        varied, useful = self.activity.varied, self.activity.useful
        return any(varied(o) for o in read) or any(useful(o) for o in written)

    def _hidden_origin(self, made: Instruction) -> Instruction | None:
        """What keeps the integer that a pointer is made from without a shadow; None where it has one or needs none."""
        objects = self.memory.points_to(made)
        if all(u.opcode == "icmp" for u in made.users):
            return None
        if not objects or any(o.kind == "unknown" for o in objects):
            return made
        if objects.isdisjoint(self.activity.shadowed_objects):
            return None
        if not self.facts.shadowed(made.operands[0]):
            return made
        work: list[AnyValue] = list(made.operands)
        seen = set()
        while work:
            v = work.pop()
            if v in seen or not isinstance(v, Instruction) or not self.memory.points_to(v):
                continue
            seen.add(v)
            match v:
                case Binary(opcode="add" | "or") if all(addresses([o]) for o in v.operands):
                    return v
                case Binary(opcode="add" | "sub" | "or" | "and"):
                    work += v.operands
                case Binary():
                    return v
                case Phi() | Select() | Unary():
                    work += v.operands
                case Cast() if not isinstance(v.operands[0].type, PointerType):
                    work += v.operands
        return None

    def _refuse_shadowless(self) -> None:
        """NoRuleError at a call that leads active data out of sight, else ActivityError where it is touched.

        Of such calls one that names a function: what it is given may be all that makes the others active.
        """
        everything = [i for f in self.activity.functions for i in f.instructions()]
        if outside := [i for i in everything if isinstance(i, Call) and self._leads_outside(i)]:
            raise self.facts.no_rule(min(outside, key=lambda call: call.called_function is None))
        touched = [(i, o) for o in self.activity.shadowless for i in everything if self._touches_floats(i, o)]
        if not touched:
            return
        touched.sort(key=lambda found: str(self.facts.span(found[0]) or ""))
        i, o = touched[0]
        kept = _is_global(o)
        raise ActivityError(
            f"{o} needs a shadow and cannot have one",
            span=self.facts.span(i),
            cause="a variable may hold it from before, as the buffer of an earlier call: nobody made a shadow of it"
            if kept
            else "active data reaches memory that llgrad did not see being made",
            fix="allocate the memory in each call, pass it as an active argument, or name a shadow of the variable "
            "(`__enzyme_shadow_global`)"
            if kept
            else "pass the memory as an active argument, or allocate it with a known allocator",
        )

    def _leads_outside(self, call: Call) -> bool:
        """Does an active call reach code that is not known at all?"""
        if not self.activity.active_call(call):
            return False
        callees, unknown = self.facts.callees(call)
        return unknown or any(
            f.is_declaration and behaviour(call, f).kind == "plain" and library.lookup(f.name) is None
            and not behaviour(call, f).inactive and not is_column(call) and not has_rule(f)
            for f in callees
        )  # fmt: skip

    def _touches_floats(self, i: Instruction, o: MemoryObject) -> bool:
        """Is this a load or store of active floats in `o`?"""
        if isinstance(i, (Load, Store)) and not self.memory.points_to(i.pointer):
            return False  # of a null that is found in memory: never executed
        match i:
            case Store(value, _):
                active, accesses = self.activity.varied(value), self.memory.writes(i)
            case _:
                active, accesses = i.opcode == "load" and self.facts.active(i), self.memory.reads(i)
        return active and any(o in a.objects for a in accesses)


def _calls(f: Function) -> list[Function]:
    called = [i.called_function for i in f.instructions() if isinstance(i, Call)]
    return [g for g in called if g is not None and not g.is_declaration]


def _changes_float(i: Instruction) -> bool:
    """Is a float stored where a function's arguments lead to?"""
    if not isinstance(i, Store) or not isinstance(i.value.type, FloatType):
        return False
    return any(isinstance(v, Argument) for v in reach([i.pointer], _led_by))


def _led_by(v: AnyValue) -> list[AnyValue]:
    match v:
        case GetElementPtr() | Load():
            return [v.operands[0]]
        case Phi() | Select() | Cast():
            return list(v.operands)
    return []


def _becomes_float(i: Instruction) -> bool:
    """Are all bits of an integer handed on to become a float's?"""

    def handed_on(v: Instruction) -> list[Instruction]:
        return [u for u in v.users if _hands_on(u)] if isinstance(v.type, IntType) else []

    start: list[Instruction] = [i]
    return any(v.opcode == "bitcast" and isinstance(v.type, FloatType) for v in reach(start, handed_on))


def _hands_on(i: Instruction) -> bool:
    """Is the result of `i`, which is an integer's or a float's, all bits of one of its operands?"""
    if isinstance(i, Call):
        return bool(extremum(i))
    return isinstance(i, (Phi, Select, Cast)) or i.opcode == "freeze"


def _is_global(o: MemoryObject) -> bool:
    return isinstance(o.site, GlobalVariable)
