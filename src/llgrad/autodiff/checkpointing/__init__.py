"""Checkpoints for long loops: a gradient in little memory, for some more time (docs/checkpointing.md).

Before it is differentiated, a loop that is to have checkpoints becomes calls of four functions. What a step carries to
the next is a struct of numbers (`outlining`); what it writes are pieces of memory (`regions`).

    steps    runs n steps
    run      goes to a checkpoint, on to the next, …, and runs the last steps:
             while (n > unit) { m = split(n, s); carried = segment(m, s, carried); n -= m; s -= 1; }  steps(n, carried)
    segment  is `run`; its derivative is written by `autodiff.sweeps.checkpointed_loops`: the forward sweep copies the
             pieces and runs `steps`, the reverse sweep puts them back and runs both sweeps of `run`
    outer    is `run`, called where the loop was; its derivative chooses how many checkpoints there are, and puts
             what the primal left in memory back at the end

The last step, which leaves the loop, stays where it was. Where the number of steps is not known before, the loop is
run once to count them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from llgrad.analysis.cfg.flow import Loop, flow
from llgrad.analysis.cfg.loops import Count, backedge_count
from llgrad.analysis.memory.call_effects import behaviour
from llgrad.analysis.memory.entry_polynomials import argument_name
from llgrad.analysis.memory.polynomial_bounds import Unbounded
from llgrad.autodiff.checkpointing.outlining import COUNTERS, Outline, Refused
from llgrad.autodiff.checkpointing.regions import Ends, Piece, Unknown, regions
from llgrad.autodiff.derivation import Derivation
from llgrad.autodiff.facts.reverse_uses import CallBody
from llgrad.autodiff.requests import checkpoint_schedule, registrations
from llgrad.autodiff.requests.checkpoint_schedule import How
from llgrad.autodiff.requests.request import Mode, Request
from llgrad.autodiff.sweeps.checkpointed_loops import ATTRIBUTE, FEW
from llgrad.errors import CheckpointError, Span
from llgrad.ir.build import Builder, Names, i64
from llgrad.ir.module import Module
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.types import I64, PTR, FunctionType, IntType, PointerType, StructType, Type
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Attribute,
    Block,
    Branch,
    Call,
    Cast,
    ConstInt,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    MDRef,
    Store,
    Unreachable,
    Value,
)
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import spelt
from llgrad.rules import library

NORMAL_FORM = ("unify_function_exit_nodes", "loop_simplify", "lcssa", "instruction_namer")
MOST_REGIONS = 24


def checkpointed(text: str, request: Request) -> str:
    """The prepared text with the loops that `request.checkpoint` names made ready for checkpoints.

    Raises CheckpointError where that is not possible.
    """
    if request.mode is not Mode.COMBINED:
        raise CheckpointError(
            f"checkpoints in a split derivative of {request.function}",
            cause="the program may change memory between the two sweeps, and steps are run again in the second",
            fix="ask for the derivative in one call, or without checkpoints",
        )
    chosen = _chosen(parse(text), request)
    for n, (header, how) in enumerate(chosen.items()):
        text = _Checkpointing(parse(text), request, header, how, f"llgrad_checkpoint.{n}").text()
    return text


# --- which loops -----------------------------------------------------------------------------------------------------


def _chosen(module: Module, request: Request) -> dict[str, How]:
    """The names of headers, and how. Loops by name, and the outermost that leave a tape, if any are asked for."""
    said = {place: How.of(how) for place, how in request.checkpoint}
    found: dict[str, How] = {}
    derivation = Derivation(module, replace(request, checkpoint=()))
    root = module.function(request.function)
    plan = derivation.plan(root.name, False)
    for loop in plan.flow.loops:
        lines = _lines(module, loop)
        for place, how in said.items():
            if place and any(_is_at(place, span) for span in lines):
                found[loop.header.name] = how
    for place in said:
        if place and not any(_is_at(place, span) for loop in plan.flow.loops for span in _lines(module, loop)):
            there = sorted({str(s) for loop in plan.flow.loops for s in _lines(module, loop)})
            raise CheckpointError(
                f"{root.name} has no loop at {place}", cause=f"its loops are at {', '.join(there) or 'unknown places'}",
                fix="name one of these, or all with checkpoint=\"sqrt\"; loops of functions that are called count once "
                "they are inlined",
            )  # fmt: skip
    if "" in said:
        kept = [s.loop for s in plan.kept.values() if s.loop is not None]
        for loop in plan.loops:
            if loop.parent is not None or loop in plan.fused or loop.header.name in found:
                continue
            calls = any(isinstance(plan.effects.get(i), CallBody) for b in loop.blocks for i in b.instructions)
            carries = any(derivation.facts.active(phi) for phi in loop.header.phis())
            if (any(map(loop.encloses, kept)) or calls) and (loop.children or calls or carries):
                found[loop.header.name] = said[""]
    return found


def _lines(module: Module, loop: Loop) -> list[Span]:
    """Where the source has the loop."""
    found = [module.span(x.terminator) for x in loop.latches]
    for latch in loop.latches:
        ref = latch.terminator.metadata.get("llvm.loop")
        parts = module.node(ref).operands if ref is not None and ref.id >= 0 else ()
        nodes = (module.node(x) for x in parts if isinstance(x, MDRef) and x.id >= 0 and x != ref)
        line = next((n.fields.get("line") for n in nodes if n.kind == "DILocation"), None)
        if found[0] is not None and line is not None:
            found.append(Span(found[0].file, int(str(line))))
    return [s for s in found if s is not None]


def _is_at(place: str, span: Span) -> bool:
    file, _, line = place.rpartition(":")
    return line == str(span.line) and (not file or span.file.endswith(file))


# --- one loop --------------------------------------------------------------------------------------------------------


class _Checkpointing:
    def __init__(self, module: Module, request: Request, header: str, how: How, family: str) -> None:
        self.module, self.request, self.how, self.family = module, request, how, family
        self.root = module.function(request.function)
        self.flow = flow(self.root)
        self.loop = next(x for x in self.flow.loops if x.header.name == header)
        self.lines: list[str] = []

    def text(self) -> str:
        """The module with the loop taken apart."""
        try:
            outline = Outline(self.module, self.flow, self.loop)
            steps = outline.steps(f"{self.family}.steps")
            count = backedge_count(self.flow, self.loop, self.module.layout)
            self._refuse_threads()
            read = steps if count is not None else outline.counter(f"{self.family}.counter")
            pieces, ends, sizes = self._pieces(outline, read, count is not None)
        except (Refused, Unknown) as reason:
            raise self._error(str(reason), reason.at) from None
        except Unbounded as reason:
            raise self._error(str(reason), None) from None
        self._write_functions(outline, pieces, count is None)
        self._replace(outline, pieces, count, sizes)
        there = checkpoint_schedule.SPLIT in self.module.globals
        schedule = [] if there else [checkpoint_schedule.TEXT, checkpoint_schedule.CHOOSE_TEXT]
        parse_function_text(self.module, "\n".join([*_DECLARATIONS, *schedule, ends, *self.lines]))
        work = LLVMModule.from_text(write(self.module))
        work.run(NORMAL_FORM)
        return work.text()

    # --- errors

    def _error(self, cause: str, at: Instruction | None) -> CheckpointError:
        spans = _lines(self.module, self.loop)
        place = self.module.span(at) if at is not None else None
        where = f" (at {place})" if place is not None else ""
        return CheckpointError(
            f"the loop %{self.loop.header.name} of {self.root.name} cannot have checkpoints",
            span=spans[-1] if spans else None, cause=cause + where,
            fix="name other loops (checkpoint={line: …}), or let a step write only memory whose extent is known when "
            "the loop begins, and call nothing that cannot be run again",
        )  # fmt: skip

    def _refuse_threads(self) -> None:
        for b in self.loop.blocks:
            for i in b.instructions:
                if {"volatile", "atomic"} & i.flags or i.opcode in ("fence", "cmpxchg", "atomicrmw"):
                    raise Unknown("it has volatile or atomic accesses", i)

    # --- memory

    def _pieces(
        self, outline: Outline, steps: Function, counted: bool
    ) -> tuple[list[tuple[Piece, AnyValue]], str, list[AnyValue]]:
        """What is copied, with the value in the root that it lies behind; the function that says where it ends; and
        known sizes, which that function is given, too."""
        values, _ = outline.values(steps)
        given = {a: v for v, a in values.items() if isinstance(a, Argument)}
        sized = {a: s for a, v in given.items() if (s := self._size(v)) is not None}
        heap = registrations.read(self.module)
        found = regions(self.module, steps, [*heap.ruled, *heap.splits, *heap.inactive])
        if found.found.touched.keys() - given.keys():
            raise Unknown("it writes behind pointers that are carried")
        later = list(self._later())
        if found.elsewhere is not None and (later or found.bits):
            raise Unknown("it reads through pointers in memory, which may change", found.elsewhere)
        chosen: list[tuple[Piece, AnyValue]] = []
        for base, piece in found.pieces.items():
            if piece.written or any(self._may_be_same(given[base], w) for w in later):
                chosen.append((piece, given[base]))
        if len(chosen) > MOST_REGIONS:
            raise Unknown(f"it writes {len(chosen)} pieces of memory")
        whole = {p.base: n for n, (p, _) in enumerate(chosen) if p.base in sized}
        writer = Ends(found)
        results = [writer.write(p, f"%w{whole[p.base]}" if p.base in whole else None) for p, _ in chosen]
        ends = self._ends(steps, writer, results, whole, counted)
        return chosen, ends, [sized[p.base] for p, _ in chosen if p.base in sized]

    def _size(self, v: AnyValue) -> AnyValue | None:
        """The size of the memory that begins at `v`, as a number known before the loop."""
        match v:
            case Alloca(count=ConstInt(value=n)):
                return i64(n * self.module.layout.alloc_size(v.allocated_type))
            case Call() if (f := v.called_function) is not None and f.is_declaration:
                known = library.effects(f.name)
                if known is not None and known.allocator is not None and known.allocator.place == "return":
                    sizes = [v.arguments[n] for n in known.allocator.size]
                    if len(sizes) == 1 and sizes[0].type == I64:
                        return sizes[0]
        return None

    def _later(self) -> Iterator[AnyValue | None]:
        """Where memory may be written when the loop is over: pointers; None for anywhere."""
        outs = [out for _, out in self.loop.exits]
        for b in self.flow.order:
            if b in self.loop.blocks or not any(self.flow.reachable(out, b) for out in outs):
                continue
            for i in b.instructions:
                match i:
                    case Store(pointer=p):
                        yield p
                    case Call():
                        f = i.called_function
                        known = behaviour(i, f)
                        if known.kind in ("copy", "fill"):
                            yield i.arguments[0]
                        elif known.writes == "any":
                            yield None
                        elif known.writes == "args" and known.kind not in ("free", "lifetime", "allocate"):
                            yield from (v for v in i.arguments if isinstance(v.type, PointerType))

    def _may_be_same(self, a: AnyValue, b: AnyValue | None) -> bool:
        """May the two pointers lead to the same memory?"""
        if b is None:
            return True
        x, y = _root(a), _root(b)
        return x is y or not (self._is_apart(x, y) or self._is_apart(y, x))

    def _is_apart(self, x: AnyValue, y: AnyValue) -> bool:
        """Is `x` memory that nothing but what comes from it leads to, and `y` something else that is known?"""
        known = isinstance(y, (Alloca, Argument, GlobalVariable)) or (isinstance(y, Call) and self._size(y) is not None)
        own = isinstance(x, Alloca) or (isinstance(x, Call) and self._size(x) is not None)
        if isinstance(x, Argument):
            own = x.attribute("noalias") is not None or (self.request.disjoint and isinstance(y, Argument))
        return own and known

    def _ends(
        self, steps: Function, w: Ends, results: Sequence[tuple[int | str, int | str]], whole: dict[Argument, int],
        counted: bool,
    ) -> str:  # fmt: skip
        """`{first, bytes, …} ends(the integers among the arguments of steps, known sizes)`."""
        written = [*w.w.lines, *(str(x) for ends in results for x in ends)]
        if not counted and any("%p0" in x.replace(",", " ").split() for x in written):
            raise Unknown("how much it writes depends on the number of steps, which is not known when it begins")
        names = [f"{a.type} {argument_name(a)}" for a in steps.arguments if isinstance(a.type, IntType)]
        names += [f"i64 %w{n}" for n in whole.values()]
        fields = ", ".join(["i64"] * (2 * len(results))) or "i64"
        total, made = "false", "undef"
        tests = [*w.w.lines, f"%few = icmp ult i64 %p0, {FEW if counted else 0}"]
        for n, name in enumerate(w.w.failures):
            tests.append(f"%f{n} = or i1 {total}, {name}")
            total = f"%f{n}"
        packed = []
        for n, (first, size) in enumerate(results):
            packed.append(f"%z{n} = select i1 %few, i64 0, i64 {size}")
            for at, v in enumerate((first, f"%z{n}"), 2 * n):
                packed.append(f"%e{at} = insertvalue {{ {fields} }} {made}, i64 {v}, {at}")
                made = f"%e{at}"
        body, done = "\n  ".join(tests), "\n  ".join([*packed, f"ret {{ {fields} }} {made}"])
        return f"""
define internal {{ {fields} }} {spelt(self.family + ".ends")}({", ".join(names)}) noinline nounwind {{
  {body}
  %bad = xor i1 %few, true
  %wrong = and i1 %bad, {total}
  br i1 %wrong, label %fail, label %good
fail:
  call void @llgrad_fail(i32 {checkpoint_schedule.FAIL_RANGE}, ptr null)
  unreachable
good:
  {done}
}}
"""

    # --- functions

    def _write_functions(self, outline: Outline, pieces: Sequence[object], count: bool) -> None:
        more = [PTR, I64] * len(pieces)
        types = [str(t) for t in (*outline.parameters, *more)]
        own = [f"%a{n}" for n in range(len(types))]
        carried = len(COUNTERS) + len(outline.given)
        rows = list(zip(types, own, strict=True))
        result = str(outline.result)

        def name(word: str) -> str:
            return spelt(f"{self.family}.{word}")

        def given(values: dict[int, str], end: int | None = None) -> str:
            return ", ".join(f"{t} {values.get(n, v)}" for n, (t, v) in enumerate(rows[:end]))

        def attributes(word: str) -> str:
            throws = "nounwind " if outline.attributes else ""
            return f'noinline {throws}"{ATTRIBUTE}"="{word} {self.how.kind} {self.how.value} {len(pieces)}"'

        plain = len(outline.parameters)
        steps = outline.module.function(f"{self.family}.steps")
        steps.attributes = (*steps.attributes, Attribute(ATTRIBUTE, f"steps 0 0 {len(pieces)}", string=True))
        parameters = ", ".join(f"{t} {v}" for t, v in rows)
        for word in ("segment", "outer"):
            self.lines.append(
                f"define internal {result} {name(word)}({parameters}) {attributes(word)} {{\n"
                f"  %r = call {result} {name('run')}({given({})})\n  ret {result} %r\n}}\n"
            )
        fields = outline.result.fields or ()
        now = {carried + n: f"%c{n}" for n in range(len(outline.carried))}
        phis, extracts = [], []
        for n in range(len(outline.carried)):
            t = fields[n]
            phis.append(f"%c{n} = phi {t} [ %a{carried + n}, %entry ], [ %d{n}, %split ]")
            extracts.append(f"%d{n} = extractvalue {result} %r, {n}")
        self.lines.append(
            f"define internal {result} {name('run')}({parameters}) {attributes('run')} {{\n"
            "entry:\n  br label %test\n"
            "test:\n  %rest = phi i64 [ %a0, %entry ], [ %rest.next, %split ]\n"
            "  %left = phi i64 [ %a1, %entry ], [ %left.next, %split ]\n"
            + "".join(f"  {x}\n" for x in phis)
            + "  %more = icmp ugt i64 %rest, %a2\n  br i1 %more, label %split, label %last\n"
            f"split:\n  %m = call i64 @{checkpoint_schedule.SPLIT}(i64 %rest, i64 %left, i64 %a2)\n"
            f"  %r = call {result} {name('segment')}({given({0: '%m', 1: '%left', **now})})\n"
            + "".join(f"  {x}\n" for x in extracts)
            + "  %rest.next = sub i64 %rest, %m\n  %left.next = add i64 %left, -1\n  br label %test\n"
            f"last:\n  %end = call {result} {name('steps')}({given({0: '%rest', **now}, plain)})\n"
            f"  ret {result} %end\n}}\n"
        )
        if count:
            self.lines.append(_trial(name, rows, plain, len(pieces)))

    # --- the root

    def _replace(
        self, outline: Outline, pieces: Sequence[tuple[Piece, AnyValue]], count: Count | None, sizes: Sequence[AnyValue]
    ) -> None:
        """What the loop was: the call of `outer`, and its last step."""
        taken = [*self.root.blocks, *self.root.arguments, *self.root.instructions()]
        names = Names(v.name for v in taken)
        b = Builder(outline.preheader, names)
        b.at = len(outline.preheader.instructions) - 1
        entering = outline.entering(b)
        n: AnyValue = i64(0)
        if count is not None:
            n = count.emit(b, count.operands)
        more: list[Type] = [PTR, I64] * len(pieces)
        copied: list[AnyValue] = []
        if pieces:
            result = StructType((I64,) * (2 * len(pieces)))
            given = [v for v in (n, i64(0), i64(0), *entering, *sizes) if isinstance(v.type, IntType)]
            ends = self._declared("ends", FunctionType(result, tuple(v.type for v in given)))
            found = b.call(ends, given, "ends")
            for k, (_, base) in enumerate(pieces):
                copied += [b.offset(base, b.extract(found, 2 * k)), b.extract(found, 2 * k + 1)]
        if count is None:
            trial = self._declared("trial", FunctionType(I64, (*outline.parameters, *more)))
            n = b.call(trial, [n, n, n, *entering, *copied], "steps")
        outer = self._declared("outer", FunctionType(outline.result, (*outline.parameters, *more)))
        made = b.call(outer, [n, i64(1), n, *entering, *copied], "reached")
        values = [c.decoded(b, b.extract(made, k), c.turns) for k, c in enumerate(outline.carried)]
        for c, v in zip(outline.carried, values, strict=True):
            c.phi.set_operand(c.phi.blocks.index(outline.preheader), v)
        self._cut(outline)

    def _declared(self, word: str, type: FunctionType) -> Function:
        f = Function(f"{self.family}.{word}", type)
        self.module.add(f)
        return f

    def _cut(self, outline: Outline) -> None:
        """The last step does not go back."""
        latch, header = outline.latch, self.loop.header
        end = latch.terminator
        for phi in header.phis():
            at = phi.blocks.index(latch)
            v = phi.operands.pop(at)
            if isinstance(v, Value):
                v.users.remove(phi)
            phi.blocks.pop(at).users.remove(phi)
        others = [t for t in end.targets if t is not header]
        if isinstance(end, Branch):
            end.drop()
            latch.append(Branch([others[0]]) if others else Unreachable())
            return
        never = Block(f"{header.name}.never", self.root)
        self.root._blocks.append(never)
        never.append(Unreachable())
        for n, t in enumerate(end.targets):
            if t is header:
                end.targets[n] = never
                header.users.remove(end)
                never.users.append(end)


def _trial(name: Callable[[str], str], rows: Sequence[tuple[str, str]], plain: int, pieces: int) -> str:
    """`i64 trial(…)`: how many whole steps there are; memory is as it was."""
    where = [(f"%a{plain + 2 * k}", f"%a{plain + 2 * k + 1}") for k in range(pieces)]
    lines, total, at = [], "0", []
    for k, (_, size) in enumerate(where):
        lines.append(f"%t{k} = add i64 {total}, {size}")
        at.append(total)
        total = f"%t{k}"
    lines += [f"%need = add i64 {total}, 1", "%kept = call ptr @malloc(i64 %need)", "%none = icmp eq ptr %kept, null"]
    copies, back = [], []
    for k, (p, size) in enumerate(where):
        copies.append(f"%q{k} = getelementptr i8, ptr %kept, i64 {at[k]}")
        copies.append(f"call void @llvm.memcpy.p0.p0.i64(ptr %q{k}, ptr {p}, i64 {size}, i1 false)")
        back.append(f"call void @llvm.memcpy.p0.p0.i64(ptr {p}, ptr %q{k}, i64 {size}, i1 false)")
    given = ", ".join(f"{t} {v}" for t, v in rows[:plain])
    body, parameters = "\n  ".join, ", ".join(f"{t} {v}" for t, v in rows)
    return f"""
define internal i64 {name("trial")}({parameters}) noinline "enzyme_inactive" "{ATTRIBUTE}"="trial" {{
  {body(lines)}
  br i1 %none, label %fail, label %go
fail:
  call void @llgrad_fail(i32 1, ptr null)
  unreachable
go:
  {body([*copies, f"%n = call i64 {name('counter')}({given})", *back])}
  call void @free(ptr %kept)
  ret i64 %n
}}
"""


_DECLARATIONS = (
    "declare void @llgrad_fail(i32, ptr)",
    "declare ptr @malloc(i64)", "declare void @free(ptr)",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)",
    "declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)",
    "declare i64 @llvm.smax.i64(i64, i64)", "declare i64 @llvm.smin.i64(i64, i64)",
)  # fmt: skip


def _root(v: AnyValue) -> AnyValue:
    while isinstance(v, GetElementPtr) or (isinstance(v, Cast) and isinstance(v.value.type, PointerType)):
        v = v.pointer if isinstance(v, GetElementPtr) else v.value
    return v
