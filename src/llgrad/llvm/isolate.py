"""LLVM in a child process: for input on which LLVM may end the process instead of reporting an error.

LLVM aborts on some IR that parses and verifies (scalable vectors on a CPU without them, assembly that does
not assemble, …), and its bitcode reader on some damaged files. `run_job` does the work in a child of the same
Python and turns its death into a typed error that carries LLVM's own words. Costs about 0.2 s a call.

Protocol: one line of JSON (`job` and its arguments), then the module's bytes, on standard input; the result's
bytes on standard output. Exit status 3 means that standard output is a JSON error, {"type", "message", …}.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import llgrad.errors as errors
from llgrad.errors import LlgradError, UnsupportedError

REPORTED = 3
TIMEOUT_SECONDS = 300.0
inside_child = False
Parameter = str | int | bool | list[str]


def run_job(
    job: str, data: bytes, *, timeout: float = TIMEOUT_SECONDS, **arguments: Parameter
) -> tuple[bytes, str]:
    """Run `job` (a name of `llgrad.llvm.child.JOBS`) on `data`; its result and what LLVM wrote to stderr."""
    command = [sys.executable, "-m", "llgrad.llvm.child"]
    sent = json.dumps({"job": job, **arguments}).encode() + b"\n" + data
    try:
        done = subprocess.run(
            command, input=sent, capture_output=True, timeout=timeout, env=_environment(), check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UnsupportedError(
            f"LLVM did not finish with this module in {timeout:.0f} s",
            cause="it holds constructs that LLVM handles in unreasonable time",
            fix="remove them from the source, or compile that part separately",
        ) from error
    log = done.stderr.decode(errors="replace")
    if done.returncode == REPORTED:
        raise _rebuilt(json.loads(done.stdout))
    if done.returncode:
        raise _died(done.returncode, log)
    return done.stdout, log


def checked_in_child(text: str) -> None:
    """Parse, verify and compile `text` in a child; a typed error where this process might have died."""
    run_job("object", text.encode(), cpu="native", opt=0, reloc="pic")


def check_bitcode(data: bytes) -> None:
    """Parse and verify bitcode or text of unknown origin in a child process."""
    run_job("check", data)


def cpu_is_known(cpu: str) -> bool:
    """Whether LLVM has a CPU of this name for the host's architecture."""
    try:
        return "not a recognized processor" not in run_job("cpu", b"", cpu=cpu)[1]
    except LlgradError:
        return False


@contextmanager
def end_told(doing: str, tell: Callable[[LlgradError], None], status: int) -> Iterator[None]:
    """Where LLVM aborts meanwhile, `tell` an error and end with `status`: for commands, which may end.

    `doing`: what llgrad asks of LLVM, "reading a.ll". A child process would cost 0.3 s; this costs nothing.
    """

    def ended(_: int) -> None:
        try:
            tell(UnsupportedError(
                f"LLVM itself ended while {doing}", cause="it met what it takes for impossible; its words are above",
                fix="try `opt -passes=verify` of LLVM 22 on it; if that accepts it, report it to LLVM",
            ))  # fmt: skip
            sys.stdout.flush(), sys.stderr.flush()
        finally:
            os._exit(status)

    called = ctypes.CFUNCTYPE(None, ctypes.c_int)(ended)
    install = ctypes.CDLL(None).signal
    install.restype, install.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p]
    before = install(signal.SIGABRT, ctypes.cast(called, ctypes.c_void_p))
    try:
        yield
    finally:
        install(signal.SIGABRT, before)


def _environment() -> dict[str, str]:
    """The environment in which the child imports the same llgrad."""
    root = str(Path(__file__).resolve().parents[2])
    old = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, old] if old else [root])}


def _rebuilt(report: dict[str, str]) -> LlgradError:
    kind = getattr(errors, report["type"], errors.VerifyError)
    error: LlgradError = kind(report["message"], cause=report["cause"], fix=report["fix"])
    return error


def _died(status: int, log: str) -> LlgradError:
    lines = [line for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or "Assertion" in line] or lines[:1]
    return UnsupportedError(
        "LLVM cannot compile this module for this machine",
        cause="; ".join(telling[:3]) or f"LLVM ended with status {status}",
        fix="remove the construct that LLVM names, or compile the source for this machine",
    )
