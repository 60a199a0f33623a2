"""Which derivatives are parallel where the program is: tried first, else made for one thread, with a warning why.

    first(make, "energy", wanted=True)      make(True); make(False) and a warning where that is refused
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from llgrad.autodiff.requests.request import Mode, Request
from llgrad.errors import UnsupportedError, warn
from llgrad.ir.module import Module
from llgrad.ir.symbols import named
from llgrad.transforms.canonical.teams import is_fork

SERIAL = "LLGRAD_SERIAL"  # in the environment: derivatives run in one thread
FAILS = {"llgrad_fail", *(f"llgrad.tape.{name}" for name in ("defer", "hold", "watch"))}
_OPENS = "@__kmpc_fork_call"

Made = TypeVar("Made")


def opens(text: str) -> bool:
    """Are there parallel regions in a program that may stay parallel?"""
    return _OPENS in text and not os.environ.get(SERIAL)


def may_be(requests: Sequence[Request]) -> bool:
    """Are these derivatives of a kind that is parallel where the program is?"""
    modes = (Mode.FORWARD, Mode.COMBINED)
    return all(r.mode in modes and r.inner is None and not r.checkpoint and not r.runtime_activity for r in requests)


def first(make: Callable[[bool], Made], name: str, wanted: bool) -> Made:
    """What is made for teams, where that is `wanted` and not refused; else what is made for one thread."""
    if not wanted:
        return make(False)
    try:
        return make(True)
    except UnsupportedError as error:
        refused = error
    made = make(False)
    warn(
        f"the derivative of {name} runs in one thread, though the function is parallel", span=refused.span,
        cause=refused.message, fix=f"ask for that ({SERIAL}=1, --serial, serial=True), or write it in another way",
    )  # fmt: skip
    return made


def refuse_failing(module: Module) -> None:
    """UnsupportedError where a thread of a team may fail: it cannot end the derivative, which its caller runs."""
    functions = {f.name: f for f in module.functions if not f.is_declaration}
    work = [name for name, f in functions.items() if is_fork(f)]
    seen = set(work)
    while work:
        names = named(functions[name := work.pop()])
        if names & FAILS:
            what = "a test that may fail" if "llgrad_fail" in names else "a release that waits for the reverse sweep"
            raise UnsupportedError(f"{what} in a parallel region (@{name})")
        found = names & functions.keys() - seen
        seen |= found
        work += found
