"""C++ exceptions of the Itanium ABI: throw, landing pads, resume, catch.

A throw unwinds the frames of the machine to the next `invoke`; its landing pad picks the first clause that matches,
or goes on unwinding. Classes are matched by the type information in the program (single and multiple inheritance);
of types whose information lies in a library only the exact match is known. An exception that nobody catches is a
ForeignError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from interpreter.scalar import to_signed
from llgrad.errors import ForeignError
from llgrad.ir.values import Other

if TYPE_CHECKING:
    from interpreter.code import Compiler
    from interpreter.machine import Machine

_SINGLE = "_ZTVN10__cxxabiv120__si_class_type_infoE"
_MULTIPLE = "_ZTVN10__cxxabiv121__vmi_class_type_infoE"


class Unwinding(Exception):
    """An exception on its way: the object thrown, and its type information."""

    def __init__(self, thrown: int, type: int) -> None:
        super().__init__("a C++ exception")
        self.thrown, self.type = thrown, type
        self.adjusted = thrown  # what the handler sees: a base class subobject
        self.rethrown = False  # by the handler that is about to end


def selector(type: int) -> int:
    """The number by which a landing pad names a type; `llvm.eh.typeid.for` gives the same."""
    return (type >> 32) & 0x7FFFFFFF


class Exceptions:
    """The exception state of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.pending: Unwinding | None = None
        self.caught: list[Unwinding] = []
        self.flying: dict[int, Unwinding] = {}  # by address of the object
        self.library: dict[str, Callable[..., Any]] = {
            "__cxa_allocate_exception": lambda size: machine.memory.allocate(int(size), "exception"),
            "__cxa_free_exception": lambda p: machine.memory.free(p, "exception"),
            "__cxa_throw": self._throw,
            "__cxa_begin_catch": self._begin,
            "__cxa_get_exception_ptr": lambda p: self.flying[p].adjusted,
            "__cxa_end_catch": self._end,
            "__cxa_rethrow": self._rethrow,
            "_Unwind_Resume": self._resume,
        }

    def reset(self) -> None:
        """Forget what an aborted run left."""
        self.pending, self.caught, self.flying = None, [], {}

    def _throw(self, thrown: int, type: int, destructor: int) -> None:
        self.flying[thrown] = Unwinding(thrown, type)
        raise self.flying[thrown]

    def _begin(self, thrown: int) -> int:
        if thrown not in self.flying:
            raise ForeignError("__cxa_begin_catch of what was not thrown")
        self.caught.append(self.flying[thrown])
        self.caught[-1].rethrown = False
        return self.caught[-1].adjusted

    def _end(self) -> None:
        if self.caught:
            done = self.caught.pop()
            if done not in self.caught and not done.rethrown:
                self.flying.pop(done.thrown, None)

    def _rethrow(self) -> None:
        if not self.caught:
            raise ForeignError("throw; outside a handler")
        self.caught[-1].rethrown = True
        raise self.caught[-1]

    def _resume(self, thrown: int) -> None:
        raise self.flying[thrown]

    def resuming(self, operand: int) -> Callable[[list[Any]], Any]:
        """The end of a block by `resume`."""

        def end(r: list[Any]) -> Any:
            self._resume(r[operand][0])

        return end

    def guarding(self, step: Callable[[list[Any]], None], normal: Any, unwind: Any) -> Callable[[list[Any]], Any]:
        """The end of a block that invokes a function of the library."""

        def end(r: list[Any]) -> Any:
            try:
                step(r)
            except Unwinding as u:
                self.pending = u
                return unwind(r)
            return normal(r)

        return end

    def landing(self, compiler: Compiler, i: Other) -> Callable[[list[Any]], None]:
        """The step of a `landingpad`."""
        target = compiler.slot(i)
        clauses = [(kind, compiler.slot(o)) for kind, o in zip(i.detail["clauses"], i.operands, strict=True)]
        cleanup = i.detail["cleanup"]

        def land(r: list[Any]) -> None:
            u = self.pending
            assert u is not None
            self.pending = None
            for kind, slot in clauses:
                if self._matches(kind, r[slot], u):
                    r[target] = (u.thrown, selector(r[slot]) if kind == "catch" else 0xFFFFFFFF)
                    return
            if not cleanup:
                raise u
            r[target] = (u.thrown, 0)

        return land

    def _matches(self, kind: str, operand: Any, u: Unwinding) -> bool:
        if kind == "filter":  # an exception specification: matches what is not in it
            return all(self._base(u.type, t) is None for t in operand)
        offset = 0 if operand == 0 else self._base(u.type, operand)
        if offset is None:
            return False
        u.adjusted = u.thrown + offset
        return True

    def _base(self, derived: int, base: int) -> int | None:
        """The offset of class `base` in class `derived`, by type information; None when it is no base of it."""
        if derived == base:
            return 0
        table = self._word(derived)
        if table == self._vtable(_SINGLE):
            return self._base(self._word(derived + 16), base)
        if table == self._vtable(_MULTIPLE):
            count = self._word(derived + 16) >> 32
            for k in range(count):
                offset: int = to_signed(64)(self._word(derived + 32 + 16 * k)) >> 8
                inner = self._base(self._word(derived + 24 + 16 * k), base)
                if inner is not None:
                    return offset + inner
        return None

    def _vtable(self, name: str) -> int:
        known = self.machine.module.globals.get(name)
        return self.machine.image.address(known) + 16 if known is not None else -1

    def _word(self, address: int) -> int:
        """A word of type information; 0 where it lies in a library."""
        shadow = self.machine.memory.shadow(address, 8) if self._inside(address, 8) else [None]
        return int.from_bytes(self.machine.memory.read(address, 8), "little") if shadow is None else 0

    def _inside(self, address: int, size: int) -> bool:
        allocation = self.machine.memory.table.get(address >> 32)
        return allocation is not None and (address & 0xFFFFFFFF) + size <= len(allocation.data)
