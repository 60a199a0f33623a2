"""Compiled code in a child process: what kills it kills the child, and the parent raises ForeignError.

`Worker.load` has the interface of `entry.Code`. Arrays are copied there and, if they are writable, back. A new child is
started at the next call after a death; variables of the compiled code then start anew.

Protocol: on two pipes, messages of 8 bytes length and a pickle. Requests are ("load", object, libraries, shared,
names), ("test", test) and ("call", code, entry, values, test); answers are ("done", …) or ("error", class, message,
cause, fix).
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from llgrad import errors
from llgrad.errors import ArgumentError, ForeignError, LlgradError
from llgrad.execution.arguments import overlapping
from llgrad.execution.entry import Code, Entry
from llgrad.execution.passing import Strided
from llgrad.execution.size_checks import Test


class Worker:
    """A child process that is started when it is first needed."""

    def __init__(self, libraries: Sequence[str] = ()) -> None:
        self.libraries = tuple(libraries)
        self.generation = 0
        self._child: _Child | None = None
        self._lock = threading.RLock()

    def load(self, data: bytes, shared: Any, borrowed: Sequence[str]) -> RemoteCode:
        """Code that will be loaded in the child; `borrowed` variables are those of `shared`, loaded there too."""
        return RemoteCode(self, data, shared, tuple(borrowed))

    def ask(self, *request: Any) -> tuple[Any, ...]:
        """The child's answer; ForeignError if it died."""
        with self._lock:
            child = self._running()
            try:
                child.send(request)
                answer = child.receive()
            except (EOFError, BrokenPipeError):
                self._child = None
                raise _died(child.end()) from None
            except BaseException:
                self._child = None
                child.end(kill=True)
                raise
        if answer[0] == "error":
            kind = getattr(errors, answer[1], LlgradError)
            raise kind(answer[2], cause=answer[3], fix=answer[4])
        return tuple(answer[1:])

    def locked(self) -> Any:
        """Held while several requests belong together."""
        return self._lock

    def _running(self) -> _Child:
        if self._child is None:
            self._child = _Child()
            self.generation += 1
        return self._child

    def start(self) -> int:
        """The number of the running child."""
        with self._lock:
            self._running()
            return self.generation


class RemoteCode:
    """`entry.Code` in a worker."""

    def __init__(self, worker: Worker, data: bytes, shared: RemoteCode | None, borrowed: tuple[str, ...]) -> None:
        self.worker, self.data, self.shared, self.borrowed = worker, data, shared, borrowed
        self._loaded = (0, 0)  # generation of the child, number there
        self._tests: dict[Test, tuple[int, int]] = {}  # likewise

    def call(
        self, entry: Entry, values: Sequence[Any], test: Test | None = None
    ) -> tuple[tuple[Any, ...], int]:
        """See `Code.call`."""
        _refuse(entry, values)
        with self.worker.locked():
            sent = {id(v): Strided(v) for v in values if isinstance(v, np.ndarray) and not v.flags.forc}
            given = [sent.get(id(v), v) for v in values]
            results, peak, written = self.worker.ask("call", self.number(), entry, given, self._known(test))
        for n, contents in written.items():
            values[n][...] = contents
        return results, peak

    def _known(self, test: Test | None) -> Any:
        """The number of a test in the child, which is told what it has not seen."""
        if test is None:
            return None
        generation = self.worker.start()
        if self._tests.get(test, (0, 0))[0] != generation:
            self._tests[test] = generation, self.worker.ask("test", test)[0]
        return self._tests[test][1]

    def number(self) -> int:
        """The code's number in the running child, loaded there if need be."""
        generation = self.worker.start()
        if self._loaded[0] != generation:
            shared = self.shared.number() if self.shared else None
            answer = self.worker.ask("load", self.data, self.worker.libraries, shared, self.borrowed)
            self._loaded = (generation, answer[0])
        return self._loaded[1]


def _refuse(entry: Entry, values: Sequence[Any]) -> None:
    for t, v in zip(entry.arguments, values, strict=True):
        if t == "ptr" and isinstance(v, int):
            raise ArgumentError(
                "an address means nothing in another process", fix="pass arrays, or load without isolate=True"
            )
    if any(values[m] is not values[n] for m, n in overlapping(values)):
        raise ArgumentError(
            "arrays that overlap cannot be passed to another process", fix="pass copies, or load without isolate=True"
        )


def _died(status: int) -> ForeignError:
    if status < 0:
        name = signal.Signals(-status).name
        return ForeignError(
            f"the compiled code crashed: {name}",
            cause=signal.strsignal(-status) or "",
            fix="check sizes and indices: the code read or wrote memory it should not, or called abort()",
        )
    return ForeignError(f"the compiled code ended its process with status {status}", cause="it called exit()")


# --- the pipes -------------------------------------------------------------------------------------------------------


def _write(pipe: BinaryIO, message: Any) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def _read(pipe: BinaryIO) -> Any:
    head = pipe.read(8)
    if len(head) < 8:
        raise EOFError
    size = int.from_bytes(head, "little")
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


class _Child:
    """A running worker process."""

    def __init__(self) -> None:
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()
        command = [sys.executable, "-m", "llgrad.execution.worker", str(their_in), str(their_out)]
        self.process = subprocess.Popen(
            command, pass_fds=(their_in, their_out), stdin=subprocess.DEVNULL, env=_environment(), process_group=0
        )  # (its own group: Ctrl-C is for the parent, which ends the child)
        os.close(their_in)
        os.close(their_out)
        self._out, self._in = os.fdopen(our_out, "wb"), os.fdopen(our_in, "rb")
        weakref.finalize(self, _end, self.process, self._out, self._in)

    def send(self, message: Any) -> None:
        _write(self._out, message)

    def receive(self) -> Any:
        return _read(self._in)

    def end(self, kill: bool = False) -> int:
        """Wait for it (or end it); its status, negative for a signal."""
        if kill:
            self.process.kill()
        _end(self.process, self._out, self._in)
        return self.process.returncode


def _end(process: subprocess.Popen[bytes], *pipes: BinaryIO) -> None:
    for pipe in pipes:
        try:
            pipe.close()
        except OSError:  # what was buffered cannot be written: the other side is dead
            continue
    try:
        process.wait(timeout=2)  # an idle child ends at once
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    root, old = str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, old] if old else [root])}


# --- the child -------------------------------------------------------------------------------------------------------


def _answer(codes: list[Code], tests: list[Test], request: tuple[Any, ...]) -> tuple[Any, ...]:
    if request[0] == "load":
        _, data, libraries, shared, names = request
        symbols = {n: codes[shared].addresses[n] for n in names} if shared is not None else {}
        codes.append(Code(data, libraries=libraries, symbols=symbols))
        return "done", len(codes) - 1
    if request[0] == "test":
        tests.append(request[1])
        return "done", len(tests) - 1
    _, code, entry, given, number = request
    there = {id(v): v.laid() for v in given if isinstance(v, Strided)}
    values = [there.get(id(v), v) for v in given]
    writable = {n: v for n, v in enumerate(values) if isinstance(v, np.ndarray) and v.flags.writeable}
    results, peak = codes[code].call(entry, values, None if number is None else tests[number])
    return "done", results, peak, writable


def main() -> int:
    """Answer requests until the parent closes its end."""
    requests, answers = os.fdopen(int(sys.argv[1]), "rb"), os.fdopen(int(sys.argv[2]), "wb")
    codes: list[Code] = []
    tests: list[Test] = []
    while True:
        try:
            request = _read(requests)
        except EOFError:
            return 0
        try:
            answer = _answer(codes, tests, request)
        except LlgradError as error:
            answer = ("error", type(error).__name__, error.message, error.cause, error.fix)
        _write(answers, answer)


if __name__ == "__main__":
    sys.exit(main())
