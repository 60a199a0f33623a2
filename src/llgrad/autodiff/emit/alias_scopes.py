"""Alias scopes of generated code: primal memory, shadow memory and the tape never overlap.

That is what a shadow is (the caller's contract, checked by the Python API) but under runtime activity, and the tape is
llgrad's own. Nothing is
said of two primal or two shadow accesses: `dot(a, b)` may be called with one array twice (decision 3 of the design).
What the input says of two primal accesses (scopes that LLVM makes of `restrict` parameters when it inlines) is true of
their copies in a sweep that runs forwards, where the declarations of the scopes are copied, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from weakref import WeakKeyDictionary, WeakSet

from llgrad.ir.build import Builder, declare
from llgrad.ir.module import Module
from llgrad.ir.types import METADATA, VOID
from llgrad.ir.values import Instruction, MDRef, MetadataValue

_MADE: WeakKeyDictionary[Module, dict[str, dict[str, MDRef]]] = WeakKeyDictionary()
_STACK_ON_TAPE: WeakSet[Module] = WeakSet()
_SHADOW_MAY_BE_PRIMAL: WeakSet[Module] = WeakSet()
_NAMES = ("primal", "shadow", "tape")
_JOINED: WeakKeyDictionary[Module, dict[tuple[MDRef, MDRef], MDRef]] = WeakKeyDictionary()
SCOPES = "llvm.experimental.noalias.scope.decl"
MOST_COLUMNS = 32  # of a block, to tell apart: each names all others


def stack_on_tape(module: Module) -> None:
    """Stack memory and its shadow live in the arena here; later blocks may reuse their addresses: nothing is said."""
    _STACK_ON_TAPE.add(module)


def shadow_may_be_primal(module: Module) -> None:
    """Runtime activity: shadow memory may be primal memory."""
    _SHADOW_MAY_BE_PRIMAL.add(module)


def mark(module: Module, i: Instruction, memory: str) -> None:
    """Say that `i` accesses "primal", "shadow" or "tape" memory only."""
    if memory == "tape" and module in _STACK_ON_TAPE:
        return
    if memory == "shadow" and module in _SHADOW_MAY_BE_PRIMAL:
        memory = "primal"
    if module not in _MADE:
        _MADE[module] = _make(module)
    _add(module, i, _MADE[module][memory])


def columns(module: Module, b: Builder, keys: Sequence[Hashable]) -> dict[Hashable, dict[str, MDRef]]:
    """A scope for each column of a block that has just been reserved, declared here: what is said of a store into it.

    It is said of stores alone. A load of the tape may read any column, so nothing moves from a block to the next one
    that has its address.
    """
    if not 1 < len(keys) <= MOST_COLUMNS or module in _STACK_ON_TAPE:
        return {}
    domain = _unique(module, '!"llgrad.columns"')
    scopes = [_unique(module, f'!{domain.id}, !"llgrad.column"') for _ in keys]
    own = [module.add_metadata(f"!{{!{scope.id}}}") for scope in scopes]
    for one in own:
        b.call(declare(module, SCOPES, VOID, [METADATA]), [MetadataValue(METADATA, f"!{one.id}")])
    others = [", ".join(f"!{x.id}" for x in scopes if x is not scope) for scope in scopes]
    return {
        key: {"alias.scope": one, "noalias": module.add_metadata(f"!{{{rest}}}")}
        for key, one, rest in zip(keys, own, others, strict=True)
    }


def mark_column(module: Module, i: Instruction, column: dict[str, MDRef]) -> None:
    """Say that `i` stores into a column made by `columns`; after `mark`."""
    _add(module, i, column)


def _add(module: Module, i: Instruction, own: dict[str, MDRef]) -> None:
    joined = {k: _joined(module, i.metadata[k], v) if k in i.metadata else v for k, v in own.items()}
    i.metadata = {**i.metadata, **joined}


def _joined(module: Module, given: MDRef, own: MDRef) -> MDRef:
    """One list of both lists' scopes."""
    known = _JOINED.setdefault(module, {})
    if (given, own) not in known:
        scopes = [ref for one in (given, own) for ref in module.node(one).operands]
        known[given, own] = module.add_metadata("!{" + ", ".join(f"!{ref.id}" for ref in scopes) + "}")
    return known[given, own]


def _unique(module: Module, rest: str) -> MDRef:
    """A node that refers to itself: LLVM makes one of those that do not, where it inlines functions."""
    made = module.add_metadata("distinct !{}")
    module.raw_metadata[made.id] = f"distinct !{{!{made.id}, {rest}}}"
    return made


def _make(module: Module) -> dict[str, dict[str, MDRef]]:
    domain = _unique(module, '!"llgrad"')
    scopes = {n: _unique(module, f'!{domain.id}, !"llgrad.{n}"') for n in _NAMES}
    return {
        n: {
            "alias.scope": module.add_metadata(f"!{{!{scopes[n].id}}}"),
            "noalias": module.add_metadata("!{" + ", ".join(f"!{scopes[o].id}" for o in _NAMES if o != n) + "}"),
        }
        for n in _NAMES
    }
