"""`make runtime`: the arena's C as bitcode that llgrad ships, so that users need no compiler for it.

    define weak hidden ptr @llgrad.tape.grow(…) #1   ->   define linkonce_odr hidden ptr @llgrad.tape.grow(…)
    attributes #1 = { noinline "target-cpu"="x86-64" … }      noinline

The bitcode names no machine, no CPU and no options of a compiler: it is linked to any module. `SOURCE`, a constant in
it, is the hash of the C file; nothing refers to it, and so no program gets it.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from llgrad.autodiff.emit.arena_runtime import FOLDER, shipped
from llgrad.frontends.c.clang import find_compiler
from llgrad.frontends.common.tools import run
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import DataLayout
from llgrad.ir.values import Attribute, Function
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

SOURCE = "llgrad.tape.source"
_FLAGS = (
    "-std=c11", "-O2", "-g0", "-fno-discard-value-names", "-fwrapv-pointer", "-fno-strict-aliasing", "-fno-vectorize",
    "-fno-slp-vectorize", "-fno-unroll-loops", "-fno-stack-protector", "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
    "-Wno-unused-command-line-argument",
    "-Xclang", "-no-enable-noundef-analysis",  # the offset of a column that nobody uses may be poison
)  # fmt: skip


def source_hash() -> str:
    return hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in ("arena.c", "team.h"))).hexdigest()


def built(each_block_its_own: bool) -> bytes:
    """The bitcode of `shipped(each_block_its_own)`, made anew by the C compiler that there is."""
    compiler, source = find_compiler(), FOLDER / "arena.c"
    variant = f"-DEACH_BLOCK_ITS_OWN={int(each_block_its_own)}"
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        made = Path(folder, "arena.bc")
        flags = [*compiler.flags, *_FLAGS, variant]
        run([*compiler.c, *flags, "-emit-llvm", "-c", "-o", str(made), str(source)], source, "correct arena.c")
        module = parse(LLVMModule.read(made.read_bytes()).text())
    _for_any_program(module)
    text = f'@{SOURCE} = linkonce_odr hidden constant [64 x i8] c"{source_hash()}"\n'
    return LLVMModule.from_text(write(module) + text).portable()


def _for_any_program(module: Module) -> None:
    module.source_filename, module.layout = "arena.c", DataLayout()
    module.named_metadata.clear()
    for value in module.globals.values():
        if value.linkage == "weak":
            value.linkage = "linkonce_odr"
        value.prefix = tuple(word for word in value.prefix if word != "dso_local")
        if isinstance(value, Function):
            value.attributes = tuple(a for a in value.attributes if _is_lasting(a))


def _is_lasting(attribute: Attribute) -> bool:
    """Does it say something of the function, and not of the CPU or of options of the compiler?"""
    return not attribute.string or attribute.name == "alloc-family"


if __name__ == "__main__":
    for variant in (False, True):
        shipped(variant).write_bytes(built(variant))
