"""What a derivative is made from: the part of a program that its roots reach."""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.analysis.memory.call_effects import MET
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import (
    definitions,
    direct_variables,
    lengths,
    mutable_globals,
    names_in,
    plain,
    without_idle_metadata,
)
from llgrad.transforms.symbols.address_taken import called_types, may_call, met_types, used_in


def only(whole: LLVMModule, roots: Sequence[str], said: Sequence[str] = (), *, addressed: bool = False) -> str:
    """The program with what the roots reach, and its variables and registrations (`said` too), and what those name.

    Functions that pointers in variables may point to (`address_taken`) stay if what is reached calls
    one of their type, or has its address. `addressed`: only if it has.
    """
    text = whole.text()
    named_too = {plain(name) for words in said for name in names_in(words)}
    met = met_types(text)
    kept = {*roots, *mutable_globals(text), *named_too} - met.keys()
    while True:
        work = whole.clone()
        work.cut(kept)
        called = called_types(work.text()) if met and not addressed else set()
        more = {name for name, t in met.items() if may_call(called, t)} - kept
        more |= used_in(work.text(), text) - kept if met else set()
        if not more:
            return without_idle_metadata(direct_variables(work.text(), shown=False))
        kept |= more


def addressed(whole: LLVMModule, roots: Sequence[str], said: Sequence[str]) -> str:
    """`only` without the functions of whose types the roots call some, where that is less than half of it; else "".

    Optimised, it may show what is called: a library has many kernels of a type, and one in a record.
    """
    if not (met := met_types(whole.text())):
        return ""
    text = only(whole, roots, said, addressed=True)
    there, called = set(definitions(text)), called_types(text)
    others = {name.removeprefix(MET) for name, t in met.items() if name not in there and may_call(called, t)}
    return text if sum(lengths(whole.text(), others - there).values()) > sum(lengths(text, there).values()) else ""
