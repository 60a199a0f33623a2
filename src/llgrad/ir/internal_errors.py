"""What nobody foresaw: an exception of Python's that compiling ends with is told as an error, a bug in llgrad.

`told` is a context manager, or a decorator, around a phase of compilation, which `progress` shows. The error says the
phase, the exception, where in llgrad it was raised, and the function and the instruction that llgrad looked at then, as
far as they are among the variables of the functions that were running. The exception stays its `__cause__`, with its
traceback; the command line shows it where `LLGRAD_TRACEBACK` is set. Errors of llgrad, of the machine (`OSError`), and
the end of memory pass through, as everything does that is no `Exception`.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType

from llgrad.errors import TRACEBACK, InternalError, LlgradError, Span
from llgrad.ir import progress
from llgrad.ir.module import Module
from llgrad.ir.values import Function, Instruction
from llgrad.ir.write import write_instruction

_MOST_SHOWN = 160  # characters of an instruction


@contextmanager
def told(phase: str) -> Iterator[None]:
    """Raise InternalError for an exception that nobody foresaw while llgrad was `phase`: "reading the program"."""
    try:
        with progress.shown(phase):
            yield
    except (LlgradError, OSError, MemoryError):
        raise
    except Exception as error:
        raise internal_error(phase, error) from error


def internal_error(phase: str, error: Exception) -> InternalError:
    """What is told of an exception."""
    function, instruction = progress.looked_at(_frames(error.__traceback__))
    block = instruction.block if instruction is not None else None
    function = block.function if block is not None and block.function is not None else function
    looked = f", at {_shown(instruction)}" if instruction is not None else ""
    within = f" of @{function.name}" if function is not None else ""
    cause = f"{type(error).__name__}: {error} ({_raised(error)}){looked}{within}"
    return InternalError(
        f"llgrad failed while {phase}: this is a bug in llgrad", span=_span(function, instruction), cause=cause,
        fix=f"report it with the source and these lines; {TRACEBACK}=1 in the environment shows Python's traceback",
    )  # fmt: skip


def shown(error: LlgradError) -> str:
    """The traceback behind an error, where there is one and `LLGRAD_TRACEBACK` asks for it."""
    if error.__cause__ is None or not isinstance(error, InternalError) or not os.environ.get(TRACEBACK):
        return ""
    return "".join(traceback.format_exception(error.__cause__))


def _raised(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}, {frame.name}"


def _frames(found: TracebackType | None) -> Iterator[FrameType]:
    """The functions that were running, the innermost last."""
    while found is not None:
        yield found.tb_frame
        found = found.tb_next


def _shown(instruction: Instruction) -> str:
    try:
        return write_instruction(instruction).strip()[:_MOST_SHOWN]
    except Exception:  # it may be what is broken
        return type(instruction).__name__


def _span(function: Function | None, instruction: Instruction | None) -> Span | None:
    module = function.module if function is not None else None
    try:
        return module.span(instruction) if isinstance(module, Module) and instruction is not None else None
    except Exception:
        return None
