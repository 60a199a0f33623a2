"""The lists of `pipeline`, run: a library's program, the function that is differentiated, the finished derivative.

A derivative uses the program's own mutable globals (`transforms.symbols.shared_globals`); the loader supplies their
addresses. Constant globals are copied. Constructors of globals run in the program only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from msgspec import Struct

from llgrad.autodiff.legality.leftover_calls import complete
from llgrad.autodiff.requests.registrations import protect, tells
from llgrad.autodiff.requests.request import Constants, special_name
from llgrad.errors import ArgumentError, UnsupportedError, of_file
from llgrad.ir.internal_errors import told
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import joined
from llgrad.pipeline import FINISH, NORMAL, PREPARE, PROGRAM, SETTLING, VECTOR_MATHS
from llgrad.support.gc_pause import collecting_rarely
from llgrad.transforms.canonical.abi_casts import with_own_names
from llgrad.transforms.canonical.trampolines import failing_trampolines, has_trampolines
from llgrad.transforms.contexts import Finishing, Preparation, Source, Target
from llgrad.transforms.guard.equalities import REVEALING
from llgrad.transforms.loops.memcpy_idiom import NothingToDo
from llgrad.transforms.pass_manager import IR, Unit, run_passes
from llgrad.transforms.symbols.address_taken import calls_are_known
from llgrad.transforms.symbols.extraction import addressed, only
from llgrad.transforms.symbols.own_names import own_name

LEVELS = range(4)


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
    return run_passes(unit, PROGRAM, Source()).llvm()


def _linked(parts: Sequence[LLVMModule]) -> LLVMModule:
    """The modules as one; functions that several compilers know by different types have a name for each of these."""
    modules = [parse(part.text()) for part in parts]
    for part, module, changed in zip(parts, modules, with_own_names(modules), strict=True):
        if changed:
            part.replace_text(write(module))
    return LLVMModule.linked(parts)


def primal(whole: LLVMModule, others: Sequence[str] = (), *, vector_math: bool = False) -> LLVMModule:
    """The program (and `others`) as the user runs it: O3 for this machine."""
    made = run_passes(Unit(whole.clone()), [REVEALING, SETTLING], None).llvm()
    text = made.text()
    if "thread_local" in text:  # then it is loaded as a shared library, which tells no addresses of hidden variables
        text = _with_addresses(text)
    if text != made.text():
        made.replace_text(text)
    if others:
        made.link(LLVMModule.from_text(joined(others)))
    made = run_passes(Unit(made), [VECTOR_MATHS], Target(3, "native", vector_math)).llvm()
    made.optimise(3, vectorize=True, unroll=True)
    if has_trampolines(text := made.text()):
        module = parse(text)
        failing_trampolines(module)
        made.replace_text(write(module))
    return made


def _with_addresses(text: str) -> str:
    """The program without hidden and protected variables."""
    module = parse(text)
    for v in module.variables:
        v.prefix = tuple(word for word in v.prefix if word not in ("hidden", "protected"))
    return write(module)


class Prepared(Struct):
    """What derivatives are made from; `module` is the text as our module, where it has been read already."""

    text: str
    module: Module | None

    def read(self) -> Module:
        """The module, which nobody may change."""
        if self.module is None:
            self.module = parse(self.text)
        return self.module

    def take(self) -> Module:
        """The module, for one who changes it; the next one has it read again."""
        module, self.module = self.read(), None
        return module


@told("preparing the function")
@collecting_rarely()
def prepared(
    whole: LLVMModule, roots: Sequence[str], level: int = 2, *, threads: bool = False, said: Sequence[str] = (),
    constants: Constants = (), blocks: bool = False, teams: bool = False,
) -> Prepared:  # fmt: skip
    """What the roots reach, optimised for differentiation and in normal form. `whole` stays as it is.

    `threads`: derivatives may use its thread-local variables, because they are linked with it. `said`: registrations
    (`autodiff.requests.registrations`) besides those in the program, as definitions of globals. `constants`: arguments
    of the one root that are fixed; it has its special name then. `blocks`: loops that move bytes move blocks
    (`memcpy_idiom`); where there are none, the text is empty. `teams`: parallel regions of OpenMP stay parallel.
    """
    if level not in LEVELS:
        raise ArgumentError(f"optimisation level {level!r} is not 0, 1, 2 or 3")
    names, special = [own_name(r) for r in roots], special_name(roots[0], constants)

    def made(text: str) -> Prepared:
        unit = Unit(text + "\n".join(said))
        if unit.concerns(tells) and protect(unit.ir(), roots):
            unit.changed(IR)
        context = Preparation(
            names, teams=teams, level=level, threads=threads, constants=constants, blocks=blocks, special=special
        )
        try:
            return Prepared(run_passes(unit, PREPARE, context).text(), unit.module())
        except NothingToDo:
            return Prepared("", None)

    if level and not blocks and (text := addressed(whole, roots, said)):
        with contextlib.suppress(UnsupportedError):
            if calls_are_known((direct := made(text)).text, [special] if constants else names):
                return direct
    return made(only(whole, roots, said))


def prepare(
    whole: LLVMModule, roots: Sequence[str], level: int = 2, *, threads: bool = False, said: Sequence[str] = ()
) -> str:
    """The text of `prepared`."""
    return prepared(whole, roots, level, threads=threads, said=said).text


def normal(work: LLVMModule) -> str:
    """The text of what has been optimised, in normal form."""
    return run_passes(Unit(work), NORMAL, None).text()


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
