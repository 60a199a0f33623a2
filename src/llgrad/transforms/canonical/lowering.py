"""What is put in simpler terms before a program is analysed, so that nothing after it knows of it.

OpenMP's regions run in one thread, library routines and intrinsics have bodies, variable arguments are a struct, and so
on: the list says it. Empty inline assembly, a barrier for optimisers, goes; that of one instruction of SSE, AVX or FMA
becomes what it computes (`transforms.intrinsics`). Functions of Eigen's packets get plain bodies (`models.eigen`).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.models.eigen import known
from llgrad.transforms.canonical import blas_calls, lapack_calls, openmp, teams, varargs
from llgrad.transforms.canonical.atomics import WORDS, private
from llgrad.transforms.canonical.inlined_first import inlined_links, inlined_mixtures, inlined_wrappers
from llgrad.transforms.canonical.library_bodies import expanded, pointed_rules, with_containers, with_routines
from llgrad.transforms.canonical.plain_code import plain_addresses, plain_calls, small_copies, switched
from llgrad.transforms.canonical.structs_by_value import in_parts, own_structs
from llgrad.transforms.contexts import Lowering
from llgrad.transforms.intrinsics.asm_barriers import ASM, opened
from llgrad.transforms.intrinsics.expansions import pointer_lanes
from llgrad.transforms.intrinsics.inline_asm import spelt
from llgrad.transforms.pass_manager import IR, LLVM, Pass, Passes, Unit, naming, on_ir, on_text

_SIMPLER = ("sroa", "sccp", "simplify_cfg")


def _regions(unit: Unit, c: Lowering) -> bool:
    """OpenMP's teams have one thread; regions are inlined, and what was in memory for their sake is in registers.

    Or calls of regions are marked as those of a team.
    """
    if not openmp.applies(unit.text()):
        return False
    regions, changed = teams.form(unit.ir()) if c.teams else openmp.alone(unit.ir())
    unit.changed(IR)
    work = unit.llvm()
    work.mark(["alwaysinline"], regions)
    _simplify(work, changed)
    unit.changed(LLVM)
    return True


def _without_variables(unit: Unit, c: Lowering) -> bool:
    if not unit.concerns(varargs.applies) or not varargs.without_variables(unit.ir(), c.roots):
        return False
    c.passed = varargs.passed(unit.ir())
    unit.changed(IR)
    return True


def _inlined_wrappers(unit: Unit, c: Lowering) -> bool:
    if changed := inlined_wrappers(unit.ir(), c.roots):
        unit.changed(IR)
    return changed


def _inline(unit: Unit, c: Lowering) -> bool:
    """What was made to be inlined is; what `va_arg` does with registers goes."""
    if c.lowered:
        _simplify(unit.llvm(), c.passed)
        unit.changed(LLVM)
    return c.lowered


def _simplify(work: LLVMModule, names: list[str]) -> None:
    work.run(["always_inliner", "global_dce"])
    for name in sorted(set(names).intersection(work.definitions())):
        work.run(_SIMPLER, function=name)


def _linking(name: str, change: Callable[[Module], Module | None], meaning: str) -> Pass[Lowering]:
    """A pass that links routines of llgrad's runtime into a module that calls them."""

    def run(unit: Unit, _: Lowering) -> bool:
        made = change(unit.ir())
        return made is not None and unit.put(made)

    return Pass(name, run, meaning)


def _noted(p: Pass[Lowering]) -> Pass[Lowering]:
    """The pass, noting that something was changed."""

    def run(unit: Unit, c: Lowering) -> bool:
        changed = p.run(unit, c)
        c.lowered |= changed
        return changed

    return replace(p, run=run)


def _without_assembly(module: Module) -> bool:
    return any([opened(module), spelt(module)])


_CHANGES: Passes[Lowering] = (
    Pass("openmp", _regions, "OpenMP's teams have one thread, or are marked as teams"),
    on_text("eigen-packets", known, "Functions of Eigen's packets compute by LLVM's intrinsics"),
    on_ir("inline-assembly", _without_assembly, "Inline assembly that is known goes", asks=naming(ASM)),
    on_ir("switches", switched, "Computed gotos become switches"),
    on_ir("expand", expanded, "Reductions of vectors and masked accesses get bodies"),
    on_ir("pointer-lanes", pointer_lanes, "Addresses in vectors are computed one by one", asks=naming(" x ptr")),
    on_ir("small-copies", small_copies, "Copies of two or four bytes become a load and a store"),
    on_ir("plain-calls", plain_calls, "Calls that only say something, or must be the last thing, become plain"),
    on_ir("prototypes", varargs.prototyped, "Calls without a prototype have one"),
    Pass("variable-arguments", _without_variables, "Variable arguments become a struct"),
    on_ir("own-structs", own_structs, "Structs that are passed by value become memory of the function"),
    on_ir("thread-local", plain_addresses, "Addresses of thread-local variables are taken without an intrinsic"),
    on_ir("routines", with_routines, "Routines of the C library that move or call back get bodies"),
    on_ir("pointed-rules", pointed_rules, "Pointers to functions with rules point to functions that call them"),
    on_ir("complex-parts", in_parts, "Functions of long double complex take its parts"),
    _linking("lapack", lapack_calls.lowered, "LAPACK's routines get bodies that call BLAS"),
    _linking("blas", blas_calls.lowered, "Calls of BLAS become calls of routines that have rules"),
    _linking("containers", with_containers, "What is compiled inside libstdc++ and libc++ gets bodies"),
    on_ir("inline-links", inlined_links, "Functions that link nodes of trees are to be inlined"),
    on_ir("inline-mixtures", inlined_mixtures, "Functions that are passed mixed structs are to be inlined"),
    Pass("inline-wrappers", _inlined_wrappers, "Functions that return what they allocate are to be inlined"),
)
LOWER: Passes[Lowering] = (*map(_noted, _CHANGES), Pass("inline", _inline, "What is to be inlined is inlined"))
"""What a program is put into simpler terms by."""


def unshared(module: LLVMModule) -> bool:
    """Make atomic operations on variables that no other thread sees ordinary ones; are there any?"""
    if not any(word in module.text() for word in WORDS):
        return False
    program = parse(module.text())
    if changed := private(program):
        module.replace_text(write(program))
        for name in changed:
            module.run(_SIMPLER, function=name)
    return bool(changed)
