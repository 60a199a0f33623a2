"""The other side of `isolate`: `python -m llgrad.llvm.child` does one job and ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from llgrad.errors import LlgradError
from llgrad.llvm import codegen, isolate, target
from llgrad.llvm.isolate import REPORTED
from llgrad.llvm.module import LLVMModule


def _check(data: bytes) -> bytes:
    LLVMModule.read(data)
    return b""


def _bitcode(data: bytes) -> bytes:
    return LLVMModule.read(data).bitcode()


def _object(data: bytes, cpu: str, opt: int, reloc: str) -> bytes:
    return codegen.emit_here(LLVMModule.read(data), cpu, opt, reloc, assembly=False)


def _assembly(data: bytes, cpu: str, opt: int, reloc: str) -> bytes:
    return codegen.emit_here(LLVMModule.read(data), cpu, opt, reloc, assembly=True)


def _optimise(data: bytes, **options: Any) -> bytes:
    module = LLVMModule.read(data)
    module.optimise_here(**options)
    return module.bitcode()


def _passes(data: bytes, passes: list[str]) -> bytes:
    module = LLVMModule.read(data)
    module.run_here(passes)
    return module.bitcode()


def _cpu(data: bytes, cpu: str) -> bytes:
    codegen.emit_here(LLVMModule.from_text(data.decode()), cpu, 0, "pic", assembly=False, known=True)
    return b""


def _remarks(data: bytes, cpu: str) -> bytes:
    for option in ("pass-remarks", "pass-remarks-missed", "pass-remarks-analysis"):
        llvm.set_option("llgrad", f"-{option}=loop-vectorize|slp-vectorizer")
    module = LLVMModule.read(data)
    module.optimise_here(level=3, vectorize=True, unroll=True, cpu=cpu)
    return b""


JOBS: dict[str, Callable[..., bytes]] = {
    "check": _check,
    "bitcode": _bitcode,
    "object": _object,
    "assembly": _assembly,
    "optimise": _optimise,
    "passes": _passes,
    "cpu": _cpu,
    "remarks": _remarks,
}


def main() -> int:
    """Read a job, do it, write its result; a typed error goes out as JSON with status `REPORTED`."""
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    target.initialise()
    isolate.inside_child = True
    try:
        sys.stdout.buffer.write(JOBS[request.pop("job")](data, **request))
    except LlgradError as error:
        report = {"type": type(error).__name__, "message": error.message, "cause": error.cause, "fix": error.fix}
        sys.stdout.buffer.write(json.dumps(report).encode())
        return REPORTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
