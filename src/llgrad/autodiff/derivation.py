"""From a `Request` to a function: analyses, plans and writers put together, one derivative after another.

A `Derivation` serves one root request. What the root calls is derived by requests of its own, whose activities come
from the program-wide analysis; recursion finds the function that is already declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product

from llgrad.analysis.activity.graph import is_opaque
from llgrad.analysis.call_shapes import disown
from llgrad.analysis.memory.call_effects import met_functions, tape_call, virtual_functions
from llgrad.analysis.memory.static_buffers import Kept
from llgrad.autodiff.custom_rules.custom_rules import CustomRule
from llgrad.autodiff.custom_rules.library_routines import RoutineRule
from llgrad.autodiff.emit import tape, wide_results
from llgrad.autodiff.emit.alias_scopes import shadow_may_be_primal, stack_on_tape
from llgrad.autodiff.facts.analysis_results import Analysed, Facts
from llgrad.autodiff.facts.given_zeros import is_told
from llgrad.autodiff.facts.reverse_uses import on_tape
from llgrad.autodiff.legality.bound_code import refuse_bound
from llgrad.autodiff.legality.legality import refuse_undecidable
from llgrad.autodiff.legality.unseeded_results import refuse_unseeded
from llgrad.autodiff.legality.zero_skips import warn_of_skips
from llgrad.autodiff.plan.plan import Plan
from llgrad.autodiff.plan.planner import make_plan
from llgrad.autodiff.recipes.speculated import define_lanes
from llgrad.autodiff.requests import registrations
from llgrad.autodiff.requests.request import Act, Mode, Request, noted_arguments
from llgrad.autodiff.shadows.entry_alias_checks import refuse_behind, test_held
from llgrad.autodiff.shadows.globals import clear, is_thread_local, shadow_name
from llgrad.autodiff.shadows.static_buffers import make_shadows, release, release_when_thrown
from llgrad.autodiff.shadows.static_targets import lead, led
from llgrad.autodiff.sweeps.augmented_sweep import RecordingSweep
from llgrad.autodiff.sweeps.checkpointed_loops import Checkpointed, is_ruled, role, runner
from llgrad.autodiff.sweeps.forward_mode import ForwardSweep
from llgrad.autodiff.sweeps.primal_copy import takes_shadow
from llgrad.autodiff.sweeps.reverse_sweep import ReverseSweep
from llgrad.errors import UnknownNameError, UnsupportedError
from llgrad.ir.build import Builder, Names, const_int, declare
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I32, PTR, VOID, ArrayType, FloatType, FunctionType, PointerType, StructType, Type
from llgrad.ir.values import Alloca, Attribute, Block, Call, Function, GlobalVariable, Instruction, Return, Undef
from llgrad.llvm.assembly import STATIC
from llgrad.models.gpu import DEVICE
from llgrad.rules.library import LIKE
from llgrad.transforms.canonical.teams import FORK, is_fork
from llgrad.transforms.symbols.address_taken import DISPATCH

_RANK = {Act.CONST: 0, Act.OUT: 1, Act.DUPNONEED: 2, Act.DUP: 3, Act.BOTH: 4}
_ACTS = {"const": Act.CONST, "dup": Act.DUP, "dupnoneed": Act.DUPNONEED, "out": Act.OUT, "active": Act.OUT}


class Derivation:
    """Derives `root` and what it calls, into `module`; `others` are the rest of its sweeps (a split derivative's).

    `analysed`: of another derivation in this module, of the same function with the same constant arguments.
    """

    def __init__(
        self, module: Module, root: Request, others: Sequence[Request] = (), analysed: Analysed | None = None
    ) -> None:
        if root.function not in module.globals:
            raise UnknownNameError(f"there is no function {root.function}")
        self.module, self.roots = module, (root, *others)
        self.registered = registrations.read(module)
        registrations.apply(module, self.registered)
        disown(module, registrations.told(self.registered))
        self.facts = Facts(
            module, module.function(root.function), root.arguments, root.result, root.mode, root.disjoint,
            root.runtime_activity, analysed, root.vector_math, any(r.primal_result for r in self.roots),
        )  # fmt: skip
        warn_of_skips(self.facts)
        refuse_undecidable(self.facts)
        refuse_behind(self.facts)
        self.leaves_memory = refuse_unseeded(self.facts, root)
        if root.runtime_activity:
            shadow_may_be_primal(module)
        if any(self._lives_on_tape(i, f) for f in self.facts.memory.functions for i in f.instructions()):
            stack_on_tape(module)
        define_lanes(self.facts.memory.functions)
        self.plans: dict[tuple[str, bool], Plan] = {}
        self.made: dict[Request, Function] = {}

    def _lives_on_tape(self, i: Instruction, f: Function) -> bool:
        """Is memory of the source, made by `i`, in the arena beside the tape?"""
        if isinstance(i, Alloca):
            return on_tape(i, f is not self.facts.root)
        return isinstance(i, Call) and tape_call(i) == "reserve"

    def derive(self, last: bool = True) -> list[Function]:
        """The functions that the root requests ask for, written into the module with all they call.

        `last`: they are not differentiated again.
        """
        made = [self.function(r) for r in self.roots]
        for r, f in zip(self.roots, made, strict=True):
            self._clear_global_shadows(f)
            if r.mode is not Mode.REVERSE:
                test_held(Builder(f.entry, _all_names(f)), self.module, self.facts, f)
            if last and self._kept and self.facts.raising and r.mode is not Mode.REVERSE:
                holds = tape.HOLD in self.module.globals and r.mode is not Mode.FORWARD
                release_when_thrown(self.module, f, self._kept, f.arguments[0] if holds else None)
        registrations.unmark(self.module)
        wide_results.widen_inner(self.module)
        return made

    def _clear_global_shadows(self, root: Function) -> None:
        """At the root's entry: what an earlier call left in the shadows of globals is no part of this derivative.

        (A reverse sweep on its own reads no shadow pointers in memory, which may have changed: all that is cleared are
        adjoints.)
        """
        names = _all_names(root)
        b = Builder(root.entry, names)
        b.at = 0
        width = range(self.roots[0].width)
        shadows = {shadow_name(g, lane) for g in self.module.variables for lane in width}
        targets = led(self.facts, self.module, width)
        for v in list(self.module.variables):
            if v.name in shadows:
                self._refuse_threads(v)
                clear(b, self.module, v)
        lead(b, self.module, targets)
        for one, lane in self._kept:
            make_shadows(b, self.module, one, lane)
        for block in root.blocks if self._kept else ():
            if isinstance(block.terminator, Return):
                end = Builder(block, names)
                end.at = len(block.instructions) - 1
                for one, lane in self._kept:
                    release(end, self.module, one, lane)

    @cached_property
    def _kept(self) -> list[tuple[Kept, int]]:
        """What static variables keep that has shadows, in each lane."""
        kept = [kept for o, kept in self.facts.kept.items() if o in self.facts.activity.shadowed_objects]
        return list(product(kept, range(self.roots[0].width)))

    def _refuse_threads(self, shadow: GlobalVariable) -> None:
        """The two sweeps of a split derivative may run on two threads."""
        if any(map(is_thread_local, shadow.prefix)) and self.roots[0].mode in (Mode.AUGMENTED, Mode.REVERSE):
            name = shadow.name.rpartition(".shadow")[0].removeprefix(STATIC)
            raise UnsupportedError(
                f"thread-local variable {name} in a split derivative",
                span=self.module.definition(name) if name in self.module.globals else None,
                cause="the reverse sweep may run on another thread, where it is another variable",
                fix="ask for the derivative in one call, or make the variable a parameter",
            )

    def plan(self, name: str, split: bool) -> Plan:
        """The reverse-mode plan of a function, made once."""
        if (name, split) not in self.plans:
            self.plans[name, split] = make_plan(self.facts, self.module.function(name), split)
        return self.plans[name, split]

    def function(self, request: Request) -> Function:
        """The function for a request: declared at once, so that recursion ends, then written."""
        if request not in self.made:
            source = self.module.function(request.function)
            target = self._declare(request, source)
            self.made[request] = target
            if request.function in self.registered.lost:
                raise UnsupportedError(
                    f"a derivative of a derivative passes through {source.name}, which has a rule of the user's",
                    span=self.module.definition(source.name),
                    cause="the inner derivative called it for its value, which the rule did not return",
                    fix="let the rule return {tape, value}, or in forward mode {value, tangent}",
                )
            if request.function in self.registered.ruled:
                if request.sets:
                    raise UnsupportedError(
                        f"no pattern of derivatives is found through {source.name}, which has a rule",
                        cause="the rule computes tangents, and a pattern is found by sets in their place",
                        fix="give the pattern: sparsity=…",
                    )
                kind = RoutineRule if request.function in self.registered.routines else CustomRule
                kind(self.facts, self.module, self.registered, request, source, target).write()
                return target
            if is_opaque(source) and not source.is_declaration:
                raise UnsupportedError(
                    f"a pointer leads to {source.name.removeprefix(LIKE).partition('.')[2]}, whose body does not count",
                    span=self.module.definition(source.name),
                    cause="it is declared to be like a function of a library, and takes or returns structs in memory",
                    fix="call it by its name",
                )
            if is_ruled(source) and request.mode in (Mode.AUGMENTED, Mode.REVERSE):
                Checkpointed(
                    self.facts, self.module, request, source, target,
                    lambda f, mode: self._split_callee(request, mode, (f,), False), lambda name: self.plan(name, True),
                ).write()  # fmt: skip
                return target
            refuse_bound(self.facts, source)
            match request.mode:
                case Mode.FORWARD:
                    forward = ForwardSweep(self.facts, self.module, source, target, request)
                    forward.write(lambda *call: self._forward_callee(request, *call))
                case Mode.COMBINED:
                    self._combined(request, source, target)
                case Mode.AUGMENTED:
                    self._augmented(request, source, target)
                case Mode.REVERSE:
                    self._reverse(request, source, target)
        return self.made[request]

    # --- signatures

    def _declare(self, request: Request, source: Function) -> Function:
        params: list[Type] = [] if request.mode is Mode.FORWARD else [PTR]
        names = [] if request.mode is Mode.FORWARD else ["arena"]
        attributes: list[tuple[Attribute, ...]] = [()] * len(names)
        for a, act in zip(source.arguments, request.arguments, strict=True):
            apart = isinstance(a.type, PointerType) and not request.runtime_activity  # else it may be its own shadow
            kept = tuple(x for x in a.attributes if x.name == "noalias") if apart else ()
            disjoint = (Attribute("noalias"),) if request.disjoint and apart else ()
            params.append(a.type)
            names.append(a.name)
            attributes.append(disjoint or kept)
            if takes_shadow(act):
                params += [a.type] * request.width
                names += [f"{a.name}.{'shadow' if isinstance(a.type, PointerType) else 'tan'}"] * request.width
                attributes += [disjoint] * request.width
        result = source.function_type.result
        if request.mode in (Mode.COMBINED, Mode.REVERSE) and request.result.seeded:
            params += [source.function_type.result] * request.width
            names += ["seed"] * request.width
        if request.mode is Mode.REVERSE:
            params.append(PTR)
            names.append("frame")
        for a in noted_arguments(source, request) if request.notes and request.mode is Mode.FORWARD else ():
            params += [I1] * request.width
            names += [f"{a.name}.changes"] * request.width
        names = [f"a{n}.{name}" if name.isdigit() or not name else name for n, name in enumerate(names)]
        names = list(map(Names().fresh, names))
        target = Function(request.name, FunctionType(self._result(request, source, result), tuple(params)), names)
        for a, kept in zip(target.arguments, attributes, strict=False):
            a.attributes = kept
        target.linkage = "internal" if request not in self.roots else "external"
        # What the program wants apart stays apart: LLVM takes twice as long for all sweeps inlined into one function.
        words = ("nounwind", "convergent", DEVICE, *(("noinline",) if request not in self.roots else ()))
        target.attributes = tuple(a for a in source.attributes if a.name in words)
        if is_fork(source):
            target.attributes += (Attribute(FORK, request.mode.name, string=True),)
        target.personality = source.personality
        self.module.add(target)
        return target

    def _result(self, request: Request, source: Function, result: Type) -> Type:
        adjoints = [
            a.type
            for a, act in zip(source.arguments, request.arguments, strict=True)
            if act is Act.OUT
            for _ in range(request.width)
        ]
        match request.mode:
            case Mode.FORWARD:
                tangents = request.width if request.result is not Act.CONST else 0
                parts = [result] * (request.primal_result + tangents) if result != VOID else []
                parts += [I1] * tangents if request.notes and isinstance(result, FloatType) else []
                return VOID if not parts else parts[0] if len(parts) == 1 else StructType(tuple(parts))
            case Mode.COMBINED:
                parts = ([result] if request.primal_result and result != VOID else []) + adjoints
            case Mode.AUGMENTED:
                shadows = request.width if request.result.shadowed else 0
                parts = [PTR, *([result] * (1 + shadows) if result != VOID else [])]
            case Mode.REVERSE:
                noted = noted_arguments(source, request) if request.notes else []
                parts = adjoints + [I1 for _ in noted for _ in range(request.width)]
        return StructType(tuple(parts)) if parts else VOID

    # --- requests of callees

    def _acts(self, f: Function, forward: bool) -> tuple[tuple[Act, ...], Act]:
        if not forward and role(f) in ("steps", "segment", "outer"):
            arguments, result = self._acts(runner(self.module, f), forward)
            return arguments[: len(f.arguments)], result

        def fold(act: Act, pointer: bool) -> Act:
            return Act.DUP if act is not Act.CONST and (forward or pointer) else act

        arguments = tuple(
            fold(_ACTS[str(self.facts.activity.argument_activity(f, a.index))], isinstance(a.type, PointerType))
            for a in f.arguments
        )
        for a, act in zip(f.arguments, arguments, strict=True):
            whole = isinstance(a.type, StructType | ArrayType) and self.facts.kinds.may_hold_float(a)
            if act is Act.DUP and not forward and whole and self.facts.activity.active(a):
                raise UnsupportedError(
                    f"{f.name} is passed active floats and pointers in one struct", span=self.module.definition(f.name),
                    cause="it calls itself, or is called through a pointer: others are inlined",
                    fix="pass the members one by one",
                )  # fmt: skip
        result = _ACTS[str(self.facts.activity.result_activity(f))]
        if result is Act.DUP and not forward and self.facts.activity.result_is_both(f):
            return arguments, Act.BOTH
        return arguments, fold(result, isinstance(f.function_type.result, PointerType))

    def _joined(self, fs: tuple[Function, ...], forward: bool) -> tuple[tuple[Act, ...], Act]:
        """Activities that serve each of the functions that one call may reach."""
        acts = [self._acts(f, forward) for f in fs]
        arguments = tuple(max(column, key=_RANK.__getitem__) for column in zip(*(a for a, _ in acts), strict=True))
        results = {r for _, r in acts}
        both = not forward and {Act.OUT, Act.DUP} <= results
        return arguments, Act.BOTH if both else max(results, key=_RANK.__getitem__)

    def _forward_callee(
        self, caller: Request, fs: tuple[Function, ...], indirect: bool, wanted: bool
    ) -> tuple[Request, Function]:
        arguments, result = self._joined(fs, True)
        result = Act.DUP if wanted else result
        returns = fs[0].function_type.result != VOID
        notes = not caller.sets and all(is_told(self.facts, f) for f in fs)
        requests = [self._request(caller, f, Mode.FORWARD, arguments, result, returns, notes=notes) for f in fs]
        return requests[0], self._one_of(requests, indirect)

    def _split_callee(
        self, caller: Request, mode: Mode, fs: tuple[Function, ...], indirect: bool, made: bool = False
    ) -> tuple[Request, Function]:
        arguments, result = self._joined(fs, False)
        notes = mode is Mode.REVERSE and all(is_told(self.facts, f) for f in fs)
        requests = [
            self._request(caller, f, mode, arguments, result, made=made and self._minds(f), notes=notes) for f in fs
        ]
        return requests[0], self._one_of(requests, indirect)

    def _minds(self, f: Function) -> bool:
        """Does it matter to a reverse sweep whether a zero adjoint of the result was made by arithmetic?"""
        if f.name in self.registered.ruled or is_opaque(f) or self.facts.checkpointed:
            return False
        inside, certain = self.plan(f.name, True).unused.given
        return inside != certain

    def _request(
        self, caller: Request, f: Function, mode: Mode, arguments: tuple[Act, ...], result: Act, primal: bool = False,
        made: bool = False, notes: bool = False,
    ) -> Request:
        """A request for a callee: what belongs to the whole derivative is handed on."""
        return Request(
            f.name, mode, arguments, result, primal, width=caller.width, strong_zero=caller.strong_zero,
            runtime_activity=caller.runtime_activity, repeatable=caller.repeatable,
            vector_math=caller.vector_math, strict=caller.strict, made=made, notes=notes,
            sets=caller.sets,
        )  # fmt: skip

    def _one_of(self, requests: list[Request], indirect: bool) -> Function:
        """The derivative; or for a call through a pointer, a function that chooses it by the primal's address."""
        derivatives = [self.function(r) for r in requests]
        if not indirect:
            return derivatives[0]
        name = ".".join([DISPATCH, *(f.name for f in derivatives)])
        if name not in self.module.globals:
            self._dispatcher(name, requests, derivatives)
        found = self.module.globals[name]
        assert isinstance(found, Function)
        return found

    def _dispatcher(self, name: str, requests: list[Request], derivatives: list[Function]) -> None:
        given = derivatives[0].function_type
        made = Function(name, FunctionType(given.result, (PTR, *given.params)), ["target", *_names(derivatives[0])])
        made.linkage = "internal"
        self.module.add(made)
        names = Names(a.name for a in made.arguments)
        b = Builder(Block(names.fresh("entry"), made), names)
        made._blocks.append(b.block)
        pointed = met_functions(self.module) | virtual_functions(self.module)
        for request, derivative in zip(requests, derivatives, strict=True):
            call, other = (Block(names.fresh(n), made) for n in ("call", "other"))
            made._blocks += [call, other]
            source = self.module.function(request.function)
            same = b.icmp("eq", made.arguments[0], source)
            if (variable := pointed.get(source)) is not None:  # the program's own copy
                same = b.binary("or", same, b.icmp("eq", made.arguments[0], b.load(PTR, variable, "", 8)))
            b.branch_if(same, call, other)
            b.at_end(call)
            result = b.call(derivative, made.arguments[1:])
            b.ret(None if given.result == VOID else result)
            b.at_end(other)
        fail = declare(self.module, tape.FAIL, VOID, [I32, PTR])
        b.call(fail, [const_int(I32, tape.FAIL_TARGET), made.arguments[0]])
        b.unreachable()

    # --- reverse mode

    def _record(self, request: Request, source: Function, target: Function, split: bool) -> RecordingSweep:
        return RecordingSweep(self.facts, self.module, source, target, request, self.plan(source.name, split))

    def _combined(self, request: Request, source: Function, target: Function) -> None:
        sweep = self._record(request, source, target, False)
        plan = sweep.plan
        start = sweep.new_block("reverse") if plan.last is not None else None
        sweep.after = start
        sweep.write(lambda fs, indirect: self._split_callee(request, Mode.AUGMENTED, fs, indirect))
        if start is not None:
            back = ReverseSweep(self.facts, self.module, source, target, request, plan, sweep.names)
            back.recording, back.slots = sweep, sweep.slots
            back.arguments = {a: sweep.values[a] for a in source.arguments}
            for lane in back.each_lane():
                given = sweep.shadows_of[lane]
                back.shadows.update({a: given[a] for a in source.arguments if a in given})
            seeds = target.arguments[-request.width :] if request.result.seeded else []
            back.write(
                lambda *call: self._split_callee(request, Mode.REVERSE, *call),
                sweep.stack.block, start, seeds, lambda b, r: self._finish(b, r, request, sweep),
            )  # fmt: skip
        sweep.close()

    def _finish(self, b: Builder, r: ReverseSweep, request: Request, sweep: RecordingSweep | None) -> None:
        """The end of a reverse sweep: give the frame back, return the adjoints of the active arguments."""
        if r.plan.split and r.layout.frame_bytes and not request.repeatable:
            b.call(tape.release(self.module), [r.arena, r.target.arguments[-1]])
        if sweep is not None and sweep.late is not None:
            sweep.late.write(b)
        if sweep is not None and sweep.frame is not None:
            b.call(tape.release(self.module), [r.arena, sweep.frame])
        if not r.plan.split and {tape.DEFER, tape.HOLD, tape.WATCH} & self.module.globals.keys():
            b.call(tape.finish(self.module), [r.arena])
        type = r.target.function_type.result
        if type == VOID:
            b.ret()
            return
        parts = [sweep.returned] if sweep is not None and request.primal_result and sweep.returned is not None else []
        whole = Undef(type, True)
        out = whole
        for a, act in zip(r.source.arguments, request.arguments, strict=True):
            if act is Act.OUT:
                parts += [r.sum(a) for _ in r.each_lane()]
        for a in noted_arguments(r.source, request) if request.notes else ():
            parts += [r.note_of(a) for _ in r.each_lane()]
        for n, part in enumerate(parts):
            assert part is not None
            out = b.insert_value(out, part, n)  # type: ignore[assignment]
        b.ret(out)

    def _augmented(self, request: Request, source: Function, target: Function) -> None:
        sweep = self._record(request, source, target, True)
        sweep.write(lambda fs, indirect: self._split_callee(request, Mode.AUGMENTED, fs, indirect))
        sweep.close()

    def _reverse(self, request: Request, source: Function, target: Function) -> None:
        plan = self.plan(source.name, True)
        names = Names(a.name for a in target.arguments)
        cells, start = Block(names.fresh("stack"), target), Block(names.fresh("reverse"), target)
        target._blocks += [cells, start]
        back = ReverseSweep(self.facts, self.module, source, target, request, plan, names)
        n = 1
        for a, act in zip(source.arguments, request.arguments, strict=True):
            back.arguments[a] = target.arguments[n]
            n += 1
            for _ in back.each_lane() if takes_shadow(act) else ():
                back.shadows[a] = target.arguments[n]
                n += 1
        seeds = target.arguments[n : n + request.width] if request.result.seeded else []
        if back.layout.frame_bytes:
            back.slots |= back.layout.in_frame(Builder(cells, names), target.arguments[-1])
        if plan.last is None:
            Builder(start, names).unreachable()
        else:
            back.write(
                lambda *call: self._split_callee(request, Mode.REVERSE, *call), cells, start, seeds,
                lambda b, r: self._finish(b, r, request, None),
            )  # fmt: skip
        Builder(cells, names).branch(start)


def _names(f: Function) -> list[str]:
    return [a.name for a in f.arguments]


def _all_names(f: Function) -> Names:
    assert f.blocks is not None
    return Names(v.name for v in (*f.arguments, *f.blocks, *f.instructions()))


def derive(module: Module, request: Request, *others: Request) -> list[Function]:
    """Write the derivative that `request` asks for into `module`, with everything it calls; return its function.

    `others` are sweeps of the same split derivative: they differ in `mode` and `repeatable` only, and share one plan.
    Raises UnsupportedError and its kin, with source spans, for what cannot be differentiated.
    """
    return Derivation(module, request, others).derive()
