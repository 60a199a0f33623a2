"""LLVM for GPUs: modules of another target are read, optimised for it and compiled to its assembly (PTX).

Contract: text in, text out; nothing of another target becomes an `LLVMModule`, which is for the host. Each call has a
context of its own. Errors are the typed ones of `llvm.module`.
"""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from llgrad.errors import ArgumentError, VerifyError
from llgrad.llvm import target
from llgrad.llvm.module import BITCODE_MAGIC, parsed

NVPTX = "nvptx64-nvidia-cuda"
LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
ARCHITECTURE = "sm_80"


def is_for_gpu(data: bytes) -> bool:
    """Is it a module for the NVPTX target? (Bitcode says so in its identification, assembly in its triple.)"""
    return b"nvptx64-" in data if data.startswith(BITCODE_MAGIC) else b'target triple = "nvptx64-' in data


def printed(data: bytes | str) -> str:
    """The assembly of bitcode or assembly, as this LLVM prints it."""
    return str(_read(data))


def optimised(text: str, level: int = 2, cpu: str = ARCHITECTURE) -> str:
    """A module for the GPU, optimised for it."""
    module, machine = _read(text), _machine(cpu, level)
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = options.slp_vectorization = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return str(module)


def ptx(text: str, cpu: str = ARCHITECTURE) -> str:
    """The PTX of a module for the GPU."""
    try:
        return str(_machine(cpu, 3).emit_assembly(_read(text)))
    except RuntimeError as error:
        raise VerifyError("LLVM cannot generate code for the GPU", cause=str(error)) from error


def _machine(cpu: str, level: int) -> llvm.TargetMachine:
    if not cpu.removeprefix("sm_").rstrip("a").isdigit():
        raise ArgumentError(f"{cpu!r} is no architecture of a GPU", fix="name one such as sm_80")
    _initialise()
    return llvm.Target.from_triple(NVPTX).create_target_machine(cpu=cpu, opt=level)


@functools.cache
def _initialise() -> None:
    target.initialise()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _read(data: bytes | str) -> llvm.ModuleRef:
    _initialise()
    if isinstance(data, bytes) and data.startswith(BITCODE_MAGIC):
        module = parsed(lambda context: llvm.parse_bitcode(data, context))
    else:
        text = data if isinstance(data, str) else data.decode(errors="surrogateescape")
        module = parsed(lambda context: llvm.parse_assembly(text, context))
    try:
        module.verify()
    except RuntimeError as error:
        raise VerifyError("LLVM rejects the module for the GPU", cause=str(error)) from error
    return module
