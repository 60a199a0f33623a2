"""`llgrad explain`: what a gradient does, line by line of the source: what is active, kept on the tape, recomputed.

`explain` reads the plans of a derivative (`autodiff.plan.plan`), of the function and of all it calls, and gathers what
they say by source line. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from llgrad.autodiff.requests.request import Act
from llgrad.errors import Span

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from llgrad.analysis.cfg.flow import Loop
    from llgrad.api.derivatives import Derivative
    from llgrad.autodiff.facts.reverse_uses import Key
    from llgrad.autodiff.plan.plan import Plan, Slot
    from llgrad.ir.module import Module
    from llgrad.ir.values import Instruction

_ACTS = {Act.CONST: "constant", Act.OUT: "active: its adjoint is returned", Act.DUP: "active: has a shadow"}
_WAYS = {
    "primal": "value", "shadow": "shadow pointer", "count": "trip count", "choice": "which way it went",
    "block": "address of tape", "frame": "callee's tape",
}  # fmt: skip


class Line(Struct):
    """What is said of one line."""

    active: int = 0  # instructions with a derivative
    kept: dict[str, int] = field(default_factory=dict)  # what is kept, and how often
    recomputed: int = 0


class Step(Struct, frozen=True):
    """A loop that the reverse sweep goes through. `bytes` are kept in each iteration; `how`: fused, in chunks."""

    span: Span | None
    function: str
    bytes: int
    how: str


class Report(Struct):
    """`frames`: bytes that each function keeps outside of loops, one entry for each way it is differentiated.
    `sources`: the files that were compiled. `versions`: what C programs choose between
    (`llgrad.programs.noalias_versions`).
    """

    title: str
    parameters: list[tuple[str, str]]
    sources: tuple[Path, ...] = ()
    lines: dict[str, dict[int, Line]] = field(default_factory=dict)
    loops: list[Step] = field(default_factory=list)
    frames: list[tuple[str, int]] = field(default_factory=list)
    versions: str = ""

    def line(self, span: Span) -> Line:
        """What is said of the line at `span`, to be added to."""
        return self.lines.setdefault(span.file, {}).setdefault(span.line, Line())


def explain(derivative: Derivative) -> Report:
    """What the reverse-mode derivative does. Raises as making the derivative does."""
    from llgrad.programs import noalias_versions
    from llgrad.programs.derivatives import derived

    signature, library = derivative.signature, derivative.function.library
    made, _ = derived(library.promised(derivative.request), [derivative.request])
    module = made.module
    acts = zip(signature.parameters, derivative.acts, strict=True)
    report = Report(repr(derivative).strip("<>"), [(str(p.type.declare(p.name)), _ACTS[act]) for p, act in acts])
    report.sources = tuple(p.absolute() for p in library.paths)
    text = library.prepared(signature.symbol)
    report.versions = str(noalias_versions.versions(text, derivative.request_for(False), library.level))
    for plan in made.plans.values():
        _read(report, module, plan)
    return report


def _read(report: Report, module: Module, plan: Plan) -> None:
    from llgrad.autodiff.facts.reverse_uses import Nothing

    for i, e in plan.effects.items():
        if not isinstance(e, Nothing) and (span := module.span(i)):
            report.line(span).active += 1
    for slot in plan.kept.values():
        if span := _place(module, slot.key):
            kept, what = report.line(span).kept, _described(module, slot)
            kept[what] = kept.get(what, 0) + 1
    for key in plan.recomputed:
        if span := _place(module, key):
            report.line(span).recomputed += 1
    name = plan.function.name.removeprefix("llgrad.own.")
    chunked = {s.loop for n in plan.nests.values() if n.chunked for s in n.slots}
    for loop in (x for x in plan.flow.loops if x in plan.loops):
        slots = [s for s in plan.kept.values() if s.loop is loop]
        how = "in chunks: its count is not known" if loop in chunked else ""
        how = "both sweeps together" if loop in plan.fused else how
        report.loops.append(Step(_loop_place(module, loop), name, _bytes(module, slots), how))
    report.frames.append((f"{name}{', in two sweeps' if plan.split else ''}", _bytes(module, plan.frame)))


def _bytes(module: Module, slots: Iterable[Slot]) -> int:
    return sum(module.layout.alloc_size(s.type) for s in slots)


def _described(module: Module, slot: Slot) -> str:
    how = "once"
    if slot.loop is not None:
        span = _loop_place(module, slot.loop)
        how = f"in each iteration of line {span.line}" if span else "in each iteration"
    return f"{_WAYS.get(slot.key[0], slot.key[0])} ({slot.type}) {how}"


def _place(module: Module, key: Key) -> Span | None:
    """Where the source has what a key is about."""
    from llgrad.analysis.cfg.flow import Loop
    from llgrad.ir.values import Block, Instruction

    match key[1]:
        case Loop() as loop:
            return _loop_place(module, loop)
        case Instruction() as i:
            return _first(module, [i, *i.users])
        case (Instruction() as i, _):
            return _first(module, [i])
        case Block() as block:
            return _first(module, reversed(block.instructions))
    return None


def _loop_place(module: Module, loop: Loop) -> Span | None:
    """The loop's own line: LLVM notes it on the branch back, or it is the first of the loop's instructions."""
    ends = [b.terminator for b in (loop.latch, loop.header) if b is not None]
    return _first(module, [*ends, *(i for b in loop.order for i in b.instructions)])


def _first(module: Module, instructions: Iterable[Instruction]) -> Span | None:
    spans = (module.span(i) for i in instructions)
    return next((s for s in spans if s is not None and s.line), None)


# --- shown -----------------------------------------------------------------------------------------------------------


def shown(report: Report) -> Group:
    """The report for a terminal, or for a page made of it."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Table | Text] = [Text(report.title, style="bold"), Text()]
    for declared, act in report.parameters:
        parts.append(Text.assemble(f"  {declared}: ", (act, "dim" if act == "constant" else "green")))
    loops = Table(title="Loops that the reverse sweep goes through", title_justify="left", box=box.SIMPLE)
    for name in ("line", "in", "kept in each iteration", ""):
        loops.add_column(name, justify="right" if name.startswith("kept") else "left")
    for step in report.loops:
        loops.add_row(str(step.span or "?"), step.function, f"{step.bytes} B", step.how)
    parts += [Text(), loops] if report.loops else [Text("\nNo loop is gone back through.")]
    parts += [Text(f"{name} keeps {size} B outside of loops") for name, size in report.frames]
    parts.append(Text(f"For callers in C: {report.versions}"))
    parts += [_listing(file, lines, _source(file, report.sources)) for file, lines in sorted(report.lines.items())]
    return Group(*parts)


def _listing(file: str, lines: dict[int, Line], text: list[str]) -> Table:
    """The source, with what is said of its lines."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=file, title_justify="left", box=box.SIMPLE, title_style="bold")
    table.add_column("line", justify="right", style="dim")
    table.add_column("source (green: has a derivative)", no_wrap=True)
    table.add_column("kept on the tape")
    table.add_column("recomputed", justify="right")
    last = 0
    for number in sorted(n for n in _around(lines) if not text or n <= len(text)):
        if last and number > last + 1:
            table.add_row("", "…")
        line = lines.get(number, Line())
        notes = [f"{f'{n} × ' if n > 1 else ''}{what}" for what, n in sorted(line.kept.items())]
        source = Text(text[number - 1].expandtabs(4) if text else "", style="green" if line.active else "")
        table.add_row(str(number), source, "\n".join(notes), str(line.recomputed or ""))
        last = number
    return table


def _around(lines: Iterable[int]) -> Iterator[int]:
    yield from {n + k for n in lines for k in (-1, 0, 1) if n + k > 0}


def _source(file: str, sources: Iterable[Path]) -> list[str]:
    """The lines of a file, which debug info may name by the end of its path; none where it cannot be read."""
    path = next((p for p in sources if str(p).endswith(f"/{file}")), Path(file))
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


__all__ = ["Report", "explain", "shown"]
