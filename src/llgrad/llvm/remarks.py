"""What LLVM's vectorisers say about a module: which loops they vectorised, and why not the others."""

from __future__ import annotations

import re

from msgspec import Struct

from llgrad.errors import Span
from llgrad.llvm import target
from llgrad.llvm.isolate import run_job

_REMARK = re.compile(r"^remark: (.*?):(\d+):(\d+): (.*)$", re.MULTILINE)
_DONE = ("vectorized loop", "Vectorized", "SLP vectorized", "Stores SLP vectorized", "vectorized ")


class Remark(Struct, frozen=True):
    """One remark; `span` is None where the module has no debug info."""

    message: str
    span: Span | None
    vectorised: bool


def vectorisation_remarks(text: str, cpu: str = "native") -> list[Remark]:
    """The remarks of LLVM's loop and SLP vectorisers while O3 runs over `text`, in their order.

    Works in a child process, because LLVM's options are global to a process; the module is not changed.
    """
    target.resolve_cpu(cpu)
    log = run_job("remarks", text.encode(), cpu=cpu)[1]
    return [_remark(*match) for match in _REMARK.findall(log)]


def _remark(file: str, line: str, column: str, message: str) -> Remark:
    span = None if file == "<unknown>" else Span(file, int(line), int(column))
    done = message.startswith(_DONE) or bool(re.match(r"(Stores )?SLP vectorized|Vectorized", message))
    return Remark(message, span, done)
