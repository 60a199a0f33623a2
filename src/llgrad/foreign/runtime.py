"""Plans: how the frame of an entry is filled from buffers at given addresses, run by `runtime.c`.

A plan is made once for a derivative and run from any thread without the interpreter, by `llgrad_run`: through ctypes,
or by kernels that the frameworks call directly. The caller's buffers come first; temporary ones are made where the plan
runs. Buffers that the code reads and that share memory are moved apart there, so that one derivative, which was
promised that no buffers overlap, serves all calls.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import threading
import weakref
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from llgrad.errors import ForeignError
from llgrad.execution import entry as entries
from llgrad.execution.entry import HOOK, TAPE_FREE, Code, Entry
from llgrad.execution.loaded import Loaded
from llgrad.execution.size_checks import Test
from llgrad.programs.guarded_memory import ANSWERS, runner

SOURCE = Path(__file__).with_name("runtime.c")
FAILED_MEMORY = 3


class Op(IntEnum):
    """What a step does; see `runtime.c`."""

    POINTER = 0
    VALUE = 1
    CLEAR = 2
    COPY = 3
    APART = 4
    ARENA = 5
    RESULT = 6
    AFTER = 7
    KEEP = 8
    FRAME = 9
    SIZE = 10


class _Step(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_int32), ("buffer", ctypes.c_int32), ("other", ctypes.c_int32), ("size", ctypes.c_int32),
        ("at", ctypes.c_int64), ("offset", ctypes.c_int64),
    ]  # fmt: skip


class Failure(ctypes.Structure):
    """What ended a run."""

    _fields_ = [
        ("status", ctypes.c_int32), ("code", ctypes.c_int32), ("detail", ctypes.c_int64), ("end", ctypes.c_int64),
        ("name", ctypes.c_char_p),
    ]  # fmt: skip

    def error(self) -> ForeignError:
        """The exception that says so."""
        if self.status == FAILED_MEMORY:
            return ForeignError("there is no memory for temporary buffers", fix="use a smaller input")
        return entries.failure(self.status, self.code, self.detail)


class _Sizes(ctypes.Structure):
    """How a plan's sizes are checked; see `runtime.c`."""

    _fields_ = [
        ("check", ctypes.c_int64), ("block", ctypes.c_int64), ("alignment", ctypes.c_int64), ("steady", ctypes.c_int64),
        ("owner", ctypes.c_void_p), ("item", ctypes.c_void_p),
        ("pointers", ctypes.c_void_p), ("places", ctypes.c_void_p),
    ]  # fmt: skip


class Steps(Struct):
    """A plan as it is written. Of the caller's buffers the last, `made`, are written. Buffers are numbered;
    `temporary` says whose size each temporary buffer has: a caller's buffer, or scratch memory, which is counted on
    after the caller's. `owners`: of which IR argument a buffer is the memory or a shadow, and bytes of an element."""

    callers: int
    made: int
    owners: dict[int, tuple[int, int]] = field(default_factory=dict)
    temporary: list[int] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)

    def temporary_like(self, buffer: int) -> int:
        """A new temporary buffer."""
        self.temporary.append(buffer)
        return self.callers + len(self.temporary) - 1

    def add(self, op: Op, buffer: int = 0, other: int = 0, *, size: int = 0, at: int = 0, offset: int = 0) -> None:
        """One more step."""
        self.steps.append(_Step(op, buffer, other, size, at, offset))


class Plan:
    """A plan for an entry of loaded code."""

    def __init__(self, code: Code, entry: Entry, steps: Steps, test: Test | None, *, serial: bool) -> None:
        """`serial`: the code changes variables of its own, so that it runs on one thread at a time. `test`: what its
        sizes are checked by."""
        self.runtime = runtime()
        self._code, self.temporary = code, tuple(steps.temporary)
        self.callers, self.made = steps.callers, steps.made
        if HOOK in code.addresses:
            ctypes.c_void_p.from_address(code.addresses[HOOK]).value = self.runtime.hook
        used = any(s.op == Op.ARENA for s in steps.steps)
        buffers = steps.callers + len(steps.temporary)
        packed = (_Step * len(steps.steps))(*steps.steps)
        end = entries.offsets(entry)[2]
        sizes, self.pointers, self._kept, words = _sizes(steps, buffers, test, end)
        self.test = test
        self.address: int = self.runtime.plan(
            code.addresses[entry.name], code.addresses[TAPE_FREE] if used else None, end + 8 * words,
            steps.callers, steps.made, buffers, packed, len(steps.steps), serial, ctypes.addressof(sizes),
        )  # fmt: skip
        weakref.finalize(self, _drop, self.runtime, self.address, code)
        self.pack = ctypes.c_void_p * steps.callers  # makes the C array of the callers' addresses

    def sizes(self, callers: Sequence[int], asked: bool) -> list[int]:
        """Bytes of all buffers, from those of the caller's, after which stand those of scratch memory; and whether the
        check must be asked when the plan runs."""
        return [*callers[: self.callers], *(callers[t] for t in self.temporary), int(asked)]


def _sizes(
    steps: Steps, buffers: int, test: Test | None, block: int
) -> tuple[_Sizes, Sequence[int], tuple[Any, ...], int]:
    """How sizes are checked, which IR arguments are guarded, what must live on, and how many words the block has."""
    limits, function = (test.check.limits, test.check.function) if test else (None, "the function")
    address = test.address() if test else 0
    every = {argument: None for argument, _ in steps.owners.values()}
    pointers = test.pointers(~0 if address else None) if test else list(every)
    bits = {argument: min(n, 63) for n, argument in enumerate(pointers)}
    inputs, pinned = steps.callers - steps.made, limits.pinned if limits else frozenset()
    owner, item = (ctypes.c_int32 * (buffers + 1))(*[-1] * buffers), (ctypes.c_int32 * (buffers + 1))(*[1] * buffers)
    for buffer, (argument, size) in steps.owners.items():
        item[buffer] = size
        if argument in bits and not (buffer < inputs and argument in pinned):  # (they are the user's, and stay there)
            owner[buffer] = bits[argument]
    named = [f"argument {test.check.names.get(n, n)!r} of {function}" if test else "an array" for n in pointers]
    told = [test.check.place(p) for p in limits.places] if test and limits else []
    texts = [(ctypes.c_char_p * (len(part) + 1))(*(t.encode() for t in part)) for part in (named, told)]
    kept: tuple[Any, ...] = (owner, item, *texts)
    steady = limits is None or not set(limits.numbers) & every.keys()
    where = [ctypes.addressof(x) for x in kept]
    words = ANSWERS + len(limits.numbers) + 2 * len(limits.pointers) if limits else 0
    return _Sizes(address, block, limits.alignment if limits else 16, steady, *where), pointers, kept, words


def int64s(values: Sequence[int]) -> Any:
    """A C array."""
    return (ctypes.c_int64 * len(values))(*values)


@functools.cache
def cores() -> int:
    """Threads for a batch: the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _drop(runtime: Runtime, address: int, _keep: object) -> None:
    runtime.drop(address)


class Runtime:
    """`runtime.c`, compiled and loaded as any foreign code is."""

    def __init__(self) -> None:
        self.library = Loaded([SOURCE], (), 2, (), False, False)
        addresses = self.library.addresses()
        p, i32, i64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
        self.hook = addresses["llgrad_hook"]
        self.run_address = addresses["llgrad_run"]
        self.plan = ctypes.CFUNCTYPE(p, p, p, i64, i32, i32, i32, p, i32, i32, p)(addresses["llgrad_plan"])
        self.drop = ctypes.CFUNCTYPE(None, p)(addresses["llgrad_drop"])
        self.run = ctypes.CFUNCTYPE(i32, p, p, p, p, i64, i64, ctypes.POINTER(Failure))(self.run_address)
        kept = ctypes.POINTER(ctypes.c_void_p)
        self.record = ctypes.CFUNCTYPE(i32, p, p, p, kept, ctypes.POINTER(Failure))(addresses["llgrad_record"])
        self.replay = ctypes.CFUNCTYPE(i32, p, p, p, p, ctypes.POINTER(Failure))(addresses["llgrad_replay"])
        self.forget = ctypes.CFUNCTYPE(None, p, p)(addresses["llgrad_forget"])
        self.table = addresses["llgrad_runtime"]
        ctypes.c_int64.from_address(self.table + 24).value = cores()
        self._register = ctypes.CFUNCTYPE(i32, i64, i64, p)(addresses["llgrad_register"])
        self._registered: dict[int, Plan] = {}
        self._lock = threading.Lock()
        ctypes.c_void_p.from_address(addresses["llgrad_python_hook"]).value = entries.PYTHON_HOOK
        ctypes.c_void_p.from_address(addresses["llgrad_guarded"]).value = runner().address
        if ctypes.CFUNCTYPE(i32)(addresses["llgrad_start"])():
            raise ForeignError("the process has no thread-specific keys left", fix="unload other libraries")
        os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(addresses["llgrad_forked"]))

    def registered(self, name: str, plan: Plan) -> int:
        """The key by which kernels find a plan, which is kept from now on: the same in every process."""
        key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little", signed=True)
        with self._lock:
            if key not in self._registered:
                if self._register(key, plan.callers - plan.made - 1, plan.address):
                    raise ForeignError("there is no memory for one more function")
                self._registered[key] = plan
        return key


@functools.cache
def runtime() -> Runtime:
    """The one of this process."""
    return Runtime()
