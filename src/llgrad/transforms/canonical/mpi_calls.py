"""MPI's functions that move floats get rules, in a program that is prepared to be differentiated.

    declare i32 @MPI_Send(ptr, i32, …)
    ->
    declare i32 @MPI_Send(ptr readonly captures(none), i32, …)
    declare { ptr, i32 } @__llgrad_Send_augmented(ptr, ptr, i32, …) "llgrad.mpi"="/usr/include/…"
    @__enzyme_register_gradient_MPI_Send = global [3 x ptr] [ptr @MPI_Send, ptr @__llgrad_Send_augmented, …]

The rules (`runtime/mpi/mpi.c`) are registered as a user's are. They are in C, and compiled with the `mpi.h` that the
program was compiled with, which debug info tells, or with that of `mpicc`: what a handle is, and what constants mean,
differs from one MPI to another. Analyses see declarations; `with_rules` brings the bodies when a derivative is
finished. A program that declares a function otherwise gets no rule, and is refused where active values reach it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from llgrad.ir.build import declare
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import PTR, ArrayType, FunctionType, PointerType
from llgrad.ir.values import Attribute, ConstAggregate, Function, GlobalVariable
from llgrad.llvm import LLVMModule
from llgrad.models import mpi
from llgrad.transforms.canonical.runtime_routines import compiled, linked
from llgrad.transforms.pass_manager import IR, Unit

OWN = "__llgrad_"
_FOLDER = "llgrad.mpi"  # attribute of a rule without a body: where the mpi.h is that it is compiled with
_FORGOTTEN = Attribute("captures", "none")
_SAID = {  # of the pointers that a function has for a letter
    "r": (Attribute("readonly"), _FORGOTTEN), "w": (Attribute("writeonly"), _FORGOTTEN), "b": (_FORGOTTEN,),
    "c": (Attribute("readonly"), _FORGOTTEN), "s": (Attribute("writeonly"), _FORGOTTEN),
    "R": (Attribute("readonly"),), "C": (Attribute("readonly"),), "W": (), "B": (),
    "q": (_FORGOTTEN,), "f": (_FORGOTTEN,),
    "t": (Attribute("readnone"), _FORGOTTEN), ".": (Attribute("readnone"), _FORGOTTEN),
}  # fmt: skip


def with_mpi(unit: Unit) -> bool:
    """Link the rules of what the program declares; are there any?"""
    if f"@{mpi.PREFIX}" not in unit.text():
        return False
    module = unit.ir()
    declared = [f for f in module.functions if f.is_declaration and mpi.moves(f.name)]
    ruled = {name for g in module.globals if (name := g.partition("__enzyme_register_gradient_")[2])}
    wanted = [f for f in declared if f.name not in ruled]
    folder = _folder(module, wanted) if wanted else None
    if folder is None:
        return False
    own = {f.name: f.function_type for f in parse(_compiled(folder).text()).functions}
    if any(own[f.name] != f.function_type for f in wanted):
        return False
    for f in wanted:
        _describe(f)
        _register(module, f, own, str(folder))
    unit.changed(IR)
    return True


def _compiled(folder: Path) -> LLVMModule:
    """All rules, with the `mpi.h` of a folder."""
    return compiled("mpi/mpi.c", "-g0", f"-I{folder}")


def _register(module: Module, f: Function, types: Mapping[str, FunctionType], folder: str) -> None:
    """Declare the rule of a function, and say that it is one."""
    parts: dict[str, Function] = {}
    for word in ("augmented", "reverse", "forward"):
        name = f"{OWN}{f.name.removeprefix(mpi.PREFIX)}_{word}"
        parts[word] = declare(module, name, types[name].result, types[name].params)
        parts[word].attributes = (Attribute(_FOLDER, folder, string=True),)
    for kind, words in (("gradient", ("augmented", "reverse")), ("derivative", ("forward",))):
        whole = ConstAggregate(ArrayType(PTR, len(words) + 1), (f, *(parts[word] for word in words)))
        module.add(GlobalVariable(f"__enzyme_register_{kind}_{f.name}", whole.type, whole))


def has_rules(text: str) -> bool:
    """Does a text call rules that have no bodies yet?"""
    return f'"{_FOLDER}"' in text and f"@{OWN}" in text


def with_rules(module: Module) -> Module | None:
    """The module with bodies for the rules that it calls; None where it calls none."""
    called = {f.name: said.value for f in module.functions
              if f.is_declaration and (said := f.attribute(_FOLDER)) is not None}  # fmt: skip
    if not called:
        return None
    (folder,) = set(called.values())
    part = _compiled(Path(str(folder))).clone()
    part.cut(sorted(called))
    return linked(module, part, OWN)


def _describe(f: Function) -> None:
    """Say of its pointers what MPI says."""
    for a, letter in zip(f.arguments, mpi.moves(f.name), strict=True):
        if isinstance(a.type, PointerType):
            said = _SAID[letter]
            a.attributes = (*(x for x in a.attributes if x.name not in {s.name for s in said}), *said)


def _folder(module: Module, wanted: list[Function]) -> Path | None:
    """Where the program's `mpi.h` is; None where nothing tells."""
    spans = [module.definition(f.name) for f in wanted]
    told = [Path(span.folder, span.file).parent for span in spans if span is not None and span.file]
    return next((folder for folder in dict.fromkeys([*told, *_installed()]) if (folder / "mpi.h").is_file()), None)


def _installed() -> list[Path]:
    """The include folders that `mpicc` tells, of Open MPI and of MPICH."""
    found = []
    if shutil.which("mpicc"):
        for question in ("-show", "--showme"):
            said = subprocess.run(["mpicc", question], capture_output=True, text=True, check=False)
            found += [Path(word[2:]) for word in said.stdout.split() if word.startswith("-I")]
    return found
