"""Machine code from a module: object files and assembly.

Contract: the module that is passed in stays as it was: code generation works on a copy.
Modules with hazards (`text.hazards`) are compiled in a child process.
"""

from __future__ import annotations

from llgrad.llvm import target
from llgrad.llvm.bfloat import with_brain_floats
from llgrad.llvm.isolate import run_job
from llgrad.llvm.module import LLVMModule
from llgrad.llvm.text import for_jit


def emit_object(module: LLVMModule, cpu: str = "native", opt_level: int = 3, reloc: str = "pic") -> bytes:
    """The module as a relocatable object file for the system's linker."""
    return _emit(with_brain_floats(module), cpu, opt_level, reloc, assembly=False)


def emit_assembly(module: LLVMModule, cpu: str = "native", opt_level: int = 3, reloc: str = "pic") -> str:
    """The module as the host's assembly language."""
    return _emit(with_brain_floats(module), cpu, opt_level, reloc, assembly=True).decode()


def emit_jit_object(module: LLVMModule, cpu: str = "native", opt_level: int = 3) -> bytes:
    """The module as the object file that `jit.Engine` loads; its constructors are a function there."""
    text = for_jit(module.text())
    prepared = module if text == module.text() else LLVMModule.from_text(text)
    return _emit(with_brain_floats(prepared), cpu, opt_level, "pic", assembly=False)


def emit_own_object(module: LLVMModule) -> bytes:
    """Such an object file of what `for_jit` has nothing to change in, and has no bfloat: the module is not printed."""
    return _emit(module, "native", 3, "pic", assembly=False)


def _emit(module: LLVMModule, cpu: str, opt: int, reloc: str, *, assembly: bool) -> bytes:
    target.target_machine(cpu, opt, reloc)  # reports wrong arguments here, not in the child
    if module.hazards:
        job = "assembly" if assembly else "object"
        return run_job(job, module.bitcode(), cpu=cpu, opt=opt, reloc=reloc)[0]
    return emit_here(module, cpu, opt, reloc, assembly=assembly)


def emit_here(module: LLVMModule, cpu: str, opt: int, reloc: str, *, assembly: bool, known: bool = False) -> bytes:
    """Code generation in this process; `known` takes the CPU's name on trust."""
    name, features = (cpu, "") if known else target.resolve_cpu(cpu)
    if reloc == "pic" and target.host_triple().startswith("x86_64") and _asks_for_thread_locals(module):
        features = ",".join(filter(None, (features, _WITHOUT_UPPER_REGISTERS)))
    machine = target.machine_of(name, features, opt, reloc)
    return module.clone().emit(machine, assembly=assembly)


_WITHOUT_UPPER_REGISTERS = "-avx512f"
"""LLVM 22 keeps values in xmm16 to xmm31 across `__tls_get_addr`, which may change them: a thread's first access to the
variables of a shared library fills memory."""
_WIDEST = ("<8 x double>", "<8 x i64>", "<16 x float>", "<16 x i32>", "<32 x i16>", "<64 x i8>")
"""What is passed otherwise without them."""


def _asks_for_thread_locals(module: LLVMModule) -> bool:
    return module.has_thread_locals() and not any(_needs_upper_registers(name, t) for name, t in module.types())


def _needs_upper_registers(name: str, type: str) -> bool:
    """Has a function no other instructions, or is it called otherwise without them?"""
    if name.startswith("llvm."):
        return name.startswith("llvm.x86.avx512")
    return any(t in type for t in _WIDEST)
