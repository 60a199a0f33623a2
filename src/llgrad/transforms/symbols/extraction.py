"""What a derivative is made from: the part of a program that its roots reach."""

from __future__ import annotations

from collections.abc import Sequence

from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import direct_variables, mutable_globals, names_in, plain, without_idle_metadata
from llgrad.transforms.symbols.address_taken import called_types, may_call, met_types, used_in


def only(whole: LLVMModule, roots: Sequence[str], said: Sequence[str] = ()) -> str:
    """The program with what the roots reach, and its variables and registrations (`said` too), and what those name.

    Functions that pointers in variables may point to (`address_taken`) stay if what is reached calls
    one of their type, or has its address.
    """
    text = whole.text()
    named_too = {plain(name) for words in said for name in names_in(words)}
    met = met_types(text)
    kept = {*roots, *mutable_globals(text), *named_too} - met.keys()
    while True:
        work = whole.clone()
        work.cut(kept)
        called = called_types(work.text()) if met else set()
        more = {name for name, t in met.items() if may_call(called, t)} - kept
        more |= used_in(work.text(), text) - kept if met else set()
        if not more:
            return without_idle_metadata(direct_variables(work.text(), shown=False))
        kept |= more
