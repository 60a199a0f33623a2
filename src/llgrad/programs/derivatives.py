"""The derivative that a request asks for, as text: `derivatives`; derivatives of derivatives from the innermost on."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.layout.debug_info import say_in_source
from llgrad.autodiff.emit import wide_results
from llgrad.autodiff.requests.registrations import original
from llgrad.autodiff.requests.request import Mode, Request
from llgrad.errors import KindError, UnsupportedError
from llgrad.ir.internal_errors import told
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import VOID, StructType, Type, UnsizedError
from llgrad.ir.values import Function
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule, verified
from llgrad.llvm.assembly import definitions, renamed, shared_globals, with_bodies, without_bodies
from llgrad.programs.parallel import refuse_failing
from llgrad.programs.stages import prepare
from llgrad.rules import library
from llgrad.signature import parameter_name
from llgrad.support.gc_pause import collecting_rarely
from llgrad.transforms.canonical.pure_libm import pure_libm
from llgrad.transforms.guard.equalities import hidden
from llgrad.transforms.optimise.normal_form import NORMAL_FORM, reducible
from llgrad.transforms.pass_manager import timed
from llgrad.transforms.symbols.address_taken import as_program_has
from llgrad.transforms.symbols.own_names import own_name
from llgrad.transforms.symbols.shared_globals import borrow_globals, leave_comdats, leave_unused

if TYPE_CHECKING:
    from llgrad.autodiff.derivation import Derivation


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


def derivative(text: str, request: Request, level: int = 2, parsed: Module | None = None) -> Derived:
    """The prepared text with the derivative that `request` asks for; see `derivatives`."""
    return derivatives(text, [request], level, parsed=parsed)[0]


@told("differentiating the function")
@collecting_rarely()
def derivatives(
    text: str, requests: Sequence[Request], level: int = 2, last: bool = True, parsed: Module | None = None
) -> list[Derived]:
    """The prepared text with the sweeps of one derivative: all have the same text. See `autodiff.derivation`.

    Derivatives of derivatives: the innermost is written first, prepared as the program was, and derived again. `last`:
    nobody else derives these again. `parsed`: the text as a module, which becomes the derivative's.
    """
    shared, there = tuple(shared_globals(text)), set(definitions(text))
    module, made = derived_module(text, requests, level, last=last, parsed=parsed)
    refuse_failing(module)
    natural = [f.function_type.result for f in made]
    wide_results.widen(made)
    shared += tuple(as_program_has(module))
    shared += tuple(borrow_globals(module, shared))
    leave_comdats(module)
    leave_unused(module)
    original(module)
    written = with_bodies(write(module))
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
    text: str, requests: Sequence[Request], level: int = 2, *, described: bool = False, last: bool = True,
    parsed: Module | None = None,
) -> tuple[Module, list[Function]]:
    """The module of `derivatives`, and the functions asked for, before globals are borrowed.

    `described`: with the declared types of their parameters, for when they are derived again.
    """
    from llgrad.autodiff.declared_types import declare_types

    function = own_name(requests[0].function)
    if (inner := requests[0].inner) is not None:
        module, (before, *_) = derived_module(text, [inner], level, described=True, parsed=parsed)
        function, parsed = before.name, None
        source, there, text = text, set(definitions(text)), write(module)
        new = [name for name in definitions(text) if name not in there]
        text = prepare_again(set_apart(text, [function], new, f"d{_depth(inner)}"), function, level)
    own = [replace(r, function=function, inner=None) for r in requests]
    try:
        derivation, made = derived(text, own, last and not described, parsed)
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


def derived(
    text: str, requests: Sequence[Request], last: bool = True, parsed: Module | None = None
) -> tuple[Derivation, list[Function]]:
    """The sweeps of one derivative, written into the module of the text, or of what an error makes of it.

    `parsed`: the text as a module.
    """
    from llgrad.autodiff.derivation import Derivation

    pending = bool(requests[0].checkpoint) and requests[0].mode is not Mode.FORWARD
    in_registers = True  # words that are moved as integers
    while True:
        module, parsed = parsed or parse(text), None
        module = module if requests[0].mode is Mode.FORWARD else reducible(module)
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
            say_in_source(error, module, requests[0].function, parameter_name)
            if in_registers and error.remedy is None and type(error) in (KindError, UnsupportedError):
                from llgrad.transforms.legalize.mixed_webs import in_memory

                error.remedy, in_registers = partial(in_memory, root=requests[0].function), False
            text = mended(text, requests[0].mode, error)
        except RecursionError as error:
            raise UnsupportedError(
                f"what @{requests[0].function} computes is nested too deeply to be analysed",
                span=module.definition(requests[0].function),
                cause="an analysis that follows values from one to the next came to the end of Python's stack",
                fix="differentiate a smaller part of it, or sys.setrecursionlimit(10000) before",
            ) from error


def _refuse_unseeded(text: str, request: Request) -> None:
    """Ask optimised code whether the caller can seed what `request` asks for: it tells apart what the functions of a
    container do to several of its kind."""
    from llgrad.autodiff.derivation import Derivation

    with contextlib.suppress(UnsupportedError):
        Derivation(reducible(parse(prepare_again(text, request.function, 1))), request)


def mended(text: str, mode: Mode, error: UnsupportedError) -> str:
    """The text after the error's remedy; the error where there is none, or it does nothing."""
    given = text if mode is Mode.FORWARD else write(reducible(parse(text)))
    if error.remedy is None or (new := error.remedy(given)) == given:
        raise error
    work = verified(new)
    work.run(NORMAL_FORM)
    return work.text()


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
    whole = hidden(text)
    pure_libm(whole)
    return prepare(whole, [symbol], max(level, 1))
