"""What is said of a call whose derivative is not known: the function, by its name in the source, and what to do."""

from __future__ import annotations

import re
from itertools import count

from llgrad.analysis.call_shapes import OTHER, own_name
from llgrad.autodiff.emit import tape
from llgrad.errors import NoRuleError, Span, UnsupportedError
from llgrad.ir.build import Builder, Names, const_int, declare
from llgrad.ir.module import Module, Position
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import calls
from llgrad.ir.types import I32, PTR, VOID
from llgrad.ir.values import Attribute, Block, Call, ConstNull, Function, InlineAsm, MetadataValue
from llgrad.ir.write import write
from llgrad.signature.names import demangled

_THREADS = re.compile(
    r"pthread_create|thrd_create|_ZNSt6thread(?:15_M_start_thread|4joinEv|6detachEv)|_ZNSt3__115__thread_struct"
    r"|_ZNSt3__16thread(?:4joinEv|6detachEv)|GOMP_|GOACC_|__tgt_"
)
_STARTS = ("_ZNSt6thread15_M_start_thread", "pthread_create")
_PROMISE = re.compile(r"_ZN\w*St(?:13__future_base|3__1\d+__(?:async_)?assoc_)")
_OPENMP = re.compile(r"__kmpc_|omp_")


def no_rule(call: Call, span: Span | None) -> NoRuleError:
    """The refusal of a call whose derivative is not known."""
    cause = "active floats reach the call, and the function has neither a body here nor a rule"
    match call.callee:
        case Function(name=name) if name.startswith("llvm.va_"):
            what, fix = "variable arguments", "pass the arguments in an array, or never take the function's address"
        case Function(name=name) if _THREADS.match(name):
            what, fix = f"the call of {_shown(name)}", "call what the thread would run, in the calling thread"
            cause = "active floats are led to another thread, and a derivative runs in one"
        case Function(name=name) if _OPENMP.match(name):
            what, fix = f"OpenMP's {name}", "use what docs/languages.md says that llgrad knows of OpenMP"
            cause = "what this call does in a team of one thread is not known"
        case Function(name=name) if call.callee.attribute("llgrad.mpi") is not None:
            what, fix = "a derivative of a derivative that passes messages", "take differences of first derivatives"
            cause = f"{name.removeprefix('__llgrad_').rpartition('_')[0]} of MPI has a rule for first derivatives alone"
        case Function(name=name) if name.startswith("MPI_"):
            what, fix = f"the call of {name}", "use what docs/parallel.md says that llgrad knows of MPI"
            cause = "active floats may reach other ranks by it, and it has no rule, or no mpi.h was found to compile it"
        case Function(name=name) if name.startswith(OTHER):
            own, types = own_name(name), ", ".join(str(a.type) for a in call.arguments)
            what = f"the call of {own}"
            cause = f"it is called as {call.type} ({types}), which is not the type of the function that has a rule"
            fix = "declare it as its header does; a function of your own needs another name, a body or a rule"
        case Function(name=name):
            what = f"the call of {_shown(name)}"
            fix = "add the source file that defines it, give it a rule (docs/errors.md#no-rule), or mark it inactive"
        case InlineAsm():
            what, fix = "inline assembly", "write it in C, or use a compiler builtin"
        case _:
            what = "the call of a function pointer"
            fix = (
                "make all functions that it may point to visible; one without a derivative may be called by a function"
            )
            fix += " that is marked __attribute__((enzyme_inactive))"
    return NoRuleError(f"no derivative for {what}", span=span, cause=cause, fix=fix)


def without_others(text: str, found: Position) -> str:
    """The text where a call through a pointer is one of a function that ends the derivative: none of the program's has
    that type, so that the pointer is null, as optional callbacks are, or leads to code that llgrad does not know."""
    module = parse(text)
    call = found.find(module)
    assert isinstance(call, Call)
    name = next(n for n in (f"llgrad.nobody.{k}" for k in count()) if n not in module.globals)
    nobody = Function(name, call.function_type)
    nobody.linkage, nobody.attributes = "internal", (Attribute("noinline"), Attribute("noreturn"))
    module.add(nobody)
    b = Builder(Block("entry", nobody), Names(a.name for a in nobody.arguments))
    nobody._blocks.append(b.block)
    b.call(declare(module, tape.FAIL, VOID, [I32, PTR]), [const_int(I32, tape.FAIL_TARGET), ConstNull(PTR)])
    b.unreachable()
    call.set_operand(call.arity, nobody)
    return write(module)


_SETS_MODE = ("fesetround", "fesetenv", "feupdateenv", "llvm.set.rounding", "llvm.set.fpenv")
_ROUNDS = tuple(f"llvm.experimental.constrained.{name}." for name in ("rint", "lrint", "llrint", "nearbyint"))
REFUSED = (*_STARTS, *_SETS_MODE)
"""What stands in a text where `refuse` may find something."""


def refuse(module: Module) -> bool:
    """Refuse what promises or sets what no derivative can keep; nothing is changed.

    `std::async` and its kin are refused before minutes are spent on what they are made of: what waits for a value, and
    what is thrown to that.
    """
    promises = [f for f in module.functions if not f.is_declaration and _PROMISE.match(f.name)]
    if promises and any(f.is_declaration and f.name.startswith(_STARTS) for f in module.functions):
        raise NoRuleError(
            "no derivative for std::async, std::promise and std::packaged_task",
            span=module.definition(promises[0].name),
            cause="active floats would be led to another thread and back, and a derivative runs in one",
            fix="call the function itself, in the calling thread",
        )
    rounding = calls(module, *_ROUNDS) if calls(module, *_SETS_MODE) else []
    for call in rounding:
        if any(isinstance(v, MetadataValue) and "round.dynamic" in v.text for v in call.arguments):
            name = getattr(call.called_function, "name", "").split(".")[3]
            raise UnsupportedError(
                f"{name} rounds by a mode that the program sets within what is differentiated",
                span=module.place(call),
                cause="a derivative computes some values anew, in the mode that holds then",
                fix="use floor, ceil, trunc or roundeven, each of which rounds in one way",
            )
    return False


def _shown(symbol: str) -> str:
    """A symbol with the name that it has in C++."""
    plain = demangled(symbol)
    return symbol if plain is None else f"{plain} ({symbol})"
