"""What is said of a call whose derivative is not known: the function, by its name in the source, and what to do."""

from __future__ import annotations

import re

from llgrad.errors import NoRuleError, Span
from llgrad.ir.values import Call, Function, InlineAsm
from llgrad.signature.names import demangled

_THREADS = re.compile(r"pthread_create|thrd_create|_ZNSt6thread15_M_start_thread|__kmpc_(fork|omp_task|push)|GOMP_")


def no_rule(call: Call, span: Span | None) -> NoRuleError:
    """The refusal of a call whose derivative is not known."""
    cause = "active floats reach the call, and the function has neither a body here nor a rule"
    match call.callee:
        case Function(name=name) if name.startswith("llvm.va_"):
            what, fix = "variable arguments", "pass the arguments in an array, or never take the function's address"
        case Function(name=name) if _THREADS.match(name):
            what, fix = f"the call of {_shown(name)}", "call what the thread would run, in the calling thread"
            cause = "active floats are led to another thread, and a derivative runs in one"
        case Function(name=name):
            what, fix = f"the call of {_shown(name)}", "add the source file that defines it, or mark the call inactive"
        case InlineAsm():
            what, fix = "inline assembly", "write it in C, or use a compiler builtin"
        case _:
            what, fix = "the call of a function pointer", "make all functions that it may point to visible"
    return NoRuleError(f"no derivative for {what}", span=span, cause=cause, fix=fix)


def _shown(symbol: str) -> str:
    """A symbol with the name that it has in C++."""
    plain = demangled(symbol)
    return symbol if plain is None else f"{plain} ({symbol})"
