"""Derivatives that call the user's rules: functions with the signature of a `Request`, and a call inside.

A call of a function that has a rule is a `CallBody` like any other, so that callees, pointers to functions, loops and
split derivatives need nothing special. What the user's functions take and return (`registrations`):

* augmented: the function's arguments, each pointer followed by its shadow; returns its tape, its value, or
  {tape, value[, shadow of a returned pointer]}, as far as they exist. The tape is kept on the arena.
* reverse: the same arguments, the seed of an active result, the tape; returns the adjoints of all arguments that are
  floats: one, or a struct.
* forward: arguments that are floats or pointers followed by their tangents or shadows, structs in registers whole;
  returns the tangent, or {value, tangent}.

The shadow of a constant pointer is the pointer itself, as runtime activity has it; a rule that does not look at that is
refused in such a call. Results are compared by layout: `{float, float}` may come as `<2 x float>`, or through `sret`.

What a function returns through memory (`out`) is its result to a rule: the seed is what lies in the shadow of that
memory, which is cleared, and is passed by its address. Where the memory is constant, the seed is zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from llgrad.analysis.objects import holds_type
from llgrad.autodiff.emit import tape
from llgrad.autodiff.enzyme.coerced_arguments import UNCLEAR, Together
from llgrad.autodiff.enzyme.result_struct import same_bytes
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.requests.registrations import CONSTANT, Registrations
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.autodiff.sweeps.primal_copy import takes_shadow
from llgrad.errors import NoRuleError, Span, UnsupportedError, warn
from llgrad.ir.build import Builder, Names, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import PTR, VOID, FloatType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import AnyValue, Argument, Block, Compare, ConstNull, Function, Return, Undef

OWN = "__llgrad_"
"""Functions of rules that llgrad wrote (`llgrad cc --derivative`, MPI's): they look whether memory is constant."""


class Augmented(Struct, frozen=True):
    """What the user's augmented forward sweep returns: the type of its tape, and where value and shadow are."""

    parts: StructType
    tape: int | None
    value: int | None
    shadow: int | None


class CustomRule:
    """Writes `target`, the derivative of `source` that `request` asks for, as a call of the user's rule."""

    def __init__(
        self, facts: Facts, module: Module, found: Registrations, request: Request, source: Function, target: Function
    ) -> None:
        self.facts, self.module, self.found, self.request = facts, module, found, request
        self.source, self.target, self.layout = source, target, module.layout
        names = Names(a.name for a in target.arguments)
        block = Block(names.fresh("entry"), target)
        target._blocks.append(block)
        self.b = Builder(block, names)
        hidden = self.hidden(source)
        self.out = source.arguments[0] if hidden is not None else None
        self.result = source.function_type.result if hidden is None else hidden
        if any(a.attribute("byval") for a in source.arguments):
            raise self.refused("it is passed a struct through memory")
        if hidden is not None and holds_type(hidden, PointerType):
            raise self.refused("it returns a struct with pointers through memory", "return the pointers apart")

    def write(self) -> None:
        mode = self.request.mode
        for a, act in zip(self.source.arguments, self.request.arguments, strict=True):
            if act is not Act.CONST and a.attribute(CONSTANT):
                raise self.refused(
                    f"argument {a.index + 1} is active in a call, but not among those of --wrt in its object",
                    "name that parameter there, too",
                )
        if self.request.result is Act.BOTH:
            raise self.refused("it returns floats and pointers together", "return one of the two")
        if self.request.width > 1 and self.must_run_once() and (mode is Mode.FORWARD or not self.runs_once()):
            cause = "it is written for one adjoint at a time, and the function writes memory that it may read"
            raise self.refused(cause, "ask for width 1, or let the augmented function keep no tape")
        if mode is Mode.FORWARD:
            self.forward()
        else:
            augmented, reverse = self.rule(self.found.gradients, "gradient")
            match mode:
                case Mode.AUGMENTED:
                    self.augmented(augmented, reverse)
                case Mode.REVERSE:
                    self.reverse(augmented, reverse, self.target.arguments[-1])
                case Mode.COMBINED:
                    self.combined(augmented, reverse)

    def rule(self, table: dict[str, tuple[str, str]] | dict[str, str], what: str) -> list[Function]:
        found = table.get(self.source.name)
        if found is None:
            other = "derivative" if what == "gradient" else "gradient"
            raise NoRuleError(
                f"{self.plain} has a registered {other}, but no registered {what}", span=self.span,
                cause=f"{'reverse' if what == 'gradient' else 'forward'} mode asks for it",
                fix=f"register one: __enzyme_register_{what}_{self.plain}",
            )  # fmt: skip
        return [self.module.function(name) for name in ([found] if isinstance(found, str) else found)]

    # --- forward mode

    def forward(self) -> None:
        (rule,) = self.rule(self.found.tangents, "derivative")
        tangents, value = [], None
        for lane in range(self.request.width):
            arguments = list(self.arguments(rule, lane, floats=True))
            self.expect(rule, len(arguments), len(arguments))
            if self.result == VOID:
                self.call(rule, arguments, StructType(()))
                continue
            both = StructType((self.result, self.result))
            wanted = both if self.size(rule) == self.layout.alloc_size(both) else StructType((self.result,))
            parts = self.call(rule, arguments, wanted)
            tangents.append(parts[-1])
            value = parts[0] if len(parts) == 2 else value
        if self.result == VOID:
            self.b.ret()
            return
        if self.out is not None:
            for lane, tangent in enumerate(tangents):
                self.b.store(tangent, self.out_shadow(lane), 1)
            self.put(value)
            self.b.ret()
            return
        returned = [value or self.primal()] if self.request.primal_result else []
        self.give([*returned, *(tangents if self.request.result is not Act.CONST else [])])

    # --- reverse mode

    def combined(self, augmented: Function, reverse: Function) -> None:
        parts, runs = self.runs(augmented)
        value = None
        if self.out is not None:
            self.put(None if parts.value is None else runs[0][parts.value])
        elif self.request.primal_result and self.result != VOID:
            value = self.value(parts, runs[0])
        kept = [None if parts.tape is None else returned[parts.tape] for returned in runs]
        adjoints = self.adjoints(reverse, kept)
        self.give(([value] if value is not None else []) + adjoints)

    def augmented(self, augmented: Function, reverse: Function) -> None:
        del reverse
        parts, runs = self.runs(augmented)
        frame: AnyValue = ConstNull(PTR)
        if parts.tape is not None:
            kept = [returned[parts.tape] for returned in runs]
            size = self.layout.alloc_size(kept[0].type)
            frame = self.b.call(tape.reserve(self.module), [self.target.arguments[0], i64(size * len(kept))], "frame")
            for lane, one in enumerate(kept):
                self.b.store(one, self.b.offset(frame, lane * size))
        given = [frame]
        if self.out is not None:
            self.put(None if parts.value is None else runs[0][parts.value])
        elif self.result != VOID:
            given.append(self.value(parts, runs[0]))
        if self.request.result is Act.DUP:
            if parts.shadow is None:
                cause = "its augmented sweep returns no shadow of the pointer"
                raise self.refused(cause, "return {tape, value, shadow}")
            given += [returned[parts.shadow] for returned in runs]
        self.give(given)

    def reverse(self, augmented: Function, reverse: Function, frame: AnyValue) -> None:
        parts = self.shape(augmented)
        kept: list[AnyValue | None] = [None] * self.request.width
        used_up = reverse.attribute("nofree") is None and not self.keeps_nothing(augmented, parts)
        if used_up and self.request.repeatable:
            raise self.refused(
                f"{reverse.name} may use up its own tape",
                f"leave enzyme_nofree out, or say: void *__enzyme_nofree[] = {{(void *){reverse.name}}}",
            )
        if parts.tape is not None:
            assert parts.parts.fields is not None
            t = parts.parts.fields[parts.tape]
            size = self.layout.alloc_size(t)
            kept = [self.b.load(t, self.b.offset(frame, lane * size), "tape") for lane in range(self.request.width)]
        adjoints = self.adjoints(reverse, kept)
        if parts.tape is not None and not self.request.repeatable:
            self.b.call(tape.release(self.module), [self.target.arguments[0], frame])
        self.give(adjoints)

    def runs(self, augmented: Function) -> tuple[Augmented, list[list[AnyValue]]]:
        """What the augmented sweep returns, for each lane; it is run once where that serves all."""
        parts = self.shape(augmented)
        found = []
        for lane in range(1 if self.request.width > 1 and self.runs_once() else self.request.width):
            arguments = list(self.arguments(augmented, lane))
            self.expect(augmented, len(arguments), len(arguments))
            found.append(self.call(augmented, arguments, parts.parts))
        return parts, found * (self.request.width // len(found))

    def runs_once(self) -> bool:
        """Whether one run of the augmented sweep serves all lanes: it keeps no tape and looks at no shadow."""
        augmented, _ = self.rule(self.found.gradients, "gradient")
        if augmented.is_declaration or not self.keeps_nothing(augmented, self.shape(augmented)):
            return False
        at = 1 if self.hidden(augmented) is not None else 0
        for a in self.source.arguments[self.out is not None :]:
            at += 1
            if isinstance(a.type, PointerType):
                if augmented.blocks and any(a.users for a in augmented.arguments[at : at + 1]):
                    return False
                at += 1
        return True

    def keeps_nothing(self, augmented: Function, parts: Augmented) -> bool:
        """Whether the tape that it returns is always null, or there is none."""
        if parts.tape is None:
            return True
        ends = [b.terminator for b in augmented.blocks] if not augmented.is_declaration else []
        values = [i.value for i in ends if isinstance(i, Return)]
        return bool(values) and all(isinstance(v, ConstNull) for v in values)

    def value(self, parts: Augmented, returned: list[AnyValue]) -> AnyValue:
        return self.primal() if parts.value is None else returned[parts.value]

    def adjoints(self, reverse: Function, kept: Sequence[AnyValue | None]) -> list[AnyValue]:
        """Call the reverse sweep, once a lane; the adjoints that the request asks for, all lanes of one together."""
        lanes = [self.lane_adjoints(reverse, lane, one) for lane, one in enumerate(kept)]
        return [x for together in zip(*lanes, strict=True) for x in together]

    def lane_adjoints(self, reverse: Function, lane: int, kept: AnyValue | None) -> list[AnyValue]:
        arguments = list(self.arguments(reverse, lane))
        if not lane:
            self.warn_of_changes(reverse)
        seeds = self.seeds(lane)
        optional = [*seeds, *([kept] if kept is not None else [])]
        self.expect(reverse, len(arguments), len(arguments) + len(optional))
        count = len(self.parameters(reverse)) - len(arguments)
        given = optional if count == len(optional) else seeds
        if count != len(given):
            raise self.refused(f"{reverse.name} takes {count} values after the arguments, {len(optional)} are there")
        floats = [a for a in self.source.arguments if _is_float(a.type)]
        returns = StructType(tuple(a.type for a in floats))
        if floats and self.size(reverse) == 0 and Act.OUT in self.request.arguments:
            raise self.refused(f"{reverse.name} returns no adjoints", "return those of all arguments that are floats")
        if not floats or self.size(reverse) == 0:
            self.call(reverse, [*arguments, *given], StructType(()))
            return []
        found = self.call(reverse, [*arguments, *given], returns)
        return [x for a, x in zip(floats, found, strict=True) if self.request.arguments[a.index] is Act.OUT]

    def warn_of_changes(self, reverse: Function) -> None:
        """The reverse sweep looks at memory as it is by then: is that what the function has seen?"""
        at = 1 if self.hidden(reverse) is not None else 0
        for a in self.source.arguments[self.out is not None :]:
            own = reverse.arguments[at] if at < len(reverse.arguments) else None
            at += 2 if isinstance(a.type, PointerType) else 1
            if own is None or not isinstance(a.type, PointerType) or not _may_be_read(reverse, own):
                continue
            calls = [c for c in self.facts.memory.callers(self.source) if a.index < c.arity]
            for call in (c for c in calls if self.facts.changes.changed_behind(c, c.arguments[a.index])):
                warn(
                    f"the rule of {self.plain} may read what is not there any more: {reverse.name} runs in the reverse"
                    f" sweep, and the program may change what argument {a.index + 1} leads to after this call",
                    span=self.facts.span(call),
                    fix="keep in the tape what the reverse function needs of it; nothing, if that is not changed",
                )
                return

    def seeds(self, lane: int) -> list[AnyValue]:
        """The adjoint of a result that is floats, member by member where it is a struct; in memory, its address."""
        if self.out is not None:
            copy, shadow = self.b.alloca(self.result, "seed", 16), self.out_shadow(lane)
            self.b.store(self.b.load(self.result, shadow, "", 1), copy, 16)
            self.b.store(zero(self.result), shadow, 1)
            return [copy]
        if not _is_float(self.result):
            return []
        split = self.request.mode is Mode.REVERSE
        seed: AnyValue = zero(self.result)
        if self.request.result is Act.OUT:
            first = len(self.target.arguments) - self.request.width - split
            seed = self.target.arguments[first + lane]
        if isinstance(self.result, StructType):
            return [self.b.extract(seed, n) for n in range(len(self.result.fields or ()))]
        return [seed]

    def shape(self, augmented: Function) -> Augmented:
        """What the augmented sweep returns, by its size and by the type of the function's own result."""
        type, result = self.returned_type(augmented), self.result
        if type == VOID:
            return Augmented(StructType(()), None, None, None)
        if result == VOID or type == PTR:
            return Augmented(StructType((type,)), 0, None, None)
        if type == result or (self.same(result, type) and result != PTR):
            return Augmented(StructType((result,)), None, 0, None)
        fields = type.fields if isinstance(type, StructType) else None
        if fields is not None and len(fields) > 1:
            for rest in ((result, result), (result,)) if result == PTR else ((result,),):
                whole = StructType((fields[0], *rest))
                if self.same(whole, type):
                    return Augmented(whole, 0, 1, 2 if len(rest) == 2 else None)
        raise self.refused(f"{augmented.name} returns {type}", "return {tape, value}, or one of the two")

    # --- results in memory

    def given_out(self) -> list[AnyValue]:
        """The memory of the result, and its shadows."""
        first = 0 if self.request.mode is Mode.FORWARD else 1
        count = self.request.width if takes_shadow(self.request.arguments[0]) else 0
        return list(self.target.arguments[first : first + 1 + count])

    def out_shadow(self, lane: int) -> AnyValue:
        """Where the result's derivative is; zeros that nobody looks at where the memory is constant."""
        memory, *shadows = self.given_out()
        nowhere = self.b.alloca(self.result, "nowhere", 16)
        self.b.store(zero(self.result), nowhere, 16)
        if not shadows:
            return nowhere
        return self.b.select(self.b.icmp("eq", shadows[lane], memory), nowhere, shadows[lane])

    def put(self, value: AnyValue | None) -> None:
        """Write the result; None: as the function itself does."""
        if value is None:
            self.primal()
        else:
            self.b.store(value, self.given_out()[0], 1)

    # --- the user's functions

    def arguments(self, rule: Function, lane: int, floats: bool = False) -> Iterator[AnyValue]:
        """The function's arguments with shadows of pointers behind them; with `floats`, with all that they have.

        What follows a struct in registers, there, follows all of it.
        """
        n = 0 if self.request.mode is Mode.FORWARD else 1
        taken = 1 if self.hidden(rule) is not None else 0
        for group in self.groups() if floats else [[a] for a in self.source.arguments]:
            values, shadows = list[AnyValue](), list[AnyValue]()
            for a in group:
                value, act = self.target.arguments[n], self.request.arguments[a.index]
                pointer, shadowed = isinstance(a.type, PointerType), takes_shadow(act)
                if a is not self.out:
                    own, shadow = taken + len(values), taken + len(group) + len(shadows)
                    values.append(value)
                    if pointer and (not shadowed or self.constant_somewhere(a)):
                        self.check_constant(rule, own, shadow, a)
                    if pointer or (floats and (_is_float(a.type) or len(group) > 1)):
                        constant = value if pointer else zero(a.type)
                        shadows.append(self.target.arguments[n + 1 + lane] if shadowed else constant)
                n += 1 + (self.request.width if shadowed else 0)
            yield from (*values, *shadows)
            taken += len(values) + len(shadows)

    def groups(self) -> list[list[Argument]]:
        """The parameters that are one argument of C's."""
        wholes = Together(self.module, self.source, None).wholes(self.source.arguments)
        if unclear := next((one.unclear for one in wholes if one.unclear), ""):
            raise self.refused(unclear, UNCLEAR)
        return [one.parameters for one in wholes]

    def constant_somewhere(self, a: Argument) -> bool:
        """Is the argument constant memory in one of the calls that this derivative serves?"""
        given = [c.arguments[a.index] for c in self.facts.memory.callers(self.source) if a.index < c.arity]
        inactive = any(not self.facts.shadowed(v) and not isinstance(v, ConstNull) for v in given)
        return inactive or self.facts.may_be_constant(a)

    def check_constant(self, rule: Function, at: int, shadow: int, a: Argument) -> None:
        """A rule that is given a pointer as its own shadow must look."""
        if shadow >= len(rule.arguments):
            return
        given, own = rule.arguments[shadow], rule.arguments[at]
        looks = rule.name.startswith(OWN)
        if not looks and not rule.is_declaration:
            users = given.users if rule.blocks else []  # asking for blocks parses them
            looks = not users or any(isinstance(u, Compare) and own in u.operands for u in users)
        if not looks:
            raise self.refused(
                f"{rule.name} uses the shadow of argument {a.name}, which is constant in a call",
                "make it active; or compare the shadow with the pointer: they are equal where it is constant",
            )

    def same(self, wanted: Type, returned: Type) -> bool:
        return self.size_of(wanted) == self.size_of(returned) and same_bytes(self.layout, wanted, returned)

    def size_of(self, t: Type) -> int:
        return 0 if t == VOID else self.layout.alloc_size(t)

    def parameters(self, rule: Function) -> Sequence[Argument]:
        return rule.arguments[1:] if self.hidden(rule) is not None else rule.arguments

    def hidden(self, rule: Function) -> Type | None:
        found = rule.arguments[0].attribute("sret") if rule.arguments else None
        return found.value if found is not None and isinstance(found.value, Type) else None

    def returned_type(self, rule: Function) -> Type:
        return self.hidden(rule) or rule.function_type.result

    def size(self, rule: Function) -> int:
        return self.size_of(self.returned_type(rule))

    def expect(self, rule: Function, least: int, most: int) -> None:
        count = len(self.parameters(rule))
        if not least <= count <= most:
            raise self.refused(
                f"{rule.name} takes {count} arguments, not {least}" + (f" to {most}" if most > least else ""),
                "give it the function's arguments, each pointer followed by its shadow",
            )

    def call(self, rule: Function, arguments: Sequence[AnyValue], wanted: StructType) -> list[AnyValue]:
        """Call it; what it returns, as the fields of `wanted`."""
        fields = wanted.fields or ()
        for given, p in zip(arguments, self.parameters(rule), strict=True):
            if given.type != p.type:
                raise self.refused(f"{rule.name} takes a {p.type} where a {given.type} is given")
        type = self.returned_type(rule)
        if fields and not self.same(wanted, type):
            raise self.refused(f"{rule.name} returns {type}, not {wanted}")
        if self.hidden(rule) is not None:
            memory = self.b.alloca(type, "returned", 16)
            self.b.call(rule, [memory, *arguments])
        else:
            made = self.b.call(rule, arguments, "" if type == VOID else "returned")
            if not fields or type == fields[0]:
                return [made] if fields else []
            memory = self.b.alloca(type, "memory", 16)
            self.b.store(made, memory, 16)
        at = self.layout.offsets(wanted)
        return [self.b.load(t, self.b.offset(memory, o)) for t, o in zip(fields, at, strict=True)]

    def primal(self) -> AnyValue:
        """The function's own value, where the rule does not return it; anything where nobody looks at it."""
        calls = self.facts.memory.callers(self.source)
        unused = self.out is None and calls and not any(c.users for c in calls)
        if unused and self.source is not self.facts.root:
            return zero(self.result)
        if self.must_run_once():
            raise self.refused(
                "it does not return the function's value, and the function writes memory that it may read",
                "return {tape, value}, or in forward mode {value, tangent}",
            )
        n = 0 if self.request.mode is Mode.FORWARD else 1
        arguments: list[AnyValue] = []
        for act in self.request.arguments:
            arguments.append(self.target.arguments[n])
            n += 1 + (self.request.width if takes_shadow(act) else 0)
        return self.b.call(self.source, arguments, "value")

    def must_run_once(self) -> bool:
        """May a second run of the function read what the first has written?"""
        return self.source.is_declaration or not self.facts.changes.may_run_twice(self.source)

    def give(self, parts: Sequence[AnyValue]) -> None:
        type = self.target.function_type.result
        if not parts:
            self.b.ret(None if type == VOID else zero(type))
            return
        if type == parts[0].type and len(parts) == 1:
            self.b.ret(parts[0])
            return
        whole: AnyValue = Undef(type, True)
        for n, part in enumerate(parts):
            whole = self.b.insert_value(whole, part, n)
        self.b.ret(whole)

    # --- words

    @property
    def plain(self) -> str:
        return self.source.name

    @property
    def span(self) -> Span | None:
        calls = self.facts.memory.callers(self.source)
        return self.facts.span(calls[0]) if calls else None

    def refused(self, cause: str, fix: str = "") -> UnsupportedError:
        return UnsupportedError(
            f"the rule that is registered for {self.plain} cannot be used here", span=self.span, cause=cause,
            fix=fix or "see the manual of the C interface for what rules take and return",
        )  # fmt: skip


def _may_be_read(rule: Function, pointer: Argument) -> bool:
    """May a rule read what one of its pointers leads to? (Those that llgrad wrote keep what they read.)"""
    if rule.name.startswith(OWN) or any(pointer.attribute(name) is not None for name in ("readnone", "writeonly")):
        return False
    return rule.is_declaration or bool(rule.blocks) and any(not isinstance(u, Compare) for u in pointer.users)


def _is_float(t: Type) -> bool:
    """Floats, in the sense of the rules: they have adjoints by value."""
    match t:
        case StructType(fields) if fields is not None:
            return bool(fields) and all(_is_float(x) for x in fields)
        case VectorType(element):
            return isinstance(element, FloatType)
    return isinstance(t, FloatType)
