"""The passes, as lists one can read: from bitcode to the IR that is differentiated, and from there to machine code.

    program     link, unblock, hide constants (`equalities`), share mutable globals         (once a library)
    prepare     keep what the roots reach, signs as floats, O1 to O3, short loops unrolled  (once a function)
    derivative  parse, derive, write; mutable globals become references to the program's    (once a derivative)
    finish      link the arena's runtime and entries, O3 with vectorising                   (once a derivative)

A derivative uses the program's own mutable globals: `share_globals` exports them, `borrow_globals` refers to them, and
the loader supplies their addresses. Constant globals are copied. Constructors of globals run in the program only.

Levels: 0 leaves the frontend's IR as it is (normal form only, and `sign_bits`), 1 to 3 are LLVM's.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.call_shapes import fits
from llgrad.analysis.cfg.flow import may_go_round
from llgrad.analysis.memory.call_effects import MET
from llgrad.analysis.statics.statics import emptied, tables
from llgrad.autodiff.emit import arena, tape, wide_results
from llgrad.autodiff.emit.no_rule import refuse_modes, refuse_promises
from llgrad.autodiff.enzyme.coerced_arguments import Raw
from llgrad.autodiff.enzyme.statements import lower as lower_statements
from llgrad.autodiff.enzyme.statements import says_something, settled
from llgrad.autodiff.legality.leftover_calls import is_call, misspelt, refuse_left, refuse_misspelt, registered
from llgrad.autodiff.requests.address_taken import (
    as_program_has,
    called_types,
    function_tables,
    may_call,
    met_types,
    used_in,
    with_met,
)
from llgrad.autodiff.requests.registrations import named, original, own_names_again, protected
from llgrad.autodiff.requests.request import Constants, Mode, Request, special_name
from llgrad.autodiff.requests.specialize import specialised
from llgrad.errors import (
    ArgumentError,
    KindError,
    ParseError,
    UnknownNameError,
    UnsupportedError,
    VerifyError,
    of_file,
)
from llgrad.ir.internal_errors import told
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import VOID, StructType, Type, UnsizedError
from llgrad.ir.values import Alias, ConstExpr, Function, GlobalVariable
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule, Part, unblock, with_vector_maths
from llgrad.llvm.assembly import (
    COMDAT,
    DEFINITION,
    GLOBAL,
    NAME,
    STATIC,
    definitions,
    direct_variables,
    joined,
    mutable_globals,
    plain,
    renamed,
    shared_globals,
    spelt,
    with_bodies,
    without_bodies,
    without_idle_metadata,
)
from llgrad.llvm.text import for_jit
from llgrad.rules import library
from llgrad.support.gc_pause import collecting_rarely
from llgrad.transforms.canonical.abi_casts import with_names_joined, with_own_names
from llgrad.transforms.canonical.blas_calls import bridged
from llgrad.transforms.canonical.closures import with_closures
from llgrad.transforms.canonical.lowering import fold_runtime, loaded_apart, lower, spelt_out, stored_as_bits, unshared
from llgrad.transforms.canonical.relative_tables import with_pointers
from llgrad.transforms.canonical.trampolines import TRAMPOLINE, failing_trampolines, without_trampolines
from llgrad.transforms.floatbits.align_up import as_elements_are, with_alignment
from llgrad.transforms.floatbits.interleaved_lanes import with_lanes_apart
from llgrad.transforms.floatbits.low_bits import with_fewer_digits
from llgrad.transforms.floatbits.merge_split_loads import rejoined
from llgrad.transforms.floatbits.packed_registers import has_bits, with_bits
from llgrad.transforms.floatbits.rounding import with_steps
from llgrad.transforms.floatbits.sign_bits import with_signs
from llgrad.transforms.floatbits.sqrt_sign import rooted
from llgrad.transforms.floatbits.undo_pre import has_split_tests, merged
from llgrad.transforms.guard.equalities import hide, hide_bits, reveal
from llgrad.transforms.guard.strings import has_strings_apart, names_strings, strings_again, strings_apart
from llgrad.transforms.intrinsics.expansions import unstrict
from llgrad.transforms.loops import peel
from llgrad.transforms.loops.fix_irreducible import make_reducible
from llgrad.transforms.loops.memcpy_idiom import in_blocks
from llgrad.transforms.loops.unroll import LOOP_FORM, in_form, mark_short_loops
from llgrad.transforms.pass_manager import LLVM, Pass, Passes, Unit, of_llvm, on_llvm, on_text, run_passes, timed

if TYPE_CHECKING:
    from llgrad.autodiff.derivation import Derivation

NORMAL_FORM = ("unify_function_exit_nodes", "loop_simplify", "lcssa", "instruction_namer")
LEVELS = range(4)
_DECLARATION = re.compile(rf"^(declare [^@\n]*)({NAME})\(([^\n]*?)\)[^\n()]*$", re.MULTILINE)
_WEAK = re.compile(rf"^define weak [^@\n]*({NAME})\(", re.MULTILINE)
_COMDAT_OF = re.compile(rf"^({NAME}) = [^\n]*, comdat(?=,|$)", re.MULTILINE)
# Reserved by C with external linkage (C11 7.1.3): whoever defines one means the function of the library.
_LIBM = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin
fmod frexp hypot ldexp lgamma log log10 log1p log2 modf nearbyint pow remainder remquo rint round sin sinh sqrt tan tanh
tgamma trunc
"""
_RESERVED = frozenset(f"{name}{suffix}" for name in _LIBM.split() for suffix in ("", "f", "l"))
_ROUNDS = 16  # of functions that hand bits on to each other
_MOST_INLINED = 4_000  # lines, before they are simplified


# --- the program: one module for a library ----------------------------------------------------------------------------


@told("reading the program")
def program(modules: Sequence[bytes], *, trusted: bool = True, names: Sequence[str] = ()) -> LLVMModule:
    """The linked modules, to be compiled (`primal`) and differentiated (`prepare`); constants are hidden in it.

    `names`: of the files that they come from.
    """
    parts = []
    for n, data in enumerate(modules):
        with of_file(names[n] if names else ""):
            parts.append(LLVMModule.read(data, trusted=trusted))
    unit = Unit(parts[0] if len(parts) == 1 else _linked(parts))
    return run_passes(unit, PROGRAM, None).llvm()


def _linked(parts: Sequence[LLVMModule]) -> LLVMModule:
    """The modules as one; functions that several compilers know by different types have a name for each of these."""
    for part, text in zip(parts, with_own_names([part.text() for part in parts]), strict=True):
        if text != part.text():
            part.replace_text(text)
    return LLVMModule.linked(parts)


def _share(unit: Unit, _: None) -> bool:
    """Export static variables, and the tables that say where they lead."""
    text = unit.text()
    shared = shared_names(text)
    made = tables(text, shared)
    unit.llvm().rename({**{name: name for name in function_tables(text)}, **shared})
    unit.changed(LLVM)
    return unit.put(unit.text() + made) if made else True


def only(whole: LLVMModule, roots: Sequence[str], said: Sequence[str] = ()) -> str:
    """The program with what the roots reach, and its variables and registrations (`said` too), and what those name.

    Functions that pointers in variables may point to (`autodiff.requests.address_taken`) stay if what is reached calls
    one of their type, or has its address.
    """
    text = whole.text()
    named_too = {plain(name) for words in said for name in re.findall(NAME, words)}
    met = met_types(text)
    kept = {*roots, *mutable_globals(text), *named_too} - met.keys()
    while True:
        work = whole.clone()
        work.cut(kept)
        called = called_types(work.text()) if met else set()
        more = {name for name, t in met.items() if may_call(called, t)} - kept
        more |= used_in(work.text(), text) - kept if met else set()
        if not more:
            return without_idle_metadata(direct_variables(work.text(), shown=False))
        kept |= more


def stated(text: str, raw: Raw = None) -> str:
    """The program with calls of `__enzyme_…` that ask for no derivative in llgrad's terms
    (`autodiff.enzyme.statements`); `raw` gives it as it was written."""
    if not says_something(text):
        return text
    module = parse(text)
    functions = lower_statements(module, raw)
    return joined([write(module), functions])


_UNSEEN = r"\b(?:hidden|protected) "


def primal(whole: LLVMModule, others: Sequence[str] = (), *, vector_math: bool = False) -> LLVMModule:
    """The program (and `others`) as the user runs it: O3 for this machine."""
    made = whole.clone()
    reveal(made)
    text = settled(made.text())
    if "thread_local" in text:  # then it is loaded as a shared library, which tells no addresses of hidden variables
        text = GLOBAL.sub(lambda m: f"{m[1]} = {re.sub(_UNSEEN, '', m[2])}{m[3]} ", text)
    if text != made.text():
        made.replace_text(text)
    if others:
        made.link(LLVMModule.from_text(joined(others)))
    if vector_math:
        made.replace_text(with_vector_maths(made.text()))
    made.optimise(3, vectorize=True, unroll=True)
    if TRAMPOLINE in (text := made.text()):
        made.replace_text(failing_trampolines(text))
    return made


_LOG_GAMMA = re.compile(r"(@l?gamma(f|l|f128|)\()((?:[^()\n]|\([^()\n]*\))*)\)")


def _signs_of_gamma(text: str) -> str:
    """Calls of `lgamma` say that they write the sign of gamma to `signgam`, in a program that looks there."""
    if "@signgam = external" not in text:
        return text

    def edit(line: str) -> str:
        if re.search(r"\b(?:call|invoke) ", line) is None or (m := _LOG_GAMMA.search(line)) is None:
            return line
        used.add(m[2])
        return f"{line[: m.start()]}@lgamma{m[2]}_r({m[3]}, ptr @signgam){line[m.end() :]}"

    used: set[str] = set()
    made = "\n".join(map(edit, text.split("\n")))
    for suffix in sorted(used):
        if f"@lgamma{suffix}_r(" not in text:
            t = library.C_SUFFIXES[suffix]
            made += f"\ndeclare {t} @lgamma{suffix}_r({t}, ptr)\n"
    return made


def pure_libm(text: str) -> str:
    """Functions of libm compute and do nothing else in a program that does not read errno (decision 10)."""
    text = _signs_of_gamma(text)
    if "@__errno_location" in text:
        return text

    def pure(m: re.Match[str]) -> str:
        entry = library.lookup(plain(m[2]))
        computes = entry is not None and "pointer" not in entry.rule.operands and entry.shape != "byval"
        computes &= not plain(m[2]).startswith("llvm.") and _declared_as_known(m)
        return f"{m[1]}{m[2]}({m[3]}) nounwind willreturn memory(none)" if computes else m[0]

    return _DECLARATION.sub(pure, text)


def _declared_as_known(m: re.Match[str]) -> bool:
    """Has a declaration the type of the function that is known by its name?"""
    try:
        f = parse(f"{m[1]}{m[2]}({m[3]})\n").function(plain(m[2]))
    except ParseError:  # it takes structs that have names
        return False
    t = f.function_type
    return not t.vararg and fits(f.name, t.result, t.params)


def share_globals(text: str, closed: bool = False) -> str:
    """Give static mutable variables, and tables of functions, external linkage, under a name of llgrad's: a derivative
    refers to them.

    Thread-local ones, too, though derivatives cannot: else LLVM would take what other functions set for constant.
    """
    found = shared_names(text)

    def edit(m: re.Match[str]) -> str:
        if plain(m[1]) not in found:
            return m[0]
        left_out = ("internal", "private", "unnamed_addr", "local_unnamed_addr")
        kept = [w for w in m[2].split() if w not in left_out]
        return f"{m[1]} = {''.join(w + ' ' for w in kept)}{m[3]} "

    made = tables(text, found, closed)
    if not found:
        return text + made
    text = GLOBAL.sub(edit, text)
    if "comdat" in text:  # one that has the variable's own name is not named
        text = _COMDAT_OF.sub(lambda m: f"{m[0]}(${m[1][1:]})" if plain(m[1]) in found else m[0], text)
    return renamed(text, found) + made


def shared_names(text: str) -> dict[str, str]:
    """The static variables, and tables of functions, that `share_globals` shares, and their new names."""
    tables = function_tables(text)
    return {
        name: STATIC + name
        for m in GLOBAL.finditer(text)
        if _is_local(m) and ((name := plain(m[1])) in tables or m[3] != "constant")
    }


def _is_local(m: re.Match[str]) -> bool:
    return not {"internal", "private"}.isdisjoint(m[2].split())


def own_name(symbol: str) -> str:
    """The name under which a function that the program defines is differentiated: never that of a rule it may not mean.

    A static `y1`, or any `gamma`, is the user's: its body is what counts. A definition under a name that C reserves
    (`exp`) is that function: it keeps its name and its rule.
    """
    return f"llgrad.own.{symbol}" if symbol not in _RESERVED and library.lookup(symbol) is not None else symbol


def _own_names(text: str) -> str:
    """Apply `own_name` to all definitions; what keeps a rule is never inlined. Static functions are the user's, and so
    are those of another type than the rule is for."""
    others: dict[str, str] = {}
    for head, name, _ in DEFINITION.findall(text):
        own = plain(name)
        if library.lookup(own) is None or own.startswith(library.LIKE):
            continue
        if re.search(r"\b(internal|private)\b", head) or own_name(own) != own or not _has_type_of_rule(text, own):
            others[own] = f"llgrad.own.{own}"
        else:
            head = rf"define [^@\n]*{re.escape(name)}\([^\n]*\)(?: (?:local_)?unnamed_addr)?"
            text = re.sub(rf"^({head})((?: [^\n{{]*)?\{{)$", r"\1 noinline\2", text, flags=re.MULTILINE)
    return renamed(text, others)


def _has_type_of_rule(text: str, name: str) -> bool:
    t = parse(text).function(name).function_type
    return not t.vararg and fits(name, t.result, t.params)


PROGRAM: Passes[None] = (
    on_text("join-names", with_names_joined, "Functions that two compilers declare with different types are one again"),
    on_text("unblock", unblock, "`optnone` goes, and the `noinline` that clang puts beside it at -O0"),
    on_text("spell-out", spelt_out, "Intrinsics of x86 and of matrices get bodies"),
    on_text("direct-variables", direct_variables, "Uses of an alias of a variable become uses of the variable"),
    on_text("drop-idle-metadata", without_idle_metadata, "Debug info that no instruction refers to goes"),
    on_text("drop-trampolines", without_trampolines, "Functions called with nested procedures are copied for each"),
    on_text("closures", with_closures, "Pointers to nested procedures that are stored become records"),
    on_text("usual-alignment", as_elements_are, "No access claims a larger alignment than that of a double"),
    on_text("registrations", named, "Globals `__enzyme_register_…` get names of llgrad's"),
    on_text("statements", stated, "Calls `__enzyme_…` that ask for no derivative are put in llgrad's terms"),
    on_text("functions-met", with_met, "Functions that may be called through pointers are listed in variables"),
    on_text("pure-libm", pure_libm, "Functions of libm are `memory(none)` where nothing reads errno"),
    on_text("hide-equalities", hide, "Equality tests of floats become opaque to LLVM"),
    of_llvm("global_opt"),
    on_text("empty-released", emptied, "Static variables hold null where the block that they point to is released"),
    Pass("share-variables", _share, "Static variables are exported: derivatives refer to them"),
)
"""Once a library: the linked modules, to be compiled (`primal`) and differentiated (`prepare`)."""

# --- the function that is differentiated ------------------------------------------------------------------------------


@told("preparing the function")
@collecting_rarely()
def prepare(
    whole: LLVMModule, roots: Sequence[str], level: int = 2, *, threads: bool = False, said: Sequence[str] = (),
    constants: Constants = (), blocks: bool = False,
) -> str:  # fmt: skip
    """What the roots reach, optimised for differentiation and in normal form, as text. `whole` stays as it is.

    `threads`: derivatives may use its thread-local variables, because they are linked with it. `said`: registrations
    (`autodiff.requests.registrations`) besides those in the program, as definitions of globals. `constants`: arguments
    of the one root that are fixed; it has its special name then. `blocks`: loops that move bytes move blocks
    (`memcpy_idiom`); where there are none, the text is empty.
    """
    if level not in LEVELS:
        raise ArgumentError(f"optimisation level {level!r} is not 0, 1, 2 or 3")
    context = Preparation(
        [own_name(r) for r in roots], level, threads, constants, special_name(roots[0], constants), blocks
    )
    unit = Unit(protected(only(whole, roots, said) + "\n".join(said), roots))
    try:
        return run_passes(unit, PREPARE, context).text()
    except _NothingToDo:
        return ""


class Preparation(Struct):
    """What the passes of `PREPARE` must know, and what they find out."""

    roots: list[str]
    level: int
    threads: bool
    constants: Constants
    special: str  # the name of the root whose constants are fixed
    blocks: bool
    shown: tuple[str, ...] = ()  # what besides the roots stays visible
    formed: str = ""  # the text in which loops have their form


class _NothingToDo(Exception):
    """There are no loops over bytes."""


def _optimises(c: Preparation) -> bool:
    return c.level > 0


def _refuse(text: str) -> str:
    refuse_promises(text)
    refuse_modes(text)
    return text


def _ordinary(text: str) -> str:
    """Constrained operations on floats become ordinary ones."""
    return hide(ordinary) if (ordinary := unstrict(text)) != text else text


def _strings_apart(unit: Unit, _: Preparation) -> bool:
    """Members of `std::string` become calls that nobody looks into."""
    return names_strings(unit.text()) and unit.put(strings_apart(unit.text()))


def _refuse_threads(unit: Unit, _: Preparation) -> bool:
    _refuse_thread_local(unit.text())
    return False


def _remember_shown(unit: Unit, c: Preparation) -> bool:
    """Note the variables and weak functions that stay visible."""
    text = unit.text()
    c.shown = (*mutable_globals(text), *(plain(m) for m in _WEAK.findall(text)))
    return False


def _internalize(unit: Unit, c: Preparation) -> bool:
    """All but the roots and the program's variables become local; what nothing reaches goes."""
    work = unit.llvm()
    defined = {f.name for f in work.functions() if not f.is_declaration}
    if missing := [r for r in c.roots if r not in defined]:
        raise UnknownNameError(f"the program does not define {', '.join(missing)}")
    named = function_tables(unit.text())
    work.internalize([*c.roots, *c.shown])
    work.run(["global_dce"])
    work.rename({name: name for name in named})  # they stay the program's
    unit.changed(LLVM)
    return True


def _specialise(unit: Unit, c: Preparation) -> bool:
    """The root's constant arguments are fixed."""
    made = unit.put(specialised(unit.text(), c.roots[0], c.special, c.constants))
    c.roots = [c.special]
    return made


def _move_blocks(unit: Unit, _: Preparation) -> bool:
    """Loops that move bytes move blocks."""
    if not unit.put(in_blocks(unit.text(), tape.FAIL_BITS)):
        raise _NothingToDo
    return True


def _note_form(unit: Unit, c: Preparation) -> bool:
    c.formed = unit.text()
    return False


def _optimise(unit: Unit, c: Preparation) -> bool:
    """LLVM's optimiser, short loops unrolled; again where atomic operations became ordinary ones."""
    work = _optimised(unit.llvm(), c.level, unit.text() == c.formed)
    if unshared(work):
        work = _optimised(work, c.level)
    return unit.put(work)


PREPARE: Passes[Preparation] = (
    on_text("refuse-promises", _refuse, "Attributes and modes that no derivative can keep are refused"),
    on_text("ordinary-operations", _ordinary, "Constrained operations on floats become ordinary ones"),
    on_text("own-names", _own_names, "Definitions that have the name of a rule they do not mean get other names"),
    Pass("note-visible", _remember_shown, "Variables and weak functions that stay visible are noted"),
    Pass("strings-apart", _strings_apart, "Members of std::string become calls that nobody looks into"),
    Pass("internalize", _internalize, "All but the roots and the program's variables become local"),
    Pass("specialise", _specialise, "The root's constant arguments are fixed", lambda c: bool(c.constants)),
    on_llvm("fold-runtime", lambda w, _: fold_runtime(w), "Flang's runtime by types", wanted=lambda c: not c.level),
    on_llvm("lower", lambda work, c: lower(work, c.roots), "Library routines, OpenMP, BLAS, byval, … in simpler terms"),
    Pass("blocks-of-bytes", _move_blocks, "Loops that move bytes move blocks", lambda c: c.blocks),
    of_llvm("sroa", "sccp", "dce", *LOOP_FORM, wanted=_optimises),
    Pass("note-loop-form", _note_form, "The text in which loops have their form is noted", _optimises),
    on_text("floats-as-bits", stored_as_bits, "Denormal constants are stored as integers", wanted=_optimises),
    on_text("hide-bits", hide_bits, "Equality tests of a float's bits become opaque to LLVM", wanted=_optimises),
    on_llvm("signs", lambda work, c: with_signs(work, unoptimised=not c.level), "Masks of bits become signs of floats"),
    Pass("optimise", _optimise, "LLVM's optimiser, short loops unrolled", _optimises),
    on_llvm("packed-registers", lambda work, _: _with_bits(work), "Doubles that hold other floats", wanted=_optimises),
    on_llvm("signs-again", lambda work, _: with_signs(work), "What the optimiser made of signs", wanted=_optimises),
    on_llvm("ordinary-atomics", lambda work, _: unshared(work), "Atomics of one thread", wanted=lambda c: not c.level),
    on_llvm("low-bits", lambda work, c: with_fewer_digits(work, unoptimised=not c.level), "Fewer digits by masks"),
    on_llvm("rounding", lambda work, c: with_steps(work, unoptimised=not c.level), "Rounding by a constant is a step"),
    on_llvm("interleaved-lanes", lambda work, _: with_lanes_apart(work), "Lanes of mixed records are told apart"),
    on_llvm("alignment", lambda work, _: with_alignment(work), "Addresses rounded up are offsets"),
    on_llvm("reveal", lambda work, _: reveal(work), "Hidden equality tests of floats are ordinary ones again"),
    on_llvm("normal-form", lambda work, _: normal(work), "One exit, simple loops, LCSSA, names; split loads joined"),
    on_text("loads-apart", loaded_apart, "Integers that are read as the low bits of a float are loaded by themselves"),
    on_text("absolute-tables", with_pointers, "Tables of relative addresses become tables of pointers"),
    Pass("refuse-thread-local", _refuse_threads, "Thread-local variables cannot be shared", lambda c: not c.threads),
)


def _with_bits(work: LLVMModule) -> None:
    """Registers of doubles in which other floats lie as integers (`retyped`)."""
    for _ in range(_ROUNDS if has_bits(work.text()) else 0):
        work.run(["instruction_namer"])
        if (retyped := with_bits(work.text())) == work.text():
            return
        work.replace_text(retyped)
        work.run(["sroa", "instruction_combine", "dce"])


def normal(work: LLVMModule) -> str:
    """The text of what has been optimised, in normal form."""
    work.run([*NORMAL_FORM, "global_dce"])
    text = work.text()
    if (simpler := rejoined(merged(rooted(text)))) == text:
        return text
    work.replace_text(simpler)
    work.run([*NORMAL_FORM, "dce"])
    return work.text()


def _optimised(work: LLVMModule, level: int, formed: bool = False) -> LLVMModule:
    """`work` optimised for differentiation; no `switch` becomes a table of functions, which would be a derivative's.

    `formed`: its loops have their form (`unroll.LOOP_FORM`) already.
    """
    tables = MET not in work.text()
    if not tables:
        work.without_switch_tables()
    work = _optimised_in_loops(work, level, formed and tables)
    if not tables:
        work.strip_attributes(["no-jump-tables"])
    return work


def _optimised_in_loops(work: LLVMModule, level: int, formed: bool) -> LLVMModule:
    """… short loops unrolled, borders of stencils peeled, tests of loops whole."""
    mark_short_loops(work, in_form(work, formed))
    before = work.clone()
    work.optimise(level, vectorize=False, unroll=False)
    module = in_form(work)
    if whole := has_split_tests(module):
        work = before.clone()
        work.optimise(level, vectorize=False, unroll=False, tests_whole=True)
        module = in_form(work)
    stencils = peel.has_borders(module)
    if stencils and peel.peel_borders(before, peel.EARLY):
        work = before
        work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
    if stencils and peel.peel_borders(work, peel.LATE):
        work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=whole)
    if mark_short_loops(work, in_form(work) if stencils else module):
        work.optimise(level, vectorize=False, unroll=False, loads_apart=stencils, tests_whole=whole)
    return work


def _refuse_thread_local(text: str) -> None:
    for m in GLOBAL.finditer(text):
        used = len(re.findall(rf"{re.escape(m[1])}(?![-\w.$])", text)) > 1
        if m[3] == "global" and "thread_local" in m[2] and used:
            raise UnsupportedError(
                f"the function uses the thread-local variable {plain(m[1]).removeprefix(STATIC)}",
                cause="derivatives are compiled apart from the program and cannot share thread-local memory with it",
                fix="make the variable a parameter, or an ordinary global",
            )


# --- the derivative -----------------------------------------------------------------------------------------------


class Derived(Struct, frozen=True):
    """A derivative as LLVM assembly, not optimised yet: its symbol, and the IR types of what it takes and gives back.

    `borrowed` are the program's mutable globals, and tables of functions, that the text refers to; `made` what was
    written beside the program's.
    `module`: what the text was printed from, where LLVM has read it already; whoever changes it has it for himself.
    """

    text: str
    symbol: str
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    aggregate: bool  # the results are members of one struct
    wide: bool  # which goes through memory (`autodiff.emit.wide_results`)
    borrowed: tuple[str, ...]
    made: tuple[str, ...]
    tape: bool  # whether it uses the arena that it is given
    module: LLVMModule | None = None

    @property
    def returned(self) -> str:
        """The type that the function returns."""
        return wide_results.spelt(self.results, self.aggregate, self.wide)


def derivative(text: str, request: Request, level: int = 2) -> Derived:
    """The prepared text with the derivative that `request` asks for; see `derivatives`."""
    return derivatives(text, [request], level)[0]


@told("differentiating the function")
@collecting_rarely()
def derivatives(text: str, requests: Sequence[Request], level: int = 2, last: bool = True) -> list[Derived]:
    """The prepared text with the sweeps of one derivative: all have the same text. See `autodiff.derivation`.

    Derivatives of derivatives: the innermost is written first, prepared as the program was, and derived again. `last`:
    nobody else derives these again.
    """
    shared, there = tuple(shared_globals(text)), set(definitions(text))
    module, made = derived_module(text, requests, level, last=last)
    natural = [f.function_type.result for f in made]
    wide_results.widen(made)
    shared += tuple(as_program_has(module))
    shared += tuple(borrow_globals(module, shared))
    leave_comdats(module)
    leave_unused(module)
    written = original(with_bodies(write(module)))
    new = tuple(name for name in definitions(written) if name not in there)
    return [_described(written, r, f, t, shared, new) for r, f, t in zip(requests, made, natural, strict=True)]


def _described(
    text: str, request: Request, made: Function, result: Type, shared: tuple[str, ...], new: tuple[str, ...]
) -> Derived:
    parts = result.fields if isinstance(result, StructType) else () if result == VOID else (result,)
    parameters = tuple(str(t) for t in made.function_type.params)
    aggregate, wide = isinstance(result, StructType), made.function_type.result != result
    arena = request.mode is not Mode.FORWARD and bool(made.arguments[0].users)
    return Derived(text, made.name, parameters, tuple(map(str, parts or ())), aggregate, wide, shared, new, arena)


def derived_module(
    text: str, requests: Sequence[Request], level: int = 2, *, described: bool = False, last: bool = True
) -> tuple[Module, list[Function]]:
    """The module of `derivatives`, and the functions asked for, before globals are borrowed.

    `described`: with the declared types of their parameters, for when they are derived again.
    """
    from llgrad.autodiff.declared_types import declare_types

    function = own_name(requests[0].function)
    if (inner := requests[0].inner) is not None:
        module, (before, *_) = derived_module(text, [inner], level, described=True)
        function = before.name
        source, there, text = text, set(definitions(text)), write(module)
        new = [name for name in definitions(text) if name not in there]
        text = prepare_again(set_apart(text, [function], new, f"d{_depth(inner)}"), function, level)
    own = [replace(r, function=function, inner=None) for r in requests]
    try:
        derivation, made = derived(text, own, last and not described)
    except UnsupportedError as error:
        if inner is not None and (error.span is None or not error.span.line):  # of code that derivatives are made of
            error.span = parse(source).definition(own_name(inner.root)) or error.span
        raise
    if derivation.leaves_memory and not level:
        _refuse_unseeded(text, own[0])
    module = derivation.module
    for r, f in zip(requests, made, strict=True) if described else ():
        declare_types(module, module.function(function), f, r)
    return module, made


def derived(text: str, requests: Sequence[Request], last: bool = True) -> tuple[Derivation, list[Function]]:
    """The sweeps of one derivative, written into the module of the text, or of what an error makes of it."""
    from llgrad.autodiff.derivation import Derivation

    pending = bool(requests[0].checkpoint) and requests[0].mode is not Mode.FORWARD
    in_registers = True  # words that are moved as integers
    while True:
        module = parse(text) if requests[0].mode is Mode.FORWARD else reducible(text)
        try:
            if pending:
                from llgrad.autodiff.checkpointing import checkpointed

                text, pending = checkpointed(write(module), requests[0]), False
                continue
            with timed("derive"):
                made = Derivation(module, requests[0], requests[1:])
                return made, made.derive(last)
        except UnsupportedError as error:
            if isinstance(error, UnsizedError) and error.span is None:
                error.span = module.place_of_type(error.type)
            if in_registers and error.remedy is None and type(error) in (KindError, UnsupportedError):
                from llgrad.transforms.legalize.mixed_webs import in_memory

                error.remedy, in_registers = partial(in_memory, root=requests[0].function), False
            text = mended(text, requests[0].mode, error)
        except RecursionError as error:
            raise UnsupportedError(
                f"what @{requests[0].function} computes is nested too deeply to be analysed",
                cause="an analysis that follows values from one to the next came to the end of Python's stack",
                fix="differentiate a smaller part of it, or sys.setrecursionlimit(10000) before",
            ) from error


def _refuse_unseeded(text: str, request: Request) -> None:
    """Ask optimised code whether the caller can seed what `request` asks for: it tells apart what the functions of a
    container do to several of its kind."""
    from llgrad.autodiff.derivation import Derivation

    with contextlib.suppress(UnsupportedError):
        Derivation(reducible(prepare_again(text, request.function, 1)), request)


def mended(text: str, mode: Mode, error: UnsupportedError) -> str:
    """The text after the error's remedy; the error where there is none, or it does nothing."""
    given = text if mode is Mode.FORWARD else write(reducible(text))
    if error.remedy is None or (new := error.remedy(given)) == given:
        raise error
    work = verified(new)
    work.run(NORMAL_FORM)
    return work.text()


def reducible(text: str) -> Module:
    """The text parsed; every cycle is a loop in it that is entered at one block, which the reverse sweep wants."""
    module = parse(text)
    while any([make_reducible(f) for f in module.functions if may_go_round(f)]):
        work = verified(write(module))
        work.run(NORMAL_FORM)
        module = parse(work.text())
    return module


def _depth(request: Request) -> int:
    return 0 if request.inner is None else 1 + _depth(request.inner)


def set_apart(text: str, symbols: Collection[str], made: Collection[str], mark: str) -> str:
    """Names with `mark` in them for what was `made` beside the derivatives `symbols`.

    So what is written next does not take it for its own. Functions that have a rule lose the body they were given,
    until `with_bodies`.
    """
    bodies = [name for name in made if library.lookup(name) is not None]
    others = [name for name in made if name not in bodies and name not in symbols]
    return without_bodies(renamed(text, {name: f"llgrad.{mark}.{name}" for name in others}), bodies)


def prepare_again(text: str, symbol: str, level: int) -> str:
    """The derivative `symbol`, prepared to be differentiated itself; derivatives are written to be optimised."""
    whole = LLVMModule.from_text(hide(pure_libm(text)))
    return prepare(whole, [symbol], max(level, 1))


def leave_comdats(module: Module) -> None:
    """Functions that will be internal leave their groups: a linker drops the program's own for a group it has twice."""
    module.comdats.clear()
    for g in module.globals.values():
        g.suffix = COMDAT.sub("", g.suffix)


_SAYS = ("llvm.global.annotations", "llvm.used", "llvm.compiler.used")


def leave_unused(module: Module) -> None:
    """Drop what keeps functions that nothing calls: their copies may ask for derivatives that nobody makes.

    What annotations say is in attributes by now (`registrations.apply`).
    """
    for name in _SAYS if not module.asm else ():
        module.globals.pop(name, None)


def borrow_globals(module: Module, names: Collection[str]) -> list[str]:
    """Turn the definitions of `names` into references to the program's variables; so are their aliases, which are
    returned."""
    dropped = ("dso_local", "hidden", "protected", "unnamed_addr", "local_unnamed_addr")
    for v in module.variables:
        if v.name in names:
            v.initializer = None
            v.linkage = "external"
            v.prefix = tuple(word for word in v.prefix if word not in dropped)
            v.suffix, v.metadata = "", {}
    aliases = [a for a in module.globals.values() if isinstance(a, Alias) and _led_to(a) in names]
    for a in aliases:
        del module.globals[a.name]
    for a in aliases:
        module.add(GlobalVariable(a.name, a.value_type, None, type=a.type)).linkage = "external"
    return [a.name for a in aliases]


def _led_to(alias: Alias) -> str:
    """The name of what an alias is of, in the end."""
    v: object = alias
    while isinstance(v, Alias | ConstExpr):
        v = v.aliasee if isinstance(v, Alias) else v.operands[0]
    return v.name if isinstance(v, GlobalVariable) else ""


_OF_THREADS = re.compile(r"^(@[^\n=]+ = (?:\w+ )*?)thread_local(?:\(\w+\))? (?=(?:\w+ )*constant )", re.MULTILINE)
"""Constants that each thread has for its own: one will do."""


@told("finishing the derivative")
def finish(
    text: str, others: Sequence[str], keep: Collection[str], *,
    level: int = 3, vectorize: bool = True, vector_math: bool = False, cpu: str = "native", last: str = "",
    inlined: Collection[str] = (), jit: bool = False,
) -> LLVMModule:  # fmt: skip
    """Machine-ready module: `text` (written by llgrad), the arena's runtime and `others` linked and optimised.

    `last` is linked after the runtime, and defines what that calls. `keep` stays visible; everything else becomes
    internal. `inlined`: see `used_once`. `jit`: it will be loaded in this process. Raises VerifyError if
    llgrad wrote IR that LLVM rejects.
    """
    context = Finishing(joined(others), last, keep, inlined, level, vectorize, vector_math, cpu, jit)
    return complete(run_passes(Unit(text), FINISH, context).llvm())


class Finishing(Struct):
    """What the passes of `FINISH` must know, and what they find out."""

    others: str
    last: str
    keep: Collection[str]
    inlined: Collection[str]
    level: int
    vectorize: bool
    vector_math: bool
    cpu: str
    jit: bool
    once: Collection[str] = ()  # which of `inlined` are


def _of_threads(text: str) -> str:
    """Constants that each thread has for its own are one."""
    return _OF_THREADS.sub(r"\1", text)


def _vector_maths(unit: Unit, c: Finishing) -> bool:
    return unit.put(with_vector_maths(unit.text(), c.cpu))


def _read_derivative(unit: Unit, _: Finishing) -> bool:
    unit.llvm(verified)
    return False


def _note_single_uses(unit: Unit, c: Finishing) -> bool:
    c.once = used_once(unit.text() + c.others + c.last, c.inlined)
    return False


def _strings_again(unit: Unit, _: Finishing) -> bool:
    return has_strings_apart(unit.text()) and unit.put(strings_again(unit.llvm()))


def _link(whole: LLVMModule, c: Finishing) -> None:
    texts = [LLVMModule.from_text(text).as_part() if text else None for text in (c.others, c.last)]
    whole.absorb(*filter(None, (texts[0], tape_runtime(), texts[1])))
    whole.verify()


FINISH: Passes[Finishing] = (
    on_text("bridge-blas", bridged, "Calls of BLAS's rules become calls of BLAS"),
    on_text("settle-statements", settled, "What was opaque to LLVM gets its body"),
    on_text("rules-names-back", own_names_again, "Functions that registrations renamed have their own names again"),
    on_text("constants-of-threads", _of_threads, "Thread-local constants become ordinary constants"),
    on_text("for-jit", for_jit, "Symbols may be anywhere, constructors are functions", wanted=lambda c: c.jit),
    Pass("vector-maths", _vector_maths, "Vector versions of libm are offered", lambda c: c.vector_math),
    Pass("note-single-uses", _note_single_uses, "Derivatives that are called in one place are noted"),
    Pass("read-derivative", _read_derivative, "LLVM reads and verifies what was written"),
    Pass("strings-again", _strings_again, "Members of std::string have bodies again"),
    on_llvm("link-runtime", _link, "Entries and the arena's runtime are linked"),
    on_llvm("hide-symbols", lambda whole, c: whole.internalize(c.keep), "All but the entries becomes local"),
    on_llvm("inline-once", lambda whole, c: whole.mark(["alwaysinline"], c.once), "What is used once is inlined first"),
    on_llvm(
        "vectorise",
        lambda whole, c: whole.optimise(c.level, vectorize=c.vectorize, unroll=True, cpu=c.cpu),
        "LLVM's optimiser, with vectors",
    ),
)


def used_once(text: str, names: Collection[str]) -> list[str]:
    """Those of these functions that are used in one place, so that LLVM inlines them in the end.

    Told to do so first, it does not simplify them by themselves before.
    """
    used = Counter(re.findall(NAME, text))
    sizes = {plain(m[2]): text.count("\n", m.end(), text.find("\n}\n", m.end())) for m in DEFINITION.finditer(text)}
    return [n for n in names if used[spelt(n)] == 2 and sizes.get(n, 0) <= _MOST_INLINED]


def inline_first(whole: LLVMModule, names: Collection[str]) -> None:
    """Have LLVM inline those of these local functions that are used in one place before it does anything else."""
    whole.mark(["alwaysinline"], used_once(whole.text(), names))


def spelt_right(whole: LLVMModule) -> LLVMModule:
    """The module, in which nothing nearly has a name of the C interface."""
    declared = misspelt(f.name for f in whole.functions() if f.is_declaration)
    if declared or registered(whole.definitions()):
        refuse_misspelt(parse(whole.text()))
    return whole


def complete(whole: LLVMModule) -> LLVMModule:
    """The finished module, in which no call of the C interface is left."""
    if any(f.is_declaration and is_call(f.name) for f in whole.functions()):
        refuse_left(parse(whole.text()))
    return whole


def tape_runtime() -> Part:
    """The arena's functions, to be linked."""
    return _tape_runtime(os.environ.get("LLGRAD_ARENA") == "malloc")


@functools.cache
def _tape_runtime(each_block_its_own: bool) -> Part:
    return LLVMModule.from_text(arena.runtime(each_block_its_own)).as_part()


def verified(text: str) -> LLVMModule:
    try:
        return LLVMModule.from_text(text)
    except (ParseError, VerifyError) as error:
        raise VerifyError(
            "llgrad wrote a derivative that LLVM rejects: this is a bug in llgrad",
            cause=error.cause or error.message,
            fix="report it with the source; another optimisation level (optimize=1) may avoid it",
        ) from error
