"""What each parameter of a C function is where arrays know their sizes: an input, an output, a count, scratch memory.

Frameworks ask that, and calls from Python that leave out what follows from the rest (`ForeignFunction.values`).

What the user declares goes first (`out`, `updates`, `scratch`, `counts`). What is left is inferred: a pointer that the
code only writes, or writes before it reads it (`analysis.memory.output_arguments`), is an output, shaped like the first
array that is an input, if that is as many elements as the code writes; an integer right after arrays is their element
count; a float that is returned is a 0-d output. Anything that this leaves open raises ForeignSignatureError, which
shows a call to write. Nothing is guessed: what is read and written is what LLVM and llgrad prove of the body.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.memory.symbolic_sizes import Sum, Written, hold
from llgrad.errors import ArgumentError, UnknownNameError
from llgrad.execution.passing import parts
from llgrad.execution.size_checks import Extent, Test
from llgrad.programs.guarded_memory import EXCEEDS, FITS
from llgrad.signature import Array, Complex, Opaque, Parameter, Pointer, Scalar, Signature, View, Void
from llgrad.signature import Struct as CStruct

if TYPE_CHECKING:
    from llgrad.execution.library import ForeignFunction
    from llgrad.execution.loaded import Effects

Shape = tuple[int, ...]
Declared = str | Sequence[int | str] | Callable[..., Any]
"""A shape as a user declares it: "like x", a tuple of numbers and of names of integer parameters (or of terms in these:
"2*n", "n + k - 1"), or a function that is given the shapes of the arrays among the inputs, in order, and returns such
a tuple."""


class ForeignSignatureError(ArgumentError, TypeError):
    """A C signature that leaves open what its parameters are to a framework."""


class ForeignShapeError(ArgumentError, ValueError):
    """Arrays of shapes that the function cannot take."""


class ForeignTypeError(ArgumentError, TypeError):
    """A value of the wrong kind, dtype or device."""


class Input(Struct, frozen=True):
    """Something the caller passes. `updated`: the code changes it, in a copy, which is an output too."""

    parameter: Parameter
    array: bool
    dtype: np.dtype[Any]
    updated: bool = False

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def active(self) -> bool:
        """Has it a derivative?"""
        return self.dtype.kind == "f"

    @property
    def dims(self) -> tuple[int, ...]:
        """Those of the arrays that a pointer is to."""
        t = self.parameter.type
        return t.to.dims if isinstance(t, Pointer) and isinstance(t.to, Array) else ()

    @property
    def group(self) -> int:
        """How many elements are passed together, at least."""
        return prod(max(d, 1) for d in self.dims)

    @property
    def static(self) -> bool:
        """Is it an integer that is passed by value?"""
        return not self.array and not self.active


class Memory(Struct, frozen=True):
    """Memory that is made for a call: an output or scratch. No parameter: the result."""

    parameter: Parameter | None
    shape: Declared
    dtype: np.dtype[Any]
    written: Written | None = None  # nobody declared the shape: as much must be written, which depends on the sizes
    tests: tuple[Sum, ...] = ()  # sums that are at least 0 where it is written before it is read

    @property
    def name(self) -> str:
        return self.parameter.name if self.parameter else "its result"

    def check(self, of: str, shape: Shape, given: Mapping[int, int]) -> None:
        """ForeignShapeError where, for these integers (by IR argument), it is no output of this shape."""
        if not hold(self.tests, given):
            raise ForeignShapeError(
                f"{of} may read {self.name} before it writes it, for arrays of these sizes",
                fix=f"declare it: out={{{self.name!r}: …}}, or updates={self.name!r} if it is an input too",
            )
        if self.written is None:
            return
        ends, size = self.written.ends(given), prod(shape) * self.dtype.itemsize
        if ends is None or ends[0] < 0 or ends[1] != size:
            count = "an unknown number of" if ends is None else ends[1] // self.dtype.itemsize
            raise ForeignShapeError(
                f"{of} writes {count} elements of {self.name}, which was taken to be of shape {shape}",
                cause="no shape was declared; it was taken to be that of the first array",
                fix=f"declare it: out={{{self.name!r}: …}}, a tuple of numbers and terms of integers, or a function",
            )


class Roles(Struct, frozen=True):
    """The roles of all parameters; outputs are in the order of C, the result first."""

    signature: Signature
    inputs: tuple[Input, ...]
    outputs: tuple[Memory, ...]
    scratch: tuple[Memory, ...]
    counts: tuple[tuple[Parameter, tuple[str, ...], int | None], ...]  # parameter, of which arrays, along which axis
    fixed: tuple[tuple[str, int], ...] = ()  # integers that the function was specialised to

    @property
    def tensors(self) -> tuple[Input, ...]:
        """The inputs that are arrays or floats."""
        return tuple(i for i in self.inputs if not i.static)

    @property
    def statics(self) -> tuple[Input, ...]:
        """The inputs that are integers."""
        return tuple(i for i in self.inputs if i.static)

    def resolve(self, shapes: Sequence[Shape], statics: Sequence[int]) -> Resolved:
        """Sizes for inputs (`tensors`) of these shapes; ForeignShapeError if they do not fit."""
        known = {i.name: tuple(shape) for i, shape in zip(self.tensors, shapes, strict=True)}
        for i in self.tensors:
            _check_shape(i, known[i.name])
        integers = {i.name: int(v) for i, v in zip(self.statics, statics, strict=True)}
        for p, arrays, axis in self.counts:
            count = self._count(p, arrays, axis, known)
            if integers.setdefault(p.name, count) != count:
                raise ForeignShapeError(
                    f"{p.name} of {self.signature.name} counts {integers[p.name]}, but {arrays[0]} has {count}",
                    cause=f"{arrays[0]} has shape {known[arrays[0]]}", fix="pass arrays that fit each other",
                )  # fmt: skip
        for name, value in self.fixed:
            if integers[name] != value:
                raise ForeignShapeError(
                    f"{name} of {self.signature.name} is {integers[name]}, but it was specialised to {value}",
                    fix=f"pass arrays for which it is {value}, or the function that is not specialised",
                )
        ordered = [integers[p.name] for p in self.signature.parameters if p.name in integers]
        made = [tuple(int(d) for d in self._shape(m, known, integers)) for m in (*self.outputs, *self.scratch)]
        if negative := [s for s in made if min(s, default=0) < 0]:
            raise ForeignShapeError(f"{self.signature.name}: the shape {negative[0]} has a negative size")
        given = self.numbered(ordered)
        for m, shape in zip(self.outputs, made, strict=False):
            m.check(self.signature.name, shape, given)
        return Resolved(tuple(ordered), tuple(made[: len(self.outputs)]), tuple(made[len(self.outputs) :]))

    def names(self, ordered: Sequence[Any]) -> dict[str, Any]:
        """All integers, in the order of C, by the names of their parameters."""
        known = {i.name for i in self.statics} | {p.name for p, _, _ in self.counts}
        return dict(zip((p.name for p in self.signature.parameters if p.name in known), ordered, strict=True))

    def numbered(self, ordered: Sequence[Any]) -> dict[int, Any]:
        """All integers, in the order of C, by the IR arguments that they are."""
        return {self.signature.parameter(name).ir_arguments[0]: v for name, v in self.names(ordered).items()}

    def symbols(self, shapes: Sequence[Any], statics: Sequence[Any]) -> Resolved:
        """`resolve` where sizes may be symbols, about which nothing is asked but how many there are."""
        known = {i.name: tuple(shape) for i, shape in zip(self.tensors, shapes, strict=True)}
        for i in self.tensors:
            _check_rank(i, known[i.name])
        integers = {i.name: v for i, v in zip(self.statics, statics, strict=True)}
        for p, arrays, axis in self.counts:
            integers.setdefault(p.name, prod(known[arrays[0]]) if axis is None else known[arrays[0]][axis])
        ordered = tuple(integers[p.name] for p in self.signature.parameters if p.name in integers)
        outputs = tuple(self._shape(m, known, integers) for m in self.outputs)
        return Resolved(ordered, outputs, tuple(self._shape(m, known, integers) for m in self.scratch))

    def _count(self, p: Parameter, arrays: tuple[str, ...], axis: int | None, known: dict[str, Shape]) -> int:
        if axis is not None and not -len(known[arrays[0]]) <= axis < len(known[arrays[0]]):
            raise ForeignShapeError(
                f"{arrays[0]} of {self.signature.name} has shape {known[arrays[0]]}, which has no axis {axis}",
                cause=f"{p.name} was declared its length along that axis",
            )
        found = {prod(known[a]) if axis is None else known[a][axis] for a in arrays}
        if len(found) > 1:
            sizes = ", ".join(f"{a} has {prod(known[a])}" for a in arrays)
            raise ForeignShapeError(
                f"which array of {self.signature.name} does {p.name} count? {sizes} elements",
                cause=f"its signature is {self.signature}",
                fix=f"pass arrays of one size, or say it: foreign(…, counts={{{p.name!r}: {arrays[-1]!r}}})",
            )
        return found.pop()

    def _shape(self, m: Memory, known: Mapping[str, Any], integers: Mapping[str, Any]) -> Any:
        shape = self._declared(m, known, integers)
        _check_order(m.parameter, shape)
        return shape

    def _declared(self, m: Memory, known: Mapping[str, Any], integers: Mapping[str, Any]) -> Any:
        shape = m.shape
        if callable(shape):
            shape = shape(*(known[i.name] for i in self.tensors if i.array))
            shape = (shape,) if isinstance(shape, int) else shape
        if isinstance(shape, str):
            return known[shape.removeprefix("like ").strip()]
        if not isinstance(shape, Sequence) or any(isinstance(d, float) for d in shape):
            raise ForeignShapeError(f"out of {m.name} gave {shape!r}, which is no shape", fix="return a tuple of ints")
        return tuple(_term(ast.parse(d, mode="eval").body, integers) if isinstance(d, str) else d for d in shape)


class Resolved(Struct, frozen=True):
    """Sizes for one call: all integers in the order of C, the shapes of outputs and of scratch memory."""

    integers: tuple[int, ...]
    outputs: tuple[Shape, ...]
    scratch: tuple[Shape, ...]


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
}  # fmt: skip


def _is_counted(test: Test, signature: Signature, count: int, number: Parameter, array: Parameter) -> bool:
    """Does the code access exactly `number` elements of the array?"""
    dtype = element(array, True)
    assert dtype is not None

    def answer(n: int, others: int, elements: int) -> int:
        values: list[int | Extent] = [0] * count
        for p in signature.parameters:
            if isinstance(p.type, Pointer):
                values[p.ir_arguments[0]] = Extent(1 << 40, 1)
            elif _is_integer(p):
                values[p.ir_arguments[0]] = others
        values[number.ir_arguments[0]] = n
        values[array.ir_arguments[0]] = Extent(elements * dtype.itemsize, dtype.itemsize)
        return test.ask(values)[0]

    sizes = [(n, others) for n in (2, 3, 5, 8, 13, 64) for others in (1, 4, 7)]
    return all(answer(n, others, n) == FITS and answer(n, others, n - 1) == EXCEEDS for n, others in sizes)


def _term(of: ast.expr, integers: Mapping[str, Any]) -> Any:
    """The value of a term of a declared shape. Raises KeyError for a name that is no integer."""
    match of:
        case ast.Constant(value=int(n)):
            return n
        case ast.Name(id=name):
            return integers[name]
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_term(left, integers), _term(right, integers))
    raise ForeignSignatureError(f"{ast.unparse(of)!r} is no size", fix="write a term of +, -, *, //, numbers and names")


def _names(term: str) -> list[str]:
    """The names in a term of a declared shape."""
    try:
        return [n.id for n in ast.walk(ast.parse(term, mode="eval")) if isinstance(n, ast.Name)]
    except SyntaxError:
        return [term]


def _check_rank(i: Input, shape: Any) -> None:
    t = i.parameter.type
    if not i.array and len(shape):
        raise ForeignShapeError(
            f"{i.name} must be one number, not of shape {shape}", cause=f"it is declared {t.declare(i.name)}",
            fix="map over it (vmap), or write a C function that takes an array",
        )  # fmt: skip
    _check_order(i.parameter, shape)


def _check_order(p: Parameter | None, shape: Any) -> None:
    """Frameworks store arrays row by row."""
    if p is not None and isinstance(p.type, View) and p.type.order == "F" and len(shape) > 1:
        raise ForeignShapeError(
            f"{p.name} has {len(shape)} dimensions, which the code reads column by column",
            cause=f"it is declared {p.type.declare(p.name)}",
            fix="pass its transpose, flattened, and declare outputs with one dimension",
        )


def _check_shape(i: Input, shape: Shape) -> None:
    _check_rank(i, shape)
    least = i.parameter.type.least if isinstance(i.parameter.type, View) else 0
    if prod(shape) * i.dtype.itemsize < least:
        raise ForeignShapeError(
            f"{i.name} has shape {shape}: {prod(shape) * i.dtype.itemsize} bytes, less than {least}",
            cause=f"it is declared {i.parameter.type.declare(i.name)}",
        )
    if prod(shape) % i.group:
        raise ForeignShapeError(
            f"{i.name} has shape {shape}", cause=f"it is declared {i.parameter.type.declare(i.name)}",
            fix=f"give it a shape that ends with {i.dims}",
        )  # fmt: skip


# --- who is what -----------------------------------------------------------------------------------------------------


def roles(
    function: ForeignFunction, out: Any = None, updates: Sequence[str] | str = (),
    scratch: Mapping[str, Any] | None = None, counts: Mapping[str, Any] | Sequence[str] | None = None,
    by_accesses: bool = False,
) -> Roles:  # fmt: skip
    """The roles of a function's parameters; see `llgrad.foreign`. `by_accesses`: an integer that follows no arrays
    counts those of which the code accesses exactly as many elements."""
    function.require_supported()
    for p in function.signature.parameters:
        if parts(p.type) != ("data",):
            raise ForeignSignatureError(
                f"{p.name} of {function.signature.name} is passed with its size or layout, which frameworks do not do",
                span=function.signature.source, cause=f"it is declared {p.type.declare(p.name)}",
                fix='write a wrapper that takes pointers and integers (in Rust: pub extern "C" fn, *const f64, usize)',
            )  # fmt: skip
    updated = (updates,) if isinstance(updates, str) else tuple(updates)
    return _Reader(function, out, updated, scratch or {}, counts, by_accesses).read()


class _Reader:
    """Decides the roles of one function."""

    def __init__(
        self, function: ForeignFunction, out: Any, updates: tuple[str, ...], scratch: Mapping[str, Any], counts: Any,
        by_accesses: bool,
    ) -> None:  # fmt: skip
        self.function, self.signature = function, function.signature
        self.effects: Effects = function.library.effects(self.signature.symbol)
        self.out, self.updates, self.scratch, self.counts = out, updates, scratch, counts
        self.by_accesses = by_accesses
        named = [*updates, *scratch, *(out if isinstance(out, Mapping) else ()), *(counts or ())]
        for name in named:
            self.signature.parameter(name)
        doubled = {n for n in named if named.count(n) > 1}
        if doubled:
            raise ForeignSignatureError(f"{', '.join(sorted(doubled))} is declared twice", fix="give it one role")

    def read(self) -> Roles:
        outputs = self._outputs()
        made = {m.name for m in outputs} | set(self.scratch)
        counts = self._counts(made)
        counted = {p.name for p, _, _ in counts}
        inputs = tuple(
            self._input(p) for p in self.signature.parameters if p.name not in made and p.name not in counted
        )
        scratch = tuple(self._memory(self.signature.parameter(n), shape) for n, shape in self.scratch.items())
        result = self._result()
        if not (outputs or result or self.updates or self.by_accesses and isinstance(self.signature.result, Scalar)):
            raise ForeignSignatureError(
                f"{self.signature.name} has no output", span=self.signature.source,
                cause=f"it returns {self.signature.result} and no pointer is only written: {self.signature}",
                fix=self._call(),
            )  # fmt: skip
        of = {m.name: m for m in outputs}
        updated = {i.name: Memory(i.parameter, f"like {i.name}", i.dtype) for i in inputs if i.updated}
        ordered = [{**of, **updated}[p.name] for p in self.signature.parameters if p.name in of or p.name in updated]
        found = Roles(self.signature, inputs, (*result, *ordered), scratch, counts, self._fixed())
        self._check_names(found)
        if self.out is not None:
            return found
        fixed = {m: size for m in outputs if (size := self._fixed_size(m)) is not None}
        sized = tuple(
            replace(m, shape=fixed[m], tests=self._tests(m)) if m in fixed else m for m in found.outputs
        )
        shaped = [m for m in outputs if m not in fixed]
        self._refuse_open(found, shaped)
        return replace(found, outputs=tuple(self._proven(m, found) if m in shaped else m for m in sized))

    def _fixed_size(self, m: Memory) -> tuple[int, ...] | None:
        """The shape of an output of which the code writes the same elements whatever the integers: () for one."""
        assert m.parameter is not None
        written = self.effects.written.get(m.parameter.ir_arguments[0])
        if written is None or written.tests or not written.pieces:
            return None
        try:
            surely, perhaps = [
                [(p.low.value({}), p.high.value({})) for p in written.pieces if not p.conditions or conditional]
                for conditional in (False, True)
            ]
        except KeyError:  # they depend on integers
            return None
        end = max((high for _, high in surely), default=0)
        if not surely or min(low for low, _ in perhaps) or max(high for _, high in perhaps) > end:
            return None
        count, rest = divmod(end, m.dtype.itemsize)
        return None if rest else () if count == 1 else (count,)

    def _fixed(self) -> tuple[tuple[str, int], ...]:
        for name, value in self.function.constants.items():
            if isinstance(value, float):
                raise ForeignSignatureError(
                    f"{self.signature.name} was specialised to one value of {name}, which frameworks pass as an array",
                    fix="specialise it by integers",
                )
        return tuple((name, int(value)) for name, value in self.function.constants.items())

    # --- outputs

    def _outputs(self) -> list[Memory]:
        if isinstance(self.out, Mapping):
            return [self._memory(self.signature.parameter(n), shape) for n, shape in self.out.items()]
        written = [p for p in self._floats() if self._access(p) == "write" or self._filled(p) is not None]
        if self.out is None:
            first = next((p for p in self.signature.parameters if self._is_array(p, written)), None)
            made = [self._memory(p, f"like {first.name}" if first else ()) for p in written]
            if first is None and (open := [m.name for m in made if self._fixed_size(m) is None]):
                raise self._open(f"{open[0]} is an output, but there is no array that it could be shaped like")
            return made
        return [self._memory(self._only_output(written), self.out)]

    def _only_output(self, written: list[Parameter]) -> Parameter:
        candidates = written or [p for p in self._floats() if self._access(p) == "both"]
        if len(candidates) != 1:
            names = ", ".join(p.name for p in candidates) or "none"
            raise self._open(f"out={self.out!r} gives one shape, but the pointers it may be of are: {names}")
        return candidates[0]

    def _floats(self) -> list[Parameter]:
        """The pointers to floats that may be outputs."""
        return [
            p for p in self.signature.parameters
            if isinstance(p.type, Pointer) and not p.type.const and self._element(p) is not None
            and p.name not in self.updates and p.name not in self.scratch
        ]  # fmt: skip

    def _filled(self, p: Parameter) -> tuple[Sum, ...] | None:
        """What must be at least 0 so that the code writes all that it reads; None if it may read it before."""
        return self.effects.filled.get(p.ir_arguments[0])

    def _tests(self, m: Memory) -> tuple[Sum, ...]:
        """What must be at least 0 so that an output is written before it is read."""
        assert m.parameter is not None
        return (self._filled(m.parameter) or ()) if self._access(m.parameter) == "both" else ()

    def _proven(self, m: Memory, found: Roles) -> Memory:
        """An output that nobody declared: does the code write as many elements as the first array has, or another?"""
        assert m.parameter is not None and isinstance(m.shape, str)
        written = self.effects.written.get(m.parameter.ir_arguments[0])
        if written is None:
            raise self._open(f"how many elements of {m.name} the code writes is not known")
        size, first = m.dtype.itemsize, m.shape.removeprefix("like ")
        counts = {p.ir_arguments[0]: arrays for p, arrays, axis in found.counts if axis is None}
        for n, arrays in counts.items():
            if _are_all(written, Sum(((size, (n,)),))):
                return replace(m, shape=f"like {first if first in arrays else arrays[0]}", tests=self._tests(m))
        own = [n for n, arrays in counts.items() if first in arrays]
        sizes = range(1, 65) if len(own) == len(found.counts) and not found.statics else ()
        if own and sizes and all(written.ends(dict.fromkeys(own, n)) != (0, n * size) for n in sizes):
            count = self._elements(written, m)
            shape = f'("{count}",)' if count else "…"
            count = count or "other numbers of"
            raise self._open(f"the code writes {count} elements of {m.name}, not as many as {first} has", shape)
        return replace(m, written=written, tests=self._tests(m))

    def _elements(self, written: Written, m: Memory) -> str:
        """How many elements are written, as a user would declare it."""
        names = {p.ir_arguments[0]: p.name for p in self.signature.parameters}
        listed = [names.get(n, "") for n in range(max(names) + 1)]
        found = {p.high.text(listed, m.dtype.itemsize) for p in written.pieces}
        return found.pop() if len(found) == 1 else ""

    def _is_array(self, p: Parameter, written: list[Parameter]) -> bool:
        return isinstance(p.type, Pointer) and p not in written and p.name not in self.scratch

    def _element(self, p: Parameter) -> np.dtype[Any] | None:
        """What a pointer's array holds, as far as who asks can pass it."""
        return element(p, self.by_accesses)

    def _access(self, p: Parameter) -> str:
        return self.effects.access[p.ir_arguments[0]]

    def _memory(self, p: Parameter, shape: Declared) -> Memory:
        dtype = self._element(p)
        if dtype is None or dtype.kind not in "fc" or isinstance(p.type, Pointer) and p.type.const:
            raise ForeignSignatureError(
                f"{p.name} of {self.signature.name} cannot be an output", span=self.signature.source,
                cause=f"it is declared {p.type.declare(p.name)}", fix="name a pointer to floats that is not const",
            )  # fmt: skip
        return Memory(p, shape if callable(shape) or isinstance(shape, str) else _as_tuple(shape), dtype)

    def _result(self) -> tuple[Memory, ...]:
        t = self.signature.result
        if isinstance(t, Void):
            return ()
        if isinstance(t, Scalar) and t.kind == "float" and t.dtype in (np.float32, np.float64):
            return (Memory(None, (), np.dtype(t.dtype)),)
        if self.by_accesses and isinstance(t, Scalar):  # calls from Python return it
            return ()
        raise ForeignSignatureError(
            f"{self.signature.name} returns {t}, which frameworks cannot use", span=self.signature.source,
            cause="a status that is ignored would hide failures, and integers have no derivative",
            fix="write a wrapper in C that returns void, float or double",
        )

    # --- inputs

    def _input(self, p: Parameter) -> Input:
        if isinstance(p.type, Scalar):
            dtype = p.type.dtype
            if dtype is None or p.type.kind == "float" and dtype not in (np.float32, np.float64):
                raise self._unusable(p)
            return Input(p, False, np.dtype(dtype))
        dtype = self._element(p)
        if dtype is None:
            raise self._unusable(p)
        updated = p.name in self.updates
        if self._access(p) in ("write", "both") and not updated and not (isinstance(p.type, Pointer) and p.type.const):
            raise self._open(f"{p.name} may be read and written: is it an output, updated in place, or scratch memory?")
        return Input(p, True, dtype, updated)

    def _unusable(self, p: Parameter) -> ForeignSignatureError:
        return ForeignSignatureError(
            f"{p.name} of {self.signature.name} is nothing that a framework can pass", span=self.signature.source,
            cause=f"it is declared {p.type.declare(p.name)}",
            fix="write a wrapper in C that takes float, double, integers and pointers to them",
        )  # fmt: skip

    def _counts(self, made: set[str]) -> tuple[tuple[Parameter, tuple[str, ...], int | None], ...]:
        if self.counts is None:
            inferred = self._inferred_counts(made)
            return (*inferred, *self._counts_by_accesses(made, inferred)) if self.by_accesses else inferred
        if not isinstance(self.counts, Mapping):
            if list(self.counts):
                raise ForeignSignatureError(f"counts={self.counts!r} is no dict", fix='counts={"n": "x"}')
            return ()
        found = []
        every = [(name, one) for name, of in self.counts.items() for one in (of if isinstance(of, list) else [of])]
        for name, of in every:
            array, axis = (of, None) if isinstance(of, str) else of
            self.signature.parameter(array)
            if array in made or not _is_integer(self.signature.parameter(name)):
                raise ForeignSignatureError(
                    f"counts={{{name!r}: {of!r}}} does not relate an integer to an input", span=self.signature.source
                )
            found.append((self.signature.parameter(name), (array,), axis))
        return tuple(found)

    def _inferred_counts(self, made: set[str]) -> tuple[tuple[Parameter, tuple[str, ...], int | None], ...]:
        """An integer right after arrays is the number of elements of each of them."""
        found: list[tuple[Parameter, tuple[str, ...], int | None]] = []
        arrays: list[str] = []
        shaped = self.out is None  # then outputs have the size of the first input
        pointers = [p.name for p in self.signature.parameters if isinstance(p.type, Pointer)]
        first = next((name for name in pointers if name not in made), "")
        for p in self.signature.parameters:
            if isinstance(p.type, Pointer):
                arrays += [] if p.name in self.scratch else [p.name]
                continue
            of = {first if a in made else a for a in arrays if a not in made or shaped and first}
            if of and _is_integer(p):
                found.append((p, tuple(n for n in pointers if n in of), None))
            arrays = []
        return tuple(found)

    def _counts_by_accesses(
        self, made: set[str], known: Sequence[tuple[Parameter, tuple[str, ...], int | None]]
    ) -> Iterator[tuple[Parameter, tuple[str, ...], int | None]]:
        """Integers that are exactly the number of elements that the code accesses of arrays nothing else counts: the
        check of their sizes says so at several sizes, whatever the other integers."""
        arguments = self.function.facts.arguments
        test = self.function.library.test(self.signature.symbol, [(n, 0) for n, _ in enumerate(arguments)], False)
        taken = {name for _, arrays, _ in known for name in arrays} | made
        arrays = [p for p in self.signature.parameters if self._element(p) is not None and p.name not in taken]
        if test is None:
            return
        for p in self.signature.parameters:
            if _is_integer(p) and p.name not in {q.name for q, _, _ in known}:
                counted = [a.name for a in arrays if _is_counted(test, self.signature, len(arguments), p, a)]
                if counted:
                    yield p, tuple(counted), None

    # --- errors

    def _refuse_open(self, found: Roles, outputs: list[Memory]) -> None:
        if outputs and found.statics:
            names = ", ".join(i.name for i in found.statics)
            raise self._open(f"{names} may decide the shape of {' and '.join(m.name for m in outputs)}")

    def _check_names(self, found: Roles) -> None:
        tensors = {i.name for i in found.tensors}
        integers = {i.name for i in found.statics} | {p.name for p, _, _ in found.counts}
        for m in (*found.outputs, *found.scratch):
            if isinstance(m.shape, str):
                self._require(m.shape.removeprefix("like ").strip(), tensors, m, "an input")
            elif not callable(m.shape):
                for name in (name for d in m.shape if isinstance(d, str) for name in _names(d)):
                    self._require(name, integers, m, "an integer parameter")

    def _require(self, name: str, known: set[str], m: Memory, what: str) -> None:
        if name not in known:
            raise UnknownNameError(
                f"the shape of {m.name} names {name!r}, which is not {what} of {self.signature.name}",
                span=self.signature.source, fix=f"there are {', '.join(sorted(known)) or 'none'}",
            )  # fmt: skip

    def _open(self, what: str, shape: str = "") -> ForeignSignatureError:
        return ForeignSignatureError(
            f"the signature of {self.signature.name} leaves its outputs open: {what}", span=self.signature.source,
            cause=f"it is {self.signature}", fix=self._call(shape),
        )  # fmt: skip

    def _call(self, shape: str = "") -> str:
        """A call to write, as good as it can be told."""
        first = next((p.name for p in self._tensors()), "")
        integers = [repr(p.name) for p in self.signature.parameters if _is_integer(p)]
        guess = f'"like {first}"' if first else f"({integers[0]},)" if integers else "(3,)"
        shape = shape or guess
        names = [p.name for p in self._floats() if self._access(p) in ("write", "both")] or ["y"]
        declared = ", ".join(f"{n!r}: {shape}" for n in names[-1:])
        source = f"foreign(…, {self.signature.name!r}, out={{{declared}}}"
        rest = f", scratch={{{names[0]!r}: {shape}}}" if len(names) > 1 else ""
        if integers:
            other = f" (shapes may name integers: ({integers[0]},), or be functions of the inputs' shapes)"
        else:
            other = " (a shape may be a tuple, or a function of the inputs' shapes)"
        return f"{source}{rest}){other}; updates=({names[-1]!r},) if it is an input too"

    def _tensors(self) -> list[Parameter]:
        pointers = [p for p in self.signature.parameters if isinstance(p.type, Pointer)]
        return [p for p in pointers if self._access(p) in ("read", "none")]


def _are_all(written: Written, size: Sum) -> bool:
    """Is it certain that memory of this size, and no less, holds all that may be written?"""
    behind = [_less(p.high, size) for p in written.pieces]
    before = [_less(p.low, Sum(())) for p in written.pieces]
    inside = all(n is not None and n <= 0 for n in behind) and all(n is not None and n >= 0 for n in before)
    return 0 in behind and inside


def _less(a: Sum, b: Sum) -> int | None:
    """How much one sum is larger, if that is a number."""
    terms = dict[Any, int]((xs, c) for c, xs in a.terms)
    for c, xs in b.terms:
        terms[xs] = terms.get(xs, 0) - c
    number = terms.pop((), 0)
    return None if any(terms.values()) else number


def _as_tuple(shape: Any) -> tuple[int | str, ...]:
    if isinstance(shape, int | np.integer):
        return (int(shape),)
    if not isinstance(shape, Sequence) or not all(isinstance(d, int | np.integer | str) for d in shape):
        raise ForeignSignatureError(
            f"{shape!r} is no shape", fix='write "like x", a tuple of integers and names, or a function'
        )
    return tuple(d if isinstance(d, str) else int(d) for d in shape)


def _is_integer(p: Parameter) -> bool:
    return isinstance(p.type, Scalar) and p.type.kind in ("int", "uint")


def element(p: Parameter, any_data: bool = False) -> np.dtype[Any] | None:
    """What a pointer's array holds: float, double or integers; None for anything else. `any_data`: structs and complex
    numbers, too."""
    if not isinstance(p.type, Pointer):
        return None
    t = p.type.to
    while isinstance(t, Array):
        t = t.element
    if any_data and isinstance(t, Complex | CStruct) and t.dtype is not None:
        return np.dtype(t.dtype)
    if isinstance(t, Opaque) or not isinstance(t, Scalar) or t.dtype is None:
        return None
    return np.dtype(t.dtype) if t.kind != "float" or t.dtype in (np.float32, np.float64) else None
