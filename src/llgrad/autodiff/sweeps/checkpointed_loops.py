"""The derivative of a loop with checkpoints: see `llgrad.autodiff.checkpointing` for the functions,
`checkpoint_schedule` for when.

`segment`, augmented: the pieces of memory are copied into a block of the tape, `steps` is run without a tape.
`segment`, reverse: the pieces are put back, the block is released, and both sweeps of `run` follow one another.
`outer`, augmented: one step is taped to see how much that takes, its memory put back, the number of checkpoints chosen;
then `run`. `outer`, reverse: `run`, between copies of what the primal left in memory, which is seen outside.

All of them take the same arguments, in a derivative too: their activities are those of `run`.
"""

from __future__ import annotations

from collections.abc import Callable

from llgrad.analysis.solver import reach
from llgrad.autodiff.emit import tape
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.plan.plan import CHUNK, Plan
from llgrad.autodiff.requests import checkpoint_schedule
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.autodiff.sweeps.augmented_sweep import CHUNK_HEADER
from llgrad.errors import CheckpointError
from llgrad.ir.build import FALSE, Builder, Names, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I64, PTR, VOID, StructType
from llgrad.ir.values import AnyValue, Block, Call, Function, Undef

# "segment 1 20 3": which function; kind and value of `checkpoint_schedule.How`; how many pieces
ATTRIBUTE = "llgrad.checkpoint"
HEADER = 64  # of the block of `outer`: checkpoints, steps a unit, the frame of `run`
FEW = 4  # so few steps need no checkpoints

Sweep = Callable[[Function, Mode], tuple[Request, Function]]


def role(f: Function) -> str:
    """"steps", "run", "segment", "outer"; "" for all other functions."""
    said = f.attribute(ATTRIBUTE)
    return str(said.value).split()[0] if said is not None else ""


def is_ruled(f: Function) -> bool:
    return role(f) in ("segment", "outer")


def runner(module: Module, f: Function) -> Function:
    """The `run` of the family that `f` is of."""
    return module.function(f"{f.name.rpartition('.')[0]}.run")


class Checkpointed:
    """Writes `target`, a sweep of `source`."""

    def __init__(
        self, facts: Facts, module: Module, request: Request, source: Function, target: Function, sweep: Sweep,
        plan: Callable[[str], Plan],
    ) -> None:  # fmt: skip
        self.facts, self.module, self.request, self.source, self.target = facts, module, request, source, target
        self.sweep, self.plan = sweep, plan
        said = source.attribute(ATTRIBUTE)
        assert said is not None
        _, *numbers = str(said.value).split()
        self.kind, self.value, self.pieces = map(int, numbers)
        self.run = runner(module, source)
        self.steps = module.function(f"{source.name.rpartition('.')[0]}.steps")
        names = Names(a.name for a in target.arguments)
        block = Block(names.fresh("entry"), target)
        target._blocks.append(block)
        self.b = Builder(block, names)
        self.arena = target.arguments[0]
        self.rows: list[list[AnyValue]] = []  # arguments of the source, each with its shadows
        n = 1
        for act in request.arguments:
            count = 1 + (request.width if act in (Act.DUP, Act.DUPNONEED) else 0)
            self.rows.append(list(target.arguments[n : n + count]))
            n += count
        self.rest = list(target.arguments[n:])  # seeds, and the frame

    def write(self) -> None:
        if self.request.repeatable:
            raise CheckpointError(
                f"a reverse sweep that is run several times over the checkpoints of {self.facts.root.name}",
                cause="each run would use them up", fix="ask for the derivative in one call, or without checkpoints",
            )  # fmt: skip
        if self.facts.frees_at_once:
            raise CheckpointError(
                f"{self.facts.root.name} moves memory (realloc), or frees it where nothing has a derivative",
                cause="steps of a loop with checkpoints may read there when they are run again",
                fix="allocate once, or differentiate without checkpoints",
            )
        segment, augmented = role(self.source) == "segment", self.request.mode is Mode.AUGMENTED
        if segment:
            self.segment_augmented() if augmented else self.segment_reverse()
        else:
            self.outer_augmented() if augmented else self.outer_reverse()

    # --- segments

    def segment_augmented(self) -> None:
        block = self.reserve(self.total())
        self.copy(block, out=True)
        primal = self.b.call(self.steps, [row[0] for row in self.rows[: len(self.steps.arguments)]], "reached")
        self.give(block, primal)

    def segment_reverse(self) -> None:
        frame = self.rest[-1]
        self.copy(frame, out=False)
        self.b.call(tape.release(self.module), [self.arena, frame])
        _, augmented = self.sweep(self.run, Mode.AUGMENTED)
        _, reverse = self.sweep(self.run, Mode.REVERSE)
        made = self.b.call(augmented, [self.arena, *self.flat()], "taped")
        inner = self.b.extract(made, 0, name="frame")
        self.finish(self.b.call(reverse, [self.arena, *self.flat(), *self.rest[:-1], inner]))

    # --- the whole loop

    def outer_augmented(self) -> None:
        total = self.total()
        block = self.reserve(self.b.binary("add", total, i64(HEADER)))
        n = self.rows[0][0]
        few = self.b.icmp("ult", n, i64(FEW), "few")
        if self.allocates():  # what a step allocates is freed by its reverse
            taped: AnyValue = i64(checkpoint_schedule.UNKNOWN)
        else:
            taped = self.probe(block, self.b.select(few, i64(0), i64(1)))
        size = StructType((I64, I64))
        choose = declare(self.module, checkpoint_schedule.CHOOSE, size, [I64] * 6)
        given = [n, total, taped, i64(self.chunk()), i64(self.kind), i64(self.value)]
        chosen = self.b.call(choose, given, "chosen")
        checkpoints = self.b.extract(chosen, 0, name="checkpoints")
        unit = self.b.select(few, i64(FEW), self.b.extract(chosen, 1), "unit")
        _, augmented = self.sweep(self.run, Mode.AUGMENTED)
        made = self.b.call(augmented, [self.arena, *self.flat({1: checkpoints, 2: unit})], "taped")
        for at, v in enumerate((checkpoints, unit, self.b.extract(made, 0))):
            self.b.store(v, self.word(block, at), 8)
        self.give(block, self.b.extract(made, 1))

    def outer_reverse(self) -> None:
        block = self.rest[-1]
        checkpoints, unit = (self.b.load(I64, self.word(block, n), "", 8) for n in (0, 1))
        inner = self.b.load(PTR, self.word(block, 2), "frame", 8)
        self.copy(block, out=True, at=HEADER)
        _, reverse = self.sweep(self.run, Mode.REVERSE)
        made = self.b.call(reverse, [self.arena, *self.flat({1: checkpoints, 2: unit}), *self.rest[:-1], inner])
        self.copy(block, out=False, at=HEADER)
        self.b.call(tape.release(self.module), [self.arena, block])
        self.finish(made)

    def probe(self, block: AnyValue, steps: AnyValue) -> AnyValue:
        """How many bytes of tape one step takes: it is run, dropped, and undone."""
        self.copy(block, out=True, at=HEADER)
        used = declare(self.module, tape.USED, I64, [PTR])
        mark = self.reserve(i64(0))
        before = self.b.call(used, [self.arena])
        request, augmented = self.sweep(self.steps, Mode.AUGMENTED)
        self.b.call(augmented, [self.arena, *self.flat({0: steps}, len(request.arguments))])
        after = self.b.call(used, [self.arena])
        self.b.call(tape.release(self.module), [self.arena, mark])
        self.copy(block, out=False, at=HEADER)
        return self.b.binary("sub", after, before, "taped")

    def allocates(self) -> bool:
        """Does a step allocate memory? Then it is not tried: how much tape it takes is not known."""
        calls = (i for f in reach([self.steps], self.called) for i in f.instructions() if isinstance(i, Call))
        known = [e.allocator for i in calls if (e := self.facts.effects(i)) is not None]
        if not any(known):
            return False
        if self.kind == checkpoint_schedule.BUDGET:
            raise CheckpointError(
                f"a step of a loop of {self.facts.root.name} allocates memory, and a budget is given",
                cause="how much tape such a step takes is not known before", fix='say "sqrt" or "revolve"',
            )  # fmt: skip
        return True

    def called(self, f: Function) -> list[Function]:
        calls = [i for i in f.instructions() if isinstance(i, Call)]
        return [g for i in calls for g in self.facts.callees(i)[0] if not g.is_declaration]

    def chunk(self) -> int:
        """What one `run` puts on the tape beside checkpoints and steps."""
        plan = self.plan(self.run.name)
        each = sum(-(-self.facts.layout.alloc_size(s.type) * self.request.width * CHUNK // 64) * 64
                   for nest in plan.nests.values() for s in nest.slots)  # fmt: skip
        frame = sum(self.facts.layout.alloc_size(s.type) * self.request.width + 16 for s in plan.frame)
        return CHUNK_HEADER + each + frame + 128

    # --- words

    def flat(self, instead: dict[int, AnyValue] | None = None, end: int | None = None) -> list[AnyValue]:
        """The arguments with their shadows, some replaced."""
        rows = [[(instead or {}).get(n, row[0]), *row[1:]] for n, row in enumerate(self.rows[:end])]
        return [v for row in rows for v in row]

    def places(self) -> list[tuple[AnyValue, AnyValue]]:
        """Address and size of each piece."""
        first = len(self.rows) - 2 * self.pieces
        return [(self.rows[first + 2 * k][0], self.rows[first + 2 * k + 1][0]) for k in range(self.pieces)]

    def total(self) -> AnyValue:
        found: AnyValue = i64(0)
        for _, size in self.places():
            found = self.b.binary("add", found, self.padded(size))
        return found

    def padded(self, size: AnyValue) -> AnyValue:
        return self.b.binary("and", self.b.binary("add", size, i64(63)), i64(-64))

    def word(self, block: AnyValue, n: int) -> AnyValue:
        """A word in the header of the block of `outer`: two numbers and a pointer, each a column of its own."""
        return tape.column(self.b, self.module, block, i64(8 * n), n + (tape.INTEGERS * 8 if n < 2 else 0))

    def copy(self, block: AnyValue, out: bool, at: int = 0) -> None:
        """Copy the pieces to the block, or back; each is a column."""
        memcpy = declare(self.module, "llvm.memcpy.p0.p0.i64", VOID, [PTR, PTR, I64, I1])
        offset: AnyValue = i64(at)
        for n, (place, size) in enumerate(self.places(), 3):
            kept = tape.column(self.b, self.module, block, offset, n)
            self.b.call(memcpy, [*((kept, place) if out else (place, kept)), size, FALSE])
            offset = self.b.binary("add", self.padded(size), offset)

    def reserve(self, size: AnyValue) -> AnyValue:
        return self.b.call(tape.reserve(self.module), [self.arena, size], "block")

    def give(self, frame: AnyValue, primal: AnyValue) -> None:
        type = self.target.function_type.result
        whole = self.b.insert_value(self.b.insert_value(Undef(type, True), frame, 0), primal, 1)
        self.b.ret(whole)

    def finish(self, made: AnyValue) -> None:
        self.b.ret(None if self.target.function_type.result == VOID else made)


