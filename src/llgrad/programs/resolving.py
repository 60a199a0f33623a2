"""The requests of a program, replaced by derivatives: those in what is differentiated first
(`autodiff.enzyme.nesting`).

    Resolving(work, shared, options)    reads the requests, before the first optimisation (decision 4 of the design)
    .advance()                          makes the innermost derivatives part of the program, and reads it again
    .replaced()                         the derivatives of those that are left, and the wrappers that call them
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from llgrad.autodiff.enzyme import fwdsplit
from llgrad.autodiff.enzyme.calls import CallSite
from llgrad.autodiff.enzyme.nesting import innermost
from llgrad.autodiff.enzyme.statements import says_something, stated
from llgrad.autodiff.requests.nested_rules import borrowing, shown
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.autodiff.sweeps.primal_copy import takes_shadow
from llgrad.errors import Span, UnsupportedError
from llgrad.ir.parse import parse
from llgrad.ir.values import Alias
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule, verified
from llgrad.llvm.assembly import joined, renamed, types_named
from llgrad.programs import parallel, stages
from llgrad.programs.derivatives import Derived, derivatives, set_apart
from llgrad.programs.inline_wrappers import inline_askers
from llgrad.programs.noalias_versions import dispatched
from llgrad.programs.stages import Prepared
from llgrad.transforms.canonical.pure_libm import pure_libm
from llgrad.transforms.guard.equalities import hidden
from llgrad.transforms.pass_manager import IR, Unit
from llgrad.transforms.symbols.address_taken import with_met
from llgrad.transforms.symbols.extraction import only


class Options(Struct, frozen=True):
    """How derivatives are made: the level that LLVM optimises to before, checkpoints, libmvec, the order of sums, and
    whether they run in one thread even where the program is parallel."""

    level: int = 2
    checkpoint: tuple[tuple[str, str], ...] = ()
    vector_math: bool = False
    strict: bool = False
    serial: bool = False


class Resolving:
    """A program whose requests are replaced, from the innermost on.

    `work` is in normal form (SROA has run, so that markers and functions are seen as arguments); `shared` is the text
    that it was made of. `sites` are the requests that are left, `called` the wrappers that stand for others.
    `closed`: the program is run by its `main`, if it has one.
    """

    def __init__(self, work: LLVMModule, shared: str, options: Options, closed: bool = True) -> None:
        self.work, self.options = work, options
        self.unknown = inline_askers(work)
        text, self.again = fwdsplit.lower(work.text())
        unit = Unit(text)
        if says_something(text) and stated(unit.ir(), lambda: parse(shared)):
            unit.changed(IR)
        if (text := with_met(unit.text(), closed)) != work.text():
            work.replace_text(text)
        self.names, self.least, self.called = (f"llgrad.call.{n}" for n in count()), 0, list[str]()
        self.written = functools.cache(lambda: parse(shared))
        self._read()

    def _read(self) -> None:
        from llgrad.autodiff.enzyme import calls

        self.module = parse(self.work.text())
        self.sites = calls.read(self.module, self.written)
        self.ready = innermost(self.module, self.sites, self.again)

    @property
    def is_last(self) -> bool:
        """Whether no derivative that is made now is differentiated again."""
        return len(self.ready) == len(self.sites)

    def advance(self) -> None:
        """Make the innermost derivatives part of the program."""
        derived, texts = self._step(last=False)
        self.work = _with_derivatives(write(self.module), derived, texts, next(self.names))
        self.least = 1  # derivatives are written to be optimised
        self._read()

    def replaced(self) -> tuple[list[Derived], list[str]]:
        """The derivatives that nobody differentiates again, and more functions that `module` calls now."""
        derived, texts = self._step(last=True)
        return derived, [*texts, *([self.unknown] if self.unknown else [])]

    def _step(self, last: bool) -> tuple[list[Derived], list[str]]:
        from llgrad.autodiff.enzyme import wrappers

        spans = {s.request: s.span for s in self.ready if s.request is not None and not _is_logged(s, self.again)}
        made = _derive(self.work, spans, self.options, self.least, last)
        texts = list[str]()
        for site in self.ready:
            name = next(self.names)
            self.called += [name] if site.request is not None else []
            texts += [t for t in self._wrapper(site, name, made, last) if t not in texts]  # (calls may share a log)
            wrappers.replace(self.module, site, name)
        return list(made.values()), texts

    def _wrapper(self, site: CallSite, name: str, made: dict[Request, Derived], last: bool) -> list[str]:
        from llgrad.autodiff.enzyme import wrappers

        if site.request is None:
            return [wrappers.size_wrapper(site, name)]
        if _is_logged(site, self.again):
            shadows = [site.request.width * takes_shadow(act) for act in site.request.arguments]
            target, text = fwdsplit.logged(self.module, site.function, shadows)
            return [text, wrappers.wrapper_text(site, name, target, self.module)]
        return [wrappers.wrapper_text(site, name, made[site.request], self.module, not last)]


def _is_logged(site: CallSite, again: Collection[str]) -> bool:
    """Whether a forward sweep leaves a tape for `__enzyme_fwdsplit`."""
    if site.request is None or site.function.name not in again:
        return False
    if site.request.mode is Mode.REVERSE or (site.request.mode is Mode.AUGMENTED and site.request.result is Act.DUP):
        raise UnsupportedError(
            f"{site.function.name} is asked for __enzyme_fwdsplit, too", span=site.span,
            cause="a tape is for one of the two ways, and for functions that return no pointer",
            fix="give the function a second name, which calls it",
        )  # fmt: skip
    return site.request.mode is Mode.AUGMENTED


def _with_derivatives(text: str, derived: Sequence[Derived], wrappers: Sequence[str], mark: str) -> LLVMModule:
    """The program with its innermost derivatives in it, to be differentiated; the tape's functions stay opaque."""
    text, own = shown(text)
    whole = verified(text)
    beside = joined(wrappers)
    whole.link(LLVMModule.from_text(types_named(beside, text) + beside))
    made = {d.text: d.made for d in derived}
    for n, (text, symbols) in enumerate(by_text(derived).items()):
        part = read_part(borrowing(set_apart(text, symbols, made[text], f"{mark}.{n}"), own))
        part.internalize(symbols)
        whole.link(part)
    pure_libm(whole)
    return whole


def read_part(text: str, known: LLVMModule | None = None) -> LLVMModule:
    """A module of derivatives; aliases, ifuncs and assembly are the program's. `known`: as LLVM has read the text."""
    if not any(word in text for word in ("module asm", " alias ", " ifunc ")):
        return known or verified(text)
    module = parse(text)
    aliases = [a for a in module.globals.values() if isinstance(a, Alias)]
    if not aliases and not module.asm:
        return known or verified(text)
    module.asm.clear()
    for a in aliases:
        a.linkage, a.prefix = "internal", tuple(word for word in a.prefix if "unnamed_addr" in word)
    return verified(write(module))


def by_text(derived: Sequence[Derived]) -> dict[str, list[str]]:
    """The symbols in each text."""
    found: dict[str, list[str]] = {}
    for d in derived:
        found.setdefault(d.text, []).append(d.symbol)
    return found


def _derive(
    program: LLVMModule, requests: Mapping[Request, Span | None], options: Options, least: int, last: bool
) -> dict[Request, Derived]:
    """The derivatives asked for, and where they are. The sweeps of one split derivative share a plan.

    What is refused at one level may be plain at another: unoptimised code has bit tricks that LLVM knows, optimised
    code merges what was told apart. So the others are tried, from `least` on, and then blocks instead of bytes.

    `last`: they are not differentiated again, and may have two versions.
    """
    from llgrad.autodiff.enzyme.calls import same_tape

    groups: dict[object, dict[Request, None]] = {}
    for r in requests:
        split = r.mode in (Mode.AUGMENTED, Mode.REVERSE)
        groups.setdefault(same_tape(r) if split else r, {})[r] = None
    levels = list(dict.fromkeys(max(least, n) for n in (options.level, 0, min(options.level + 2, 2))))
    prepared = functools.cache(functools.partial(_prepared_static, program))
    is_parallel = last and not options.serial and parallel.opens(program.text())
    made: dict[Request, Derived] = {}
    for group in groups.values():
        name = next(iter(group)).function
        by_loops = last and options.vector_math
        asked = [
            replace(
                r, function=_root_name(name), checkpoint=options.checkpoint, vector_math=by_loops,
                strict=options.strict,
            )
            for r in group
        ]  # fmt: skip
        try:
            found = parallel.first(
                partial(_first_accepted, name, asked, levels, prepared, last), name,
                is_parallel and parallel.may_be(asked),
            )  # fmt: skip
            made.update(zip(group, found, strict=True))
        except UnsupportedError as error:
            error.span = error.span or requests[next(iter(group))]
            raise
    return made


def _first_accepted(
    name: str, requests: Sequence[Request], levels: Sequence[int],
    prepared: Callable[[str, int, bool, bool], Prepared], last: bool, teams: bool,
) -> list[Derived]:  # fmt: skip
    """The derivatives at the first level at which they are not refused; at last, loops over bytes move blocks.

    Where optimised code shows that bits of floats are changed, unoptimised code is not asked. `teams`: parallel regions
    stay parallel.
    """
    refused: UnsupportedError | None = None
    for level, blocks in [(levels[0], False)] if teams else [*((n, False) for n in levels), (max(levels), True)]:
        if refused is not None and refused.loses_bits and not level:
            continue
        try:
            if not (found := prepared(name, level, blocks, teams)).text:
                break
            if last and len(requests) == 1:
                return [dispatched(found.text, requests[0], level, found.take())]
            return derivatives(found.text, requests, last=last, parsed=found.take())
        except UnsupportedError as error:
            refused = error if refused is None or (error.loses_bits and level) else refused
    assert refused is not None
    raise refused


def _root_name(symbol: str) -> str:
    return f"llgrad.root.{symbol}"


def _prepared_static(
    program: LLVMModule, name: str, level: int, blocks: bool = False, teams: bool = False
) -> Prepared:
    """`prepare` for a function that may be static or inline: it is external here, and called `_root_name(name)`."""
    root = _root_name(name)
    whole = hidden(renamed(only(program, [name]), {name: root}))
    whole.rename({root: root})
    whole.run(["global_opt"])
    return stages.prepared(whole, [root], level, threads=True, blocks=blocks, teams=teams)
