"""A GPU without one: kernels of a module for the GPU, compiled for the host and run thread by thread.

    emulated = Emulator(text)                       # assembly or bitcode for nvptx64
    emulated.launch("kernel", grid, block, [x, y, np.int32(n)])

Blocks run one after another, the threads of a block as fibers that meet at barriers (`runtime/gpu/emulator.c`). Shared
memory begins as NaN. Arguments are NumPy arrays (pointers) and scalars of the type that the kernel takes. A block whose
threads do not all come to a barrier is an error; accesses out of bounds are not found.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llgrad.errors import ArgumentError, UnknownNameError, UnsupportedError
from llgrad.frontends.c.clang import find_compiler
from llgrad.frontends.common.tools import run
from llgrad.gpu.host_view import host_view
from llgrad.ir.build import zero
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.symbols import rename
from llgrad.ir.types import I8, ArrayType, FloatType, IntType, PointerType, Type
from llgrad.ir.values import Function
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.models.gpu import INTRINSIC, KERNEL, SHARED, SPACE
from llgrad.rules.libdevice import OWN, PREFIX
from llgrad.rules.library import lookup

RUNTIME = Path(__file__).parents[1] / "runtime" / "gpu" / "emulator.c"
THUNK = "llgrad_thunk_"
MOST_THREADS, DYNAMIC_BYTES = 1024, 96 << 10
Dim = int | Sequence[int]
_ERRORS = {
    1: "a thread ended, or waited elsewhere, while others of its block waited at a barrier",
    2: "there is not enough memory for the threads' stacks",
    3: "a thread stopped: __trap, or a derivative that cannot go on",
}


class Emulator:
    """The kernels of a module for the GPU."""

    def __init__(self, source: bytes | str) -> None:
        module = parse(host_view(source))
        self.kernels = {f.name: f for f in module.functions if f.attribute(KERNEL) is not None and not f.is_declaration}
        self.parameters = {name: [a.type for a in f.arguments] for name, f in self.kernels.items()}
        self._shared = {
            v.name: module.layout.alloc_size(v.value_type)
            for v in module.variables if f'"{SPACE}{SHARED}"' in v.suffix and not v.is_declaration
        }  # fmt: skip
        _for_host(module)
        for name in self._shared:
            module.globals[name].linkage = "external"
        thunks = [_thunk(f, n) for n, f in enumerate(self.kernels.values())]
        self._folder = tempfile.TemporaryDirectory(prefix="llgrad-")
        self._library = ctypes.CDLL(_compiled(write(module) + "\n".join(thunks), Path(self._folder.name)))

    def launch(
        self, name: str, grid: Dim, block: Dim, arguments: Sequence[Any], *, last_first: bool = False
    ) -> None:
        """Run a kernel; arrays are changed in place.

        `last_first`: between two barriers, the last thread runs first. A kernel whose result depends on it has a race.
        """
        if name not in self.kernels:
            raise UnknownNameError(f"there is no kernel {name}", fix=f"use one of {', '.join(self.kernels)}")
        sizes = [_three(grid), _three(block)]
        if (count := sizes[1][0] * sizes[1][1] * sizes[1][2]) > MOST_THREADS or min(*sizes[0], *sizes[1]) < 1:
            raise ArgumentError(f"a block of {count} threads", fix=f"use 1 to {MOST_THREADS} threads")
        held = _arguments(name, self.parameters[name], arguments)
        given = (ctypes.c_void_p * len(held))(*(ctypes.addressof(value) for value in held))
        thunk = getattr(self._library, f"{THUNK}{list(self.kernels).index(name)}")
        ctypes.c_int.in_dll(self._library, "llgrad_last_first").value = last_first
        places = [ctypes.addressof(ctypes.c_char.in_dll(self._library, shared)) for shared in self._shared]
        result = self._library.llgrad_launch(
            thunk, given, *((ctypes.c_uint32 * 3)(*size) for size in sizes), ctypes.c_uint64(len(places)),
            (ctypes.c_void_p * len(places))(*places), (ctypes.c_uint64 * len(places))(*self._shared.values()),
        )  # fmt: skip
        if result:
            raise UnsupportedError(f"the launch of {name} failed: {_ERRORS[result]}")


def _three(size: Dim) -> tuple[int, int, int]:
    given = (size,) if isinstance(size, int) else tuple(size)
    if not 1 <= len(given) <= 3:
        raise ArgumentError(f"{size!r} is no size of a grid or block", fix="give one to three integers")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def _arguments(name: str, types: Sequence[Type], arguments: Sequence[Any]) -> list[Any]:
    """The arguments as ctypes' values, which hold their bytes."""
    if len(types) != len(arguments):
        raise ArgumentError(f"{name} takes {len(types)} arguments, not {len(arguments)}")
    held: list[Any] = []
    for n, (t, value) in enumerate(zip(types, arguments, strict=True)):
        if isinstance(t, PointerType):
            if not hasattr(value, "ctypes") or not value.flags.c_contiguous or not value.flags.writeable:
                raise ArgumentError(f"argument {n} of {name} is no contiguous array that may be written")
            held.append(ctypes.c_void_p(value.ctypes.data))
        elif (made := _SCALARS.get(str(t))) is not None and isinstance(t, FloatType | IntType):
            held.append(made(float(value) if isinstance(t, FloatType) else int(value)))
        else:
            raise UnsupportedError(f"argument {n} of {name} is of type {t}")
    return held


_SCALARS: dict[str, Any] = {
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "float": ctypes.c_float,
    "double": ctypes.c_double,
}  # fmt: skip


def _for_host(module: Module) -> None:
    """Give what a program for the GPU leaves open: dynamic shared memory, and libm's functions for libdevice's."""
    for g in module.globals.values():
        g.prefix = tuple(word for word in g.prefix if word != "dso_local")
    for v in module.variables:
        shared = f'"{SPACE}{SHARED}"' in v.suffix
        v.suffix = v.suffix.partition(f', section "{SPACE}')[0]
        v.prefix = tuple(word for word in v.prefix if word != "externally_initialized")
        if shared and v.is_declaration:
            v.value_type = ArrayType(I8, DYNAMIC_BYTES)
            v.initializer, v.linkage = zero(v.value_type), "internal"
    names = {f.name: found for f in module.functions if f.is_declaration and (found := _libm_name(f.name))}
    rename(module, {old: new for old, new in names.items() if new not in module.globals})
    traps = {"llvm.trap": f"{INTRINSIC}trap"}
    rename(module, {old: new for old, new in traps.items() if old in module.globals})


def _libm_name(name: str) -> str:
    entry = lookup(name) if name.startswith(PREFIX) else None
    stem = name.removeprefix(PREFIX)
    if entry is None or stem.startswith("fast_") or entry.rule.name in OWN or "_r" in stem or stem == "fdividef":
        return ""
    return entry.rule.name.removeprefix("llvm.") + ("f" if entry.format == "float" else "")


def _thunk(f: Function, number: int) -> str:
    """A function that calls a kernel with arguments that lie in memory, each where a pointer leads."""
    lines, given = [f"define void @{THUNK}{number}(ptr %arguments) {{"], []
    for n, a in enumerate(f.arguments):
        lines.append(f"  %at{n} = getelementptr ptr, ptr %arguments, i64 {n}")
        lines.append(f"  %place{n} = load ptr, ptr %at{n}")
        lines.append(f"  %value{n} = load {a.type}, ptr %place{n}, align 1")
        given.append(f"{a.type} %value{n}")
    return "\n".join([*lines, f'  call void @"{f.name}"({", ".join(given)})', "  ret void", "}"]) + "\n"


_FLAGS = ("-O1", "-shared", "-fPIC", "-ffp-contract=off", "-w", "-fno-builtin")


def _compiled(text: str, folder: Path) -> str:
    compiler, program, made = find_compiler(), folder / "program.bc", folder / "program.so"
    program.write_bytes(LLVMModule.from_text(text).bitcode())
    words = [*compiler.c, *compiler.flags, *_FLAGS, "-o", str(made), str(program), str(RUNTIME), "-lm"]
    run(words, RUNTIME, "kernels that the host can run")
    return str(made)
