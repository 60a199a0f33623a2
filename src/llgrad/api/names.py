"""Which parameters a derivative is by and of: what `wrt` and `of` mean for a function.

A parameter is named by its name or its position. What a function returns is named "return".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from llgrad.errors import ArgumentError
from llgrad.execution.arguments import holds_addresses
from llgrad.execution.library import ForeignFunction
from llgrad.signature import Array, Complex, CType, Opaque, Parameter, Pointer, Scalar, Struct, Void

Names: TypeAlias = str | int | Sequence[str | int] | None
RETURN = "return"  # the name of what a function returns: no parameter has it


def inputs_of(function: ForeignFunction, wrt: Names, outputs: Sequence[int | None]) -> tuple[tuple[int, ...], bool]:
    """The positions of `wrt`, and whether it names one alone."""
    if wrt is None:
        anything = function.signature.language == "Python"  # which has no const to go by
        free = [p for p in function.signature.parameters if p.index not in outputs and p.name not in function.constants]
        found = tuple(p.index for p in free if (_floats(p) if anything else _only_read_floats(function, p)))
        if not found:
            raise ArgumentError(
                f"{function.signature.name} has no float that it only reads", fix="say by what to differentiate: wrt=…"
            )
        return found, len(found) == 1
    if isinstance(wrt, str | int):
        return (_position(function, wrt, "wrt"),), True
    found = tuple(_position(function, w, "wrt") for w in wrt)
    _require_distinct(found, wrt, "wrt")
    return found, False


def outputs_of(function: ForeignFunction, of: Names) -> tuple[tuple[int | None, ...], bool]:
    """The positions of `of`, None for what is returned, and whether it names one alone."""
    if of is None:
        of = _only_output(function)
    if of is None or isinstance(of, str | int):
        return (_output(function, of),), True
    found = tuple(_output(function, o) for o in of)
    _require_distinct(found, of, "of")
    return found, False


def written_by(function: ForeignFunction) -> Iterator[Parameter]:
    """The parameters behind which the function may write."""
    access = function.library.effects(function.signature.symbol).access
    for p in function.signature.parameters:
        if isinstance(p.type, Pointer) and any(access[n] in ("write", "both") for n in p.ir_arguments):
            yield p


def require_active(function: ForeignFunction, p: Parameter) -> None:
    """ArgumentError or UnsupportedError if there is no derivative by a parameter."""
    if p.name in function.constants:
        raise ArgumentError(
            f"wrt={p.name!r} has no derivative: {function.signature.name} was specialised to one value of it"
        )
    t = _innermost(p)
    if isinstance(t, Scalar) and t.kind == "float" or isinstance(t, Opaque) and isinstance(p.type, Pointer):
        return
    if isinstance(t, Struct | Complex) and isinstance(p.type, Pointer) and not holds_addresses(t):
        return
    raise ArgumentError(
        f"wrt={p.name!r} has no derivative: it holds no floats", span=function.signature.source,
        cause=f"it is declared {p.type.declare(p.name)}", fix="name parameters that are floats or point to floats",
    )  # fmt: skip


def holds_only_floats(t: Pointer) -> bool:
    """Does a pointer lead to floats, as far as is known?"""
    to = t.to.element if isinstance(t.to, Array) else t.to
    return isinstance(to, Scalar) and to.kind == "float" or isinstance(to, Opaque | Complex)


def writable_floats(p: Parameter) -> bool:
    """May the result be behind a parameter?"""
    return isinstance(p.type, Pointer) and not p.type.const and holds_only_floats(p.type)


def _innermost(p: Parameter) -> CType:
    t = p.type.innermost.to if isinstance(p.type, Pointer) else p.type
    while isinstance(t, Array):
        t = t.element
    return t


def _require_distinct(found: Sequence[int | None], said: object, what: str) -> None:
    if not found:
        raise ArgumentError(f"{what} is empty", fix="name at least one parameter")
    if len(set(found)) < len(found):
        raise ArgumentError(f"{what}={said!r} names a parameter twice", fix="name each once")


def _only_output(function: ForeignFunction) -> str | None:
    """The output of a function that returns nothing and has one alone."""
    if not isinstance(function.signature.result, Void) or function.roles is None:
        return None
    names = [m.name for m in function.roles.outputs]
    return names[0] if len(names) == 1 else None


def _output(function: ForeignFunction, of: str | int | None) -> int | None:
    """The position of an output, which is one; None for what is returned."""
    if of is None or of == RETURN:
        return None
    n = _position(function, of, "of")
    p = function.signature.parameters[n]
    if not writable_floats(p):
        raise ArgumentError(
            f"of={p.name!r} is no output of {function.signature.name}",
            span=function.signature.source,
            cause=f"it is declared {p.type.declare(p.name)}",
            fix="name a pointer to floats that is not const",
        )
    return n


def _position(function: ForeignFunction, name: str | int, what: str) -> int:
    if isinstance(name, str):
        return function.signature.parameter(name).index
    count = len(function.signature.parameters)
    if isinstance(name, bool) or not isinstance(name, int):
        raise ArgumentError(f"{what}={name!r} is neither a name nor a position", fix=f'write {what}="name"')
    if not -count <= name < count:
        raise ArgumentError(
            f"{what}={name} is no position of {function.signature.name}",
            cause=f"it has {count} parameters, counted from 0",
        )
    return name % count


def _floats(p: Parameter) -> bool:
    t = p.type.to if isinstance(p.type, Pointer) else p.type
    return isinstance(t, Scalar) and t.kind == "float"


def _only_read_floats(function: ForeignFunction, p: Parameter) -> bool:
    """By its declaration or, where that does not say so, by what LLVM finds."""
    if isinstance(p.type, Pointer):
        if not _has_floats(p.type.to):
            return False
        effects = function.library.effects
        return p.type.const or effects(function.signature.symbol).access[p.ir_arguments[0]] == "read"
    return isinstance(p.type, Scalar) and p.type.kind == "float"


def _has_floats(t: CType) -> bool:
    """Is it certain that memory of this type has floats, and no addresses, in it?"""
    match t:
        case Array(element=element):
            return _has_floats(element)
        case Struct(fields=fields):
            return t.dtype is not None and not holds_addresses(t) and any(_has_floats(f.type) for f in fields)
        case Complex():
            return True
    return isinstance(t, Scalar) and t.kind == "float"


__all__ = [
    "RETURN", "Names", "holds_only_floats", "inputs_of", "outputs_of", "require_active",
    "writable_floats", "written_by",
]  # fmt: skip
