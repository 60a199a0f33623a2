"""D: ldc, in its subset without a runtime (`-betterC`).

`extern(C)` functions keep their names, D's own are found by their plain ones. Slices as parameters are one IR value,
length and address, which cannot be passed from Python; within the program they can.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from ctypes.util import find_library
from pathlib import Path

from llgrad.frontends.tools import UNOPTIMISED, Compiled, Language, Source, Tool, find, makefile_dependencies, run

_FIX = "correct the source, or pass the flags it needs (-I…, -d-version=…)"
_FLAGS = ("-betterC", "-O2", "--boundscheck=off", "-g", "--mcpu=x86-64", "--output-bc")
_RAW = (f"-{UNOPTIMISED}",)
_UNVECTORISED = ("--disable-loop-unrolling", "--vectorize-loops=false", "--vectorize-slp=false")


_COPIED = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define linkonce_odr void @_d_array_slice_copy(ptr %to, i64 %count, ptr %from, i64 %others, i64 %size) alwaysinline {
  %bytes = mul i64 %count, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
"""
"""What `a[] = b[]` calls, which D's runtime has."""


def ldc() -> Tool:
    """The compiler; CompilerError that says how to get one."""
    fix = "install ldc (Debian: apt install ldc)"
    return find("D", ("ldc2",), "LLGRAD_LDC", ("--version",), r"and LLVM (\d+)", fix)


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    bodies = Compiled(_COPIED.encode(), (sources[0].path,))
    return [*(_file(source, raw) for source in sources), bodies]


def _file(source: Source, raw: bool) -> Compiled:
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        made, rule = Path(folder, "module.bc"), Path(folder, "module.d")
        flags = [*_FLAGS, *(_RAW if raw else _UNVECTORISED), f"--makedeps={rule}", *source.flags]
        command = [ldc().path, *flags, f"--of={made}", str(source.path.absolute())]
        run(command, source.path, _FIX, noise="^BISECT:", cwd=Path(folder))
        read = makefile_dependencies(rule, source.path)
        data = made.read_bytes()
        libraries = _libraries() if b"_D3std" in data or b"_D4core" in data else ()
        return Compiled(data, (source.path, *(p for p in read[1:] if p.is_file())), libraries)


def _libraries() -> tuple[str, ...]:
    """The parts of D's library that are compiled already, for what a program names of them (std.math's pow, …)."""
    found = (find_library(name) for name in ("druntime-ldc-shared", "phobos2-ldc-shared"))
    return tuple(name for name in found if name)


D = Language("d", (".d",), _compile, lambda: ldc().version, ("ldc2",), ("LLGRAD_LDC",))
