"""The passes, as lists one can read: from bitcode to the IR that is differentiated, and from there to machine code.

    program     link, unblock, name; in a library, hide constants and share mutable globals (once a program)
    prepare     keep what the roots reach, signs as floats, O1 to O3, short loops unrolled  (once a function)
    derivative  parse, derive, write; mutable globals become references to the program's    (once a derivative)
    finish      link the arena's runtime and entries, O3 with vectorising                   (once a derivative)

`programs.stages` runs them for Python, `programs.program` for whole programs that ask for derivatives.

Levels: 0 leaves the frontend's IR as it is (normal form only, and `sign_bits`), 1 to 3 are LLVM's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from llgrad.analysis.statics.statics import emptied
from llgrad.autodiff.emit.arena_runtime import link_runtime, tape_runtime
from llgrad.autodiff.emit.no_rule import REFUSED, refuse
from llgrad.autodiff.emit.tape import FAIL_BITS
from llgrad.autodiff.enzyme.statements import MARKS, OPAQUE, marked_inactive, says_something, settled, stated
from llgrad.autodiff.requests.registrations import (
    keep_calls,
    may_inline,
    may_register,
    own_names_again,
    renamed_for_rules,
    with_names,
)
from llgrad.autodiff.requests.specialize import specialise
from llgrad.llvm import LLVMModule, unblock, verified
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
from llgrad.transforms.canonical.abi_casts import has_own_names, with_names_joined
from llgrad.transforms.canonical.blas_calls import bridged, is_bridged
from llgrad.transforms.canonical.closures import with_closures
from llgrad.transforms.canonical.fold_runtime import fold_runtime
from llgrad.transforms.canonical.forks import forked
from llgrad.transforms.canonical.library_bodies import is_spelt_out, spelt_out
from llgrad.transforms.canonical.lowering import LOWER, unshared
from llgrad.transforms.canonical.mpi_calls import has_rules, with_mpi, with_rules
from llgrad.transforms.canonical.numbers_apart import has_apart, has_tiny, loaded_apart, stored_as_bits
from llgrad.transforms.canonical.pure_libm import pure_libm
from llgrad.transforms.canonical.relative_tables import has_relative, with_pointers
from llgrad.transforms.canonical.trampolines import has_trampolines, without_trampolines
from llgrad.transforms.contexts import Finishing, Linking, Preparation, Source, Target
from llgrad.transforms.floatbits.align_up import as_elements_are, claims_more, may_round_addresses, with_alignment
from llgrad.transforms.floatbits.interleaved_lanes import may_have_lanes, with_lanes_apart
from llgrad.transforms.floatbits.low_bits import with_fewer_digits
from llgrad.transforms.floatbits.merge_split_loads import JOINING, rejoined
from llgrad.transforms.floatbits.packed_registers import told_apart
from llgrad.transforms.floatbits.rounding import may_have_steps, with_steps
from llgrad.transforms.floatbits.shown_bits import show_bits
from llgrad.transforms.floatbits.sign_bits import may_have_signs, with_signs
from llgrad.transforms.floatbits.sqrt_sign import ABSOLUTE, rooted
from llgrad.transforms.floatbits.undo_pre import has_equal_ways, merged
from llgrad.transforms.guard import strings
from llgrad.transforms.guard.equalities import HIDING, REVEALING, hide_bits, may_compare_bits, ordinary_operations
from llgrad.transforms.loops.chosen_iteration import may_search, with_chosen_iterations
from llgrad.transforms.loops.memcpy_idiom import moved_in_blocks
from llgrad.transforms.loops.unroll import LOOP_FORM
from llgrad.transforms.optimise.before_derivative import for_speed, note_form, optimise
from llgrad.transforms.optimise.normal_form import form, form_again
from llgrad.transforms.optimise.vector_math import may_have_vector_maths, with_vector_maths
from llgrad.transforms.pass_manager import (
    IR,
    LLVM,
    Pass,
    Passes,
    Unit,
    naming,
    of_llvm,
    on_ir,
    on_llvm,
    on_text,
    some_body,
)
from llgrad.transforms.symbols.address_taken import with_met
from llgrad.transforms.symbols.own_names import own_names
from llgrad.transforms.symbols.shared_globals import constants_of_threads, share
from llgrad.transforms.symbols.used_once import inline_once, note_single_uses
from llgrad.transforms.symbols.visible import hide_others, internalize, note_shown, note_visible, refuse_thread_local


def _is_library(c: Source) -> bool:
    return not c.asks


def _asks(c: Source) -> bool:
    return c.asks


MARKED: Passes[Any] = (
    on_ir("keep-registered-calls", keep_calls, "Functions that registrations name are not inlined", asks=may_inline),
    on_ir("mark-inactive", marked_inactive, "Instructions marked `enzyme_inactive` become opaque to LLVM",
          asks=naming(*MARKS)),
)
"""For a program before requests are read in it."""

PROGRAM: Passes[Source] = (
    on_ir("join-names", with_names_joined, "Functions that compilers declare with different types are one again",
          wanted=_is_library, asks=has_own_names),
    on_text("unblock", unblock, "`optnone` goes, and the `noinline` that clang puts beside it at -O0"),
    on_ir("spell-out", spelt_out, "Intrinsics of x86 and of matrices get bodies", asks=is_spelt_out),
    on_text("unquote-names", unquoted, "Names that LLVM quotes get plain spellings", wanted=_asks),
    on_text("name-numbers", numbers_named, "Functions and constants that have numbers get names", wanted=_asks),
    on_text("direct-variables", direct_variables, "Uses of an alias of a variable become uses of the variable"),
    on_text("markers-as-globals", markers_as_globals, "Markers that are metadata strings become globals", wanted=_asks),
    on_text("drop-idle-metadata", without_idle_metadata, "Debug info that no instruction refers to goes",
            wanted=_is_library),
    on_ir("drop-trampolines", without_trampolines, "Functions called with nested procedures are copied for each",
          wanted=_is_library, asks=has_trampolines),
    on_ir("closures", with_closures, "Pointers to nested procedures that are stored become records",
          wanted=_is_library, asks=has_trampolines),
    on_ir("usual-alignment", as_elements_are, "No access claims a larger alignment than that of a double",
          wanted=_is_library, asks=claims_more),
    Pass("mpi", lambda unit, _: with_mpi(unit), "MPI's functions that move floats get rules"),
    on_ir("registrations", with_names, "Globals `__enzyme_register_…` get names of llgrad's", asks=may_register),
    *(replace(marking, wanted=_asks) for marking in MARKED),
    on_ir("statements", stated, "Calls `__enzyme_…` that ask for no derivative are put in llgrad's terms",
          wanted=_is_library, asks=says_something),
    on_text("functions-met", with_met, "Functions that may be called through pointers are listed in variables",
            wanted=_is_library),
    replace(HIDING, wanted=_is_library),
    on_llvm("pure-libm", lambda whole, _: pure_libm(whole), "Functions of libm are `memory(none)` but for errno",
            wanted=_is_library),
    of_llvm("global_opt"),  # while it can be seen which static variables never change
    Pass("empty-released", lambda unit, c: unit.put(emptied(unit.text(), c.closed)),
         "Static variables hold null where the block that they point to is released"),
    Pass("share-variables", share, "Static variables are exported: derivatives refer to them", _is_library),
)  # fmt: skip
"""Once a program: a library that Python loads, to be compiled (`primal`) and differentiated (`prepare`), or a program
that asks for derivatives, before requests are read in it."""


def _optimises(c: Preparation) -> bool:
    return c.level > 0


_in_blocks = partial(moved_in_blocks, fail=FAIL_BITS)


NORMAL: Passes[Any] = (
    REVEALING,
    Pass("normal-form", form, "One exit, simple loops, LCSSA, names"),
    on_ir("signs-of-roots", rooted, "Absolute values of square roots are these roots", asks=naming(ABSOLUTE)),
    on_ir("equal-ways", merged, "What all ways to a block compute is computed there", asks=has_equal_ways),
    on_ir("split-loads", rejoined, "Words that are loaded in two parts are loaded whole", asks=naming(JOINING)),
    Pass("normal-form-again", form_again, "Normal form of what the passes since have changed"),
)
"""For what has been optimised."""

PREPARE: Passes[Preparation] = (
    on_ir("refuse-promises", refuse, "Threads and modes that no derivative keeps are refused", asks=naming(*REFUSED)),
    on_text("for-speed", for_speed, "`optsize` and `minsize` go: a size of the primal's code says nothing of a sweep"),
    Pass("ordinary-operations", ordinary_operations, "Constrained operations on floats become ordinary ones"),
    on_text("own-names", own_names, "Definitions that have the name of a rule they do not mean get other names"),
    Pass("note-visible", note_visible, "Variables and weak functions that stay visible are noted"),
    Pass("strings-apart", strings.set_apart, "Members of std::string become calls that nobody looks into"),
    Pass("internalize", internalize, "All but the roots and the program's variables become local"),
    Pass("specialise", specialise, "The root's constant arguments are fixed", lambda c: bool(c.constants)),
    on_llvm("fold-runtime", lambda w, _: fold_runtime(w), "Flang's runtime by types", wanted=lambda c: not c.level),
    *LOWER,
    on_text("blocks-of-bytes", _in_blocks, "Loops that move bytes move blocks", wanted=lambda c: c.blocks),
    of_llvm("sroa", "sccp", "dce", *LOOP_FORM, wanted=_optimises),
    Pass("note-loop-form", note_form, "The text in which loops have their form is noted", _optimises),
    on_ir("floats-as-bits", stored_as_bits, "Denormal constants are stored as integers",
          wanted=_optimises, asks=has_tiny),
    on_ir(
        "hide-bits", hide_bits, "Equality tests of a float's bits become opaque to LLVM",
        wanted=_optimises, asks=some_body(may_compare_bits),
    ),
    Pass("show-bits", lambda unit, c: show_bits(unit, c.level), "Bits stand where they are changed, in values"),
    on_ir("signs", with_signs, "Masks of bits become signs of floats", asks=some_body(may_have_signs)),
    Pass("optimise", optimise, "LLVM's optimiser, short loops unrolled", _optimises),
    on_llvm("packed-registers", lambda work, _: told_apart(work), "Doubles that hold other floats", wanted=_optimises),
    on_ir(
        "signs-again", with_signs, "What the optimiser made of signs",
        wanted=_optimises, asks=some_body(may_have_signs),
    ),
    on_llvm("ordinary-atomics", lambda work, _: unshared(work), "Atomics of one thread", wanted=lambda c: not c.level),
    on_llvm("low-bits", lambda work, c: with_fewer_digits(work, unoptimised=not c.level), "Fewer digits by masks"),
    on_ir("rounding", with_steps, "Rounding by a constant is a step", asks=may_have_steps),
    on_ir("interleaved-lanes", with_lanes_apart, "Mixed records' lanes are told apart", asks=some_body(may_have_lanes)),
    on_ir("alignment", with_alignment, "Addresses rounded up are offsets", asks=may_round_addresses),
    *NORMAL,
    on_ir("chosen-iterations", with_chosen_iterations, "What a search chooses is computed again behind it",
          wanted=_optimises, asks=some_body(may_search)),
    on_ir("loads-apart", loaded_apart, "Integers that are read as the low bits of a float are loaded by themselves",
          asks=has_apart),
    on_ir("absolute-tables", with_pointers, "Tables of relative addresses are of pointers", asks=has_relative),
    Pass("refuse-thread-local", refuse_thread_local, "Thread-local variables cannot be shared",
         lambda c: not c.threads),
)
"""Once a function: what the roots reach, optimised for differentiation and in normal form."""


SETTLING: Pass[Any] = on_ir(
    "settle-statements", settled, "What was opaque to LLVM gets its body", asks=naming(*OPAQUE)
)


def _vector_maths(unit: Unit, c: Finishing | Target) -> bool:
    if not unit.concerns(may_have_vector_maths) or not with_vector_maths(unit.ir(), c.cpu):
        return False
    unit.changed(IR)
    return True


def _with_mpi_rules(unit: Unit, _: object) -> bool:
    made = with_rules(unit.ir()) if unit.concerns(has_rules) else None
    return made is not None and unit.put(made)


VECTOR_MATHS: Pass[Any] = Pass(
    "vector-maths", _vector_maths, "Vector versions of libm are offered", lambda c: c.vector_math
)


def _read_derivative(unit: Unit, _: Finishing) -> bool:
    unit.llvm(verified)
    return False


FORKING: Pass[Any] = Pass("forks", forked, "Calls that a team makes become parallel regions of OpenMP")


def _forked_again(unit: Unit, c: Linking) -> bool:
    """What regions call of the arena's runtime is linked, too."""
    if not forked(unit, c):
        return False
    unit.llvm().absorb(tape_runtime())
    unit.changed(LLVM)
    return True


MPI_RULES: Pass[Any] = Pass("mpi-rules", _with_mpi_rules, "Rules of MPI's functions get bodies")

FINISH: Passes[Finishing] = (
    MPI_RULES,
    on_ir("bridge-blas", bridged, "Calls of BLAS's rules become calls of BLAS", asks=is_bridged),
    SETTLING,
    on_ir("rules-names-back", own_names_again, "Functions that registrations renamed have their own names again",
          asks=renamed_for_rules),
    on_ir("constants-of-threads", constants_of_threads, "Thread-local constants become ordinary constants",
          asks=naming("thread_local")),
    FORKING,
    on_text("for-jit", for_jit, "Symbols may be anywhere, constructors are functions", wanted=lambda c: c.jit),
    VECTOR_MATHS,
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

# Inner derivatives have lost the bodies of what has rules: the first pass puts them back.
LINKED: Passes[Linking] = (
    on_text("bodies-of-rules", with_bodies, "Functions of llgrad's runtime that are called get bodies"),
    MPI_RULES,
    on_ir("bridge-blas", bridged, "Calls of BLAS's rules become calls of BLAS", asks=is_bridged),
    SETTLING,
    on_ir("rules-names-back", own_names_again, "Functions that registrations renamed have their own names again",
          asks=renamed_for_rules),
    replace(FORKING, run=_forked_again),
    Pass("note-visible", note_shown, "Variables that others may see are noted", lambda c: c.hides),
    Pass("strings-again", strings.put_back, "Members of std::string have bodies again"),
    Pass("hide-symbols", hide_others, "All but what others may see becomes local", lambda c: c.hides),
    Pass("inline-once", inline_once, "What is used once is inlined first", lambda c: c.hides),
)


def _vectorised(whole: LLVMModule, c: Target) -> None:
    whole.optimise(c.level, vectorize=c.level > 1, unroll=c.level > 1, cpu=c.cpu)


FINISHED: Passes[Target] = (
    VECTOR_MATHS,
    on_llvm("vectorise", _vectorised, "LLVM's optimiser, at the level asked for"),
    of_llvm("dce", "global_dce"),
    on_text("quote-names", quoted_again, "Plain spellings become quoted names again"),
)  # fmt: skip
"""The program with its derivatives, when it is linked."""


def lists() -> dict[str, Passes[Any]]:
    """All lists of passes, by what is done with them."""
    return {
        "a library that Python loads, or a program that asks for derivatives": PROGRAM,
        "a function that is differentiated": PREPARE,
        "a derivative that Python calls": FINISH,
        "a program with its derivatives": (*LINKED, *FINISHED),
    }
