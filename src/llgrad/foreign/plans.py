"""How the arguments of a compiled derivative lie in the buffers of a call: one writer for each kind of derivative.

A writer goes through the parameters of the C function in order and says where each argument comes from, as the steps
that `runtime.c` runs. What each kind takes and makes is said in `llgrad.foreign.function`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from llgrad.autodiff.requests.request import Act, Mode
from llgrad.execution.entry import Entry, offsets
from llgrad.execution.roles import Input, Memory, element
from llgrad.execution.size_checks import Test
from llgrad.foreign.runtime import Op, Steps
from llgrad.programs.guarded_memory import ANSWERS
from llgrad.signature import Parameter, Pointer

if TYPE_CHECKING:
    from llgrad.foreign.function import Foreign

Wrt = tuple[int, ...]


class Writer(ABC):
    """Writes the steps of one plan. The caller's buffers: tensors, then what goes with them, integers, what is made."""

    mode = Mode.FORWARD

    def __init__(self, foreign: Foreign, wrt: Wrt) -> None:
        self.foreign, self.wrt = foreign, wrt
        self.integers = len(foreign.tensors) + self._given()
        self.made = self.integers + 1
        self.steps = Steps(self.made + self._makes(), self._makes())
        self.at: list[int] = []  # where in the frame the next arguments go
        self.results: list[int] = []

    def write(self, entry: Entry, acts: tuple[Act, ...], test: Test | None) -> Steps:
        arguments, self.results, end = offsets(entry)
        self.at = list(arguments)
        self._arena()
        count = 0
        passed: dict[int, tuple[int, int]] = {}  # by IR argument: a buffer, and of an integer its place there
        for p in self.foreign.function.signature.parameters:
            before = len(self.steps.steps)
            count = self._parameter(p, count, acts[p.index] if acts else Act.CONST)
            new = [(s.op, s.buffer, s.offset) for s in self.steps.steps[before:] if s.op in (Op.POINTER, Op.VALUE)]
            passed[p.ir_arguments[0]] = new[0][1:]
            if isinstance(p.type, Pointer):
                dtype = element(p)
                owner = (p.ir_arguments[0], dtype.itemsize if dtype else 1)
                self.steps.owners.update({buffer: owner for op, buffer, _ in new if op == Op.POINTER})
        self._end()
        if test is not None:
            self._block(end + 8 * ANSWERS, test, passed)
        return self.steps

    def _block(self, at: int, test: Test, passed: Mapping[int, tuple[int, int]]) -> None:
        """What the check of the function is given, behind the results."""
        sizes = {p.ir_arguments[0]: p.type.size for p in self.foreign.function.signature.parameters}
        for n in test.check.limits.numbers:
            buffer, offset = passed[n]
            if buffer == self.integers:
                self.steps.add(Op.VALUE, buffer, size=sizes[n], at=at, offset=offset)
            else:
                self.steps.add(Op.POINTER, buffer, at=at)
            at += 8
        for n in test.check.limits.pointers:
            self.steps.add(Op.SIZE, passed[n][0], at=at + 8)  # (nothing lies before)
            at += 16

    def _parameter(self, p: Parameter, count: int, act: Act) -> int:
        f = self.foreign
        for n, i in enumerate(f.tensors):
            if i.parameter is p:
                self._tensor(n, i, act)
                return count
        for n, m in enumerate(f.outputs):
            if m.parameter is p:
                self._output(n, m)
                return count
        for n, m in enumerate(f.roles.scratch):
            if m.parameter is p:
                self._scratch(self.steps.callers + n, m)
                return count
        self._value(self.integers, p.type.size, 8 * count)
        return count + 1

    # --- pieces

    def _value(self, buffer: int, size: int, offset: int = 0) -> None:
        self.steps.add(Op.VALUE, buffer, size=size, at=self.at.pop(0), offset=offset)

    def _pointer(self, buffer: int) -> None:
        self.steps.add(Op.POINTER, buffer, at=self.at.pop(0))

    def _apart(self, buffer: int) -> None:
        """A pointer to memory that the code reads, and that may be given twice."""
        if buffer:
            self.steps.add(Op.APART, buffer, self.steps.temporary_like(buffer))
        self._pointer(buffer)

    def _taped(self) -> None:
        """The arena, where this is a sweep that has one."""
        self.steps.add(Op.ARENA, at=self.at.pop(0))

    def _fresh(self, like: int, copied: int | None = None, times: int = 1) -> None:
        """A pointer to temporary memory (or several): zeros, or a copy."""
        for _ in range(times):
            self._start(self.steps.temporary_like(like), copied)

    def _start(self, buffer: int, copied: int | None) -> None:
        if copied is None:
            self.steps.add(Op.CLEAR, buffer)
        else:
            self.steps.add(Op.COPY, buffer, copied)
        self._pointer(buffer)

    def _result(self, buffer: int, size: int) -> None:
        self.steps.add(Op.RESULT, buffer, size=size, at=self.results.pop(0))

    def _place(self, n: int) -> int | None:
        """Where tensor `n` stands in `wrt`."""
        return self.wrt.index(n) if n in self.wrt else None

    def _output_of(self, i: Input) -> int:
        """Which output an updated input is."""
        return next(n for n, m in enumerate(self.foreign.outputs) if m.parameter is i.parameter)

    # --- what the kinds differ in

    def _given(self) -> int:
        return 0

    def _makes(self) -> int:
        return len(self.foreign.outputs)

    def _arena(self) -> None:
        return

    @abstractmethod
    def _tensor(self, n: int, i: Input, act: Act) -> None:
        """Passes input `n`, and what goes with it."""

    @abstractmethod
    def _output(self, n: int, m: Memory) -> None:
        """Passes output `n`, and what goes with it."""

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like)
        if m.dtype.kind == "f":
            self._fresh(like)

    def _end(self) -> None:
        return


class Primal(Writer):
    def _tensor(self, n: int, i: Input, act: Act) -> None:
        if not i.array:
            self._value(n, i.dtype.itemsize)
        elif i.updated:
            self._start(self.made + self._output_of(i), n)
        else:
            self._apart(n)

    def _output(self, n: int, m: Memory) -> None:
        self._start(self.made + n, None)

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like)

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._result(self.made + n, m.dtype.itemsize)


class Pushforward(Writer):
    def _given(self) -> int:
        return len(self.wrt)

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place = self._place(n)
        tangent = None if place is None else len(self.foreign.tensors) + place
        if not i.array:
            self._value(n, i.dtype.itemsize)
            if act is Act.DUP:
                _zero_or_value(self, tangent, i.dtype.itemsize)
        elif i.updated:
            self._fresh(n, n)
            self._start(self.made + self._output_of(i), tangent)
        else:
            self._apart(n)
            if act is Act.DUP:
                self._fresh(n) if tangent is None else self._apart(tangent)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self.made + n)
        self._start(self.made + n, None)

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._result(self.made + n, m.dtype.itemsize)


class Pullback(Writer):
    mode = Mode.COMBINED

    def _given(self) -> int:
        return len(self.foreign.outputs)

    def _makes(self) -> int:
        return len(self.wrt)

    def _arena(self) -> None:
        self._taped()

    def _seed(self, n: int) -> int:
        return len(self.foreign.tensors) + n

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place = self._place(n)
        adjoint = None if place is None else self.made + place
        if not i.array:
            self._value(n, i.dtype.itemsize)
            if act is Act.OUT:
                found = self.results.pop(0)
                if adjoint is not None:
                    self.steps.add(Op.RESULT, adjoint, size=i.dtype.itemsize, at=found)
        elif i.updated:
            self._fresh(n, n)
            seed = self._seed(self._output_of(i))
            self._fresh(n, seed) if adjoint is None else self._start(adjoint, seed)
        else:
            self._apart(n)
            if act is Act.DUP:
                self._fresh(n) if adjoint is None else self._start(adjoint, None)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self._seed(n))
        self._fresh(self._seed(n), self._seed(n))

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._value(self._seed(n), m.dtype.itemsize)


class Second(Pullback):
    """The pullback's arguments, each that holds floats followed by its tangent."""

    def _given(self) -> int:
        return len(self.foreign.outputs) + len(self.wrt)

    def _tangent(self, place: int) -> int:
        return len(self.foreign.tensors) + len(self.foreign.outputs) + place

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place = self._place(n)
        tangent = None if place is None else self._tangent(place)
        if not i.array:
            self._value(n, i.dtype.itemsize)
            if act is Act.OUT:
                _zero_or_value(self, tangent, i.dtype.itemsize)
                found = self.results.pop(0)
                if place is not None:
                    self.steps.add(Op.RESULT, self.made + place, size=i.dtype.itemsize, at=found)
            return
        if not i.updated:
            self._apart(n)
            if act is Act.CONST:
                return
            self._fresh(n) if tangent is None else self._apart(tangent)
            self._fresh(n)
        else:
            self._fresh(n, n)
            self._fresh(n, tangent)
            self._fresh(n, self._seed(self._output_of(i)))
        self._fresh(n) if place is None else self._start(self.made + place, None)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self._seed(n), times=2)
        self._fresh(self._seed(n), self._seed(n))
        self._fresh(self._seed(n))

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like, times=4)

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._value(self._seed(n), m.dtype.itemsize)
                _zero_or_value(self, None, m.dtype.itemsize)


class Bend(Pushforward):
    """The pushforward's arguments, each that holds floats followed by its tangent."""

    def _given(self) -> int:
        return 2 * len(self.wrt)

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        place, size = self._place(n), i.dtype.itemsize
        one = None if place is None else len(self.foreign.tensors) + place
        other = None if one is None else one + len(self.wrt)
        if not i.array:
            self._value(n, size)
            for tangent in (other, one, None) if act is Act.DUP else ():
                _zero_or_value(self, tangent, size)
        elif i.updated:
            self._fresh(n, n)
            self._fresh(n, other)
            self._fresh(n, one)
            self._start(self.made + self._output_of(i), None)
        else:
            self._apart(n)
            if act is Act.DUP:
                self._fresh(n) if other is None else self._apart(other)
                self._fresh(n) if one is None else self._apart(one)
                self._fresh(n)

    def _output(self, n: int, m: Memory) -> None:
        self._fresh(self.made + n, times=3)
        self._start(self.made + n, None)

    def _scratch(self, like: int, m: Memory) -> None:
        self._fresh(like, times=4)


class _Split(Writer):
    """One of two sweeps. All memory that they share, but for inputs that are only read, is temporary: in the same
    order in both, so that the second finds what the first left, at the same addresses."""

    def _arena(self) -> None:
        self._taped()

    def _shared(self, like: int) -> int:
        buffer = self.steps.temporary_like(like)
        self._pointer(buffer)
        return buffer

    def _tensor(self, n: int, i: Input, act: Act) -> None:
        if not i.array:
            self._value(n, i.dtype.itemsize)
            if act is Act.OUT:
                self._adjoint(n, i)
        elif i.updated:
            self._begun(self._shared(n), n, self._output_of(i))
            self._shadow(self._shared(n), self._output_of(i), n)
        else:
            self._apart(n)
            if act is Act.DUP:
                self._shadow(self._shared(n), None, n)

    def _output(self, n: int, m: Memory) -> None:
        like = self._like(n)
        self._begun(self._shared(like), None, n)
        self._shadow(self._shared(like), n, None)

    def _scratch(self, like: int, m: Memory) -> None:
        self._begun(self._shared(like), None, None)
        if m.dtype.kind == "f":
            self._shadow(self._shared(like), None, None)

    @abstractmethod
    def _like(self, n: int) -> int:
        """A caller's buffer that has the size of output `n`."""

    def _adjoint(self, n: int, i: Input) -> None:
        """The adjoint of a number, which the reverse sweep returns."""

    def _begun(self, buffer: int, copied: int | None, output: int | None) -> None:
        """Memory of the primal: what it begins as, and which output it ends as."""

    def _shadow(self, buffer: int, output: int | None, tensor: int | None) -> None:
        """Adjoints: of which output they begin as, and of which input they end as."""


class Record(_Split):
    """The forward sweep. It makes the outputs, and a tape."""

    mode = Mode.AUGMENTED

    def _like(self, n: int) -> int:
        return self.made + n

    def _begun(self, buffer: int, copied: int | None, output: int | None) -> None:
        if copied is None:
            self.steps.add(Op.CLEAR, buffer)
        else:
            self.steps.add(Op.COPY, buffer, copied)
        if output is not None:
            self.steps.add(Op.AFTER, self.made + output, buffer)

    def _end(self) -> None:
        self.steps.add(Op.KEEP, at=self.results.pop(0))
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._result(self.made + n, m.dtype.itemsize)


class Replay(_Split):
    """The reverse sweep, which leaves the tape as it was."""

    mode = Mode.REVERSE

    def _given(self) -> int:
        return len(self.foreign.outputs)

    def _makes(self) -> int:
        return len(self.wrt)

    def _like(self, n: int) -> int:
        return len(self.foreign.tensors) + n

    def _adjoint(self, n: int, i: Input) -> None:
        found, place = self.results.pop(0), self._place(n)
        if place is not None:
            self.steps.add(Op.RESULT, self.made + place, size=i.dtype.itemsize, at=found)

    def _shadow(self, buffer: int, output: int | None, tensor: int | None) -> None:
        if output is None:
            self.steps.add(Op.CLEAR, buffer)
        else:
            self.steps.add(Op.COPY, buffer, self._like(output))
        place = None if tensor is None else self._place(tensor)
        if place is not None:
            self.steps.add(Op.AFTER, self.made + place, buffer)

    def _end(self) -> None:
        for n, m in enumerate(self.foreign.outputs):
            if m.parameter is None:
                self._value(self._like(n), m.dtype.itemsize)
        self.steps.add(Op.FRAME, at=self.at.pop(0))


WRITERS: dict[str, type[Writer]] = {
    "primal": Primal, "vjp": Pullback, "jvp": Pushforward, "second": Second, "bend": Bend, "record": Record,
    "replay": Replay,
}  # fmt: skip


def _zero_or_value(writer: Writer, buffer: int | None, size: int) -> None:
    """A float from a buffer, or zero: what frames begin as."""
    if buffer is None:
        writer.at.pop(0)
    else:
        writer._value(buffer, size)
