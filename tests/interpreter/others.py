"""Atomics, landing pads and the other rare instructions (LangRef: Memory Access and Addressing, Other Operations).

The interpreter has one thread: atomics are plain. Funclet pads (Windows exceptions) and `va_arg` are refused when
reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from interpreter import calls, scalar
from interpreter.floats import format_of
from interpreter.undefined import POISON
from llgrad.errors import UnsupportedError
from llgrad.ir.types import FloatType, IntType, Type
from llgrad.ir.types import scalar as element_of
from llgrad.ir.values import Other

if TYPE_CHECKING:
    from interpreter.code import Compiler

Step = Callable[[list[Any]], None]

_FLOATS = {"fmax": "fmax", "fmin": "fmin", "fmaximum": "fmaximum", "fminimum": "fminimum"}


def step(compiler: Compiler, i: Other) -> Step:
    """The step of one of these instructions."""
    match i.opcode:
        case "atomicrmw":
            return _read_modify_write(compiler, i)
        case "cmpxchg":
            return _compare_exchange(compiler, i)
        case "fence":
            return lambda r: None
        case "landingpad":
            return compiler.machine.exceptions.landing(compiler, i)
    return _refusal(f"the interpreter has no {i.opcode}")


def _refusal(what: str) -> Step:
    def refuse(_: list[Any]) -> None:
        raise UnsupportedError(what)

    return refuse


def _read_modify_write(compiler: Compiler, i: Other) -> Step:
    codec = compiler.image.codecs(i.type)
    op = _update(i.detail["operation"], i.type)
    pointer, operand, target = compiler.slot(i.operands[0]), compiler.slot(i.operands[1]), compiler.slot(i)

    def modify(r: list[Any]) -> None:
        address = r[pointer]
        old = codec.load(address)
        codec.store(address, op(old, r[operand]))
        r[target] = old

    return modify


def _update(operation: str, t: Type) -> Callable[[Any, Any], Any]:
    """The new value from the old one and the operand."""
    if operation == "xchg":
        return lambda old, new: new
    kind = element_of(t)
    if isinstance(kind, FloatType):
        format = format_of(kind.name)
        if operation in ("fadd", "fsub"):
            return scalar.lanewise(scalar.float_binary(operation, format), t)
        if operation in _FLOATS:
            return scalar.lanewise(calls.rule_function(_FLOATS[operation], format), t)
    if isinstance(kind, IntType) and operation in _INTEGER:
        return _INTEGER[operation](kind.bits)
    raise UnsupportedError(f"the interpreter has no atomicrmw {operation} of {t}")


def _choice(predicate: str) -> Callable[[int], Callable[[Any, Any], Any]]:
    def make(bits: int) -> Callable[[Any, Any], Any]:
        compare = scalar.integer_compare(predicate, bits)
        return lambda old, new: scalar.select(compare(old, new), old, new)

    return make


def _binary(opcode: str) -> Callable[[int], Callable[[Any, Any], Any]]:
    return lambda bits: scalar.integer_binary(opcode, bits)


_INTEGER: dict[str, Callable[[int], Callable[[Any, Any], Any]]] = {
    **{name: _binary(name) for name in ("add", "sub", "and", "or", "xor")},
    "nand": lambda bits: lambda old, new: (old & new) ^ ((1 << bits) - 1),
    "max": _choice("sgt"), "min": _choice("slt"), "umax": _choice("ugt"), "umin": _choice("ult"),
    "uinc_wrap": lambda bits: lambda old, new: 0 if old >= new else old + 1,
    "udec_wrap": lambda bits: lambda old, new: new if old == 0 or old > new else old - 1,
    "usub_cond": lambda bits: lambda old, new: old - new if old >= new else old,
    "usub_sat": lambda bits: lambda old, new: old - new if old >= new else 0,
}  # fmt: skip


def _compare_exchange(compiler: Compiler, i: Other) -> Step:
    codec = compiler.image.codecs(i.operands[1].type)
    pointer, expected, new = (compiler.slot(o) for o in i.operands[:3])
    target = compiler.slot(i)

    def exchange(r: list[Any]) -> None:
        address = r[pointer]
        old = codec.load(address)
        equal = old == r[expected]
        if equal is POISON:
            raise UnsupportedError("cmpxchg of a poison or unwritten value")
        if equal:
            codec.store(address, r[new])
        r[target] = (old, int(equal))

    return exchange
