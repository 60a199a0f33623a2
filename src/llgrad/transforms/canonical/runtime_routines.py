"""Routines of llgrad's own runtime, which are compiled once and linked into programs that call them."""

from __future__ import annotations

import functools
from pathlib import Path

from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.symbols import is_local, make_local
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule


@functools.cache
def compiled(source: str, *options: str) -> LLVMModule:
    """The module of a source in `runtime/`."""
    from llgrad.frontends import compile_sources

    path = Path(__file__).parents[2] / "runtime" / source
    return LLVMModule.read(compile_sources([path], [*options, "-w"]).modules[0])


def linked(module: Module, routines: LLVMModule, own: str | tuple[str, ...]) -> Module:
    """The module with routines linked into it; those whose names begin with `own` are its alone."""
    whole = LLVMModule.from_text(write(module))
    whole.link(routines)
    made = parse(whole.text())
    for f in made.functions:
        if f.name.startswith(own) and not f.is_declaration and not is_local(f) and f.linkage != "weak":
            make_local(f)
    return made
