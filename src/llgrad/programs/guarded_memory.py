"""Guarded memory: pages with inaccessible ones on both sides, and calls that survive an access to those.

`Room` holds a copy of a user's array at the end of its pages: the byte behind it faults, and a canary lies before it.
Where nothing can be accessed behind it, but before it, it lies at the start of its pages.
`run` calls an entry so that SIGSEGV and SIGBUS in it come back as a status. Their handler is installed at every such
call, acts only on the thread of one, and hands all other faults on to the handler before it. It leaves by `longjmp`:
what the program had locked stays locked.

`Limits` says which arrays of a call need that; `memory_checks` computes it.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from functools import cache
from typing import Any

from msgspec import Struct

FITS, EXCEEDS, UNPROVEN, FAULTED = 0, 4, 5, 6  # what checks and `run` return, beside the statuses of entries
ANSWERS = 3  # words of the block before the numbers
SOMEWHERE = 1 << 62  # bytes of memory whose size nobody knows
GUARD = 1 << 30  # bytes of inaccessible memory on either side
KEPT_BYTES = 1 << 26  # of rooms that wait for the next call
_PAGE = mmap.PAGESIZE
_CANARY = 0xFFF5A5A5A5A5A5A5.to_bytes(8, "little")
_OF_FLOATS = 0xFFB5A5A5.to_bytes(4, "little")
"""Signalling NaNs: what is computed from one is another NaN, and so is seen where it is written over one."""
_FAULT, _OWN_BYTES = 408, 512


class Place(Struct, frozen=True):
    """An access that is certain: of which IR argument, and where the source has it."""

    argument: int
    written: bool
    source: str


class Limits(Struct, frozen=True):
    """What is known of a function's accesses.

    `numbers`, `pointers`: the IR arguments that the block holds; a pointer among `numbers` leads to integers that the
    check reads. `places`: what word 0 refers to. `unknown`: pointers
    of which not all accesses are known or bounded, and why. `pinned`: pointers that may outlive the call: their memory
    cannot be moved. `read_only`: pointers through which nothing is written. `alignment`: what accesses rely on, in
    bytes. `text`: IR of the check; empty where it would prove nothing.
    """

    numbers: tuple[int, ...]
    pointers: tuple[int, ...]
    places: tuple[Place, ...]
    unknown: dict[int, str]
    pinned: frozenset[int]
    read_only: frozenset[int]
    alignment: int
    text: str


# --- memory ----------------------------------------------------------------------------------------------------------


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


class Room:
    """Some bytes at an end of accessible pages; `start` is the first of these pages, `end` lies behind the last."""

    def __init__(self, pages: int) -> None:
        """Raises MemoryError."""
        self.pages = pages
        for guard in (GUARD, GUARD >> 10):  # (a limit on address space leaves room for small ones)
            size = pages * _PAGE + 2 * guard
            at = _libc().mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)  # NORESERVE
            if at not in (None, ctypes.c_void_p(-1).value):
                self._at, self._size, self.start = int(at), size, int(at) + guard
                self.end = self.low = self.high = self.start + pages * _PAGE
                if not pages or _libc().mprotect(self.start, pages * _PAGE, mmap.PROT_READ | mmap.PROT_WRITE) == 0:
                    return
                _libc().munmap(at, size)
        raise MemoryError("no memory for a guarded copy of an array")

    def put(self, low: int, size: int, alignment: int, item: int, *, first: bool = False) -> int:
        """Copy memory here, as near to the end (or to the start: `first`) as an alignment like that of `low` allows;
        where it lies now. `item`: bytes of an element."""
        at = self.start + (low - self.start) % alignment if first else self.end - size
        at -= (at - low) % alignment
        self.low, self.high, self._item = at, at + size, item
        for a, b in ((self.start, at), (at + size, self.end)):
            ctypes.memmove(a, self._canary(a, b), b - a)
        ctypes.memmove(at, low, size)
        return at

    def _canary(self, a: int, b: int) -> bytes:
        """What stands from one address to another."""
        canary = _OF_FLOATS if self._item == 4 else _CANARY
        return (canary * ((b - a) // len(canary) + 2))[a % len(canary) :][: b - a]

    def intact(self) -> bool:
        """Has nothing been written beside what was put?"""
        parts = ((self.start, self.low), (self.high, self.end))
        return all(ctypes.string_at(a, b - a) == self._canary(a, b) for a, b in parts)

    def holds(self, address: int) -> bool:
        """Does an address lie in the pages or in the guards beside them?"""
        return bool(self._at <= address < self._at + self._size)

    def release(self) -> None:
        _libc().munmap(self._at, self._size)


class _Rooms:
    """Rooms that wait for the next call, by their number of pages."""

    def __init__(self) -> None:
        self._free: dict[int, list[Room]] = {}
        self._bytes, self._lock = 0, threading.Lock()

    def take(self, size: int, alignment: int) -> Room:
        pages = -(-(size + alignment - 1) // _PAGE)
        with self._lock:
            if waiting := self._free.get(pages):
                self._bytes -= pages * _PAGE
                return waiting.pop()
        return Room(pages)

    def give(self, room: Room) -> None:
        with self._lock:
            size = room.pages * _PAGE
            if self._bytes + size <= KEPT_BYTES and len(waiting := self._free.setdefault(room.pages, [])) < 64:
                self._bytes += size
                waiting.append(room)
                return
        room.release()


rooms = _Rooms()


# --- calls -----------------------------------------------------------------------------------------------------------

_SIGBUS, _SIGSEGV = 7, 11
_ACTION_BYTES, _FLAGS_AT = 152, 136  # of glibc's `struct sigaction` on x86-64
_FLAGS = 0x4 | 0x40000000 | 0x08000000  # SIGINFO, NODEFER, ONSTACK
_TEXT = f"""
@llgrad.key = global i32 0
@old{_SIGBUS} = internal global [{_ACTION_BYTES} x i8] zeroinitializer, align 8
@old{_SIGSEGV} = internal global [{_ACTION_BYTES} x i8] zeroinitializer, align 8
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @raise(i32)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i32 @fegetenv(ptr)
declare i32 @fesetenv(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define i32 @llgrad.guarded(ptr %entry, ptr %frame, ptr %own) noinline {{
  %outer.at = getelementptr i8, ptr %own, i64 400
  %floats = getelementptr i8, ptr %own, i64 416
  %key = load i32, ptr @llgrad.key, align 4
  %outer = call ptr @pthread_getspecific(i32 %key)
  store volatile ptr %outer, ptr %outer.at, align 8
  %kept = call i32 @fegetenv(ptr %floats)
  call void @install(i32 {_SIGSEGV}, ptr @old{_SIGSEGV})
  call void @install(i32 {_SIGBUS}, ptr @old{_SIGBUS})
  %again = call i32 @_setjmp(ptr %own) returns_twice
  %first = icmp eq i32 %again, 0
  br i1 %first, label %run, label %faulted
run:
  %set = call i32 @pthread_setspecific(i32 %key, ptr %own)
  %status = call i32 %entry(ptr %frame)
  %before = load volatile ptr, ptr %outer.at, align 8
  %reset = call i32 @pthread_setspecific(i32 %key, ptr %before)
  ret i32 %status
faulted:
  %was = load volatile ptr, ptr %outer.at, align 8
  %same = load i32, ptr @llgrad.key, align 4
  %back = call i32 @pthread_setspecific(i32 %same, ptr %was)
  %restored = call i32 @fesetenv(ptr %floats)
  ret i32 {FAULTED}
}}

define internal void @install(i32 %signal, ptr %old) noinline {{
  %action = alloca [{_ACTION_BYTES} x i8], align 8
  %before = alloca [{_ACTION_BYTES} x i8], align 8
  call void @llvm.memset.p0.i64(ptr %action, i8 0, i64 {_ACTION_BYTES}, i1 false)
  store ptr @handler, ptr %action, align 8
  %flags = getelementptr i8, ptr %action, i64 {_FLAGS_AT}
  store i32 {_FLAGS}, ptr %flags, align 8
  %done = call i32 @sigaction(i32 %signal, ptr %action, ptr %before)
  %was = load ptr, ptr %before, align 8
  %ours = icmp eq ptr %was, @handler
  br i1 %ours, label %end, label %keep
keep:
  call void @llvm.memcpy.p0.p0.i64(ptr %old, ptr %before, i64 {_ACTION_BYTES}, i1 false)
  br label %end
end:
  ret void
}}

define internal void @handler(i32 %signal, ptr %info, ptr %context) noinline {{
  %code.at = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %code.at, align 8
  %fault = icmp sgt i32 %code, 0
  br i1 %fault, label %look, label %pass
look:
  %key = load i32, ptr @llgrad.key, align 4
  %own = call ptr @pthread_getspecific(i32 %key)
  %none = icmp eq ptr %own, null
  br i1 %none, label %pass, label %leave
leave:
  %address.at = getelementptr i8, ptr %info, i64 16
  %address = load i64, ptr %address.at, align 8
  %told = getelementptr i8, ptr %own, i64 {_FAULT}
  store i64 %address, ptr %told, align 8
  call void @longjmp(ptr %own, i32 1)
  unreachable
pass:
  %segv = icmp eq i32 %signal, {_SIGSEGV}
  %old = select i1 %segv, ptr @old{_SIGSEGV}, ptr @old{_SIGBUS}
  %was = load ptr, ptr %old, align 8
  %number = ptrtoint ptr %was to i64
  %default = icmp ult i64 %number, 2
  br i1 %default, label %restore, label %hand
restore:
  %done = call i32 @sigaction(i32 %signal, ptr %old, ptr null)
  br i1 %fault, label %end, label %again
again:
  %raised = call i32 @raise(i32 %signal)
  br label %end
hand:
  call void %was(i32 %signal, ptr %info, ptr %context)
  br label %end
end:
  ret void
}}
"""


class _Runner:
    """The machine code of that, made when it is first needed."""

    def __init__(self) -> None:
        from llgrad.llvm import Engine, LLVMModule

        self._engine = Engine([LLVMModule.from_text(_TEXT)])
        key = ctypes.c_uint()
        if ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None):
            raise MemoryError("no key for variables of threads")
        ctypes.c_uint.from_address(self._engine.address("llgrad.key")).value = key.value
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self.address = self._engine.address("llgrad.guarded")
        self.call = prototype(self.address)


_runner: _Runner | None = None
_runner_lock = threading.Lock()


def runner() -> _Runner:
    """The one of this process."""
    global _runner
    with _runner_lock:
        _runner = _runner or _Runner()
        return _runner


def run(entry: int, frame: int) -> tuple[int, int]:
    """Call an entry: its status, or FAULTED and the address of the access."""
    own = ctypes.create_string_buffer(_OWN_BYTES)
    status = runner().call(entry, frame, ctypes.addressof(own))
    return status, int.from_bytes(own.raw[_FAULT : _FAULT + 8], "little") if status == FAULTED else 0
