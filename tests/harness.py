"""From sources to Jacobians: by forward mode, reverse mode, the interpreter, and the program that clang alone built.

The way of a program: clang's raw bitcode, `stages.prepare` at a level (0: unoptimised, in normal form), both
derivatives written into one module, `stages.finish`, machine code. All floats are packed into one vector of inputs
and one of outputs (see `cases`), so that a Jacobian is a matrix.

Derivatives are called through entries `void (ptr results, ptr arguments)` with 16 bytes for each value: no calling
convention is guessed.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import igraph  # noqa: F401  (synthesis imports it late: here it is once for all children)
import numpy as np
import pytest
from cases import CTYPES, Memory, Program
from interpreter import Machine, tangent
from oracle import Matrix, Vector
from sandbox import FAILED

from llgrad.autodiff.derivation import derive
from llgrad.autodiff.emit import arena_runtime, tape
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import LlgradError, UnsupportedError
from llgrad.frontends import compile_sources, find_compiler
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import Engine, LLVMModule
from llgrad.llvm.assembly import with_bodies
from llgrad.programs import derivatives, stages
from llgrad.transforms.optimise import normal_form

LEVELS = (0, 1, 2, 3)
MODES = (Mode.FORWARD, Mode.COMBINED)
SLOT = 16
_NUMPY = {"double": "f8", "float": "f4", "x86_fp80": "f16"}


@dataclass
class Built:
    """Machine code of the derivatives of some programs at one level, and what was refused or went wrong instead."""

    level: int
    engine: Engine | None = None
    errors: dict[tuple[str, Mode], Exception] = field(default_factory=dict)


def without_huge_pages(patch: pytest.MonkeyPatch) -> None:
    """The arena asks the system for no large pages, however large a segment is."""
    text = LLVMModule.from_bitcode(arena_runtime.shipped(False).read_bytes()).text()
    changed = text.replace(f", {(8 << 20) - 1}\n", f", {1 << 62}\n")  # HUGE_PAGES_FROM
    assert changed != text
    part = LLVMModule.from_text(changed).as_part()
    patch.setattr(arena_runtime, "_tape_runtime", lambda each_block_its_own: part)


def has_libcxx() -> bool:
    """Can programs be compiled with libc++'s headers, and run with its library?"""
    compiler = find_compiler()
    words = [*compiler.cxx, "-stdlib=libc++", "-xc++", "-E", "-"]
    found = subprocess.run(words, input=b"#include <vector>", capture_output=True)
    return not compiler.is_zig and not found.returncode and ctypes.util.find_library("c++") is not None


# --- the program as clang builds it ------------------------------------------------------------------------------


class Reference:
    """The program compiled by clang alone at -O0, as a shared library."""

    def __init__(self, paths: Sequence[Path]) -> None:
        compiler = find_compiler()
        flags = ["-O0", "-ffp-contract=off", "-fPIC", "-w", "-D_GNU_SOURCE", *compiler.flags]
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for path in paths:
                words = compiler.cxx if path.suffix == ".cpp" else compiler.c
                made.append(str(Path(folder, path.name).with_suffix(f"{path.suffix}.o")))
                subprocess.run([*words, *flags, "-c", "-o", made[-1], str(path)], check=True, capture_output=True)
            words = compiler.cxx if any(p.suffix == ".cpp" for p in paths) else compiler.c
            target = str(Path(folder, "reference.so"))
            subprocess.run([*words, "-shared", "-o", target, *made, "-lm"], check=True, capture_output=True)
            self._library = ctypes.CDLL(target)

    def function(self, program: Program) -> Callable[[Vector], Vector]:
        """Inputs to outputs."""
        call = self._library[program.name]
        call.restype = CTYPES[program.result]
        call.argtypes = [CTYPES[p.type] for p in program.parameters]

        def run(point: Vector) -> Vector:
            memory = Memory(program)
            memory.set_floats(point[: len(program.leaves)])
            result = call(*_c_arguments(program, memory, point))
            return np.array([*memory.floats(), *([result] if program.result != "void" else [])], dtype=float)

        return run


def _c_arguments(program: Program, memory: Memory, point: Vector) -> list[Any]:
    scalars = iter(point[len(program.leaves) :])
    make: dict[str, Callable[[Any], Any]] = {
        "buffer": lambda p: memory.address(p.name),
        "integer": lambda p: int(p.value),
        "float": lambda p: float(next(scalars)),
    }
    return [make[p.kind](p) for p in program.parameters]


# --- building derivatives ----------------------------------------------------------------------------------------


def request(program: Program, mode: Mode) -> Request:
    """The request for the whole Jacobian: everything that may hold floats is active."""
    scalar = Act.DUP if mode is Mode.FORWARD else Act.OUT
    acts = {"buffer": Act.DUP, "float": scalar, "integer": Act.CONST}
    arguments = tuple(acts[p.kind] if p.active else Act.CONST for p in program.parameters)
    result = scalar if program.result != "void" else Act.CONST
    return Request(program.name, mode, arguments, result, primal_result=False)


def compiled(paths: Sequence[Path]) -> Any:
    """The linked program, for `prepared`."""
    return stages.program(compile_sources(paths).modules)


def build(whole: Any, programs: Sequence[Program], level: int, *, finish: int | None = None) -> Built:
    """Derive both modes of all programs at `level` and compile them; what fails is left out and kept in `errors`."""
    built = Built(level)
    text = prepared(whole, programs, level, built)
    wanted = [(p, mode) for p in programs for mode in MODES if (p.name, mode) not in built.errors]
    while wanted:
        written = _written(text, wanted, built)
        if written is None:
            wanted = [w for w in wanted if (w[0].name, w[1]) not in built.errors]
            continue
        try:
            built.engine = _engine(written, wanted, level if finish is None else finish)
            return built
        except LlgradError as error:
            if len(wanted) == 1:
                built.errors[wanted[0][0].name, wanted[0][1]] = error
                return built
            wanted = _singly(text, wanted, built)
    return built


def prepared(
    whole: Any, programs: Sequence[Program], level: int, built: Built | None = None, *, threads: bool = False
) -> str:
    """The programs' IR at a level. `threads`: thread-local variables may be used, for no one else uses theirs."""
    try:
        return stages.prepare(whole, [p.name for p in programs], level, threads=threads)
    except LlgradError as error:
        if built is None or len(programs) > 1:
            raise
        built.errors.update({(p.name, mode): error for p in programs for mode in MODES})
        return ""


def _written(text: str, wanted: Sequence[tuple[Program, Mode]], built: Built) -> str | None:
    """The module with all derivatives; None if one could not be written (then it is in the errors).

    The last one is kept: often, O1, O2 and O3 make the same of a program.
    """
    asked = text, tuple((p.name, mode) for p, mode in wanted)
    if asked not in _LAST and (made := _with_derivatives(text, wanted, built)) is not None:
        _LAST.clear()
        _LAST[asked] = made
    return _LAST.get(asked)


_LAST: dict[tuple[str, tuple[tuple[str, Mode], ...]], str] = {}


def _with_derivatives(text: str, wanted: Sequence[tuple[Program, Mode]], built: Built) -> str | None:
    module = normal_form.reducible(parse(text))
    entries = []
    for program, mode in wanted:
        try:
            (f,) = derive(module, request(program, mode))
        except Exception as error:
            if isinstance(error, UnsupportedError) and error.remedy is not None:
                with contextlib.suppress(UnsupportedError):
                    return _with_derivatives(derivatives.mended(text, Mode.COMBINED, error), wanted, built)
            if not isinstance(error, LlgradError):
                error.add_note(traceback.format_exc())
            built.errors[program.name, mode] = error
            return None
        entries.append(_entry(program, mode, f))
    return with_bodies(write(module)) + "\n".join(entries)


def _singly(text: str, wanted: Sequence[tuple[Program, Mode]], built: Built) -> list[tuple[Program, Mode]]:
    """Those of `wanted` that LLVM accepts when they are alone."""
    good = []
    for one in wanted:
        written = _written(text, [one], built)
        try:
            if written is not None:
                _engine(written, [one], 0)
                good.append(one)
        except LlgradError as error:
            built.errors[one[0].name, one[1]] = error
    return good


def _entry(program: Program, mode: Mode, f: Any) -> str:
    """LLVM assembly that unpacks arguments, calls the derivative, and packs what it returns."""
    types = [str(t) for t in f.function_type.params]
    result = str(f.function_type.result)
    lines = [f"define void @{entry_name(program, mode)}(ptr %results, ptr %arguments) {{"]
    for i, t in enumerate(types):
        lines.append(f"  %p{i} = getelementptr i8, ptr %arguments, i64 {SLOT * i}")
        lines.append(f"  %a{i} = load {t}, ptr %p{i}, align 16")
    call = f"call {result} @{_quoted(f.name)}({', '.join(f'{t} %a{i}' for i, t in enumerate(types))})"
    if result == "void":
        lines.append(f"  {call}")
    else:
        lines.append(f"  %r = {call}")
        parts = getattr(f.function_type.result, "fields", None)
        for i, t in enumerate(parts if parts is not None else [result]):
            value = "%r" if parts is None else f"%e{i}"
            lines += [] if parts is None else [f"  %e{i} = extractvalue {result} %r, {i}"]
            lines.append(f"  %q{i} = getelementptr i8, ptr %results, i64 {SLOT * i}")
            lines.append(f"  store {t} {value}, ptr %q{i}, align 16")
    return "\n".join([*lines, "  ret void", "}", ""])


def entry_name(program: Program, mode: Mode) -> str:
    return f"test.{mode}.{program.name}"


def _quoted(name: str) -> str:
    return f'"{name}"' if not name.replace(".", "").replace("_", "").isalnum() else name


def _engine(text: str, wanted: Sequence[tuple[Program, Mode]], level: int, code: int = 2) -> Engine:
    """`code`: at most how much care code generation takes."""
    keep = [entry_name(p, mode) for p, mode in wanted]
    module = stages.finish(text, [_failure_hook()], [*keep, "llgrad_fail"], level=level, vectorize=level == 3)
    return Engine([module], opt_level=min(level, code))


def _fail(code: int, detail: int) -> None:
    os.write(2, f"llgrad_fail({code}, {detail})\n".encode())
    os._exit(FAILED)


_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)(_fail)


def _failure_hook() -> str:
    address = ctypes.cast(_HOOK, ctypes.c_void_p).value
    return f"""
define void @llgrad_fail(i32 %code, ptr %detail) cold noreturn {{
  %hook = inttoptr i64 {address} to ptr
  call void %hook(i32 %code, ptr %detail)
  unreachable
}}
"""


# --- calling them ------------------------------------------------------------------------------------------------


def arguments(
    program: Program, memory: Memory, shadow: Memory, numbers: Iterable[float], tangents: Iterable[float] | None = None
) -> list[tuple[str, Any]]:
    """(NumPy type, value) of what a derivative takes for the parameters; tangents, if any, follow their floats."""
    values: list[tuple[str, Any]] = []
    rest, moved = iter(numbers), iter(tangents if tangents is not None else ())
    for p in program.parameters:
        if p.kind == "buffer":
            values.append(("u8", memory.address(p.name)))
            values += [("u8", shadow.address(p.name))] if p.active else []
        elif p.kind == "integer":
            values.append((f"i{int(p.type[1:]) // 8}", int(p.value)))
        else:
            values.append((_NUMPY[p.type], next(rest)))
            values += [(_NUMPY[p.type], next(moved))] if tangents is not None else []
    return values


def put(slots: Any, values: Iterable[tuple[str, Any]]) -> None:
    """One value a slot."""
    for i, (kind, value) in enumerate(values):
        slots[SLOT * i : SLOT * i + np.dtype(kind).itemsize].view(kind)[0] = value


class Call:
    """One derivative, ready to be called with any seed."""

    def __init__(self, built: Built, program: Program, mode: Mode) -> None:
        assert built.engine is not None
        self.program, self.mode = program, mode
        address = built.engine.address(entry_name(program, mode))
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
        self.arena = np.zeros(tape.ARENA_BYTES, np.uint8)

    def __call__(self, point: Vector, seed: Vector) -> tuple[Vector, Vector]:
        """Forward: tangent of the inputs to that of the outputs; reverse: the transpose. And the primal outputs."""
        program, floats = self.program, len(self.program.leaves)
        memory, shadow = Memory(program), Memory(program, shadow=True)
        memory.set_floats(point[:floats])
        shadow.set_floats(seed[:floats])
        slots, results = np.zeros(SLOT * 64, np.uint8), np.zeros(SLOT * 32, np.uint8)
        self._pack(slots, memory, shadow, point[floats:], seed[floats:])
        self._entry(results.ctypes.data, slots.ctypes.data)
        if not (memory.intact() and shadow.intact()):
            raise AssertionError("something was written outside the buffers")
        if self.mode is Mode.COMBINED and self.arena[:8].any() and self._used():
            raise AssertionError("the tape is not empty after the reverse sweep")
        extra = self._results(results)
        return np.concatenate([shadow.floats(), extra]), memory.floats()

    def _used(self) -> int:
        """Bytes still reserved on the arena."""
        top, _, segment, used = (int(v) for v in self.arena[:32].view(np.uint64))
        return used + (top - segment - tape.HEADER_BYTES if segment else 0)

    def _pack(self, slots: Any, memory: Memory, shadow: Memory, scalars: Vector, seeds: Vector) -> None:
        values: list[tuple[str, Any]] = [] if self.mode is Mode.FORWARD else [("u8", self.arena.ctypes.data)]
        values += arguments(self.program, memory, shadow, scalars, seeds if self.mode is Mode.FORWARD else None)
        if self.mode is Mode.COMBINED and self.program.result != "void":
            values.append((_NUMPY[self.program.result], seeds[-1]))
        put(slots, values)

    def _results(self, results: Any) -> list[float]:
        kinds = [p.type for p in self.program.scalars]
        if self.mode is Mode.FORWARD:
            kinds = [self.program.result] if self.program.result != "void" else []
        types = [np.dtype(_NUMPY[t]) for t in kinds]
        return [float(results[SLOT * i :][: t.itemsize].view(t)[0]) for i, t in enumerate(types)]


def jacobian(built: Built, program: Program, mode: Mode, point: Vector) -> tuple[Matrix, Vector]:
    """The Jacobian by one mode, a column or a row at a time, and the primal outputs in memory (of the last call)."""
    call = Call(built, program, mode)
    forward = mode is Mode.FORWARD
    size = program.inputs if forward else program.outputs
    lines, primal = [], np.zeros(0)
    for seed in np.eye(size):
        line, primal = call(point, seed)
        lines.append(line)
    matrix = np.array(lines).reshape(size, -1)
    return (matrix.T if forward else matrix), primal


# --- the interpreter -----------------------------------------------------------------------------------------------


def machine(text: str) -> Machine:
    """An interpreter of the IR `text`, for `interpreted`."""
    made = Machine(parse(text), uninitialised="poison")
    made.run_constructors()
    return made


def interpreted(machine: Machine, program: Program, point: Vector, direction: Vector) -> tuple[Vector, Vector]:
    """Outputs and their tangents in one direction, by dual numbers."""
    places = {b.name: machine.put(np.frombuffer(b.initial, np.uint8)) for b in program.buffers}
    for b in program.buffers:
        for offset, target, at in b.pointers:
            machine.write_bytes(places[b.name] + offset, (places[target] + at).to_bytes(8, "little"))
    for (name, offset, kind), x, t in zip(program.leaves, point, direction, strict=False):
        machine.set(places[name] + offset, np.array([x], kind), np.array([t], kind))
    result = machine.run(program.name, _machine_arguments(program, places, point, direction))
    values, tangents = [], []
    for name, offset, kind in program.leaves:
        v, t = machine.get(places[name] + offset, kind, 1)
        values.append(float(v[0]))
        tangents.append(float(t[0]))
    if program.result != "void":
        values.append(float(getattr(result, "value", result)))
        tangents.append(float(tangent(result)))
    return np.array(values), np.array(tangents)


def _machine_arguments(program: Program, places: dict[str, int], point: Vector, direction: Vector) -> list[Any]:
    from interpreter import Dual
    from interpreter.floats import format_of

    numbers = iter(list(zip(point, direction, strict=True))[len(program.leaves) :])
    arguments: list[Any] = []
    for p in program.parameters:
        if p.kind == "buffer":
            name, offset = program.alias.get(p.name, (p.name, 0))
            arguments.append(places[name] + offset)
        elif p.kind == "integer":
            arguments.append(int(p.value))
        else:
            x, t = next(numbers)
            arguments.append(Dual(x, t, format_of(p.type)))
    return arguments
