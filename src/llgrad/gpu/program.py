"""Modules for GPUs that ask for derivatives: `optimise_program` on the host's view, and the way back."""

from __future__ import annotations

from llgrad.gpu.device_view import device_view
from llgrad.gpu.host_view import host_view
from llgrad.gpu.shuffles import exchanges
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm.gpu import ARCHITECTURE, optimised
from llgrad.programs.program import optimise_program, read_ir


def differentiate_device(
    data: bytes, level: int = 2, cpu: str = ARCHITECTURE, *, before: int | None = None,
    checkpoint: tuple[tuple[str, str], ...] = (), strict: bool = False,
) -> str:  # fmt: skip
    """A module for the GPU with derivatives in the place of its requests, as assembly; see `optimise_program`."""
    return differentiate_view(host_view(data), level, cpu, before=before, checkpoint=checkpoint, strict=strict)


def differentiate_view(
    view: str, level: int = 2, cpu: str = ARCHITECTURE, *, before: int | None = None,
    checkpoint: tuple[tuple[str, str], ...] = (), strict: bool = False,
) -> str:  # fmt: skip
    """The same of the host's view of such a module."""
    module = parse(view)
    declared = {f.name for f in module.functions if f.is_declaration}
    if bodies := exchanges(module):
        view = write(module) + bodies
    made = optimise_program(
        read_ir(view.encode(errors="surrogateescape")), min(level, 1), before=level if before is None else before,
        checkpoint=checkpoint, strict=strict,
    )  # fmt: skip
    return optimised(device_view(made.text(), declared), level, cpu)
