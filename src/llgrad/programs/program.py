"""Whole programs that ask for derivatives: calls of `__enzyme_autodiff` and its kin, found and replaced.

    program     SROA, so that markers and functions are seen as arguments
    requests    read before the first optimisation (decision 4 of the design), then `stages.prepare`, `derivative`
    link        program, wrappers, derivatives, the arena's runtime; O0 to O3
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from msgspec import Struct

from llgrad.analysis.memory.call_effects import OWN
from llgrad.autodiff.emit.arena_runtime import tape_runtime
from llgrad.autodiff.enzyme.nesting import innermost
from llgrad.autodiff.enzyme.statements import says_something
from llgrad.autodiff.legality.leftover_calls import complete, spelt_right
from llgrad.autodiff.requests.markers import PREFIX, SPLIT
from llgrad.autodiff.shadows.globals import is_thread_local
from llgrad.errors import of_file
from llgrad.ir.internal_errors import told
from llgrad.ir.parse import parse
from llgrad.ir.values import Call, Function
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule, unblock, verified
from llgrad.llvm.assembly import (
    joined,
    spelt,
    types_named,
)
from llgrad.llvm.module import BITCODE_MAGIC
from llgrad.llvm.quirks import markers_as_globals
from llgrad.pipeline import FINISHED, LINKED, MARKED, PROGRAM
from llgrad.programs.derivatives import Derived
from llgrad.programs.excerpt import excerpt, remainder
from llgrad.programs.excerpt import read as read_excerpt
from llgrad.programs.failure_hook import fail_text
from llgrad.programs.resolving import Options, Resolving, by_text, read_part
from llgrad.support.gc_pause import collecting_rarely
from llgrad.transforms.canonical.pure_libm import pure_libm
from llgrad.transforms.contexts import Linking, Source, Target
from llgrad.transforms.guard.constant_tables import set_aside
from llgrad.transforms.guard.denormals import flushes, guarded, personality, refuse_jumps
from llgrad.transforms.pass_manager import Unit, run_passes
from llgrad.transforms.symbols.program_text import Program
from llgrad.transforms.symbols.shared_globals import share_globals, shared_names


@told("differentiating the program")
@collecting_rarely()
def optimise_program(
    source: LLVMModule, level: int = 2, cpu: str = "native", *, before: int | None = None, vector_math: bool = False,
    checkpoint: tuple[tuple[str, str], ...] = (), denormals: str | None = None, strict: bool = False,
    closed: bool = False, serial: bool = False,
) -> LLVMModule:  # fmt: skip
    """The program with calls of `__enzyme_autodiff` and `__enzyme_fwddiff` replaced by derivatives, at -O`level`.

    `before`: how far LLVM optimises what is differentiated, before it is; as far as the program where it is None.
    `vector_math`: loops may call libmvec, with which the program is linked then.
    `checkpoint`: how derivatives in reverse mode take checkpoints (`Request.checkpoint`).
    `denormals`: "flush", and they are zero while derivatives run.
    `strict`: LLVM keeps the order of what adjoints are made of.
    `closed`: no code but the program's own calls its functions by their names.
    `serial`: derivatives run in one thread, even where the program is parallel.
    """
    text, tables = set_aside(spelt_right(source).text())
    unit = run_passes(Unit(text), PROGRAM, Source(asks=True, closed=closed))
    whole = unit.llvm()
    text = unit.text()
    shared = share_globals(text, names := shared_names(text), closed)
    taken = _taken(shared)
    if taken is not None:
        whole.rename(names)
        work, shared = taken.work, taken.text
    else:
        work = LLVMModule.from_text(shared)
        pure_libm(work)
        work.run(["always_inliner", "sroa"])
    options = Options(level if before is None else before, checkpoint, vector_math, strict, serial)
    resolving = Resolving(work, shared, options)
    defined = (f for f in resolving.module.functions if not f.is_declaration)
    exported = [f.name for f in defined if f.linkage not in ("internal", "private")]
    while not resolving.is_last:
        resolving.advance()
    asking = [f.name for f in dict.fromkeys(s.call.block.function for s in resolving.sites) if f is not None]
    derived, texts = resolving.replaced()
    called = resolving.called if flushes(denormals) else []
    if taken is None:
        linked = _linked_program(write(resolving.module), derived, texts, exported, called)
    else:
        text = remainder(resolving.module, taken.program, [spelt(name) for name in asking])
        linked = whole
        linked.replace(_linked_program(text, derived, texts, asking, called, personality(taken.program.text)))
        linked.internalize([name for name in linked.definitions() if not name.startswith(_HIDDEN)])
    if tables is not None:
        tables.put_back(linked)
    return complete(_finished(linked, level, cpu, vector_math))


def resolved(program: LLVMModule, said: Sequence[str] = (), level: int = 2) -> LLVMModule:
    """A library's program (of `programs.stages.program`) with derivatives in the place of its requests.

    These are code of the program like any other, and can be differentiated; `runnable` completes them. `said`:
    registrations besides those in the program, which the result has.
    """
    unit = Unit("".join([program.text(), *said]))
    shared = run_passes(unit, MARKED, None).text()
    work = LLVMModule.from_text(shared)
    pure_libm(work)
    work.run(["always_inliner", "sroa"])
    resolving = Resolving(work, shared, Options(level), closed=False)
    while resolving.sites:
        resolving.advance()
    if resolving.unknown:
        resolving.work.link(LLVMModule.from_text(resolving.unknown))
    return complete(resolving.work)


def runnable(program: LLVMModule) -> LLVMModule:
    """A program of `resolved` with the arena's runtime, and with the functions that derivatives left without a body."""
    whole = program.clone()
    whole.absorb(tape_runtime())
    return run_passes(Unit(whole), LINKED, Linking(hides=False)).llvm()


class _Taken(Struct, frozen=True):
    """An excerpt of a program, ready to be read: its text, and what requests are read in."""

    program: Program
    text: str
    work: LLVMModule


def _taken(text: str) -> _Taken | None:
    """What derivatives are made from; None where the whole program is as well, or what it asks for cannot be seen yet.

    Excerpts are for derivatives of functions that are known where they are asked for, and that ask for none themselves.
    """
    from llgrad.autodiff.enzyme import calls

    if SPLIT in text or says_something(text):
        return None
    program, more = read_excerpt(text), set[str]()
    while (part := excerpt(program, more)) is not None:
        work = LLVMModule.from_text(part)
        pure_libm(work)
        work.run(["always_inliner", "sroa"])
        module = parse(work.text())
        asked = [
            f for g in calls.naming(module, PREFIX) for i in g.instructions() if isinstance(i, Call)
            if (f := calls.function_asked(i)) is not None
        ]  # fmt: skip
        unknown = {spelt(f.name) for f in asked if isinstance(f, Function) and f.is_declaration}
        missing = {name for name in unknown if program.defines(name)}
        if not missing:
            there = {spelt(f.name) for f in module.functions if not f.is_declaration}
            plain = there.issuperset(program.askers) and all(isinstance(f, Function) for f in asked)
            sites = calls.read(module, functools.partial(parse, part)) if plain else []
            return _Taken(program, part, work) if sites and len(innermost(module, sites)) == len(sites) else None
        if missing <= more:
            return None
        more |= missing
    return None


_HIDDEN = ("llgrad.", "llvm.")
def read_ir(data: bytes, name: str = "") -> LLVMModule:
    """A program from a file of unknown origin (called `name`), bitcode or LLVM assembly."""
    bitcode = data.startswith(BITCODE_MAGIC)
    if not bitcode:  # before it is read, not once more after
        data = unblock(markers_as_globals(data.decode(errors="surrogateescape"))).encode(errors="surrogateescape")
    with of_file(name):
        return LLVMModule.read(data, trusted=not bitcode)


def _linked_program(
    text: str, derived: Sequence[Derived], wrappers: Sequence[str], shown: Sequence[str], flushed: Sequence[str] = (),
    handler: str = "",
) -> LLVMModule:  # fmt: skip
    """The program with derivatives and what they need; functions but those in `shown` become internal.

    `flushed`: functions that run with denormals being zero; `handler` is what cleans up there when something is thrown.
    """
    whole = verified(text)
    if wrappers:
        beside = joined(wrappers)
        parts = [LLVMModule.from_text(types_named(beside, text) + beside)]
        known = {d.text: d.module for d in derived}
        for text, symbols in by_text(derived).items():
            part = read_part(text, known[text])
            if (apart := threads_apart(text)) != text:
                part = read_part(apart)
            part.internalize(symbols)
            if flushed:
                refuse_jumps(part.text())
            parts.append(part)
        whole.link(*parts)
        whole.absorb(tape_runtime(), LLVMModule.from_text(fail_text()).as_part())
        if flushed:
            whole.replace_text(guarded(whole.text(), flushed, handler))
    linking = Linking(shown, [d.symbol for d in derived])  # at O0, too: clang -O3 may be next
    return run_passes(Unit(whole), LINKED, linking).llvm()


def threads_apart(text: str) -> str:
    """Derivatives whose shadows of variables with blocks of their own are each thread's: of a table of such blocks,
    each thread may use one, and a derivative makes shadows of all.

        @work.shadow = internal global ptr null  ->  @work.shadow = internal thread_local global ptr null
    """
    if OWN not in text:
        return text
    module = parse(text)
    owners = {v.name.removeprefix(OWN) for v in module.variables if v.name.startswith(OWN)}
    for v in module.variables:
        owner, _, number = v.name.rpartition(".shadow")
        if owner in owners and (not number or number[1:].isdigit()) and v.linkage == "internal" and not v.constant:
            v.prefix = v.prefix if any(map(is_thread_local, v.prefix)) else ("thread_local", *v.prefix)
    return write(module) if owners else text


def _finished(whole: LLVMModule, level: int, cpu: str, vector_math: bool) -> LLVMModule:
    """The linked program at the level that was asked for."""
    return run_passes(Unit(whole), FINISHED, Target(level, cpu, vector_math)).llvm()
