"""Whole programs that ask for derivatives: calls of `__enzyme_autodiff` and its kin, found and replaced.

    program     SROA, so that markers and functions are seen as arguments
    requests    read before the first optimisation (decision 4 of the design), then `pipeline.prepare`, `derivative`
    link        program, wrappers, derivatives, the arena's runtime; O0 to O3
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.known import OWN
from llgrad.asking import inline_askers
from llgrad.assembly import (
    COMDAT,
    GLOBAL,
    NAME,
    direct_variables,
    joined,
    mutable_globals,
    numbers_named,
    plain,
    quoted_again,
    renamed,
    spelt,
    types_named,
    unquoted,
    with_bodies,
)
from llgrad.backend import LLVMModule, unblock, with_vector_maths
from llgrad.backend.module import BITCODE_MAGIC
from llgrad.blas import bridged
from llgrad.collector import collecting_rarely
from llgrad.denormals import flushes, guarded, personality, refuse_jumps
from llgrad.equalities import hide
from llgrad.errors import UnsupportedError, of_file
from llgrad.excerpt import Program, excerpt, remainder
from llgrad.excerpt import read as read_excerpt
from llgrad.failing import fail_text
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.parse_types import decode_name
from llgrad.ir.values import Alias, Call, ConstAggregate, ConstExpr, Function, GlobalVariable
from llgrad.ir.write import write
from llgrad.lowering import spelt_out
from llgrad.pipeline import (
    Derived,
    derivatives,
    inline_first,
    only,
    prepare,
    pure_libm,
    set_apart,
    share_globals,
    shared_names,
    stated,
    tape_runtime,
    verified,
    with_released_emptied,
)
from llgrad.strings import strings_again
from llgrad.synthesis import replay
from llgrad.synthesis.calls import CallSite
from llgrad.synthesis.markers import PREFIX
from llgrad.synthesis.met import with_met
from llgrad.synthesis.registrations import named, not_inlined, own_names_again
from llgrad.synthesis.request import Act, Mode, Request
from llgrad.synthesis.rulesagain import borrowing, shown
from llgrad.synthesis.statements import marked_inactive, says_something, settled
from llgrad.synthesis.sweep import takes_shadow
from llgrad.tables import set_aside
from llgrad.unforeseen import told
from llgrad.versions import dispatched


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
    from llgrad.synthesis import calls, wrappers

    text, tables = set_aside(source.text())
    text = markers_as_globals(direct_variables(numbers_named(unquoted(spelt_out(unblock(text))))))
    text = marked_inactive(not_inlined(named(text)))
    whole = source.clone() if text == source.text() else LLVMModule.from_text(text)
    whole.run(["global_opt"])  # while it can be seen which static variables never change
    text = with_released_emptied(whole, closed)
    shared = share_globals(text, closed)
    taken = _taken(shared)
    if taken is not None:
        whole.rename(shared_names(text))
        work = taken.work
    else:
        work = LLVMModule.from_text(pure_libm(shared))
        work.run(["always_inliner", "sroa"])
    unknown = inline_askers(work)
    text, again = replay.lower(work.text())
    if (text := with_met(stated(text, lambda: parse(shared)), closed=True)) != work.text():
        work.replace_text(text)
    module = parse(work.text())
    exported = [f.name for f in module.functions if not f.is_declaration and f.linkage not in ("internal", "private")]
    written = functools.cache(lambda: parse(shared))
    sites = calls.read(module, written)
    names, least = (f"llgrad.call.{n}" for n in count()), 0
    flush, called = flushes(denormals), list[str]()
    while True:
        ready = innermost(module, sites, again)
        requests = [s.request for s in ready if s.request is not None and not _is_logged(s, again)]
        last = len(ready) == len(sites)
        at = level if before is None else before
        made = _derive(work, requests, at, least, last, checkpoint, vector_math, strict)
        texts = []
        for site in ready:
            name = next(names)
            called += [name] if flush and site.request is not None else []
            if site.request is None:
                texts.append(wrappers.size_wrapper(site, name))
            elif _is_logged(site, again):
                shadows = [site.request.width * takes_shadow(act) for act in site.request.arguments]
                target, text = replay.logged(module, site.function, shadows)
                texts += [] if text in texts else [text]  # (several calls may share one)
                texts.append(wrappers.wrapper_text(site, name, target, module))
            else:
                texts.append(wrappers.wrapper_text(site, name, made[site.request], module, not last))
            wrappers.replace(module, site, name)
        if len(ready) == len(sites):
            texts += [unknown] if unknown else []
            derived = list(made.values())
            if taken is None:
                linked = _linked_program(write(module), derived, texts, exported, called)
            else:
                edited = [f.name for f in dict.fromkeys(s.call.block.function for s in sites) if f is not None]
                text = remainder(module, taken.program, [spelt(name) for name in edited])
                linked = whole
                linked.replace(_linked_program(text, derived, texts, edited, called, personality(taken.program.text)))
                linked.internalize([name for name in linked.definitions() if not name.startswith(_HIDDEN)])
            if tables is not None:
                tables.put_back(linked)
            return _finished(linked, level, cpu, vector_math)
        work = _with_derivatives(write(module), list(made.values()), texts, next(names))
        module, least = parse(work.text()), 1  # derivatives are written to be optimised
        sites = calls.read(module, written)


class _Taken(Struct, frozen=True):
    """An excerpt of a program, ready to be read."""

    program: Program
    work: LLVMModule


def _taken(text: str) -> _Taken | None:
    """What derivatives are made from; None where the whole program is as well, or what it asks for cannot be seen yet.

    Excerpts are for derivatives of functions that are known where they are asked for, and that ask for none themselves.
    """
    from llgrad.synthesis import calls

    if replay.CALL in text or says_something(text):
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
    whole.link(LLVMModule.from_text(joined(wrappers)))
    made = {d.text: d.made for d in derived}
    for n, (text, symbols) in enumerate(_by_text(derived).items()):
        part = _read(borrowing(set_apart(text, symbols, made[text], f"{mark}.{n}"), own))
        part.internalize(symbols)
        whole.link(part)
    return LLVMModule.from_text(pure_libm(whole.text()))


_HIDDEN = ("llgrad.", "llvm.")
_ALIAS = re.compile(rf'^({NAME} = )[^\n"]*?((?:(?:local_)?unnamed_addr )?(?:alias|ifunc) )', re.MULTILINE)
_ASSEMBLY = re.compile(r"^module asm [^\n]*\n", re.MULTILINE)


def _read(text: str, known: LLVMModule | None = None) -> LLVMModule:
    """A module of derivatives; aliases, ifuncs and assembly are the program's. `known`: as LLVM has read the text."""
    if "module asm" in text:
        text, known = _ASSEMBLY.sub("", text), None
    if " alias " in text or " ifunc " in text:
        return verified(_ALIAS.sub(r"\1internal \2", text))
    return known or verified(text)


def _by_text(derived: Sequence[Derived]) -> dict[str, list[str]]:
    """The symbols in each text."""
    found: dict[str, list[str]] = {}
    for d in derived:
        found.setdefault(d.text, []).append(d.symbol)
    return found


def _derive(
    program: LLVMModule, requests: Sequence[Request], level: int, least: int, last: bool,
    checkpoint: tuple[tuple[str, str], ...] = (), vector_math: bool = False, strict: bool = False,
) -> dict[Request, Derived]:
    """The derivatives asked for. The sweeps of one split derivative are made together: they share a plan.

    What is refused at one level may be plain at another: unoptimised code has bit tricks that LLVM knows, optimised
    code merges what was told apart. So the others are tried, from `least` on, and then blocks instead of bytes.

    `last`: they are not differentiated again, and may have two versions.
    """
    from llgrad.synthesis.calls import same_tape

    groups: dict[object, dict[Request, None]] = {}
    for r in requests:
        split = r.mode in (Mode.AUGMENTED, Mode.REVERSE)
        groups.setdefault(same_tape(r) if split else r, {})[r] = None
    levels = list(dict.fromkeys(max(least, n) for n in (level, 0, min(level + 2, 2))))
    prepared = functools.cache(functools.partial(_prepared_static, program))
    made: dict[Request, Derived] = {}
    for group in groups.values():
        name = next(iter(group)).function
        by_loops = last and vector_math
        asked = [
            replace(r, function=_root_name(name), checkpoint=checkpoint, vector_math=by_loops, strict=strict)
            for r in group
        ]
        made.update(zip(group, _first_accepted(name, asked, levels, prepared, last), strict=True))
    return made


def _first_accepted(
    name: str, requests: Sequence[Request], levels: Sequence[int], prepared: Callable[[str, int, bool], str], last: bool
) -> list[Derived]:
    """The derivatives at the first level at which they are not refused; at last, loops over bytes move blocks.

    Where optimised code shows that bits of floats are changed, unoptimised code is not asked.
    """
    refused: UnsupportedError | None = None
    for level, blocks in [*((n, False) for n in levels), (max(levels), True)]:
        if refused is not None and refused.loses_bits and not level:
            continue
        try:
            if not (text := prepared(name, level, blocks)):
                break
            alone = last and len(requests) == 1
            return [dispatched(text, requests[0], level)] if alone else derivatives(text, requests, last=last)
        except UnsupportedError as error:
            refused = error if refused is None or (error.loses_bits and level) else refused
    assert refused is not None
    raise refused


def innermost(module: Module, sites: Sequence[CallSite], logged: Collection[str] = ()) -> list[CallSite]:
    """The sites whose functions ask for no derivative themselves, be it in a function that they call."""
    asking: dict[Function, list[CallSite]] = {}
    for s in sites:
        asking.setdefault(s.call.block.function, []).append(s)  # type: ignore[arg-type]
    within = {f: reached(f) for f in dict.fromkeys(s.function for s in sites)}
    nested = {f: [s for g in asking if g in found for s in asking[g]] for f, found in within.items()}
    for s in sites:
        if any(inner.function.name in logged for inner in nested.get(s.function, ())):
            raise UnsupportedError(
                f"{s.function.name} itself asks for __enzyme_fwdsplit", span=s.span,
                cause="what that tape holds has no shadow", fix="ask for __enzyme_fwddiff in what is differentiated",
            )  # fmt: skip
    found = [s for s in sites if not nested.get(s.function)]
    if sites and not found:
        raise UnsupportedError(
            f"{sites[0].function.name} asks for a derivative of a function that calls it", span=sites[0].span,
            cause="the derivative would contain itself", fix="differentiate a function that does not ask for itself",
        )  # fmt: skip
    return found


def reached(function: Function) -> set[Function]:
    """A function and all whose address is found in it, in what they refer to, and so on."""
    found: set[Function] = set()
    work: list[object] = [function]
    seen: set[int] = set()
    while work:
        v = work.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        match v:
            case Function(unread=str() as body, module=Module(globals=known)):
                found.add(v)
                names = map(decode_name, dict.fromkeys(re.findall(NAME, body)))
                work += [known[name] for name in names if name in known]
            case Function():
                found.add(v)
                work += [o for i in v.instructions() for o in i.operands]
            case GlobalVariable(initializer=value):
                work.append(value)
            case Alias():
                work.append(v.aliasee)
            case ConstExpr(operands=operands) | ConstAggregate(elements=operands):
                work += operands
    return found


def read_ir(data: bytes, name: str = "") -> LLVMModule:
    """A program from a file of unknown origin (called `name`), bitcode or LLVM assembly."""
    bitcode = data.startswith(BITCODE_MAGIC)
    if not bitcode:  # before it is read, not once more after
        data = unblock(markers_as_globals(data.decode(errors="surrogateescape"))).encode(errors="surrogateescape")
    with of_file(name):
        return LLVMModule.read(data, trusted=not bitcode)


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
        for text, symbols in _by_text(derived).items():
            part = _read(text, known[text])
            if (apart := threads_apart(text)) != text:
                part = _read(apart)
            part.internalize(symbols)
            if flushed:
                refuse_jumps(part.text())
            parts.append(part)
        whole.link(*parts, tape_runtime(), LLVMModule.from_text(fail_text()))
        if flushed:
            whole.replace_text(guarded(whole.text(), flushed, handler))
    if (text := own_names_again(settled(bridged(with_bodies(whole.text()))))) != whole.text():
        whole.replace_text(text)  # inner derivatives have lost the bodies of what has rules
    strings_again(whole)
    variables = mutable_globals(text)
    found = [m for m in GLOBAL.finditer(text) if m[3] == "constant" and "external" not in m[2]]
    constants = [plain(m[1]) for m in found if not m[1][1:].isdigit()]
    defined = {f.name for f in whole.functions() if not f.is_declaration} | set(variables) | set(constants)
    whole.internalize([n for n in (*shown, *variables, *constants) if n in defined and not n.startswith(_HIDDEN)])
    calls = [f.name for f in whole.functions() if f.name.startswith("llgrad.call.")]
    inline_first(whole, [*calls, *(d.symbol for d in derived)])  # at O0, too: clang -O3 may be next
    return whole


def threads_apart(text: str) -> str:
    """Derivatives whose shadows of variables with blocks of their own are each thread's: of a table of such blocks,
    each thread may use one, and a derivative makes shadows of all."""
    for owner in re.findall(rf"^@{re.escape(OWN)}(\S+) = ", text, re.MULTILINE):
        text = re.sub(rf"^(@{re.escape(owner)}\.shadow(?:\.\d+)? = internal )(?=global )", r"\1thread_local ", text,
                      flags=re.MULTILINE)  # fmt: skip
    return text


def _finished(whole: LLVMModule, level: int, cpu: str, vector_math: bool) -> LLVMModule:
    """The linked program at the level that was asked for."""
    if vector_math:
        whole.replace_text(with_vector_maths(whole.text(), cpu))
    whole.optimise(level, vectorize=level > 1, unroll=level > 1, cpu=cpu)
    whole.run(["dce", "global_dce"])
    if (text := quoted_again(whole.text())) != whole.text():
        whole.replace_text(text)
    return whole


def _root_name(symbol: str) -> str:
    return f"llgrad.root.{symbol}"


def _for_all(definition: str) -> str:
    """The first line of a function, with external linkage: static and inline functions are differentiated too."""
    line = re.sub(r"^define (?:(?:internal|private|(?:linkonce|weak)(?:_odr)?) )?", "define ", definition)
    return COMDAT.sub("", line)


def _prepared_static(program: LLVMModule, name: str, level: int, blocks: bool = False) -> str:
    """`prepare` for a function that may be static or inline: it is called `_root_name(name)` here."""
    text = renamed(only(program, [name]), {name: _root_name(name)})
    definition = rf"^define [^@\n]*@{re.escape(_root_name(name))}\([^\n]*$"
    text = re.sub(definition, lambda m: _for_all(m[0]), text, flags=re.MULTILINE)
    whole = LLVMModule.from_text(hide(text))
    whole.run(["global_opt"])
    return prepare(whole, [_root_name(name)], level, threads=True, blocks=blocks)
