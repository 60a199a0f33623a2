"""Forward mode: a tangent beside every active value (Griewank and Walther, Evaluating Derivatives, ch. 3.1).

The derivative of a value has the type of the value: of a float its tangent, of a pointer its shadow, of an aggregate
both, of an integer that carries their bits those bits. So copies of any kind are copied, and no kinds are needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from llgrad.analysis.bits.byte_moves import Moves, integer_moves, moves
from llgrad.analysis.memory.call_effects import tape_call
from llgrad.analysis.objects import holds_type
from llgrad.autodiff.emit import float_checks, helpers, non_finite, tape
from llgrad.autodiff.emit.atomic_sums import add_atomically
from llgrad.autodiff.emit.expressions import EmitAlgebra, is_choice, of_choice, strong_product, strong_zero
from llgrad.autodiff.facts.given_zeros import FINITE, made
from llgrad.autodiff.facts.reverse_uses import CallBody, Free, Memory, Partials, effect, operand_parts
from llgrad.autodiff.requests.request import Act, Request, noted_arguments
from llgrad.autodiff.sweeps.bit_sets import converted, refuse_parts, union
from llgrad.autodiff.sweeps.change_notes import Changing
from llgrad.ir.build import const_float, const_int, zero
from llgrad.ir.types import VOID, FloatType, IntType, PointerType, StructType, Type, VectorType, scalar
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    Binary,
    Block,
    Call,
    Cast,
    ConstAggregate,
    Constant,
    ConstInt,
    Function,
    GlobalVariable,
    Instruction,
    Load,
    Other,
    Phi,
    Return,
    Store,
    Undef,
)
from llgrad.models.effects import TAPE
from llgrad.rules.expression import Const, Expr, evaluate
from llgrad.rules.rule import Out, Rule

_MOVES_BITS = {"trunc", "zext", "bitcast", "ptrtoint", "inttoptr", "fpext", "fptrunc", "addrspacecast"}


ForwardCallee = Callable[[tuple[Function, ...], bool, bool], tuple[Request, Function]]


class ForwardSweep(Changing):
    """Writes one forward-mode derivative; `callee(request)` gives those of the functions it calls."""

    def write(self, callee: ForwardCallee) -> None:
        self.callee = callee
        self.numbers: list[tuple[Instruction, FloatType, AnyValue]] = []
        self.held: dict[AnyValue, list[AnyValue]] = {}  # what a derivative that is differentiated holds: its tangents
        self.bind_arguments(self.request.arguments, 0)
        self.begin_notes()
        self.copy_blocks()
        self.stack.branch(self.blocks[self.source.entry])

    # the derivative of a value: shadow pointer or tangent

    def shadow(self, v: AnyValue) -> AnyValue:
        if v in self.shadows:
            return self.shadows[v]
        if isinstance(v, Undef):
            return v
        if isinstance(v, (Constant, GlobalVariable, Function)) and isinstance(v.type, PointerType):
            return super().shadow(v)
        if self.facts.runtime_activity and self.facts.is_inactive_pointer(v):
            return self.value(v)
        if isinstance(v.type, PointerType) and not self.facts.shadowed(v):
            return zero(v.type)  # a pointer to inactive memory: nothing reads through its shadow
        if not (self.facts.active(v) or self.facts.shadowed(v)):
            return zero(v.type)
        return super().shadow(v)

    def instruction(self, i: Instruction) -> None:
        if self.facts.activity.ends(i.block) and not (isinstance(i, Call) and tape_call(i)):
            self.copy(i)
            return
        if self.request.sets:
            refuse_parts(self.facts, i)
        for _ in self.each_lane() if self.facts.activity.tests_number(i) else ():
            self.note_number(i)
        self._instruction(i)

    def _instruction(self, i: Instruction) -> None:
        if isinstance(i, Return):
            self.copy_return(i)
            return
        shape = effect(self.facts, i) if isinstance(i, (Store, Call, Other)) else None
        match shape:
            case CallBody(callees):
                assert isinstance(i, Call)
                self.call_body(i, callees)
                return
        if shape is None and self.facts.active(i) and not isinstance(i, Phi):
            shape = effect(self.facts, i)
        if isinstance(i, Call) and (name := tape_call(i)) in ("reserve", "defer", "hold", "arm"):
            self.tape_call(i, name)
            return
        self.copy(i)
        values = _RuleValues(self, i, shape) if isinstance(shape, Partials) else None
        for _ in self.each_lane():
            match shape:
                case Partials():
                    assert values is not None
                    self.partials(i, values)
                case Memory(name) if not isinstance(i, Load):
                    self.memory(i, name)
                case Free():
                    self.free(i)
                case _ if isinstance(i, Store):
                    if self.facts.shadowed(i.pointer):
                        self.store(i)
                case _ if self.facts.active(i) or self.facts.shadowed(i):
                    self.derivative(i)
                    non_finite.note(self.shadows[i], i)
                    self.note(i)

    def tape_call(self, i: Call, name: str) -> None:
        """The tape of a derivative that is differentiated: what blocks hold has tangents, in the same block."""
        arena, *rest = (self.value(v) for v in i.arguments)
        if name == "reserve":
            self.reserve(i, rest[0], arena)
            return
        self.copy(i)
        if name == "arm":
            self.arm(i, arena)
            return
        same = tape.defer(self.module) if name == "defer" else tape.hold(self.module)
        for _ in self.each_lane() if self.facts.shadowed(i.arguments[1]) else ():
            made = self.b.call(same, [arena, self.shadow(i.arguments[1]), rest[1]])
            if name == "hold":
                self.held.setdefault(i, []).append(made)

    def arm(self, i: Call, arena: AnyValue) -> None:
        """The tangents of what is released are released with it."""
        held = self.held.get(i.arguments[1], [])
        for lane in self.each_lane() if held else ():
            shadow, free = self.shadow(i.arguments[2]), self.value(i.arguments[3])
            self.b.call(tape.arm(self.module), [arena, held[lane], shadow, free])

    def derivative(self, i: Instruction) -> None:
        """Write the tangent or shadow of `i`, whose copy is written."""
        name = f"{i.name}.tan" if scalar(i.type).__class__ is FloatType else f"{i.name}.shadow"
        match i:
            case Phi():
                self.shadows[i] = self.b.phi(i.type, name=name)
            case Load():
                made = self.b.insert(Load(i.type, self.shadow(i.pointer), i.align), name)
                self.shadows[i] = self.unless_constant(i.pointer, made, lambda: self.from_constant(i, made))
            case Cast(opcode="sitofp" | "uitofp" | "fptosi" | "fptoui"):
                self.shadows[i] = zero(i.type)
            case Cast(opcode="fpext" | "fptrunc", value=v) if self.request.sets:
                self.shadows[i] = converted(self.b, self.shadow(v), i.type, name)
            case Cast(opcode=op) if op in _MOVES_BITS:
                self.shadows[i] = self.same_on_shadows(i, name)
            case Call() if (found := moves(i, self.facts.layout)) is not None and isinstance(i.callee, Function):
                moved = {w.source for w in found.windows}
                arguments = [self.shadow(v) if v in moved else self.value(v) for v in i.arguments]
                self.shadows[i] = self.b.call(i.callee, arguments, name)
            case Binary() if (found := integer_moves(i)) is not None and not self.facts.shadowed(i):
                self.shadows[i] = self.moved(i, found, name)
            case _:
                self.make_shadow(i)

    def carries_pointer(self, v: AnyValue, user: Instruction) -> bool:
        """In forward mode every operand but conditions, indices and offsets is replaced by its derivative."""
        match user.opcode:
            case "select":
                return v is not user.operands[0]
            case "extractelement" | "insertelement":
                return v is not user.operands[-1]
            case "getelementptr" | "shl" | "lshr" | "call":  # (a call is the address of a column)
                return v is user.operands[0]
            case "add" | "sub" | "and" | "or":
                return super().carries_pointer(v, user)
        return True

    def moved(self, i: Binary, found: Moves, name: str) -> AnyValue:
        """The tangent bits of what moves bits: moved alike, and zero where the primal's are changed."""
        lhs = self.shadow(i.lhs)
        match i.opcode:
            case "shl" | "lshr" | "ashr":
                return self.b.binary("shl" if i.opcode == "shl" else "lshr", lhs, i.rhs, name)
            case "or" if not isinstance(i.rhs, Constant):
                return self.b.binary("or", lhs, self.shadow(i.rhs), name)
        kept = sum(0xFF << 8 * n for w in found.windows if w.source is i.lhs for n in range(w.to, w.to + w.size))
        return self.b.binary("and", lhs, _splat(i.type, kept), name)

    def from_constant(self, i: Load, shadow: AnyValue) -> AnyValue:
        """The derivative of what was loaded from constant memory: no tangent; a pointer is its own shadow."""
        if isinstance(i.type, PointerType) or (isinstance(i.type, IntType) and not self.facts.active(i)):
            return shadow
        self.facts.float_parts(i)  # raises KindError where it is not known what an integer holds
        if holds_type(i.type, PointerType):
            raise self.facts.refuse(i, "under runtime activity, a load of an aggregate that holds pointers")
        return zero(i.type)

    def note_number(self, i: Instruction) -> None:
        """What is taken for a number must have no tangent, if it is chosen."""
        for v, at, t in self.facts.marked.tested(i):
            if not isinstance(i, Load):
                self.numbers.append((i, t, self.shadow(v)))
                continue
            place = self.unless_constant(v, self.shadow(v), functools.partial(self._nowhere, t))
            self.numbers.append((i, t, self.b.load(IntType(t.bits), self.b.offset(place, at))))

    def before_terminator(self, block: Block) -> None:
        for i, t, tangent in self.numbers:
            tested = self.b.select(float_checks.if_chosen(self.b, i, self.value), tangent, const_int(tangent.type, 0))
            self.b.call(float_checks.test_number(self.module, t), [tested])
        self.numbers.clear()

    def store(self, i: Store) -> None:
        if (place := self.facts.marked.part_overwritten(i)) is not None:
            at, t = place
            address = self.b.offset(self.where(i.pointer, t), at)
            self.b.store(float_checks.torn_tangent(self.b, t, self.b.load(IntType(t.bits), address)), address)
            return
        self.b.insert(Store(self.shadow(i.value), self.where(i.pointer, i.value.type), i.align))
        self.note_store(i)

    def memory(self, i: Instruction, name: str) -> None:
        if name == "store":
            assert isinstance(i, Store)
            self.store(i)
            return
        if isinstance(i, Other):  # an atomic addition
            if self.facts.active(i.operands[1]):
                place = self.where(i.operands[0], i.type)
                add_atomically(self.b, place, i.type, self.shadow(i.operands[1]), i.detail["align"], self.facts.span(i))
            return
        assert isinstance(i, Call) and isinstance(i.callee, Function)
        target, source, length = i.arguments[:3]
        nothing = zero(length.type)
        arguments = [self.value(v) for v in i.arguments]
        arguments[0] = self.shadow(target)
        arguments[2] = self.unless_constant(target, arguments[2], lambda: nothing)
        if name == "memset":
            if not isinstance(arguments[1], ConstInt) or arguments[1].value:
                arguments[1] = const_int(arguments[1].type, 0)
        elif not self.facts.shadowed(source) and not self.facts.runtime_activity:
            self.clear(arguments[0], arguments[2])
            return
        else:
            arguments[1] = self.shadow(source)
        made = self.b.call(i.callee, arguments)
        if i.type != VOID and self.facts.shadowed(i):
            self.shadows[i] = made
        if name != "memset" and self.facts.may_be_constant(source):
            clear = helpers.float_clear(self.module, self.facts.copied(i))
            if clear is not None:
                constant = self.b.icmp("eq", self.value(source), self.shadow(source))
                self.b.call(clear, [arguments[0], self.to64(self.b.select(constant, arguments[2], nothing))])

    def free(self, i: Instruction) -> None:
        assert isinstance(i, Call)
        known = self.facts.effects(i)
        assert known is not None and known.deallocator is not None and isinstance(i.callee, Function)
        pointer = i.arguments[known.deallocator.pointer]
        if self.facts.shadowed(pointer) and known.deallocator.family != TAPE:
            arguments = [self.value(v) for v in i.arguments]
            arguments[known.deallocator.pointer] = self.unless_constant(
                pointer, self.shadow(pointer), lambda: zero(pointer.type)
            )
            self.b.call(i.callee, arguments)

    # rules

    def partials(self, i: Instruction, values: _RuleValues) -> None:
        rule, parts = values.shape.rule, values.parts
        tangents: list[AnyValue] = []
        choices: dict[int, AnyValue] = {}
        for out, row in zip(rule.results, rule.partials, strict=True):
            if out.kind != "float":
                continue
            t = self.facts.rule_result_type(i, out)
            algebra = EmitAlgebra(self.b, self.module, t)
            total: AnyValue | None = None
            for k, partial in enumerate(row):
                v, lane = parts[k]
                if partial is None or not self.facts.active(v):
                    continue
                if self.request.sets:
                    one = self.part(self.shadow(v), lane)
                    total = one if total is None else union(self.b, total, one, f"{i.name}.tan")
                    continue
                factor = evaluate(partial, values.operands, values.results, algebra, values.memo)
                tangent = self.part(self.shadow(v), lane)
                if is_choice(partial):
                    choices[k] = factor
                    term = of_choice(self.b, partial, factor, tangent)
                else:
                    ways = rule, partial, (v, lane)
                    term = tangent if factor == const_float(t, 1) else self.times(factor, tangent, *ways)
                total = term if total is None else self.b.binary("fadd", total, term, f"{i.name}.tan")
            tangents.append(total if total is not None else zero(t))
            if isinstance(out.place, int) and self.facts.shadowed(i.operands[out.place]):
                self.b.store(tangents[-1], self.where(i.operands[out.place], t))
        floats = [out for out in rule.results if out.kind == "float"]
        returned = [t for t, out in zip(tangents, floats, strict=True) if out.place == "return"]
        if self.facts.active(i):
            self.shadows[i] = self.assemble(i.type, returned)
            non_finite.note(self.shadows[i], i)
            self.note_rule(i, rule, choices)

    def times(
        self, factor: AnyValue, tangent: AnyValue, rule: Rule, partial: Expr, of: tuple[AnyValue, int | None]
    ) -> AnyValue:
        """Both multiplied; zero where the tangent is for a reason that counts (see `given_zeros`,
        `zeroed_tangents`)."""
        product, (v, lane) = self.b.binary("fmul", factor, tangent), of
        if self.request.strong_zero:
            return strong_product(self.b, factor, tangent, product)
        if rule.name in FINITE or isinstance(partial, Const):
            return product
        if made(self.facts).gives(v):
            return strong_zero(self.b, tangent, product)
        if v in self.notes:
            return strong_zero(self.b, tangent, product, self.part(self.changes_of(v), lane))
        return product

    def part(self, v: AnyValue, lane: int | None) -> AnyValue:
        return v if lane is None else self.b.extract_element(v, lane)

    def result(self, i: Instruction, out: Out) -> AnyValue:
        """The primal value of one result of a rule, as the call left it."""
        if isinstance(out.place, int):
            return self.b.load(self.facts.rule_result_type(i, out), self.value(i.operands[out.place]))
        whole = self.values[i]
        if out.field is None:
            return whole
        if isinstance(i.type, StructType):
            return self.b.extract(whole, out.field)
        return self.b.extract_element(whole, out.field)

    def assemble(self, type: Type, parts: list[AnyValue]) -> AnyValue:
        """One value of `type` from the tangents of a rule's returned floats."""
        if len(parts) == 1 and parts[0].type == type:
            return parts[0]
        whole: AnyValue = zero(type)
        for n, part in enumerate(parts):
            struct = isinstance(type, StructType)
            whole = self.b.insert_value(whole, part, n) if struct else self.b.insert_element(whole, part, n)
        return whole

    def complete_phi(self, phi: Phi) -> None:
        super().complete_phi(phi)
        for _ in self.each_lane():
            self.complete_note(phi)

    # calls and return

    def call_body(self, i: Call, functions: tuple[Function, ...]) -> None:
        wanted = self.facts.active(i) or self.facts.shadowed(i)
        indirect = i.called_function is None
        request, derivative = self.callee(functions, indirect, wanted)
        arguments: list[AnyValue] = [self.value(i.callee)] if indirect else []
        for v, act in zip(i.arguments, request.arguments, strict=True):
            arguments.append(self.value(v))
            if act is not Act.CONST:
                pick = self.value if self.facts.shadow_is_primal(i, v) else self.shadow
                arguments += [pick(v) for _ in self.each_lane()]
        for a in noted_arguments(functions[0], request) if request.notes else ():
            arguments += [self.changes_of(i.arguments[a.index]) for _ in self.each_lane()]
        found = self.call_derivative(i, derivative, arguments, i.name)
        if i.type != VOID:
            self.values[i] = self.b.extract(found, 0, name=i.name) if request.result is not Act.CONST else found
            if request.result is not Act.CONST:
                for lane in self.each_lane():
                    self.shadows[i] = self.b.extract(found, 1 + lane, name=f"{i.name}.tan")
                    if i in self.notes.told:
                        self.changes[lane][i] = self.b.extract(found, 1 + self.width + lane, name=f"{i.name}.changes")
                    self.note(i)

    def copy_return(self, i: Return) -> None:
        """Return what the request names: {primal, tangent}, either alone, or nothing."""
        v = i.value
        if v is None:
            self.b.ret()
            return
        parts = [self.value(v)] if self.request.primal_result else []
        parts += [self.shadow(v) for _ in self.each_lane()] if self.request.result is not Act.CONST else []
        if self.request.notes and self.request.result is not Act.CONST and isinstance(v.type, FloatType):
            parts += [self.changes_of(v) for _ in self.each_lane()]
        if len(parts) < 2:
            self.b.ret(parts[0] if parts else None)
            return
        whole: AnyValue = Undef(self.target.function_type.result, True)
        for n, part in enumerate(parts):
            whole = self.b.insert_value(whole, part, n)
        self.b.ret(whole)


class _RuleValues:
    """What is primal in the derivative of a rule, written once for all lanes, when it is first asked for."""

    def __init__(self, sweep: ForwardSweep, i: Instruction, shape: Partials) -> None:
        self.shape, self.parts = shape, operand_parts(i, shape.rule, shape.entry)
        results = shape.rule.results
        self.operands = Lazy(len(self.parts), lambda n: sweep.part(sweep.value(self.parts[n][0]), self.parts[n][1]))
        self.results = Lazy(len(results), lambda r: sweep.result(i, results[r]))
        self.memo: dict[Expr, AnyValue] = {}


def _splat(t: Type, lanes: int) -> AnyConstant:
    """An integer, or a vector of integers, of the given bits."""
    if not isinstance(t, VectorType):
        return const_int(t, lanes)
    assert isinstance(t.element, IntType)
    bits = t.element.bits
    return ConstAggregate(t, tuple(const_int(t.element, lanes >> n * bits & (1 << bits) - 1) for n in range(t.count)))


class Lazy(list[AnyValue]):
    """Values of a rule's operands, made when an expression asks for them."""

    def __init__(self, count: int, make: Callable[[int], AnyValue]) -> None:
        super().__init__()
        self._count, self._make, self._made = count, make, dict[int, AnyValue]()

    def __getitem__(self, n: int) -> AnyValue:  # type: ignore[override]
        if n not in self._made:
            self._made[n] = self._make(n)
        return self._made[n]

    def __len__(self) -> int:
        return self._count
