"""Functions of libm compute and do nothing else, in a program that does not read errno (decision 10).

    declare double @sin(double)    ->    declare double @sin(double) nounwind willreturn memory(none)

`lgamma` writes the sign of gamma to `signgam`, too. A program that looks there calls `lgamma_r` instead, which says so:

    %y = call double @lgamma(double %x)    ->    %y = call double @lgamma_r(double %x, ptr @signgam)
"""

from __future__ import annotations

from llgrad.analysis.call_shapes import fits
from llgrad.errors import ParseError
from llgrad.ir.build import call_instead, declare
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import calls
from llgrad.ir.types import PTR
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.rules import library

_LOG_GAMMA = {f"{name}{end}": f"lgamma{end}_r" for name in ("lgamma", "gamma") for end in ("", "f", "l", "f128")}
_PURE = ("nounwind", "willreturn", "memory")  # LLVM's C interface adds `memory` as `memory(none)`


def pure_libm(work: LLVMModule) -> bool:
    """Say of each function of libm that the program declares that it computes; is there any?"""
    declared = work.declarations()
    changed = "signgam" in declared and not declared.keys().isdisjoint(_LOG_GAMMA) and _signs_of_gamma(work)
    if "__errno_location" in declared:
        return changed
    pure = {name for name, type in declared.items() if _computes(name) and _is_known_as(name, type)}
    work.describe(_PURE, pure)
    return changed or bool(pure)


def _computes(name: str) -> bool:
    entry = library.lookup(name)
    computes = entry is not None and "pointer" not in entry.rule.operands and entry.shape != "byval"
    return computes and not name.startswith("llvm.")


def _is_known_as(name: str, type: str) -> bool:
    """Is that the type of the function that is known by this name?"""
    try:
        t = parse(f"declare {type.replace(' (', ' @f(', 1)}\n").function("f").function_type
    except ParseError:  # it takes structs that have names
        return False
    return not t.vararg and fits(name, t.result, t.params)


def _signs_of_gamma(work: LLVMModule) -> bool:
    """Calls of `lgamma` say that they write the sign of gamma to `signgam`; are there any?"""
    module = parse(work.text())
    found = {c: f.name for c in calls(module, *_LOG_GAMMA) if (f := c.called_function) and f.name in _LOG_GAMMA}
    for call, name in found.items():
        t, given = call.function_type, [*call.arguments, module.globals["signgam"]]
        call_instead(call, declare(module, _LOG_GAMMA[name], t.result, [*t.params, PTR]), given)
    if found:
        work.replace_text(write(module))
    return bool(found)
