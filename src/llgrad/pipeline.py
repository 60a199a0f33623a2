"""The passes, as lists one can read: from bitcode to the IR that is differentiated, and from there to machine code.

    program     link, unblock, hide constants (`equalities`), share mutable globals         (once a library)
    prepare     keep what the roots reach, signs as floats, O1 to O3, short loops unrolled  (once a function)
    derivative  parse, derive, write; mutable globals become references to the program's    (once a derivative)
    finish      link the arena's runtime and entries, O3 with vectorising                   (once a derivative)

`programs.stages` runs them for Python, `programs.program` for whole programs that ask for derivatives.

Levels: 0 leaves the frontend's IR as it is (normal form only, and `sign_bits`), 1 to 3 are LLVM's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llgrad.analysis.statics.statics import emptied
from llgrad.autodiff.emit.arena_runtime import link_runtime
from llgrad.autodiff.emit.no_rule import refuse
from llgrad.autodiff.emit.tape import FAIL_BITS
from llgrad.autodiff.enzyme.statements import marked_inactive, settled, stated
from llgrad.autodiff.requests.registrations import named, not_inlined, own_names_again
from llgrad.autodiff.requests.specialize import specialise
from llgrad.llvm import LLVMModule, unblock, verified, with_vector_maths
from llgrad.llvm.assembly import (
    direct_variables,
    numbers_named,
    quoted_again,
    unquoted,
    with_bodies,
    without_idle_metadata,
)
from llgrad.llvm.quirks import markers_as_globals
from llgrad.llvm.text import for_jit
from llgrad.transforms.canonical.abi_casts import with_names_joined
from llgrad.transforms.canonical.blas_calls import bridged
from llgrad.transforms.canonical.closures import with_closures
from llgrad.transforms.canonical.lowering import loaded_apart, lower, spelt_out, stored_as_bits, unshared
from llgrad.transforms.canonical.pure_libm import pure_libm
from llgrad.transforms.canonical.relative_tables import with_pointers
from llgrad.transforms.canonical.trampolines import without_trampolines
from llgrad.transforms.contexts import Finishing, Linking, Preparation, Target
from llgrad.transforms.floatbits.align_up import as_elements_are, with_alignment
from llgrad.transforms.floatbits.interleaved_lanes import with_lanes_apart
from llgrad.transforms.floatbits.packed_registers import told_apart
from llgrad.transforms.floatbits.rounding import with_steps
from llgrad.transforms.floatbits.sign_bits import with_signs
from llgrad.transforms.guard import strings
from llgrad.transforms.guard.equalities import hide, hide_bits, ordinary_operations, reveal
from llgrad.transforms.loops.memcpy_idiom import moved_in_blocks
from llgrad.transforms.loops.unroll import LOOP_FORM
from llgrad.transforms.optimise.before_derivative import note_form, optimise
from llgrad.transforms.optimise.normal_form import normal
from llgrad.transforms.pass_manager import Pass, Passes, Unit, of_llvm, on_llvm, on_text
from llgrad.transforms.symbols.address_taken import with_met
from llgrad.transforms.symbols.own_names import own_names
from llgrad.transforms.symbols.shared_globals import constants_of_threads, share
from llgrad.transforms.symbols.used_once import inline_once, note_single_uses
from llgrad.transforms.symbols.visible import hide_others, internalize, note_shown, note_visible, refuse_thread_local

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
    Pass("share-variables", share, "Static variables are exported: derivatives refer to them"),
)
"""Once a library: the linked modules, to be compiled (`primal`) and differentiated (`prepare`)."""


def _optimises(c: Preparation) -> bool:
    return c.level > 0


_in_blocks = partial(moved_in_blocks, fail=FAIL_BITS)


PREPARE: Passes[Preparation] = (
    on_text("refuse-promises", refuse, "Attributes and modes that no derivative can keep are refused"),
    on_text("ordinary-operations", ordinary_operations, "Constrained operations on floats become ordinary ones"),
    on_text("own-names", own_names, "Definitions that have the name of a rule they do not mean get other names"),
    Pass("note-visible", note_visible, "Variables and weak functions that stay visible are noted"),
    Pass("strings-apart", strings.set_apart, "Members of std::string become calls that nobody looks into"),
    Pass("internalize", internalize, "All but the roots and the program's variables become local"),
    Pass("specialise", specialise, "The root's constant arguments are fixed", lambda c: bool(c.constants)),
    on_llvm("lower", lambda work, c: lower(work, c.roots), "Library routines, OpenMP, BLAS, byval, … in simpler terms"),
    on_text("blocks-of-bytes", _in_blocks, "Loops that move bytes move blocks", wanted=lambda c: c.blocks),
    of_llvm("sroa", "sccp", "dce", *LOOP_FORM, wanted=_optimises),
    Pass("note-loop-form", note_form, "The text in which loops have their form is noted", _optimises),
    on_text("floats-as-bits", stored_as_bits, "Denormal constants are stored as integers", wanted=_optimises),
    on_text("hide-bits", hide_bits, "Equality tests of a float's bits become opaque to LLVM", wanted=_optimises),
    on_llvm("signs", lambda work, c: with_signs(work, unoptimised=not c.level), "Masks of bits become signs of floats"),
    Pass("optimise", optimise, "LLVM's optimiser, short loops unrolled", _optimises),
    on_llvm("packed-registers", lambda work, _: told_apart(work), "Doubles that hold other floats", wanted=_optimises),
    on_llvm("signs-again", lambda work, _: with_signs(work), "What the optimiser made of signs", wanted=_optimises),
    on_llvm("ordinary-atomics", lambda work, _: unshared(work), "Atomics of one thread", wanted=lambda c: not c.level),
    on_llvm("rounding", lambda work, c: with_steps(work, unoptimised=not c.level), "Rounding by a constant is a step"),
    on_llvm("interleaved-lanes", lambda work, _: with_lanes_apart(work), "Lanes of mixed records are told apart"),
    on_llvm("alignment", lambda work, _: with_alignment(work), "Addresses rounded up are offsets"),
    on_llvm("reveal", lambda work, _: reveal(work), "Hidden equality tests of floats are ordinary ones again"),
    on_llvm("normal-form", lambda work, c: normal(work, c.formed), "One exit, LCSSA, names; split loads joined"),
    on_text("loads-apart", loaded_apart, "Integers that are read as the low bits of a float are loaded by themselves"),
    on_text("absolute-tables", with_pointers, "Tables of relative addresses become tables of pointers"),
    Pass("refuse-thread-local", refuse_thread_local, "Thread-local variables cannot be shared",
         lambda c: not c.threads),
)
"""Once a function: what the roots reach, optimised for differentiation and in normal form."""


def _vector_maths(unit: Unit, c: Finishing) -> bool:
    return unit.put(with_vector_maths(unit.text(), c.cpu))


def _read_derivative(unit: Unit, _: Finishing) -> bool:
    unit.llvm(verified)
    return False


FINISH: Passes[Finishing] = (
    on_text("bridge-blas", bridged, "Calls of BLAS's rules become calls of BLAS"),
    on_text("settle-statements", settled, "What was opaque to LLVM gets its body"),
    on_text("rules-names-back", own_names_again, "Functions that registrations renamed have their own names again"),
    on_text("constants-of-threads", constants_of_threads, "Thread-local constants become ordinary constants"),
    on_text("for-jit", for_jit, "Symbols may be anywhere, constructors are functions", wanted=lambda c: c.jit),
    Pass("vector-maths", _vector_maths, "Vector versions of libm are offered", lambda c: c.vector_math),
    Pass("note-single-uses", note_single_uses, "Derivatives that are called in one place are noted"),
    Pass("read-derivative", _read_derivative, "LLVM reads and verifies what was written"),
    Pass("strings-again", strings.put_back, "Members of std::string have bodies again"),
    on_llvm("link-runtime", link_runtime, "Entries and the arena's runtime are linked"),
    on_llvm("hide-symbols", lambda whole, c: whole.internalize(c.keep), "All but the entries becomes local"),
    Pass("inline-once", inline_once, "What is used once is inlined first"),
    on_llvm(
        "vectorise",
        lambda whole, c: whole.optimise(c.level, vectorize=c.vectorize, unroll=True, cpu=c.cpu),
        "LLVM's optimiser, with vectors",
    ),
)
"""Once a derivative that Python calls."""

ASKED: Passes[bool] = (
    on_text("unblock", unblock, "`optnone` goes, and the `noinline` that clang puts beside it at -O0"),
    on_text("spell-out", spelt_out, "Intrinsics of x86 and of matrices get bodies"),
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

# Inner derivatives have lost the bodies of what has rules: the first pass puts them back.
LINKED: Passes[Linking] = (
    on_text("bodies-of-rules", with_bodies, "Functions of llgrad's runtime that are called get bodies"),
    on_text("bridge-blas", bridged, "Calls of BLAS's rules become calls of BLAS"),
    on_text("settle-statements", settled, "What was opaque to LLVM gets its body"),
    on_text("rules-names-back", own_names_again, "Functions that registrations renamed have their own names again"),
    Pass("note-visible", note_shown, "Variables that others may see are noted", lambda c: c.hides),
    Pass("strings-again", strings.put_back, "Members of std::string have bodies again"),
    Pass("hide-symbols", hide_others, "All but what others may see becomes local", lambda c: c.hides),
    Pass("inline-once", inline_once, "What is used once is inlined first", lambda c: c.hides),
)


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


def lists() -> dict[str, Passes[Any]]:
    """All lists of passes, by what is done with them."""
    return {
        "a library that Python loads": PROGRAM,
        "a program that asks for derivatives": ASKED,
        "a function that is differentiated": PREPARE,
        "a derivative that Python calls": FINISH,
        "a program with its derivatives": (*LINKED, *FINISHED),
    }
