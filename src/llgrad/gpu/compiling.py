"""CUDA's language to IR for the GPU, by clang alone: no toolkit is needed (`include/gpu/llgrad_cuda.h`).

The headers that kernels usually begin with (`cuda_runtime.h`, `math.h`, `cmath`) are short ones of our own.

    compile_cuda(Path("k.cu"))      bitcode for nvptx64 of the device's code, not optimised, libdevice not linked
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.errors import CompilerError
from llgrad.frontends.c.clang import RAW_FLAGS, find_compiler
from llgrad.frontends.common.tools import run
from llgrad.llvm.gpu import ARCHITECTURE

HEADER = Path(__file__).parents[1] / "include" / "gpu" / "llgrad_cuda.h"
_FLAGS = (
    "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-nogpuinc", "-Wno-unknown-cuda-version",
    "-Wno-undefined-internal", *RAW_FLAGS, "-g", "-fno-discard-value-names", "-ffp-contract=off",
)  # fmt: skip


def compile_cuda(path: Path, cpu: str = ARCHITECTURE, flags: Sequence[str] = ()) -> bytes:
    """The bitcode of the device's code in a file."""
    compiler = find_compiler()
    if compiler.is_zig:
        raise CompilerError(
            "zig compiles no kernels", cause="its driver does not know CUDA's language",
            fix="install clang 18 to 22, or set LLGRAD_CLANG to one",
        )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        made = Path(folder, "device.bc")
        given = [*_FLAGS, f"--cuda-gpu-arch={cpu}", f"-I{HEADER.parent}", "-include", str(HEADER), *flags]
        run([*compiler.c, *given, "-emit-llvm", "-c", "-o", str(made), str(path)], path, "correct CUDA code")
        return made.read_bytes()
