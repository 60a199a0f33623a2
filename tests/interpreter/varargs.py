"""Variable arguments as the System V ABI of x86-64 passes them: what clang's expansion of `va_arg` reads.

`va_start` lays out the register save area and the overflow area in memory and fills in the `va_list`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llgrad.errors import UnsupportedError
from llgrad.ir.types import FloatType, IntType, PointerType, Type

if TYPE_CHECKING:
    from interpreter.machine import Machine

_GENERAL, _VECTOR = 6, 8  # registers that pass arguments


class VarArgs:
    """`va_start` for one machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def start(self, place: int) -> None:
        """Fill in the va_list at `place` for the function that runs."""
        m, frame = self.machine, self.machine.frames[-1]
        if m.module.triple and not m.module.triple.startswith("x86_64"):
            raise UnsupportedError(f"variable arguments on {m.module.triple}")
        save, overflow = m.memory.allocate(176, "stack"), m.memory.allocate(16 * len(frame.varargs) + 16, "stack")
        frame.allocas += [save, overflow]
        general = vector = 0
        for a in frame.code.function.arguments:
            if a.attribute("byval") is None:
                general, vector = _counted(a.type, general, vector)
        starts = (min(general, _GENERAL), min(vector, _VECTOR))
        self._lay_out(frame.varargs, save, overflow, *starts)
        header = (8 * starts[0]).to_bytes(4, "little") + (48 + 16 * starts[1]).to_bytes(4, "little")
        m.memory.write(place, header + overflow.to_bytes(8, "little") + save.to_bytes(8, "little"))

    def _lay_out(self, values: list[tuple[Type, Any]], save: int, overflow: int, general: int, vector: int) -> None:
        for t, value in values:
            wide = isinstance(t, FloatType) and t.bits > 64
            before = (general, vector)
            general, vector = _counted(t, general, vector)
            if general > before[0] and general <= _GENERAL:
                place = save + 8 * before[0]
            elif vector > before[1] and vector <= _VECTOR:
                place = save + 48 + 16 * before[1]
            else:
                overflow = overflow + 15 & ~15 if wide else overflow
                place, overflow = overflow, overflow + (16 if wide else 8)
            self.machine.codecs(t).store(place, value)


def _counted(t: Type, general: int, vector: int) -> tuple[int, int]:
    """Registers used once an argument of type `t` is passed too."""
    if isinstance(t, PointerType) or (isinstance(t, IntType) and t.bits <= 64):
        return general + 1, vector
    if isinstance(t, FloatType):
        return general, vector + (t.bits <= 64)
    raise UnsupportedError(f"a variable argument, or an argument beside them, of type {t}")
