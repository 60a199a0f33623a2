"""Calls of functions that have a rule: libm, complex functions, and intrinsics, from machine values to rules and back.

The shapes are those of `rules.library.Entry`: complex numbers as two arguments, one vector, or a pointer to a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from interpreter import calculus
from interpreter.floats import Format, format_of
from interpreter.scalar import to_signed
from interpreter.undefined import POISON
from llgrad.ir.types import FloatType, FunctionType, IntType, StructType, Type, scalar
from llgrad.rules import library
from llgrad.rules.rule import Rule

if TYPE_CHECKING:
    from interpreter.machine import Machine

Op = Callable[..., Any]


def rule_function(name: str, format: Format) -> Op:
    """The function with rule `name` and one float result, on values of a format."""
    rule = library.FUNCTIONS[name]
    return lambda *operands: calculus.apply(rule, format, operands)[0]


def mathematical(machine: Machine, name: str, signature: FunctionType) -> Op | None:
    """The Python function of a symbol that has a rule, or None."""
    entry = library.lookup(name)
    if entry is None:
        return None
    format = format_of(entry.format)
    call = _caller(machine, entry.rule, format, signature)
    if entry.lanes > 1:
        return _vectorised(call, entry.lanes, signature)
    if entry.shape == "vector":
        return lambda *xs: call(*[y for x in xs for y in x])
    if entry.shape == "byval":
        load = machine.codecs(FloatType(format.name)).load
        return lambda *xs: call(*[load(p + o) for p in xs for o in (0, 16)])
    return call


def _vectorised(call: Op, lanes: int, signature: FunctionType) -> Op:
    """Lane by lane; scalars are shared by all lanes; a struct result becomes a struct of vectors."""

    def apply(*operands: Any) -> Any:
        spread = [x if x.__class__ is tuple else (x,) * lanes for x in operands]
        results = tuple(call(*lane) for lane in zip(*spread, strict=True))
        return tuple(zip(*results, strict=True)) if isinstance(signature.result, StructType) else results

    return apply


def _caller(machine: Machine, rule: Rule, format: Format, signature: FunctionType) -> Op:
    """Operands in the order of the rule, pointers among them; results returned and stored."""
    flat = len(signature.params) == len(rule.operands)  # not so where a complex number is one argument
    types = signature.params if flat else (None,) * len(rule.operands)
    readers = [_reader(kind, t) for kind, t in zip(rule.operands, types, strict=True)]
    pointers = [kind == "pointer" for kind in rule.operands]
    finish = [_finish(machine, rule, k, format, signature.result) for k in range(len(rule.results))]

    def call(*operands: Any) -> Any:
        values = [read(x) if read else x for read, x in zip(readers, operands, strict=True)]
        given = [None if p else x for p, x in zip(pointers, values, strict=True)]
        returned = []
        for value, out, done in zip(calculus.apply(rule, format, given), rule.results, finish, strict=True):
            if out.place == "return":
                returned.append(done(value))
            else:
                done(operands[out.place], value)
        return (returned[0] if returned else None) if rule.results[0].field is None else tuple(returned)

    return call


def _reader(kind: str, t: Type | None) -> Op | None:
    """Integers become signed."""
    element = scalar(t) if t is not None else IntType(32)
    if kind != "int" or not isinstance(element, IntType):
        return None
    signed = to_signed(element.bits)
    return lambda x: x if x is POISON else signed(x)


def _finish(machine: Machine, rule: Rule, k: int, format: Format, result: Type) -> Op:
    """What is done with result k: brought into the type that is returned, or stored through its pointer."""
    out = rule.results[k]
    if out.place != "return":
        t: Type = FloatType(format.name) if out.kind == "float" else IntType(32)
        store = machine.codecs(t).store
        mask = (1 << 32) - 1
        return lambda p, x: store(p, x if out.kind == "float" else x & mask)
    if out.kind == "float":
        return lambda x: x
    fields: Sequence[Type] = result.fields or () if isinstance(result, StructType) else ()
    t = scalar(fields[out.field] if out.field is not None and fields else result)
    bits = t.bits if isinstance(t, IntType) else 32
    return lambda x: x & ((1 << bits) - 1)
