"""The machine: runs functions of a module on byte-exact memory, with dual numbers.

It is an oracle of the tests and shares no code with synthesis; the rules table, which both read, is checked on its
own.

Results are those of unoptimised machine code on x86-64 with SSE and no FMA (`llvm.fmuladd` is unfused), libm
included. Tangents follow bytes: a float's tangent is attached to the bytes it is stored in and comes back with them,
however they are copied; bytes of active floats that are overwritten in part, mixed or computed with as integers
raise `UnsupportedError` when they are used. `undef` is taken for poison; poison may be computed with and stored, but
branching on it, addressing with it or returning it raises.

    machine = Machine(parse(text))
    x = machine.put(np.array([1.0, 2.0]), tangent=np.array([1.0, 0.0]))
    y = machine.run("norm", [x, 2])          # Dual(2.236…, 0.447…)
    values, tangents = machine.get(x, np.float64, 2)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from interpreter import calls, intrinsics, linear, runtime
from interpreter.code import Code, Compiler, Segment
from interpreter.exceptions import Exceptions, Unwinding
from interpreter.floats import DOUBLE, FLOAT, HALF, X86_FP80, Dual, Format, format_of, primal, tangent
from interpreter.image import Image
from interpreter.memory import Codecs, Memory
from interpreter.undefined import POISON, UNWRITTEN, Bits, PoisonError
from interpreter.varargs import VarArgs
from llgrad.errors import ArgumentError, ForeignError, LlgradError, UnknownNameError, UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.types import ArrayType, FloatType, FunctionType, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import Alias, AnyValue, Call, ConstAggregate, Function, GlobalVariable, InlineAsm, Instruction

Registers = list[Any]
Trace = Callable[[Instruction, Any], None]
_BASE = (None, None, None, None)
_FORMATS: dict[str, Format] = {"float16": HALF, "float32": FLOAT, "float64": DOUBLE, "longdouble": X86_FP80}


class Frame:
    """An active call: its stack memory, variable arguments, and where its caller goes on.

    `resume` is (segment, registers, register of the result, edge to the landing pad); all None for the outermost call.
    """

    __slots__ = ("code", "allocas", "varargs", "resume")

    def __init__(self, code: Code, varargs: list[tuple[Type, Any]], resume: tuple[Any, Any, Any, Any]) -> None:
        self.code, self.varargs, self.resume = code, varargs, resume
        self.allocas: list[int] = []

    def release(self, memory: Memory, keep: int = 0) -> None:
        """End the stack memory of this call but for the first `keep` allocations."""
        for address in self.allocas[keep:]:
            del memory.table[address >> 32]
        del self.allocas[keep:]


class Machine:
    """An address space with the globals of `module`, and the means to run its functions.

    extern         Python functions for symbols the module only declares: from floats (or Duals) and ints to such;
    uninitialised  what reading memory that was never written gives: "poison", "error" or "zero";
    fuel           how many instructions may run, in all, before a ForeignError (None: any number);
    depth          how many calls may be active at once;
    trace          is called with every instruction that was run, but terminators and calls of bodies, and its result.
    """

    memory: Memory
    codecs: Codecs
    varargs: VarArgs

    def __init__(
        self, module: Module, *, extern: dict[str, Callable[..., Any]] | None = None, uninitialised: str = "poison",
        fuel: int | None = None, depth: int = 100_000, trace: Trace | None = None,
    ) -> None:  # fmt: skip
        if uninitialised not in ("poison", "error", "zero"):
            raise ValueError(f"uninitialised={uninitialised!r}")
        self.module, self.extern, self.trace = module, dict(extern or {}), trace
        self.fuel, self.depth = float("inf") if fuel is None else fuel, depth
        self.memory = Memory(uninitialised)
        self.codecs = Codecs(self.memory, module.layout)
        self.image = Image(module, self.memory, self.codecs)
        self.exceptions, self.varargs = Exceptions(self), VarArgs(self)
        self.frames: list[Frame] = []
        self.output = ""
        self.dispatched: list[tuple[Any, Any, Any]] = []  # loops of the OpenMP run-time
        self.executed = 0  # instructions run so far, in whole segments
        self._codes: dict[int, Code] = {}
        self._builtins: dict[tuple[str, FunctionType], Callable[..., Any]] = {}
        self._cells: dict[str, int] = {}
        self._result: Any = None

    # --- memory ------------------------------------------------------------------------------------------------------

    def alloc(self, size: int, align: int = 16) -> int:
        """The address of `size` new unwritten bytes; every allocation is aligned to 4 GiB."""
        return self.memory.allocate(size, "heap")

    def write_bytes(self, address: int, data: bytes) -> None:
        """Write plain bytes: tangents there are gone."""
        self.memory.write(address, data)

    def read_bytes(self, address: int, size: int) -> bytes:
        """The bytes at an address; ForeignError if one was never written."""
        if UNWRITTEN in (self.memory.shadow(address, size) or ()):
            raise ForeignError("a read of uninitialised memory", cause=self.memory.describe(address))
        return self.memory.read(address, size)

    def put(self, array: ArrayLike, tangent: ArrayLike | None = None) -> int:
        """The address of a copy of an array; with `tangent`, of the same shape, its floats are active."""
        values = np.ascontiguousarray(array)
        address = self.memory.allocate(values.nbytes, "heap", unwritten=False)
        self.memory.write(address, values.tobytes())
        if tangent is not None:
            self.set(address, values, tangent)
        return address

    def set(self, address: int, array: ArrayLike, tangent: ArrayLike | None = None) -> None:
        """Write an array, with its tangents, to an address."""
        values = np.ascontiguousarray(array)
        if tangent is None:
            self.memory.write(address, values.tobytes())
            return
        slopes = np.broadcast_to(np.asarray(tangent), values.shape).astype(values.dtype)
        values, slopes = _reals(values.ravel()), _reals(slopes.ravel())
        format = _format(values.dtype)
        store = self.codecs(FloatType(format.name)).store
        for i, (x, t) in enumerate(zip(values, slopes, strict=True)):
            store(address + i * values.itemsize, Dual(_number(format, x), format.tangent(_number(format, t)), format))

    def get(self, address: int, dtype: DTypeLike, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`count` values of a dtype from an address, and their tangents (0 where not active; in double at least)."""
        kind = np.dtype(dtype)
        raw = self.read_bytes(address, kind.itemsize * count)
        values = np.frombuffer(raw, kind).copy()
        if kind.kind not in "fc":
            return values, np.zeros(count)
        slopes = np.zeros(count, np.promote_types(kind, np.float64))
        if self.memory.shadow(address, len(raw)) is not None:
            flat = _reals(slopes)
            size = _reals(values).itemsize
            load = self.codecs(FloatType(_format(_reals(values).dtype).name)).load
            for i in range(len(flat)):
                flat[i] = tangent(load(address + i * size))
        return values, slopes

    def address_of(self, name: str) -> int:
        """The address of a global or function."""
        if name not in self.module.globals:
            raise UnknownNameError(f"the module has no global {name}")
        return self.image.address(self.module.globals[name])

    def cell(self, name: str, size: int) -> int:
        """Memory of the run-time library (errno), zero at first."""
        if name not in self._cells:
            self._cells[name] = self.memory.allocate(size, "library", unwritten=False)
        return self._cells[name]

    def print(self, text: str) -> int:
        """Add to the program's output; the number of characters."""
        self.output += text
        return len(text)

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, name: str, args: Sequence[Any] = ()) -> Any:
        """Run a function: ints, addresses, floats or Duals, tuples for vectors and aggregates; the result likewise.

        Float results are Duals where they depend on active floats, else Python floats. ForeignError for whatever goes
        wrong in the program, and for a result that is poison.
        """
        try:
            function = self.module.function(name)
        except KeyError:
            raise UnknownNameError(f"the module has no function {name}") from None
        types = function.function_type.params
        if len(args) < len(types) or (len(args) > len(types) and not function.function_type.vararg):
            raise ArgumentError(f"{name} takes {len(types)} arguments, not {len(args)}")
        values = [self.value(t, x) for t, x in zip(types, args, strict=False)]
        base = len(self.frames)
        try:
            with np.errstate(all="ignore"):
                result = self.call(self.image.address(function), values)
        except Unwinding:
            raise ForeignError("an exception was thrown and not caught") from None
        finally:
            self._drop(base)
            if not base:
                self.exceptions.reset()
        if result is POISON or (isinstance(result, Bits) and result.unwritten):
            raise PoisonError(f"the result of {name} is poison or uninitialised")
        return _plain(result)

    def run_constructors(self) -> None:
        """Run the functions of `llvm.global_ctors`, as a loader does."""
        table = self.module.globals.get("llvm.global_ctors")
        if not isinstance(table, GlobalVariable) or not isinstance(table.initializer, ConstAggregate):
            return
        entries = [self.image.constant(e) for e in table.initializer.elements]
        for _, function, *_rest in sorted(entries, key=lambda e: int(e[0])):
            self.run(self.image.functions[function].name)

    def call(self, address: int, args: Sequence[Any]) -> Any:
        """Call the function at an address with machine values; usable from within an extern function."""
        base = len(self.frames)
        self._result = None
        segment, registers = self.enter(address, list(args), [], [], _BASE)
        if segment is not None:
            self._execute(segment, registers, base)
        return self._result

    def value(self, t: Type, x: Any) -> Any:
        """A Python value as the machine value of type `t`."""
        match t:
            case VectorType(element, _, False) | ArrayType(element, _):
                return tuple(self.value(element, y) for y in x)
            case StructType(fields) if fields is not None:
                return tuple(self.value(f, y) for f, y in zip(fields, x, strict=True))
        if x is POISON or isinstance(x, Bits):
            return x
        match t:
            case FloatType(name):
                return _number(format_of(name), x)
            case IntType(bits):
                return int(x) & ((1 << bits) - 1)
            case PointerType():
                return int(x)
        return x

    def _drop(self, base: int) -> None:
        """Leave the frames that a failed run left behind."""
        while len(self.frames) > base:
            self.frames.pop().release(self.memory)

    def _execute(self, segment: Any, r: Any, base: int) -> None:
        """Run until the frame above `base` has returned."""
        step: Any = None
        while True:
            try:
                while segment is not None:
                    self.executed += len(segment.steps) + 1
                    if self.executed > self.fuel:
                        raise ForeignError("the program ran out of fuel")
                    for step in segment.steps:
                        step(r)
                    step = None
                    segment, r = segment.end(r)
                return
            except Unwinding as unwinding:
                segment, r = self._unwind(unwinding, base)
            except LlgradError as error:
                self._locate(error, segment, step)
                raise

    def _unwind(self, unwinding: Unwinding, base: int) -> tuple[Segment, Registers]:
        """Leave frames up to one that was invoked with a landing pad; raises again when there is none."""
        while len(self.frames) > base:
            frame = self.frames.pop()
            frame.release(self.memory)
            _, registers, _, edge = frame.resume
            if edge is not None:
                self.exceptions.pending = unwinding
                target: tuple[Segment, Registers] = edge(registers)
                return target
        raise unwinding

    def _locate(self, error: LlgradError, segment: Segment, step: Any) -> None:
        """Say where in the source an error happened."""
        origin = segment.origins[segment.steps.index(step)] if step is not None else segment.last
        if error.span is None and origin is not None:
            error.span = self.module.span(origin)
            where = origin.block.function
            note = f"while {origin!r} of {where.name if where is not None else '?'} was run"
            if error.span is None and not error.cause:
                error.cause = note

    # --- calls -------------------------------------------------------------------------------------------------------

    def enter(
        self, address: int, values: list[Any], types: Sequence[Type], copies: Iterable[tuple[int, int]],
        resume: tuple[Any, Any, Any, Any],
    ) -> tuple[Any, Any]:  # fmt: skip
        """Begin a call: the callee's first segment and registers; of a library function, what follows its result."""
        code = self._codes.get(address)
        if code is None:
            function = self._function(address)
            if function.is_declaration:
                return self._library(function, values, resume)
            code = self._codes[address] = Compiler(self, function).compile()
        known = len(code.function.arguments)
        if len(values) < known:
            raise ForeignError(f"@{code.function.name} was called with {len(values)} arguments, it has {known}")
        frame = Frame(code, list(zip(types[known:], values[known:], strict=False)), resume)
        for i, size in copies:
            copy = self.memory.allocate(size, "stack")
            self.memory.copy(copy, values[i], size)
            values[i] = copy
            frame.allocas.append(copy)
        self.frames.append(frame)
        if len(self.frames) > self.depth:
            raise ForeignError("the stack overflowed", cause=f"{self.depth} calls are active")
        registers = code.template.copy()
        registers[:known] = values[:known]
        return code.entry, registers

    def _function(self, address: int) -> Function:
        if address is POISON:
            raise PoisonError("a call through a poison or uninitialised pointer")
        function = self.image.functions.get(address)
        if function is None:
            raise ForeignError("a call of what is no function", cause=self.memory.describe(address))
        return function

    def _library(self, function: Function, values: list[Any], resume: tuple[Any, Any, Any, Any]) -> tuple[Any, Any]:
        """Call a function without a body through a pointer."""
        following, registers, target, edge = resume
        try:
            result = self._resolve(function, function.function_type)(*values)
        except Unwinding as unwinding:
            if edge is None:
                raise
            self.exceptions.pending = unwinding
            next_: tuple[Any, Any] = edge(registers)
            return next_
        if following is None:
            self._result = result
        elif target is not None:
            registers[target] = result
        return following, registers

    def returning(self, slot: int | None) -> Callable[[Registers], tuple[Any, Any]]:
        """The end of a block by `ret`."""
        frames, memory = self.frames, self.memory

        def end(r: Registers) -> tuple[Any, Any]:
            frame = frames.pop()
            if frame.allocas:
                frame.release(memory)
            segment, registers, target, _ = frame.resume
            if segment is None:
                self._result = None if slot is None else r[slot]
            elif target is not None:
                registers[target] = r[slot]  # type: ignore[index]
            return segment, registers

        return end

    def traced(self, instruction: Instruction, step: Callable[[Registers], None], slot: int | None) -> Any:
        """The step, reporting to `trace` where there is one."""
        trace = self.trace
        if trace is None:
            return step

        def report(r: Registers) -> None:
            step(r)
            trace(instruction, None if slot is None else r[slot])

        return report

    def ignores(self, i: Call) -> bool:
        """Does this call do nothing at all?"""
        return (isinstance(i.callee, Function) and intrinsics.ignored(i.callee.name)) or (
            isinstance(i.callee, InlineAsm) and _empty_assembly(i)
        )

    def builtin(self, i: Call) -> Callable[..., Any] | None:
        """The Python function that a call calls, where it is known not to be one with a body."""
        callee: AnyValue = i.callee
        while isinstance(callee, Alias):
            callee = callee.aliasee
        if not isinstance(callee, Function) or not callee.is_declaration:
            return None
        return self._resolve(callee, i.function_type)

    def _resolve(self, function: Function, signature: FunctionType) -> Callable[..., Any]:
        """The Python function of a declaration; one that refuses, when called, if there is none."""
        key = (function.name, signature)
        if key not in self._builtins:
            self._builtins[key] = self._find(function.name, signature) or _missing(function.name)
        return self._builtins[key]

    def _find(self, name: str, signature: FunctionType) -> Callable[..., Any] | None:
        if name in self.extern:
            return self._extern(self.extern[name], signature)
        if name.startswith("llvm."):
            return intrinsics.resolve(self, name, signature)
        if name.startswith("llgrad.ignore."):  # an identity without a derivative
            return primal
        if name in runtime.LIBRARY:
            return functools.partial(runtime.LIBRARY[name], self)
        known = self.exceptions.library.get(name) or linear.routine(self, name)
        return known or calls.mathematical(self, name, signature)

    def _extern(self, function: Callable[..., Any], signature: FunctionType) -> Callable[..., Any]:
        def call(*operands: Any) -> Any:
            result = function(*operands)
            return None if result is None else self.value(signature.result, result)

        return call


def _missing(name: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise UnsupportedError(f"the interpreter has no function {name}", fix="pass one in Machine(extern={…})")

    return refuse


def _empty_assembly(i: Call) -> bool:
    """Inline assembly without instructions and results: a barrier."""
    assert isinstance(i.callee, InlineAsm)
    return '""' in i.callee.text.split(",")[0] and str(i.type) == "void"


def _number(format: Format, x: Any) -> Any:
    """A Python or numpy number, or a Dual, in a format."""
    if isinstance(x, Dual):
        return Dual(_number(format, x.value), format.tangent(_widened(x.tangent)), format)
    return format.make(_widened(x))


def _widened(x: Any) -> Any:
    if isinstance(x, np.longdouble):
        return x
    return float(x) if isinstance(x, (float, np.floating)) else int(x) if isinstance(x, np.integer) else x


def _plain(result: Any) -> Any:
    """Booleans as ints."""
    if isinstance(result, tuple):
        return tuple(map(_plain, result))
    return int(result) if isinstance(result, bool) else result


def _reals(array: NDArray[Any]) -> NDArray[Any]:
    """Complex numbers as pairs of reals, in place."""
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def _format(dtype: Any) -> Format:
    for name, format in _FORMATS.items():
        if dtype == np.dtype(name):
            return format
    raise UnsupportedError(f"the interpreter has no floats of dtype {dtype}")


__all__ = ["Dual", "Frame", "Machine", "primal", "tangent"]
