"""Kernels as Python calls them, on NumPy arrays in the emulator; their derivatives are kernels of the same launch.

    lib = llgrad.load("k.cu")
    lib.saxpy[grid, block](a, x, y, n)
    lib.saxpy.vjp[grid, block]((a, x, y, n), (None, d_x, d_y, None))      adjoints; those of y are taken, of x added to
    lib.saxpy.jvp[grid, block]((a, x, y, n), (None, t_x, t_y, None))      tangents

A derivative is a kernel of ours that asks for one, as the user's might; it is made when it is first launched, once for
each choice of arguments that have shadows:

    define void @llgrad.vjp(ptr %0, ptr %1, i32 %2) "llgrad.kernel" {
      call void @__enzyme_autodiff(ptr @saxpy, i32 %dup, ptr %0, ptr %1, i32 %const, i32 %2)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from llgrad.errors import ArgumentError, UnknownNameError
from llgrad.gpu.compiling import compile_cuda
from llgrad.gpu.emulator import Dim, Emulator
from llgrad.gpu.host_view import host_view
from llgrad.gpu.program import differentiate_view
from llgrad.ir.parse import parse
from llgrad.ir.types import PointerType
from llgrad.ir.values import Function
from llgrad.llvm.gpu import ARCHITECTURE
from llgrad.models.gpu import DEVICE, KERNEL

Way = Literal["vjp", "jvp"]
_ASKS = {"vjp": "__enzyme_autodiff", "jvp": "__enzyme_fwddiff"}
_DERIVATIVE = "llgrad_derivative"


def load(path: Path, flags: Sequence[str] = (), cpu: str = ARCHITECTURE) -> Kernels:
    """The kernels of a file in CUDA's language."""
    return Kernels(compile_cuda(path, cpu, flags))


class Kernels:
    """The kernels of a module for the GPU, as attributes, by the names that the source gives them."""

    def __init__(self, data: bytes | str) -> None:
        """`data`: bitcode or assembly; users call `load`."""
        self._data = data
        self._derivatives: dict[tuple[str, Way, tuple[bool, ...]], Emulator] = {}

    @cached_property
    def _emulator(self) -> Emulator:
        return Emulator(self._data)

    @cached_property
    def _view(self) -> str:
        return host_view(self._data)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Kernel:
        found = [f for f in self._emulator.kernels.values() if name in (f.name, plain_name(f.name))]
        if len(found) != 1:
            names = ", ".join(sorted(map(plain_name, self._emulator.kernels)))
            raise UnknownNameError(
                f"there is {'no kernel' if not found else 'more than one kernel'} {name}", fix=f"there are {names}"
            )
        return Kernel(self, found[0])

    def __dir__(self) -> list[str]:
        return sorted(map(plain_name, self._emulator.kernels))

    def primal(self, f: Function, grid: Dim, block: Dim, arguments: Sequence[Any]) -> None:
        """Launch a kernel."""
        self._emulator.launch(f.name, grid, block, arguments)

    def derivative(
        self, f: Function, way: Way, grid: Dim, block: Dim, primals: Sequence[Any], shadows: Sequence[Any]
    ) -> None:
        """Launch a derivative of a kernel; `shadows` has None where an argument has none."""
        if not len(primals) == len(shadows) == len(f.arguments):
            raise ArgumentError(
                f"{plain_name(f.name)} takes {len(f.arguments)} arguments, and has as many shadows",
                cause=f"there are {len(primals)} arguments and {len(shadows)} shadows", fix="give None for no shadow",
            )  # fmt: skip
        has = tuple(s is not None for s in shadows)
        for n, (argument, shadowed) in enumerate(zip(f.arguments, has, strict=True)):
            if shadowed and not isinstance(argument.type, PointerType):
                raise ArgumentError(f"argument {n} is a number", fix="pass what is differentiated by as an array")
            if shadowed and (primals[n].dtype, primals[n].shape) != (shadows[n].dtype, shadows[n].shape):
                raise ArgumentError(f"argument {n} and its shadow differ in dtype or shape")
        key = f.name, way, has
        if key not in self._derivatives:
            self._derivatives[key] = Emulator(differentiate_view(_asking(self._view, f, way, has)))
        pairs = zip(primals, shadows, strict=True)
        given = [v for primal, shadow in pairs for v in ((primal,) if shadow is None else (primal, shadow))]
        self._derivatives[key].launch(_DERIVATIVE, grid, block, given)


class Kernel:
    """A kernel: `kernel[grid, block](…)` launches it; `kernel.vjp` and `kernel.jvp` are launched alike."""

    def __init__(self, module: Kernels, function: Function) -> None:
        self._module, self._function = module, function
        self.__name__ = plain_name(function.name)

    def __getitem__(self, size: tuple[Dim, Dim]) -> Any:
        grid, block = size
        return lambda *arguments: self._module.primal(self._function, grid, block, arguments)

    @property
    def vjp(self) -> Derivative:
        """Adjoints: those of what the kernel writes are taken, and added to those of what it reads."""
        return Derivative(self._module, self._function, "vjp")

    @property
    def jvp(self) -> Derivative:
        """Tangents."""
        return Derivative(self._module, self._function, "jvp")

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}({', '.join(f'{a.type} {a.name}' for a in self._function.arguments)})>"


class Derivative:
    """A kernel's derivative: `derivative[grid, block](arguments, shadows)`."""

    def __init__(self, module: Kernels, function: Function, way: Way) -> None:
        self._module, self._function, self._way = module, function, way

    def __getitem__(self, size: tuple[Dim, Dim]) -> Any:
        grid, block = size

        def launch(primals: Sequence[Any], shadows: Sequence[Any]) -> None:
            self._module.derivative(self._function, self._way, grid, block, primals, shadows)

        return launch


def plain_name(symbol: str) -> str:
    """The name of a function that C++ mangles (Itanium C++ ABI 5.1.3), without namespaces: `_Z5saxpyPKf` is saxpy."""
    rest, name = symbol.removeprefix("_Z").removeprefix("N"), symbol
    if rest == symbol:
        return symbol
    while digits := rest[: len(rest) - len(rest.lstrip("0123456789"))]:
        name, rest = rest[len(digits) : len(digits) + int(digits)], rest[len(digits) + int(digits) :]
    return name


def _asking(view: str, f: Function, way: Way, has: Sequence[bool]) -> str:
    """The host's view with a kernel that asks for the derivative."""
    parameters, given = [], [f'ptr @"{f.name}"']
    for n, (a, shadowed) in enumerate(zip(f.arguments, has, strict=True)):
        parameters += [f"{a.type} %p{n}", *([f"{a.type} %s{n}"] if shadowed else [])]
        given += [f"i32 %{'dup' if shadowed else 'const'}", f"{a.type} %p{n}"]
        given += [f"{a.type} %s{n}"] if shadowed else []
    there = parse(view).globals
    marks = [f"@{mark} = external global i32" for mark in ("enzyme_dup", "enzyme_const") if mark not in there]
    return view + "\n".join((
        *marks, f"declare void @{_ASKS[way]}(...)",
        f'define void @{_DERIVATIVE}({", ".join(parameters)}) convergent "{DEVICE}" "{KERNEL}" {{',
        "  %dup = load i32, ptr @enzyme_dup", "  %const = load i32, ptr @enzyme_const",
        f"  call void (...) @{_ASKS[way]}({', '.join(given)})", "  ret void", "}", "",
    ))  # fmt: skip
