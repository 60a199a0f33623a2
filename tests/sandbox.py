"""Runs a function in a forked child, so that machine code that crashes or hangs fails one test and not the test run."""

from __future__ import annotations

import faulthandler
import functools
import gc
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

FAILED = 70  # exit status of a child whose generated code called llgrad_fail


class Crash(Exception):
    """The child died, hung, or raised; the text says how."""


def isolated(function: Callable[..., Any], *arguments: Any, seconds: int = 120, **options: Any) -> Any:
    """`function(*arguments, **options)` in a child; its result must be picklable. Raises Crash."""
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _child(functools.partial(function, *arguments, **options), write, seconds)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        cause = signal.Signals(os.WTERMSIG(status))
        raise Crash(f"did not end in {seconds} s" if cause is signal.SIGALRM else f"died of {cause.name}")
    if os.WEXITSTATUS(status) == FAILED:
        raise Crash("generated code called llgrad_fail")
    if not data:
        raise Crash(f"exit status {os.WEXITSTATUS(status)}")
    ok, value = pickle.loads(data)
    if not ok:
        raise Crash(value)
    return value


def _child(function: Callable[[], Any], write: int, seconds: int) -> NoReturn:
    gc.disable()  # a collection would copy every page of the parent
    faulthandler.disable()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    try:
        data = pickle.dumps((True, function()))
    except BaseException:
        data = pickle.dumps((False, traceback.format_exc()))
    with os.fdopen(write, "wb") as pipe:
        pipe.write(data)
    os._exit(0)
