"""Alias scopes of generated code: primal memory, shadow memory and the tape never overlap.

That is what a shadow is (the caller's contract, checked by the Python API) but under runtime activity, and the tape is
llgrad's own. Nothing is
said of two primal or two shadow accesses: `dot(a, b)` may be called with one array twice (decision 3 of the design).
"""

from __future__ import annotations

from weakref import WeakKeyDictionary, WeakSet

from llgrad.ir.module import Module
from llgrad.ir.values import Instruction, MDRef

_MADE: WeakKeyDictionary[Module, dict[str, dict[str, MDRef]]] = WeakKeyDictionary()
_STACK_ON_TAPE: WeakSet[Module] = WeakSet()
_SHADOW_MAY_BE_PRIMAL: WeakSet[Module] = WeakSet()
_NAMES = ("primal", "shadow", "tape")


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
    i.metadata = {**i.metadata, **_MADE[module][memory]}


def _make(module: Module) -> dict[str, dict[str, MDRef]]:
    domain = module.add_metadata('distinct !{!"llgrad"}')
    scopes = {n: module.add_metadata(f'distinct !{{!"llgrad.{n}", !{domain.id}}}') for n in _NAMES}
    return {
        n: {
            "alias.scope": module.add_metadata(f"!{{!{scopes[n].id}}}"),
            "noalias": module.add_metadata("!{" + ", ".join(f"!{scopes[o].id}" for o in _NAMES if o != n) + "}"),
        }
        for n in _NAMES
    }
