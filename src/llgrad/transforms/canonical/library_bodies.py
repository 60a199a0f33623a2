"""Functions of libraries, and intrinsics, get bodies: code like any other.

    %q = call ptr @realloc(ptr %p, i64 %n)                           %q = call ptr @llgrad.routine.realloc(…)
    %s = call double @llvm.vector.reduce.fadd.v4f64(…)          ->   %s = call double @llgrad.expanded.…(…)
    store ptr @sin, ptr %p                                           store ptr @llgrad.called.sin, ptr %p

Library routines that move or call back get those of `models.libc`; so do the trees and lists that are compiled inside
libstdc++ and libc++ (`runtime/cxx/containers.c`), which are inlined: each place links nodes of one kind. Reductions of
vectors and masked accesses are written out (`transforms.intrinsics.expansions`); earlier still, before anything is
optimised, matrices and what `immintrin.h` leaves.
"""

from __future__ import annotations

import functools
import re

from llgrad.ir.build import declare
from llgrad.ir.module import Module
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.rewrite import calls, edit_constants
from llgrad.ir.symbols import pointed_to, use_instead
from llgrad.ir.types import I32, METADATA, VOID, FunctionType
from llgrad.ir.values import AnyValue, ConstInt, Function
from llgrad.models import libc
from llgrad.rules import library
from llgrad.transforms.canonical.runtime_routines import compiled, linked
from llgrad.transforms.intrinsics.expansions import expansion, name_of

_COUNT = "_ZNSt3__119__shared_weak_count"
_NODE, _LIST = "St18_Rb_tree_node_base", "_ZNSt8__detail15_List_node_base"
CONTAINERS = {
    **dict.fromkeys((f"_ZSt18_Rb_tree_incrementP{_NODE}", f"_ZSt18_Rb_tree_incrementPK{_NODE}"), "tree_increment"),
    **dict.fromkeys((f"_ZSt18_Rb_tree_decrementP{_NODE}", f"_ZSt18_Rb_tree_decrementPK{_NODE}"), "tree_decrement"),
    f"_ZSt29_Rb_tree_insert_and_rebalancebP{_NODE}S0_RS_": "tree_insert_and_rebalance",
    f"_ZSt28_Rb_tree_rebalance_for_eraseP{_NODE}RS_": "tree_rebalance_for_erase",
    f"{_LIST}7_M_hookEPS0_": "list_hook", f"{_LIST}9_M_unhookEv": "list_unhook",
    f"{_LIST}11_M_transferEPS0_S1_": "list_transfer", f"{_LIST}10_M_reverseEv": "list_reverse",
    f"{_LIST}4swapERS0_S1_": "list_swap",
    **{f"_ZNSt3__16__sortIRNS_6__lessI{t}{t}EEP{t}EEvT0_S5_T_": f"sort_{t}" for t in "fdeijlm"},
    f"{_COUNT}14__release_weakEv": "shared_release_weak", f"{_COUNT}4lockEv": "shared_lock",
    **dict.fromkeys((f"{_COUNT}D2Ev", f"{_COUNT}D1Ev", "_ZNSt3__114__shared_countD2Ev"), "shared_end"),
    "__dynamic_cast": "cast",
}  # fmt: skip
"""What is compiled inside libstdc++ and libc++, and its name in `runtime/cxx/containers.c`."""
_BODIES = ("llgrad_tree_", "llgrad_list_", "llgrad_sort_", "llgrad_shared_", "llgrad_cast")


def _declared(module: Module) -> list[Function]:
    return [f for f in module.functions if f.is_declaration and f.linkage != "extern_weak"]


def with_routines(module: Module) -> bool:
    """Give the routines of the C library bodies, under names of llgrad's."""
    declared = {f.name for f in _declared(module)}
    found = libc.needed(declared)
    texts = [text for name, text in found.items() if f"{libc.PREFIX}{name}" not in module.globals]
    if not found:
        return False
    parse_function_text(module, "\n".join([*libc.DECLARATIONS, *texts]))
    use_instead(module, {n: module.function(f"{libc.PREFIX}{n}") for n in found if n in declared})
    return True


def with_containers(module: Module) -> Module | None:
    """The module with bodies for functions of libstdc++ and libc++; None where it calls none."""
    found = [f.name for f in _declared(module) if f.name in CONTAINERS]
    if not found:
        return None
    own = {name: f"llgrad_{CONTAINERS[name]}" for name in found}
    made = {new: declare(module, new, _types()[new].result, _types()[new].params) for new in own.values()}
    use_instead(module, {name: made[new] for name, new in own.items()})
    return linked(module, compiled("cxx/containers.c", "-fno-strict-aliasing", "-g0"), _BODIES)


@functools.cache
def _types() -> dict[str, FunctionType]:
    """The types of the functions that are linked."""
    module = parse(compiled("cxx/containers.c", "-fno-strict-aliasing", "-g0").text())
    return {f.name: f.function_type for f in module.functions}


def pointed_rules(module: Module) -> bool:
    """Let pointers to functions that have rules, allocate or free point to functions with bodies, which call them."""
    found = [f for f in module.functions if f.is_declaration and _may_be_led(f)]
    pointed = pointed_to(module) if found else set()
    made = {f: _leading(module, f) for f in found if f.name in pointed}
    words = [f"@{f.name}" for f in made]
    edit_constants(module, lambda c: made.get(c) if isinstance(c, Function) else None, *words, callees=False)
    return bool(made)


def _may_be_led(f: Function) -> bool:
    t = f.function_type
    simple = not t.vararg and METADATA not in t.params and not any(a.attribute("byval") for a in f.arguments)
    return simple and not f.name.startswith("llvm.") and library.is_differentiated(f.name)


def _leading(module: Module, f: Function) -> Function:
    """The function with a body that calls `f`."""
    own, t = f"llgrad.called.{f.name}", f.function_type
    if own not in module.globals:  # a derivative in the text may have brought it
        parameters = ", ".join(f"{p} %{n}" for n, p in enumerate(t.params))
        call = f"call {t.result} @{f.name}({parameters})"
        body = f"  {call}\n  ret void" if t.result == VOID else f"  %r = {call}\n  ret {t.result} %r"
        parse_function_text(module, f"define internal {t.result} @{own}({parameters}) {{\n{body}\n}}\n")
    return module.function(own)


# --- intrinsics ------------------------------------------------------------------------------------------------------

_PREDICATED = re.compile(r"llvm\.(?:experimental\.)?vp\.")
_EXPANDED = re.compile(
    r"llvm\.(?:vector\.(?:partial\.)?reduce\.f|experimental\.vector\.compress\.|masked\.|sincos\.|modf\.|frexp\.|"
    r"convert\.(?:to|from)\.fp16\.|mem(?:cpy|move|set)\.element\.|experimental\.memset\.pattern\.)"
)
_OF_X86 = re.compile(r"llvm\.x86\.")


def expanded(module: Module) -> bool:
    """Intrinsics that have one get the body of `transforms.intrinsics.expansions`."""
    predicated = _expanded(module, _PREDICATED)  # by masked accesses and reductions
    return _expanded(module, _EXPANDED) | predicated


def _expanded(module: Module, which: re.Pattern[str]) -> bool:
    made: dict[str, Function] = {}
    for f in [f for f in module.functions if f.is_declaration and which.match(f.name)]:
        if (new := _with_body(module, f, ())) is not None:
            made[f.name] = new
    use_instead(module, made)
    return bool(made)


def _with_body(module: Module, f: Function, sizes: tuple[int, ...]) -> Function | None:
    """The function that does what an intrinsic does; None for those that are left alone."""
    types, result = [str(t) for t in f.function_type.params], str(f.function_type.result)
    own = name_of(f.name, sizes)
    if own not in module.globals:
        body = expansion(f.name, types, result, sizes)
        if body is None:
            return None
        parse_function_text(module, f"{body}\n")
    return module.function(own)


def is_spelt_out(text: str) -> bool:
    """May a text call intrinsics of x86, or of matrices?"""
    return "@llvm.x86." in text or "@llvm.matrix." in text


def spelt_out(module: Module) -> bool:
    """Intrinsics of x86 get bodies that any processor can run, as functions lose what they say about theirs; those of
    matrices get bodies for the sizes that they are called with: nothing else knows them."""
    changed = _expanded(module, _OF_X86)
    for c in calls(module, "llvm.matrix."):
        f = c.called_function
        new = _with_body(module, f, _sizes(c.arguments)) if f is not None else None
        if new is not None:
            c.set_operand(c.arity, new)
            changed = True
    return changed


def _sizes(given: list[AnyValue]) -> tuple[int, ...]:
    """The sizes that an intrinsic of matrices is given last."""
    sizes: list[int] = []
    for v in reversed(given[1:]):
        if not isinstance(v, ConstInt) or v.type != I32:
            break
        sizes.insert(0, v.signed)
    return tuple(sizes)
