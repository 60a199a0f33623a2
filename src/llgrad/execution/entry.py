"""Entries: the one way from Python into generated code.

An entry is a function `i32 @name(ptr frame)` written in IR beside its target. It loads the arguments from the frame,
calls the target, stores the results into the frame, and returns 0. The frame is 512 bytes for `setjmp`, then a slot for
each argument, then a slot for each result; a slot is 8 bytes, 16 for `x86_fp80`. Where the frame holds the address of
a check (`docs/memory-checks.md`), that is called first, with what lies behind the results.

`llgrad_fail` (decision 7) asks a Python callback, which notes what failed in the calling thread, for the frame of that
thread's innermost call, and `longjmp`s there: the entry returns 1 and `Code.call` raises ForeignError. Generated code
holds no destructors, so nothing is skipped that matters; the arena is emptied. Foreign C++ exceptions end in the entry
too.

`Code` is a loaded object file with entries. Arenas belong to a `Code` and a thread, are kept between calls, and are
freed when either ends.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct

from llgrad.autodiff.emit import wide_results
from llgrad.autodiff.emit.tape import ASKED_FROM
from llgrad.errors import ForeignError, UnsupportedError
from llgrad.execution.size_checks import Guarded, Test, exceeded, room_of
from llgrad.llvm import Engine
from llgrad.llvm.libraries import Libraries
from llgrad.llvm.loaders import PROVIDED_BY_LINKER, load_in_jit
from llgrad.programs.guarded_memory import ANSWERS, EXCEEDS, FAULTED, UNPROVEN, run
from llgrad.support.elf import read_object
from llgrad.transforms.guard import denormals

HOOK = "llgrad.hook"
TAPE_FREE = "llgrad.arena.free"
JUMP_BYTES = 512  # of which `setjmp` takes 312 at most
_CHECK = JUMP_BYTES - 32  # where the address of the check is, or 0
_MODE, _SCRATCH = JUMP_BYTES - 16, JUMP_BYTES - 8  # where the mode for denormals is kept, behind that
ARENA_BYTES, PEAK_OFFSET = 64, 32
ARENA = ...  # (pickles as itself) stands for the calling thread's arena among the values of a call
_FLOATS = {"half": "e", "float": "f", "double": "d"}
_WIDE, _BRAIN = "x86_fp80", "bfloat"


class Entry(Struct, frozen=True):
    """What an entry takes and gives back, as IR types; `guarded` entries can fail through `llgrad_fail`."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    guarded: bool = False


# --- writing -------------------------------------------------------------------------------------------------------


def slot_bytes(ir_type: str) -> int:
    """Bytes of a slot; UnsupportedError for types that cannot be passed."""
    if ir_type == _WIDE:
        return 16
    small = ir_type[:1] == "i" and ir_type[1:].isdigit() and int(ir_type[1:]) <= 64
    if ir_type in ("ptr", _BRAIN) or ir_type in _FLOATS or small:
        return 8
    raise UnsupportedError(
        f"a value of IR type {ir_type} cannot be passed between Python and compiled code",
        fix="write a wrapper in C that takes pointers and scalars",
    )


def offsets(entry: Entry) -> tuple[list[int], list[int], int]:
    """Where arguments and results lie in the frame, and its bytes."""
    at, places = JUMP_BYTES, []
    for t in (*entry.arguments, *entry.results):
        places.append(at)
        at += slot_bytes(t)
    return places[: len(entry.arguments)], places[len(entry.arguments) :], at


def entry_text(
    entry: Entry, target: str, *, extensions: Sequence[str] = (), aggregate: bool = False, wide: bool = False,
    taker: str = "", flush: bool = False,
) -> str:  # fmt: skip
    """IR of the entry, which catches what is thrown if there is who takes it: `__cxa_begin_catch`, Rust's `cleanup`.

    `extensions` are `signext`/`zeroext` of the arguments; `aggregate`: results are one struct,
    which goes through memory if it is `wide` (`autodiff.emit.wide_results`). `flush`: denormals are zero while it runs.
    """
    arguments, slots, end = offsets(entry)
    result = wide_results.spelt(entry.results, aggregate, wide)
    extensions = extensions or [""] * len(entry.arguments)
    parameters = ", ".join(f"{t} {x}".strip() for t, x in zip(entry.arguments, extensions, strict=True))
    values = ", ".join(f"{t} {x} %a{n}" for n, (t, x) in enumerate(zip(entry.arguments, extensions, strict=True)))
    way = f"call {result} {'%behind' if flush else '@' + quoted(target)}({values}) noinline"
    if entry.results:
        way = f"%r = {way}"
    if taker:
        way = way.replace("call ", "invoke ") + "\n    to label %returned unwind label %thrown"
    lines = [f"declare {result} @{quoted(target)}({parameters})"]
    lines += ["declare i32 @_setjmp(ptr) returns_twice"] if entry.guarded else []
    whose, clauses, caught = _CAUGHT if taker == CXX_TAKER else _caught_panic(taker)
    lines += caught[0] if taker else []
    landed = ["thrown:", f"  %what = landingpad {{ ptr, i32 }} {clauses}"]
    personality = f" personality ptr @{whose}" if taker else ""
    lines += denormals.declarations() if flush else []
    lines += [f"define i32 @{quoted(entry.name)}(ptr %frame){personality} {{", *_check_lines(end)]
    places = (("mode", _MODE), ("scratch", _SCRATCH)) if flush else ()
    lines += [f"  %{name} = getelementptr i8, ptr %frame, i64 {at}" for name, at in places]

    def put_back(mark: str) -> list[str]:
        return denormals.put_back("%mode", "%scratch", mark) if flush else []

    if entry.guarded:
        lines += ["  %again = call i32 @_setjmp(ptr %frame) returns_twice", "  %first = icmp eq i32 %again, 0"]
        lines += ["  br i1 %first, label %run, label %failed", "failed:", *put_back("failed"), "  ret i32 1", "run:"]
    for n, (t, at) in enumerate(zip(entry.arguments, arguments, strict=True)):
        lines += [f"  %p{n} = getelementptr i8, ptr %frame, i64 {at}", f"  %a{n} = load {t}, ptr %p{n}, align 8"]
    lines += [*denormals.behind_memory(f"@{quoted(target)}"), *denormals.set_mode("%mode", "%scratch")] if flush else []
    lines += [f"  {way}"]
    lines += ["returned:"] if taker else []
    lines += put_back("returned")
    for n, (t, at) in enumerate(zip(entry.results, slots, strict=True)):
        lines += [f"  %x{n} = extractvalue {result} %r, {wide_results.member(n, wide)}"] if aggregate else []
        lines += [f"  %q{n} = getelementptr i8, ptr %frame, i64 {at}"]
        lines += [f"  store {t} {f'%x{n}' if aggregate else '%r'}, ptr %q{n}, align 8"]
    lines += ["  ret i32 0", *([*landed, *put_back("thrown"), *caught[1]] if taker else []), "}", ""]
    return "\n".join(lines)


def _check_lines(end: int) -> list[str]:
    return [
        f"  %check.at = getelementptr i8, ptr %frame, i64 {_CHECK}", "  %check = load ptr, ptr %check.at, align 8",
        "  %unchecked = icmp eq ptr %check, null", "  br i1 %unchecked, label %start, label %test",
        "test:", f"  %block = getelementptr i8, ptr %frame, i64 {end}", "  %tested = call i32 %check(ptr %block)",
        "  %fits = icmp eq i32 %tested, 0", "  br i1 %fits, label %start, label %refused",
        "refused:", "  ret i32 %tested", "start:",
    ]  # fmt: skip


CXX_TAKER = "__cxa_begin_catch"
_IT = "  %it = extractvalue { ptr, i32 } %what, 0"
_PANICKED, _RAISED, _SAID, _THREW = 5, 12, 13, 16  # what `llgrad_fail` is told of exceptions
_STANDARD = "@_ZTISt9exception"  # the type of `std::exception`, from which others with a text are derived
_CAUGHT = "__gxx_personality_v0", f"catch ptr {_STANDARD} catch ptr null", (
    ["declare i32 @__gxx_personality_v0(...)",
     "declare i32 @llvm.eh.typeid.for.p0(ptr)", "declare void @llgrad.thrown(ptr, i1)"],
    [_IT, "  %which = extractvalue { ptr, i32 } %what, 1",
     f"  %standard = call i32 @llvm.eh.typeid.for.p0(ptr {_STANDARD})", "  %has = icmp eq i32 %which, %standard",
     "  call void @llgrad.thrown(ptr %it, i1 %has)", "  ret i32 2"],
)  # fmt: skip
_THROWN = f"""
{_STANDARD} = external constant ptr
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
declare ptr @__cxa_current_exception_type()
declare ptr @__cxa_demangle(ptr, ptr, ptr, ptr)
declare void @free(ptr)
define internal void @llgrad.thrown(ptr %it, i1 %has) noinline cold {{
  %said = alloca {{ ptr, ptr }}, align 8
  store {{ ptr, ptr }} zeroinitializer, ptr %said, align 8
  %second = getelementptr i8, ptr %said, i64 8
  %object = call ptr @__cxa_begin_catch(ptr %it)
  %type = call ptr @__cxa_current_exception_type()
  %foreign = icmp eq ptr %type, null
  br i1 %foreign, label %tell, label %named
named:
  %at = getelementptr i8, ptr %type, i64 8
  %mangled = load ptr, ptr %at, align 8
  %name = call ptr @__cxa_demangle(ptr %mangled, ptr null, ptr null, ptr null)
  store ptr %name, ptr %said, align 8
  br i1 %has, label %texted, label %tell
texted:
  %functions = load ptr, ptr %object, align 8
  %slot = getelementptr i8, ptr %functions, i64 16
  %what = load ptr, ptr %slot, align 8
  %text = call ptr %what(ptr %object)
  store ptr %text, ptr %second, align 8
  br label %tell
tell:
  %hook = load ptr, ptr @{HOOK}, align 8
  %frame = call ptr %hook(i32 {_THREW}, ptr %said)
  %made = load ptr, ptr %said, align 8
  call void @free(ptr %made)
  call void @__cxa_end_catch()
  ret void
}}
"""


def _caught_panic(cleanup: str) -> tuple[str, str, tuple[list[str], list[str]]]:
    """A panic of Rust's: its library counts it as done, and hands out what was thrown, which stays where it is."""
    return "rust_eh_personality", "catch ptr null", (
        ["declare i32 @rust_eh_personality(...)", f"declare {{ ptr, ptr }} @{quoted(cleanup)}(ptr)"],
        [_IT, f"  call {{ ptr, ptr }} @{quoted(cleanup)}(ptr %it)", "  ret i32 3"],
    )


def support_text(taker: str) -> str:
    """IR of `llgrad_fail`, and of freeing an arena, for derivatives that Python calls."""
    return f"""{fail_text(taker)}
declare void @llgrad.tape.free(ptr)
define void @{TAPE_FREE}(ptr %arena) {{
  call void @llgrad.tape.free(ptr %arena)
  ret void
}}
"""


def fail_text(taker: str) -> str:
    """IR of `llgrad_fail` for code that Python calls: back to the entry. And of telling what an entry caught."""
    return f"""{_THROWN if taker == CXX_TAKER else ""}
@{HOOK} = global ptr null
declare void @longjmp(ptr, i32) noreturn
define void @llgrad_fail(i32 %code, ptr %detail) noinline cold noreturn {{
  %hook = load ptr, ptr @{HOOK}, align 8
  %frame = call ptr %hook(i32 %code, ptr %detail)
  call void @longjmp(ptr %frame, i32 1)
  unreachable
}}
"""


def quoted(name: str) -> str:
    """A global's name as it stands after `@`."""
    return name if all(c.isalnum() or c in "-$._" for c in name) else f'"{name}"'


# --- failure -------------------------------------------------------------------------------------------------------

_BUDGET = 8
_FAILURES = {
    1: ("the tape needs more memory than there is", "use a smaller input, or differentiate a part of the computation"),
    2: ("the tape was released out of order", "this is a bug in llgrad: report it with the source"),
    3: ("a function pointer led to no function that was differentiated", "give llgrad the source of what sets it, too"),
    6: (
        "a pointer to a nested procedure was called that had been stored",
        "pass the procedure as an argument, or take it out of the procedure that it is nested in",
    ),
    7: ("a result has another shape than the array that was given for it", "give one of the shape that is returned"),
    _BUDGET: ("the checkpoints do not fit into the budget", "allow more bytes, or take fewer steps"),
    9: (
        "a step of a loop with checkpoints writes where it was not known to",
        "differentiate without checkpoints, or let it write the same range in every step",
    ),
    10: (
        "the bits of an active float were taken for a number (a union read as the member that it is not)",
        "convert the float instead, or give the function that does it a rule",
    ),
    11: (
        "adjoints lie in the shadow of memory of the caller's that the function released and replaced (a buffer that "
        "grew, or was moved into): nobody could find them",
        "let the function work on a copy",
    ),
    15: (
        "a variable held a pointer to memory that is active in the function: what is read or written through it would "
        "have no derivative",
        "set the pointer within the function that is differentiated, or pass it as an argument",
    ),
    14: (
        "work that is shared between threads outside of a parallel region of the function was to be differentiated by "
        "one thread of several",
        "ask for the derivative outside of parallel regions, or move the parallel region into the function",
    ),
    17: (
        "a parallel region got another number of threads in the reverse sweep than in the forward sweep",
        "leave the number of threads as it is (OMP_DYNAMIC=false, OMP_THREAD_LIMIT), or load with serial=True",
    ),
    4: ("the code raised an exception or trapped", "call the function itself, in its language, to see which"),
}
_Byte = ctypes.c_char
_calls = threading.local()  # frame: address of the innermost frame; failure: (code, detail)


def _failed(code: int, detail: int | None) -> int:
    _calls.failure = (code, detail or 0)
    _calls.place = _TOLD[code](detail) if code in _TOLD and detail else ""
    return int(_calls.frame)


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(_failed)
PYTHON_HOOK = ctypes.cast(_CALLBACK, ctypes.c_void_p).value or 0


def _rust_location(address: int) -> str:
    """What a `core::panic::Location` says: address and length of the file's name, line, column."""
    words = (ctypes.c_uint64 * 2).from_address(address)
    numbers = (ctypes.c_uint32 * 2).from_address(address + 16)
    name = ctypes.string_at(words[0], words[1]).decode(errors="replace")
    return f"{name}:{numbers[0]}:{numbers[1]}"


def _nim_exception(address: int) -> str:
    """What an exception of Nim's says: behind its type and its parent lie its name, the text's length and the text."""
    name, length, text = (ctypes.c_uint64 * 3).from_address(address + 16)
    words = [ctypes.string_at(name)] if name else []
    words += [ctypes.string_at(text + 8, length)] if text and length else []
    return b": ".join(words).decode(errors="replace")


def _text(address: int) -> str:
    return ctypes.string_at(address).decode(errors="replace")


def _cxx_exception(address: int) -> str:
    """The type of what was thrown, and what a `std::exception` says: two texts, or nothing."""
    return ": ".join(_text(at) for at in (ctypes.c_uint64 * 2).from_address(address) if at)


_TOLD = {_PANICKED: _rust_location, _RAISED: _nim_exception, _SAID: _text, _THREW: _cxx_exception}


def failure(status: int, code: int, detail: int) -> ForeignError:
    """The exception for the status of an entry; `code` and `detail` are what `llgrad_fail` was given."""
    if status == 2:
        said = getattr(_calls, "place", "")
        fix = "correct what it was given, or catch it in the code and return a status"
        return ForeignError("the compiled code threw a C++ exception", cause=said, fix=fix)
    if status == 3:
        return ForeignError("the code panicked", cause="nobody caught it", fix="correct what it was given")
    if code == _PANICKED:
        place = getattr(_calls, "place", "")
        return ForeignError("the code panicked", cause=f"at {place}" if place else "", fix="correct what it was given")
    if code == _SAID:
        return ForeignError("the code panicked", cause=getattr(_calls, "place", ""), fix="correct what it was given")
    if code == _RAISED:
        said = getattr(_calls, "place", "")
        return ForeignError("the code raised an exception", cause=said, fix="correct what it was given, or catch it")
    if code == _BUDGET:
        message, fix = _FAILURES[code]
        return ForeignError(message, cause=f"it takes about {detail:,} bytes at least", fix=fix)
    message, fix = _FAILURES.get(code, ("the derivative failed while it ran", "report it with the source"))
    return ForeignError(message, cause=f"llgrad_fail({code}, {detail:#x})", fix=fix)


# --- loaded code -----------------------------------------------------------------------------------------------------


class _Image:
    """Addresses of loaded code, valid as long as this lives."""

    def __init__(self, data: bytes, libraries: Sequence[str], symbols: Mapping[str, int]) -> None:
        self.engine = None if symbols else Engine.from_object(data, libraries=libraries)
        self.addresses: dict[str, int] = {}
        if self.engine:
            self.addresses = {name: self.engine.address(name) for name in self.engine.names()}
            return
        contents, found = read_object(data), Libraries(libraries)
        wanted = [s.name for s in contents.symbols if not s.defined and s.name not in PROVIDED_BY_LINKER]
        found.require([name for name in wanted if name not in symbols])
        image = load_in_jit(data, contents, {name: symbols.get(name) or found.address(name) for name in wanted})
        self.addresses = image.addresses
        weakref.finalize(self, image.release)


class Code:
    """An object file in this process. `symbols` are addresses of what it shares with other code."""

    def __init__(
        self, data: bytes, *, libraries: Sequence[str] = (), symbols: Mapping[str, int] | None = None
    ) -> None:
        self._image = _Image(data, libraries, symbols or {})
        self._functions: dict[str | Test, _Function] = {}
        self._arenas = threading.local()
        if hook := self.addresses.get(HOOK):
            ctypes.c_void_p.from_address(hook).value = PYTHON_HOOK

    @property
    def addresses(self) -> dict[str, int]:
        """What the object exports; valid as long as this lives."""
        return self._image.addresses

    def call(
        self, entry: Entry, values: Sequence[Any], test: Test | None = None
    ) -> tuple[tuple[Any, ...], int]:
        """Results and the tape's peak in bytes. Values: numbers, NumPy arrays, addresses, None, `ARENA`. `test`: what
        the sizes of arrays are checked by; always the same one for an entry, or None."""
        function = self._functions.get(test or entry.name) or self._function(entry, test)
        arena = self._arena() if any(v is ARENA for v in values) else None
        if function.check or test is None:
            frame = function.fill(values, arena)
            status = self._run(function, frame)
        else:
            status = UNPROVEN
        if status == UNPROVEN and test is not None:
            masks = function.answers(frame)[:2] if function.check else (None, None)
            frame, status = self._guarded(function, test, values, arena, *map(test.pointers, masks))
        if status:
            if arena:
                arena.free()
            if status == EXCEEDS and test is not None:
                raise exceeded(test, values, *function.answers(frame))
            raise failure(status, *getattr(_calls, "failure", (0, 0)))
        peak = arena.peak() if arena else 0
        if arena and peak > ASKED_FROM and peak >> 20 >= _most_kept():
            arena.free()
        return function.results(frame), peak

    def _run(self, function: _Function, frame: Any) -> int:
        outer = getattr(_calls, "frame", 0)
        _calls.frame = ctypes.addressof(frame)
        try:
            return function.call(_calls.frame)
        finally:
            _calls.frame = outer

    def _guarded(
        self, function: _Function, test: Test, values: Sequence[Any], arena: _Arena | None, unproven: Sequence[int],
        behind: Sequence[int],
    ) -> tuple[Any, int]:
        """A call with copies of the arrays that the code may leave: the frame and the status."""
        guarded = Guarded(test, values, unproven, behind)
        outer = getattr(_calls, "frame", 0)
        try:
            frame = function.fill(guarded.values, arena, checked=False)
            _calls.frame = ctypes.addressof(frame)
            status, address = run(function.address, _calls.frame)
            if status == FAULTED:
                if arena:
                    arena.free()
                raise guarded.fault(address)
            if not status:
                guarded.back()
            return frame, status
        finally:
            _calls.frame = outer
            guarded.release()

    def _function(self, entry: Entry, test: Test | None) -> _Function:
        made = self._functions[test or entry.name] = _Function(entry, self.addresses[entry.name], test)
        return made

    def _arena(self) -> _Arena:
        arena: _Arena | None = getattr(self._arenas, "arena", None)
        if arena is None:
            arena = self._arenas.arena = _Arena(self._image)
        arena.start()
        return arena


class _Function:
    """An entry at an address: how its frame is filled and read."""

    def __init__(self, entry: Entry, address: int, test: Test | None = None) -> None:
        arguments, results, size = offsets(entry)
        self.address, self.block = address, size
        self.call: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)
        layout = "".join(_pack_code(t) for t in entry.arguments)
        self.packer = struct.Struct("<" + layout)
        self.converters = [_converter(t) for t in entry.arguments]
        self.readers = [(_reader(t), at) for t, at in zip(entry.results, results, strict=True)]
        self.arguments_at = arguments[0] if arguments else JUMP_BYTES
        self.check = test.address() if test is not None else 0
        if test is not None and self.check:
            limits, strided = test.check.limits, test.check.strided
            self.numbers = [test.at[n][0] for n in limits.numbers]
            self.pointers = [(test.at[n][0], n in strided) for n in limits.pointers]
            between = size - self.arguments_at - self.packer.size + 8 * ANSWERS
            layout = f"<Q{self.arguments_at - _CHECK - 8}x{layout}{between}x{len(self.numbers)}Q"
            self.whole = struct.Struct(layout + "QQ" * len(self.pointers))
            self.usual = struct.Struct(layout + "8xQ" * len(self.pointers))  # nothing lies before any array
            self.arrays = None if strided & set(limits.pointers) else _chosen([n for n, _ in self.pointers])
            self.given = _chosen(self.numbers)
            size += 8 * (ANSWERS + len(self.numbers) + 2 * len(self.pointers))
        self.frame = ctypes.c_char * size

    def fill(self, values: Sequence[Any], arena: _Arena | None, checked: bool = True) -> ctypes.Array[ctypes.c_char]:
        frame = self.frame()
        packed = [
            arena.address if v is ARENA and arena else convert(v)
            for convert, v in zip(self.converters, values, strict=True)
        ]
        if not self.check or not checked:
            self.packer.pack_into(frame, self.arguments_at, *packed)
            return frame
        if self.arrays is not None:
            try:
                sizes = [v.nbytes for v in self.arrays(values)]
                self.usual.pack_into(frame, _CHECK, self.check, *packed, *self.given(packed), *sizes)
                return frame
            except AttributeError:  # None, or an address
                pass
        packed += self.given(packed)
        for n, strided in self.pointers:
            packed += room_of(values[n], strided)
        self.whole.pack_into(frame, _CHECK, self.check, *packed)
        return frame

    def answers(self, frame: ctypes.Array[ctypes.c_char]) -> tuple[int, int, int]:
        """What the check has written."""
        which, low, high = struct.unpack_from("<Qqq", frame, self.block)
        return which, low, high

    def results(self, frame: ctypes.Array[ctypes.c_char]) -> tuple[Any, ...]:
        return tuple(read(frame, at) for read, at in self.readers)


def _chosen(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Gives what stands at these places of a list."""
    if len(places) == 1:
        only = places[0]
        return lambda values: (values[only],)
    return itemgetter(*places) if places else lambda values: ()


def _pack_code(t: str) -> str:
    if t == _WIDE:
        return "16s"
    code = _FLOATS.get(t, "Q")
    return code + {"e": "6x", "f": "4x"}.get(code, "")


def _converter(t: str) -> Callable[[Any], Any]:
    if t == _WIDE:
        return _long_double
    if t in _NARROW:
        return _rounded(_NARROW[t])
    if t == "double":
        return float
    if t == "ptr":
        return address_of
    if t == _BRAIN:
        return _brain_bits
    mask = (1 << int(t[1:])) - 1
    return lambda v: int(v) & mask


_NARROW = {"half": "float16", "float": "float32"}


def _rounded(name: str) -> Callable[[Any], float]:
    """What rounds to a narrower float, as C does: what is too large is infinite."""

    def rounded(value: Any) -> float:
        import numpy as np

        with np.errstate(over="ignore"):
            return float(getattr(np, name)(value))

    return rounded


def _brain_bits(value: Any) -> int:
    """The bits of the nearest bfloat, ties to even; what is longer is rounded to odd first (`llvm.bfloat`)."""
    import numpy as np

    exact = float(value)
    with np.errstate(over="ignore"):
        near = np.float32(exact)
    bits = int(near.view(np.uint32))
    if exact != exact:
        return bits >> 16 | 0x40
    if float(near) != exact:
        bits = (bits - (abs(float(near)) > abs(exact))) | 1
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _long_double(value: Any) -> bytes:
    import numpy as np

    return np.longdouble(value).tobytes()


def address_of(value: Any) -> int:
    """The address that a value stands for: an array's data, an integer, 0 for None."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    try:
        return ctypes.addressof(_Byte.from_buffer(value))  # four times as fast: of contiguous arrays one may write to
    except (TypeError, ValueError, BufferError):
        return int(value.__array_interface__["data"][0])


def _reader(t: str) -> Callable[[Any, int], Any]:
    if t == _WIDE:
        return _read_long_double
    if t == _BRAIN:
        return lambda frame, at: struct.unpack("<f", b"\0\0" + frame[at : at + 2])[0]
    code = _FLOATS.get(t)
    if code is None:
        bits = 64 if t == "ptr" else int(t[1:])
        return lambda frame, at: int.from_bytes(frame[at : at + 8], "little") & ((1 << bits) - 1)
    unpack = struct.Struct(f"<{code}").unpack_from
    return lambda frame, at: unpack(frame, at)[0]


def _read_long_double(frame: Any, at: int) -> Any:
    import numpy as np

    return np.frombuffer(frame[at : at + 16], np.longdouble)[0]


def _most_kept() -> float:
    """The MiB from which a tape is not kept for the next call (`llgrad.tape.give` reads the same of programs)."""
    said = os.environ.get("LLGRAD_TAPE_KEEP")
    return math.inf if said is None else int(said) if said.isdecimal() else 0


class _Arena:
    """The tape of one thread: 64 bytes of state; see `autodiff.emit.tape`."""

    def __init__(self, image: _Image) -> None:
        self.state = (ctypes.c_uint64 * (ARENA_BYTES // 8))()
        self.address = ctypes.addressof(self.state)
        release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(image.addresses[TAPE_FREE])
        weakref.finalize(self, _free_arena, release, self.state, image)
        self._release = release

    def start(self) -> None:
        self.state[PEAK_OFFSET // 8] = 0

    def peak(self) -> int:
        return int(self.state[PEAK_OFFSET // 8])

    def free(self) -> None:
        """Empty it, whatever state it is in."""
        _free_arena(self._release, self.state, None)


def _free_arena(release: Callable[[int], None], state: Any, _keep: object) -> None:
    release(ctypes.addressof(state))
    ctypes.memset(ctypes.addressof(state), 0, ARENA_BYTES)
