"""Numbers that may be floats: the test, as a derivative runs, that what is taken for a number is none.

Memory that holds a float at one time and a number at another (`analysis.valueflow.tagged_unions`) has the shadow of a
float. In the forward mode, where a number is read there must be no tangent. In the reverse mode the reading hands back
a *mark* in place of an adjoint, a NaN of its own: where a number was written it is dropped, and where a float was
written, or copied from, it is an error. A number that is written over a part of a float
(`analysis.memory.partial_overwrites`) makes of that float's tangent a mark, and of its adjoint one that only what
overwrites all of it drops: the rest is a float no more.

What LLVM computes ahead of a condition and does not choose was not read: `chosen` says when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llgrad.autodiff.emit import tape
from llgrad.autodiff.emit.helpers import ADDRESSES, define
from llgrad.ir.build import FALSE, TRUE, Builder, declare
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I32, PTR, VOID, FloatType, IntType
from llgrad.ir.values import AnyValue, Binary, Cast, ConstInt, Function, Instruction, Select, Unary

MARKS = {"double": 0x7FF86C6C67726164, "float": 0x7FC06C67}
TORN = {"double": 0x7FF874746F726E6E, "float": 0x7FC0746E}
WIDEST = 8
"""Bytes of the widest format that has marks."""

_TANGENT = """
define internal void @llgrad.number.%(name)s(%(bits)s %%tangent) alwaysinline nounwind {
entry:
  %%size = shl %(bits)s %%tangent, 1
  %%none = icmp ult %(bits)s %%size, %(addresses)d
  %%mark = icmp eq %(bits)s %%tangent, %(mark)d
  %%number = or i1 %%none, %%mark
  br i1 %%number, label %%done, label %%bad
bad:
  call void @llgrad_fail(i32 %(code)d, ptr null)
  unreachable
done:
  ret void
}
"""
_FLOAT = """
define internal void @llgrad.float.%(name)s(%(bits)s %%adjoint) alwaysinline nounwind {
entry:
  %%mark = icmp eq %(bits)s %%adjoint, %(mark)d
  %%torn = icmp eq %(bits)s %%adjoint, %(torn)d
  %%none = or i1 %%mark, %%torn
  br i1 %%none, label %%bad, label %%done
bad:
  call void @llgrad_fail(i32 %(code)d, ptr null)
  unreachable
done:
  ret void
}
"""


def test_number(module: Module, t: FloatType) -> Function:
    """`(tangent or adjoint, as an integer)`: fail where it is that of a float. An address is none."""
    return _test(module, "llgrad.number", _TANGENT, t)


def test_float(module: Module, t: FloatType) -> Function:
    """`(adjoint, as an integer)`: fail where that is the mark of a number."""
    return _test(module, "llgrad.float", _FLOAT, t)


def last_address(t: FloatType) -> ConstInt:
    """Bits up to which what lies in a float's shadow may be an address, and no adjoint; zero is none."""
    return ConstInt(IntType(t.bits), ADDRESSES - 1 if t.name == "double" else 0)


def torn_tangent(b: Builder, t: FloatType, old: AnyValue) -> AnyValue:
    """What is left of a tangent where a number is written over a part of its float: nothing, or a mark."""
    return b.select(_is_none(b, t, old), old, _bits(t, MARKS[t.name]))


def torn_adjoint(b: Builder, t: FloatType, old: AnyValue) -> AnyValue:
    """Likewise of an adjoint. The mark of the number is dropped."""
    left = b.select(_is_none(b, t, old), old, _bits(t, TORN[t.name]))
    return b.select(b.icmp("eq", old, _bits(t, MARKS[t.name])), _bits(t, 0), left)


def _is_none(b: Builder, t: FloatType, old: AnyValue) -> AnyValue:
    return b.icmp("ule", b.binary("shl", old, _bits(t, 1)), _bits(t, 2 * last_address(t).value))


def _bits(t: FloatType, n: int) -> ConstInt:
    return ConstInt(IntType(t.bits), n)


def _test(module: Module, name: str, text: str, t: FloatType) -> Function:
    declare(module, tape.FAIL, VOID, [I32, PTR])
    given = {"name": t.name, "bits": f"i{t.bits}", "mark": MARKS[t.name], "torn": TORN[t.name], "code": tape.FAIL_BITS}
    return define(module, f"{name}.{t.name}", text % {**given, "addresses": 2 * last_address(t).value + 1})


# --- speculation

Conditions = tuple[tuple[AnyValue, bool], ...]
_MOST_PATHS = 8


def chosen(i: Instruction) -> tuple[Conditions, ...] | None:
    """When what an instruction makes is used at all: if the conditions of one of these lists hold; None: always.

    Sees the `select`s of its own block, which are what LLVM makes of branches that it computes ahead of.
    """
    paths: list[Conditions] = []
    for u in dict.fromkeys(i.users):
        if not isinstance(u, Select | Binary | Cast | Unary) or u.block is not i.block:
            return None
        inner = chosen(u)
        own: list[Conditions] = [()]
        if isinstance(u, Select):
            if u.condition is i or u.condition.type != I1:
                return None
            own = [((u.condition, v is u.if_true),) for v in (u.if_true, u.if_false) if v is i]
        elif inner is None:
            return None
        paths += [(*a, *b) for a in own for b in (((),) if inner is None else inner)]
        if len(paths) > _MOST_PATHS:
            return None
    return tuple(paths)


def conditions(i: Instruction) -> Iterator[AnyValue]:
    """The conditions under which what `i` makes is used."""
    yield from dict.fromkeys(c for path in chosen(i) or () for c, _ in path)


def if_chosen(b: Builder, i: Instruction, value: Callable[[AnyValue], AnyValue]) -> AnyValue:
    """Whether it is, as a truth value."""
    if (paths := chosen(i)) is None:
        return TRUE
    found: AnyValue = FALSE
    for path in paths:
        one: AnyValue = TRUE
        for condition, wanted in path:
            held = value(condition) if wanted else b.binary("xor", value(condition), TRUE)
            one = held if one is TRUE else b.binary("and", one, held)
        found = one if found is FALSE else b.binary("or", found, one)
    return found
