"""Machine code to compare the interpreter with: llvmlite's MCJIT, and C and C++ compiled by clang."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from llgrad.ir.module import Module
from llgrad.ir.parse import parse

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
for library in ("libm.so.6", "libgcc_s.so.1"):  # wide division, fp128 and half arithmetic
    llvm.load_library_permanently(library)


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


def module(text: str) -> Module:
    """A module from hand-written assembly, by way of LLVM."""
    checked = llvm.parse_assembly(text)
    checked.verify()
    return parse(str(checked))


class Jit:
    """A module of LLVM assembly as machine code, not optimised."""

    def __init__(self, text: str) -> None:
        module = llvm.parse_assembly(text)
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.module = module
        for function in module.functions:  # MCJIT would crash at the call
            known = function.name.startswith("llvm.") or llvm.address_of_symbol(function.name)
            assert not function.is_declaration or known, function.name
        self.engine.finalize_object()

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function as ctypes sees it."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.engine.get_function_address(name))

    def kernel(self, name: str, data: bytes, size: int) -> bytes:
        """Run `void name(ptr out, ptr in)` on 64-byte aligned memory; the `size` bytes of its output."""
        source = _aligned(max(len(data), 1))
        target = _aligned(size)
        ctypes.memmove(source, data, len(data))
        self.function(name, None, ctypes.c_void_p, ctypes.c_void_p)(target, source)
        return ctypes.string_at(target, size)


_KEPT: list[Any] = []


def _aligned(size: int) -> int:
    buffer = ctypes.create_string_buffer(size + 64)
    _KEPT.append(buffer)
    del _KEPT[:-4]
    return (ctypes.addressof(buffer) + 63) & ~63


def compiler(language: str) -> list[str]:
    """clang for C or C++: the system's, else the one of the ziglang wheel."""
    system = shutil.which("clang-22" if language == "c" else "clang++-22")
    if system:
        return [system]
    return [sys.executable, "-m", "ziglang", "cc" if language == "c" else "c++", "-fno-sanitize=all"]


def assembly(source: str, folder: Path, *flags: str, language: str = "c") -> str:
    """LLVM assembly of a C or C++ source, as llvmlite prints it."""
    file = folder / ("source." + language)
    file.write_text(source)
    target = folder / "source.ll"
    command = [*compiler(language), "-S", "-emit-llvm", "-fno-math-errno", *flags, str(file), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(llvm.parse_assembly(target.read_text()))
