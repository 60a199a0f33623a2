"""What a derivative cannot have a copy of: code that is bound to its function, and floats of other machines.

A sweep is a function of its own, with the instructions of the function that it is of. Intrinsics that belong to *their*
function (its variable arguments, its frame, its collector's statepoints, the state of its coroutine) mean nothing in
another, which LLVM's verifier may find, or its assertions. Scalable vectors have no size that shadows could have, and
no constants of numbers are written for `ppc_fp128`.
"""

from __future__ import annotations

from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.requests.foreign_types import foreign, is_foreign
from llgrad.errors import Span, UnsupportedError
from llgrad.ir.types import PTR, Type
from llgrad.ir.values import Alloca, Call, Function

_BOUND = {
    "llvm.va_start": ("variable arguments", "pass the arguments in an array, and let the function be static"),
    "llvm.localescape": ("a frame that other functions look into (SEH)", "handle errors without __try"),
    "llvm.localrecover": ("the frame of another function (SEH)", "handle errors without __try"),
    "llvm.experimental.deoptimize": ("an exit to an interpreter", "differentiate code that is compiled ahead of time"),
    "llvm.experimental.guard": ("an exit to an interpreter", "differentiate code that is compiled ahead of time"),
    "llvm.experimental.gc.": ("a statepoint of a garbage collector", "differentiate code that is not managed"),
    "llvm.gcroot": ("a root of a garbage collector", "differentiate code that is not managed"),
    "llvm.coro.": ("a coroutine that LLVM has not split", "optimise before differentiation (level 1 or more)"),
    "llvm.call.preallocated.": ("preallocated arguments", "pass the arguments by pointer"),
    "llvm.icall.branch.funnel": ("a funnel of calls", "link without whole-program devirtualisation"),
    "llvm.eh.sjlj.": ("a jump out of the function's frame", "return a status instead"),
    "llvm.swift.async.": ("an asynchronous context", "differentiate the synchronous part"),
}


def refuse_bound(facts: Facts, source: Function) -> None:
    """Raise UnsupportedError where `source` has what its derivative cannot have a copy of."""
    for a in source.arguments:
        if a.type != PTR and (a.attribute("sret") is not None or a.attribute("byval") is not None):
            raise apart(a.type, facts.module.definition(source.name))
        if is_foreign(a.type) and facts.active(a):
            raise foreign(a.type, facts.module.definition(source.name))
    for i in source.instructions():
        if isinstance(i, Call) and i.called_function is not None:
            _refuse_call(facts, i, i.called_function.name)
        if is_foreign(i.type) and facts.active(i):
            raise foreign(i.type, facts.span(i))
        if isinstance(i, Alloca) and i.type != PTR:
            raise apart(i.type, facts.span(i))


def _refuse_call(facts: Facts, i: Call, name: str) -> None:
    if not name.startswith("llvm."):
        return
    what, fix = next((told for start, told in _BOUND.items() if name.startswith(start)), ("", ""))
    if what:
        raise UnsupportedError(
            f"{what} in a function that is differentiated", span=facts.span(i),
            cause=f"{name.rstrip('.')} belongs to its function, and the derivative is another", fix=fix,
        )  # fmt: skip


def apart(t: Type, span: Span | None) -> UnsupportedError:
    """The refusal of the function's own memory in an address space of its own."""
    return UnsupportedError(
        f"no shadow for memory of the function itself behind {t}", span=span,
        cause="tapes and shadows lie in the address space that C has", fix="compile for this machine",
    )  # fmt: skip
