"""Whole programs that ask for derivatives: calls of `__enzyme_autodiff` and its kin, found and replaced.

program     SROA, so that markers and functions are seen as arguments
requests    read before the first optimisation (decision 4 of the design), then `pipeline.prepare`, `derivative`
link        program, wrappers, derivatives, the arena's runtime; O0 to O3
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from llgrad import pipeline
from llgrad.analysis.memory.call_effects import OWN
from llgrad.analysis.statics.statics import emptied
from llgrad.autodiff.enzyme.nesting import innermost
from llgrad.autodiff.enzyme.statements import marked_inactive, says_something, settled
from llgrad.autodiff.requests.markers import PREFIX, SPLIT
from llgrad.autodiff.requests.registrations import named, not_inlined, own_names_again
from llgrad.errors import of_file
from llgrad.ir.internal_errors import told
from llgrad.ir.parse import parse
from llgrad.ir.values import Call, Function
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule, unblock, with_vector_maths
from llgrad.llvm.assembly import (
    GLOBAL,
    direct_variables,
    joined,
    mutable_globals,
    numbers_named,
    plain,
    quoted_again,
    spelt,
    types_named,
    unquoted,
    with_bodies,
)
from llgrad.llvm.module import BITCODE_MAGIC
from llgrad.pipeline import (
    Derived,
    complete,
    inline_first,
    pure_libm,
    share_globals,
    shared_names,
    spelt_right,
    tape_runtime,
    verified,
)
from llgrad.programs.excerpt import Program, excerpt, remainder
from llgrad.programs.excerpt import read as read_excerpt
from llgrad.programs.failure_hook import fail_text
from llgrad.programs.resolving import Options, Resolving, by_text, read_part
from llgrad.support.gc_pause import collecting_rarely
from llgrad.transforms.canonical.blas_calls import bridged, is_bridged
from llgrad.transforms.canonical.library_bodies import is_spelt_out, spelt_out
from llgrad.transforms.guard.constant_tables import set_aside
from llgrad.transforms.guard.denormals import flushes, guarded, personality, refuse_jumps
from llgrad.transforms.guard.strings import strings_again
from llgrad.transforms.pass_manager import Pass, Passes, Unit, of_llvm, on_ir, on_llvm, on_text, run_passes


@told("differentiating the program")
@collecting_rarely()
def optimise_program(
    source: LLVMModule, level: int = 2, cpu: str = "native", *, before: int | None = None, vector_math: bool = False,
    checkpoint: tuple[tuple[str, str], ...] = (), denormals: str | None = None, strict: bool = False,
    closed: bool = False,
) -> LLVMModule:  # fmt: skip
    """The program with calls of `__enzyme_autodiff` and `__enzyme_fwddiff` replaced by derivatives, at -O`level`.

    `before`: how far LLVM optimises what is differentiated, before it is; as far as the program where it is None.
    `vector_math`: loops may call libmvec, with which the program is linked then.
    `checkpoint`: how derivatives in reverse mode take checkpoints (`Request.checkpoint`).
    `denormals`: "flush", and they are zero while derivatives run.
    `strict`: LLVM keeps the order of what adjoints are made of.
    `closed`: no code but the program's own calls its functions by their names.
    """
    text, tables = set_aside(spelt_right(source).text())
    unit = run_passes(Unit(text), ASKED, closed)
    whole = unit.llvm()
    text = unit.text()
    shared = share_globals(text, closed)
    taken = _taken(shared)
    if taken is not None:
        whole.rename(shared_names(text))
        work = taken.work
    else:
        work = LLVMModule.from_text(pure_libm(shared))
        work.run(["always_inliner", "sroa"])
    resolving = Resolving(work, shared, Options(level if before is None else before, checkpoint, vector_math, strict))
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
    """A library's program (of `pipeline.program`) with derivatives in the place of its requests.

    These are code of the program like any other, and can be differentiated; `runnable` completes them. `said`:
    registrations besides those in the program, which the result has.
    """
    shared = marked_inactive(not_inlined("".join([program.text(), *said])))
    work = LLVMModule.from_text(pure_libm(shared))
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
    return strings_again(run_passes(Unit(whole), LINKED, None).llvm())


def markers_as_globals(text: str) -> str:
    """The text of a program with globals for markers that are metadata strings: LLVM's bitcode loses such arguments."""
    if 'metadata !"' not in text:
        return text
    found: dict[str, None] = {}

    def edit(m: re.Match[str]) -> str:
        found[m[1]] = None
        return f"ptr @llgrad.marker.{m[1]}"

    text = re.sub(r'\bmetadata !"((?:enzyme|diffe)_\w+)"', edit, text)
    return text + "".join(f"\n@llgrad.marker.{name} = external global i8\n" for name in found)


ASKED: Passes[bool] = (
    on_text("unblock", unblock, "`optnone` goes, and the `noinline` that clang puts beside it at -O0"),
    on_ir("spell-out", spelt_out, "Intrinsics of x86 and of matrices get bodies", asks=is_spelt_out),
    on_text("unquote-names", unquoted, "Names that LLVM quotes get plain spellings"),
    on_text("name-numbers", numbers_named, "Functions and constants that have numbers get names"),
    on_text("direct-variables", direct_variables, "Uses of an alias of a variable become uses of the variable"),
    on_text("markers-as-globals", markers_as_globals, "Markers that are metadata strings become globals"),
    on_text("registrations", named, "Globals `__enzyme_register_…` get names of llgrad's"),
    on_text("keep-registered-calls", not_inlined, "Functions that registrations name are not inlined"),
    on_text("mark-inactive", marked_inactive, "Instructions marked `enzyme_inactive` become opaque to LLVM"),
    of_llvm("global_opt"),  # while it can be seen which static variables never change
    Pass("empty-released", lambda unit, closed: unit.put(emptied(unit.text(), closed)), "Released variables hold null"),
)
"""The whole program, before requests are read in it; the context: does no other code call its functions?"""


class _Taken(Struct, frozen=True):
    """An excerpt of a program, ready to be read."""

    program: Program
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
        work = LLVMModule.from_text(pure_libm(part))
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
            return _Taken(program, work) if sites and len(innermost(module, sites)) == len(sites) else None
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
    unit = run_passes(Unit(whole), LINKED, None)
    text, whole = unit.text(), unit.llvm()
    strings_again(whole)
    variables = mutable_globals(text)
    found = [m for m in GLOBAL.finditer(text) if m[3] == "constant" and "external" not in m[2]]
    constants = [plain(m[1]) for m in found if not m[1][1:].isdigit()]
    defined = {f.name for f in whole.functions() if not f.is_declaration} | set(variables) | set(constants)
    whole.internalize([n for n in (*shown, *variables, *constants) if n in defined and not n.startswith(_HIDDEN)])
    calls = [f.name for f in whole.functions() if f.name.startswith("llgrad.call.")]
    inline_first(whole, [*calls, *(d.symbol for d in derived)])  # at O0, too: clang -O3 may be next
    return whole


# Inner derivatives have lost the bodies of what has rules: the first pass puts them back.
LINKED: Passes[None] = (
    on_text("bodies-of-rules", with_bodies, "Functions of llgrad's runtime that are called get bodies"),
    on_ir("bridge-blas", bridged, "Calls of BLAS's rules become calls of BLAS", asks=is_bridged),
    on_text("settle-statements", settled, "What was opaque to LLVM gets its body"),
    on_text("rules-names-back", own_names_again, "Functions that registrations renamed have their own names again"),
)


def threads_apart(text: str) -> str:
    """Derivatives whose shadows of variables with blocks of their own are each thread's: of a table of such blocks,
    each thread may use one, and a derivative makes shadows of all."""
    for owner in re.findall(rf"^@{re.escape(OWN)}(\S+) = ", text, re.MULTILINE):
        text = re.sub(rf"^(@{re.escape(owner)}\.shadow(?:\.\d+)? = internal )(?=global )", r"\1thread_local ", text,
                      flags=re.MULTILINE)  # fmt: skip
    return text


def _finished(whole: LLVMModule, level: int, cpu: str, vector_math: bool) -> LLVMModule:
    """The linked program at the level that was asked for."""
    return run_passes(Unit(whole), FINISHED, Target(level, cpu, vector_math)).llvm()


def lists() -> dict[str, Passes[Any]]:
    """All lists of passes, by what is done with them."""
    return {
        "a library that Python loads": pipeline.PROGRAM,
        "a program that asks for derivatives": ASKED,
        "a function that is differentiated": pipeline.PREPARE,
        "a derivative that Python calls": pipeline.FINISH,
        "a program with its derivatives": (*LINKED, *FINISHED),
    }


class Target(Struct, frozen=True):
    """What the linked program is optimised for."""

    level: int
    cpu: str
    vector_math: bool


def _vectorised(whole: LLVMModule, c: Target) -> None:
    whole.optimise(c.level, vectorize=c.level > 1, unroll=c.level > 1, cpu=c.cpu)


FINISHED: Passes[Target] = (
    Pass("vector-maths", lambda unit, c: unit.put(with_vector_maths(unit.text(), c.cpu)),
         "Vector versions of libm are offered", lambda c: c.vector_math),
    on_llvm("vectorise", _vectorised, "LLVM's optimiser, at the level asked for"),
    of_llvm("dce", "global_dce"),
    on_text("quote-names", quoted_again, "Plain spellings become quoted names again"),
)  # fmt: skip
"""The program with its derivatives, when it is linked."""
